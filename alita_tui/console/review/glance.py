"""The first screenful of a review: five answers in the order in which one asks."""

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

_MOST, _WHOLE, _LABEL = 4, 2, 13
"""Risks at most, all of which are listed below; risks up to which each is told whole; columns of a label."""


def glance(
    build: BuildState, attempt: Attempt, withheld: Collection[str] = (), *, brief: bool = False
) -> list[Row]:
    """Return the five answers in order: may touch, does, how sure, unusual (the worst first), changes.

    With `brief` each risk takes one line; all are listed whole below.
    """
    found = risks(build, attempt, withheld)
    rows = heading("At a glance", needed(found, brief=brief))
    rows.append(
        _answer("may touch", _touches(attempt, withheld), "warn" if _reaches(attempt, withheld) else "")
    )
    rows.append(_answer("does", reveal(flat(does(attempt))), "strong"))
    rows.append(_short("", f"Its author says: {reveal(flat(attempt.draft.description))}"))
    if attempt.draft.language != "python":
        why = f"; its author says why: {attempt.language_reason}" if attempt.language_reason else ""
        rows.append(_short("written in", reveal(flat(f"{title_of(attempt.draft.language)}{why}"))))
    rows.append(fact("how sure", _sure(attempt), width=_LABEL))
    rows += _unusual(found, brief=brief)
    for number, one in enumerate(changes(build, attempt)):
        rows.append(fact("" if number else "changes", reveal(flat(one)), width=_LABEL))
    return rows


def _unusual(found: Sequence[Risk], *, brief: bool) -> list[Row]:
    """Return what is unusual, the worst first; in a line that nothing is."""
    if not found:
        said = "nothing" if brief else "nothing: all checks passed, no permissions needed"
        return [_answer("unusual", said, "good")]
    first = _MOST if len(found) <= _MOST else _MOST - 1
    clip = brief or len(found) > _WHOLE
    rows = [
        risk_row(one, clip=clip, label="" if number else "unusual")
        for number, one in enumerate(found[:first])
    ]
    if len(found) > first:
        more = f"and {len(found) - first} more, listed whole below"
        rows.append(Row(((more, "bad"),), ((f"  {'':<{_LABEL - 2}} ", ""), ("▲ ", "bad"))))
    return rows


def _answer(label: str, text: str, style: str) -> Row:
    return fact(label, ((text, style),), width=_LABEL)


def needed(found: Collection[Risk], *, brief: bool = False) -> str:
    """Return what an approval takes."""
    names = names_to_accept(found)
    if not names and brief:
        return "no risk to accept"
    if not names:
        return "no risk to accept; one key approves, pressed again where code is unread"
    return f"approving takes {counted(len(names), 'risk')} accepted by name"


def risk_row(one: Risk, *, clip: bool = False, label: str | None = None) -> Row:
    """Return a risk with its name, on one line if `clip`; behind a label's column if there is one."""
    style = "bad" if one.serious else "warn"
    body = ((f"{one.name}  ", "strong"), (reveal(flat(one.text)), style))
    lead = "  " if label is None else f"  {label:<{_LABEL - 2}} "
    return Row(body, ((lead, "muted"), (f"{'▲' if one.serious else '△'} ", style)), clip=clip, link=one.line)


def _short(label: str, text: str) -> Row:
    row = fact(label, ((text, "muted"),), width=_LABEL)
    return Row(row.body, row.gutter, clip=True)


def _touches(attempt: Attempt, withheld: Collection[str]) -> str:
    wanted = phrases(attempt.draft.capabilities.without(withheld))
    seen = next((gate for gate in attempt.gates if gate.gate == "capabilities"), None)
    if wanted:
        return reveal("; ".join(wanted))
    if seen is None or seen.state == "skipped":
        return "declared none; not watched in the tests"
    return (
        reveal(flat(seen.summary))
        if seen.state == "passed"
        else "declared none, but more was found: see above"
    )


def _reaches(attempt: Attempt, withheld: Collection[str]) -> bool:
    return not attempt.draft.capabilities.without(withheld).none


_SIGNS = {
    "passed": ("■", "good", ""),
    "failed": ("✗", "bad", " failed"),
    "skipped": ("○", "warn", " could not run"),
}
_NAMED: tuple[tuple[GateName, str], ...] = (
    ("hidden", "hidden tests"),
    ("mutation", "planted bugs"),
    ("replay", "old calls"),
)
"""The checks that say most of how well a draft was tested."""


def _sure(attempt: Attempt) -> Line:
    """Return how sure one can be: own tests, hidden tests, planted bugs, old calls, and all checks, in one line."""
    cases = attempt.reports[-1].cases if attempt.reports else ()
    good = sum(case.passed for case in cases)
    own = f"own tests {good} of {len(cases)}" if cases else "no own test ran"
    said: list[tuple[str, str]] = [(own, "" if cases and good == len(cases) else "bad")]
    states = {one.gate: one.state for one in attempt.gates}
    for gate, name in _NAMED:
        sign, style, word = _SIGNS[states[gate]] if gate in states else ("○", "warn", " not run")
        said += [(" · ", ""), (sign, style), (f" {name}", ""), (word, style)]
    every = list(states.values())
    passed = every.count("passed") + int(bool(cases) and good == len(cases))
    said.append((f" · {passed} of {1 + len(every) + len(attempt.unchecked)} checks", ""))
    if failed := every.count("failed"):
        said.append((f" · {failed} failed", "bad"))
    if unknown := every.count("skipped") + len(attempt.unchecked):
        said.append((f" · {unknown} could not run", "warn"))
    return tuple(said)
