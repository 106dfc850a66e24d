"""Installed packages that something changed on the disk afterwards: nothing of them runs, and the person is told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from alita_tui.events import Lock
from alita_tui.sandbox import seals
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.environment import ensure, lock
from alita_tui.sandbox.overview import environment_rows, tidy
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.errors import RequirementsError
from alita_tui.spine.ports.sandbox import Job, Limits
from tests.sandbox.package_index import WHERE, Index, nothing


def edit(folder: Path) -> None:
    """Other bytes of the same number, with the times of before."""
    file = folder / "greet.py"
    before = file.stat()
    file.write_text(file.read_text().replace("1.0", "6.6"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def rewrite_bytecode(folder: Path) -> None:
    (compiled,) = folder.glob("__pycache__/greet*.pyc")
    data = compiled.read_bytes()
    compiled.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def startup_file(folder: Path) -> None:
    (folder / "start.pth").write_text("import os; os.system('true')\n")


def module_beside(folder: Path) -> None:
    (folder / "json").mkdir()
    (folder / "json" / "__init__.py").write_text("")


def link(folder: Path) -> None:
    """The same bytes by way of a link, which leads elsewhere later."""
    file = folder / "greet.py"
    elsewhere = folder.parent / "elsewhere.py"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)


def swapped_folder(folder: Path) -> None:
    info = next(folder.glob("greet-*.dist-info"))
    info.rename(folder.parent / "info")
    info.symlink_to(folder.parent / "info")


def fifo(folder: Path) -> None:
    (folder / "greet.py").unlink()
    os.mkfifo(folder / "greet.py")


def gone(folder: Path) -> None:
    (folder / "greet.py").unlink()


def runs(folder: Path) -> None:
    (folder / "greet.py").chmod(0o755)


def forged_seal(folder: Path) -> None:
    folder.with_name(f"{folder.name}.seal").write_text('{"greet.py"')


def whole_folder_linked(folder: Path) -> None:
    """The same files by way of a link in place of the whole folder, which leads elsewhere later."""
    elsewhere = folder.with_name("whole")
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)


def writable_for_all(folder: Path) -> None:
    (folder / "greet.py").chmod(0o666)


def folder_writable_for_all(folder: Path) -> None:
    (folder / "__pycache__").chmod(0o777)


def whole_folder_writable_for_all(folder: Path) -> None:
    folder.chmod(0o777)


def setuid(folder: Path) -> None:
    (folder / "greet.py").chmod(0o4644)


def through_hard_link(folder: Path) -> None:
    """Other bytes of the same number through a second name of the file, with the times of before."""
    second = folder.parent / "second.py"
    os.link(folder / "greet.py", second)
    before = second.stat()
    with second.open("r+") as file:
        file.write(second.read_text().replace("1.0", "6.6"))
    os.utime(second, ns=(before.st_atime_ns, before.st_mtime_ns))
    second.unlink()


def modules_in_the_stamp(folder: Path) -> None:
    (folder / ".complete").unlink()
    (folder / ".complete").mkdir()
    (folder / ".complete" / "greet.py").write_text("VERSION = '6.6'\n")


def stamp_linked(folder: Path) -> None:
    (folder / ".complete").rename(folder.parent / "stamp")
    (folder / ".complete").symlink_to(folder.parent / "stamp")


ATTACKS: dict[str, tuple[Callable[[Path], None], str]] = {
    "edited": (edit, "greet.py is another one"),
    "bytecode": (rewrite_bytecode, "pyc is another one"),
    "pth": (startup_file, "start.pth was added"),
    "module": (module_beside, "json was added"),
    "link": (link, "greet.py is another one"),
    "folder": (swapped_folder, "is missing|was added|is another one"),
    "fifo": (fifo, "greet.py is another one"),
    "gone": (gone, "greet.py is missing"),
    "mode": (runs, "greet.py is another one"),
    "whole folder": (whole_folder_linked, "its folder is another one"),
    "writable": (writable_for_all, "greet.py is another one"),
    "writable folder": (folder_writable_for_all, "__pycache__ is another one"),
    "writable whole folder": (whole_folder_writable_for_all, "its folder is another one"),
    "setuid": (setuid, "greet.py is another one"),
    "hard link": (through_hard_link, "greet.py is another one"),
    "stamp": (modules_in_the_stamp, ".complete is another one"),
    "stamp linked": (stamp_linked, ".complete is another one"),
    "seal": (forged_seal, "not known any more"),
}


@pytest.fixture(autouse=True)
def looked_at_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seals, "FRESH_SECONDS", 0.0)


@pytest.mark.parametrize("later", [False, True], ids=["in another process", "in the same process"])
@pytest.mark.parametrize("attack", ATTACKS)
async def test_an_environment_changed_after_installation_is_not_used(
    index: Index, tmp_path: Path, attack: str, later: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, difference = ATTACKS[attack]
    locked = await lock(["greet"], WHERE, nothing)
    folder = await ensure(locked, tmp_path / "one", WHERE, nothing)
    if later:
        assert await ensure(locked, tmp_path / "one", WHERE, nothing) == folder
    change(folder)
    if attack == "seal" or not later:  # a look that was already taken does not need the seal
        monkeypatch.setattr(seals, "_CHECKED", {})
    with pytest.raises(seals.EnvironmentChanged, match=f"were changed on this disk .*({difference})") as told:
        await ensure(locked, tmp_path / "one", WHERE, nothing)
    assert "Nothing of them was run" in str(told.value) and "anew" in told.value.hint
    seals.set_aside(folder)
    assert await ensure(locked, tmp_path / "one", WHERE, nothing) == folder
    assert (folder / "greet.py").read_text() == "VERSION = '1.0'\n"
    assert not [*folder.glob("*.pth"), *folder.glob("json")]


async def test_an_environment_without_a_seal_is_installed_again(index: Index, tmp_path: Path) -> None:
    locked = await lock(["greet"], WHERE, nothing)
    folder = await ensure(locked, tmp_path / "one", WHERE, nothing)
    edit(folder)
    folder.with_name(f"{folder.name}.seal").unlink()
    assert await ensure(locked, tmp_path / "one", WHERE, nothing) == folder
    assert (folder / "greet.py").read_text() == "VERSION = '1.0'\n"


async def test_an_unchanged_environment_is_read_once_and_removed_with_its_seal(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seals, "_CLOCK_TICK_NS", 0)
    locked = await lock(["greet"], WHERE, nothing)
    folder = await ensure(locked, tmp_path / "one", WHERE, nothing)
    await ensure(locked, tmp_path / "one", WHERE, nothing)
    (folder / "greet.py").touch()  # other times, the same bytes
    await ensure(locked, tmp_path / "one", WHERE, nothing)

    def unread(_: Path) -> str:
        raise AssertionError("it is read again")

    monkeypatch.setattr(seals, "_difference", unread)
    await ensure(locked, tmp_path / "one", WHERE, nothing)
    assert [row.packages for row in environment_rows(tmp_path / "one")] == [("greet 1.0",)]
    assert tidy(tmp_path / "one", 0) == 1
    assert [path.name for path in (tmp_path / "one").iterdir()] == [".sealing"]


async def test_file_times_right_after_a_change_are_not_trusted(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second change within the same tick of the file system's clock leaves the same times."""
    monkeypatch.setattr(seals, "_CLOCK_TICK_NS", 3600 * 10**9)
    locked = await lock(["greet"], WHERE, nothing)
    folder = await ensure(locked, tmp_path / "one", WHERE, nothing)
    await ensure(locked, tmp_path / "one", WHERE, nothing)
    state = seals._state(folder)
    edit(folder)
    monkeypatch.setattr(seals, "_state", lambda _: state)
    with pytest.raises(seals.EnvironmentChanged):
        await ensure(locked, tmp_path / "one", WHERE, nothing)


