"""Markdown as styled lines: headings, lists, quotations, tables, code, links with their targets.

markdown-it parses; the layout is done here: Textual's widget and Rich's renderer cost many times as much, and do not
limit the width of a line in a list. Give it neutralised text. HTML stays visible text, no picture is
loaded, and no link can be clicked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from alita_tui.console.widgets.styled_text import Line, Piece, code_folded, folded, width_of, wrap
from alita_tui.spine.text import neutralise

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.tree import SyntaxTreeNode

STYLES = "text strong em code heading link muted line keyword string number comment name".split()
"""Styles used here (see `theme_styles`)."""
MOST = 60_000
"""Most characters of a text that is laid out; a longer one is shown as plain text."""
_DEEPEST = 20
_LEAST_COLUMN = 5
_BETWEEN = 2
_CODE = 6_000
"""Characters of a block of code that are coloured: some of Pygments' expressions take quadratic time."""
_LANGUAGES = {
    "python": "python", "py": "python", "json": "json", "bash": "bash", "sh": "bash", "shell": "bash", "sql": "sql",
    "toml": "toml", "yaml": "yaml", "yml": "yaml", "javascript": "javascript", "js": "javascript", "diff": "diff",
}  # fmt: skip


@lru_cache(maxsize=128)
def markdown_lines(text: str, width: int, *, joined: bool = False) -> tuple[Line, ...]:
    """Return neutralised Markdown as lines of at most `width` cells; at least one.

    Line ends within a paragraph stay, since models mean them; with `joined` they become blanks.
    """
    if len(text) > MOST:
        return tuple(((line, "text"),) for line in wrap(text, width))
    from markdown_it.tree import SyntaxTreeNode

    tokens = _parser().parse(text)
    for token in tokens:
        for child in token.children or () if not joined else ():
            if child.type == "softbreak":
                child.type = "hardbreak"
    lines = _blocks(SyntaxTreeNode(tokens).children, max(width, 10), text.split("\n")) or [()]
    return tuple(piece for line in lines for piece in folded(line, max(width, 2), hard=True))


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable(["table", "strikethrough"])


def _blocks(nodes: Sequence[SyntaxTreeNode], width: int, source: list[str]) -> list[Line]:
    """Return the lines of blocks, with an empty one between them."""
    lines: list[Line] = []
    for number, node in enumerate(nodes):
        tight = node.type == "paragraph" and node.hidden
        after_text = number and nodes[number - 1].type == "paragraph" and nodes[number - 1].hidden
        if lines and not tight and not after_text:
            lines.append(())
        lines += _block(node, width, source)
    return lines


def _block(node: SyntaxTreeNode, width: int, source: list[str]) -> list[Line]:
    match node.type:
        case "heading":
            return _wrapped(_restyled(_inline(node), "heading"), width)
        case "bullet_list" | "ordered_list":
            return _list(node, width, source)
        case "blockquote":
            inner = _blocks(node.children, max(width - 2, 10), source)
            return [(("▎ ", "muted"), *_restyled(line, "em", only="text")) for line in inner]
        case "fence" | "code_block":
            return _fenced(node.content, (node.info or "").strip().split(" ")[0].lower(), width)
        case "table":
            return _table(node, width) or _plain(_source_of(node, source), width)
        case "hr":
            return [(("─" * width, "line"),)]
        case "paragraph" | "inline":
            return _wrapped(_inline(node), width)
        case _:
            return _plain(node.content or _source_of(node, source), width)


def _source_of(node: SyntaxTreeNode, source: list[str]) -> str:
    first, after = node.map or (0, 0)
    return "\n".join(source[first:after])


def _plain(text: str, width: int) -> list[Line]:
    return [((line, "text"),) for line in wrap(text.strip("\n"), width)]


def _restyled(line: Line, style: str, only: str = "") -> Line:
    """Return a line in one style; with `only` the pieces of that style."""
    return tuple(
        (text, style if not only or piece_style == only else piece_style) for text, piece_style in line
    )


def _list(node: SyntaxTreeNode, width: int, source: list[str]) -> list[Line]:
    lines: list[Line] = []
    first = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else 0
    last = first + len(node.children) - 1
    margin = len(str(last)) + 2 if node.type == "ordered_list" else 2
    loose = any(
        child.type == "paragraph" and not child.hidden for item in node.children for child in item.children
    )
    for number, item in enumerate(node.children):
        if loose and number:
            lines.append(())
        mark = f"{first + number}." if node.type == "ordered_list" else "•"
        inner = _blocks(item.children, max(width - margin, 10), source) or [()]
        for place, line in enumerate(inner):
            lines.append(((f"{mark:<{margin}}" if not place else " " * margin, "muted"), *line))
    return lines


# --- words ----------------------------------------------------------------------------------


def _inline(node: SyntaxTreeNode) -> Line:
    """Return the words of a block on one line; `\\n` where it breaks."""
    tokens = [child for token in node.to_tokens() if token.type == "inline" for child in token.children or ()]
    words = ((text if text == "\n" else _safe(text), style) for text, style in _words(tokens))
    return tuple((text, style) for text, style in words if text)


