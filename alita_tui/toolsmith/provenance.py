"""Finds out who named what a draft asks for: the person, or only text from outside, which may be hostile.

Text from outside is searched as an obedient model might read it: decoded, joined, reversed. The person's text is taken
literally. So a host that only a page named is never taken for the person's wish.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from alita_tui import events as e
from alita_tui.events import ToolDraft, as_json
from alita_tui.runtimes.notes import Notes, Severity
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.grants import host_grants, secret_names
from alita_tui.spine.history import of
from alita_tui.spine.requirements import NPM, distribution
from alita_tui.spine.text import neutralise

RULE = "named-elsewhere"
_LONGEST = 200_000
"""Characters of one text from outside that are searched; of a longer one, its beginning and its end."""
_MOST_READ = 1_500_000
"""Characters of all readings of one text; plain and simply decoded ones come first."""
_MOST_SEARCHED = 5_000_000
"""Characters of all texts that are searched, the newest first; a name in none of them is reported, too."""
_SHORT = 6
"""Letters below which a name is looked for as a whole word, because it is part of many others."""
_DEEPEST = 3
_DOT = re.compile(
    r"\s*(?:\[\.?\]|\(\.?\)|\{\.?\}|\[dot\]|\(dot\)|\bdot\b|\bpunkt\b|\bpunto\b|\bpoint\b|[。．｡․·])\s*"
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_HEX = re.compile(r"(?:\\x|0x|%|\b)?(?:[0-9a-fA-F]{2}[\s:,]?(?:\\x|0x|%)?){6,}")
_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})|\\u\{?([0-9a-fA-F]{4,6})\}?")
_NUMBERS = re.compile(r"(?:\b\d{2,3}[\s,;]+){6,}\d{2,3}\b")


class Outside(NamedTuple):
    """A text from outside, and a name for its source."""

    source: str
    text: str


class Provenance(NamedTuple):
    """What the person wrote in a session, and what else the model has read there."""

    person: str
    outside: tuple[Outside, ...]


UNKNOWN = Provenance("", ())
"""Unknown provenance, which reports nothing about a draft."""


def provenance(history: Sequence[Envelope]) -> Provenance:  # noqa: C901  # one match over all kinds
    """Return which texts of a session are the person's and which are from outside."""
    person: list[str] = []
    outside: list[Outside] = []
    names: dict[str, str] = {}
    files: dict[str, str] = {}
    offered: dict[str, tuple[str, ...]] = {}
    for envelope in of(history, *_PERSON, *_OUTSIDE, e.ToolCalled, e.QuestionAsked):
        match envelope.event:
            case e.TaskSubmitted(text=text, improves=proposal) if proposal:
                outside.append(Outside("the proposal", text))
            case e.BuildStarted(given=quotations):
                outside += [Outside("what a proposal told of earlier sessions", text) for text in quotations]
            case e.QuestionAsked(question_id=question_id, choices=choices):
                offered[question_id] = choices
            case e.QuestionAnswered(question_id=question_id, text=text) if text in offered.get(
                question_id, ()
            ):
                pass  # a model worded it, perhaps as a text from outside told it to
            case e.TaskSubmitted(text=text) | e.Steered(text=text) | e.QuestionAnswered(text=text):
                person.append(text)
            case e.FeedbackGiven(text=text, expected=expected, by="person"):
                person += [text, expected]
            case e.PageRead(url=url, title=title, text=text, whole=whole_text, handle=handle):
                host = files[handle] = urlsplit(url).hostname or url
                outside.append(Outside(host, f"{title}\n{whole_text or text}"))
            case e.ArtefactAdded(origin="page"):
                pass  # its page follows
            case e.ArtefactAdded(artefact=file):
                files[file.handle] = f"the file {file.name}"
                outside.append(Outside(files[file.handle], f"{file.name}\n{file.preview}"))
            case e.LookedBack(handle=handle, text=text):
                outside.append(Outside(files.get(handle, "an earlier observation"), text))
            case e.WebSearched(provider=provider, results=results):
                outside += [
                    Outside(
                        f"a search result ({provider}: {result.url})",
                        f"{result.title}\n{result.url}\n{result.snippet}",
                    )
                    for result in results
                ]
            case e.ToolCalled(call_id=call_id, name=name):
                names[call_id] = f"the output of {name}"
            case e.ToolReturned(call_id=call_id, report=report):
                outside.append(Outside(names.get(call_id, "a tool's output"), _report(report)))
            case e.ToolFailed(call_id=call_id, text=text, report=report):
                output = f"{text}\n{_report(report) if report else ''}"
                outside.append(Outside(names.get(call_id, "a tool's output"), output))
            case e.ContextGiven(blocks=blocks):
                person += [block.text for block in blocks if not block.source]
                outside += [Outside(block.source, block.text) for block in blocks if block.source]
            case e.MemoryRecalled(items=items):
                outside += [Outside("what was remembered of earlier tasks", item.text) for item in items]
            case _:
                pass
    return Provenance("\n".join(person), tuple(outside))


