"""Requirements as content-addressed folders, resolved and installed on the host: wheels with uv, and packages of npm.

No build script ever runs on the host: `--only-binary :all:` refuses source distributions, npm runs no scripts, and
nothing of a package is imported here. The folders are mounted read-only.
"""

from __future__ import annotations

import asyncio
import csv
import inspect
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from alita_tui.events import Lock, LockedPackage, Provided, Value
from alita_tui.sandbox import seals
from alita_tui.sandbox.install_limits import InstallLimits, InstallWatch
from alita_tui.sandbox.npm_packages import resolved, unpack, with_wheels
from alita_tui.sandbox.overview import size_of
from alita_tui.sandbox.owner import me
from alita_tui.sandbox.uv import InstallLimitExceeded, uv
from alita_tui.spine import requirements
from alita_tui.spine.errors import IndexUnreachable, RequirementsError
from alita_tui.spine.ports.stream import Progress
from alita_tui.spine.text import one_line

_UV_SECONDS = 300
_LARGEST_RECORD = 16 << 20
_MOST_MODULES = 50
_LIMITS = InstallLimits()
_UNREACHABLE = re.compile(r"error sending request|dns error|operation timed out|network was disabled")
_GLIBC = ("2.40", "2.39", "2.38", "2.37", "2.36", "2.35", "2.34", "2.33", "2.32", "2.31", "2.28", "2.17")


class Target(Value, frozen=True):
    """The Python and platform that packages must support."""

    python: str
    """`3.12`."""
    platform: str
    """As uv names it, for example `x86_64-manylinux_2_36`."""


def target(report: dict[str, Any]) -> Target:
    """Return the target that the warden's report on its interpreter implies."""
    major, minor = report["python"][:2]
    machine = "aarch64" if report["machine"] in ("arm64", "aarch64") else "x86_64"
    version = tuple(int(n) for n in re.findall(r"\d+", report["libc"])[:2]) or (2, 17)
    glibc = next(
        (glibc_version for glibc_version in _GLIBC if tuple(map(int, glibc_version.split("."))) <= version),
        "2.17",
    )
    return Target(python=f"{major}.{minor}", platform=f"{machine}-manylinux_{glibc.replace('.', '_')}")


async def lock(
    requested: Sequence[str], target: Target, progress: Progress, *, limits: InstallLimits = _LIMITS
) -> Lock:
    """Return requirements resolved to exact, hashed wheels. Raise RequirementsError that names what is wrong.

    Wheels whose total size exceeds the limit are refused before any of them is downloaded.
    """
    requirements_wanted = tuple(
        sorted({plain(requirement) for requirement in requested if requirement.strip()})
    )
    if not requirements_wanted:
        return Lock()
    names = ", ".join(requirements_wanted)
    progress("Resolving requirements", 0, 0, names)
    text = await _uv_with_cache(
        "pip", "compile", "-", "--format", "pylock.toml", "--no-header", "--quiet",
        "--only-binary", ":all:", "--python-version", target.python, "--python-platform", target.platform,
        stdin="\n".join(requirements_wanted) + "\n", about=names,
    )  # fmt: skip
    packages = parse_lock(text, set(map(requirements.distribution, requirements_wanted)))
    if not packages:
        raise RequirementsError(f"{names} resolved to nothing.")
    size = sum(package.size for package in packages)
    progress("Resolving requirements", 1, 1, f"{len(packages)} packages, {size / 2**20:.1f} MB to download")
    if size > limits.bytes:
        raise RequirementsError(
            f"{names}: {size >> 20:,} MB to download; {limits.bytes >> 20:,} MB are allowed.",
            hint=limits.hint,
        )
    return Lock(
        requirements=requirements_wanted, packages=packages, python=target.python, platform=target.platform
    )


def plain(requirement: str) -> str:
    """Return a PEP 508 requirement of the index, rewritten. Raise RequirementsError for anything else.

    Options, paths and URLs are refused: uv accepts options in the file it reads, and builds an editable
    package even with `--only-binary :all:`.
    """
    rewritten = requirements.plain(requirement)
    if rewritten is None or rewritten.startswith(requirements.NPM):
        raise RequirementsError(
            f"{one_line(requirement)} is no plain requirement.",
            hint="Name a package of the index, with a version if need be: no option, path or URL.",
        )
    return rewritten


