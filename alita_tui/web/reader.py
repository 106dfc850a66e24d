"""Reads one page as text: fetched under the address policy, parsed in its own process, neutralised."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import urlsplit

import msgspec

from alita_tui.spine.errors import WebError
from alita_tui.spine.ports.web import Page
from alita_tui.spine.text import neutralise, one_line
from alita_tui.web.answers import check_status
from alita_tui.web.decoding import decoded, known
from alita_tui.web.fetch import Fetched, Fetcher
from alita_tui.web.pages import PageStore
from alita_tui.web.parsing import parsed
from alita_tui.web.robots import Robots

_HTML = ("text/html", "application/xhtml+xml")
_PDF = "application/pdf"
_NO_TEXT = "application/octet-stream"
_TEXT = (
    *("application/json", "application/x-ndjson", "application/xml", "application/csv"),
    *("application/toml", "application/yaml", "application/x-yaml", "application/sql"),
)
_ACCEPT = (
    "text/html,application/xhtml+xml,application/json,text/plain,application/pdf;q=0.9,text/*;q=0.8,*/*;q=0.5"
)

_FEW = 200
"""Characters of text up to which a page with scripts is assumed to need them."""
_ON_GITHUB = re.compile(r"https?://(?:www\.)?github\.com/([^/?#]+/[^/?#]+)/blob/([^?#]+)")


async def read_page(
    fetcher: Fetcher,
    url: str,
    *,
    max_chars: int,
    max_pdf_bytes: int,
    robots: Robots | None = None,
    store: PageStore | None = None,
) -> Page:
    """Return one page as text, cut at `max_chars`; from the store if the server says it did not change.

    Other content than text is returned as bytes only, up to the cap of a page. Raise WebError, AddressRefused.
    """
    url = with_text(url)
    stored = await asyncio.to_thread(store.get, url) if store else None
    conditions = (stored.address, stored.conditions) if stored else None
    answer = await fetcher.get(
        url,
        headers={"Accept": _ACCEPT},
        conditions=conditions,
        caps={_PDF: max_pdf_bytes},
        before=robots.check if robots else None,
    )
    if stored and answer.status == 304 and answer.url == stored.address:
        return msgspec.structs.replace(stored.page, unchanged=True)
    page = msgspec.structs.replace(await _page(answer, max_chars), body=answer.body)
    if store and page.text:
        await asyncio.to_thread(store.put, url, answer.url, page, answer.headers)
    return page


def with_text(url: str) -> str:
    """Return the URL of the raw text for a file in GitHub's viewer; any other URL unchanged."""
    match = _ON_GITHUB.match(url)
    return f"https://raw.githubusercontent.com/{match[1]}/{match[2]}" if match else url


async def _page(answer: Fetched, max_chars: int) -> Page:
    check_status(answer, hint="Check the address, or try another page.")
    kind, charset = _content_type(answer)
    complete = not answer.truncated
    if kind == _PDF:
        title, text, finished = await _pdf(answer, max_chars)
        complete = complete and finished
    elif kind == _NO_TEXT:
        title, text = "", ""
    elif kind in _HTML:
        title, text = await _html(answer, charset)
    else:
        title, text = "", await asyncio.to_thread(decoded, answer.body, charset)
    safe = neutralise(text).strip()
    scripted = kind in _HTML and len(safe) <= _FEW and b"<script" in answer.body.lower()
    return Page(
        url=one_line(answer.url, 2000),
        title=one_line(title, 160),
        text=safe[:max_chars],
        truncated=not complete or len(safe) > max_chars,
        scripts="needed" if scripted else "",
    )


def _content_type(answer: Fetched) -> tuple[str, str]:
    """Return media type (`_NO_TEXT` for bytes) and charset (empty when unknown). Raise WebError."""
    kind, _, parameters = answer.headers.get("content-type", "").partition(";")
    kind = kind.strip().lower()
    charset = ""
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            charset = known(value.strip().strip("\"'"))
    if kind in ("", "application/octet-stream", "application/x-pdf") and answer.body.startswith(b"%PDF-"):
        kind = _PDF
    if kind == _PDF:
        return kind, ""
    if not kind:
        start = answer.body[:512].lstrip().lower()
        kind = "text/html" if start.startswith((b"<!doctype html", b"<html")) else "text/plain"
    if not (kind.startswith("text/") or kind in _HTML or kind in _TEXT or kind.endswith(("+json", "+xml"))):
        return _bytes(answer, kind), ""
    wide = charset.startswith(("utf-16", "utf-32")) or answer.body.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\x00" in answer.body[:4096] and not wide:
        return _bytes(answer, "binary data"), ""
    return kind, charset


def _bytes(answer: Fetched, kind: str) -> str:
    """Return the kind for content that is no text. Raise WebError if it was cut."""
    if answer.truncated:
        address = one_line(answer.url.split("?")[0], 160)
        raise WebError(
            f"{address} is {one_line(kind, 60)} of more than {len(answer.body) / 1e6:.0f} MB.",
            hint="Raise web.max_bytes in the settings, or give the file with the task.",
        )
    return _NO_TEXT


async def _html(answer: Fetched, charset: str) -> tuple[str, str]:
    """Return title and text; from the simpler parser if the better one fails. Raise WebError."""
    for kind in ("article", "soup"):
        lines, _ = await parsed(kind, answer.body, charset, answer.url)
        if lines:
            return lines[0]["title"], lines[0]["text"]
    host = one_line(urlsplit(answer.url).netloc, 80)
    raise WebError(
        f"The page of {host} is too tangled to be read.", hint="Try another page with the same content."
    )


async def _pdf(answer: Fetched, max_chars: int) -> tuple[str, str, bool]:
    """Return title, text with a line before each page, and whether it is complete. Raise WebError."""
    address = one_line(answer.url.split("?")[0], 160)
    if answer.truncated:
        raise WebError(
            f"{address} is a PDF of more than {len(answer.body) / 1e6:.0f} MB.",
            hint="Try another source, or raise web.max_pdf_bytes in the settings.",
        )
    lines, finished = await parsed("pdf", answer.body, room=max_chars)
    problem = next((line["problem"] for line in lines if "problem" in line), "")
    head = next((line for line in lines if "pages" in line), None)
    if problem or head is None:
        raise WebError(
            f"{address} cannot be read as a PDF{f': {problem}' if problem else ''}.",
            hint="Try another source of it.",
        )
    pages = [line for line in lines if "page" in line]
    if not any(page["text"] for page in pages):
        raise WebError(
            f"{address} is a PDF of {head['pages']} pages in which no text was found.",
            hint="It may hold scanned images only; look for another source.",
        )
    text = "\n\n".join(f"[page {page['page']} of {head['pages']}]\n{page['text']}" for page in pages)
    return head["title"], text, finished and len(pages) == head["pages"]
