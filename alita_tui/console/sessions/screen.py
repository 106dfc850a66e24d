"""The session list: open, replay, search, compare and tidy up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar, NamedTuple

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from alita_tui.console.actions import bindings, key_of
from alita_tui.console.messages import ReplayAsked
from alita_tui.console.ports import Switch
from alita_tui.console.sessions.catalog import SessionCatalog, SessionLine
from alita_tui.console.sessions.rows import details, hit_row, session_row
from alita_tui.console.widgets.choice_list import ChoiceList
from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.key_line import KeyLine
from alita_tui.console.widgets.plain import Plain
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports.stream import Clock
from alita_tui.spine.sessions import SessionHit

_LEAST = 2
"""Length from which a text is searched for in all events."""
_WIDE = 110
"""Width from which the highlighted session's details are shown beside the list."""


class _Undo(NamedTuple):
    message: str
    run: Callable[[], Awaitable[None]]


class SessionsScreen(Dialog[Switch | None]):
    """Returns the session to open, or None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("sessions")
    CSS_PATH: ClassVar[Stylesheets] = ["../widgets/dialog.tcss", "screen.tcss"]

    def __init__(
        self,
        lines: tuple[SessionLine, ...],
        catalog: SessionCatalog,
        keys: Mapping[str, str],
        clock: Clock,
        *,
        current: str = "",
    ) -> None:
        super().__init__()
        self._lines = lines
        self._catalog = catalog
        self._keys = keys
        self._clock = clock
        self._current = current
        self._hits: tuple[SessionHit, ...] = ()
        self._marked = ""
        self._archived = False
        self.background: frozenset[str] = frozenset()
        """Sessions that the background works on."""
        self._undo: list[_Undo] = []
        self._take: Callable[[str], None] | None = None
        self._filled_for = 0
        self._about_line: SessionLine | None = None
        """The session whose details are shown."""

    def compose(self) -> ComposeResult:
        """Search, list, details, input line and keys."""
        with Vertical(id="box", classes="-wide" if self.app.size.width >= _WIDE else ""):
            yield Plain(id="head")
            yield Input(placeholder="Search titles, tags and all that was said", id="find")
            with Horizontal(id="middle"):
                yield ChoiceList()
                with VerticalScroll(id="detail", can_focus=False):
                    yield Plain(id="about")
            yield Input(id="line")
            yield KeyLine(id="said")

    def on_mount(self) -> None:
        """Fill and focus the list; filling it before the first layout saves a second one."""
        self._fill(self._expected_width)
        self.query_one(ChoiceList).focus()

    def reopen(self, lines: tuple[SessionLine, ...]) -> None:
        """Take the sessions of now, before the screen is shown again; marks and what can be undone stay."""
        self._lines, self._hits = lines, ()
        with self.prevent(Input.Changed):
            self.query_one("#find", Input).value = ""
        self.query_one("#said", KeyLine).remove_class("-message")
        self._close_line()
        self._fill()

    def on_resize(self) -> None:
        """Draw for the new width."""
        self.query_one("#box").set_class(self.size.width >= _WIDE, "-wide")
        self.call_after_refresh(self._refit)

    @property
    def _expected_width(self) -> int:
        """Columns of the list before it is laid out; see the styles beside this module."""
        box = min(self.app.size.width * 96 // 100, 170) - 4
        return box - 46 if self.app.size.width >= _WIDE else box

    def _refit(self) -> None:
        """Fill the list again if it is not as wide as it was filled for."""
        width = self.query_one(ChoiceList).size.width
        if not width:  # it is laid out a moment later
            self.call_after_refresh(self._refit)
        elif width != self._filled_for:
            self._fill()

    # --- drawing --------------------------------------------------------------------------

    @property
    def _wanted(self) -> str:
        return self.query_one("#find", Input).value.strip()

    def _fitting(self) -> list[SessionLine]:
        """Return the sessions that the search matches, the last active one first."""
        words = self._wanted.casefold().split()
        return [
            line
            for line in sorted(self._lines, key=lambda line: line.active, reverse=True)
            if (self._archived or not line.archived or words)
            and all(
                word in f"{line.title} {line.session_id} #{' #'.join(line.tags)}".casefold() for word in words
            )
        ]

    def _fill(self, columns: int = 0) -> None:
        """Fill the list, for its own width unless `columns` says another."""
        listed = self.query_one(ChoiceList)
        before = listed.chosen_id
        self._filled_for = columns or listed.size.width
        width = max(self._filled_for - 2, 30)
        now, lines = self._clock(), self._fitting()
        options = [
            Option(
                session_row(
                    line,
                    width,
                    now,
                    here=line.session_id == self._current,
                    marked=line.session_id == self._marked,
                ),
                id=f"session:{line.session_id}",
            )
            for line in lines
        ]
        if self._hits:
            titles = {line.session_id: line.title for line in self._lines}
            more = (
                f"{len(self._hits)} places where it was said" if len(self._hits) > 1 else "Where it was said"
            )
            options.append(Option(Content.assemble((f" {more}", "$accent")), disabled=True))
            options += [
                Option(hit_row(hit, titles.get(hit.session_id, hit.session_id), width), id=f"hit:{n}")
                for n, hit in enumerate(self._hits)
            ]
        listed.clear_options()
        nothing = "No matches." if self._lines else "No session yet."
        listed.add_options(options or [Option(nothing, disabled=True)])
        ids = [option.id for option in options]
        listed.highlighted = ids.index(before) if before in ids else (0 if options else None)
        self._head(len(lines))
        self._about()

    def _head(self, shown: int) -> None:
        hidden = sum(line.archived for line in self._lines) if not self._archived and not self._wanted else 0
        also = f", {hidden} archived" if hidden else ""
        keys = f"Enter opens · Esc goes back · {key_of('app.help', self._keys)} all keys"
        self.query_one("#head", Plain).update(
            Content.assemble(("Sessions", "bold $accent"), f"  {shown}{also}   {keys}")
        )
        if not self.query_one("#said", Plain).has_class("-message"):
            self._hint()

    def _hint(self) -> None:
        names = ("find", "view", "compare", "mark", "rename", "tag", "archive", "delete", "undo", "archived")
        words = [Content(f"{key_of(f'sessions.{name}', self._keys)} {name}") for name in names]
        self.query_one("#said", KeyLine).show(words, " · ")

    @property
    def _hit(self) -> SessionHit | None:
        chosen = self.query_one(ChoiceList).chosen_id
        return self._hits[int(chosen[4:])] if chosen.startswith("hit:") else None

    @property
    def _line(self) -> SessionLine | None:
        chosen = self.query_one(ChoiceList).chosen_id
        hit = self._hit
        wanted = hit.session_id if hit is not None else chosen.removeprefix("session:")
        return next((line for line in self._lines if line.session_id == wanted), None)

    @on(OptionList.OptionHighlighted)
    def _about(self) -> None:
        line = self._line
        if line != self._about_line:  # each update costs a layout
            self._about_line = line
            self.query_one("#about", Plain).update(details(line, self._keys) if line is not None else "")

    def say(self, text: str, *, bad: bool = False) -> None:
        """Show a message in place of the keys."""
        super().say(text, bad=bad)
        self.query_one("#said").add_class("-message")

    # --- searching ------------------------------------------------------------------------

    @on(Input.Changed, "#find")
    def _changed(self, event: Input.Changed) -> None:
        self._hits = ()
        self._fill()
        if len(event.value.strip()) >= _LEAST:
            self._search(event.value.strip())

    @work(name="search", group="search", exclusive=True, exit_on_error=False)
    async def _search(self, text: str) -> None:
        try:
            hits = await self._catalog.search(text)
        except AlitaError as error:
            self.say(str(error))
            return
        if text == self._wanted:
            self._hits = hits
            self._fill()

    @on(Input.Submitted, "#find")
    def _to_list(self) -> None:
        self.query_one(ChoiceList).focus()

    def action_find(self) -> None:
        """Focus the search."""
        self.query_one("#find", Input).focus()

    # --- opening --------------------------------------------------------------------------

    @on(OptionList.OptionSelected)
    def _open(self) -> None:
        hit, line = self._hit, self._line
        if hit is not None:
            self.post_message(ReplayAsked(hit.session_id, hit.seq))
        elif line is not None and line.session_id in self.background - {self._current}:
            self.dismiss(Switch(line.session_id))  # it goes on there, and is looked at here
        elif line is not None and line.state == "open" and line.session_id != self._current:
            look = key_of("sessions.view", self._keys)
            self.say(f"Open in another window. {look} opens it read-only.")
        elif line is not None and line.imported:
            look = key_of("sessions.view", self._keys)
            self.say(
                f"What was approved elsewhere is not approved here: it does not go on. {look} looks at it."
            )
        elif line is not None and not line.readable:
            self.say(f"Nothing was opened. {line.own_title}")
        elif line is not None:
            self.dismiss(None if line.session_id == self._current else Switch(line.session_id))

    def action_view(self) -> None:
        """Replay the session."""
        if (line := self._line) is not None:
            self.post_message(ReplayAsked(line.session_id, self._hit.seq if self._hit else None))

    def action_mark(self) -> None:
        """Mark the session for comparing, or unmark it."""
        if (line := self._line) is not None:
            self._marked = "" if self._marked == line.session_id else line.session_id
            self._fill()

    @work(name="compare", group="compare", exclusive=True, exit_on_error=False)
    async def action_compare(self) -> None:
        """Compare with the marked session, else its parent, else the open one."""
        line = self._line
        if line is None:
            return
        other = self._marked or line.parent or self._current
        if not other or other == line.session_id:
            self.say(f"Compare it with which? {key_of('sessions.mark', self._keys)} marks another one first.")
            return
        try:
            comparison = await self._catalog.compare(other, line.session_id)
        except AlitaError as error:
            self.say(str(error))
            return
        from alita_tui.console.sessions.compare import CompareScreen

        self.app.push_screen(CompareScreen(comparison))

    # --- tidying up -----------------------------------------------------------------------

    def _ask(self, placeholder: str, value: str, take: Callable[[str], None]) -> None:
        line = self.query_one("#line", Input)
        line.placeholder, line.value, self._take = placeholder, value, take
        self.query_one("#box").add_class("-asking")
        line.focus()

    @on(Input.Submitted, "#line")
    def _answered(self, event: Input.Submitted) -> None:
        take, self._take = self._take, None
        self._close_line()
        if take is not None:
            take(event.value.strip())

    def _close_line(self) -> None:
        self.query_one("#box").remove_class("-asking")
        self.query_one(ChoiceList).focus()

    @work(name="tidy", group="tidy", exit_on_error=False)
    async def _do(self, message: str, change: Callable[[], Awaitable[None]], undo: _Undo | None) -> None:
        try:
            await change()
            self._lines = await self._catalog.sessions()
        except AlitaError as error:
            self.say(str(error))
            return
        if undo is not None:
            self._undo.append(undo)
        self.say(
            message + (f"  {key_of('sessions.undo', self._keys)} takes it back." if undo is not None else "")
        )
        self._fill()

    def action_rename(self) -> None:
        """Ask for another title."""
        if (line := self._line) is None:
            return
        catalog, name = self._catalog, line.session_id

        def take(title: str) -> None:
            before = "" if line.title == line.own_title else line.title
            undo = _Undo("The title is as it was.", lambda: catalog.rename(name, before))
            message = f"Renamed to {title!r}." if title else "It has its own title."
            self._do(message, lambda: catalog.rename(name, title), undo)

        self._ask("New title (leave empty to use the first task)", line.title, take)

    def action_tag(self) -> None:
        """Ask for other tags."""
        if (line := self._line) is None:
            return
        catalog, name = self._catalog, line.session_id

        def take(text: str) -> None:
            tags = tuple(text.replace(",", " ").split())
            undo = _Undo("The tags are as they were.", lambda: catalog.tag(name, line.tags))
            self._do("Tagged." if tags else "No tags.", lambda: catalog.tag(name, tags), undo)

        self._ask("Tags, with blanks between them", " ".join(line.tags), take)

    def action_archive(self) -> None:
        """Archive the session, or bring it back."""
        if (line := self._line) is None:
            return
        catalog, name, now = self._catalog, line.session_id, not line.archived
        undo = _Undo("Back as it was.", lambda: catalog.archive(name, not now))
        self._do("Archived." if now else "In the list again.", lambda: catalog.archive(name, now), undo)

    def action_archived(self) -> None:
        """Show or hide archived sessions."""
        self._archived = not self._archived
        self._fill()

    def action_delete(self) -> None:
        """Delete the session."""
        if (line := self._line) is None:
            return
        if line.session_id == self._current:
            self.say("This session is open; open another one first.")
            return
        catalog, name = self._catalog, line.session_id
        undo = _Undo("It is back.", lambda: catalog.restore(name))
        self._do("Deleted.", lambda: catalog.delete(name), undo)

    def action_undo(self) -> None:
        """Undo the last change."""
        if not self._undo:
            self.say("Nothing to undo.")
            return
        last = self._undo.pop()
        self._do(last.message, last.run, None)

    def action_back(self) -> None:
        """Close the input line or the search, else the list."""
        if self.query_one("#box").has_class("-asking"):
            self._take = None
            self._close_line()
        elif self.query_one("#find", Input).has_focus or self._wanted:
            self.query_one("#find", Input).value = ""
            self.query_one(ChoiceList).focus()
        else:
            self.dismiss(None)
