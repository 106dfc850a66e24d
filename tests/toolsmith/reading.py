"""Findings of the review of a draft with given code."""

from __future__ import annotations

import msgspec

from alita_tui.events import Finding, ToolDraft
from alita_tui.toolsmith.review import review
from tests.toolsmith.reaching import RUN_WITH
from tests.toolsmith.samples import GOOD


def found(draft: ToolDraft, rule: str) -> list[Finding]:
    return [one for one in review(draft).findings if one.rule == rule]


def with_code(top: str = "", body: str = "pass", **changes: object) -> ToolDraft:
    code = f"{top}\n\n" + RUN_WITH.format(body.replace("\n", "\n    "))
    return msgspec.structs.replace(GOOD, **{"code": code, **changes})
