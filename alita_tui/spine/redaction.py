"""Secrets leave no trace: what goes into a file, or to another machine, is redacted here first.

Two kinds are known: values that the settings, the environment or the keyring name as secret, and texts with the shape
of a key or token that its issuer made recognisable for scanners.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from alita_tui.spine.secret_forms import SecretForms

T = TypeVar("T")

MARK = re.compile(r"\[redacted[^\]\n]{0,80}\]")
"""The mark that replaces a secret."""

_DISGUISED = 8
"""Characters from which a value is searched for in encoded forms as well: shorter ones match by chance."""

LEAST = 4
"""Characters of the shortest value that is redacted: shorter ones occur inside words."""

_WORD = r"(?<![A-Za-z0-9_])"
_SHAPES: tuple[tuple[str, str, str], ...] = (
    # A part that every such text contains, its name, its shape.
    ("PRIVATE KEY", "private key",
     r"-----BEGIN [A-Z0-9 ]{0,20}PRIVATE KEY(?: BLOCK)?-----"
     r"(?:[A-Za-z0-9+/=\s\\]|(?:Proc-Type|DEK-Info): [^\n\\]*){40,}"
     r"(?:-----END [A-Z0-9 ]{0,20}PRIVATE KEY(?: BLOCK)?-----)?"),
    ("sk-", "key", _WORD + r"sk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{20,}"),
    ("_live_", "key", _WORD + r"[rs]k_live_[A-Za-z0-9]{16,}"),
    ("gsk_", "key", _WORD + r"gsk_[A-Za-z0-9]{30,}"),
    ("xai-", "key", _WORD + r"xai-[A-Za-z0-9]{40,}"),
    ("AIza", "Google key", _WORD + r"AIza[A-Za-z0-9_-]{35}"),
    ("ya29.", "Google token", _WORD + r"ya29\.[A-Za-z0-9_-]{20,}"),
    ("AKIA", "AWS key", _WORD + r"AKIA[A-Z0-9]{16}(?![A-Z0-9])"),
    ("ASIA", "AWS key", _WORD + r"ASIA[A-Z0-9]{16}(?![A-Z0-9])"),
    ("gh", "GitHub token", _WORD + r"gh[pousr]_[A-Za-z0-9]{36,}"),
    ("github_pat_", "GitHub token", _WORD + r"github_pat_[A-Za-z0-9_]{22,}"),
    ("glpat-", "GitLab token", _WORD + r"glpat-[A-Za-z0-9_-]{20,}"),
    ("hf_", "Hugging Face token", _WORD + r"hf_[A-Za-z0-9]{30,}"),
    ("npm_", "npm token", _WORD + r"npm_[A-Za-z0-9]{36}"),
    ("pypi-AgE", "PyPI token", _WORD + r"pypi-AgE[A-Za-z0-9_-]{50,}"),
    ("xox", "Slack token", _WORD + r"xox[abeoprs]-(?=[A-Za-z-]*\d)[A-Za-z0-9-]{20,}"),
    ("eyJ", "token", _WORD + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}"),
    ("earer ", "token", r"(?<=[Bb]earer )(?=[A-Za-z._~+/-]*\d)[A-Za-z0-9._~+/-]{20,}=*"),
)  # fmt: skip

Rule = tuple[str, str, re.Pattern[str]]
"""A part that every such text contains, its replacement, its shape."""

_RULES: tuple[Rule, ...] = (
    *((marker, f"[redacted {called}]", re.compile(shape)) for marker, called, shape in _SHAPES),
    # The last `@` before the path ends the password. A user may be an e-mail address.
    (
        "://",
        r"\1:[redacted password]",
        re.compile(r"(?<=://)([^\s/:?#\"'<>]{0,200}):[^\s/?#\"'<>]{1,400}(?=@)"),
    ),
    (
        "Q~",
        "[redacted Azure key]",
        re.compile(r"(?<![A-Za-z0-9_~.])[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    ),
    ("JQQJ99", "[redacted Azure key]", re.compile(_WORD + r"[A-Za-z0-9]{40,60}JQQJ99[A-Za-z0-9]{16,40}")),
)


class Redactor:
    """Removes secrets. Repeating it changes nothing; a text without secrets is returned unchanged."""

    def __init__(self, known: Iterable[tuple[str, str]] = (), rules: Sequence[Rule] = ()) -> None:
        """`known` are (name, value); the name, which may be empty, is shown in place of the value.

        `rules` are shapes in addition to the built-in ones.
        """
        self._values = {value: f"[redacted {name}]" if name else "[redacted]" for name, value in known}
        self._shapes = (*_RULES, *rules)
        self._sorted()

    def learn(self, name: str, value: str) -> None:
        """Redact a value that is about to be used, from now on and however it is written."""
        value = value.strip()
        if value not in self._values:
            self._values = {**self._values, value: f"[redacted {name}]"}
            self._sorted()

    def _sorted(self) -> None:
        # The longest first: one may be a part of another.
        self._literals = sorted(
            ((value, mark) for value, mark in self._values.items() if len(value) >= LEAST),
            key=lambda entry: -len(entry[0]),
        )
        markers = (marker.encode() for marker, _, _ in self._shapes)
        self._markers = (*markers, *(_escaped(value) for value, _ in self._literals))
        disguised = [(value, mark) for value, mark in self._literals if len(value) >= _DISGUISED]
        self._disguises = SecretForms(value for value, _ in disguised)
        self._marks = [mark for _, mark in disguised]

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        for value, mark in self._literals:
            text = text.replace(value, mark)
        text = self._undisguised(text)
        for marker, mark, shape in self._shapes:
            if marker in text:
                text = shape.sub(mark, text)
        return text

    def holds(self, text: str) -> bool:
        """Return whether a text contains a known secret value in any form."""
        raw = text.encode("utf-8", "surrogatepass")
        return any(value in text for value, _ in self._literals) or self._disguises.within(raw)

    def _undisguised(self, text: str) -> str:
        """Return a text without values in another form: escaped, in base64, in hex."""
        if not self._disguises.any:
            return text
        raw = text.encode("utf-8", "surrogatepass")
        pieces, at = [], 0
        for begin, end, value_index in self._disguises.spans(raw):
            pieces += [raw[at:begin], self._marks[value_index].encode()]
            at = end
        return b"".join((*pieces, raw[at:])).decode("utf-8", "surrogatepass") if at else text

    def begun(self, text: str) -> int:
        """Return where a secret with blanks may begin that continues after the text's end."""
        at = text.rfind("-----BEGIN ")
        start = len(text) if at < 0 or text.find("-----END ", at) >= 0 else at
        for value, _ in self._literals:
            longest = min(len(value) - 1, len(text))
            overlap = next((n for n in range(longest, 0, -1) if text.endswith(value[:n])), 0)
            start = min(start, len(text) - overlap)
        raw = text.encode("utf-8", "surrogatepass")
        return min(start, len(raw[: self._disguises.begun(raw)].decode("utf-8", "ignore")))

    def value(self, value: T) -> T:
        """Return a struct, or JSON, without secrets in any text; the same object if there are none."""
        try:
            raw = msgspec.json.encode(value)
        except UnicodeEncodeError:  # a lone surrogate
            raw = None
        suspected = raw is None or any(marker in raw for marker in self._markers)
        if not suspected and raw is not None and not self._disguises.within(raw):
            return value
        clean: T = self._walk(value)
        return clean

    def _walk(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self._walk(name): self._walk(item) for name, item in value.items()}
            case list() | tuple():
                return type(value)(map(self._walk, value))
            case msgspec.Struct():
                fields = {name: getattr(value, name) for name in value.__struct_fields__}
                return msgspec.structs.replace(
                    value, **{name: self._walk(item) for name, item in fields.items()}
                )
            case _:
                return value


def secrets_in(text: str, rules: Sequence[Rule] = ()) -> list[tuple[int, str]]:
    """Return line and kind of each text that has the shape of a secret, without the text itself."""
    secrets = {
        (text.count("\n", 0, match.start()) + 1, MARK.search(mark)[0].strip("[]").removeprefix("redacted "))  # type: ignore[index]
        for marker, mark, shape in (*_RULES, *rules)
        if marker in text
        for match in shape.finditer(text)
    }
    return sorted(secrets)


def _escaped(value: str) -> bytes:
    """Return a text as it is written inside JSON."""
    return msgspec.json.encode(value.encode("utf-8", "replace").decode())[1:-1]
