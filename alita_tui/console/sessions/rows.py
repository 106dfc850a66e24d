"""The rows of the session list: sessions, search hits and details."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from shlex import quote

from textual.content import Content

from alita_tui.console.actions import key_of
from alita_tui.console.sessions.catalog import SessionLine
from alita_tui.console.widgets.figures import age
from alita_tui.console.widgets.styled_text import at_words, cut
from alita_tui.spine.sessions import SessionHit
from alita_tui.spine.text import counted, one_line
from alita_tui.view.statistics import dollars

STATES = {
    "open": ("●", "$alita-good"),
    "waiting": ("◆", "$alita-wait"),
    "stopped": ("○", "$alita-warn"),
    "damaged": ("✖", "$alita-bad"),
    "closed": ("·", "$alita-muted"),
}
"""State → glyph and colour; never colour alone."""
_FACTS = 13


def title_of(line: SessionLine) -> str:
    """Return a session's title; the name of its file if no title of it can be read."""
    if line.title and (line.readable or line.title != line.own_title):
        return line.title
    return f"{line.session_id}.json" if line.state == "damaged" else "Untitled"


def _damage(line: SessionLine, keys: Mapping[str, str]) -> str:
    """Return what is damaged, and what can be done; empty for a sound session."""
    if line.state != "damaged":
        return ""
    look, delete = key_of("sessions.view", keys), key_of("sessions.delete", keys)
    if not line.readable:
        problem = one_line(line.own_title, 300).rstrip(".")
        return f"Nothing of it can be read: {problem}. Put a copy of the file in its place, or {delete} deletes it."
    return (
        f"Some of its records cannot be read. {look} shows what is left, "
        f"alita sessions verify {quote(line.session_id)} says what is missing."
    )


def session_row(line: SessionLine, width: int, now: datetime, *, here: bool, marked: bool) -> Content:
    """Return a session's line in the list."""
    glyph, style = STATES.get(line.state, STATES["closed"])
    when = age(line.active, now)
    built = counted(line.tools_built, "tool") if line.tools_built else ""
    cost = f"${line.cost_usd:.2f}"
    right = f" {built:>7} {cost:>7}" if built else f" {cost:>7}"
    tags = "".join(f" #{one_line(tag, 30)}" for tag in line.tags)
    fork = "↳ " if line.parent else ""
    notes = {
        " (damaged)": line.state == "damaged",
        " (this one)": here,
        " (archived)": line.archived,
        " (from elsewhere)": line.imported,
    }
    note = next((words for words, holds in notes.items() if holds), "")
    room = max(width - len(right) - 9, 8)
    title = at_words(f"{fork}{one_line(title_of(line))}", max(room - len(note) - len(tags), 8))
    left = Content.assemble(title, (note, "$alita-muted"), (cut(tags, room), "$alita-memory"))
    return Content.assemble(
        ("✓" if marked else " ", "bold $accent"),
        (glyph, f"bold {style}"),
        (f"{when:>5}  ", "$alita-muted"),
        left,
        " " * max(room - left.cell_length, 0),
        (right, "$alita-muted"),
    )


def hit_row(hit: SessionHit, title: str, width: int) -> Content:
    """Return a search hit: where it is, and the text around the match."""
    head = Content.assemble(
        "  ",
        (at_words(one_line(title or "Untitled"), max(width - 24, 8)), "bold"),
        (f"  event {hit.seq}, {hit.kind}", "$alita-muted"),
    )
    text = Content.assemble(
        "    ",
        *((piece, "bold $alita-wait" if n % 2 else "$foreground") for n, piece in enumerate(hit.pieces)),
    )
    return Content("\n").join((head, text.truncate(max(width, 12), ellipsis=True)))


def details(line: SessionLine, keys: Mapping[str, str]) -> Content:
    """Return a session's details. `keys`: the person's keymap."""
    glyph, style = STATES.get(line.state, STATES["closed"])
    facts = [
        ("State", Content.assemble((f"{glyph} {line.state}", style))),
        ("Damage", Content(_damage(line, keys))),
        ("Started", Content(line.started.astimezone().strftime("%Y-%m-%d %H:%M"))),
        (
            "Last",
            Content(line.last_activity.astimezone().strftime("%Y-%m-%d %H:%M") if line.last_activity else ""),
        ),
        ("Events", Content(f"{line.events:,}")),
        ("Tasks", Content(f"{line.tasks}{f', the last {line.outcome}' if line.outcome else ''}")),
        ("Tools built", Content(str(line.tools_built))),
        ("Cost", Content(dollars(line.cost_usd))),
        ("Model", Content(one_line(line.model))),
        ("Tags", Content(" ".join(f"#{one_line(tag, 30)}" for tag in line.tags))),
        ("Bookmarks", Content(str(line.bookmarks) if line.bookmarks else "")),
        (
            "Waiting",
            Content.assemble(
                (", ".join(one_line(approval_id, 60) for approval_id in line.waiting), "$alita-wait")
            ),
        ),
        ("Forked from", Content(one_line(line.parent, 60) if line.parent else "")),
        ("", Content(f"at event {line.parent_seq}" if line.parent else "")),
        ("Origin", Content("another home: it can be looked at, and does not go on" if line.imported else "")),
        ("Id", Content(one_line(line.session_id, 60))),
    ]
    parts = [Content.assemble((one_line(title_of(line), 300), "bold")), Content("")]
    parts += [
        Content.assemble((f"{label:<{_FACTS}}", "$alita-muted"), value)
        for label, value in facts
        if value.plain
    ]
    return Content("\n").join(parts)
