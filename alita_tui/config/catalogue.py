"""The settings by their keys (`section.field`): types, defaults, meaning, and reading a value."""

from __future__ import annotations

import ast
import inspect
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, cast, get_args, get_origin
from urllib.parse import urlsplit

import msgspec

from alita_tui.config.models import read_entry
from alita_tui.config.settings import Settings
from alita_tui.events import Capabilities, Value, ready
from alita_tui.spine.address import AddressPolicy
from alita_tui.spine.errors import ConfigError
from alita_tui.spine.grants import faults
from alita_tui.spine.near_names import did_you_mean
from alita_tui.spine.syntax import parse
from alita_tui.spine.text import one_line

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    tuple: "a list of texts",
}


class Field(Value, frozen=True):
    """One setting."""

    key: str
    """`section.name`."""
    type: Any
    default: Any

    @property
    def variable(self) -> str:
        """Name of its environment variable."""
        return "ALITA_" + self.key.replace(".", "_").upper()

    @property
    def kind(self) -> type:
        """The plain type: bool, int, float, str or tuple."""
        return type(self.default)

    @property
    def choices(self) -> tuple[str, ...]:
        """The only allowed texts, of a list those in it; empty if any is allowed."""
        of = get_args(self.type)[0] if get_origin(self.type) is tuple else self.type
        return get_args(of) if get_origin(of) is Literal else ()

    @property
    def lists_models(self) -> bool:
        """True if each of its texts is a model."""
        return self.key == "models.known" or self.key.startswith("roles.")


@cache
def fields() -> dict[str, Field]:
    """Return every setting by its key, in the order of the settings file."""
    settings = {}
    for section in msgspec.structs.fields(Settings):
        for field in msgspec.structs.fields(section.type):
            key = f"{section.name}.{field.name}"
            settings[key] = Field(key=key, type=field.type, default=field.default)
    return settings


def meaning(key: str) -> str:
    """Return the sentence that describes a setting or a section. Raises ConfigError."""
    name, _, attribute = key.partition(".")
    section = next((s.type for s in msgspec.structs.fields(Settings) if s.name == name), None)
    if section is None or (attribute and key not in fields()):
        raise unknown(key, "the settings")
    if not attribute:
        return inspect.getdoc(section) or ""
    described = _described(section)
    if attribute not in described:
        raise AssertionError(f"{key} is not described")
    return described[attribute]


@cache
def _described(section: type) -> Mapping[str, str]:
    """Return the sentence behind each setting of a section, read from its source once."""
    body = cast("ast.ClassDef", parse(inspect.getsource(section)).body[0]).body
    return {
        ast.unparse(node.target): str(ast.literal_eval(docstring.value))
        for node, docstring in zip(body, body[1:], strict=False)
        if isinstance(node, ast.AnnAssign) and isinstance(docstring, ast.Expr)
    }


def field(key: str, where: str) -> Field:
    """Return one setting. Raises ConfigError that names the nearest key."""
    setting = fields().get(key)
    if setting is None:
        raise unknown(key, where)
    return setting


def unknown(key: str, where: str) -> ConfigError:
    """Return the error for an unknown key; its hint names the nearest."""
    return ConfigError(
        f"There is an unknown key in {where}: {one_line(key, 80)!r}.",
        hint=did_you_mean(key, fields(), "`alita config` lists every key."),
    )


def coerce(field: Field, value: object, where: str, *, text: bool = False) -> Any:
    """Return a value as the setting's type. With `text` it is written as in a variable or on a command line.

    Lists in text are separated by commas. Raises ConfigError that names the place and the key.
    """
    try:
        raw = _from_text(field, value) if text and isinstance(value, str) else value
        if field.kind is str and not isinstance(raw, str):
            raise ValueError
        converted = msgspec.convert(raw, ready(field.type), strict=True)
    except (msgspec.ValidationError, ValueError) as error:
        generic = field.choices or not isinstance(error, msgspec.ValidationError)
        detail = "" if generic else f" {one_line(str(error), 80)}."
        expected = " or ".join(field.choices) or _WORDS[field.kind]
        if field.choices and field.kind is tuple:
            expected = f"a list of any of {', '.join(field.choices)}"
        raise ConfigError(
            f"{where}: {field.key} must be {expected}, not {one_line(repr(value), 60)}.{detail}",
            hint=f"The default is {field.default!r}.",
        ) from error
    if check := _ENTRIES.get(field.key):
        for entry in converted:
            check(field.key, entry, where)
    if field.lists_models:
        for entry in converted:
            read_entry(entry, f"{where}: {field.key}")
    return converted


def _is_engine(key: str, entry: str, where: str) -> None:
    url = urlsplit(entry)
    if entry != "local" and not (url.scheme == "ssh" and url.netloc):
        raise ConfigError(
            f"{where}: {key} has {one_line(entry, 80)!r}, which is not an engine.",
            hint="Write `local` or `ssh://USER@HOST[:PORT][/PATH/OF/PODMAN.SOCK]`.",
        )


def _is_place(key: str, entry: str, where: str) -> None:
    AddressPolicy(_no_resolver, (entry,), setting=f"{where}: {key}")


def _is_host(key: str, entry: str, where: str) -> None:
    host = entry.strip()
    where_asked = host if host.rpartition(":")[2].isdigit() and ":" in host else f"{host}:443"
    if " " in host or faults(Capabilities(network=(where_asked,))):
        raise ConfigError(
            f"{where}: {key} has {one_line(entry, 80)!r}, which is not a host or host:port.",
            hint="Write `example.org` or `example.org:8443`: no address, path, network or wildcard.",
        )


async def _no_resolver(host: str, port: int) -> tuple[str, ...]:
    return ()


_ENTRIES: dict[str, Callable[[str, str, str], None]] = {
    "sandbox.engines": _is_engine,
    "sandbox.allowed_private": _is_place,
    "web.allowed_private": _is_place,
    "web.browser_hosts": _is_host,
}
"""Setting -> function that checks each entry of its list. Raises ConfigError."""


def written(value: object) -> str:
    """Return a value as written on a command line; `coerce` reads it back."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _from_text(field: Field, value: str) -> object:
    value = value.strip()
    if field.kind is bool:
        if value.lower() not in _TRUE | _FALSE:
            raise ValueError
        return value.lower() in _TRUE
    if field.kind is int:
        return int(value)
    if field.kind is float:
        return float(value)
    if field.kind is tuple and value.startswith("["):
        return tomllib.loads(f"list = {value}")[
            "list"
        ]  # as the settings file has it; its error is a ValueError
    if field.kind is tuple:
        return [part.strip() for part in value.split(",") if part.strip()]
    return value
