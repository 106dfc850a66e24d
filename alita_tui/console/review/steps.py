"""The steps to a verdict on one build: when input counts, and what an approval requires. Pure.

Times are seconds of the monotonic clock that stamps input events. `arming.objection` says when input counts,
for every step alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from alita_tui.console.input.arming import Objection, TimedInput, objection
from alita_tui.console.input.timing import Paint
from alita_tui.events import Capabilities, Decision, Lasting, Twin, Verdict
from alita_tui.spine.commands import ResolveApproval
from alita_tui.spine.text import counted, one_line
from alita_tui.state.build import Attempt, BuildState
from alita_tui.view.model import SessionView
from alita_tui.view.risk import names_to_accept, risks

Outcome = Literal["mismatch", "name", "unread", "approved"]
Twice = Literal["retested", "stopped", "reused", "merged", "aliased", "withdrawn"]
"""Verdicts that need a second press."""
_CHOICE = {
    "library": "approve",
    "task": "lend",
    "retested": "retest",
    "stopped": "stop",
    "reused": "reuse",
    "merged": "merge",
    "aliased": "alias",
    "withdrawn": "withdraw",
}
"""What was announced, or how long the tool is approved for → the choice whose key says so again."""


def settled(view: SessionView, build: BuildState) -> tuple[str, str]:
    """Return the outcome of a build that no longer waits, and its tone."""
    current = next((known for known in view.builds if known.approval_id == build.approval_id), build)
    by = f" by {one_line(current.verdict.by)}" if current.verdict and current.verdict.by else ""
    return f"Nothing to decide here: {current.status}{by}.", "muted"


class BuildReview:
    """The review of one build, from the moment it is shown."""

    def __init__(self, build: BuildState, attempt: Attempt, at: float) -> None:
        self.build = build
        self.attempt = attempt
        self.withheld: frozenset[str] = frozenset()
        """Requested capabilities that are withheld, as `Capabilities.items`."""
        self.named = False
        """Whether the names of all risks were typed."""
        self.unread_known = False
        """Whether the person was told how much is unread."""
        self.lasting: Lasting = "library"
        """The kind of approval that `named` and `unread_known` belong to."""
        self.announced: Twice | None = None
        """The verdict that a second press of the same key gives."""
        self.paint: Paint | None = None
        """When it was painted; None before that, and while it has to be painted again."""
        self._shown_at = at
        self.serious = self._count()
        """Number of risks, each of which is accepted by name."""

    def _count(self) -> int:
        return sum(not risk.accepted for risk in risks(self.build, self.attempt, self.withheld))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the risks that an approval accepts."""
        return names_to_accept(risks(self.build, self.attempt, self.withheld))

    @property
    def twin(self) -> Twin | None:
        """The nearest tool that gives the same answers, if any."""
        return next(iter(self.attempt.twins), None)

    @property
    def grants(self) -> Capabilities | None:
        """What an approval would grant; None for everything requested."""
        return self.attempt.draft.capabilities.without(self.withheld) if self.withheld else None

    def withhold(self, items: frozenset[str]) -> None:
        """Withhold these capabilities; steps already taken are reset."""
        if items != self.withheld:
            self.back()
            self.withheld = items
            self.serious = self._count()

    def objection(self, timed: TimedInput) -> Objection:
        """Return why an input is no verdict on this build; empty if it counts."""
        return objection(timed, self.paint.at if self.paint else None)

    def approve(self, unread: int, lasting: Lasting = "library") -> Outcome:
        """Return the outcome of an approval key. Steps towards the other kind of approval do not count."""
        if lasting != self.lasting:
            self.back()
            self.lasting = lasting
        self.announced = None
        if self.attempt.build_digest != self.build.digest:
            return "mismatch"
        if self.serious and not self.named:
            return "name"
        if unread and not self.unread_known:
            self.unread_known = True
            return "unread"
        return "approved"

    def confirm(self, verdict: Twice) -> bool:
        """Return True at the second press; announce it at the first."""
        if self.announced == verdict:
            return True
        self.back()
        self.announced = verdict
        return False

    def name_typed(self, unread: int = 0) -> None:
        """Record that all risks were named. Approving still takes a key; the bar shows first how much is `unread`."""
        self.named, self.unread_known = True, unread > 0

    def back(self) -> bool:
        """Reset the steps; return False if there were none."""
        had_steps = self.named or self.unread_known or self.announced is not None
        self.named, self.unread_known, self.announced = False, False, None
        return had_steps

    def command(
        self, decision: Decision, at: float, *, read: bool, code: str = "", tests: str = "", **fields: Any
    ) -> ResolveApproval:
        """Return the verdict on exactly the bytes that were on screen; `read` if all of the code was.

        `fields` are further fields of `Verdict`, such as the reason.
        """
        if decision in ("approved", "retested"):
            fields["grants"] = self.grants
        if decision == "approved":
            fields["accepted"] = self.names if self.named else ()
        verdict = Verdict(
            decision=decision,
            seen_ms=max(0.0, (at - self._shown_at) * 1000),
            scrolled_to_end=read,
            **fields,
        )
        return ResolveApproval(
            approval_id=self.build.approval_id,
            digest=self.attempt.build_digest,
            verdict=verdict,
            code=code,
            tests=tests,
        )

    def line(self, unread: int, keys: Mapping[str, str], objection: Objection) -> tuple[str, str]:
        """Return the verdict bar's text and tone; `keys` are those of the choices, `objection` why none counts now."""
        key = keys.get("approve", "")
        if step := self._next_press(unread, keys.get(_CHOICE[self.announced or self.lasting], "")):
            text, tone = step
            return (f"Press another key or scroll first. {text}" if objection == "held" else text), tone
        if objection == "held":
            return (
                f"Press another key or scroll first, then {key}.",
                "muted",
            )
        if objection:
            return "Keys unlock after a moment of quiet, so you can read first.", "muted"
        parts = []
        if twin := self.twin:
            parts.append(
                f"{one_line(twin.label)} gives the same answers: reuse, merge, alias, or approve to keep both"
            )
        parts += [f"unread: {unread} lines" if unread else "● read to the end"]
        if self.serious:
            risk_text = (
                "1 risk: {} asks for its name"
                if self.serious == 1
                else f"{self.serious} risks: {{}} asks for their names"
            )
            parts.append(f"▲ {risk_text.format(key)}")
        if self.withheld:
            parts.append(f"not granted: {', '.join(map(one_line, sorted(self.withheld)))}")
        return " · ".join(parts), "bad" if self.serious else "warn" if unread or twin else "good"

    def _next_press(self, unread: int, key: str) -> tuple[str, str] | None:
        """Return what the second press of a key would do, and its tone; None before a first press."""
        again = f"Press {key} again to"
        if self.announced == "stopped":
            return f"{again} decide against this build and stop the run · Esc cancels", "bad"
        if self.announced == "withdrawn":
            text = f"{again} drop this build: no verdict, nothing is learned from it, the agent continues"
            return f"{text} without it · Esc cancels", "bad"
        if self.announced in ("reused", "merged", "aliased") and (twin := self.twin):
            name, tool = one_line(self.build.name), one_line(twin.label)
            if self.announced == "reused":
                return f"{again} reject it and have the agent use {tool} · Esc cancels", "warn"
            if self.announced == "merged":
                return f"{again} reject it and have {tool} built anew to do both · Esc cancels", "warn"
            text = f"{again} make {name} another name of {tool}; this code joins nothing"
            return f"{text} · Esc cancels", "warn"
        if self.announced == "retested":
            granted = self.attempt.draft.capabilities.without(self.withheld).items
            capabilities = ", ".join(map(one_line, granted)) or "nothing granted"
            return f"{again} run its tests with {capabilities}. Nothing is approved by it.", "warn"
        scope = " for this task only" if self.lasting == "task" else ""
        lines = f"{counted(unread, 'line')} not shown yet"
        if self.named and self.unread_known and unread:
            text = (
                f"Risks accepted by name; {lines}. {key} approves this code anyway{scope}, which is recorded"
            )
            return f"{text} · Esc cancels", "bad"
        if self.unread_known and unread:
            text = f"{lines}. Press {key} again to approve anyway{scope}; that is recorded · Esc cancels"
            return text, "bad"
        if self.named:
            return f"Risks accepted by name. {key} approves this code{scope} · Esc cancels", "warn"
        return None
