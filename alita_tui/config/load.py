"""Merges the layers: defaults < settings file < `.env` file < environment < flags.

Each value knows which layer it came from. With `strict=False` every problem is collected, and an invalid
value falls back to the layer below.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from alita_tui.config import catalogue
from alita_tui.config.paths import Paths
from alita_tui.config.settings import Settings
from alita_tui.events import ready
from alita_tui.spine import env_file
from alita_tui.spine.errors import ConfigError
from alita_tui.spine.near_names import did_you_mean, nearest
from alita_tui.spine.text import one_line

KEY_NAMES = (
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "DEEPSEEK_API_KEY",
    "OPENROUTER_API_KEY",
    "TOGETHER_API_KEY",
    "XAI_API_KEY",
    "OLLAMA_API_KEY",
    "GITHUB_TOKEN",
)
"""Keys that are read from `.env` and the environment, besides those that the settings name."""
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS)$", re.IGNORECASE
)
SHORTEST_KEY = 8
"""Characters; shorter keys are placeholders, as local servers want them."""
_OTHER_VARIABLES = frozenset({"ALITA_HOME"})


@dataclass(frozen=True)
class Loaded:
    """Settings, where each came from, and the problems on the way."""

    settings: Settings
    problems: tuple[ConfigError, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    layers: Mapping[str, tuple[tuple[str, Any], ...]] = field(default_factory=dict)
    """Every place that gives a value, with the value, in order; the last one counts."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """API keys by name, from `.env` and the environment. Never shown or written."""
    unwritten: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Texts that are never written, as (name, value): keys, variables named like one, and `privacy.redact`."""

    def origin(self, key: str) -> str:
        """Return where a value came from, such as `config.toml line 3`, `flag` or `default`.

        Raises ConfigError for an unknown key.
        """
        catalogue.field(key, "the settings")
        return self.origins.get(key, "default")

    def explain(self, key: str) -> str:
        """Return every step to a value, from its default through each place that changes it.

        Raises ConfigError for an unknown key.
        """
        default = catalogue.written(catalogue.field(key, "the settings").default) or "empty"
        steps = (
            f"{catalogue.written(value) or 'empty'} ({origin})" for origin, value in self.layers.get(key, ())
        )
        return " → ".join((f"{default} (default)", *steps))

    def value(self, key: str) -> Any:
        """Return one value by its key. Raises ConfigError for an unknown key."""
        catalogue.field(key, "the settings")
        section, name = key.split(".")
        return getattr(getattr(self.settings, section), name)


def load(
    paths: Paths,
    environ: Mapping[str, str],
    flags: Mapping[str, object] | None = None,
    *,
    strict: bool = True,
) -> Loaded:
    """Read all layers. `flags` maps keys to values; None means not given; `model` is `provider:name`.

    Raises ConfigError with every problem, unless `strict` is false.
    """
    layers = _Layers()
    layers.file(paths.config_file)
    dot = layers.dotenv(paths.env_file)
    layers.variables(environ)
    layers.flags(flags or {})
    settings = layers.settings()
    if strict and layers.problems:
        raise _joined(layers.problems)
    names = {*KEY_NAMES, *settings.web.key_names}
    secrets = {name: value for name, value in {**dot, **environ}.items() if name in names and value}
    unwritten = _unwritten(settings.privacy.redact, secrets, {**dot, **environ})
    return Loaded(settings, tuple(layers.problems), layers.origins, layers.given, secrets, unwritten)


