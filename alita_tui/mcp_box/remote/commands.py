"""What a person types to start a server, as what is locked and run: `uvx PACKAGE`, `python -m MODULE`, a file."""

from __future__ import annotations

import configparser
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from alita_tui.events import Value
from alita_tui.spine.errors import UsageError
from alita_tui.spine.requirements import distribution, plain
from alita_tui.spine.text import one_line

_FROM = ("--from", "--with", "--python", "-p")
_ENTRY = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)")
_FIXED = {"PYTHONPATH": "/env", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1", "TZ": "UTC"}
"""What would leak into descriptors is the same on every machine."""


class Wanted(Value, frozen=True):
    """A command, taken apart."""

    requirements: tuple[str, ...] = ()
    script: str = ""
    """The console script of a package; empty where `argv` says all."""
    package: str = ""
    """The package that the script is looked for in."""
    argv: tuple[str, ...] = ()
    """The command in the container, or what follows the script."""
    npm: str = ""
    """A package of npm, with its version where one is named."""


def taken_apart(command: Sequence[str], extra: Sequence[str] = (), *, folder: str = "") -> Wanted:
    """Return what a command asks for. Raise UsageError for what cannot be run in a container."""
    program, *rest = command
    name = PurePosixPath(program).name
    if name == "uv" and rest[:2] == ["tool", "run"]:
        name, rest = "uvx", rest[2:]
    if name == "pipx" and rest[:1] == ["run"]:
        name, rest = "uvx", ["--from" if one == "--spec" else one for one in rest[1:]]
    if name == "uvx":
        return _uvx(rest, extra)
    if name == "npx" or (name == "npm" and rest[:1] == ["exec"]):
        rest = rest[name == "npm" :]
        while rest and rest[0] in ("-y", "--yes", "--"):
            rest = rest[1:]
        if not rest or rest[0].startswith("-"):
            raise UsageError("npx names no package.", hint="Write it as npx PACKAGE [ARGUMENTS]")
        return Wanted(npm=rest[0], argv=tuple(rest[1:]))
    if re.fullmatch(r"python(3(\.\d+)?)?", name):
        return Wanted(requirements=_plain(extra), argv=("python3", *_inside(rest, folder)))
    if name == "node" and folder:
        return Wanted(npm="node", argv=tuple(_inside(rest, folder)))
    raise UsageError(
        f"{one_line(program, 80)} is not known to run in the sandbox.",
        hint="uvx PACKAGE, npx PACKAGE, python -m MODULE with --requires, or python FILE with --folder run there. "
        "--on-host runs anything with all your rights.",
    )


def _uvx(rest: Sequence[str], extra: Sequence[str]) -> Wanted:
    asked: list[str] = list(extra)
    package, words = "", list(rest)
    while words and words[0].startswith("-"):
        option, _, value = words.pop(0).partition("=")
        if option not in _FROM:
            raise UsageError(
                f"uvx {option} is not understood.",
                hint="--from and --with are. Packages come from the one index of the settings: elsewhere the "
                "same name may be another package.",
            )
        value = value or (words.pop(0) if words else "")
        if option == "--from":
            package = value
        elif option == "--with":
            asked += value.split(",") if "[" not in value else [value]
    if not words:
        raise UsageError("uvx names no package.", hint="Write it as uvx PACKAGE [ARGUMENTS]")
    script, *arguments = words
    if not package:
        package = re.sub(r"@latest$", "", script)
        package = re.sub(r"@(?=\d)", "==", package)
        script = re.split(r"[@=<>~!\[]", script)[0]
    named = distribution(package) or ""
    return Wanted(requirements=_plain((package, *asked)), script=script, package=named, argv=tuple(arguments))


def _plain(asked: Sequence[str]) -> tuple[str, ...]:
    for one in asked:
        if plain(one) is None:
            raise UsageError(
                f"{one_line(one, 80)} is no plain requirement.",
                hint="Name a package of the index, with a version if need be: no path or URL.",
            )
    return tuple(dict.fromkeys(asked))


def _inside(words: Sequence[str], folder: str) -> list[str]:
    """Return the words with files of the folder as they are called in the container."""
    if not folder:
        return list(words)
    root = Path(folder)
    found = []
    for word in words:
        path = Path(word) if word.startswith("/") else root / word
        within = not word.startswith("-") and path.is_file() and path.resolve().is_relative_to(root.resolve())
        found.append(f"/env/app/{path.resolve().relative_to(root.resolve())}" if within else word)
    return found


def script_command(installed: Path, wanted: Wanted) -> tuple[str, ...]:
    """Return the command that runs a package's console script in the container. Raise UsageError."""
    found: dict[str, str] = {}
    for file in sorted(installed.glob("*.dist-info/entry_points.txt")):
        own = distribution(file.parent.name.partition("-")[0]) == wanted.package
        table = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
        table.optionxform = str  # type: ignore[method-assign,assignment]  # names are told apart by case
        try:
            table.read_string(file.read_text("utf-8", "replace")[:100_000])
        except configparser.Error:
            continue
        if table.has_section("console_scripts"):
            for name, target in table.items("console_scripts"):
                if name == wanted.script or own:
                    found[name] = target
    target = found.get(wanted.script) or (next(iter(found.values())) if len(found) == 1 else "")
    match = _ENTRY.fullmatch(target.partition("[")[0].strip())
    if match is None:
        offered = ", ".join(sorted(found)) or "none"
        raise UsageError(
            f"{wanted.package} has no command {one_line(wanted.script, 60)}.",
            hint=f"It has: {one_line(offered, 200)}. Name one: uvx --from {wanted.package} COMMAND",
        )
    module, function = match[1], match[2]
    top = function.partition(".")[0]
    code = f"import sys; sys.argv[0] = {wanted.script!r}; from {module} import {top}; sys.exit({function}())"
    return ("python3", "-c", code, *wanted.argv)


def fixed_environment(own: dict[str, str]) -> dict[str, str]:
    """Return the variables of a boxed Python server."""
    return {**_FIXED, **own}
