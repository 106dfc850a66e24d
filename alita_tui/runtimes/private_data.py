"""Finds private data in code of any language: keys, passwords, home folders, network shares, internal host names.

Each language extracts the texts of its code (`CodeTexts`); what is private is decided here for all of them.
"""

from __future__ import annotations

import base64
import re
from functools import cache
from typing import NamedTuple

from alita_tui.events import ToolDraft
from alita_tui.runtimes.notes import Notes
from alita_tui.runtimes.rules import rule, table
from alita_tui.spine.redaction import secrets_in
from alita_tui.spine.secret_rules import library_rules

_WORDS = re.compile(r"(^|.*_)(phrase|passphrase|seed|mnemonic|recovery)(_.*)?", re.IGNORECASE)
_PHRASE = re.compile(r"[a-z]{3,8}(?: [a-z]{3,8}){11,23}")
_NOT_A_VALUE = re.compile(r"[\[\](){}*?|^\\<>\s]|%[sd(]|://|\.\.\.")
"""A text with one of these is a pattern, a placeholder or prose rather than a value."""
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
"""The position where a word begins in `dbPassword`."""
_LONGEST = 20_000
_PLACEHOLDERS = ("abcdef", "0123456", "qwerty", "changeme", "placeholder", "xxxx", "your")
_BASIC = re.compile(r"\bBasic\s+([A-Za-z0-9+/]{8,}={0,2})(?![A-Za-z0-9+/=])")


class CodeTexts(NamedTuple):
    """The texts in code."""

    texts: list[tuple[int, str]]
    """Literal texts, with their lines."""
    pieces: list[tuple[int, str]]
    """Texts that the code assembles from constants, each complete, with its line."""
    given: list[tuple[str, str, int]]
    """Names and keys that get a text, or are compared with one, with the text and its line."""


def note_private(notes: Notes, draft: ToolDraft, code_texts: CodeTexts | None) -> None:
    """Report private data with its line, but never a secret itself: findings are recorded.

    Text in the form of an issuer's key blocks the draft: it is redacted wherever a draft is recorded and shown, so
    nobody could approve the bytes that would run. `code_texts` is None for code that cannot be parsed.
    """
    for part, text in (("", draft.code), ("tests, ", draft.tests)):
        for line, issuer in secrets_in(text, library_rules()):
            remark = (
                f"{part}line {line} holds what looks like a secret ({issuer}), which is never shown or kept: "
            )
            advice = (
                "put an example together from parts"
                if part
                else "take it as an argument or a declared secret"
            )
            notes.block("ast/secret", remark + advice, 0 if part else line)
    if code_texts is None:
        return
    _note_pieces(notes, draft.code, code_texts.pieces)
    _note_connections(notes, [*code_texts.texts, *code_texts.pieces])
    for name, value, line in code_texts.given:
        words = _WORD_START.sub("_", name)
        if rule("private", "named", re.IGNORECASE).fullmatch(words) and _looks_random(value):
            notes.add(
                "high", "ast/secret", f"holds what looks like a secret: {name} is given a value here", line
            )
        elif _WORDS.fullmatch(words) and _PHRASE.fullmatch(value):
            notes.add(
                "high", "ast/secret", f"holds what looks like a secret: {name} is a list of words", line
            )
    _note_places(notes, draft, [*code_texts.texts, *code_texts.pieces])


def _note_pieces(notes: Notes, source: str, pieces: list[tuple[int, str]]) -> None:
    """Report keys that the code assembles: in pieces, backwards or encoded, a search of the text does not find them."""
    lines = source.split("\n")
    for line, text in pieces:
        for _, issuer in secrets_in(text, library_rules()):
            if not secrets_in(lines[line - 1] if line <= len(lines) else "", library_rules()):
                remark = f"line {line} puts together what looks like a secret ({issuer}): "
                notes.block("ast/secret", remark + "take it as an argument or a declared secret", line)


def _note_connections(notes: Notes, texts: list[tuple[int, str]]) -> None:
    """Report passwords in connection strings and headers."""
    for line, text in texts:
        for part in rule("private", "connection", re.IGNORECASE).finditer(text[:_LONGEST]):
            if _looks_random(part[2]):
                remark = (
                    f"holds what looks like a secret: {part[1]} is given a value in a connection's settings"
                )
                notes.add("high", "ast/secret", remark, line + text.count("\n", 0, part.start(1)))
        for part in _BASIC.finditer(text[:_LONGEST]):
            if _is_login(part[1]):
                remark = "holds what looks like a secret: a name and a password for basic authorization"
                notes.add("high", "ast/secret", remark, line + text.count("\n", 0, part.start()))


def _is_login(encoded: str) -> bool:
    try:
        decoded = base64.b64decode(encoded, validate=True).decode()
    except ValueError:
        return False
    name, colon, password = decoded.partition(":")
    return bool(name and colon and password) and decoded.isprintable()


@cache
def _places() -> tuple[tuple[re.Pattern[str], str], ...]:
    rules = table("private")
    return tuple(
        (re.compile(entry["pattern"].replace("{PLACEHOLDER}", rules["placeholder"])), entry["what"])
        for entry in rules["places"]
    )


def _note_places(notes: Notes, draft: ToolDraft, texts: list[tuple[int, str]]) -> None:
    granted = {grant.split()[-1].split("@")[-1].rsplit(":", 1)[0] for grant in draft.capabilities.network}
    for line, text in texts:
        for pattern, description in _places():
            match = pattern.search(text)
            if match and not any(host in match[0] for host in granted):
                position = line + text.count("\n", 0, match.start())
                place = match[0].rpartition("@")[2].removeprefix("://")[:80]  # without user name and password
                notes.add("high", "ast/private-path", f"{place}: {description} stands in the code", position)


def _looks_random(text: str) -> bool:
    """Return True if a text has a mixture of characters that words and labels do not have."""
    if (
        not 8 <= len(text) <= 400
        or _NOT_A_VALUE.search(text)
        or any(row in text.lower() for row in _PLACEHOLDERS)
    ):
        return False
    kinds = (str.islower, str.isupper, str.isdigit, lambda character: not character.isalnum())
    return sum(any(kind(character) for character in text) for kind in kinds) >= 3
