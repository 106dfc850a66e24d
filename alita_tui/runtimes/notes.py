"""Collects the findings of a review."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec

from alita_tui.events import Finding
from alita_tui.spine.text import one_line

Severity = Literal["info", "low", "medium", "high"]
_MOST_PER_RULE = 20


class Notes:
    """The findings so far."""

    def __init__(self) -> None:
        self.found: set[Finding] = set()

    def add(self, severity: Severity, rule: str, text: str, line: int = 0, *, blocking: bool = False) -> None:
        """Add a finding."""
        line_text = one_line(text, 300)
        self.found.add(Finding(severity=severity, rule=rule, text=line_text, line=line, blocking=blocking))

    def block(self, rule: str, text: str, line: int = 0) -> None:
        """Add a finding that sends the draft back."""
        self.add("high", rule, text, line, blocking=True)

    def dynamic(self, text: str, line: int = 0) -> None:
        """Add a finding about something whose effect is not written out, so that it can do anything."""
        self.add("high", "ast/dynamic", text, line)

    def introspection(self, text: str, line: int = 0) -> None:
        """Add a finding about code that looks into what runs it."""
        self.add("high", "ast/introspection", text, line)

    def sorted(self) -> tuple[Finding, ...]:
        """Return the findings sorted by line and rule; at most 20 per rule, so that no draft can flood its reader."""
        shown: list[Finding] = []
        counts: Counter[tuple[str, bool]] = Counter()
        for finding in sorted(self.found, key=lambda f: (f.line, f.rule, f.text, f.severity)):
            counts[finding.rule, finding.blocking] += 1
            if counts[finding.rule, finding.blocking] <= _MOST_PER_RULE:
                shown.append(finding)
            elif counts[finding.rule, finding.blocking] == _MOST_PER_RULE + 1:
                shown.append(
                    msgspec.structs.replace(
                        finding, text=f"{finding.text} (and more of {finding.rule} below)"
                    )
                )
        return tuple(shown)
