"""Findings of the review about what code can reach."""

from __future__ import annotations

import msgspec

from alita_tui.events import Finding
from alita_tui.toolsmith.review import review
from tests.toolsmith.samples import GOOD

RUN_WITH = 'def run(x: int, times: int = 2) -> int:\n    """Multiply."""\n    {}\n    return x * times\n'


def findings(top: str = "", body: str = "pass", **changes: object) -> tuple[Finding, ...]:
    code = f"{top}\n\n" + RUN_WITH.format(body.replace("\n", "\n    "))
    draft = msgspec.structs.replace(GOOD, **{"code": code, **changes})
    result = review(draft)
    assert result.passed, result.findings
    return tuple(one for one in result.findings if one.severity in ("medium", "high"))
