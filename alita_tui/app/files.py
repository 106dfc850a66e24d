"""A file of a session as the viewer reads it: in threads, in parts, and never more than a few MB at once."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import msgspec

from alita_tui.artefacts.media import HEAD_BYTES, is_text
from alita_tui.artefacts.records import Extent, encoding_of, opened
from alita_tui.artefacts.tables import Shown, Table, delimiter_of, flat_objects
from alita_tui.artefacts.texts import Bytes, Lines
from alita_tui.spine.errors import StoreError, UsageError
from alita_tui.spine.text import SafeText, neutralise

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext
    from alita_tui.confined.code import CodeLine
    from alita_tui.confined.pictures import Picture
    from alita_tui.console.files.ports import Way
    from alita_tui.events import Artefact

_MOST_TEXT = 2_000_000
"""Bytes of a text that is laid out or coloured as a whole."""
_MOST_JSON = 8_000_000
_TABLES = ("text/csv", "text/tab-separated-values")
_PICTURES = ("image/png", "image/jpeg", "image/gif")
_CODE = frozenset(
    ".py .pyi .js .mjs .ts .tsx .jsx .sh .bash .zsh .sql .toml .yaml .yml .xml .html .htm .css .svg .c .h .cc .cpp "
    ".hpp .rs .go .java .kt .rb .php .pl .r .jl .lua .hs .scala .swift .ini .cfg .diff .patch .tex .proto".split()
)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_JSON = msgspec.json.Decoder()
T = TypeVar("T")


class ViewedFile:
    """Implements the console's `OpenFile`. Every method raises StoreError if the file cannot be read."""

    def __init__(self, path: Path, artefact: Artefact, check: Callable[[], object]) -> None:
        self._path = path
        self._artefact = artefact
        self._check = check
        self._streams: list[BinaryIO] = []
        self._head = b""
        self._rows: bytes | None = None
        """A JSON file's rows as CSV, if it is a list of flat objects."""
        self.ways: tuple[Way, ...] = ("hex",)

    def read_head(self) -> ViewedFile:
        """Read the beginning, and a small JSON file whole, to find out how the file can be shown; return self."""
        kind, name = self._artefact.media_type, self._artefact.name
        try:
            with self._path.open("rb") as content:
                self._head = content.read(HEAD_BYTES)
            if kind in ("application/json", "application/x-ndjson"):
                self._rows = self._flat_rows()
        except OSError as error:
            raise _unreadable(name, error) from error
        suffix = PurePosixPath(name).suffix.lower()
        best: Way | None = (
            "table" if kind in _TABLES or self._rows is not None
            else "picture" if kind in _PICTURES
            else "markdown" if kind == "text/markdown"
            else "code" if suffix in _CODE and is_text(kind)
            else None
        )  # fmt: skip
        ways: list[Way] = [best] if best else []
        ways += ["json"] if kind == "application/json" else []
        ways += ["text"] if is_text(kind) else []
        self.ways = (*ways, "hex")
        return self

    async def pages(self, way: Way) -> ThreadedPages:
        """Return the file's records as table, text or bytes."""
        return await asyncio.to_thread(self._pages, way)

    async def text(self) -> SafeText:
        """Return the whole text. Raise UsageError if it is too long."""
        return neutralise((await self._read_whole(_MOST_TEXT)).decode(encoding_of(self._head), "replace"))

    async def value(self) -> Any:
        """Return the JSON value. Raise UsageError if it is not one, too large, or nested too deeply."""
        data = await self._read_whole(_MOST_JSON)
        try:
            return await asyncio.to_thread(msgspec.json.decode, data)
        except msgspec.DecodeError as error:
            raise UsageError(f"It is not valid JSON: {error}.") from error
        except RecursionError:
            raise UsageError("It is nested too deeply to be shown as JSON.") from None

    async def code(self) -> tuple[CodeLine, ...]:
        """Return the lines of code with the kinds of their parts. Raise UsageError if there are too many."""
        from alita_tui.confined.code import code_lines

        return await code_lines(await self.text(), self._artefact.name)

    async def picture(self, width: int, height: int) -> Picture:
        """Return the picture, scaled to fit so many pixels. Raise UsageError if it is too large."""
        from alita_tui.confined.pictures import MOST_BYTES, picture

        return await picture(await self._read_whole(MOST_BYTES), width, height)

    async def check(self) -> None:
        """Raise StoreError if the bytes are not what was added."""
        await asyncio.to_thread(self._check)

    def close(self) -> None:
        """Close the file."""
        for stream in self._streams:
            stream.close()

    def _pages(self, way: Way) -> ThreadedPages:
        try:
            return ThreadedPages(self._records(way), self._artefact.name)
        except OSError as error:
            raise _unreadable(self._artefact.name, error) from error

    def _records(self, way: Way) -> Table | Lines | Bytes:
        if way == "hex":
            return Bytes(self._opened(self._path.open("rb")), self._path.stat().st_size)
        if way == "table" and self._rows is not None:
            import io

            return Table(io.BytesIO(self._rows), ",")
        content = self._opened(opened(self._path, self._head))
        encoding = encoding_of(self._head)
        if way == "table":
            return Table(content, delimiter_of(self._artefact.media_type, self._head), encoding)
        return Lines(content, encoding)

    def _opened(self, stream: BinaryIO) -> BinaryIO:
        self._streams.append(stream)
        return stream

    async def _read_whole(self, most: int) -> bytes:
        def read() -> bytes:
            with opened(self._path, self._head) as content:
                return content.read(most + 1)

        try:
            data = await asyncio.to_thread(read)
        except OSError as error:
            raise _unreadable(self._artefact.name, error) from error
        if len(data) > most:
            raise UsageError(f"It has more than {most / 1e6:.0f} MB, too much to be shown like this.")
        return data

    def _flat_rows(self) -> bytes | None:
        """Return the rows of a JSON file as CSV, if it is a list of flat objects or has one in each line."""
        if self._path.stat().st_size > _MOST_JSON:
            return None
        data = self._path.read_bytes()
        try:
            lines = self._artefact.media_type == "application/x-ndjson"
            value = _JSON.decode_lines(data) if lines else _JSON.decode(data)
            rows = flat_objects(value)
        except (msgspec.DecodeError, RecursionError, ValueError):
            return None
        return rows.read() if rows is not None else None


