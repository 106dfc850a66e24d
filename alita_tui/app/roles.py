"""The roles of agents as a home has them: shipped ones, the person's own, and the models that they name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from alita_tui.agent.role import Role, Roles, read_roles
from alita_tui.config.models import ModelEntry, known_models, read_entry
from alita_tui.llm.presets import preset
from alita_tui.spine.errors import ConfigError

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext


def roles_of(app: AppContext) -> Roles:
    """Return the roles of a home; one whose models cannot be read is a problem. Block on the disk."""
    roles = read_roles(app.paths.roles)
    problems = dict(roles.problems)
    good: dict[str, Role] = {}
    for role in roles:
        try:
            models_of(app, role)
            good[role.name] = role
        except ConfigError as error:
            problems[str(app.paths.roles / f"{role.name}.toml")] = f"{error.message} {error.hint}".strip()
    return Roles(good, problems)


def crew_policy(app: AppContext) -> dict[str, Any]:
    """Return the settings about agents, as fields of a session's policy."""
    chosen = app.loaded.settings.agents
    return {
        "director": chosen.director,
        "agents": chosen.parallel,
        "verify": chosen.verify,
        "verify_usd": chosen.verify_usd,
    }


def models_of(app: AppContext, role: Role) -> tuple[ModelEntry, ...]:
    """Return the models that a role names itself; empty for none. Raises ConfigError."""
    configured = known_models(app.loaded.settings)
    entries = tuple(read_entry(text, f"models of the role {role.name}", configured) for text in role.models)
    for entry in entries:
        preset(entry.provider)
    return entries


def own_models(app: AppContext) -> Mapping[str, tuple[ModelEntry, ...]]:
    """Return the models of those roles that name some, by role. Block on the disk."""
    if app.demo or app.loaded.origin("model.provider") == "flag":
        return {}  # the chosen model is used for all roles
    return {role.name: models_of(app, role) for role in roles_of(app) if role.models}
