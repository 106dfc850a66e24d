"""What the orchestrator's prompt says of this machine and library: hosts, secrets and files by name, never values."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from alita_tui.agent.prompt import Surroundings
from alita_tui.app.identity import now
from alita_tui.config.load import KEY_NAMES
from alita_tui.spine import env_file
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.grants import host_grants, secret_names

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext

_FILES = 200
"""Entries of the workspace that are looked at."""


def surroundings(app: AppContext) -> Surroundings:
    """Return what is so now; blocks on the disk. What cannot be read is left out: other parts report it."""
    hosts, secrets = dict.fromkeys(app.loaded.settings.sandbox.allowed_private), _kept_secrets(app)
    tools = 0
    with suppress(AlitaError, OSError):
        hosts |= dict.fromkeys(host for rule in app.policy.rules if not rule.revoked for host in rule.network)
    with suppress(AlitaError, OSError):
        cards = app.library.cards()
        tools = len(cards)
        for card in cards:
            for record in app.library.versions(card.name):
                if record.version == card.version:
                    hosts |= dict.fromkeys(grant.text for grant in host_grants(record.granted))
                    secrets |= dict.fromkeys(secret_names(record.granted))
    return Surroundings(
        today=f"{now().astimezone():%A, %Y-%m-%d}",
        tools=tools,
        hosts=tuple(hosts),
        secrets=tuple(secrets),
        files=_files(app),
    )


def _kept_secrets(app: AppContext) -> dict[str, None]:
    """Return the names in `.env` that are neither settings nor keys of models."""
    try:
        text = app.paths.env_file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    names = (entry.name for entry in env_file.parse(text) if entry.name and entry.value)
    models = {name for name in KEY_NAMES if name.endswith("_API_KEY")}
    return dict.fromkeys(name for name in names if name not in models and not name.startswith("ALITA_"))


def _files(app: AppContext) -> tuple[str, ...]:
    """Return the workspace's own files by name, folders with a slash."""
    try:
        with os.scandir(app.workspace) as entries:
            shown = sorted(
                entry.name + "/" * entry.is_dir(follow_symlinks=False)
                for entry in islice(entries, _FILES)
                if not entry.is_symlink() and not entry.name.startswith(".")
            )
    except OSError:
        return ()
    return tuple(name.encode("utf-8", "replace").decode() for name in shown)
