"""Upgrades events of older schemas. Pure functions over JSON; each leaves current events unchanged."""

from __future__ import annotations

from alita_tui.events.base import Json

_VERDICT_FIELDS = (
    "reason", "tags", "lasting", "grants", "accepted", "banned", "alias_of", "by", "via", "seen_ms", "scrolled_to_end"
)  # fmt: skip


def upgrade_approval(raw: dict[str, Json]) -> dict[str, Json]:
    """Return an `ApprovalResolved` or `ResolveApproval` of schema 1 with its verdict as one struct.

    In schema 1 `verdict` was only the decision, and the other fields of the verdict were fields of the event.
    """
    if not isinstance(raw.get("verdict"), str):
        return raw
    nested = {name: raw[name] for name in _VERDICT_FIELDS if name in raw}
    others = {name: value for name, value in raw.items() if name not in _VERDICT_FIELDS}
    return {**others, "verdict": {"decision": raw["verdict"], **nested}}
