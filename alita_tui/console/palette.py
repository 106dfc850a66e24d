"""The command palette: every action of the table with its key and its state, themes, and tools.

What cannot run now stays in the list, and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.fuzzy import FuzzySearch
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from alita_tui.console.action_table import ACTIONS, GROUPS, Action
from alita_tui.console.actions import offered
from alita_tui.console.active_keys import ActiveKey, sections
from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.picker import Pick, Picker
from alita_tui.console.widgets.plain import Plain
from alita_tui.view.queries import pending

if TYPE_CHECKING:
    from alita_tui.console.opening import DialogOpener

_ITSELF = "app.palette"


class Entry(msgspec.Struct, frozen=True):
    """A command."""

    name: str
    what: str
    key: str = ""
    state: str = ""
    """How things stand, as far as the command would change it."""
    wrong: str = ""
    """Why it cannot run now; empty if it can."""
    run: Callable[[], object] | None = None
    also: str = ""
    """Other words that people look for it by."""

    @property
    def pick(self) -> Pick:
        """The command as a line of the list."""
        return Pick(self.name, self.wrong or self.state or self.what, self.key, off=bool(self.wrong))


class PaletteScreen(Dialog[None]):
    """A line to write in over the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+p", "dismiss", "Close", show=False, priority=True),
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "move(-10)", show=False),
        Binding("pagedown", "move(10)", show=False),
    ]
    CSS_PATH: ClassVar[Stylesheets] = ["widgets/dialog.tcss", "palette.tcss"]

    def __init__(self, entries: list[Entry]) -> None:
        super().__init__()
        self.entries = entries
        self._listed = entries

    def compose(self) -> ComposeResult:
        """What is written, and what matches."""
        with Vertical(id="box"):
            yield Plain(Content.assemble(("Commands", "bold $accent"), "   Enter runs one · Esc closes"))
            yield Input(placeholder="Find a command, a theme or a tool", id="query")
            yield Picker(id="list")
            yield Plain(id="said")

    def on_mount(self) -> None:
        """List everything."""
        self.query_one(Input).focus()
        self._list("")

    def _list(self, query: str) -> None:
        self._listed = matching(self.entries, query)
        self.query_one(Picker).show([entry.pick for entry in self._listed])
        self._say()

    def _say(self) -> None:
        at = self.query_one(Picker).cursor
        self.query_one("#said", Plain).update(self._listed[at].what if 0 <= at < len(self._listed) else "")

    @on(Input.Changed, "#query")
    def _written(self, event: Input.Changed) -> None:
        event.stop()
        self._list(event.value)

    @on(Input.Submitted, "#query")
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self._run(self.query_one(Picker).cursor)

    @on(Picker.Clicked)
    def _clicked(self, message: Picker.Clicked) -> None:
        self._run(message.index)

    def action_move(self, by: int) -> None:
        """Move the cursor of the list."""
        self.query_one(Picker).move(by)
        self._say()

    def _run(self, at: int) -> None:
        if not 0 <= at < len(self._listed):
            return
        entry = self._listed[at]
        if entry.wrong or entry.run is None:
            self.query_one("#said", Plain).update(f"Not now: {entry.wrong}")
            return
        self.dismiss(None)
        self.app.call_later(entry.run)


def matching(entries: list[Entry], query: str) -> list[Entry]:
    """Return the commands that match, the best first; all of them for an empty query."""
    if not query.strip():
        return sorted(entries, key=lambda entry: bool(entry.wrong))
    search, words = FuzzySearch(), query.casefold().split()

    def score(entry: Entry) -> float:
        name = entry.name.casefold()
        whole = 100.0 * all(word in name for word in words)
        near = search.match(query, entry.name)[0]
        partial_match = 0.5 * all(
            word in f"{name} {entry.what} {entry.key} {entry.also}".casefold() for word in words
        )
        return max(whole + near, partial_match)

    scored = [(score(entry), entry) for entry in entries]
    return [
        entry
        for value, entry in sorted(scored, key=lambda pair: (-pair[0], bool(pair[1].wrong)))
        if value > 0
    ]


def entries(app: DialogOpener, beneath: Screen[Any]) -> list[Entry]:
    """Return every command as it stands over a screen, then the themes and the tools."""
    replay = app.replaying
    here = {
        key.action.id: (key, section.part)
        for section in sections(beneath, replay=replay)
        for key in section.keys
    }
    states = _states(app)
    listed = [
        _entry(app, beneath, action, here.get(action.id), states.get(action.id, ("", "")), replay=replay)
        for action in ACTIONS
        if action.id != _ITSELF
    ]
    listed += [
        Entry(f"theme: {name}", "Use this theme and keep it", state="in use" if name == app.theme else "",
              run=partial(app.use_theme, name))
        for name in app.theme_names
    ]  # fmt: skip
    listed += [
        Entry(f"tool: {name}", "Show this tool", run=partial(app.open_tool, name))
        for name in (card.name for card in app.main.view.library)
    ]
    return listed


def _entry(
    app: DialogOpener,
    beneath: Screen[Any],
    action: Action,
    at: tuple[ActiveKey, Widget | None] | None,
    state: tuple[str, str],
    *,
    replay: bool,
) -> Entry:
    heading = GROUPS[action.owner]
    name = action.palette or f"{heading.lower()}: {action.label.lower()}"
    key = offered(at[0].keys if at else (app._keymap.get(action.id) or action.key).split(","))[0]
    entry = Entry(name, action.tooltip, key, state[0], also=action.also)
    if not (action.replay if replay else action.live):
        return msgspec.structs.replace(entry, wrong="only in a replay" if not replay else "not in a replay")
    if at is None:
        return msgspec.structs.replace(entry, wrong=_elsewhere(action, heading))
    if action.run.partition("(")[0] in getattr(beneath, "GUARDED", ()):
        return msgspec.structs.replace(entry, wrong="a decision: only by its key, in the review")
    if state[1]:
        return msgspec.structs.replace(entry, wrong=state[1])
    active, part = at

    async def run() -> None:
        if (
            part is not None
            and part.is_attached
            and beneath.focused is not part
            and action.owner not in ("app", "session")
        ):
            beneath.set_focus(part)
        await app.run_action(active.action.run, active.node)

    return msgspec.structs.replace(entry, run=run)


def _elsewhere(action: Action, heading: str) -> str:
    return "close this screen first" if action.owner in ("app", "session") else f"in: {heading}"


def _states(app: DialogOpener) -> Mapping[str, tuple[str, str]]:
    """Return how things stand, and why a command cannot run, by the id of its action."""
    main, view = app.main, app.main.view
    waiting, spend = len(pending(view)), view.spend
    queued = f"{len(view.queue)} queued" if view.queue else ""
    plan = "" if view.plan else "there is no plan"
    return {
        "app.review": (f"{waiting} waiting", "" if waiting else "no build waits"),
        "app.tasks": ("paused" if view.paused else queued, ""),
        "app.spend": (f"${spend.total_usd:.2f} spent", ""),
        "app.theme": (app.theme, ""),
        "app.mouse": ("alita's" if app.takes_mouse else "the terminal's", ""),
        "session.interrupt": (view.phase, "" if view.busy else "no task runs"),
        "session.retry": ("", "a task runs" if view.busy else ""),
        "session.plan": ("open" if main._plan_open else "folded", plan),
        "session.edit_plan": ("", plan or ("" if view.busy else "no task runs")),
        "session.side": ("hidden" if main.has_class("-sideless") else "shown", ""),
        "trace.level": (main.level, ""),
    }
