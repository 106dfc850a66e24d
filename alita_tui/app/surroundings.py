"""What the model learns about this machine: hosts, secrets and files by name, never values; documents, a repository."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from alita_tui.agent.prompt import Surroundings
from alita_tui.app.forbidden import forbidden
from alita_tui.app.identity import now
from alita_tui.config.load import KEY_NAMES
from alita_tui.spine import env_file
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.grants import host_grants, secret_names
from alita_tui.spine.redaction import Redactor
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext
    from alita_tui.context.provider import ContextProvider

_FILES = 200
"""Entries of the workspace that are looked at."""


def surroundings(app: AppContext) -> Surroundings:
    """Return the surroundings now; blocks on the disk. Unreadable parts are left out: other code reports them."""
    runs_on = ""
    hosts, secrets = dict.fromkeys(app.loaded.settings.sandbox.allowed_private), _kept_secrets(app)
    tools = 0
    with suppress(AlitaError, OSError):
        hosts |= dict.fromkeys(host for rule in app.policy.rules if not rule.revoked for host in rule.network)
    with suppress(AlitaError, OSError):
        cards = app.library.cards()
        tools = len(cards) - len(forbidden(app))
        for card in cards:
            for record in app.library.versions(card.name):
                if record.lock.python:
                    runs_on = (
                        f"Python {record.lock.python}, Linux on {record.lock.platform.partition('-')[0]}"
                    )
                if record.version == card.version:
                    hosts |= dict.fromkeys(grant.text for grant in host_grants(record.granted))
                    secrets |= dict.fromkeys(secret_names(record.granted))
    return Surroundings(
        today=f"{now().astimezone():%A, %Y-%m-%d}",
        place=_place(),
        tools_run_on=runs_on,
        tools=tools,
        hosts=tuple(hosts),
        secrets=tuple(secrets),
        browser=app.loaded.settings.sandbox.browser,
        files=_files(app),
    )


def _place() -> str:
    """Return how far the person's clock is from UTC, and the locale."""
    offset = f"{now().astimezone():%z}"
    hours, minutes = int(offset[:3]), offset[3:5]
    zone = f"UTC{f'{hours:+}' if hours or minutes != '00' else ''}{'' if minutes == '00' else f':{minutes}'}"
    language = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_TIME", "LANG"))), "").partition(".")[0]
    return zone if language in ("", "C", "POSIX") else f"{zone}, {one_line(language, 20)}"


def context_provider(app: AppContext, redactor: Redactor) -> ContextProvider:
    """Return the provider of preferences, documents and a repository."""
    from alita_tui.app.skills import SkillBook
    from alita_tui.context.provider import ContextProvider

    chosen = app.loaded.settings.context
    return ContextProvider(
        redact=redactor.text,
        read_pdf=_read_pdf,
        repository=Path(chosen.repository or "."),
        documents=Path(chosen.documents) if chosen.documents else None,
        preferences=chosen.preferences,
        preferences_file=app.paths.preferences,
        skills=SkillBook(app),
    )


def _read_pdf(raw: bytes) -> str:
    """Return the text of a PDF, parsed in a confined process."""
    from alita_tui.web.parsing import parsed

    lines, _complete = asyncio.run(parsed("pdf", raw))
    return "\n\n".join(str(line.get("text", "")) for line in lines)


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
            names = sorted(
                entry.name + "/" * entry.is_dir(follow_symlinks=False)
                for entry in islice(entries, _FILES)
                if not entry.is_symlink() and not entry.name.startswith(".")
            )
    except OSError:
        return ()
    return tuple(name.encode("utf-8", "replace").decode() for name in names)
