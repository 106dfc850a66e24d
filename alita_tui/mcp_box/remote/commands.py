"""Parses a typed server command (`uvx PACKAGE`, `python -m MODULE`, a file): what to lock and what to run."""

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
"""The same on every machine, because servers may copy variables into their descriptors."""


class ParsedCommand(Value, frozen=True):
    """A parsed command."""

    requirements: tuple[str, ...] = ()
    script: str = ""
    """The console script of a package; empty if `argv` is the whole command."""
    package: str = ""
    """The package with the script."""
    argv: tuple[str, ...] = ()
    """The whole command in the container, or only the arguments of `script`."""
    npm: str = ""
    """An npm package, with its version if one is named."""


def parse_command(command: Sequence[str], extra: Sequence[str] = (), *, folder: str = "") -> ParsedCommand:
    """Return a parsed command. Raises UsageError if it cannot run in a container."""
    program, *words = command
    name = PurePosixPath(program).name
    if name == "uv" and words[:2] == ["tool", "run"]:
        name, words = "uvx", words[2:]
    if name == "pipx" and words[:1] == ["run"]:
        name, words = "uvx", ["--from" if word == "--spec" else word for word in words[1:]]
    if name == "uvx":
        return _uvx(words, extra)
    if name == "npx" or (name == "npm" and words[:1] == ["exec"]):
        words = words[name == "npm" :]
        while words and words[0] in ("-y", "--yes", "--"):
            words = words[1:]
        if not words or words[0].startswith("-"):
            raise UsageError("npx names no package.", hint="Write it as npx PACKAGE [ARGUMENTS]")
        return ParsedCommand(npm=words[0], argv=tuple(words[1:]))
    if re.fullmatch(r"python(3(\.\d+)?)?", name):
        return ParsedCommand(requirements=_plain(extra), argv=("python3", *_in_container(words, folder)))
    if name == "node" and folder:
        return ParsedCommand(npm="node", argv=tuple(_in_container(words, folder)))
    raise UsageError(
        f"{one_line(program, 80)} is not known to run in the sandbox.",
        hint="uvx PACKAGE, npx PACKAGE, python -m MODULE with --requires, or python FILE with --folder run there. "
        "--on-host runs anything with all your rights.",
    )


def _uvx(rest: Sequence[str], extra: Sequence[str]) -> ParsedCommand:
    requirements: list[str] = list(extra)
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
            requirements += value.split(",") if "[" not in value else [value]
    if not words:
        raise UsageError("uvx names no package.", hint="Write it as uvx PACKAGE [ARGUMENTS]")
    script, *arguments = words
    if not package:
        package = re.sub(r"@latest$", "", script)
        package = re.sub(r"@(?=\d)", "==", package)
        script = re.split(r"[@=<>~!\[]", script)[0]
    package_name = distribution(package) or ""
    return ParsedCommand(
        requirements=_plain((package, *requirements)),
        script=script,
        package=package_name,
        argv=tuple(arguments),
    )


def _plain(requirements: Sequence[str]) -> tuple[str, ...]:
    for requirement in requirements:
        if plain(requirement) is None:
            raise UsageError(
                f"{one_line(requirement, 80)} is no plain requirement.",
                hint="Name a package of the index, with a version if need be: no path or URL.",
            )
    return tuple(dict.fromkeys(requirements))


def _in_container(words: Sequence[str], folder: str) -> list[str]:
    """Return the words with the folder's files replaced by their paths in the container."""
    if not folder:
        return list(words)
    root = Path(folder)
    translated = []
    for word in words:
        path = Path(word) if word.startswith("/") else root / word
        within = not word.startswith("-") and path.is_file() and path.resolve().is_relative_to(root.resolve())
        translated.append(f"/env/app/{path.resolve().relative_to(root.resolve())}" if within else word)
    return translated


def script_command(installed: Path, command: ParsedCommand) -> tuple[str, ...]:
    """Return the command that runs a package's console script in the container. Raises UsageError."""
    scripts: dict[str, str] = {}
    for file in sorted(installed.glob("*.dist-info/entry_points.txt")):
        is_package = distribution(file.parent.name.partition("-")[0]) == command.package
        table = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
        table.optionxform = str  # type: ignore[method-assign,assignment]  # names are told apart by case
        try:
            table.read_string(file.read_text("utf-8", "replace")[:100_000])
        except configparser.Error:
            continue
        if table.has_section("console_scripts"):
            for name, target in table.items("console_scripts"):
                if name == command.script or is_package:
                    scripts[name] = target
    target = scripts.get(command.script) or (next(iter(scripts.values())) if len(scripts) == 1 else "")
    match = _ENTRY.fullmatch(target.partition("[")[0].strip())
    if match is None:
        offered = ", ".join(sorted(scripts)) or "none"
        raise UsageError(
            f"{command.package} has no command {one_line(command.script, 60)}.",
            hint=f"It has: {one_line(offered, 200)}. Name one: uvx --from {command.package} COMMAND",
        )
    module, function = match[1], match[2]
    top = function.partition(".")[0]
    code = f"import sys; sys.argv[0] = {command.script!r}; from {module} import {top}; sys.exit({function}())"
    return ("python3", "-c", code, *command.argv)


def fixed_environment(variables: dict[str, str]) -> dict[str, str]:
    """Return the environment of a Python server in a container; `variables` replace the fixed ones."""
    return {**_FIXED, **variables}
