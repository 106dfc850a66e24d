"""The lines of the trace on screen: cards with their papers, the cursor, hits, and what the mouse selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from textual.geometry import Region
from textual.reactive import reactive
from textual.selection import Selection
from textual.strip import Strip

from alita_tui.console.session import card_lines, trace_lines
from alita_tui.console.session.card_parts import Drawn
from alita_tui.console.session.inline_pictures import Pictures, Slice
from alita_tui.console.session.loading import Loading
from alita_tui.console.session.trace_layout import Layout
from alita_tui.console.session.trace_messages import PictureAsked, Selected
from alita_tui.console.widgets.anchored import anchored
from alita_tui.console.widgets.painted import TellsPainted
from alita_tui.console.widgets.sheet import Row
from alita_tui.console.widgets.styled_text import marked, restyle, text_of, to_strip
from alita_tui.console.widgets.styled_view import StyledView
from alita_tui.state.build import BuildState
from alita_tui.view.cards import Level
from alita_tui.view.model import SessionView, TraceRow

Inspection = tuple[str, str, list[Row]]
"""Title, subject and rows for the inspector."""


class Sent(NamedTuple):
    """What the person sent, until the engine has taken it up and something comes of it."""

    row: TraceRow | None
    """The task as a row; None once its own card is there, or for nothing."""
    waits_for: str
    frame: int
    files: tuple[str, ...] = ()
    """Names of its files that are not recorded yet, in order; the engine records them before the task."""


NOTHING_SENT = Sent(None, "", 0)


class TraceDrawing(TellsPainted, StyledView, can_focus=True):
    """Draws the lines of a layout."""

    STYLES = (*trace_lines.STYLES, *card_lines.PAPERS, "cursor", "mark", "hit")
    SPECS: ClassVar[Mapping[str, str]] = {
        "task": "alita-task bold",
        "wait": "alita-wait bold",
        **card_lines.PAPERS,
    }
    cursor: reactive[int] = reactive(-1)
    """Index of the selected card; -1 for none."""
    inner: reactive[int] = reactive(-1)
    """Of an opened card, the selected row; -1 for the card itself."""

    def __init__(
        self,
        *,
        id: str | None = None,
        welcome: tuple[str, ...] = (),
        level: Level = "steps",
        review: str = "",
    ) -> None:
        """Show `welcome` while there is nothing; `review` is the key that opens the review of a build."""
        super().__init__(id=id)
        self._welcome = welcome
        self._layout = Layout()
        self._layout.deck.level = level
        self._layout.review = review
        self._view = SessionView()
        self._states: tuple[trace_lines.State, ...] = ()
        self._sent = NOTHING_SENT
        self._hit = -1
        """The row that was found last."""
        self._after: list[Drawn] = []
        """Lines after the last row: live text, or the welcome."""
        self._load: Loading | None = None
        """The whole session, while only its end is shown."""
        self._build_inspection: tuple[BuildState, Inspection] | None = None
        """The inspector's content for the last build, which is costly to make."""
        self._pictures = Pictures()
        self._unseen = 0
        self._needle = ""

    @property
    def level(self) -> Level:
        """The level of detail of cards that nobody opened or closed."""
        return self._layout.deck.level

    def inspection(self) -> Inspection | None:
        """Return the inspector's title, subject and rows for the selected card or row; None for none."""
        if not 0 <= self.cursor < len(self._layout.cards):
            return None
        from alita_tui.console.session.inspector_rows import about  # the first paint does not need it

        card = self._layout.cards[self.cursor]
        build = self._layout.build(card.build) if card.kind == "build" else None
        if build is not None and self._build_inspection is not None and self._build_inspection[0] is build:
            return self._build_inspection[1]  # making it parses code, which is too slow for each event
        inspection = about(self._view, self._layout.deck, self.cursor, self.inner, self._layout.build)
        self._build_inspection = (build, inspection) if build is not None else None
        return inspection

    def watch_cursor(self) -> None:
        """Report that the selection changed."""
        self._tell_selected()

    watch_inner = watch_cursor

    def _tell_selected(self) -> None:
        if self.has_focus:
            self.post_message(Selected())

    def notify_style_update(self) -> None:
        """Drop the drawn pictures: another theme has another background."""
        super().notify_style_update()
        self._pictures.clear()

    # --- drawing --------------------------------------------------------------------------

    def _line(self, number: int) -> tuple[int, Drawn]:
        """Return a line of the trace and the index of its card."""
        index = number - self._layout.end
        if index < 0:
            return self._layout.line(number)
        return len(self._layout.cards), self._after[index] if index < len(self._after) else Drawn(-1, ())

    def render_line(self, y: int) -> Strip:
        """Render a line."""
        number, width = y + self.scroll_offset.y, self.scrollable_content_region.width
        base = self.rich_style
        index, (row, line, paper, picture) = self._line(number)
        if picture is not None and (drawn := self._pictured(picture)) is not None:
            blank = Strip.blank(trace_lines.MARGIN, base)
            return Strip.join([blank, drawn]).adjust_cell_length(width, base).apply_offsets(0, number)
        if paper:
            base = base + self._styles[paper]
        chosen = (index, row) == (self.cursor, self.inner) and index < len(self._layout.cards)
        first, after = self._layout.place(index, row) if chosen and self.has_focus else (0, 0)
        if first <= number < after:  # without the blank lines around it, with those in it
            base = base + self._styles["cursor"]
            strip = to_strip(line, self._styles, base, width)
            if first == number:
                mark = to_strip((("›", ""),), self._styles, base + self._styles["mark"], 1)
                strip = Strip.join([mark, strip.crop(1)])
        else:
            strip = to_strip(line, self._styles, base, width)
        if self._needle:
            strip = marked(strip, self._needle, self._styles["hit"])
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(number)) is not None:
            strip = restyle(strip, *span, self.screen.get_component_rich_style("screen--selection"))
        return strip.apply_offsets(0, number)

    def _pictured(self, part: Slice) -> Strip | None:
        """Return a line of a picture; request the picture if it is not decoded yet."""
        if self._pictures.should_request(part):
            self.call_next(
                self._request_picture, part
            )  # a message that is made while painting reaches no app
        return self._pictures.line(part)

    def _request_picture(self, part: Slice) -> None:
        self.post_message(PictureAsked(self, part.handle, part.columns))  # type: ignore[arg-type]

    def picture(self, handle: str, columns: int, lines: Sequence[Strip]) -> None:
        """Show a picture's lines; empty if it cannot be shown."""
        self._pictures.put(handle, columns, lines)
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render lines so that no character of theirs moves the pane beside them."""
        strips = super().render_lines(crop)
        # A screen on top lays these lines out again, and would take cursor movements for text.
        return anchored(strips, self.region.x + crop.x) if self.screen.is_active else strips

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the text selected with the mouse."""
        first = selection.start.y if selection.start else 0
        last = selection.end.y if selection.end else self.virtual_size.height - 1
        lines = [""] * first
        lines += [text_of(self._line(number)[1].line) for number in range(first, last + 1)]
        return selection.extract("\n".join(lines)), "\n"
