"""A failed call as a `ModelError` with a hint what to do; never contains a key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from time import time
from typing import NamedTuple
from urllib.parse import urlsplit

from alita_tui.events import ModelErrorKind
from alita_tui.llm.presets import rules_of
from alita_tui.llm.words import kind_of, wait_in, window_in
from alita_tui.spine.errors import ModelError
from alita_tui.spine.text import one_line

_LONGEST_TEXT = 4000
"""Characters of an error that are examined."""
_HINTS: dict[ModelErrorKind, str] = {
    "auth": "Check the key: `alita setup` stores a new one.",
    "payment": "Add credit at the provider, or choose another model with `alita setup`.",
    "not_found": "Check the model's name and the base URL with `alita config`.",
    "rate_limit": "Wait, or choose another model.",
    "overloaded": "The provider is busy: try again later, or choose another model.",
    "server": "The fault is the server's: try again later, or choose another model.",
    "connection": "Check the network and the base URL; is a local server running?",
    "timeout": "Try again, or raise model.timeout with `alita config set model.timeout SECONDS`.",
    "truncated": "Try again; if it stays so, look at the server or at a proxy before it.",
    "malformed": "Try again; if it stays so, check that the base URL is that of the provider's API.",
    "context": "Begin a new session, or use a model with a larger window.",
    "bad_request": "Choose another model with `alita models default`, or add one with `alita models add`.",
    "no_tools": "Set the option tools=text for it: `alita models add`.",
    "refused": "Put the task in other words.",
}


@dataclass(frozen=True)
class Endpoint:
    """A model behind an address. Every fault names it; none repeats its key."""

    provider: str
    model: str
    base_url: str
    key: str = field(repr=False)

    @property
    def name(self) -> str:
        """Return `provider:model`."""
        return f"{self.provider}:{self.model}"

    @property
    def host(self) -> str:
        """Return host and port, without credentials that a URL may hold."""
        parts = urlsplit(self.base_url)
        return parts.netloc.rpartition("@")[2] or self.base_url

    def fault(
        self,
        kind: ModelErrorKind,
        what: str,
        *,
        hint: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        window: int = 0,
    ) -> ModelError:
        """Return an error of this model, with the hint for its kind unless another is given."""
        what = what.replace(self.key, "[key]") if self.key else what
        message = f"{self.name}: {one_line(what, 300)}"
        larger = rules_of(self.provider).larger if kind == "context" else ""
        hint = hint or (f"Give the server a larger window: {larger}." if larger else _HINTS.get(kind, ""))
        return ModelError(kind, message, hint=hint, status=status, retry_after=retry_after, window=window)

    def answered(self, status: int, body: ErrorBody, headers: Mapping[str, str]) -> ModelError:
        """Return the error for an HTTP status, or with status 0 for an error in the middle of a stream."""
        kind = kind_of(status, body.names, body.text[:_LONGEST_TEXT]) or "server"
        wait = retry_after(headers)
        if wait is None and kind in ("rate_limit", "overloaded"):
            wait = wait_in(body.text[:_LONGEST_TEXT])
        before = f"answered HTTP {status}." if status else "broke off:"
        return self.fault(
            kind,
            f"{self.host} {before} {body.shown}",
            status=status or None,
            retry_after=wait,
            window=window_in(body.text[:_LONGEST_TEXT]) if kind == "context" else 0,
        )


class ErrorBody(NamedTuple):
    """The content of an error's body, in any vendor's form."""

    names: tuple[object, ...]
    """Codes, types and statuses that it names."""
    text: str
    """All of it, as text."""
    shown: str
    """The sentence for people."""


def error_body(body: object, text: str) -> ErrorBody:
    """Read the body of an error: an object, a list with one (Gemini), or plain words; `text` is all of it.

    Objects have `error` as an object (OpenAI, Anthropic, llama.cpp) or as a sentence beside `code` (xAI),
    or `message` (Mistral, vLLM) or `detail` (FastAPI) without it.
    """
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        message = str(body) if body else text
        return ErrorBody((), message, "(a web page)" if message.lstrip().startswith("<") else message)
    inner = body.get("error", body)
    objects = [source for source in (body, inner) if isinstance(source, Mapping)]
    names = tuple(
        name
        for source in objects
        for key in ("code", "type", "status")
        if (name := source.get(key)) is not None
    )
    sentences: list[object] = [inner] if isinstance(inner, str) else []
    sentences += [
        text_field
        for source in reversed(objects)
        for key in ("message", "detail")
        if (text_field := source.get(key))
    ]
    sentence = str(sentences[0]) if sentences else str(inner)
    return ErrorBody(names, text or str(body), sentence)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a Retry-After header: a number or an HTTP date (RFC 9110, 10.2.3)."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time()
        except (TypeError, ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None