def parse_lock(text: str, direct: Container[str | None]) -> tuple[LockedPackage, ...]:
    """Return the packages of a `pylock.toml` (PEP 751) with the wheels that fit. Raise RequirementsError."""
    import tomllib

    packages: list[LockedPackage] = []
    try:
        for package in tomllib.loads(text).get("packages", ()):
            wheels = package["wheels"]
            times = sorted(wheel["upload-time"].isoformat() for wheel in wheels if "upload-time" in wheel)
            packages.append(
                LockedPackage(
                    name=package["name"],
                    version=package["version"],
                    hashes=tuple(f"sha256:{wheel['hashes']['sha256']}" for wheel in wheels),
                    uploaded=times[-1] if times else "",
                    size=max(int(wheel.get("size", 0)) for wheel in wheels),
                    direct=requirements.distribution(package["name"]) in direct,
                )
            )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise RequirementsError(
            f"The package index's answer gives no lock that can be read: {error}."
        ) from error
    return tuple(packages)


async def ensure(
    locked: Lock, root: Path, target: Target, progress: Progress, *, limits: InstallLimits = _LIMITS
) -> Path:
    """Return the folder with exactly these packages, installed first if it is missing.

    Raise RequirementsError, or EnvironmentChanged for a folder that was changed since and has to be set aside.

    It holds wheels, and packages of npm in `node_modules`. A small archive can unpack to any size: uv or npm is
    killed once it has written more than the limits.
    """
    if (locked.python, locked.platform) != (target.python, target.platform):
        raise RequirementsError(
            f"The requirements were locked for Python {locked.python} on {locked.platform}; "
            f"the base image has Python {target.python} on {target.platform}.",
            hint="Build the tool again, so that its requirements are resolved for this image.",
        )
    folder = root / locked.digest[:32]
    if await asyncio.to_thread(seals.complete, folder):
        await asyncio.to_thread(seals.check, folder)
        os.utime(folder / ".complete")
        return folder
    if locked.npm:
        return await _ensure_npm(locked, folder, target, progress, limits)
    names = ", ".join(package.name for package in locked.packages)
    progress(
        "Installing packages", 0, 0, f"{names} (at most {limits.bytes >> 20:,} MB, {limits.files:,} files)"
    )
    cache = Path((await _uv("cache", "dir", about="uv's cache")).strip())
    draft = await asyncio.to_thread(_draft, root)
    watch = InstallWatch(limits, cache, draft)
    try:
        same_python = f"{sys.version_info.major}.{sys.version_info.minor}" == target.python
        await _uv_with_cache(
            "pip", "install", "--target", str(draft), "-r", "-", "--require-hashes", "--no-deps",
            "--only-binary", ":all:", "--python-version", target.python, "--python-platform", target.platform,
            "--link-mode", "copy", "--quiet", *(("--compile-bytecode",) if same_python else ()),
            stdin=locked.listing, about=names, measure=watch.look,
        )  # fmt: skip
        if excess := await asyncio.to_thread(limits.exceeded, draft):
            raise InstallLimitExceeded(excess)
        await asyncio.to_thread(_make_readable, draft)
        await asyncio.to_thread(_publish, draft, folder, locked.digest)
    except InstallLimitExceeded as error:
        await asyncio.to_thread(watch.clear)
        await _uv("cache", "clean", "--quiet", *(package.name for package in locked.packages), about=names)
        raise RequirementsError(f"{names} cannot be installed: {error}.", hint=limits.hint) from error
    finally:
        await asyncio.to_thread(shutil.rmtree, draft, True)
    return folder


async def lock_npm(
    wheels: Lock,
    node: Path,
    npm_requirements: Sequence[str],
    progress: Progress,
    *,
    limits: InstallLimits = _LIMITS,
) -> Lock:
    """Return a lock with packages of npm too. Raise RequirementsError. `node` is where the wheels are installed."""
    progress("Resolving requirements", 0, 0, ", ".join(npm_requirements))
    packages = await resolved(node, npm_requirements, limits)
    progress("Resolving requirements", 1, 1, f"{len(packages)} packages of npm")
    return Lock(
        requirements=tuple(sorted((*wheels.requirements, *npm_requirements))),
        packages=(*wheels.packages, *packages),
        python=wheels.python,
        platform=wheels.platform,
    )


