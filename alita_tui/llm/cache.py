"""Replies to requests that were made before, byte for byte the same. Never by similarity."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property

import msgspec

from alita_tui.events import digest_of
from alita_tui.spine.errors import StoreError
from alita_tui.spine.ports.library import Documents
from alita_tui.spine.ports.models import ModelRequest, Reply

_KEPT = 400
"""Replies; the oldest goes first."""


class ReplyStore:
    """Meets `ReplyCache` over a table of documents; without a disk nothing is kept.

    What was asked in this process is asked anew when it comes again: whoever asks twice was not
    content with the answer.
    """

    def __init__(self, opened: Callable[[], Documents]) -> None:
        """`opened` opens the table; called at the first use."""
        self._opened = opened
        self._asked: set[str] = set()

    @cached_property
    def _documents(self) -> Documents:
        return self._opened()

    def get(self, model: str, request: ModelRequest) -> Reply | None:
        """See `ReplyCache.get`."""
        key = _key(model, request)
        if key in self._asked:
            return None
        self._asked.add(key)
        with suppress(StoreError, msgspec.ValidationError):  # of another version
            for document in self._documents.all():
                if document["key"] == key:
                    return msgspec.convert(document["reply"], Reply)
        return None

    def put(self, model: str, request: ModelRequest, reply: Reply) -> None:
        """See `ReplyCache.put`."""
        key = _key(model, request)
        with suppress(StoreError):
            self._documents.put(key, {"key": key, "reply": msgspec.to_builtins(reply)})
            for old in self._documents.all()[:-_KEPT]:
                self._documents.remove(old["key"])


def _key(model: str, request: ModelRequest) -> str:
    asked = msgspec.structs.replace(request, build="")
    return digest_of(model, msgspec.json.encode(asked, order="sorted").decode("utf-8", "replace"))
