"""What a text states: which sentences ask to be remembered, and a statement as a fact."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256

from alita_tui.events import MemoryItem, MemoryOrigin
from alita_tui.spine.ranking import words
from alita_tui.spine.text import one_line

SUBJECT, STATEMENT = 80, 240
"""Longest subject and statement of a fact, in characters."""

_CUE = re.compile(
    r"^(?:please\s+|and\s+|so\s+|but\s+)*"
    r"(?:(?P<keep>(?:remember|keep in mind|note)(?:\s+that\b|\s*:)"
    r"|for (?:the future|next time)\b|from now on\b|in future\b)"
    r"|(?P<bare>remember|keep in mind)\b"
    r"|(?P<rule>always|never)\b(?!\s+mind\b)"
    r"|(?P<turn>(?:no|wrong|not quite|that is wrong|that's wrong|correction)(?=\s*[,:;–—]|\s*-\s)|actually\b))"
    r"(?:[\s,:;!]|[.–-](?!\d))*",
    re.IGNORECASE,
)
"""Beginnings of sentences that ask to be remembered."""
_IS = re.compile(
    r"\b(?:is|are|was|were|isn't|aren't|equals?|starts?|begins?|ends?|means?|costs?|closes|opens|happens|lies)\b",
    re.IGNORECASE,
)
_PRIVATE = re.compile(
    r"\b(?:passwords?|passphrase|passcode|pin|secrets?|tokens?|api[ _-]?keys?|private key|credentials?|cvv|iban)\b"
    r"|\[redacted",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*(?:”|(?m:$))|(?m:^>.*$)|<[^>\n]{1,80}>", re.DOTALL
)
SENTENCE = re.compile(r"[^.!?\n;]+(?:[.!?](?=\S)[^.!?\n;]+)*")
"""A dot inside a word, as in 3.5 or example.org, ends nothing."""
_WHOLE = re.compile(rf"(?:{SENTENCE.pattern})?[.!?;\s]*")
"""A sentence with the marks behind it."""
_READ = 20_000
"""Characters of a text that are read for numbers and letters."""
_MARKS = ".,:;!?()\"'"
_LETTERS = frozenset("ABCDEFGHJKLMNOPQRSTUVWXYZ")
"""A letter by itself, as in `plan B`; words of a task leave it out, and numbers, because they are data there."""
PRONOUN = re.compile(r"(?:it|that|this|they|these|those|he|she)\b", re.IGNORECASE)


def fact(subject: str, statement: str, session_id: str, seq: int, origin: MemoryOrigin) -> MemoryItem | None:
    """Return a fact as an item; None if it is too long, too little or private."""
    subject, statement = one_line(subject, STATEMENT), one_line(statement, STATEMENT + 1)
    if len(subject) > SUBJECT and origin != "answer":
        return None
    if len(statement) > STATEMENT or not words(f"{subject} {statement}"):
        return None
    if _PRIVATE.search(f"{subject} {statement}"):
        return None
    text: str = statement
    if origin == "answer":
        text = f"{subject} → {statement}"
    elif not set(stems(subject)) <= set(stems(statement)):
        text = f"{subject}: {statement}"
    name = sha256(f"{' '.join(stems(subject))}\n{plain(statement)}".encode()).hexdigest()[:16]
    return MemoryItem(
        item_id=f"fact:{name}",
        memory="semantic",
        text=text,
        source_session=session_id,
        source_seq=seq,
        origin=origin,
        subject=subject,
    )


def stems(subject: str) -> tuple[str, ...]:
    """Return a subject's stems: two facts with the same stems are about the same thing."""
    return tuple(sorted({stem for stem, _ in words(subject)}))


def about(text: str) -> tuple[str, ...]:
    """Return what a text is about: its stems, and what tells it from others of its kind, as in `room 12`."""
    pieces = text[:_READ].split()
    marks = (piece.strip(_MARKS).casefold() for piece in pieces if any(map(str.isdigit, piece)))
    letters = (piece.casefold() for piece in pieces[1:] if piece in _LETTERS)
    return tuple(sorted({*stems(text), *filter(None, marks), *letters}))


known_about = lru_cache(maxsize=1 << 14)(about)
"""The same for the texts of remembered items, which are short and asked for again and again."""


def asked_of(text: str) -> str:
    """Return a task without sentences that only ask to be remembered; all of it if nothing else is left."""
    remainder = "".join(match[0] for match in _WHOLE.finditer(text) if not [*stated(match[0])]).strip()
    return remainder if words(remainder) else text


def stated(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield subject, statement and whether it is a correction, for each thing that a text asks to remember.

    Only whole sentences that say so: `remember that …`, `from now on …`, `always …`, `actually, …`. What is quoted
    is not the person's own word.
    """
    unquoted = own_words(text)
    for match in SENTENCE.finditer(unquoted):
        begin = match.end() - len(match[0].lstrip())
        cue = _CUE.match(match[0].lstrip())
        if cue is None or unquoted[match.end() : match.end() + 1] == "?":
            continue
        begin += 0 if cue["rule"] else cue.end()
        second_cue = _CUE.match(unquoted[begin : match.end()])  # "no, remember that …"
        begin += second_cue.end() if second_cue and not second_cue["rule"] else 0
        statement = text[begin : match.end()].rstrip(" ,:.-–")
        if "\n" in statement or "```" in statement:  # something pasted, not a word in quotation marks
            continue
        subject = subject_of(statement)
        needs_verb = cue["turn"] or cue["bare"]
        if subject and (not needs_verb or _IS.search(statement)):
            yield subject, statement, bool(cue["turn"])


def own_words(text: str) -> str:
    """Return a text with quotations replaced by blanks of the same length."""
    return _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), text)


def subject_of(statement: str) -> str:
    """Return a statement's subject: what precedes its verb, or all of it."""
    verb = _IS.search(statement)
    head = statement[: verb.start()].strip() if verb else statement
    head = re.sub(r"^(?:always|never)\s+", "", head, flags=re.IGNORECASE)
    return head if len(head) <= SUBJECT else statement[:SUBJECT]


def plain(text: str) -> str:
    """Return only the words of a text."""
    return " ".join(re.findall(r"\w+", text.casefold()))