def _safe(text: str) -> str:
    """Return text neutralised again: entities and percent codes can decode to hidden characters."""
    return neutralise(text).replace("\n", " ")


def _words(tokens: Sequence[Token]) -> Iterator[Piece]:
    style = ["text"]
    shown, target = "", ""
    for token in tokens:
        text = ""
        match token.type:
            case "text" | "text_special" | "html_inline":
                text = token.content
                yield text, style[-1]
            case "code_inline":
                text = token.content
                yield text, "code"
            case "strong_open":
                style.append("strong")
            case "em_open":
                style.append("strong" if style[-1] == "strong" else "em")
            case "s_open":
                style.append("muted")
            case "link_open":
                style.append("link")
                shown, target = "", str(token.attrGet("href") or "")
            case "strong_close" | "em_close" | "s_close":
                style.pop()
            case "link_close":
                style.pop()
                if shown.strip() not in (target, target.removeprefix("mailto:")):
                    yield f" ({target})", "muted"
            case "image":
                yield f"▧ {token.content}", "link"
                yield f" ({token.attrGet('src') or ''})", "muted"
            case "softbreak":
                text = " "
                yield text, style[-1]
            case "hardbreak":
                yield "\n", "text"
            case _:
                pass
        shown += text


def _wrapped(line: Line, width: int) -> list[Line]:
    """Return words in lines of at most `width` cells."""
    lines: list[list[Piece]] = [[]]
    for text, style in line:
        for number, part in enumerate(text.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append((part, style))
    return [piece for pieces in lines for piece in folded(tuple(pieces), width, bare=True)]


# --- code -----------------------------------------------------------------------------------


def _fenced(code: str, language: str, width: int) -> list[Line]:
    lines = coloured(code, _LANGUAGES.get(language, "")) if len(code) <= _CODE else _uncoloured(code)
    room = max(width - 2, 8)
    return [(("▏ ", "muted"), *piece) for line in lines for piece in code_folded(line, room)]


def _uncoloured(code: str) -> list[Line]:
    return [((line, "code"),) for line in code.removesuffix("\n").split("\n")]


def coloured(code: str, language: str) -> list[Line]:
    """Return the lines of code, coloured if Pygments knows the language by this name."""
    if not language:
        return _uncoloured(code)
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]

    lines: list[list[Piece]] = [[]]
    for _at, kind, text in get_lexer_by_name(language).get_tokens_unprocessed(code.removesuffix("\n")):
        for number, part in enumerate(text.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append((part, ink(str(kind))))
    return [tuple(line) for line in lines]


def ink(kind: str) -> str:
    """Return the style of a kind of Pygments' tokens, such as `Token.Literal.String.Double`."""
    for part, style in (
        ("Comment", "comment"), ("Literal.String", "string"), ("Literal.Number", "number"), ("Keyword", "keyword"),
        ("Operator.Word", "keyword"), ("Name.Function", "name"), ("Name.Class", "name"), ("Name.Tag", "name"),
        ("Name.Decorator", "name"), ("Generic.Inserted", "string"), ("Generic.Deleted", "keyword"),
    ):  # fmt: skip
        if kind.startswith(f"Token.{part}"):
            return style
    return "text"


# --- tables ---------------------------------------------------------------------------------


def _table(node: SyntaxTreeNode, width: int) -> list[Line]:
    """Return a table whose cells wrap; empty if it has too many columns for the width."""
    rows = [[(_inline(cell), "right" in str(cell.attrs.get("style", ""))) for cell in row.children]
            for part in node.children for row in part.children]  # fmt: skip
    columns = len(rows[0])
    room = width - _BETWEEN * (columns - 1)
    widths = [max(max(width_of(row[column][0]) for row in rows), 1) for column in range(columns)]
    if sum(min(wide, _LEAST_COLUMN) for wide in widths) > room:
        return []
    while (over := sum(widths) - room) > 0:
        widest = max(widths)
        second = max((wide for wide in widths if wide < widest), default=_LEAST_COLUMN)
        column = widths.index(widest)
        widths[column] = max(widest - over, min(second, widest - 1), _LEAST_COLUMN)
    lines: list[Line] = []
    for number, row in enumerate(rows):
        cells = [
            folded(_restyled(line, "strong") if not number else line, wide, bare=True)
            for (line, _right), wide in zip(row, widths, strict=True)
        ]
        for place in range(max(map(len, cells))):
            drawn = [
                _padded(cell[place] if place < len(cell) else (), wide, right)
                for cell, wide, (_line, right) in zip(cells, widths, row, strict=True)
            ]
            lines.append(tuple(piece for cell in _joined(drawn) for piece in cell))
        if not number:
            lines.append((("─" * (sum(widths) + _BETWEEN * (columns - 1)), "line"),))
    return lines


def _joined(cells: list[Line]) -> Iterator[Line]:
    for number, cell in enumerate(cells):
        if number:
            yield ((" " * _BETWEEN, ""),)
        yield cell


def _padded(line: Line, width: int, right: bool) -> Line:
    blank: Piece = (" " * max(width - width_of(line), 0), "")
    return (blank, *line) if right else (*line, blank)
