"""Environments: sizes, what may be removed; and making the base image anew."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from pathlib import Path

import msgspec
import pytest

from alita_tui.events import SandboxStatus
from alita_tui.sandbox import image
from alita_tui.sandbox.fleet import Fleet
from alita_tui.sandbox.host import Host
from alita_tui.sandbox.overview import container_rows, environment_rows, hold, tidy
from alita_tui.sandbox.owner import alive, me
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports.sandbox import Job, Limits

GONE = "ssh://127.0.0.1:1"


def environment(root: Path, name: str, size: int, used: float) -> Path:
    folder = root / name
    (folder / "some_package-1.0.dist-info").mkdir(parents=True)
    (folder / "data").write_bytes(b"x" * size)
    stamp = folder / ".complete"
    stamp.write_text(json.dumps({"digest": name, "bytes": size}))
    os.utime(stamp, (used, used))
    return folder


def test_environments_over_the_size_limit_are_removed_unless_held(tmp_path: Path) -> None:
    new = environment(tmp_path, "new", 600, 300)
    held = environment(tmp_path, "held", 600, 200)
    old = environment(tmp_path, "old", 600, 100)
    assert [(row.environment, row.size, row.packages) for row in environment_rows(tmp_path)] == [
        (name, 600, ("some_package 1.0",)) for name in ("new", "held", "old")
    ]
    stamp = hold(held)
    assert tidy(tmp_path, 1000) == 1
    assert (new.exists(), held.exists(), old.exists()) == (True, True, False)
    os.close(stamp)
    assert tidy(tmp_path, 1000) == 1
    assert not held.exists()


def test_packages_of_npm_are_listed_behind_the_wheels(tmp_path: Path) -> None:
    folder = environment(tmp_path, "one", 1, 1)
    for place in ("zod", "@in/order", "zod/node_modules/below", ".unfinished/x"):
        (folder / "node_modules" / place).mkdir(parents=True, exist_ok=True)
        (folder / "node_modules" / place / "package.json").write_text("{}")
    assert environment_rows(tmp_path)[0].packages == ("some_package 1.0", "npm:@in/order", "npm:zod")


def test_an_environment_of_an_older_alita_is_measured(tmp_path: Path) -> None:
    folder = environment(tmp_path, "one", 700, 1)
    (folder / ".complete").write_text("digest")
    assert environment_rows(tmp_path)[0].size >= 700


def test_half_built_environments_of_dead_processes_go(tmp_path: Path) -> None:
    for name in (f"building-{me()}-abc", "building-999999.1-abc", "building-other"):
        (tmp_path / name).mkdir()
    assert tidy(tmp_path, 1000) == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(
        [f"building-{me()}-abc", "building-other"]
    )


def test_a_container_of_a_dead_alita_is_an_orphan() -> None:
    labels = {"alita.session": "s", "alita.owner": me()}
    mine, other = container_rows(
        [
            {"Id": "a" * 64, "Labels": labels, "State": "running"},
            {"Id": "b", "Labels": {"alita.owner": "1.1"}},
        ]
    )
    assert (mine.container, mine.session, mine.environment, mine.orphan) == ("a" * 12, "s", "base", False)
    assert other.orphan
    assert alive(me()) and not alive("") and not alive("x.y")


def test_waiting_containers_are_distinguished_from_running_ones() -> None:
    labels = {"alita.session": "s", "alita.owner": me()}
    found = [
        {"Id": "a" * 64, "Labels": labels, "State": "running", "Created": "2026-11-20T09:30:00Z"},
        {"Id": "b" * 64, "Labels": labels, "State": "running", "Created": "2026-11-20T09:31:00Z"},
    ]
    rows = container_rows(found, "local", {"a" * 64})
    assert [(row.container[0], row.state) for row in rows] == [("b", "running"), ("a", "waiting")]


async def test_the_state_of_an_engine_is_checked_again_after_a_failed_run(
    settings: EngineSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = Fleet(settings, "doubted")
    engine = sandbox.engines[0]
    known = SandboxStatus(available=True)
    engine._facts.status, engine._facts.info = known, {"host": {}}

    async def gone(*_: object) -> None:
        raise SandboxUnavailable("Podman is gone.")

    monkeypatch.setattr(engine._service, "ensure", gone)
    monkeypatch.setattr(engine, "run", gone)
    assert await sandbox.status() is known
    with pytest.raises(SandboxUnavailable):
        await sandbox.run(Job(run_id="one", module="one", code=""), lambda *_: None, lambda *_: None)
    assert (await sandbox.status()).problem == "Podman is gone."


@pytest.mark.walk
@pytest.mark.podman
async def test_a_session_sees_its_pool_and_refills_it_after_a_new_image(settings: EngineSettings) -> None:
    folder = Path("/var/tmp") / f"alita-test-{os.getpid()}-image"
    tag, tar = f"localhost/alita-test-{os.getpid()}-2:1", folder / "base.tar"
    own = msgspec.structs.replace(
        settings, area=str(folder), tag=tag, pull=False, image_tar=str(tar), pool_hot=1, pool_warm=1,
        engines=(GONE, "local"),
    )  # fmt: skip
    host, sandbox = Host(own), Fleet(own, "rebuilt")
    job = Job(run_id="one", module="one_tool", code="def run() -> int:\n    return 7\n")
    folder.mkdir()
    if host.as_root:
        shutil.chown(folder, host.account, host.account)
    try:
        await host.output("podman", "tag", settings.tag, tag)
        made = (await host.output("podman", "create", tag, "true")).split()[-1]
        await host.output("podman", "export", "--output", str(tar), made)
        await host.output("podman", "rm", made)
        before = await image.present(host)
        await sandbox.warm_up(Limits(), lambda *_: None)
        seen = await sandbox.inventory()
        mine = [row for row in seen.containers if row.session == "rebuilt"]
        assert [row.state for row in mine] == ["waiting", "waiting"]
        assert [(row.environment, row.warm) for row in seen.pool] == [("base", 2)]
        assert (seen.hot, seen.warm, seen.room_bytes) == (1, 1, settings.environments_mb << 20)
        told: list[str] = []
        failed = await sandbox.rebuild(lambda work, *_: told.append(work))
        assert told == ["Importing base.tar"]
        assert list(failed) == [GONE] and GONE in failed[GONE].message
        after = (await sandbox.statuses())["local"]
        assert before is not None and after.image_digest not in ("", before.digest)
        assert after.image_origin == "imported"
        assert not (await sandbox.inventory()).pool
        assert (await sandbox.run(job, lambda *_: None, lambda *_: None)).result == 7
    finally:
        await sandbox.close()
        await host.output("podman", "rmi", "--force", tag)
        shutil.rmtree(folder)


@pytest.mark.podman
async def test_a_new_base_image_takes_the_name_of_the_old(settings: EngineSettings, tmp_path: Path) -> None:
    tars = Path("/var/tmp") / f"alita-test-{os.getpid()}"
    own = msgspec.structs.replace(
        settings,
        area=str(tars),
        tag=f"localhost/alita-test-{os.getpid()}:1",
        pull=False,
        image_tar="/var/tmp/none",
    )
    host = Host(own)
    tars.mkdir()
    tars.chmod(0o755)
    digests = []
    try:
        for text in ("one", "two"):
            (tmp_path / "file").write_text(text)
            with tarfile.open(tars / f"{text}.tar", "w") as tar:
                tar.add(tmp_path / "file", "file")
            (tars / f"{text}.tar").chmod(0o644)
            made = await image.rebuild(
                Host(msgspec.structs.replace(own, image_tar=str(tars / f"{text}.tar"))), lambda *_: None
            )
            digests.append(made.digest)
            assert made.origin == "imported"
        assert digests[0] != digests[1]
        here = await image.present(host)
        assert here is not None and here.digest == digests[1]
        listed = await host.output("podman", "images", "--all", "--no-trunc", "--format", "{{.ID}}")
        assert digests[0] not in listed
    finally:
        await host.output("podman", "rmi", "--force", own.tag)
        shutil.rmtree(tars)
