"""The sandbox screen: engine, pool, runs and limits; clearing up and rebuilding the image."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content

from alita_tui.console.actions import bindings, key_of
from alita_tui.console.ports import Upkeep
from alita_tui.console.sandbox import rows as sheet
from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.figures import bar
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import BLANK, Row, Sheet, heading, say
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.inventory import Inventory
from alita_tui.spine.text import counted, one_line
from alita_tui.view.model import SessionView

_AGAIN_SECONDS = 2.0
_TWO_COLUMNS = 140
_UPKEEP = "upkeep"


class SandboxScreen(Dialog[None]):
    """One sheet, or two if there is room; redrawn with every view and every read."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("sandbox")
    CSS_PATH: ClassVar[Stylesheets] = ["../widgets/dialog.tcss", "screen.tcss"]

    def __init__(self, view: SessionView, keys: Mapping[str, str], upkeep: Upkeep | None) -> None:
        """Without `upkeep`, in a replay, only what was recorded is shown."""
        super().__init__()
        self._view = view
        self._keys = keys
        self._upkeep = upkeep
        self._seen: Inventory | None = None
        self._asking = False

    def compose(self) -> ComposeResult:
        """Keys, message and sheets."""
        with Vertical(id="box"):
            yield Plain(id="head")
            yield Plain(id="said")
            with Horizontal():
                yield Sheet(id="sheet")
                yield Sheet(id="beside")

    def on_mount(self) -> None:
        """Read the inventory now, and from time to time."""
        self.query_one("#sheet", Sheet).focus()
        self.query_one("#said", Plain).display = False
        self.query_one("#beside", Sheet).display = False
        if self._upkeep is not None:
            self._look()
            self.set_interval(_AGAIN_SECONDS, self._again)

    def on_resize(self) -> None:
        """Draw for the new width."""
        self.query_one("#beside", Sheet).display = self.query_one("#box").size.width >= _TWO_COLUMNS
        self.call_after_refresh(self._draw)

    def advance(self, view: SessionView) -> None:
        """Draw a newer view."""
        ended = (len(view.calls), len(view.runs)) != (len(self._view.calls), len(self._view.runs))
        self._view = view
        self._draw()
        if ended:
            self._again()

    # --- drawing ----------------------------------------------------------------------------

    def _head(self) -> Content:
        status = self._view.sandbox
        available = status is not None and status.available
        actions = [("look", "refreshes"), ("reap", "clears up")] if available else [("look", "looks again")]
        if status is not None and status.engine:
            actions.append(("rebuild", "rebuilds"))
        keys = "".join(f"{key_of(f'sandbox.{name}', self._keys)} {label} · " for name, label in actions)
        return Content.assemble(
            ("Sandbox", "bold $accent"), f"   {keys if self._upkeep is not None else ''}Esc closes"
        )

    def _draw(self) -> None:
        first, second = self.query_one("#sheet", Sheet), self.query_one("#beside", Sheet)
        width = max(first.size.width - 2, 40)
        self.query_one("#head", Plain).update(self._head())
        keys = [key_of(action, self._keys) for action in ("sandbox.look", "sandbox.rebuild")]
        engine = sheet.engine_rows(self._view, *(keys if self._upkeep is not None else ()))
        main = [*engine, BLANK, *sheet.run_rows(self._view, width)]
        if self._view.sandbox is not None and not self._view.sandbox.available:
            first.show(main, top=False)
            second.show([], top=False)
            self._progress()
            return
        limits = sheet.limit_rows(self._view)
        machine = self._machine_rows(width)
        if second.display:
            first.show([*main, BLANK, *limits], top=False)
            second.show(machine, top=False)
        else:
            first.show([*main, BLANK, *machine, BLANK, *limits], top=False)
        self._progress()

    def _machine_rows(self, width: int) -> list[Row]:
        seen = self._seen
        if self._upkeep is None:
            return [
                *heading("Containers"),
                *say("  A recording: what was on its machine is not kept.", "muted"),
            ]
        if seen is None:
            return [*heading("Containers"), *say("  Looking …", "muted")]
        reap = key_of("sandbox.reap", self._keys)
        return [
            *sheet.pool_rows(seen), BLANK, *sheet.container_rows(seen, self._view.session_id, reap), BLANK,
            *sheet.environment_rows(seen, width),
        ]  # fmt: skip

    def _progress(self) -> None:
        """Show the progress of the new base image."""
        live = self._view.live
        if not live.work or not self._at_work():
            return
        share = f"{bar(live.work_done / live.work_total, 20)} " if live.work_total else ""
        self._say(f"{share}{live.work}, {live.work_detail}" if live.work_detail else f"{share}{live.work}")

    def _say(self, text: str, kind: str = "") -> None:
        line = self.query_one("#said", Plain)
        line.update(one_line(text, 400))
        line.display = bool(text)
        line.set_classes(kind)

    # --- looking and doing --------------------------------------------------------------------

    def _again(self) -> None:
        """Read again if the sandbox is available; otherwise only on demand."""
        status = self._view.sandbox
        if self._upkeep is not None and status is not None and status.available and not self._at_work():
            self._look()

    @work(name="look", group="look", exclusive=True, exit_on_error=False)
    async def _look(self, *, say: bool = False) -> None:
        assert self._upkeep is not None
        try:
            self._seen = await self._upkeep.look()
        except AlitaError as error:
            self._say(str(error), "-bad")
            return
        if say:
            self._say("")
        self._draw()

    def action_look(self) -> None:
        """Read again, and check again for a missing sandbox."""
        if self._upkeep is not None:
            self._say("Looking …")
            self._look(say=True)

    def action_reap(self) -> None:
        """Remove containers and folders that crashed sessions left behind."""
        if self._upkeep is not None and not self._at_work():
            self._do(self._reap(self._upkeep))

    def action_rebuild(self) -> None:
        """Ask before rebuilding: it takes a minute or more."""
        if self._upkeep is None or self._at_work():
            return
        self._asking = True
        yes = key_of("sandbox.confirm", self._keys)
        self._say(
            f"Rebuild the base image? It takes minutes; the old one is used meanwhile. {yes}: yes, Esc: no.",
            "-ask",
        )

    def action_confirm(self) -> None:
        """Confirm the rebuild."""
        if self._asking and self._upkeep is not None:
            self._asking = False
            self._do(self._rebuild(self._upkeep))

    def action_back(self) -> None:
        """Cancel the question, else close; running work continues."""
        if self._asking:
            self._asking = False
            self._say("")
        else:
            self.dismiss(None)

    def _do(self, job: Coroutine[object, object, None]) -> None:
        """Run a worker on the app, so that it outlives this screen."""
        self.app.run_worker(job, name="sandbox", group=_UPKEEP, exit_on_error=False)

    def _at_work(self) -> bool:
        return any(worker.group == _UPKEEP and not worker.is_finished for worker in self.app.workers)

    async def _reap(self, upkeep: Upkeep) -> None:
        self._say("Cleaning up after crashed sessions …")
        try:
            containers, folders = await upkeep.reap()
        except AlitaError as error:
            self._tell(str(error), bad=True)
            return
        self._tell(f"Removed {_many(containers, 'container')} and {_many(folders, 'folder')}.")

    async def _rebuild(self, upkeep: Upkeep) -> None:
        self._say("Making the base image anew …")
        try:
            await upkeep.rebuild()
        except AlitaError as error:
            self._tell(str(error), bad=True)
            return
        self._tell("The base image is new; runs from now on use it.")

    def _tell(self, text: str, *, bad: bool = False) -> None:
        """Show an outcome here, or as a notification once this screen is closed."""
        if not self.is_attached:
            self.app.notify(one_line(text), severity="error" if bad else "information")
            return
        self._say(text, "-bad" if bad else "")
        self._look()


def _many(count: int, thing: str) -> str:
    return counted(count, thing) if count else f"no {thing}s"
