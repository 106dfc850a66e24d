"""Finds the risks of a skill. A person must accept each by its name to approve the skill."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from alita_tui.mcp_box.remote.review import addressing_risks, hidden_text_risks, resembles
from alita_tui.mcp_box.skills.reading import Skill
from alita_tui.spine.text import counted, one_line
from alita_tui.view.risk import Risk

_PIECE, _OVERLAP = 10_000, 500
"""Characters that are examined at once, and how many of them the next piece repeats."""
_PROGRAMS = (
    ".py", ".sh", ".bash", ".zsh", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".pl", ".php", ".ps1", ".bat", ".cmd"
)  # fmt: skip
"""How the names of scripts end."""
_MOST = 40
"""Most risks listed per name; further ones are only counted."""


def skill_risks(
    skill: Skill, addressed: Callable[[str], str], others: Iterable[str] = ()
) -> tuple[Risk, ...]:
    """Return the risks of a skill, most telling first.

    `addressed` returns the words that a text addresses to its reader; `others` are the names of other skills.
    """
    texts = dict(_texts(skill))
    pieces = [piece for path, text in texts.items() for piece in _pieces(path, text)]
    risks = [*addressing_risks(pieces, addressed), *hidden_text_risks(texts.items())]
    risks += hidden_text_risks(("the path of a file", path) for path in skill.files)
    name = skill.text.name
    risks += [
        Risk("like-another", f"its name can be taken for that of the skill {one_line(skill_name, 80)}")
        for skill_name in others
        if skill_name != name and resembles(name, skill_name)
    ]
    if not_text := [path for path in skill.files if path not in texts]:
        listing = ", ".join(one_line(path, 80) for path in not_text[:5])
        risks.append(
            Risk(
                "not-text",
                f"{counted(len(not_text), 'file')} cannot be read as text: {listing}",
                serious=False,
            )
        )
    if skill.text.allowed_tools:
        listing = one_line(" ".join(skill.text.allowed_tools), 200)
        risks.append(
            Risk("asks-for-tools", f"it would allow itself {listing}; nothing here heeds that", serious=False)
        )
    if programs := _programs(skill):
        note = f"it carries {counted(len(programs), 'script')}; approving the skill runs none of them"
        risks.append(Risk("scripts", note, serious=False))
    return tuple(_shortened(dict.fromkeys(risks)))


def _programs(skill: Skill) -> list[str]:
    """Return the paths of all scripts, wherever they are: the format has a folder for them, which nothing enforces."""
    return [
        path
        for path, data in skill.files.items()
        if path in skill.scripts or data.startswith(b"#!") or path.lower().endswith(_PROGRAMS)
    ]


def _texts(skill: Skill) -> Iterator[tuple[str, str]]:
    """Yield every text file of a skill with its path; other files are left out."""
    for path, data in skill.files.items():
        if b"\0" in data:
            continue
        try:
            yield path, data.decode()
        except UnicodeDecodeError:
            continue


def _pieces(path: str, text: str) -> Iterator[tuple[str, str]]:
    for start in range(0, max(len(text), 1), _PIECE - _OVERLAP):
        yield path, text[start : start + _PIECE]


def _shortened(risks: Iterable[Risk]) -> Iterator[Risk]:
    counts: dict[str, int] = {}
    for risk in risks:
        counts[risk.name] = counts.get(risk.name, 0) + 1
        if counts[risk.name] <= _MOST:
            yield risk
    for name, count in counts.items():
        if count > _MOST:
            yield Risk(name, f"and {count - _MOST} more like these")