async def _ensure_npm(
    locked: Lock, folder: Path, target: Target, progress: Progress, limits: InstallLimits
) -> Path:
    """Return the folder with wheels and packages of npm, made from the folder with the wheels alone."""
    wheels = await ensure(locked.wheels, folder.parent, target, progress, limits=limits)
    progress("Installing packages", 0, 0, ", ".join(package.name for package in locked.npm))
    draft = await asyncio.to_thread(_draft, folder.parent)
    try:
        await asyncio.to_thread(with_wheels, wheels, draft)
        await unpack(wheels, locked, draft, limits)
        await asyncio.to_thread(_make_readable, draft)
        await asyncio.to_thread(_publish, draft, folder, locked.digest)
    finally:
        await asyncio.to_thread(shutil.rmtree, draft, True)
    return folder


def provided(folder: Path, installed: Lock) -> tuple[Provided, ...]:
    """Return the top-level modules of every direct requirement installed there, by the wheels' own records."""
    direct = {requirements.distribution(package.name) for package in installed.packages if package.direct}
    return tuple(
        Provided(distribution=name, modules=modules)
        for record in sorted(folder.glob("*.dist-info/RECORD"))
        if (name := requirements.distribution(record.parent.name.partition("-")[0])) in direct
        and name
        and (modules := _modules(record))
    )


def _modules(record: Path) -> tuple[str, ...]:
    """Return the top-level modules among the files that a wheel's RECORD lists (PEP 376)."""
    modules: set[str] = set()
    with suppress(OSError, csv.Error), record.open(encoding="utf-8", errors="replace", newline="") as lines:
        if record.stat().st_size > _LARGEST_RECORD:
            return ()
        for row in csv.reader(lines):
            path = row[0] if row else ""
            if module := inspect.getmodulename(path):
                top, slash, _ = path.partition("/")
                modules.add(top if slash else module)
    return tuple(sorted(filter(str.isidentifier, modules - {"__pycache__"}))[:_MOST_MODULES])


def _draft(root: Path) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"building-{me()}-", dir=root))


def _publish(draft: Path, folder: Path, digest: str) -> None:
    """Give a finished environment its name. Files that it shares with another one count towards the other's size."""
    files = (path.lstat() for path in draft.rglob("*") if path.is_file() and not path.is_symlink())
    shared = sum(file.st_size for file in files if file.st_nlink > 1)
    (draft / ".complete").write_text(json.dumps({"digest": digest, "bytes": size_of(draft) - shared}))
    seals.publish(draft, folder)


def _make_readable(folder: Path) -> None:
    """Make every file readable for the account and the container's user, and writable for its owner alone."""
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)


async def _uv_with_cache(
    *arguments: str, about: str, stdin: str = "", measure: Callable[[int], str] | None = None
) -> str:
    """Return the output of uv; if the index does not answer, it is run again with its cache alone.

    Raise RequirementsError.
    """
    try:
        return await _uv(*arguments, about=about, stdin=stdin, measure=measure)
    except IndexUnreachable as error:
        with suppress(RequirementsError):
            return await _uv(*arguments, "--offline", about=about, stdin=stdin, measure=measure)
        raise error


async def _uv(
    *arguments: str, about: str, stdin: str = "", measure: Callable[[int], str] | None = None
) -> str:
    try:
        code, output, complaints = await uv(*arguments, seconds=_UV_SECONDS, stdin=stdin, measure=measure)
    except TimeoutError:
        raise RequirementsError(f"{about}: the package index did not answer in {_UV_SECONDS} s.") from None
    if not code:
        return output
    if _UNREACHABLE.search(complaints):
        cause = complaints.partition(" hint:")[0].rpartition("cause: ")[2]
        raise IndexUnreachable(
            f"{about} cannot be installed: the package index could not be reached ({cause[-300:]}).",
            hint="Check the network, or UV_DEFAULT_INDEX where another index is meant.",
        )
    raise RequirementsError(
        f"{about} cannot be installed: {complaints[-600:]}",
        hint="Only packages that exist on the index and come as wheels can be used.",
    )
