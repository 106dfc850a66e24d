"""The trace: a conversation of cards, drawn line by line from the view's rows.

Textual's line API (`ScrollView.render_line`): one widget for the whole list, and only what is on screen is
wrapped and coloured. At its end it follows what comes; whoever scrolls up stays where they are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar, Literal, TypeAlias

from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size

from alita_tui.console.actions import bindings
from alita_tui.console.messages import CopyAsked
from alita_tui.console.session import trace_lines, trace_messages
from alita_tui.console.session.card_parts import Drawn
from alita_tui.console.session.side import Side
from alita_tui.console.session.trace_messages import RatingKind
from alita_tui.console.session.trace_sent import TraceSent
from alita_tui.view.card_words import copied
from alita_tui.view.cards import LEVELS, Level
from alita_tui.view.model import SessionView, TraceRow


class Trace(TraceSent):
    """Cards of a session: its tasks, their steps and answers."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("trace", "pane", excluded=("pane.help",))
    DEFAULT_CSS = """
    Trace {
        background: $background; color: $foreground;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable; overflow-x: hidden;
    }
    """

    FollowChanged: TypeAlias = trace_messages.FollowChanged
    LevelChosen: TypeAlias = trace_messages.LevelChosen
    FindAsked: TypeAlias = trace_messages.FindAsked
    ExplainAsked: TypeAlias = trace_messages.ExplainAsked
    FileAsked: TypeAlias = trace_messages.FileAsked
    PictureAsked: TypeAlias = trace_messages.PictureAsked
    RateAsked: TypeAlias = trace_messages.RateAsked
    RewindAsked: TypeAlias = trace_messages.RewindAsked
    Refused: TypeAlias = trace_messages.Refused

    # --- what is shown --------------------------------------------------------------------

    @property
    def row(self) -> int:
        """The selected row; for a card, the row with its outcome; -1 for none."""
        if self.inner >= 0 or not 0 <= self.cursor < len(self._layout.cards):
            return self.inner
        card = self._layout.cards[self.cursor]
        if card.kind == "steps" and card.section is not None:
            return card.section.task
        return card.rows[-1] if card.kind == "step" else card.rows[0]

    def _selected(self) -> TraceRow | None:
        return self._layout.rows[self.row] if self.row >= 0 else None

    def advance(self, view: SessionView) -> None:
        """Draw a newer view, or an earlier one after a seek."""
        if self.fill(view):
            return
        layout = self._layout
        same = view.trace is layout.rows and view.builds is self._view.builds and len(layout.rows) > 0
        if same and view.live == self._view.live:
            return
        self._take_up(view)
        newest = self._at_newest()
        card_count = len(layout.cards)
        self._view, unchanged = view, layout.show(view.trace, view.builds, view.state.ratings)
        count = len(layout.rows)
        if not layout.width:
            self.cursor = len(layout.cards) - 1
            return
        self._place()
        self._select_again(newest)
        new = range(len(layout.cards) - 1, card_count - 1, -1)
        answer = next((index for index in new if layout.cards[index].kind == "answer"), -1)
        # By its own number: what is on record may come with the first events after it.
        if self.follow and answer >= 0 and layout.rows[layout.cards[answer].rows[0]].seq > self.known:
            self._pin(answer)
        self._tell_selected()
        if count > unchanged and not self.follow and layout.end > self.size.height:
            self._unseen += count - unchanged
            self.post_message(self.FollowChanged(self._unseen))
        elif self._unseen and layout.end <= self.size.height:
            self._follow_again()  # steps folded, and all of it is on screen

    def greet(self, states: tuple[trace_lines.State, ...]) -> None:
        """Show on the empty trace whether model and sandbox are available."""
        if states != self._states:
            self._states = states
            if self._layout.width and not len(self._layout.rows):
                self._place()

    def _at_newest(self) -> bool:
        """Return whether the last card on screen is selected."""
        if not self._layout.width:
            return True
        last = self._layout.stop(self._layout.end - 1, -1)
        return last is None or self.cursor >= last[0]

    def _select_again(self, newest: bool) -> None:
        """Keep the cursor on a visible card: on the newest while following, or on the header of folded steps."""
        layout = self._layout
        if self.cursor >= len(layout.cards) or (newest and self.follow):
            last = layout.stop(layout.end - 1, -1)
            self.cursor, self.inner = last if last is not None else (-1, -1)
        elif self.cursor >= 0:
            card = layout.cards[self.cursor]
            if layout.deck.hidden(card) and card.section is not None:
                self.cursor, self.inner = card.section.header, -1
            elif self.inner >= len(layout.rows) or not layout.deck.opened(card):
                self.inner = -1

    def _pin(self, answer: int) -> None:
        """Show the head of an answer that is taller than the screen, and stop following."""
        top, bottom = self._layout.place(answer)
        if bottom - top <= self.size.height or self.size.height < 2:
            return
        self.follow = False
        self.cursor, self.inner = answer, -1
        self.call_after_refresh(self._scroll_to_selected)

    def detail(self, level: Level) -> None:
        """Change how much of the cards is shown that nobody opened or closed."""
        layout, selected = self._layout, self.cursor
        layout.detail(level)
        if self._load is not None:
            self._load.detail()
        if not layout.width:
            return
        self._place()
        self._select_again(newest=False)
        if selected >= 0 and not self.follow:
            self.call_after_refresh(self._scroll_to_selected)

    def action_level(self) -> None:
        """Show the next level of detail: answers, steps, everything."""
        level = LEVELS[(LEVELS.index(self.level) + 1) % len(LEVELS)]
        self.detail(level)
        self.post_message(self.LevelChosen(level))

    def _place(self, top: int | None = None) -> None:
        """Update the total height, keeping `top` or the current line at the top."""
        layout, lines = self._layout, max(self.size.height, 1)
        self._after = [Drawn(-1, line) for line in trace_lines.growing(self._view.live, layout.width)]
        self._after += self._expected_lines()
        if not len(layout.rows) and not self._after:
            welcome = trace_lines.greeting(self._welcome, self._states, layout.width)
            self._after = [Drawn(-1, line) for line in welcome]
        if self.follow:
            # Measuring the last cards may move the end up.
            for _ in range(2):
                layout.settle(layout.end + len(self._after) - lines, lines)
        else:
            top = layout.settle(round(self.scroll_y) if top is None else top, lines)
        self.virtual_size = Size(layout.width, layout.end + len(self._after))
        if self.follow:
            # The new size takes effect with the next layout; a scroll before it would stop short.
            self.call_after_refresh(self._to_end)
        elif top is not None and top != round(self.scroll_y):
            self.scroll_to(y=top, animate=False, immediate=True)
        self.refresh()

    def _to_end(self) -> None:
        if self.follow and self.virtual_size.height != self._layout.end + len(self._after):
            self._place()  # lines painted in the meantime were taller than estimated
        elif self.follow:
            self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True)

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap for the new width, keeping the top row in place."""
        width, layout = self.scrollable_content_region.width, self._layout
        if width > 0 and width != layout.width:
            top = layout.card_at(round(self.scroll_y))
            first = not layout.width
            layout.fit(width)
            if self._load is not None:
                self._load.fit(width)
            self._place(layout.place(top)[0] if top < len(layout.cards) and not first else None)
            if first:
                self._select_again(newest=True)
        elif self.follow:
            self.call_after_refresh(self._to_end)

    # --- moving ---------------------------------------------------------------------------

    def _go(self, stop: tuple[int, int] | None) -> None:
        """Select a card or row and scroll to it; the last one follows again."""
        layout = self._layout
        if stop is None or not layout.width:
            return
        self.cursor, self.inner = stop
        if (
            stop == layout.stop(layout.end - 1, -1)
            and layout.place(*stop)[1] - layout.place(*stop)[0] <= self.size.height
        ):
            self._follow_again()
            self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True)
            return
        self.follow = False
        self._scroll_to_selected()

    def spots(self) -> Iterator[tuple[int, Callable[[], None]]]:
        """Yield the first line on screen of each card, and what selects it."""
        top, last = round(self.scroll_y), None
        for y in range(self.size.height if self._layout.width else 0):
            stop = self._layout.stop(top + y, 1)
            if stop is not None and stop != last and self._layout.place(*stop)[0] in (top + y, top - 1):
                last = stop
                yield y, partial(self._go, stop)

    def watch_scroll_y(self, old: float, new: float) -> None:
        """Stop following when scrolled up; follow again at the end."""
        super().watch_scroll_y(old, new)
        at_end = new >= self.max_scroll_y - 0.5
        if new < old and not at_end and self.follow:
            self.follow = False
        elif new > old and at_end and not self.follow:
            self._follow_again()
        self._measure_visible()

    def _measure_visible(self) -> None:
        """Measure the rows on screen."""
        layout, line = self._layout, round(self.scroll_y)
        end = layout.end
        top = layout.settle(line, max(self.size.height, 1))
        if layout.end != end:
            self.virtual_size = Size(layout.width, layout.end + len(self._after))
            if top != line:
                self.scroll_to(y=top, animate=False, immediate=True)

    def _follow_again(self) -> None:
        self.follow = True
        self._unseen = 0
        self.post_message(self.FollowChanged(0))

    def watch_has_focus(self, focused: bool) -> None:
        """Select the newest card on focus, if none is selected."""
        super().watch_has_focus(focused)
        if focused and self.cursor < 0 and self._layout.width:
            self._select_again(newest=True)

    def on_click(self, event: events.Click) -> None:
        """A click selects a card or row, a second one opens it."""
        index, drawn = self._line(event.y + self.scroll_offset.y)
        if index < len(self._layout.cards) and self.text_selection is None:
            if (index, drawn.row) == (self.cursor, self.inner) and event.chain > 1:
                self.action_open()
            self.cursor, self.inner = index, drawn.row

    def action_up(self) -> None:
        """Go one card up, or one line inside a card taller than the screen."""
        if not self._selected_visible():
            self._go(self._layout.stop(round(self.scroll_y) + self.size.height - 1, -1))
            return
        top = self._layout.place(self.cursor, self.inner)[0]
        if top < round(self.scroll_y):
            self.scroll_relative(y=-1, animate=False, immediate=True)
        else:
            self._go(self._layout.stop(top - 1, -1))

    def action_down(self) -> None:
        """Go one card down, or one line inside a card taller than the screen."""
        if not self._selected_visible():
            self._go(self._layout.stop(round(self.scroll_y), 1))
            return
        below = self._layout.place(self.cursor, self.inner)[1]
        if below > round(self.scroll_y) + self.size.height:
            self.scroll_relative(y=1, animate=False, immediate=True)
        else:
            self._go(self._layout.stop(below, 1))

    def _selected_visible(self) -> bool:
        return self._layout.visible(self.cursor, self.inner, round(self.scroll_y), self.size.height)

    def action_page(self, direction: int) -> None:
        """A page up or down, through cards taller than the screen as well."""
        layout = self._layout
        if not layout.width or not len(layout.cards):
            return
        page = max(self.size.height - 2, 1)
        start = round(self.scroll_y)
        if direction < 0:
            self.follow = False
        self.scroll_to(y=max(start + direction * page, 0), animate=False, immediate=True)
        line = round(self.scroll_y)
        if line == start:
            self._go(layout.stop(0, 1) if direction < 0 else layout.stop(layout.end - 1, -1))
        elif not self._selected_visible():
            stop = (
                layout.stop(line, 1) if direction < 0 else layout.stop(min(line + page, layout.end - 1), -1)
            )
            if stop is not None:
                self.cursor, self.inner = stop

    def action_first(self) -> None:
        """To the first card."""
        self._go(self._layout.stop(0, 1))

    def action_last(self) -> None:
        """To the last card, and follow what comes."""
        self._go(self._layout.stop(self._layout.end - 1, -1))
        if self._layout.width and len(self._layout.cards):
            self._follow_again()
            self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True)

    def action_open(self) -> None:
        """Open or close the card or row; show the content of a file."""
        row = self._selected()
        if row is not None and row.kind == "file":
            self.action_file("view")
        else:
            self.unfold()

    def unfold(self) -> None:
        """Open or close the card or row."""
        if 0 <= self.cursor < len(self._layout.cards) and self._layout.width:
            self.follow = False
            self._layout.toggle(self.cursor, self.inner)
            self._place()
            self.call_after_refresh(self._scroll_to_selected, opened=True)

    def _scroll_to_selected(self, *, opened: bool = False) -> None:
        """Scroll to the selected card or row, with `opened` to all that it holds; to its first line if that is tall."""
        if 0 <= self.cursor < len(self._layout.cards):
            top, bottom = self._layout.place(self.cursor, self.inner)
            if opened and self.inner < 0:
                bottom = self._layout.end_of(self.cursor)
            tall = min(max(bottom - top, 1), max(self.size.height, 1))
            self.scroll_to_region(Region(0, top, 1, tall), animate=False, immediate=True)

    # --- copying and finding --------------------------------------------------------------

    def action_divide(self, cells: int) -> None:
        """Make the panes at the side wider by some cells, or narrower."""
        for side in self.screen.query(Side):
            if side.display:
                side.resize_by(cells)

    def action_yank(self) -> None:
        """Copy the text of the card or row."""
        if self.inner >= 0:
            row = self._layout.rows[self.inner]
            self.post_message(CopyAsked(str(row.detail or row.title)))
        elif 0 <= self.cursor < len(self._layout.cards):
            self.post_message(CopyAsked(copied(self._layout.deck, self._layout.cards[self.cursor])))

    def action_explain(self) -> None:
        """Ask why the event at the cursor happened."""
        if (row := self._selected()) is not None:
            self.post_message(self.ExplainAsked(row.seq))

    def action_file(self, what: Literal["view", "save", "open"]) -> None:
        """Look into the file of the chosen row, save it, or open it with its program."""
        if (row := self._selected()) is not None:
            if row.kind == "file":
                self.post_message(self.FileAsked(self, row.detail.partition("\n")[0], what))
            else:
                self.notify("This row is no file.")

    def action_rate(self, rating: RatingKind) -> None:
        """Say how good the answer or run of the chosen row is."""
        if self._selected() is not None:
            self.post_message(self.RateAsked(self._layout.deck.rated(self.cursor, self.row), rating))

    def action_rewind(self) -> None:
        """Show the session as it was at the selected row."""
        if (row := self._selected()) is not None:
            self.post_message(self.RewindAsked(row.seq))

    def action_find(self) -> None:
        """Open the search."""
        self.post_message(self.FindAsked())

    def find(self, needle: str) -> int:
        """Search rows; go to the newest hit at or before the cursor. Return the number of hits."""
        self._needle = needle.lower()
        hits = self._layout.hits(self._needle)
        if hits:
            row = self.row if self.row >= 0 else len(self._layout.rows) - 1
            self._show_hit(hits[max(bisect_right(hits, row) - 1, 0)])
        self.refresh()
        return len(hits)

    def action_find_next(self, direction: int) -> None:
        """Go to the next hit, wrapping around."""
        hit = self._layout.next_hit(self._hit, self._needle, direction)
        if hit is not None:
            self._show_hit(hit)

    def _show_hit(self, row: int) -> None:
        """Go to the card of a hit; unfold and open what hides the text."""
        self._hit, layout = row, self._layout
        if not layout.width:
            return
        card = layout.card_of(row)
        layout.reveal(row)
        inner = row if len(layout.cards[card].rows) > 1 else -1
        self.follow = False
        if not layout.shows(card, row, self._needle):
            layout.toggle(card, inner)
        self._place()
        self.cursor, self.inner = card, inner
        self.call_after_refresh(self._scroll_to_selected)
