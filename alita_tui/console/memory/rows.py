"""The rows of the memory screen: items, and the details of one."""

from __future__ import annotations

from datetime import datetime

from textual.content import Content

from alita_tui.console.widgets.figures import age
from alita_tui.console.widgets.sheet import BLANK, Row, fact, say
from alita_tui.console.widgets.styled_text import at_words, cut
from alita_tui.spine.ports.memory import MemorySort, Remembered
from alita_tui.spine.text import one_line

GLYPHS: dict[MemorySort, tuple[str, str]] = {
    "fact": ("◇", "$accent"),
    "recipe": ("▸", "$alita-run"),
    "episode": ("∴", "$alita-memory"),
    "failure": ("✗", "$alita-bad"),
    "rejection": ("✗", "$alita-warn"),
}
"""What an item is → glyph and colour; never colour alone: its name follows."""
LEARNED = {
    "statement": "you said so",
    "answer": "your answer to a question",
    "correction": "your correction",
    "person": "your own words",
    "result": "a tool's result",
    "rejection": "a build that you rejected",
    "failure": "a task that led nowhere",
    "task": "a task that was answered",
}
_PROJECT = 18


def item_row(entry: Remembered, width: int, now: datetime, here: str) -> Content:
    """Return an item's line in the list."""
    glyph, style = GLYPHS[entry.sort]
    learned = age(datetime.fromisoformat(entry.at), now) if entry.at else ""
    project = "" if entry.project in ("", here) else cut(one_line(entry.project, 60), _PROJECT)
    worked = "{}/{}".format(*entry.answered) if entry.sort == "recipe" else ""
    right = f" {worked:>6} {project}".rstrip()
    room = max(width - len(right) - 22, 8)
    text = at_words(one_line(entry.item.text, 400), room)
    quiet = "$alita-muted" if entry.until else ""
    return Content.assemble(
        ("★" if entry.pinned else " ", "bold $accent"),
        (glyph, f"bold {style}"),
        (f"{learned:>5} ", "$alita-muted"),
        (f"{'closed' if entry.until else entry.sort:<11}", "$alita-muted"),
        (text, quiet),
        " " * max(room - Content(text).cell_length, 0),
        (right, "$alita-muted"),
    )


def details(entry: Remembered, calls: tuple[str, ...], source_hint: str, tool_hint: str = "") -> list[Row]:
    """Return the details of an item; `calls` are a recipe's calls in words.

    `source_hint` names the key that opens its source, `tool_hint` the key that has a recipe built as one tool.
    """
    item = entry.item
    session, _, seq = (
        entry.sources[-1] if entry.sources else f"{item.source_session}:{item.source_seq}"
    ).rpartition(":")
    rows = [*say(one_line(item.text, 1_200), "strong"), BLANK]
    facts = [
        ("learned", LEARNED[item.origin]),
        ("from", f"{one_line(session, 60)} event {seq}{source_hint}" if session else ""),
        ("about", one_line(item.subject, 200)),
        ("since", _when(entry.at)),
        ("closed", f"{_when(entry.until)}, by a newer one" if entry.until else ""),
        ("project", one_line(entry.project, 80) or "shared by all"),
        ("pinned", "it does not age" if entry.pinned else ""),
        ("worked", entry.record if entry.sort == "recipe" else ""),
        ("you said", entry.said),
        ("one tool", tool_hint or f"alita memory tool {item.item_id}" if entry.offered else ""),
        ("cost", f"${item.cost_usd:.4f}" if item.cost_usd else ""),
        ("files", one_line(", ".join(item.artefacts), 200)),
        ("id", item.item_id),
    ]
    rows += [fact(label, ((value, ""),)) for label, value in facts if value]
    rows += [fact(f"s{number}", ((one_line(line, 400), ""),)) for number, line in enumerate(calls, 1)]
    return rows


def _when(at: str) -> str:
    return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M") if at else ""
