"""Whether the audit log and what it decides on tell the same: library, starters, bans, other names, rules, sessions."""

from __future__ import annotations

from collections.abc import Iterator

from alita_tui.config.policy import load_policy
from alita_tui.registry.aliases import Aliases
from alita_tui.registry.bans import Bans
from alita_tui.registry.shelf import RUNNABLE
from alita_tui.spine.errors import AlitaError, ConfigError, StoreError
from alita_tui.spine.text import one_line
from alita_tui.wiring.house import House
from alita_tui.wiring.records import recording


def library_problems(house: House) -> list[str]:
    """Where the library, its bans, other names or the policy's rules contradict the log, one line each.

    The log holds in each case. Raises StoreError.
    """
    if house.shelf.standing().problem:
        return []
    return [*_tools(house), *_bans(house), *_names(house), *_rules(house)]


def session_problems(house: House) -> list[str]:
    """Where sessions contradict the log, one line each. Raises StoreError."""
    from alita_tui.store.testimony import contradictions

    entries = house.audit.entries()
    found: list[str] = []
    own = {entry.session_id for entry in entries}
    for summary in house.sessions.list():
        try:
            imported: list[str] = []
            envelopes = recording(house, summary.session_id, imported=imported.append)
            if imported and summary.session_id not in own:
                continue  # its verdicts were given elsewhere
            told = contradictions(entries, summary.session_id, envelopes)
        except StoreError as error:
            told = [f"could not be read: {error.message}"]
        found += [f"session {summary.session_id}, {one}" for one in told]
    return found


def _tools(house: House) -> Iterator[str]:
    yield from (one.text for one in house.shelf.overridden())
    doubts = house.shelf.doubts()
    for name in house.shelf.names():
        for record in house.shelf.versions(name):
            which = "starter" if record.origin == "starter" else "tool"
            if why := doubts.get((name, record.version)):
                yield f"{which} {name} v{record.version} does not run: {why}"
            elif record.state in RUNNABLE:
                try:
                    house.shelf.get(name, record.version)
                except AlitaError as error:
                    yield f"{which} {name} v{record.version}: {error.message}"


def _bans(house: House) -> Iterator[str]:
    kept = {one.ban_id: one for one in Bans(house.tool_documents).all()}
    for ban_id, ban in house.shelf.standing().bans.items():
        there = kept.get(ban_id)
        if there is None or (there.name, there.digest, set(there.capabilities)) != (
            ban.name,
            ban.digest,
            set(ban.capabilities),
        ):
            what = ban.name or ban.digest[:12] or ", ".join(ban.capabilities)
            yield f"the ban of {one_line(what, 60)} by {one_line(ban.by, 60)} is not in the library; it holds"


def _names(house: House) -> Iterator[str]:
    followed = {one.name for one in house.shelf.aliases.all()}
    for alias in Aliases(house.tool_documents).all():
        if alias.name not in followed:
            yield f"the log does not have {one_line(alias.name, 60)} as another name of {alias.target.label}"


def _rules(house: House) -> Iterator[str]:
    gone = house.shelf.standing().revoked_rules
    try:
        rules = load_policy(house.paths.policy).rule
    except ConfigError as error:
        yield f"policy: {error.message}"
        return
    for rule in rules:
        if rule.name in gone and not rule.revoked:
            yield f"the rule {one_line(rule.name, 60)} was revoked {gone[rule.name]}, which its file does not say"
