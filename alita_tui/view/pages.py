"""The row of a page that the agent read."""

from __future__ import annotations

from alita_tui.events import PageRead
from alita_tui.spine.text import counted


def title(event: PageRead) -> str:
    """Return the row's title: the page, or the number of matches if words were looked for."""
    page = event.title or event.url
    return (
        f"{counted(event.matches, 'place')} with {event.find!r} in {page}" if event.find else f"Read {page}"
    )


def body(event: PageRead) -> str:
    """Return the page's address, the file in which it is stored, and the text that was read."""
    head = f"{event.url}\nkept as {event.handle}" if event.handle else event.url
    head += f"\nwas refused {', '.join(event.refused)}" if event.refused else ""
    return f"{head}\n\n{event.text}"


def extent(event: PageRead) -> str:
    """Return which part of the page was read, and how it was fetched."""
    end = event.start + len(event.text)
    range_text = (
        f"{event.start:,}–{end:,} of {event.total:,}"
        if not event.find and end - event.start < event.total
        else ""
    )
    words = (
        ("from the copy", event.copied), ("by a browser", event.scripts == "run"),
        ("needs scripts", event.scripts == "needed"),
        ("unchanged", event.unchanged), ("cut", event.truncated),
    )  # fmt: skip
    return ", ".join((*filter(None, (range_text,)), *(word for word, applies in words if applies)))
