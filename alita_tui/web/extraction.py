"""Turns a page into text, as a filter: the page on stdin, JSON lines on stdout.

Parsers take quadratic time on some malformed pages (minutes for half a megabyte of `<a`), one of them is C,
and a thread cannot be stopped: so each page is read in a process of its own, with limits and an empty environment.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any
from urllib.parse import urldefrag, urljoin

from alita_tui.confined.limits import confine
from alita_tui.spine.text import neutralise
from alita_tui.web.decoding import decoded
from alita_tui.web.readable import to_text

_LARGE = 500_000
"""Characters of HTML above which trafilatura skips its fallbacks, which double the time."""
_ENOUGH = 200
"""Minimum characters of an article; with fewer the other reader is tried."""
_HIDDEN = (
    "//*[@hidden or @aria-hidden='true' or contains(translate(@style,' ',''),'display:none')"
    " or contains(translate(@style,' ',''),'visibility:hidden')][not(self::html or self::body or self::main)]"
)
_ANCHORS = ".//a[@href][not(ancestor::nav or ancestor::header or ancestor::footer or ancestor::aside)]"
_PDF_PAGES = 500
_LINKS = 150
_WORDS = 80
_ADDRESS = 500
Line = dict[str, Any]


def article(body: bytes, charset: str, url: str) -> Iterator[Line]:
    """Yield title and main text as trafilatura finds them; if it finds little, the page in its own order.

    The links of the main part follow as a list at the end.
    """
    import trafilatura

    html = neutralise(decoded(body, charset, html=True))  # now, because libxml2 would split escape sequences
    tree = trafilatura.load_html(html)
    title, text, links = "", "", ""
    if tree is not None:
        title = " ".join((tree.findtext(".//title") or "").split())
        for node in tree.xpath(_HIDDEN):
            if node.getparent() is not None:
                node.drop_tree()
        _join_lines(tree)
        links = _links(tree, url)
        markdown = trafilatura.extract(
            tree,
            output_format="markdown",
            include_tables=True,
            include_formatting=True,
            include_comments=False,
            favor_recall=True,
            fast=len(html) > _LARGE,
        )
        text = _unescaped(_headed(markdown or ""))
    if len(text) < _ENOUGH:
        plain_title, plain = to_text(html)
        title, text = title or plain_title, max(plain, text, key=len)
    yield {"title": title, "text": f"{text}\n\n{links}" if links else text}


def soup(body: bytes, charset: str, _url: str) -> Iterator[Line]:
    """Yield title and text with Python's own parser only."""
    title, text = to_text(decoded(body, charset, html=True))
    yield {"title": title, "text": text}


def pdf(body: bytes, _charset: str, _url: str) -> Iterator[Line]:
    """Yield the pages of a PDF one by one, so that what was read before a limit is kept."""
    from pypdf import PdfReader

    reader = PdfReader(BytesIO(body))
    if reader.is_encrypted and not reader.decrypt(""):
        yield {"problem": "it is locked with a password"}
        return
    try:
        title = str(reader.metadata.title or "") if reader.metadata else ""
    except Exception:  # noqa: BLE001 - a broken title is no reason not to read the rest
        title = ""
    count = len(reader.pages)
    yield {"title": title, "pages": count}
    for number in range(min(count, _PDF_PAGES)):
        try:
            text = reader.pages[number].extract_text()
        except Exception:  # noqa: BLE001 - a broken page is no reason not to read the next
            text = ""
        yield {"page": number + 1, "text": text.strip()}


def results(body: bytes, _charset: str, _url: str) -> Iterator[Line]:
    """Yield the links of DuckDuckGo's result page, and whether the page is one."""
    from bs4 import BeautifulSoup

    page = BeautifulSoup(body, "html.parser")
    for block in page.select(".result"):
        link = block.select_one("a.result__a[href]")
        if link is not None and "result--ad" not in (block.get("class") or ()):
            snippet = block.select_one(".result__snippet")
            words = snippet.get_text() if snippet else ""
            yield {"title": link.get_text(), "href": str(link["href"]), "snippet": words}
    challenge = page.select_one("#challenge-form, .anomaly-modal, form[action*=anomaly]")
    empty = page.select_one(".no-results, .result--no-result")
    yield {"challenge": challenge is not None, "empty": empty is not None}


KINDS: dict[str, Callable[[bytes, str, str], Iterator[Line]]] = {
    "article": article,
    "soup": soup,
    "pdf": pdf,
    "results": results,
}


def _links(tree: Any, url: str) -> str:
    """Return the links of the page's main part as a list, each address once."""
    main = next(iter(tree.xpath("//main | //*[@role='main'] | //article")), tree)
    listed: dict[str, str] = {}
    for anchor in main.xpath(_ANCHORS):
        text = " ".join(anchor.text_content().split())[:_WORDS]
        try:
            target = urldefrag(urljoin(url, anchor.get("href").strip())).url
        except ValueError:
            continue
        if text and target.startswith(("http://", "https://")) and target != url and len(target) <= _ADDRESS:
            listed.setdefault(target, text)
        if len(listed) == _LINKS:
            break
    lines = "\n".join(f"- {text}: {target}" for target, text in listed.items())
    return f"## Links of this page\n\n{lines}" if lines else ""


def _join_lines(tree: Any) -> None:
    """Collapse white space as a browser does, so that line ends in the source are not line ends in the text."""
    preformatted = {child for pre in tree.iter("pre", "textarea") for child in pre.iter()}
    for node in tree.iter():
        if node.text and node not in preformatted:
            node.text = re.sub(r"\s+", " ", node.text)
        if node.tail and (node not in preformatted or node.tag in ("pre", "textarea")):
            node.tail = re.sub(r"\s+", " ", node.tail)


def _headed(text: str) -> str:
    """Return the page with the first row of each table marked as its head, because Markdown requires one."""
    lines: list[str] = []
    inside = False
    source = text.split("\n")
    for number, line in enumerate(source):
        row = line.startswith("|") and line.rstrip().endswith("|")
        lines.append(line.rstrip() if row else line)
        if row and not inside:
            next_line = source[number + 1] if number + 1 < len(source) else ""
            if next_line.startswith("|") and not next_line.startswith("|-"):
                lines.append("|" + "---|" * (len(re.findall(r"(?<!\\)\|", line)) - 1))
        inside = row
    return "\n".join(lines)


def _unescaped(text: str) -> str:
    """Return Markdown without its backslashes, so that names match the page; those before a table's bars stay."""
    parts = re.split(r"(^```.*?^```$|`[^`\n]*`)", text, flags=re.DOTALL | re.MULTILINE)
    parts[::2] = [re.sub(r"\\([\\`*_{}\[\]()<>#+\-.!~])", r"\1", prose) for prose in parts[::2]]
    return "".join(parts)


def main() -> None:
    """Filter for the reader: arguments are CPU seconds, bytes of memory, kind, characters, charset, URL."""
    seconds, memory, kind, room = *map(int, sys.argv[1:3]), sys.argv[3], int(sys.argv[4])
    body = sys.stdin.buffer.read()
    confine(seconds, memory)
    sys.setrecursionlimit(5_000)
    for line in KINDS[kind](body, sys.argv[5], sys.argv[6]):
        room -= len(line.get("text", "")) + 20
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
        if room < 0:
            break


if __name__ == "__main__":
    main()
