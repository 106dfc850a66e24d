"""HTML to readable text in the order of the page, for pages without a detectable article."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bs4 import Tag

_DROPPED = frozenset(
    "script style noscript template nav footer aside form svg canvas iframe object button select dialog"
    " head title math audio video".split()
)
_BLOCKS = frozenset(
    "p div section article main header h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table tr blockquote figure"
    " figcaption address details summary fieldset hr br body html".split()
)
_BANNERS = frozenset({"navigation", "banner", "contentinfo", "complementary", "search"})
_FEW = 200
_CELL = 600
"""Longest cell of a data table; a longer one is part of the page's layout."""


def to_text(html: str) -> tuple[str, str]:
    """Return title and readable text."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(html, "html.parser")
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    main = soup.find("main") or soup.find(None, {"role": "main"}) or soup.find("article")
    text = _Blocks().walk(main) if main else ""
    if len(text) < _FEW:
        text = _Blocks().walk(soup.body or soup)
    return title, text


class _Blocks:
    """Walks a tree without recursion and collects its blocks."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self._line: list[str] = []
        self._prefix = ""

    def walk(self, root: Tag) -> str:
        from bs4 import Comment, Declaration, Doctype, ProcessingInstruction
        from bs4 import Tag as Element

        pending: list[tuple[Any, bool]] = [(root, False)]
        while pending:
            node, leaving = pending.pop()
            if not isinstance(node, Element):
                if not isinstance(node, Comment | Declaration | Doctype | ProcessingInstruction):
                    self._line.append(str(node))
            elif leaving:
                self._flush()
            elif node.name == "pre":
                self._flush()
                self._blocks.append(f"```\n{node.get_text().strip(chr(10))}\n```")
            elif node.name == "code":
                self._line.append(f"`{node.get_text()}`")
            elif node.name == "table" and (table := _table(node)):
                self._flush()
                self._blocks.append(table)
            elif not _skipped(node):
                self._enter(node.name)
                if node.name in _BLOCKS:
                    pending.append((node, True))
                pending.extend((child, False) for child in reversed(node.contents))
        self._flush()
        return "\n\n".join(self._blocks).replace("\n\n- ", "\n- ")

    def _enter(self, name: str) -> None:
        if name in _BLOCKS:
            if name not in ("p", "div") or self._has_text():
                self._flush()
        if name in ("td", "th") and self._has_text():
            self._line.append(" | ")
        elif name == "li":
            self._prefix = "- "
        elif len(name) == 2 and name[0] == "h" and name[1].isdigit():
            self._prefix = "#" * int(name[1]) + " "

    def _has_text(self) -> bool:
        return any(piece.strip() for piece in self._line)

    def _flush(self) -> None:
        text = re.sub(r"\s+", " ", "".join(self._line)).strip()
        if text:
            self._blocks.append(self._prefix + text)
        self._line.clear()
        self._prefix = ""


def _table(table: Tag) -> str:
    """Return a table of data as Markdown; empty for one that only lays a page out."""
    if table.find("table") or _skipped(table):
        return ""
    rows = [
        [_cell(cell) for cell in row.find_all(("td", "th"), recursive=False)]
        for row in table.find_all("tr")
        if not _skipped(row)
    ]
    rows = [row for row in rows if any(row)]
    width = max(map(len, rows), default=0)
    if len(rows) < 2 or width < 2 or any(len(cell) > _CELL for row in rows for cell in row):
        return ""
    lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in rows]
    return "\n".join((lines[0], "|" + "---|" * width, *lines[1:]))


def _cell(cell: Tag) -> str:
    texts = [str(text) for text in cell.find_all(string=True) if not _hidden(text, cell)]
    return " ".join(" ".join(texts).split()).replace("|", "\\|")


def _hidden(text: Any, cell: Tag) -> bool:
    from bs4.element import NavigableString

    if type(text) is not NavigableString:  # a comment or the like
        return True
    for parent in text.parents:
        if _skipped(parent):
            return True
        if parent is cell:
            return False
    return False


def _skipped(node: Tag) -> bool:
    style = str(node.get("style", "")).replace(" ", "")
    return (
        node.name in _DROPPED
        or node.has_attr("hidden")
        or node.get("aria-hidden") == "true"
        or str(node.get("role", "")) in _BANNERS
        or (node.name != "body" and ("display:none" in style or "visibility:hidden" in style))
    )
