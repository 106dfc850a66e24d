"""The first screenful of a review: what is unusual, what it may touch, what it does, how sure we are, what changes."""

from __future__ import annotations

from collections.abc import Collection

from alita_tui.console.widgets.sheet import Row, fact, flat, heading
from alita_tui.spine.grants import phrases
from alita_tui.spine.text import counted, reveal
from alita_tui.state.build import Attempt, BuildState
from alita_tui.view.changes import changes
from alita_tui.view.risk import Risk, names_of, risks

_MOST, _LABEL = 4, 13
"""Lines for risks, the last of which says how many more there are; all of them are told below, whole. Columns."""


def glance(build: BuildState, attempt: Attempt, withheld: Collection[str] = ()) -> list[Row]:
    """The answers, a line each where they fit."""
    found = risks(build, attempt, withheld)
    rows = heading("At a glance", needed(found))
    first = _MOST if len(found) <= _MOST else _MOST - 1
    rows += [risk_row(one, clip=True) for one in found[:first]]
    if len(found) > first:
        rows.append(Row(((f"and {len(found) - first} more, listed whole below", "bad"),), (("  ▲ ", "bad"),)))
    if not found:
        said = "every check passed, nothing asked for, no finding above low"
        rows.append(Row(((said, "good"),), (("  ● ", "good"),)))
    rows.append(fact("may touch", _touches(attempt, withheld), width=_LABEL))
    rows.append(_short("does", reveal(flat(attempt.draft.description))))
    rows.append(fact("how sure", _sure(attempt), width=_LABEL))
    for number, one in enumerate(changes(build, attempt)):
        rows.append(fact("" if number else "changes", reveal(flat(one)), width=_LABEL))
    return rows


def needed(found: Collection[Risk]) -> str:
    """What an approval takes."""
    names = names_of(found)
    if not names:
        return "one key approves"
    return f"approving takes {counted(len(names), 'risk')} accepted by name"


def risk_row(one: Risk, *, clip: bool = False) -> Row:
    """A risk with the name by which it is accepted; on one line, or whole."""
    ink = "bad" if one.serious else "warn"
    body = ((f"{one.name}  ", "strong"), (reveal(flat(one.text)), ink))
    return Row(body, ((f"  {'▲' if one.serious else '△'} ", ink),), clip=clip, link=one.line)


def _short(label: str, text: str) -> Row:
    row = fact(label, text, width=_LABEL)
    return Row(row.body, row.gutter, clip=True)


def _touches(attempt: Attempt, withheld: Collection[str]) -> str:
    wanted = phrases(attempt.draft.capabilities.without(withheld))
    seen = next((one for one in attempt.gates if one.gate == "capabilities"), None)
    if wanted:
        return reveal("; ".join(wanted))
    if seen is None or seen.state == "skipped":
        return "declared none; not watched in the tests"
    return (
        reveal(flat(seen.summary))
        if seen.state == "passed"
        else "declared none, but more was found: see above"
    )


def _sure(attempt: Attempt) -> str:
    cases = attempt.reports[-1].cases if attempt.reports else ()
    own = f"own tests {sum(case.passed for case in cases)} of {len(cases)}" if cases else "no own test ran"
    states = [one.state for one in attempt.gates]
    said = [own, f"{states.count('passed')} of {len(states) + len(attempt.unchecked)} checks"]
    if failed := states.count("failed"):
        said.append(f"{failed} failed")
    if unknown := states.count("skipped") + len(attempt.unchecked):
        said.append(f"{unknown} could not look")
    return " · ".join(said)
