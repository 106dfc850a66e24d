"""`policy.toml`: rules that may approve for the person. Without the file, or without `enabled = true`, none does."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from alita_tui.config.write import replace
from alita_tui.events import Value, ready
from alita_tui.spine.errors import ConfigError
from alita_tui.spine.near_names import did_you_mean
from alita_tui.spine.text import one_line
from alita_tui.view.policy import Rule, rule_problems


class Policy(Value, frozen=True, forbid_unknown_fields=True):
    """The file as read."""

    enabled: bool = False
    rule: tuple[Rule, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules in force; none while the policy is off."""
        return self.rule if self.enabled else ()

    def without(self, revoked: Mapping[str, str]) -> Policy:
        """Return the policy with these rules (name to note) revoked."""
        rules = (
            msgspec.structs.replace(rule, revoked=rule.revoked or revoked.get(rule.name, ""))
            for rule in self.rule
        )
        return msgspec.structs.replace(self, rule=tuple(rules))


def load_policy(path: Path) -> Policy:
    """Return the policy of a file; an empty one if there is no file. Raises ConfigError."""
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return Policy()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {one_line(str(error))}.", hint=_HINT) from error
    if any("secrets" in rule for rule in _tables(raw)):
        raise ConfigError(f"{path}: no rule can cover secrets.", hint="Approve such builds yourself.")
    _check_keys(path, raw)
    try:
        policy = msgspec.convert(raw, ready(Policy))
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {one_line(str(error))}.", hint=_HINT) from error
    names = [rule.name for rule in policy.rule]
    if not all(names) or len(set(names)) < len(names):
        raise ConfigError(f"{path}: each rule needs a name of its own.")
    for rule in policy.rule:
        if problems := rule_problems(rule):
            raise ConfigError(
                f"{path}, rule {one_line(rule.name, 60)!r}: {one_line('; '.join(problems), 500)}."
            )
    return policy


def _check_keys(path: Path, raw: dict[str, Any]) -> None:
    """Raise ConfigError for an unknown key: a misspelt condition must not make a rule wider than meant."""
    for valid, table, where in (
        (Policy.__struct_fields__, raw, "the file"),
        *((Rule.__struct_fields__, rule, "a rule") for rule in _tables(raw)),
    ):
        for key in table:
            if key not in valid:
                nearest = did_you_mean(key, valid)
                raise ConfigError(
                    f"{path}: {where} has no {one_line(key, 60)!r}.",
                    hint=f"{nearest} It can have: {', '.join(name for name in valid if name != 'revoked')}.".lstrip(),
                )


def revoke_rule(path: Path, name: str, note: str) -> Rule:
    """Revoke a rule for good and return it as it was; the file keeps it, with a note of when and by whom.

    Raises ConfigError for an unknown name or a rule that is revoked already, StoreError.
    """
    import tomlkit

    rule = next((candidate for candidate in load_policy(path).rule if candidate.name == name), None)
    if rule is None:
        raise ConfigError(f"There is no rule {one_line(name, 60)!r}.", hint="`alita policy list` shows them.")
    if rule.revoked:
        raise ConfigError(f"The rule {one_line(name, 60)!r} was revoked {rule.revoked}.")
    document: Any = tomlkit.parse(path.read_text("utf-8"))
    for table in document["rule"]:
        if table["name"] == name:
            table["revoked"] = note
    replace(path, tomlkit.dumps(document))
    return rule


def _tables(raw: dict[str, Any]) -> list[dict[str, Any]]:
    rules = raw.get("rule", [])
    return [rule for rule in rules if isinstance(rule, dict)] if isinstance(rules, list) else []


_HINT = "A rule is a [[rule]] with a name, and what it allows: `alita policy list` shows an example."