def _unwritten(
    marked: Iterable[str], secrets: Mapping[str, str], variables: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    by_name = {
        name: value
        for name, value in {**secrets, **variables}.items()
        if len(value) >= SHORTEST_KEY
        and (name in secrets or (_SECRET_NAME.search(name) and not value.startswith(("/", "~"))))
    }
    literal = [("", text) for text in marked if not text.startswith("$")]
    by_name |= {text[1:]: variables.get(text[1:], "") for text in marked if text.startswith("$")}
    return (*literal, *by_name.items())


def _joined(problems: list[ConfigError]) -> ConfigError:
    if len(problems) == 1:
        return problems[0]
    return ConfigError("\n".join(map(str, problems)))


class _Layers:
    def __init__(self) -> None:
        self.problems: list[ConfigError] = []
        self.origins: dict[str, str] = {}
        self.given: dict[str, tuple[tuple[str, Any], ...]] = {}
        self._values: dict[str, Any] = {}

    def settings(self) -> Settings:
        tree: dict[str, dict[str, Any]] = {}
        for key, value in self._values.items():
            section, name = key.split(".")
            tree.setdefault(section, {})[name] = value
        return msgspec.convert(tree, ready(Settings))

    def _put(self, key: str, value: object, origin: str, *, text: bool = False) -> None:
        try:
            setting = catalogue.field(key, origin)
            self._values[key] = catalogue.coerce(setting, value, origin, text=text)
            self.origins[key] = origin
            self.given[key] = (*self.given.get(key, ()), (origin, self._values[key]))
        except ConfigError as problem:
            self.problems.append(problem)

    def file(self, path: Path) -> None:
        text = self._read(path)
        try:
            tree = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            self.problems.append(
                ConfigError(
                    f"{path} is not valid TOML: {one_line(str(error))}.",
                    hint="Mend the line, or move the file away to start with defaults.",
                )
            )
            return
        for section, entries in tree.items():
            where = f"{path.name} line {line_of(text, section)}" if line_of(text, section) else path.name
            if section not in Settings.__struct_fields__:
                near = nearest(section, Settings.__struct_fields__)
                hint = f"Did you mean [{near}]?" if near else "`alita config` lists every section and key."
                self.problems.append(
                    ConfigError(f"{where} has an unknown section {one_line(section, 60)!r}.", hint=hint)
                )
            elif not isinstance(entries, dict):
                hint = f"Write [{section}] on a line of its own, and its keys below."
                self.problems.append(ConfigError(f"{where}: {section} is not a section.", hint=hint))
            else:
                for name, value in entries.items():
                    line = line_of(text, section, name)
                    self._put(f"{section}.{name}", value, f"{path.name} line {line}" if line else path.name)

    def dotenv(self, path: Path) -> dict[str, str]:
        variables: dict[str, str] = {}
        for entry in env_file.parse(self._read(path)):
            where = f"{path.name} line {entry.line}"
            if entry.problem:
                hint = "Write NAME=value, with quotes around a value that has spaces or #."
                self.problems.append(ConfigError(f"{where} {entry.problem}.", hint=hint))
            elif entry.name:
                variables[entry.name] = entry.value
                if entry.name.startswith("ALITA_") and entry.name not in _OTHER_VARIABLES:
                    self._variable(entry.name, entry.value, where)
        return variables

    def variables(self, environ: Mapping[str, str]) -> None:
        variables = {*(f.variable for f in catalogue.fields().values()), "ALITA_MODEL"}
        for name in sorted(environ):  # ALITA_MODEL comes before the more exact ALITA_MODEL_NAME
            similar = name.startswith("ALITA_") and name not in _OTHER_VARIABLES
            if name in variables or (similar and nearest(name, variables)):
                self._variable(name, environ[name], f"environment {name}")

    def flags(self, flags: Mapping[str, object]) -> None:
        for key, value in flags.items():
            if value is None:
                continue
            if key == "model":
                self._model(str(value), "flag")
            else:
                self._put(key, value, "flag", text=True)

    def _variable(self, name: str, value: str, origin: str) -> None:
        if name == "ALITA_MODEL":
            self._model(value, origin)
            return
        by_variable = {f.variable: f.key for f in catalogue.fields().values()}
        if name in by_variable:
            self._put(by_variable[name], value, origin, text=True)
            return
        hint = did_you_mean(
            name, [*by_variable, "ALITA_MODEL"], "`alita config` lists every key and its variable."
        )
        self.problems.append(ConfigError(f"{origin}: {one_line(name, 80)} is not a setting.", hint=hint))

    def _model(self, value: str, origin: str) -> None:
        provider, colon, name = value.partition(":")
        if not colon or not provider or not name:
            hint = 'For example "ollama:qwen3:8b".'
            self.problems.append(
                ConfigError(
                    f"{origin}: a model is written provider:name, not {one_line(value, 80)!r}.", hint=hint
                )
            )
            return
        self._put("model.provider", provider, origin, text=True)
        self._put("model.name", name, origin, text=True)

    def _read(self, path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            self.problems.append(ConfigError(f"{path} cannot be read: {why}.", hint="Check the file."))
            return ""


def line_of(text: str, section: str, name: str = "") -> int:
    """Return the line (from 1) of a section or key in TOML text; 0 if it is written in an unusual way."""
    head = re.compile(rf"\s*\[\s*[\"']?{re.escape(section)}[\"']?\s*\]")
    top = re.compile(rf"\s*[\"']?{re.escape(section)}[\"']?\s*(?:=|\.\s*[\"']?{re.escape(name)}[\"']?\s*=)")
    inner = re.compile(rf"\s*[\"']?{re.escape(name)}[\"']?\s*=")
    inside = before_any = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("["):
            before_any = True
            inside = bool(head.match(line))
            if inside and not name:
                return number
        elif (inside and name and inner.match(line)) or (not before_any and top.match(line)):
            return number
    return 0
