"""Pages that were read before are asked for only if they changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from alita_tui.spine.errors import StoreError, WebError
from alita_tui.store.documents import DocumentTable

DATE = "Sat, 21 Nov 2026 07:00:00 GMT"


class Served:
    """A page behind validators, as a server keeps them."""

    def __init__(self, site, path: str = "/page", **validators: str) -> None:
        self.text = "Ready since Tuesday, and in good order since then."
        self.validators = validators
        self.url = site.url + path
        self.sent = 0
        site.routes[path] = self.answer

    def answer(self, handler):
        asked = (handler.headers.get("If-None-Match"), handler.headers.get("If-Modified-Since"))
        mine = (self.validators.get("ETag"), self.validators.get("Last-Modified"))
        if any(asked) and asked == mine:
            return 304, dict(self.validators), b""
        self.sent += 1
        kind = {"Content-Type": "text/html; charset=utf-8"}
        return 200, {**kind, **self.validators}, f"<title>T</title><main>{self.text}</main>".encode()


@pytest.fixture
def reading(site, make_room, tmp_path: Path):
    """Opens rooms one after the other, as sessions do, on one store."""

    def opened(**settings):
        table = DocumentTable(tmp_path / "pages.json", "pages")
        return make_room(allowed_private=(site.host,), timeout=60.0, pages=lambda: table, **settings)

    return opened


@pytest.mark.parametrize(
    "validators",
    [{"ETag": '"v1"'}, {"ETag": 'W/"v1"'}, {"Last-Modified": DATE}, {"ETag": '"v1"', "Last-Modified": DATE}],
)
async def test_an_unchanged_page_is_not_sent_again_in_a_later_session(site, reading, validators) -> None:
    served = Served(site, **validators)
    first = await reading().read(served.url)
    again = await reading().read(served.url)
    assert (first.unchanged, again.unchanged, served.sent) == (False, True, 1)
    assert (again.url, again.title, again.text) == (first.url, "T", first.text) and served.text in again.text


async def test_a_changed_page_is_read_again_and_stored(site, reading) -> None:
    served = Served(site, ETag='"v1"')
    room = reading()
    await room.read(served.url)
    served.text, served.validators = "Something else entirely.", {"ETag": '"v2"'}
    changed = await room.read(served.url)
    assert not changed.unchanged and "Something else" in changed.text
    assert (await room.read(served.url)).unchanged
    assert served.sent == 2


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"ETag": '"v1"', "Cache-Control": "private, No-Store"},
        {"ETag": '"gr\u00f6\u00dfe"'},
        {"ETag": "x" * 9000},
    ],
)
async def test_a_page_without_validator_or_with_no_store_is_not_stored(
    site, reading, tmp_path, headers
) -> None:
    served = Served(site, **headers)
    room = reading()
    for _ in range(2):
        assert not (await room.read(served.url)).unchanged
    assert served.sent == 2
    assert DocumentTable(tmp_path / "pages.json", "pages").all() == ()


async def test_an_error_page_is_not_stored(site, reading) -> None:
    site.routes["/gone"] = (404, {"ETag": '"v1"'}, b"nothing")
    room = reading()
    for _ in range(2):
        with pytest.raises(WebError):
            await room.read(site.url + "/gone")
    assert not any("if-none-match" in headers for _, headers in site.requests)


async def test_a_304_that_nobody_asked_for_is_an_error(site, reading) -> None:
    site.routes["/odd"] = (304, {}, b"")
    with pytest.raises(WebError, match="304"):
        await reading().read(site.url + "/odd")


async def test_validators_are_sent_only_to_their_own_address(site, other_site, reading) -> None:
    served = Served(site, "/here", ETag='"same"')
    site.routes["/old"] = (302, {"Location": "/here"}, b"")
    room = reading()
    await room.read(site.url + "/old")
    assert (await room.read(site.url + "/old")).unchanged
    asked = [headers.get("if-none-match") for path, headers in site.requests if path == "/old"]
    assert asked == [None, None]
    moved = Served(site, "/there", ETag='"same"')  # the same tag, on another page
    moved.text = "Another page."
    site.routes["/old"] = (302, {"Location": "/there"}, b"")
    assert "Another page." in (await room.read(site.url + "/old")).text
    assert served.sent == moved.sent == 1


async def test_a_page_cut_at_another_limit_is_read_again(site, reading) -> None:
    served = Served(site, ETag='"v1"')
    await reading().read(served.url)
    shorter = await reading(max_chars=5).read(served.url)
    assert (shorter.unchanged, shorter.text, shorter.truncated) == (False, "Ready", True)
    assert (await reading(max_chars=5).read(served.url)).truncated


async def test_pages_stored_by_another_version_are_ignored(site, reading, tmp_path: Path) -> None:
    served = Served(site, ETag='"v1"')
    await reading().read(served.url)
    table = DocumentTable(tmp_path / "pages.json", "pages")
    (document,) = table.all()
    table.put(document["key"], {**document, "kept": {"page": 5}})
    assert not (await reading().read(served.url)).unchanged


async def test_a_failing_disk_only_prevents_saving(site, make_room) -> None:
    def broken() -> DocumentTable:
        raise StoreError("The disk is full.")

    served = Served(site, ETag='"v1"')
    room = make_room(allowed_private=(site.host,), timeout=60.0, pages=broken)
    for _ in range(2):
        assert served.text in (await room.read(served.url)).text


async def test_the_oldest_pages_go_first(site, reading, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("alita_tui.web.pages._KEPT", 2)
    room = reading()
    pages = [Served(site, f"/p{n}", ETag=f'"{n}"') for n in range(3)]
    for page in pages:
        await room.read(page.url)
    assert [(await room.read(page.url)).unchanged for page in reversed(pages)] == [True, True, False]
