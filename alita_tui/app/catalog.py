"""Serves the console everything besides the open session: other sessions, tools, spend, settings.

Implements the console's `Catalog`. Whatever blocks runs in a thread.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext
    from alita_tui.app.files import ViewedFile
    from alita_tui.console.evaluations.ports import CaseLine, RunLine, RunSheet
    from alita_tui.console.memory.ports import MemoryChange, MemoryView
    from alita_tui.console.ports import RunningSession, SettingLine
    from alita_tui.console.replay.player import Player
    from alita_tui.console.servers.ports import ServerChange, ServerLine, WholeTool
    from alita_tui.console.sessions.catalog import ExportForm, SessionLine
    from alita_tui.console.setup.screen import SetupScreen
    from alita_tui.context.provider import ContextProvider
    from alita_tui.events import Artefact, Lineage, MoveKind, ToolRecord
    from alita_tui.llm.roster import Roster
    from alita_tui.spine.commands import Improve
    from alita_tui.spine.envelope import Envelope
    from alita_tui.spine.history import History
    from alita_tui.spine.ports.context import NextCall
    from alita_tui.spine.ports.models import DaySpend
    from alita_tui.spine.ports.statistics import By, Report
    from alita_tui.spine.redaction import Redactor
    from alita_tui.spine.sessions import Bookmark, SessionHit
    from alita_tui.store.labels import Label
    from alita_tui.view.compare import Comparison
    from alita_tui.view.habits import Habits

_COLLECTING = 10_000, 20, 20
"""Thresholds of the garbage collector: drawing a screen makes tens of thousands of short-lived objects."""


class AppCatalog:
    """The console's view of the stores. Imports are local, so that the first paint does not wait for them."""

    def __init__(
        self,
        app: AppContext,
        painted: asyncio.Event | None = None,
        live: Callable[[], History | None] = lambda: None,
    ) -> None:
        """`painted` is set after the first paint; `live` returns the events of the open session."""
        self._app = app
        self._painted = painted
        self._live = live
        self._preview_parts: tuple[Redactor, ContextProvider, Roster] | None = None

    async def sessions(self) -> tuple[SessionLine, ...]:
        """Return a line for each session, newest first."""
        from alita_tui.app.session_lists import session_lines

        return await asyncio.to_thread(session_lines, self._app)

    async def earlier_tasks(self, besides: str) -> tuple[str, ...]:
        """Return the tasks of other sessions, the newest last."""
        from alita_tui.app.session_lists import earlier_tasks

        return await asyncio.to_thread(earlier_tasks, self._app, besides)

    async def running(self) -> tuple[RunningSession, ...]:
        """Return the sessions that the background works on."""
        from alita_tui.app.background.client import running
        from alita_tui.console.ports import RunningSession

        return tuple(RunningSession(job.session_id, job.state, job.task) for job in await running(self._app))

    async def search(self, text: str) -> tuple[SessionHit, ...]:
        """Return the events whose text matches."""
        return await asyncio.to_thread(self._app.session_search.find, text)

    async def player(self, session_id: str) -> Player:
        """Return a player at the end of a session's recording."""
        from alita_tui.app.recordings import history
        from alita_tui.replay.playback import Playback
        from alita_tui.replay.recording import Recording

        recording = await asyncio.to_thread(lambda: Recording.prepared(history(self._app, session_id)))
        return Playback(recording, position=len(recording))

    async def compare(self, left: str, right: str) -> Comparison:
        """Return two sessions side by side."""
        from alita_tui.app.recordings import recording
        from alita_tui.view.compare import compare

        return await asyncio.to_thread(lambda: compare(*(recording(self._app, one) for one in (left, right))))

    async def check_openable(self, session_id: str) -> None:
        """Raise AlitaError if a session cannot be opened to be continued."""
        await asyncio.to_thread(self._app.sessions.check_available, session_id)

    async def rename(self, session_id: str, title: str) -> None:
        """Give a session another title."""
        await asyncio.to_thread(self._app.labels.rename, session_id, title)

    async def tag(self, session_id: str, tags: tuple[str, ...]) -> None:
        """Replace a session's tags."""
        labels = self._app.labels

        def write() -> Label:
            dropped = set(labels.of(session_id).tags) - {tag.lstrip("#").lower() for tag in tags}
            return labels.tag(session_id, add=tags, remove=dropped)

        await asyncio.to_thread(write)

    async def archive(self, session_id: str, archived: bool) -> None:
        """Archive a session, or bring it back into the list."""
        await asyncio.to_thread(self._app.labels.archive, session_id, archived)

    async def delete(self, session_id: str) -> None:
        """Move a session to the trash."""
        await asyncio.to_thread(self._app.sessions.delete, session_id)

    async def restore(self, session_id: str) -> None:
        """Bring a session back from the trash."""
        await asyncio.to_thread(self._app.sessions.restore, session_id)

    async def bookmarks(self, session_id: str) -> tuple[Bookmark, ...]:
        """Return a session's bookmarks."""
        return (await asyncio.to_thread(self._app.labels.of, session_id)).bookmarks

    async def bookmark(self, session_id: str, seq: int, note: str | None) -> tuple[Bookmark, ...]:
        """Set or remove (`None`) a bookmark; return all bookmarks."""
        return (await asyncio.to_thread(self._app.labels.bookmark, session_id, seq, note)).bookmarks

    async def fork(self, envelopes: Sequence[Envelope], seq: int) -> str:
        """Begin a session with the events of a stored one up to `seq`; return its id."""
        from alita_tui.events import SessionOpened
        from alita_tui.store.sessions import from_elsewhere

        first = envelopes[0]
        elsewhere = isinstance(first.event, SessionOpened) and first.event.imported
        if elsewhere or first.session_id not in {path.stem for path in self._app.sessions.paths()}:
            raise from_elsewhere(first.session_id)
        return await asyncio.to_thread(self._app.sessions.fork, first.session_id, seq)

    async def export(self, envelopes: Sequence[Envelope], form: ExportForm) -> str:
        """Write a session to an unused name in the working folder; return the path."""
        from alita_tui.app.exports import export_path, redacted_export, write_text

        def write() -> str:
            path = export_path(envelopes, form)
            write_text(path, redacted_export(self._app, envelopes, form))
            return str(path.resolve())

        return await asyncio.to_thread(write)

    # --- tools --------------------------------------------------------------------------------

    async def tool(self, name: str, version: int | None = None) -> ToolRecord:
        """Return one version of a tool, by default the newest that may run."""
        return await asyncio.to_thread(self._app.library.get, name, version)

    async def lineage(self, name: str) -> Lineage:
        """Return all versions of a tool and what was done with them."""
        from alita_tui.app.recordings import lineage

        return await asyncio.to_thread(lineage, self._app, name)

    async def move(self, name: str, kind: MoveKind | Literal["undo"], version: int | None) -> Lineage:
        """Change the state of a version, or undo the newest change; return the lineage."""
        from alita_tui.app.identity import me

        lineages = self._app.lineages("console")
        if kind == "undo":
            await asyncio.to_thread(lineages.undo, name, by=me())
        else:
            await asyncio.to_thread(lineages.move, name, kind, version, by=me())
        return await self.lineage(name)

    # --- spend, verdicts, settings ------------------------------------------------------------

    async def days(self) -> dict[str, DaySpend]:
        """Return what was spent on each day, oldest first."""
        return await asyncio.to_thread(lambda: self._app.spend_book("").days())

    async def statistics(self, days: int | None, progress: Callable[[int, int], object]) -> Report:
        """Return the statistics of the newest days, of everything for None."""
        from alita_tui.app.statistics import read_report

        return await asyncio.to_thread(read_report, self._app, days, progress)

    async def export_statistics(self, report: Report, by: By) -> str:
        """Write a table as CSV to an unused name in the working folder; return the path."""
        from alita_tui.app.statistics import write_csv

        return await asyncio.to_thread(write_csv, report, by)

    async def evaluations(self) -> tuple[RunLine, ...]:
        """Return all runs of suites, newest first."""
        from alita_tui.app.evaluation.views import run_lines

        return await asyncio.to_thread(run_lines, self._app)

    async def evaluation(self, run: str) -> RunSheet:
        """Return one run with its cases."""
        from alita_tui.app.evaluation.views import run_sheet

        return await asyncio.to_thread(run_sheet, self._app, run)

    async def case_player(self, case: CaseLine) -> Player:
        """Return a player for the session of a case."""
        from alita_tui.app.evaluation.views import case_player

        return await asyncio.to_thread(case_player, self._app, case)

    async def begin_evaluation(self, words: str) -> str:
        """Begin a run in a process of its own; return its name."""
        from alita_tui.app.evaluation.views import begin

        return await begin(self._app, words)

    async def prices(self) -> str:
        """Return the price table's name and date."""
        from alita_tui.app.identity import now
        from alita_tui.llm.prices import table_of

        return f"prices: {await asyncio.to_thread(table_of, now().date())}"

    async def memory(self) -> MemoryView:
        """Return everything that is remembered."""
        return await asyncio.to_thread(_memory_view, self._app)

    async def change_memory(self, change: MemoryChange, item_id: str, text: str = "") -> MemoryView:
        """Change an item, or forget it."""
        from alita_tui.app.memory import edited

        memory = self._app.memory
        match change:
            case "pin" | "unpin":
                await asyncio.to_thread(memory.pin, item_id, change == "pin")
            case "forget":
                await asyncio.to_thread(memory.forget, item_id)
            case "back":
                await asyncio.to_thread(memory.bring_back, item_id)
            case "edit":
                await asyncio.to_thread(edited, self._app, item_id, text)
            case "move":
                await asyncio.to_thread(memory.move, item_id, text)
        return await self.memory()

    async def servers(self) -> tuple[ServerLine, ...]:
        """Return the MCP servers of this home."""
        from alita_tui.app.servers.views import lines

        return await asyncio.to_thread(lines, self._app)

    async def change_server(self, change: ServerChange, name: str) -> str:
        """Test, switch or remove a server; return the outcome in words."""
        from alita_tui.app.servers.views import changed

        return await changed(self._app, change, name)

    async def server_tool(self, server: str, tool: str) -> WholeTool:
        """Return a tool of a server with all its parts."""
        from alita_tui.app.servers.views import whole

        return await asyncio.to_thread(whole, self._app, server, tool)

    async def approve_server_tool(self, shown: WholeTool, unread: int) -> str:
        """Approve exactly the tool that was shown; return the outcome in words."""
        from alita_tui.app.servers.views import approved

        return await asyncio.to_thread(approved, self._app, shown, unread)

    async def try_server_tool(self, shown: WholeTool, arguments: str) -> str:
        """Call a tool of a server once; return the outcome in words."""
        from alita_tui.app.servers.views import tried

        return await tried(self._app, shown, arguments)

    async def recipe_as_tool(self, item_id: str) -> Improve:
        """Return the order to build a recipe as one tool."""
        from alita_tui.app.pipelines import order

        return await asyncio.to_thread(order, self._app, item_id)

    async def next_call(self, session_id: str) -> NextCall:
        """Return what the next call of a session would send."""
        from alita_tui.app.next_call import next_call
        from alita_tui.app.recordings import history
        from alita_tui.app.surroundings import context_provider

        def look() -> NextCall:
            if self._preview_parts is None:
                redactor = self._app.redactor()
                self._preview_parts = (redactor, context_provider(self._app, redactor), self._app.models())
            live = self._live()
            envelopes = history(self._app, session_id) if live is None else live
            return next_call(self._app, envelopes, *self._preview_parts)

        return await asyncio.to_thread(look)

    async def habits(self) -> Habits:
        """Return how long the newest builds were looked at before their verdicts."""
        from alita_tui.view.habits import Look, habits

        entries = await asyncio.to_thread(self._app.audit.entries)
        return habits(
            [
                Look(entry.seen_ms, entry.scrolled_to_end)
                for entry in entries
                if entry.via == "console" and entry.on_build
            ]
        )

    async def settings(self) -> tuple[SettingLine, ...]:
        """Return every setting, as files, environment and flags have it now."""
        return await asyncio.to_thread(_setting_lines, self._app)

    async def change_setting(self, key: str, value: str) -> tuple[SettingLine, ...]:
        """Write one setting; return all of them."""
        from alita_tui.config.write import set_value

        await asyncio.to_thread(set_value, self._app.paths, key, value)
        return await self.settings()

    async def save_theme(self, name: str) -> None:
        """Write the theme to the settings file."""
        from alita_tui.config.write import set_value

        await asyncio.to_thread(set_value, self._app.paths, "console.theme", name)

    async def wizard(self) -> SetupScreen:
        """Return the set-up wizard."""
        from alita_tui.app.wizard import wizard

        return await wizard(self._app)

    async def take_file(self, session_id: str, artefact: Artefact, what: Literal["save", "open"]) -> str:
        """Save a file of a session in the current folder, or open a copy with the system's program; return its path."""
        from alita_tui.app.artefacts import opened, saved, session_artefacts

        source = await asyncio.to_thread(lambda: session_artefacts(self._app, session_id).path(artefact))
        if what == "save":
            return str(await asyncio.to_thread(saved, source, Path.cwd(), artefact.name))
        return await asyncio.to_thread(opened, self._app, source, artefact.name)

    async def look_in(self, session_id: str, artefact: Artefact) -> ViewedFile:
        """Open a file of a session to look at it. Raise UsageError, StoreError."""
        from alita_tui.app.files import session_file

        return await asyncio.to_thread(session_file, self._app, session_id, artefact)

    async def suggestions(self) -> tuple[str, ...]:
        """Return tasks to offer in an empty session."""
        return await asyncio.to_thread(lambda: self._app.suggestions)

    async def preload(self) -> None:
        """Import slow modules; the console calls this once, after its first paint."""
        gc.freeze()
        gc.set_threshold(*_COLLECTING)
        gc.enable()
        if self._painted is not None:
            self._painted.set()
        await asyncio.to_thread(import_module, "alita_tui.console.sessions.screen")
        await asyncio.to_thread(import_module, "alita_tui.store.labels")
        if not self._app.demo:
            from alita_tui.llm.factory import preload

            await preload(self._app.loaded.settings.model.provider)


def _memory_view(app: AppContext) -> MemoryView:
    from alita_tui.app.project import current_project
    from alita_tui.console.memory.ports import MemoryView
    from alita_tui.memory.recipes import in_words

    items = app.memory.remembered()
    calls = {item.item.item_id: tuple(in_words((step,)) for step in item.steps) for item in items}
    forgotten = len(app.memory.forgotten())
    return MemoryView(items=items, project=current_project(app), forgotten=forgotten, calls=calls)


def _setting_lines(app: AppContext) -> tuple[SettingLine, ...]:
    from alita_tui.config import catalogue
    from alita_tui.config.load import load
    from alita_tui.console.ports import SettingLine

    loaded = load(app.paths, app.environ, app.flags, strict=False)
    return tuple(
        SettingLine(
            key=key,
            value=catalogue.written(loaded.value(key)),
            origin=loaded.origin(key),
            meaning=catalogue.meaning(key),
            default=catalogue.written(field.default),
        )
        for key, field in catalogue.fields().items()
    )
