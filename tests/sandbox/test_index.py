"""Requirements from an index on loopback that speaks PEP 503 and then goes away."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from alita_tui.events import Lock, LockedPackage, Provided
from alita_tui.sandbox.environment import ensure, lock, provided
from alita_tui.sandbox.install_limits import InstallLimits
from alita_tui.spine.errors import IndexUnreachable, RequirementsError
from tests.sandbox.package_index import WHERE, Index, nothing
from tests.support.servers.package_index import Offer, PackageIndex


async def test_an_unreachable_index_is_replaced_by_the_cache(index: Index, tmp_path: Path) -> None:
    first = await lock(["greet>=1"], WHERE, nothing)
    await ensure(first, tmp_path / "one", WHERE, nothing)
    index.go_away()
    again = await lock(["greet>=1"], WHERE, nothing)
    assert again == first and again.digest
    folder = await ensure(again, tmp_path / "other", WHERE, nothing)
    assert (folder / "greet.py").read_text() == "VERSION = '1.0'\n"


async def test_a_package_outside_the_cache_needs_the_network(index: Index) -> None:
    index.go_away()
    with pytest.raises(IndexUnreachable, match="greet cannot be installed: the package index could not"):
        await lock(["greet"], WHERE, nothing)


async def test_a_missing_package_is_not_reported_as_a_network_error(index: Index) -> None:
    with pytest.raises(RequirementsError, match="surely_none") as told:
        await lock(["surely_none"], WHERE, nothing)
    assert not isinstance(told.value, IndexUnreachable)


async def test_only_locked_bytes_are_installed(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = await lock(["greet"], WHERE, nothing)
    wheel = index.folder / "simple" / "greet" / "greet-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "a") as changed:
        changed.writestr("evil.py", "")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "another cache"))
    with pytest.raises(RequirementsError, match=r"(?i)hash mismatch"):
        await ensure(locked, tmp_path / "one", WHERE, nothing)
    assert list((tmp_path / "one").iterdir()) == []


@pytest.mark.parametrize(
    ("bomb", "said"),
    [({"megabytes": 400}, "than 32 MB"), ({"files": 30_000}, "more than 2,000 files")],
    ids=["bytes", "files"],
)
async def test_a_small_wheel_cannot_fill_the_disk(
    index: Index, tmp_path: Path, bomb: dict[str, int], said: str
) -> None:
    index.offer("bomb", "1.0", **bomb)
    wheel = next((tmp_path / "index" / "simple" / "bomb").glob("*.whl"))
    assert wheel.stat().st_size < 5_000_000
    locked = await lock(["bomb"], WHERE, nothing)
    limits = InstallLimits(bytes=32 << 20, files=2_000)
    with pytest.raises(RequirementsError, match=said) as refused:
        await ensure(locked, tmp_path / "environments", WHERE, nothing, limits=limits)
    assert "sandbox.environment_mb" in refused.value.hint
    assert list((tmp_path / "environments").iterdir()) == []
    left = sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert left < 32 << 20, "what was unpacked is not kept"


async def test_wheels_that_are_too_large_are_refused_before_they_are_downloaded(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = PackageIndex(Offer("large-one"))
    try:
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://{server.host}/simple")
        with pytest.raises(RequirementsError, match=r"large-one: 0 MB to download; 0 MB are allowed"):
            await lock(["large-one"], WHERE, nothing, limits=InstallLimits(bytes=10))
        assert not any(path.endswith(".whl") for path in server.asked)
    finally:
        server.close()


async def test_ordinary_requirements_fit_the_limits(index: Index, tmp_path: Path) -> None:
    index.offer("usual", "1.0", megabytes=20, files=500)
    locked = await lock(["usual"], WHERE, nothing)
    folder = await ensure(
        locked, tmp_path / "environments", WHERE, nothing, limits=InstallLimits(bytes=32 << 20)
    )
    assert (folder / "usual.py").exists()
    assert provided(folder, locked) == (Provided(distribution="usual", modules=("usual",)),)


def test_provided_modules_are_read_from_wheel_records(tmp_path: Path) -> None:
    def installed(name: str, record: str) -> None:
        (tmp_path / name).mkdir()
        (tmp_path / name / "RECORD").write_text(record)

    listed = [
        "bs4/__init__.py,sha256=x,1",
        "bs4/a/b.py,,",
        "../../bin/soup,,",
        "_soup.abi3.so,,",
        "numpy.libs/x.so,,",
    ]
    listed += [
        "__pycache__/a.pyc,,",
        "beautifulsoup4-4.13.dist-info/METADATA,,",
        '"six.py",,',
        "",
        "a-b/c.py,,",
    ]
    installed("beautifulsoup4-4.13.dist-info", "\n".join(listed))
    installed("soupsieve-2.dist-info", "soupsieve/__init__.py,,")
    installed("not_locked-1.dist-info", "evil.py,,")
    installed("hostile-1.dist-info", '"' + "x" * 200_000 + "\0")
    names = {"BeautifulSoup4": True, "soupsieve": False, "hostile": True, "gone": True}
    packages = tuple(LockedPackage(name=name, version="1", direct=direct) for name, direct in names.items())
    assert provided(tmp_path, Lock(packages=packages)) == (
        Provided(distribution="beautifulsoup4", modules=("_soup", "bs4", "six")),
    )
