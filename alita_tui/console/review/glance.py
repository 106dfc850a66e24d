"""The first screenful of a review: risks, access, purpose, confidence and changes."""

from __future__ import annotations

from collections.abc import Collection

from alita_tui.console.widgets.sheet import Row, fact, flat, heading
from alita_tui.spine.grants import phrases
from alita_tui.spine.text import counted, reveal
from alita_tui.state.build import Attempt, BuildState
from alita_tui.view.changes import changes
from alita_tui.view.risk import Risk, names_of, risks

_MOST, _LABEL = 4, 13
"""Maximum lines for risks, all of which are listed below; columns of a label."""


def glance(build: BuildState, attempt: Attempt, withheld: Collection[str] = ()) -> list[Row]:
    """Return the answers, one line each if possible."""
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
    """Return what an approval takes."""
    names = names_of(found)
    if not names:
        return "one key approves"
    return f"approving takes {counted(len(names), 'risk')} accepted by name"


def risk_row(one: Risk, *, clip: bool = False) -> Row:
    """Return a risk with its name, on one line if `clip`."""
    style = "bad" if one.serious else "warn"
    body = ((f"{one.name}  ", "strong"), (reveal(flat(one.text)), style))
    return Row(body, ((f"  {'▲' if one.serious else '△'} ", style),), clip=clip, link=one.line)


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
