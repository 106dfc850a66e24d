"""Files of a stored session as the viewer gets them: the right ones, whole, in parts, or a clear error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.app.artefacts import session_artefacts
from alita_tui.app.catalog import AppCatalog
from alita_tui.app.context import AppContext
from alita_tui.app.files import ViewedFile
from alita_tui.console.files.ports import Way
from alita_tui.spine.errors import StoreError, UsageError


class Stored:
    """A session with files, in a home of its own."""

    def __init__(self, home: Path) -> None:
        self.app = AppContext.open(home)
        self.session_id = self.app.sessions.new_id()
        self.store = session_artefacts(self.app, self.session_id)
        self.catalog = AppCatalog(self.app)
        self.looked: list[ViewedFile] = []

    def add(self, name: str, data: bytes) -> e.Artefact:
        return self.store.add_bytes(data, name)

    async def look(self, name: str, data: bytes) -> ViewedFile:
        return await self.open(self.add(name, data))

    async def open(self, file: e.Artefact) -> ViewedFile:
        self.looked.append(await self.catalog.look_in(self.session_id, file))
        return self.looked[-1]


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Stored]:
    made = Stored(tmp_path / "home")
    yield made
    for file in made.looked:
        file.close()
    made.app.close()


@pytest.mark.parametrize(
    ("name", "data", "ways"),
    [
        ("a.csv", b"a,b\n1,2\n", ("table", "text", "hex")),
        ("a.tsv", b"a\tb\n", ("table", "text", "hex")),
        ("a.json", b'[{"a": 1}]', ("table", "json", "text", "hex")),
        ("a.json", b'{"a": [1]}', ("json", "text", "hex")),
        ("a.json", b"[" * 100_000, ("json", "text", "hex")),
        ("a.jsonl", b'{"a": 1}\n{"a": 2}\n', ("table", "text", "hex")),
        ("a.jsonl", b'{"a": 1}\nno json\n', ("text", "hex")),
        ("a.md", b"# a", ("markdown", "text", "hex")),
        ("a.py", b"a = 1", ("code", "text", "hex")),
        ("a.txt", b"a", ("text", "hex")),
        ("a.html", b"<p>", ("code", "text", "hex")),
        ("a.png", b"\x89PNG\r\n\x1a\n", ("picture", "hex")),
        ("a.txt", b"\x89PNG\r\n\x1a\n\0", ("picture", "hex")),
        ("a.xlsx", b"PK\x03\x04\0", ("hex",)),
        ("a.csv", b"\0\1\2", ("hex",)),
        ("a", b"", ("text", "hex")),
    ],
)  # fmt: skip
async def test_a_file_is_shown_by_its_type(
    stored: Stored, name: str, data: bytes, ways: tuple[Way, ...]
) -> None:
    file = await stored.look(name, data)
    assert file.ways == ways
    for way in ways:
        if way not in ("table", "text", "hex"):
            continue
        pages = await file.pages(way)
        assert (await pages.extent(further=True)).ended
        await pages.page(0, 10)
    await file.check()
    file.close()


async def test_lists_of_objects_are_read_as_table_rows(stored: Stored) -> None:
    for name, text in (("a.json", '[{"a": 1, "b": "x"}]'), ("a.jsonl", '{"a": 1}\n\n{"b": "x"}\n')):
        pages = await (await stored.look(name, text.encode())).pages("table")
        assert pages.head == ("a", "b")
        assert (await pages.page(0, 1))[0].cells[0] == "1"


async def test_a_file_that_is_too_large_for_one_view_offers_others(stored: Stored) -> None:
    file = await stored.look("deep.json", b"[" * 10_000 + b"]" * 10_000)
    with pytest.raises(UsageError, match="deeply"):
        await file.value()
    with pytest.raises(UsageError, match="not valid JSON"):
        await (await stored.look("half.json", b'{"a": ')).value()
    with pytest.raises(UsageError, match="2 MB"):
        await (await stored.look("large.md", b"a\n" * 1_000_001)).text()
    with pytest.raises(UsageError, match="8 MB"):
        await (await stored.look("large.json", json.dumps(["x" * 8_000_000]).encode())).value()
    lines = await (await stored.look("large.json", json.dumps(["x" * 8_000_000]).encode())).pages("text")
    assert (await lines.page(0, 1))[0].cells[0].startswith('["xxx')


async def test_missing_and_changed_bytes_are_reported(stored: Stored) -> None:
    file = stored.add("a.csv", b"a\n1\n")
    place = stored.store.folder / file.digest
    looked = await stored.open(file)
    place.chmod(0o600)
    place.write_bytes(b"b\n2\n3\n")
    with pytest.raises(StoreError, match="another program changed it"):
        await looked.check()
    place.unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        await looked.pages("text")
    with pytest.raises(StoreError, match="missing"):
        await stored.catalog.look_in(stored.session_id, file)


@pytest.mark.parametrize("digest", ["/etc/passwd", "../../../../etc/passwd", "", "A" * 64, "a" * 63 + "\n"])
async def test_a_record_cannot_name_another_file(stored: Stored, digest: str) -> None:
    file = replace(stored.add("a.txt", b"a"), digest=digest)
    with pytest.raises(StoreError, match="missing"):
        await stored.catalog.look_in(stored.session_id, file)


async def test_a_file_can_be_closed_while_it_is_read(stored: Stored) -> None:
    file = await stored.look("a.csv", b"a,b\n" + b"1,2\n" * 500_000)
    pages = await file.pages("table")
    asked: list[asyncio.Task[object]] = [asyncio.create_task(pages.extent(further=True)) for _ in range(20)]
    asked += [asyncio.create_task(pages.page(place, 50)) for place in range(0, 5_000, 100)]
    await asyncio.sleep(0.01)
    file.close()
    for one in await asyncio.gather(*asked, return_exceptions=True):
        assert not isinstance(one, BaseException) or isinstance(one, StoreError)


async def test_many_readers_see_the_same_rows(stored: Stored) -> None:
    file = await stored.look("a.csv", b"n\n" + b"".join(b"%d\n" % n for n in range(200_000)))
    pages = await file.pages("table")
    while not (await pages.extent(further=True)).ended:
        pass
    found = await asyncio.gather(*(pages.page(first, 3) for first in range(0, 200_000, 4_001)))
    assert [[row.cells[0] for row in page] for page in found] == [
        [str(n) for n in range(first, first + 3)] for first in range(0, 200_000, 4_001)
    ]