async def test_a_name_that_is_no_unicode_cannot_hide_behind_another(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft, folder = tmp_path / "draft", tmp_path / "sealed"
    draft.mkdir(0o755)
    (draft / ".complete").write_text("")
    (draft / "\\xff").write_text("")
    seals.publish(draft, folder)
    seals.check(folder)
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).write_text("")
    with pytest.raises(seals.EnvironmentChanged, match="was added"):
        seals.check(folder)


@pytest.mark.podman
async def test_no_waiting_container_runs_a_changed_environment(
    settings: EngineSettings, index: Index, tmp_path: Path
) -> None:
    engine = PodmanSandbox(settings, "seals")
    code = "import greet\n\n\ndef run() -> str:\n    return greet.VERSION\n"

    async def run(locked: Lock) -> Any:
        job = Job(
            run_id="seals", module="said", code=code, lock=locked, digest="d", arguments={}, limits=Limits()
        )
        return (await engine.run(job, nothing, nothing)).result

    try:
        locked = await engine.lock(["greet"], nothing)
        assert [await run(locked), await run(locked)] == ["1.0", "1.0"]
        edit(Path(await engine.installed(locked, nothing)))
        with pytest.raises(RequirementsError, match="Nothing of them was run"):
            await run(locked)
        assert [await run(locked), await run(locked)] == ["1.0", "1.0"]
    finally:
        await engine.close()
