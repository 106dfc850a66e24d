"""Pages that were read before, with their servers' validators (RFC 9110, 13).

Age never counts: every read asks the server, which sends the page again or confirms that it is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from alita_tui.events import Json, Value, digest_of, ready
from alita_tui.spine.errors import StoreError
from alita_tui.spine.ports.library import Documents
from alita_tui.spine.ports.web import Page

_KEPT = 200
"""How many pages are stored; the oldest is dropped first."""
_CHARS = 5_000_000
"""Total characters of all stored pages."""


class StoredPage(Value, frozen=True):
    """A page and its validators."""

    address: str
    """Its address after redirects; the validators belong to this address only."""
    page: Page
    etag: str = ""
    modified: str = ""

    @property
    def conditions(self) -> dict[str, str]:
        """Return the headers that request the page only if it changed."""
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in headers.items() if value}


class PageStore:
    """Pages by the requested address. Blocks on the disk; if the disk fails, nothing is stored."""

    def __init__(self, documents: Callable[[], Documents], settings: tuple[object, ...]) -> None:
        """`documents` opens the table; `settings` are the other values that change a page's text."""
        self._documents = documents
        self._settings = repr(settings)

    def get(self, url: str) -> StoredPage | None:
        """Return the stored page of an address, or None."""
        key = self._key(url)
        with suppress(StoreError, msgspec.ValidationError):  # written by another version
            for document in self._documents().all():
                if document["key"] == key:
                    return msgspec.convert(document["kept"], ready(StoredPage))
        return None

    def put(self, url: str, address: str, page: Page, headers: Mapping[str, str]) -> None:
        """Store a page whose server gave a validator and does not forbid it."""
        stored = StoredPage(
            address=address,
            page=msgspec.structs.replace(page, body=b""),
            etag=_sendable(headers.get("etag", "")),
            modified=_sendable(headers.get("last-modified", "")),
        )
        if not stored.conditions or "no-store" in headers.get("cache-control", "").lower():
            return
        key = self._key(url)
        with suppress(StoreError):
            documents = self._documents()
            documents.put(key, {"key": key, "kept": msgspec.to_builtins(stored)})
            chars = 0
            for number, document in enumerate(reversed(documents.all())):
                chars += _chars(document)
                if number >= _KEPT or (chars > _CHARS and number):
                    documents.remove(document["key"])

    def _key(self, url: str) -> str:
        return digest_of(url, self._settings)


def _chars(document: Json) -> int:
    """Return the characters of a stored page; 0 for one of another version."""
    try:
        return len(document["kept"]["page"]["text"])
    except (KeyError, TypeError):
        return 0


def _sendable(value: str) -> str:
    """Return a validator if it can be sent in a header, else an empty string."""
    return value if len(value) <= 500 and value.isascii() and value.isprintable() else ""
