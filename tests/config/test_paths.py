import os
import stat
from pathlib import Path

import pytest

from alita_tui.config.paths import Below, Paths, home_options, locate, make_private, shipped
from alita_tui.spine.errors import StoreError


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def everything(paths: Paths) -> list[Path]:
    names = [name for name, value in vars(Paths).items() if isinstance(value, Below)]
    return [getattr(paths, name) for name in (*names, *Paths.__struct_fields__)]


def test_home_holds_every_path(tmp_path):
    paths = locate(tmp_path / "home", {"XDG_DATA_HOME": "/elsewhere", "ALITA_HOME": "/other"})
    found = everything(paths)
    assert len(found) == len(set(found)) >= 42
    assert all(path.is_relative_to(tmp_path / "home") for path in found)
    assert not (tmp_path / "home").exists()


def test_the_home_can_be_set_by_a_variable(tmp_path):
    assert locate(None, {"ALITA_HOME": str(tmp_path)}) == locate(tmp_path, {})


def test_a_relative_home_is_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert locate(Path("here"), {}).config_file == tmp_path / "here" / "config.toml"


def test_printed_commands_name_an_unusual_home_only(tmp_path):
    assert home_options(locate(None, {"ALITA_HOME": str(tmp_path)})) == ("--home", str(tmp_path))
    assert home_options(locate(tmp_path, {})) == ("--home", str(tmp_path))
    assert home_options(locate(None, {"XDG_DATA_HOME": "/d"})) == ()


def test_xdg_folders():
    environ = {
        "XDG_DATA_HOME": "/d",
        "XDG_CONFIG_HOME": "/c",
        "XDG_CACHE_HOME": "/k",
        "XDG_RUNTIME_DIR": "/r",
    }
    paths = locate(None, environ)
    assert [paths.data, paths.config, paths.cache, paths.runtime] == [
        Path("/d/alita"),
        Path("/c/alita"),
        Path("/k/alita"),
        Path("/r/alita"),
    ]


def test_relative_xdg_folders_are_ignored_and_runtime_falls_back_to_the_cache():
    paths = locate(None, {"XDG_CACHE_HOME": "/k", "XDG_DATA_HOME": "relative", "XDG_RUNTIME_DIR": ""})
    assert paths.data.is_absolute() and "relative" not in paths.data.parts
    assert paths.runtime == Path("/k/alita/run")


def test_prepare_makes_private_folders_even_with_an_open_umask(tmp_path):
    before = os.umask(0)
    try:
        paths = locate(tmp_path / "new" / "home", {})
        paths.prepare()
        paths.prepare()
    finally:
        os.umask(before)
    folders = [path for path in (tmp_path / "new").rglob("*") if path.is_dir()]
    assert {paths.sessions, paths.desk, paths.mcp_box, paths.environments} <= set(folders)
    assert {mode(folder) for folder in (tmp_path / "new", *folders)} == {0o700}


def test_an_existing_folder_keeps_its_mode(tmp_path):
    tmp_path.chmod(0o755)
    locate(tmp_path, {}).prepare()
    assert mode(tmp_path) == 0o755
    assert mode(tmp_path / "data") == 0o700


def test_a_file_in_the_way_is_a_clear_error(tmp_path):
    (tmp_path / "home").write_text("a file")
    with pytest.raises(StoreError, match="home.*cannot be created") as caught:
        make_private(tmp_path / "home" / "data")
    assert "--home" in caught.value.hint


@pytest.mark.parametrize("kind", ["themes", "sessions"])
def test_shipped_folders_are_in_the_checkout_or_the_wheel(kind):
    assert shipped(kind).is_dir()
    assert shipped(kind).name == kind