class ThreadedPages:
    """Records that are read in threads, one call at a time. Implements the console's `Pages`."""

    def __init__(self, records: Table | Lines | Bytes, name: str) -> None:
        self._records = records
        self._name = name
        self._reading = threading.Lock()
        self.head = records.head
        self.columns = records.columns

    async def extent(self, *, further: bool = False) -> Extent:
        """Return how many records are known; with `further` after looking for more."""
        return await self._read(lambda: self._records.look_further() if further else self._records.extent)

    async def page(self, first: int, count: int) -> tuple[Shown, ...]:
        """Return some records."""
        return await self._read(lambda: self._records.page(first, count))

    async def find(self, needle: str, start: int, direction: int) -> tuple[int | None, int]:
        """Return the next record that contains a text, and where to continue the search; -1 at the end."""
        return await self._read(lambda: self._records.find(needle, start, direction))

    async def sort(self, column: int | None, *, descending: bool = False) -> None:
        """Order the rows by a column, or as in the file. Raise UsageError if they are too many."""
        if column is None:
            await self._read(self._records.unsort)
        else:
            await self._read(lambda: self._records.sort(column, descending=descending))

    async def _read(self, read: Callable[[], T]) -> T:
        def alone() -> T:
            with self._reading:  # a cancelled call may still be reading in its thread
                return read()

        try:
            return await asyncio.to_thread(alone)
        except (OSError, ValueError) as error:  # ValueError: the file was closed meanwhile
            raise _unreadable(self._name, error) from error


def session_file(app: AppContext, session_id: str, artefact: Artefact) -> ViewedFile:
    """Return a file of a session to look at. Raise UsageError, StoreError if its bytes are missing."""
    from alita_tui.app.artefacts import session_artefacts

    artefacts = session_artefacts(app, session_id)
    if not _DIGEST.fullmatch(artefact.digest) or not artefacts.has(artefact):
        raise StoreError(
            f"The bytes of {artefact.name} ({artefact.handle}) are missing.",
            hint="The session came without its files; give the file again.",
        )
    path = artefacts.folder / artefact.digest
    return ViewedFile(path, artefact, lambda: artefacts.path(artefact)).read_head()


def _unreadable(name: str, error: Exception) -> StoreError:
    return StoreError(f"{name} cannot be read: {error}.")
