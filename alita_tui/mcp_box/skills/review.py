"""What a person should know of a skill before approving it: its risks, each with the name that accepts it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from alita_tui.mcp_box.remote.review import hidden, resembles, spoken
from alita_tui.mcp_box.skills.reading import Skill
from alita_tui.spine.text import counted, one_line
from alita_tui.view.risk import Risk

_PIECE, _OVERLAP = 10_000, 500
"""Characters of a text that are looked at together, and of which the next piece begins with the last."""
_MOST = 40
"""Risks of one name that are listed; of more only their number is."""


def skill_risks(
    skill: Skill, addressed: Callable[[str], str], others: Iterable[str] = ()
) -> tuple[Risk, ...]:
    """Return the risks of a skill, most telling first.

    `addressed` returns the words by which a text speaks to its reader; `others` are the names of other skills.
    """
    texts = dict(_texts(skill))
    pieces = [piece for where, text in texts.items() for piece in _pieces(where, text)]
    found = [*spoken(pieces, addressed), *hidden(texts.items())]
    name = skill.text.name
    found += [
        Risk("like-another", f"its name can be taken for that of the skill {one_line(other, 80)}")
        for other in others
        if other != name and resembles(name, other)
    ]
    if unseen := [path for path in skill.files if path not in texts]:
        listed = ", ".join(one_line(path, 80) for path in unseen[:5])
        found.append(
            Risk(
                "not-text", f"{counted(len(unseen), 'file')} cannot be read as text: {listed}", serious=False
            )
        )
    if skill.text.allowed_tools:
        listed = one_line(" ".join(skill.text.allowed_tools), 200)
        found.append(
            Risk("asks-for-tools", f"it would allow itself {listed}; nothing here heeds that", serious=False)
        )
    if skill.scripts:
        said = f"it carries {counted(len(skill.scripts), 'script')}; approving the skill runs none of them"
        found.append(Risk("scripts", said, serious=False))
    return tuple(_shortened(dict.fromkeys(found)))


def _texts(skill: Skill) -> Iterator[tuple[str, str]]:
    """Yield every text file of a skill by path, and the paths themselves; what is no text is left out."""
    for path, data in skill.files.items():
        if b"\0" in data:
            continue
        try:
            yield path, data.decode()
        except UnicodeDecodeError:
            continue


def _pieces(where: str, text: str) -> Iterator[tuple[str, str]]:
    for start in range(0, max(len(text), 1), _PIECE - _OVERLAP):
        yield where, text[start : start + _PIECE]


def _shortened(found: Iterable[Risk]) -> Iterator[Risk]:
    counts: dict[str, int] = {}
    for risk in found:
        counts[risk.name] = counts.get(risk.name, 0) + 1
        if counts[risk.name] <= _MOST:
            yield risk
    for name, count in counts.items():
        if count > _MOST:
            yield Risk(name, f"and {count - _MOST} more like these")
