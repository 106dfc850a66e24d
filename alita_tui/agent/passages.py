"""Selects the part of a page that the model sees: from an offset, or around words. Pure."""

from __future__ import annotations

import re

from alita_tui.events import PageRead, Value
from alita_tui.spine.grants import BROWSER_OFF
from alita_tui.spine.text import counted

PASSAGE = 5_000
"""Characters of a page shown at once."""
_AROUND = 350
"""Characters shown on each side of a match."""
_SHOWN = 6
"""Places shown with their surroundings; of further ones only the offset."""
_LISTED = 20
_SLACK = 600
"""Characters by which a piece may be shorter, to end with a paragraph, a line or a sentence."""
_ENDS = ("\n\n", "\n", ". ", " ")


class Part(Value, frozen=True):
    """A part of a text."""

    text: str
    start: int = 0
    matches: int = 0


def piece(text: str, offset: int) -> Part:
    """Return the piece from an offset, ending with a paragraph, a line or a sentence if possible."""
    start = min(offset, len(text))
    end = start + PASSAGE
    if end < len(text):
        for mark in _ENDS:
            place = text.rfind(mark, max(end - _SLACK, start), end)
            if place > start:
                end = place + len(mark)
                break
    return Part(text=text[start:end], start=start)


def around_words(text: str, words: str) -> Part:
    """Return the text around each occurrence of some words, with offsets; case and line breaks do not matter."""
    places = _places(text, words)
    if not places:
        return Part(text=_separately(text, words))
    spans: list[tuple[int, int]] = []
    for start, end in places[:_SHOWN]:
        start, end = _widened(text, start, end)
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    parts = [f"[from character {start}]\n{text[start:end].strip()}" for start, end in spans]
    if more := [str(start) for start, _ in places[_SHOWN:][:_LISTED]]:
        parts.append(f"[also at {', '.join(more)}{' and later' if len(places) > _SHOWN + _LISTED else ''}]")
    return Part(text="\n\n".join(parts), start=spans[0][0], matches=len(places))


def _places(text: str, words: str) -> list[tuple[int, int]]:
    pattern = r"\s+".join(map(re.escape, words.split()))
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)] if pattern else []


def _separately(text: str, words: str) -> str:
    """Return where each single word occurs, for words that never occur together."""
    lines = []
    for word in dict.fromkeys(words.split()):
        places = _places(text, word)
        at = ", ".join(str(start) for start, _ in places[:_SHOWN])
        lines.append(f"{word}: {counted(len(places), 'time')}, at {at}" if places else f"{word}: nowhere")
    return "\n".join(lines) if len(lines) > 1 else ""


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a place with its surroundings, from the start of a line or word to the end of one."""
    before = text[max(start - _AROUND, 0) : start]
    after = text[end : end + _AROUND]
    if start > _AROUND and (cut := _after_boundary(before)) is not None:
        before = before[cut:]
    if end + _AROUND < len(text) and (cut := after.rfind(" ")) > 0:
        after = after[:cut]
    return start - len(before), end + len(after)


def _after_boundary(before: str) -> int | None:
    for mark in ("\n", ". ", " "):
        at = before.find(mark)
        if 0 <= at < len(before) // 2:
            return at + len(mark)
    return None


def titled(event: PageRead) -> str:
    """Return the part that was read; a page's title is put before its beginning, unless the text has it."""
    has_title = event.start or event.find or not event.title or event.title in event.text[:400]
    return event.text if has_title else f"{event.title}\n\n{event.text}"


def file_remark(event: PageRead) -> str:
    """Return a remark that names the file of a page that is not shown whole; empty if there is none."""
    if not event.handle:
        return ""
    if not event.text:
        return f"It is no text. It is the file {event.handle}: `look` says what kind; a tool can read it."
    shown_whole = event.start == 0 and len(event.text) >= event.total and not event.truncated
    return "" if shown_whole else f"As it came, it is the file {event.handle}."


def remarks(event: PageRead) -> tuple[str, ...]:
    """Return alita's own remarks about a page that was read."""
    return by_scripts(event), remainder(event), file_remark(event)


def by_scripts(event: PageRead) -> str:
    """Return a remark for a page whose text is made by scripts; empty for any other page."""
    if event.scripts == "needed" and event.browser_off:
        return (
            "It shows next to nothing without its scripts, which were not run: no browser is allowed here. "
            f"If nothing else answers the task, say that {BROWSER_OFF} The person was told so too."
        )
    if event.scripts == "needed":
        return "It shows next to nothing without its scripts, which were not run (setting web.browser_hosts)."
    if event.scripts == "run":
        hosts = counted(len(event.refused), "host")
        kept_out = (
            f" They were refused {hosts} that web.browser_hosts does not list." if event.refused else ""
        )
        return f"Its scripts were run by a browser in the sandbox.{kept_out}"
    return ""


def remainder(event: PageRead) -> str:
    """Return a remark on the rest of the page and how to get it; empty if it was shown whole."""
    total = event.total or len(event.text)
    more = " The page itself has more, which was not read." if event.truncated else ""
    if event.find:
        extent = f"{counted(event.matches, 'place')} in a page of {total:,} characters."
        how = (
            "read_page with offset shows what stands around a place." if event.matches else "Try other words."
        )
        return f"{extent} {how}{more}"
    end = event.start + len(event.text)
    if event.start == 0 and end >= total:
        return more.strip()
    extent = f"Characters {event.start:,} to {end:,} of {total:,}."
    if end < total:
        extent += f" read_page with offset {end} goes on; with find it looks for words in all of it."
    return extent + more
