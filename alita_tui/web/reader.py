"""Reads one page as text: fetched under the address policy, parsed in its own process, made harmless."""

from __future__ import annotations

import asyncio
import codecs
import json
import sys
from urllib.parse import urlsplit

import msgspec

from alita_tui.spine.errors import WebError
from alita_tui.spine.ports.web import Page
from alita_tui.spine.text import neutralise, one_line
from alita_tui.web.fetch import Fetched, Fetcher
from alita_tui.web.pages import PageStore
from alita_tui.web.providers import check_status

_HTML = ("text/html", "application/xhtml+xml")
_TEXT = ("application/json", "application/xml", "application/toml", "application/yaml", "application/x-yaml")
_ACCEPT = "text/html,application/xhtml+xml,application/json,text/plain,text/*;q=0.8"
_PARSE_SECONDS = 10
_PARSE_MEMORY = 1 << 30


async def read_page(fetcher: Fetcher, url: str, *, max_chars: int, store: PageStore | None = None) -> Page:
    """Return one page as text, cut at `max_chars`; from the store where the server says it did not change.

    Raise WebError, AddressRefused.
    """
    kept = await asyncio.to_thread(store.get, url) if store else None
    conditions = (kept.address, kept.conditions) if kept else None
    answer = await fetcher.get(url, headers={"Accept": _ACCEPT}, conditions=conditions)
    if kept and answer.status == 304 and answer.url == kept.address:
        return msgspec.structs.replace(kept.page, unchanged=True)
    page = await _page(answer, max_chars)
    if store:
        await asyncio.to_thread(store.put, url, answer.url, page, answer.headers)
    return page


async def _page(answer: Fetched, max_chars: int) -> Page:
    check_status(answer, hint="Check the address, or try another page.")
    kind, charset = _content_type(answer)
    if kind in _HTML:
        title, text = await _parse(answer, charset)
    else:
        title, text = "", _decode(answer.body, charset)
    safe = neutralise(text).strip()
    return Page(
        url=one_line(answer.url, 2000),
        title=one_line(title, 160),
        text=safe[:max_chars],
        truncated=answer.truncated or len(safe) > max_chars,
    )


def _content_type(answer: Fetched) -> tuple[str, str]:
    """Return media type and charset (empty when unknown). Raise WebError."""
    kind, _, parameters = answer.headers.get("content-type", "").partition(";")
    kind = kind.strip().lower()
    charset = ""
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            charset = _known(value.strip().strip("\"'"))
    if not kind:
        start = answer.body[:512].lstrip().lower()
        kind = "text/html" if start.startswith((b"<!doctype html", b"<html")) else "text/plain"
    if not (kind.startswith("text/") or kind in _HTML or kind in _TEXT or kind.endswith(("+json", "+xml"))):
        raise _no_text(answer, kind)
    if b"\x00" in answer.body[:4096] and not charset.startswith(("utf-16", "utf-32")):
        raise _no_text(answer, "binary data")
    return kind, charset


def _no_text(answer: Fetched, kind: str) -> WebError:
    where = one_line(answer.url.split("?")[0], 160)
    return WebError(
        f"{where} is {one_line(kind, 60)}, which cannot be read as text.",
        hint="Only HTML, plain text, JSON and XML are read.",
    )


def _known(charset: str) -> str:
    try:
        found = codecs.lookup(charset[:40])
        b"".decode(charset)  # refuses codecs such as zlib that are no text encodings
    except (LookupError, ValueError):
        return ""
    return found.name


def _decode(body: bytes, charset: str) -> str:
    for name in (charset, "utf-8-sig"):
        try:
            if name:
                return body.decode(name)
        except ValueError:
            continue
    return body.decode("cp1252", "replace")


async def _parse(answer: Fetched, charset: str) -> tuple[str, str]:
    host = one_line(urlsplit(answer.url).netloc, 80)
    command = ("-I", "-m", "alita_tui.web.readable", str(_PARSE_SECONDS), str(_PARSE_MEMORY), charset)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(3 * _PARSE_SECONDS):
            out, _ = await process.communicate(answer.body)
    except TimeoutError:
        out = b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode or not out:
        raise WebError(
            f"The page of {host} is too tangled to be read.", hint="Try another page with the same content."
        )
    parsed = json.loads(out)
    return parsed["title"], parsed["text"]
