"""Changes one setting in the settings file: checked first, comments kept, replaced in one step."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from alita_tui.config import catalogue
from alita_tui.config.paths import Paths, make_private, shipped
from alita_tui.spine.errors import ConfigError, StoreError
from alita_tui.spine.near_names import did_you_mean
from alita_tui.spine.text import one_line
from alita_tui.system import files


def set_value(paths: Paths, key: str, value: object) -> Any:
    """Write one setting and return it as its type. Text is read as on a command line.

    Raises ConfigError for an unknown key, a wrong value or a broken file, StoreError if the file cannot be
    written. The file is then unchanged.
    """
    setting = catalogue.field(key, "the settings")
    converted = catalogue.coerce(setting, value, "the settings", text=True)
    if key in ("console.theme", "console.theme_light"):
        _check_theme(paths, converted)
    plain = list(converted) if isinstance(converted, tuple) else converted
    section, name = key.split(".")
    import tomlkit

    document = _document(paths.config_file)
    table = document.get(section)
    if table is None:
        table = document[section] = tomlkit.table()
    elif not isinstance(table, dict):
        raise ConfigError(
            f"{paths.config_file}: {section} is not a section.",
            hint=f"Write [{section}] on a line of its own, and its keys below.",
        )
    table[name] = plain
    _save(paths.config_file, document.as_string(), section, name, plain)
    return converted


def _check_theme(paths: Paths, name: str) -> None:
    """Raise ConfigError unless the name is empty, `auto`, or that of a theme's file."""
    folders = (shipped("themes"), paths.themes)
    names = sorted({path.stem for folder in folders for path in folder.glob("*.toml")})
    if name and name not in ("auto", *names):
        raise ConfigError(
            f"There is no theme {one_line(name, 60)!r}.",
            hint=did_you_mean(name, names, f"The themes are {', '.join(names)}."),
        )


def unset_value(paths: Paths, key: str) -> bool:
    """Remove one setting, so that its default applies again; return False if it was not set.

    Raises ConfigError, StoreError.
    """
    section, name = key.split(".") if key in catalogue.fields() else ("", "")
    if not section:
        raise catalogue.unknown(key, "the settings")
    document = _document(paths.config_file)
    table = document.get(section)
    if not isinstance(table, dict) or name not in table:
        return False
    del table[name]
    _save(paths.config_file, document.as_string(), section, name, None)
    return True


def _document(path: Path) -> Any:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return tomlkit.document()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"{path} cannot be read: {why}.", hint="Check the file.") from error
    try:
        tomllib.loads(text)  # its messages name the line best
        return tomlkit.parse(text)
    except (tomllib.TOMLDecodeError, TOMLKitError, RecursionError) as error:
        raise ConfigError(
            f"{path} is not valid TOML: {one_line(str(error))}.",
            hint="Mend the line first; nothing was changed.",
        ) from error


def _save(path: Path, text: str, section: str, name: str, expected: object) -> None:
    """Write the text, if reading it back gives the wanted value (None: no value)."""
    try:
        read = tomllib.loads(text).get(section, {}).get(name)
    except tomllib.TOMLDecodeError:
        read = text
    if read != expected:
        raise ConfigError(
            f"{path} is laid out in a way that cannot be changed safely.",
            hint=f"Edit {section}.{name} by hand; nothing was changed.",
        )
    make_private(path.parent)
    replace(path, text)


def replace(path: Path, text: str) -> None:
    """Replace a file as `files.replace` does. Raises StoreError."""
    try:
        files.replace(path, text)
    except (OSError, UnicodeEncodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it has characters that no file can hold"
        raise StoreError(
            f"{path} cannot be written: {why}.", hint="Check the disk and its permissions."
        ) from error
