"""HTML to readable text. Run as a module it is a filter: HTML on stdin, JSON on stdout.

The parser takes quadratic time on some malformed pages (minutes for half a megabyte of `<a`), and
a thread cannot be stopped; so pages are parsed in a process of their own, with limits.
"""

from __future__ import annotations

import json
import re
import sys
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


def to_text(html: bytes, charset: str = "") -> tuple[str, str]:
    """Return title and readable text; `charset` is the server's, ignored where it is wrong."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(html, "html.parser", from_encoding=charset or None)
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


def _skipped(node: Tag) -> bool:
    return (
        node.name in _DROPPED
        or node.has_attr("hidden")
        or node.get("aria-hidden") == "true"
        or str(node.get("role", "")) in _BANNERS
    )


def main() -> None:
    """Filter for the reader: arguments are CPU seconds, bytes of memory and the charset."""
    import resource

    seconds, memory, charset = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    title, text = to_text(sys.stdin.buffer.read(), charset)
    sys.stdout.write(json.dumps({"title": title, "text": text}))


if __name__ == "__main__":
    main()