_PERSON = (e.TaskSubmitted, e.Steered, e.QuestionAnswered, e.FeedbackGiven)
_OUTSIDE = (
    e.PageRead,
    e.WebSearched,
    e.ToolReturned,
    e.ToolFailed,
    e.MemoryRecalled,
    e.ArtefactAdded,
    e.LookedBack,
    e.ContextGiven,
    e.BuildStarted,
)


def note_provenance(
    notes: Notes, draft: ToolDraft, parent: ToolDraft | None, session_texts: Provenance
) -> None:
    """Report every host, secret and package of a draft that the person did not name, once there is text from outside.

    Whatever the previous version was approved for counts as named by the person.
    """
    if not session_texts.outside:
        return
    approved = _requested(parent) if parent is not None else {}
    unnamed = {name: kind for name, kind in _requested(draft).items() if name not in approved}
    unnamed = {
        name: kind for name, kind in unnamed.items() if not _named_by_person(name, kind, session_texts.person)
    }
    if not unnamed:
        return
    sources_by_name = _sources(unnamed, session_texts.outside)
    for name, kind in unnamed.items():
        if sources := sources_by_name.get(name):
            severity: Severity = "medium" if kind == "package" else "high"
            listed = ", ".join(sources[:3]) + (" and others" if sources[3:] else "")
            notes.add(severity, RULE, f"{kind} {name}: named by {listed}, not by you")
        else:
            severity = "low" if kind == "package" else "medium"
            notes.add(
                severity, RULE, f"{kind} {name}: not named by you, and text from outside was read before"
            )


def _requested(draft: ToolDraft) -> dict[str, str]:
    """Return what a draft asks for, with the kind of each."""
    hosts = {grant.host: "host" for grant in host_grants(draft.capabilities)}
    secrets = {name: "secret" for name in secret_names(draft.capabilities)}
    packages = {name: "package" for requirement in draft.requirements if (name := distribution(requirement))}
    return {**packages, **secrets, **hosts}


def _named_by_person(name: str, kind: str, text: str) -> bool:
    plain = text.casefold()
    if name.startswith(NPM):  # dots and scope are part of a name there
        bare = re.escape(name.removeprefix(NPM).casefold())
        return re.search(rf"(?<![\w.@/-]){bare}(?![\w/-]|\.\w)", plain) is not None
    if kind == "package":
        return name in {re.sub(r"[-_.]+", "-", word).strip("-") for word in re.findall(r"[\w.-]+", plain)}
    bare = re.escape(name.casefold().removeprefix("www."))
    return re.search(rf"(?<![\w.-])(?:www\.)?{bare}(?!\.?[\w-])", plain) is not None


