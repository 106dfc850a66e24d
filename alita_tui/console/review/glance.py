"""The first screenful of a review: five answers, the most important first."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from alita_tui.console.widgets.sheet import Row, fact, flat, heading
from alita_tui.console.widgets.styled_text import Line
from alita_tui.events import GateName
from alita_tui.runtimes.languages import title_of
from alita_tui.spine.grants import phrases
from alita_tui.spine.text import counted, reveal
from alita_tui.state.build import Attempt, BuildState
from alita_tui.view.changes import changes
from alita_tui.view.does import does
from alita_tui.view.risk import Risk, names_to_accept, risks

_MOST, _MOST_FULL, _LABEL = 4, 2, 13
"""Risks shown at most; number of risks up to which each is shown in full; columns of a label."""


def glance(
    build: BuildState, attempt: Attempt, withheld: Collection[str] = (), *, brief: bool = False
) -> list[Row]:
    """Return the five answers in order: may touch, does, how sure, unusual (the worst first), changes.

    With `brief` each risk takes one line; the full list follows in `evidence`.
    """
    found_risks = risks(build, attempt, withheld)
    rows = heading("At a glance", needed(found_risks, brief=brief))
    rows.append(
        _answer("may touch", _touches(attempt, withheld), "warn" if _reaches(attempt, withheld) else "")
    )
    rows.append(_answer("does", reveal(flat(does(attempt))), "strong"))
    rows.append(_short("", f"Its author says: {reveal(flat(attempt.draft.description))}"))
    if attempt.draft.language != "python":
        reason = f"; its author says why: {attempt.language_reason}" if attempt.language_reason else ""
        rows.append(_short("written in", reveal(flat(f"{title_of(attempt.draft.language)}{reason}"))))
    rows.append(fact("how sure", _confidence(attempt), width=_LABEL))
    rows += _unusual(found_risks, brief=brief)
    for number, change in enumerate(changes(build, attempt)):
        rows.append(fact("" if number else "changes", reveal(flat(change)), width=_LABEL))
    return rows


def _unusual(found_risks: Sequence[Risk], *, brief: bool) -> list[Row]:
    """Return what is unusual, the worst first; one line if nothing is."""
    if not found_risks:
        text = "nothing" if brief else "nothing: all checks passed, no permissions needed"
        return [_answer("unusual", text, "good")]
    shown = _MOST if len(found_risks) <= _MOST else _MOST - 1
    clip = brief or len(found_risks) > _MOST_FULL
    rows = [
        risk_row(found_risk, clip=clip, label="" if number else "unusual")
        for number, found_risk in enumerate(found_risks[:shown])
    ]
    if len(found_risks) > shown:
        more = f"and {len(found_risks) - shown} more, listed whole below"
        rows.append(Row(((more, "bad"),), ((f"  {'':<{_LABEL - 2}} ", ""), ("▲ ", "bad"))))
    return rows


def _answer(label: str, text: str, style: str) -> Row:
    return fact(label, ((text, style),), width=_LABEL)


def needed(found_risks: Collection[Risk], *, brief: bool = False) -> str:
    """Return what an approval requires."""
    names = names_to_accept(found_risks)
    if not names and brief:
        return "no risk to accept"
    if not names:
        return "no risk to accept; one key approves, pressed again where code is unread"
    return f"approving takes {counted(len(names), 'risk')} accepted by name"


def risk_row(risk: Risk, *, clip: bool = False, label: str | None = None) -> Row:
    """Return a risk with its name, after the label if there is one; `clip` cuts it to one line."""
    style = "bad" if risk.serious else "warn"
    body = ((f"{risk.name}  ", "strong"), (reveal(flat(risk.text)), style))
    lead = "  " if label is None else f"  {label:<{_LABEL - 2}} "
    return Row(
        body, ((lead, "muted"), (f"{'▲' if risk.serious else '△'} ", style)), clip=clip, link=risk.line
    )


def _short(label: str, text: str) -> Row:
    row = fact(label, ((text, "muted"),), width=_LABEL)
    return Row(row.body, row.gutter, clip=True)


def _touches(attempt: Attempt, withheld: Collection[str]) -> str:
    requested = phrases(attempt.draft.capabilities.without(withheld))
    check = next((gate for gate in attempt.gates if gate.gate == "capabilities"), None)
    if requested:
        return reveal("; ".join(requested))
    if check is None or check.state == "skipped":
        return "declared none; not watched in the tests"
    return (
        reveal(flat(check.summary))
        if check.state == "passed"
        else "declared none, but more was found: see above"
    )


def _reaches(attempt: Attempt, withheld: Collection[str]) -> bool:
    return not attempt.draft.capabilities.without(withheld).none


_SIGNS = {
    "passed": ("■", "good", ""),
    "failed": ("✗", "bad", " failed"),
    "skipped": ("○", "warn", " could not run"),
}
_KEY_CHECKS: tuple[tuple[GateName, str], ...] = (
    ("hidden", "hidden tests"),
    ("mutation", "planted bugs"),
    ("replay", "old calls"),
)
"""The checks that say most about how well a draft was tested."""


def _confidence(attempt: Attempt) -> Line:
    """Return the test results in one line: own tests, hidden tests, planted bugs, old calls, all checks."""
    cases = attempt.reports[-1].cases if attempt.reports else ()
    good = sum(case.passed for case in cases)
    own = f"own tests {good} of {len(cases)}" if cases else "no own test ran"
    parts: list[tuple[str, str]] = [(own, "" if cases and good == len(cases) else "bad")]
    states = {gate.gate: gate.state for gate in attempt.gates}
    for gate, name in _KEY_CHECKS:
        sign, style, word = _SIGNS[states[gate]] if gate in states else ("○", "warn", " not run")
        parts += [(" · ", ""), (sign, style), (f" {name}", ""), (word, style)]
    results = list(states.values())
    passed = results.count("passed") + int(bool(cases) and good == len(cases))
    parts.append((f" · {passed} of {1 + len(results) + len(attempt.unchecked)} checks", ""))
    if failed := results.count("failed"):
        parts.append((f" · {failed} failed", "bad"))
    if unknown := results.count("skipped") + len(attempt.unchecked):
        parts.append((f" · {unknown} could not run", "warn"))
    return tuple(parts)
