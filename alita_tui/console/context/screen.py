"""What the next call would send: its parts with their tokens, the text of one of them; blocks are switched here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar

from rich.cells import set_cell_size
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from alita_tui.console.actions import bindings, key_of
from alita_tui.console.messages import CommandAsked
from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.figures import parted
from alita_tui.console.widgets.key_line import KeyLine
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import Sheet, say
from alita_tui.console.widgets.styled_text import at_words, rejoined
from alita_tui.spine.commands import SwitchBlock
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports.context import BLOCKS, NextCall, Part
from alita_tui.spine.text import clip, counted, neutralise, one_line
from alita_tui.view.model import SessionView

_TWO_COLUMNS = 130
_NAME, _BAR = 24, 30
_NARROWEST = 30
"""Cells that a row takes at least."""
_LONGEST = 60_000
"""Characters of a part that are shown, its beginning and its end."""
_WAIT = 0.5
"""Seconds in which what happens meanwhile is taken together."""


class ContextScreen(Dialog[None]):
    """A list of parts and the text of the chosen one; looks again when the session goes on."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("context")
    CSS_PATH: ClassVar[Stylesheets] = ["../widgets/dialog.tcss", "screen.tcss"]

    def __init__(
        self, view: SessionView, keys: Mapping[str, str], look: Callable[[], Awaitable[NextCall]]
    ) -> None:
        """`look` returns what the next call would send. May raise AlitaError."""
        super().__init__()
        self._seq = view.seq
        self._keys = keys
        self._look = look
        self._call: NextCall | None = None
        self._shown = ""
        self._waiting = False

    def compose(self) -> ComposeResult:
        """Keys, list, text, totals."""
        switch = key_of("context.switch", self._keys)
        with Vertical(id="box"):
            keys = f"Esc closes · {switch} switches a block · Tab goes to the text"
            yield Plain(Content.assemble(("Next call", "bold $accent"), f"   {keys}"))
            with Container(id="both"):
                yield OptionList(id="list", markup=False)
                yield Sheet(id="text")
            yield KeyLine(id="said")

    def on_mount(self) -> None:
        """Look for the first time."""
        self.query_one(OptionList).focus()
        self.say("Reading …")
        self._again()

    def on_resize(self) -> None:
        """Draw for the new width."""
        self.query_one("#both").set_class(self.query_one("#box").size.width >= _TWO_COLUMNS, "-wide")
        self.call_after_refresh(self._draw)

    def advance(self, view: SessionView) -> None:
        """Look again where something happened since."""
        if view.seq == self._seq:
            return
        self._seq = view.seq
        if not self._waiting:
            self._waiting = True
            self.set_timer(_WAIT, self._again)

    @work(name="context", group="context", exclusive=True, exit_on_error=False)
    async def _again(self) -> None:
        self._waiting = False
        try:
            self._call = await self._look()
        except AlitaError as error:
            self.say(str(error), bad=True)
            return
        self._draw()

    # --- drawing ----------------------------------------------------------------------------

    @property
    def _chosen(self) -> Part | None:
        place = self.query_one(OptionList).highlighted
        return self._call.parts[place] if self._call is not None and place is not None else None

    def _draw(self) -> None:
        call, listed = self._call, self.query_one(OptionList)
        if call is None:
            return
        before = listed.highlighted or 0
        width = max(listed.scrollable_content_region.width, _NARROWEST)
        rows = [_row(part, call, width) for part in call.parts]
        if listed.option_count == len(rows):
            for place, row in enumerate(rows):
                listed.replace_option_prompt_at_index(place, row)
        else:
            listed.clear_options()
            listed.add_options([Option(row) for row in rows])
            listed.highlighted = min(before, len(rows) - 1)
        self._total(call)
        self._read()

    def _total(self, call: NextCall) -> None:
        guessed = "" if call.known_window else ", which is assumed"
        share = call.tokens / max(call.window, 1)
        left = (
            (call.masked, "observations as one line"),
            (call.shortened, "shortened"),
            (call.left_out, "turns left out"),
        )
        more = "".join(f" · {number} {what}" for number, what in left if number)
        summary = f"{call.tokens:,} tokens: {100 * share:.0f} % of a window of {call.window:,}{guessed}{more}"
        if call.problems:
            self.say(f"{summary} · not sent: {'; '.join(call.problems)}", bad=True)
        else:
            self.say(summary)

    @on(OptionList.OptionHighlighted)
    def _read(self) -> None:
        part, sheet = self._chosen, self.query_one(Sheet)
        if part is None:
            return
        if part.text:
            text = neutralise(clip(part.text, _LONGEST)[0])
            rows = say(rejoined(text, sheet.size.width) if part.name == "prompt" else text)
        else:
            meaning = next((meaning for name, meaning in BLOCKS.items() if name == part.block), "")
            state = "There is nothing to send." if part.on else "It is off: nothing of it is sent."
            rows = [*say(f"{meaning[:1].upper()}{meaning[1:]}."), *say(state, "muted")]
        sheet.show(rows, top=part.name != self._shown)
        self._shown = part.name

    # --- switching --------------------------------------------------------------------------

    def action_switch(self) -> None:
        """Switch the chosen block; what is no block cannot be."""
        part = self._chosen
        if part is None:
            return
        if not part.block:
            self.say(f"{part.name} cannot be switched off: the agent does not work without it.")
            return
        self.post_message(CommandAsked(SwitchBlock(block=part.block, on=not part.on)))


def _row(part: Part, call: NextCall, width: int) -> Content:
    mark = ("●" if part.on else "○") if part.block else " "
    share = part.tokens / max(call.tokens, 1)
    quiet = not part.on or not part.tokens
    state = (counted(part.turns, "turn") if part.turns else "empty") if part.on else "off"
    percent = "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"
    figures = f"{part.tokens:>8,} {percent:>5}"
    # What little room there is goes to names and figures: without it first the bar is left out, then the turns.
    column = min(_NAME, width - 3 - len(figures))
    left = width - 3 - column - len(figures)
    turns = f"{state:>9} " if left >= 10 else ""
    room = min(left - len(turns) - 4, _BAR)
    full, track = parted(share, room) if room > 7 and part.tokens else ("", "")
    return Content.assemble(
        (f" {mark} ", "$accent" if part.on else "$alita-muted"),
        (
            set_cell_size(at_words(one_line(part.name, _NAME), column), column),
            "$alita-muted" if quiet else "",
        ),
        (turns, "$alita-muted"),
        (figures, "$alita-muted" if quiet else "bold"),
        (f"  {full}", "$accent"),
        (track, "$alita-line"),
    )
