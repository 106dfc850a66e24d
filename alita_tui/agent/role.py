"""The kinds of agents that can be handed a part of a task, each in a TOML file, shipped or the person's own."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from alita_tui.events import ready
from alita_tui.spine.errors import ConfigError, RegistryError
from alita_tui.spine.text import one_line
from alita_tui.system.files import read_plain

RoleAction = Literal["find_tool", "search_web", "read_page", "look", "build_tool", "run_tool", "delegate"]
"""Actions that a role may be allowed. Only the lead talks with the person, plans and answers."""
VERIFIER = "verifier"
"""Name of the role that checks an answer before it is given."""
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_LARGEST = 64 << 10
"""Bytes of one file."""
_MOST = 200
"""Files of a folder that are read."""

Short = Annotated[str, Meta(min_length=1, max_length=300)]


def seat_of(role: str) -> str:
    """Return the seat of a role's own models; see `ModelRequest.seat`."""
    return f"specialist:{role}"


class Role(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A kind of agent. Every field but the last two is a key of its file."""

    purpose: Short
    """What it is for, as shown to the delegating agent."""
    prompt: Annotated[str, Meta(min_length=1, max_length=20_000)]
    """Instructions about its work, in addition to the frame that all roles share."""
    actions: Annotated[tuple[RoleAction, ...], Meta(max_length=7)] = ()
    """Its actions besides reporting."""
    tools: tuple[Short, ...] = ("*",)
    """Tools of the library that it may find and run: names, or patterns such as `csv_*`."""
    models: tuple[Short, ...] = ()
    """Models in order, as the settings write them; empty: those of `roles.specialist`."""
    share: Annotated[float, Meta(gt=0, le=1)] = 0.3
    """Share of the delegating agent's remaining budget that it may spend, unless the order says otherwise."""
    minutes: Annotated[float, Meta(gt=0, le=1440)] = 10.0
    """Minutes from the order within which it must report."""
    steps: Annotated[int, Meta(ge=1, le=200)] = 15
    done_when: Short = "The goal is met, or it is clear that it cannot be."
    """When its work is done, unless the order says otherwise."""
    name: str = ""
    own: bool = False
    """True for one of the person's own."""

    def allows(self, tool: str) -> bool:
        """Return whether it may use a tool of the library."""
        return any(fnmatchcase(tool, pattern) for pattern in self.tools)


class Roles:
    """All roles by name. A faulty file is ignored and listed as a problem."""

    def __init__(self, roles: Mapping[str, Role], problems: Mapping[str, str] | None = None) -> None:
        """`problems` are by the file's name or path."""
        self._roles = dict(roles)
        self.problems = dict(problems or {})

    def __iter__(self) -> Iterator[Role]:
        return iter(self._roles.values())

    def __getitem__(self, name: str) -> Role:
        """Return a role. Raise RegistryError for an unknown name."""
        if name in self._roles:
            return self._roles[name]
        shown = one_line(name, 60)
        if any(Path(file).stem == name for file in self.problems):
            raise RegistryError(
                f"The file of the role {shown!r} cannot be used.", hint="See what is wrong: alita roles check"
            )
        raise RegistryError(f"There is no role {shown!r}.", hint=f"There is: {', '.join(self._roles)}.")


def read_role(text: str, name: str, *, own: bool = False) -> Role:
    """Parse a role's file. Raise ConfigError, which describes the fault."""
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{one_line(name, 60)!r} is not a name of a role.",
            hint="Small letters, digits and dashes: web-researcher.toml.",
        )
    try:
        raw = tomllib.loads(text)
        if reserved_keys := sorted({"name", "own"} & raw.keys()):
            raise msgspec.ValidationError(
                f"`{reserved_keys[0]}` is not said in the file: the file's name is the role's"
            )
        role = msgspec.convert(raw, ready(Role))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{name} is not valid TOML: {one_line(str(error), 200)}.") from None
    except msgspec.ValidationError as error:
        detail = one_line(str(error), 200)
        raise ConfigError(
            f"The role {name} is not valid: {detail}.", hint=f"Its keys are {', '.join(_KEYS)}."
        ) from None
    return msgspec.structs.replace(role, name=name, own=own)


_KEYS = tuple(field for field in Role.__struct_fields__ if field not in ("name", "own"))


@cache
def shipped_roles() -> tuple[Role, ...]:
    """Return the roles that come with alita; read once, as every session asks for them several times."""
    entries = sorted(files("alita_tui.agent.roles").iterdir(), key=lambda file: file.name)
    return tuple(
        read_role(file.read_text("utf-8"), file.name.removesuffix(".toml"))
        for file in entries
        if file.name.endswith(".toml")
    )


def read_roles(folder: Path | None = None) -> Roles:
    """Return the shipped roles and the person's own, which replace shipped ones of the same name. Block on the disk."""
    roles = {role.name: role for role in shipped_roles()}
    problems: dict[str, str] = {}
    for path in _files(folder, problems):
        try:
            if path.stat().st_size > _LARGEST:
                raise ConfigError(f"It has more than {_LARGEST >> 10} kB.")
            role = read_role(read_plain(path).decode(), path.stem, own=True)
            roles[role.name] = role
        except ConfigError as error:
            problems[str(path)] = f"{error.message} {error.hint}".strip()
        except (OSError, UnicodeDecodeError) as error:
            problems[str(path)] = f"It cannot be read: {one_line(str(error), 200)}."
    return Roles(roles, problems)


def _files(folder: Path | None, problems: dict[str, str]) -> Iterable[Path]:
    if folder is None or not folder.is_dir():
        return ()
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".toml")
    except OSError as error:
        problems[str(folder)] = f"It cannot be read: {error.strerror}."
        return ()
    if len(paths) > _MOST:
        problems[str(folder)] = f"Of {len(paths)} files only the first {_MOST} are read."
    return paths[:_MOST]
