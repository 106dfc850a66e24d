"""Cross-checks the audit log against everything that depends on it: library, bans, aliases, rules, sessions."""

from __future__ import annotations

from collections.abc import Iterator

from alita_tui.app.context import AppContext
from alita_tui.app.recordings import recording
from alita_tui.config.policy import load_policy
from alita_tui.registry.aliases import Aliases
from alita_tui.registry.bans import Bans
from alita_tui.registry.reconcile import RUNNABLE
from alita_tui.spine.errors import AlitaError, ConfigError, StoreError
from alita_tui.spine.text import one_line
from alita_tui.store.crosscheck import contradictions


def library_problems(app: AppContext) -> list[str]:
    """Return where library, bans, aliases or rules contradict the log, one line each. The log counts.

    Raises StoreError.
    """
    if app.library.standing().problem:
        return []
    return [*_tools(app), *_bans(app), *_aliases(app), *_rules(app)]


def session_problems(app: AppContext) -> list[str]:
    """Return where sessions contradict the log, one line each. Raises StoreError."""
    entries = app.audit.entries()
    audited = {entry.session_id for entry in entries}
    problems: list[str] = []
    for summary in app.sessions.list():
        try:
            imported: list[str] = []
            envelopes = recording(app, summary.session_id, imported=imported.append)
            if imported and summary.session_id not in audited:
                continue  # its verdicts were given on another machine
            lines = contradictions(entries, summary.session_id, envelopes)
        except StoreError as error:
            lines = [f"could not be read: {error.message}"]
        problems += [f"session {summary.session_id}, {line}" for line in lines]
    return problems


def _tools(app: AppContext) -> Iterator[str]:
    yield from (difference.text for difference in app.library.overridden())
    doubts = app.library.doubts()
    for name in app.library.names():
        for record in app.library.versions(name):
            kind = "starter" if record.origin == "starter" else "tool"
            if why := doubts.get((name, record.version)):
                yield f"{kind} {name} v{record.version} does not run: {why}"
            elif record.state in RUNNABLE:
                try:
                    app.library.get(name, record.version)
                except AlitaError as error:
                    yield f"{kind} {name} v{record.version}: {error.message}"


def _bans(app: AppContext) -> Iterator[str]:
    stored = {ban.ban_id: ban for ban in Bans(app.tool_documents).all()}
    for ban_id, ban in app.library.standing().bans.items():
        copy = stored.get(ban_id)
        if copy is None or (copy.name, copy.digest, set(copy.capabilities)) != (
            ban.name,
            ban.digest,
            set(ban.capabilities),
        ):
            label = ban.name or ban.digest[:12] or ", ".join(ban.capabilities)
            yield f"the ban of {one_line(label, 60)} by {one_line(ban.by, 60)} is not in the library; it holds"


def _aliases(app: AppContext) -> Iterator[str]:
    audited = {alias.name for alias in app.library.aliases.all()}
    for alias in Aliases(app.tool_documents).all():
        if alias.name not in audited:
            yield f"the log does not have {one_line(alias.name, 60)} as another name of {alias.target.label}"


def _rules(app: AppContext) -> Iterator[str]:
    revoked = app.library.standing().revoked_rules
    try:
        rules = load_policy(app.paths.policy).rule
    except ConfigError as error:
        yield f"policy: {error.message}"
        return
    for rule in rules:
        if rule.name in revoked and not rule.revoked:
            yield f"the rule {one_line(rule.name, 60)} was revoked {revoked[rule.name]}; its file does not say so"
