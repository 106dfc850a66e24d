"""Finds text in a draft that addresses its reader: the person who approves, a reviewing model, the agent.

A tool's text should describe the tool. Text that tells a reader how to judge it, or what to do next, is reported with
its words. Words that persuade are found by what they do rather than by their language: one sign alone may be ordinary
in a tool; two different ones close together address the person who decides on it.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

from alita_tui.events import Json, ToolDraft
from alita_tui.runtimes.notes import Notes
from alita_tui.runtimes.python.texts import comments, texts
from alita_tui.runtimes.rules import table
from alita_tui.spine.text import one_line, reveal

_BREATH = 240
"""Characters within which two signs belong together."""
_TOGETHER = (("reader", "decided", "asked", "unread"), ("page", "dismissed"), ("quiet", "order"))
"""Kinds of signs; two different kinds close together count as persuasion."""


def persuades(text: str) -> tuple[int, int] | None:
    """Return where a text persuades its reader, from its first sign to its last; None if it does not."""
    if match := _sign("taken_back").search(text):
        return match.span()
    spans = (_together(tuple(map(_sign, kinds)), text) for kinds in _TOGETHER)
    return next((span for span in spans if span), None)


@cache
def _sign(kind: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{part})" for part in table("persuasion")[kind]), re.IGNORECASE)


def _together(signs: tuple[re.Pattern[str], ...], text: str) -> tuple[int, int] | None:
    """Return where two signs of different kinds are close to each other and are not the same words."""
    matches = sorted(
        (match.start(), match.end(), kind) for kind, sign in enumerate(signs) for match in sign.finditer(text)
    )
    for (start, end, kind), (later, last, later_kind) in zip(matches, matches[1:], strict=False):
        if kind != later_kind and later >= end and last - start <= _BREATH:
            return start, last
    return None


_TALKS = re.compile(r"\b(?:chats?|transcripts?|conversations?|dialog(?:ue)?s?|interviews?)\b", re.IGNORECASE)
"""Purposes whose tests contain speakers at the beginning of lines."""
_SPEAKER = re.compile(r"(?m)^\s*(?:system|assistant|user|human|ai|bot|agent)\s*:[ \t]*", re.IGNORECASE)
_MARKUP = re.compile(
    r"\[/?(?:bold|italic|dim|blink|reverse|red|green|yellow|white|link|on)\b[^\]\n]{0,40}\]|\x1b\[|[✔✅☑✓]"
)
"""Markup that a page might render, and the mark with which the console itself shows passed checks."""
_LONGEST = 20_000
_QUOTED = 90


def note_addressed(
    notes: Notes, draft: ToolDraft, own: Iterable[tuple[int, str]], tests: ast.Module | None
) -> None:
    """Report text that addresses its reader, with its words and place; `own` are the code's texts with their lines."""
    talks = _TALKS.search(draft.description) is not None
    for where, line, text in _texts(draft, own, tests):
        text = _SPEAKER.sub("", text) if talks and where.startswith("tests") else text
        plain, span = _spoken(text)
        if span is None and where in ("description", "name") and (mark := _MARKUP.search(text)):
            span = mark.span()
            plain = text
        if span is not None:
            start = max(0, span[0] - 10 if span[1] - span[0] < _QUOTED else span[0])
            words = one_line(reveal(plain[start:][: max(_QUOTED, span[1] - start)].strip()), 140)
            remark = f"{where}{': ' if where else ''}speaks to its reader: “{words}”"
            notes.add("high", "ast/addressed", remark, line)


def addressed(text: str) -> str:
    """Return the words with which an untrusted text addresses its reader; empty if it does not."""
    plain, span = _spoken(text)
    if span is None:
        return ""
    start = max(0, span[0] - 10)
    return one_line(reveal(plain[start:][: max(_QUOTED, span[1] - start)].strip()), 140)


def _spoken(text: str) -> tuple[str, tuple[int, int] | None]:
    """Return a text as a person reads it, and where it addresses its reader."""
    plain = " ".join(_plain(text[:_LONGEST]).split())
    hit = next((hit for pattern in _patterns() if (hit := pattern.search(plain))), None)
    return plain, hit.span() if hit else persuades(plain)


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    rules = table("addressed")
    patterns = [pattern for group in rules["patterns"].values() for pattern in group]
    for word, meaning in rules["words"].items():
        patterns = [pattern.replace(f"{{{word}}}", meaning) for pattern in patterns]
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


def _plain(text: str) -> str:
    """Return a text as a person reads it: compatible letters unified, characters without a cell removed."""
    alike = unicodedata.normalize("NFKC", text)
    return "".join(
        character
        for character in alike
        if unicodedata.category(character) not in ("Cf", "Mn") or character == "\n"
    )


def _texts(
    draft: ToolDraft, own: Iterable[tuple[int, str]], tests: ast.Module | None
) -> Iterator[tuple[str, int, str]]:
    """Yield every text of a draft: where it is, its line in the code, the text."""
    yield "description", 0, draft.description
    for name, schema in (("input schema", draft.input_schema), ("output schema", draft.output_schema)):
        for text in _schema_texts(schema):
            yield name, 0, text
    for line, text in own:
        yield "", line, text
    for line, text in (*comments(draft.tests), *(texts(tests) if tests is not None else ())):
        yield f"tests, line {line}", 0, text


def _schema_texts(schema: Json) -> Iterator[str]:
    pending: list[Json] = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            pending += [*value.values(), *(str(key).replace("_", " ") for key in value)]
        elif isinstance(value, list):
            pending += value