def _sources(names: Iterable[str], outside: Sequence[Outside]) -> dict[str, list[str]]:
    """Return for each name the texts that name it, in any reading."""
    called = {name: name.removeprefix(NPM) for name in names}
    squeezed = {name: squeeze(bare) for name, bare in called.items()}
    words_of = {
        name: re.findall(r"[\w-]+", re.sub(r"[-_.]+", "-", bare.casefold())) for name, bare in called.items()
    }
    sources: dict[str, list[str]] = {}
    room = _MOST_SEARCHED
    for passage in reversed(outside):
        if (room := room - len(passage.text)) < 0:
            break
        text = (
            passage.text
            if len(passage.text) <= _LONGEST
            else passage.text[: _LONGEST // 2] + passage.text[-_LONGEST // 2 :]
        )
        words = {re.sub(r"[-_.]+", "-", word).strip("-") for word in re.findall(r"[\w.-]+", text.casefold())}
        for reading in readings(text):
            for name, bare in squeezed.items():
                names_it = bare in reading if len(bare) >= _SHORT else words.issuperset(words_of[name])
                if names_it and passage.source not in sources.setdefault(name, []):
                    sources[name].append(passage.source)
    return {name: sources for name, sources in sources.items() if sources}


def readings(text: str) -> Iterator[str]:
    """Yield the readings of a text (plain, decoded, reversed, as an acrostic), squeezed: see `squeeze`."""
    seen: set[str] = set()
    pending = deque([(text, 0)])
    room = _MOST_READ
    while pending and room > 0:
        reading, depth = pending.popleft()
        if (bare := squeeze(reading)) in seen:
            continue
        seen.add(bare)
        room -= len(reading)
        yield bare
        yield bare[::-1]
        yield "".join(word[:1] for word in re.findall(r"\w+", reading.casefold()))  # an acrostic
        yield "".join(line.strip()[:1] for line in reading.casefold().splitlines())
        if depth < _DEEPEST:
            pending += [(decoded, depth + 1) for decoded in _decoded(reading) if decoded != reading]


def squeeze(text: str) -> str:
    """Return only the letters and digits of a text, lower case and without accents: the same if split or disguised."""
    plain = html.unescape(unquote(text))
    if not plain.isascii():
        plain = unicodedata.normalize("NFKD", plain).casefold().translate(_LOOKALIKE)
    plain = neutralise(plain).lower()
    plain = _DOT.sub(".", plain)
    return re.sub(r"[^a-z0-9]", "", plain)


_LOOKALIKE = str.maketrans("асԁеһіјоԛрѕԝхугтмпνορτκαε", "acdehijoqpswxyrtmnvoptkae")  # that is the point
"""Cyrillic and Greek letters that pass for Latin ones."""


def _decoded(text: str) -> Iterator[str]:
    yield codecs.encode(text, "rot13")
    yield re.sub(r"<[^>]*>|<!--|-->|[*_`~|]", "", text)
    yield _ESCAPE.sub(lambda match: chr(min(int(match[1] or match[2], 16), 0x10FFFF)), text)
    joined = re.sub(r"\s+", "", text)
    for match in [*_BASE64.finditer(text), *(_BASE64.finditer(joined) if len(joined) < 20_000 else ())][:400]:
        raw = match[0].rstrip("=").replace("-", "+").replace("_", "/")
        for start in range(4 if len(raw) < 400 else 1):
            piece = raw[start:]
            try:
                data = base64.b64decode(piece + "=" * (-len(piece) % 4))
            except (binascii.Error, ValueError):
                continue
            if (plain := _printable(data)) is not None:
                yield plain
    for match in [*_HEX.finditer(text)][:200]:
        digits = re.sub(r"\\x|0x|[^0-9a-fA-F]", "", match[0])
        if (plain := _printable(bytes.fromhex(digits[: len(digits) // 2 * 2]))) is not None:
            yield plain
    for match in [*_NUMBERS.finditer(text)][:100]:
        yield "".join(chr(int(number)) for number in re.findall(r"\d+", match[0]) if 31 < int(number) < 127)


def _printable(data: bytes) -> str | None:
    text = data.decode("utf-8", "ignore")
    return text if len(text) >= 4 and sum(map(str.isprintable, text)) >= 0.8 * len(data) else None


def _report(report: e.RunReport) -> str:

    result = as_json(report.result) if report.result is not None else ""
    strings = "\n".join(_strings(report.result))
    return "\n".join((strings, result, report.error, report.stdout, report.stderr))


def _strings(value: object) -> Iterator[str]:
    pending = [value]
    while pending:
        element = pending.pop()
        if isinstance(element, str):
            yield element
        elif isinstance(element, dict):
            pending += [*element.keys(), *element.values()]
        elif isinstance(element, list):
            pending += element
