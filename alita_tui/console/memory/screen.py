"""The memory: everything remembered with its source; pin, edit, share and forget with one key each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from alita_tui.console.actions import bindings, key_of
from alita_tui.console.memory.ports import MemoryCatalog, MemoryChange, MemoryView
from alita_tui.console.memory.rows import details, item_row
from alita_tui.console.messages import CommandAsked, ReplayAsked
from alita_tui.console.widgets.choice_list import ChoiceList
from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.key_line import KeyLine
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import Sheet
from alita_tui.spine.commands import ForgetMemory
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports.memory import OFFERED, Remembered
from alita_tui.spine.ports.stream import Clock
from alita_tui.spine.text import counted, one_line

_TWO_COLUMNS = 120
_AROUND, _ABOUT = 7, 12
"""Lines above and below the list; lines for the details of an item."""


class MemoryScreen(Dialog[None]):
    """A list of what is remembered, and the details of the chosen item."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("memory")
    CSS_PATH: ClassVar[Stylesheets] = ["../widgets/dialog.tcss", "screen.tcss"]

    def __init__(
        self, catalog: MemoryCatalog, keys: Mapping[str, str], clock: Clock, *, may_change: bool = True
    ) -> None:
        """Without `may_change`, while the past is on screen, the memory is only looked at."""
        super().__init__()
        self._catalog = catalog
        self._keys = keys
        self._clock = clock
        self._may_change = may_change
        self._memory: MemoryView | None = None
        self._everything = False
        self._editing = ""
        self._gone: list[str] = []
        """Ids of the items forgotten on this screen, the newest last."""

    def compose(self) -> ComposeResult:
        """Filter, list, details, input line and keys."""
        with Vertical(id="box"):
            yield Plain(id="head")
            yield Input(placeholder="Words, or fact, recipe, episode, failure, rejection", id="find")
            with Container(id="both"):
                yield ChoiceList()
                yield Sheet(id="detail")
            yield Input(id="line", select_on_focus=False)
            yield KeyLine(id="said")

    def on_mount(self) -> None:
        """Read the memory."""
        self.query_one(ChoiceList).focus()
        self._hint()
        self._read()

    def on_resize(self) -> None:
        """Draw for the new width."""
        self.query_one("#both").set_class(self.query_one("#box").size.width >= _TWO_COLUMNS, "-wide")
        self.call_after_refresh(self._fill)

    @work(name="memory", group="memory", exclusive=True, exit_on_error=False)
    async def _read(self) -> None:
        try:
            self._memory = await self._catalog.memory()
        except AlitaError as error:
            self.say(str(error), bad=True)
            return
        self._fill()

    # --- drawing ----------------------------------------------------------------------------

    def _fitting(self) -> list[Remembered]:
        memory = self._memory or MemoryView()
        words = self.query_one("#find", Input).value.casefold().split()
        matching = [
            entry
            for entry in reversed(memory.items)
            if (self._everything or (entry.holds and entry.project in ("", memory.project)))
            and all(word in _searched(entry) for word in words)
        ]
        return sorted(matching, key=lambda entry: not entry.pinned)

    def _fill(self) -> None:
        if self._memory is None:
            return
        listed = self.query_one(ChoiceList)
        width = max(listed.size.width - 2, 40)
        items, now = self._fitting(), self._clock()
        options = [
            Option(item_row(entry, width, now, self._memory.project), id=entry.item.item_id)
            for entry in items
        ]
        listed.fill(options, self._empty())
        wide, kept = self.query_one("#both").has_class("-wide"), len(self._memory.items)
        self.fit(_AROUND + (max(kept, _ABOUT) if wide else kept + _ABOUT))
        self._head(len(items))
        self._about()

    def _empty(self) -> str:
        if self._memory is None or not self._memory.items:
            return " Nothing is remembered yet."
        if self._everything or self.query_one("#find", Input).value.strip():
            return " No matches."
        return f" Nothing of this project. {key_of('memory.everything', self._keys)} shows all."

    def _head(self, shown: int) -> None:
        memory = self._memory or MemoryView()
        hidden = len(memory.items) - shown
        more = f", {hidden} more not shown" if hidden else ""
        gone = f", {memory.forgotten} forgotten" if memory.forgotten else ""
        project = f" · project {one_line(memory.project, 40)}" if memory.project else ""
        self.query_one("#head", Plain).update(
            Content.assemble(("Memory", "bold $accent"), f"  {counted(shown, 'item')}{more}{gone}{project}")
        )

    def _hint(self) -> None:
        names = ["find", "open", "everything"]
        if self._may_change:
            names += ["pin", "edit", "share", "forget", "undo"]
        labels = {"open": "its source", "everything": "all", "find": "filter"}
        words = [
            Content(f"{key_of(f'memory.{name}', self._keys)} {labels.get(name, name)}") for name in names
        ]
        self.query_one("#said", KeyLine).show((*words, Content("Esc closes")), " · ")

    @property
    def _chosen(self) -> Remembered | None:
        chosen, memory = self.query_one(ChoiceList).chosen_id, self._memory or MemoryView()
        return next((entry for entry in memory.items if entry.item.item_id == chosen), None)

    @on(OptionList.OptionHighlighted)
    def _about(self) -> None:
        entry, sheet = self._chosen, self.query_one("#detail", Sheet)
        if entry is None:
            sheet.show([])
            return
        calls = (self._memory or MemoryView()).calls.get(entry.item.item_id, ())
        opens = f" · {key_of('memory.open', self._keys)} looks at it"
        makes = f"{key_of('memory.tool', self._keys)} has it built" if self._may_change else ""
        sheet.show(details(entry, calls, opens, makes))

    # --- finding and looking ----------------------------------------------------------------

    @on(Input.Changed, "#find")
    def _changed(self) -> None:
        self._fill()

    @on(Input.Submitted, "#find")
    def _to_list(self) -> None:
        self.query_one(ChoiceList).focus()

    def action_find(self) -> None:
        """Focus the filter."""
        self.query_one("#find", Input).focus()

    def action_everything(self) -> None:
        """Show items of other projects and outdated ones, or hide them."""
        self._everything = not self._everything
        self._fill()

    def action_open(self) -> None:
        """Open the source of the chosen item."""
        if (entry := self._chosen) is None:
            return
        source = (
            entry.sources[-1] if entry.sources else f"{entry.item.source_session}:{entry.item.source_seq}"
        )
        session, _, seq = source.rpartition(":")
        self.post_message(ReplayAsked(session, int(seq) or None if seq.isdigit() else None))

    @on(OptionList.OptionSelected)
    def _open_selected(self) -> None:
        self.action_open()

    # --- changing ---------------------------------------------------------------------------

    @work(name="remember", group="remember", exit_on_error=False)
    async def _do(
        self,
        message: str,
        change: MemoryChange,
        item_id: str,
        text: str = "",
        after: Callable[[], None] = lambda: None,
    ) -> None:
        try:
            self._memory = await self._catalog.change_memory(change, item_id, text)
        except AlitaError as error:
            self.say(f"{error} {error.hint}", bad=True)
            return
        after()
        self._fill()
        self.say(message)

    def action_pin(self) -> None:
        """Pin the chosen item, or no longer."""
        if (entry := self._changeable) is not None:
            message = "It is not pinned any more." if entry.pinned else "Pinned: it does not age."
            self._do(message, "unpin" if entry.pinned else "pin", entry.item.item_id)

    def action_share(self) -> None:
        """Let the chosen item belong to all projects, or to this one."""
        if (entry := self._changeable) is None or self._memory is None:
            return
        project = "" if entry.project else self._memory.project
        message = f"It belongs to {one_line(project, 60)}." if project else "It is shared by all projects."
        self._do(message, "move", entry.item.item_id, project)

    def action_edit(self) -> None:
        """Ask for other words."""
        if (entry := self._changeable) is None:
            return
        line = self.query_one("#line", Input)
        line.value, self._editing = one_line(entry.item.text, 700), entry.item.item_id
        line.cursor_position = len(line.value)
        self.query_one("#box").add_class("-asking")
        line.focus()

    @on(Input.Submitted, "#line")
    def _edited(self, event: Input.Submitted) -> None:
        item_id, self._editing = self._editing, ""
        self._close_line()
        if item_id:
            self._do("It says that now, in your words.", "edit", item_id, event.value.strip())

    def action_forget(self) -> None:
        """Forget the chosen item everywhere; undo brings it back while this screen is open."""
        if (entry := self._changeable) is None:
            return
        item_id = entry.item.item_id
        undo = key_of("memory.undo", self._keys)
        message = f"Forgotten, and it does not come back. {undo} takes that back."
        self._do(message, "forget", item_id, after=partial(self._tell, item_id, back=False))

    def action_tool(self) -> None:
        """Have the chosen recipe built as one tool: it waits for the ordinary review."""
        if (entry := self._changeable) is not None:
            if entry.offered:
                self._order(entry.item.item_id)
            else:
                self.say(
                    f"A recipe of several calls becomes one tool once it has worked {OFFERED} times alike."
                )

    @work(name="recipe as tool", group="remember", exit_on_error=False)
    async def _order(self, item_id: str) -> None:
        try:
            order = await self._catalog.recipe_as_tool(item_id)
        except AlitaError as error:
            self.say(f"{error} {error.hint}", bad=True)
            return
        self.post_message(CommandAsked(order))
        self.dismiss(None)

    def action_undo(self) -> None:
        """Bring back what was forgotten last."""
        if not self._gone:
            self.say("Nothing to undo.")
            return
        item_id = self._gone[-1]
        self._do("It is remembered again.", "back", item_id, after=partial(self._tell, item_id, back=True))

    def _tell(self, item_id: str, *, back: bool) -> None:
        if back:
            self._gone.remove(item_id)
        else:
            self._gone.append(item_id)
        self.post_message(CommandAsked(ForgetMemory(item_id=item_id, back=back)))

    @property
    def _changeable(self) -> Remembered | None:
        if not self._may_change:
            self.say("This is a recording: the memory is only looked at here.")
            return None
        return self._chosen

    def _close_line(self) -> None:
        self.query_one("#box").remove_class("-asking")
        self.query_one(ChoiceList).focus()

    def action_back(self) -> None:
        """Close the input line or the filter, else the screen."""
        find = self.query_one("#find", Input)
        if self.query_one("#box").has_class("-asking"):
            self._editing = ""
            self._close_line()
        elif find.has_focus or find.value:
            find.value = ""
            self.query_one(ChoiceList).focus()
        else:
            self.dismiss(None)


def _searched(entry: Remembered) -> str:
    return (
        f"{entry.item.text} {entry.sort} {entry.item.subject} {entry.project} {entry.item.item_id}".casefold()
    )
