"""A file of the session over the whole screen: shown by its type, saved, opened, searched."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar, Literal, Self

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region
from textual.style import Style
from textual.widgets import Input

from alita_tui.console.actions import bindings, shown_keys
from alita_tui.console.files.paged import HexPane, PagedPane
from alita_tui.console.files.pane import Pane
from alita_tui.console.files.picture import PicturePane
from alita_tui.console.files.ports import OpenFile, Way
from alita_tui.console.files.table import TablePane
from alita_tui.console.files.text_panes import CodePane, MarkdownPane
from alita_tui.console.files.tree import TreePane, nodes_of
from alita_tui.console.ports import Graphics
from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.key_line import KeyLine
from alita_tui.console.widgets.plain import Plain
from alita_tui.events import Artefact
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.text import one_line

Take = Callable[[Literal["save", "open"]], Awaitable[str]]
_ENTER: dict[Way, str] = {"table": "sort", "json": "fold"}


class FileScreen(Dialog[None]):
    """Head, the file, messages, keys."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("file")
    CSS_PATH: ClassVar[Stylesheets] = ["../widgets/dialog.tcss", "screen.tcss"]
    AUTO_FOCUS = ""

    def __init__(
        self, file: OpenFile, artefact: Artefact, take: Take, *, graphics: Graphics | None = None
    ) -> None:
        """`take` saves the file, or opens it with its program, and returns the path. May raise AlitaError."""
        super().__init__()
        self._file = file
        self._artefact = artefact
        self._take = take
        self._graphics = graphics
        self._ways = list(file.ways)
        self._asking: Literal["find", "go"] = "find"

    @property
    def way(self) -> Way:
        """How the file is shown."""
        return self._ways[0]

    @property
    def pane(self) -> Pane | None:
        """The pane with the file; None while it is made."""
        panes = self.query(Pane)
        return panes.first() if panes else None

    def compose(self) -> ComposeResult:
        """Head, a place for the file, an input line, a line for messages, and the keys."""
        with Vertical(id="box"):
            yield Plain(id="head")
            yield Vertical(id="body")
            yield Input(id="asked")
            yield Plain(id="said")
            yield KeyLine(id="keys")

    def on_mount(self) -> None:
        """Show the file the best way."""
        self._draw()
        self._show()
        self._check()

    def on_unmount(self) -> None:
        """Close the file."""
        self._file.close()

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> Self:
        """Draw again, unless only the session below did: it is covered, and a picture would be sent anew for it."""
        if regions and not (layout or recompose):
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    # --- showing ------------------------------------------------------------------------------

    @work(name="file", group="show", exclusive=True, exit_on_error=False)
    async def _show(self) -> None:
        """Show the file; if one way fails, try the next."""
        why = ""
        while True:
            try:
                pane = await self._make_pane(self.way)
                break
            except AlitaError as error:
                why = why or str(error)
                if len(self._ways) == 1:
                    self._tell(why, bad=True)
                    return
                self._ways.pop(0)
        body = self.query_one("#body", Vertical)
        await body.remove_children()
        await body.mount(pane)
        if not self.query_one("#asked", Input).has_class("-shown"):
            pane.focus()
        self._draw()
        self._tell(why, bad=True)

    async def _make_pane(self, way: Way) -> Pane:
        match way:
            case "markdown":
                return MarkdownPane(await self._file.text())
            case "code":
                return CodePane(await self._file.code())
            case "json":
                value = await self._file.value()
                return TreePane(await asyncio.to_thread(nodes_of, value))
            case "picture":
                return PicturePane(self._file, self._graphics)
            case _:
                pages = await self._file.pages(way)
                kind = {"table": TablePane, "hex": HexPane}.get(way, PagedPane)
                return kind(pages, await pages.extent())

    @work(name="check", group="check", exclusive=True, exit_on_error=False)
    async def _check(self) -> None:
        """Report if another program changed the bytes; reading all of a large file takes a while."""
        try:
            await self._file.check()
        except AlitaError as error:
            self._tell(str(error), bad=True)

    def _draw(self) -> None:
        file, pane = self._artefact, self.pane
        facts = [
            one_line(file.media_type, 80),
            _size(file.size),
            pane.size_words if pane else "",
            f"as {self.way}",
        ]
        self.query_one("#head", Plain).update(
            Content.assemble(
                (one_line(file.name, 100), "bold $accent"),
                ("  " + " · ".join(filter(None, facts)), "$alita-muted"),
            )
        )
        keys = shown_keys(self) | (shown_keys(pane) if pane else {})
        enter = _ENTER.get(self.way, "")
        asked = self.query_one("#asked", Input).has_class("-shown")
        searched = pane is not None and pane.needle
        items = [
            ("Enter", "find" if self._asking == "find" else "go there"), (keys.get("back", ""), "back"),
        ] if asked else [
            (keys.get("back", ""), "back"),
            *(((f"{keys.get('find_next(1)')} {keys.get('find_next(-1)')}", "next hit"),) if searched else ()),
            (keys.get("take('save')", ""), "save"), (keys.get("take('open')", ""), "open"),
            *(((keys.get("open", ""), enter),) if enter else ()),
            *(((keys.get("find", ""), "find"),) if self.way != "picture" else ()),
            *(((keys.get("ask_number", ""), "go to"),) if self.way in ("table", "text", "code") else ()),
            *(((keys.get("way", ""), f"as {self._ways[1]}"),) if len(self._ways) > 1 else ()),
            (keys.get("yank", ""), "copy"), (shown_keys(self.app).get("help", ""), "all keys"),
        ]  # fmt: skip
        parts = [Content.assemble((key, "bold"), f" {label}") for key, label in items]
        self.query_one("#keys", KeyLine).show(parts)

    def _tell(self, text: str, *, bad: bool = False) -> None:
        line = self.query_one("#said", Plain)
        line.set_class(bad and bool(text), "-bad")
        line.update(one_line(text, 400))

    @on(Pane.Notice)
    def _notice(self, message: Pane.Notice) -> None:
        message.stop()
        self._tell(message.text, bad=message.bad)

    @on(Pane.Counted)
    def _counted(self, message: Pane.Counted) -> None:
        message.stop()
        self._draw()

    def action_way(self) -> None:
        """Show the file the next way."""
        self._ways.append(self._ways.pop(0))
        self._show()

    # --- copying, saving, opening -------------------------------------------------------------

    @work(name="take", group="take", exclusive=True, exit_on_error=False)
    async def action_take(self, use: Literal["save", "open"]) -> None:
        """Save the file, or open it with its program."""
        try:
            path = await self._take(use)
        except AlitaError as error:
            self._tell(str(error), bad=True)
            return
        link = Style(link=Path(path).as_uri(), underline=True) if Path(path).is_absolute() else ""
        line = self.query_one("#said", Plain)
        line.remove_class("-bad")
        line.update(
            Content.assemble(
                ("Saved as " if use == "save" else "Opened ", "$alita-muted"), (one_line(path, 400), link)
            )
        )

    # --- searching ----------------------------------------------------------------------------

    @on(Pane.FindAsked)
    def _find_asked(self, message: Pane.FindAsked) -> None:
        message.stop()
        if message.direction and self.pane is not None:
            self._find(self.pane.cursor + message.direction, message.direction)
        else:
            self._ask("find", "Find")

    def action_ask_number(self) -> None:
        """Ask which line to go to."""
        if self.way in ("table", "text", "code"):
            self._ask("go", "Number of the row" if self.way == "table" else "Number of the line")

    def _ask(self, question: Literal["find", "go"], hint: str) -> None:
        self._asking = question
        line = self.query_one("#asked", Input)
        line.placeholder, line.value = hint, ""
        line.add_class("-shown")
        line.focus()
        self._draw()

    def action_back(self) -> None:
        """Close the question, stop the search, or close the file."""
        line = self.query_one("#asked", Input)
        searching = [worker for worker in self.workers if worker.group == "seek" and not worker.is_finished]
        if line.has_class("-shown"):
            self._answered_with("")
        elif searching:
            self.workers.cancel_group(self, "seek")
            self._tell("Stopped.")
        else:
            self.dismiss(None)

    @on(Input.Submitted, "#asked")
    def _answered(self, event: Input.Submitted) -> None:
        event.stop()
        self._answered_with(event.value.strip())

    def _answered_with(self, text: str) -> None:
        self.query_one("#asked", Input).remove_class("-shown")
        pane = self.pane
        if pane is None:
            return
        pane.focus()
        if self._asking == "go" and text:
            self._reach(text)
        elif text:
            pane.needle = text
            self._find(pane.cursor, 1)
        self._draw()

    @work(name="find", group="seek", exclusive=True, exit_on_error=False)
    async def _find(self, start: int, direction: int) -> None:
        pane = self.pane
        if pane is None:
            return
        try:
            while start >= 0:
                hit, start = await pane.look_for(pane.needle, start, direction)
                if hit is not None:
                    pane.go(hit)
                    return
                if start >= 0:
                    self._tell(f"Searching … {start:,}")
        except AlitaError as error:
            self._tell(str(error), bad=True)
            return
        where = "further on" if direction > 0 else "before"
        self._tell(f"{one_line(pane.needle, 60)!r} was not found {where}.")

    @work(name="reach", group="seek", exclusive=True, exit_on_error=False)
    async def _reach(self, text: str) -> None:
        pane = self.pane
        number = text.replace(",", "")
        if pane is None or not number.isdecimal() or int(number) < 1:
            self._tell(f"{one_line(text, 40)!r} is no number.", bad=True)
            return
        try:
            pane.go(await pane.reach(int(number)))
        except AlitaError as error:
            self._tell(str(error), bad=True)


def _size(size: int) -> str:
    if size < 10_000:
        return f"{size:,} bytes"
    return f"{size / 1e3:,.0f} kB" if size < 1_000_000 else f"{size / 1e6:,.1f} MB"
