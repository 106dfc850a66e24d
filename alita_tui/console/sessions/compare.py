"""Two sessions side by side: figures, aligned moves and answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content

from alita_tui.console.actions import bindings, shown_keys
from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.figures import spoken
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import BLANK, Row, Sheet, heading
from alita_tui.console.widgets.styled_text import at_words, wrap
from alita_tui.view.compare import Comparison, Pair, Side, cost_of
from alita_tui.view.spend import ESTIMATED, tokens_of

_LABEL = 13
_SIGNS = {"same": ("=", "muted"), "differs": ("≠", "warn"), "left": ("‹", "removed"), "right": ("›", "added")}


class CompareScreen(Dialog[None]):
    """A sheet in two columns."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("compare")
    CSS_PATH: ClassVar[Stylesheets] = ["../widgets/dialog.tcss", "compare.tcss"]

    def __init__(self, comparison: Comparison) -> None:
        super().__init__()
        self._comparison = comparison

    def compose(self) -> ComposeResult:
        """Heading and sheet."""
        with Vertical(id="box"):
            keys = f"   Esc goes back · {shown_keys(self.app).get('help', '')} all keys"
            yield Plain(Content.assemble(("Two sessions", "bold $accent"), keys))
            yield Sheet(id="sheet")

    def on_resize(self) -> None:
        """Draw for the new width."""
        sheet = self.query_one(Sheet)
        sheet.show(rows(self._comparison, max(sheet.size.width - 2, 60)), top=False)


def rows(comparison: Comparison, width: int) -> list[Row]:
    """Return the rows of the sheet."""
    listed = [
        *_facts(comparison, width),
        BLANK,
        *heading("Moves", _common(comparison)),
        *_moves(comparison.moves, width),
    ]
    listed += [BLANK, *heading("Answers")]
    listed += _columns(
        "", (comparison.left.answer or "none", ""), (comparison.right.answer or "none", ""), width, whole=True
    )
    return listed


def _common(comparison: Comparison) -> str:
    if not comparison.common:
        return "they share no events"
    return f"the first {comparison.common} events are the same"


def _facts(comparison: Comparison, width: int) -> Iterator[Row]:
    for (label, mine), (_, other) in zip(_told(comparison.left), _told(comparison.right), strict=True):
        style = "strong" if mine != other else ""
        yield from _columns(label, (mine, style), (other, style), width)
    if comparison.left.estimated_tokens or comparison.right.estimated_tokens:
        yield Row(((ESTIMATED, "muted"),), ((f"  {'':<{_LABEL}}", ""),))


def _told(side: Side) -> tuple[tuple[str, str], ...]:
    return (
        ("Session", side.session_id),
        ("Title", side.title or "Untitled"),
        ("Started", side.started.astimezone().strftime("%Y-%m-%d %H:%M") if side.started else "-"),
        ("Time", spoken(side.seconds)),
        ("Outcome", side.outcome or "-"),
        ("Steps", str(side.steps)),
        ("Model calls", f"{side.calls}, {tokens_of(side)} tokens"),
        ("Cost", cost_of(side)),
        ("Tools built", ", ".join(side.built) or "-"),
        ("Tools run", ", ".join(f"{name} {times}×" for name, times in side.used) or "-"),
        ("Errors", str(side.errors)),
    )


def _moves(moves: tuple[Pair, ...], width: int) -> Iterator[Row]:
    for move in moves:
        sign, style = _SIGNS[move.kind]
        left = move.left, "muted" if move.kind == "same" else "removed" if move.kind == "left" else ""
        right = move.right, "muted" if move.kind == "same" else "added" if move.kind == "right" else ""
        yield from _columns("", left, right, width, sign=(sign, style))


def _columns(
    label: str,
    left: tuple[str, str],
    right: tuple[str, str],
    width: int,
    *,
    sign: tuple[str, str] = ("", ""),
    whole: bool = False,
) -> Iterator[Row]:
    """Yield a line in two columns; with `whole`, as many as the texts need."""
    gutter = (f"  {label:<{_LABEL}}", "muted") if label else (f"  {sign[0]:<2}", sign[1])
    middle = (width + _LABEL) // 2
    rooms = (middle - len(gutter[0]) - 2, width - middle)
    columns = [
        wrap(text, room) if whole else [at_words(text.replace("\n", " "), room)]
        for text, room in zip((left[0], right[0]), rooms, strict=True)
    ]
    for number in range(max(map(len, columns))):
        a, b = (column[number] if number < len(column) else "" for column in columns)
        gap = " " * max(rooms[0] - Content(a).cell_length, 0)
        yield Row(((a, left[1]), (f"{gap}  ", ""), (b, right[1])), (gutter,), hard=True)
