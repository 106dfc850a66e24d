"""Replies to requests that are byte for byte the same as earlier ones; never by similarity."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property

import msgspec

from alita_tui.events import digest_of, ready
from alita_tui.spine.errors import StoreError
from alita_tui.spine.ports.library import Documents
from alita_tui.spine.ports.models import ModelRequest, Reply

_KEPT = 400
"""How many replies are stored; the oldest is dropped first."""


class ReplyStore:
    """A `ReplyCache` in a table of documents; errors of the disk only cost the cached reply.

    A request that this process repeats is sent again, because asking twice means that the reply did not help.
    """

    def __init__(self, opened: Callable[[], Documents]) -> None:
        """`opened` opens the table; called at the first use."""
        self._opened = opened
        self._looked_up: set[str] = set()

    @cached_property
    def _documents(self) -> Documents:
        return self._opened()

    def get(self, model: str, request: ModelRequest) -> Reply | None:
        """Return the recorded reply of this model to this request, or None."""
        key = _key(model, request)
        if key in self._looked_up:
            return None
        self._looked_up.add(key)
        with suppress(StoreError, msgspec.ValidationError):  # of another version
            for document in self._documents.all():
                if document["key"] == key:
                    return msgspec.convert(document["reply"], ready(Reply))
        return None

    def put(self, model: str, request: ModelRequest, reply: Reply) -> None:
        """Record a reply; the oldest goes when there are too many."""
        key = _key(model, request)
        with suppress(StoreError):
            self._documents.put(key, {"key": key, "reply": msgspec.to_builtins(reply)})
            for outdated in self._documents.all()[:-_KEPT]:
                self._documents.remove(outdated["key"])


def _key(model: str, request: ModelRequest) -> str:
    keyed = msgspec.structs.replace(request, build="")
    return digest_of(model, msgspec.json.encode(keyed, order="sorted").decode("utf-8", "replace"))
