"""The main screen: trace, library, sandbox, and the composer or replay bar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.css.query import QueryType
from textual.events import Click, ScreenResume, ScreenSuspend
from textual.geometry import Size
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from alita_tui.console.actions import bindings, key_of
from alita_tui.console.messages import CommandAsked
from alita_tui.console.session import words
from alita_tui.console.session.beginning import Beginning
from alita_tui.console.session.composer import Composer
from alita_tui.console.session.context_line import ContextLine
from alita_tui.console.session.inspecting import Inspecting
from alita_tui.console.session.library import Library
from alita_tui.console.session.queued import Queued
from alita_tui.console.session.rating import Rating
from alita_tui.console.session.sandbox import SandboxPane
from alita_tui.console.session.side import Side
from alita_tui.console.session.status import StatusLine
from alita_tui.console.session.stopping import Stopping
from alita_tui.console.session.suggestions import Suggestion, Suggestions
from alita_tui.console.session.tabbed import Tabbed
from alita_tui.console.session.tabs import Tabs
from alita_tui.console.session.trace import Trace
from alita_tui.console.session.writing import Writing
from alita_tui.console.widgets.pane_title import PaneTitle
from alita_tui.console.widgets.plain import Plain
from alita_tui.events import NO_TASK, TaskId
from alita_tui.spine.commands import (
    SubmitTask,
)
from alita_tui.spine.text import counted
from alita_tui.state.rows import Rows
from alita_tui.view.cards import Level
from alita_tui.view.lanes import OneTask
from alita_tui.view.model import SessionView
from alita_tui.view.plan import editable
from alita_tui.view.queries import pending, plan_note
from alita_tui.view.tasks import choosable_tasks

if TYPE_CHECKING:
    from alita_tui.console.replay.bar import ReplayBar

_NARROW, _WIDE, _TALL = 100, 180, 32
_PANES = ("trace", "library", "sandbox")


class SessionScreen(Writing, Rating, Stopping, Inspecting, Beginning, Tabbed):
    """Draws the view; posts commands for what a person does."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("session")
    AUTO_FOCUS = ""  # see `home_focus`

    def __init__(
        self,
        *,
        keys: Mapping[str, str],
        player: ReplayBar | None = None,
        motion: bool = True,
    ) -> None:
        super().__init__()
        self._keys = keys
        self.bar = player
        self._motion = motion
        self._pane = "trace"
        self._plan_open = False
        self.level: Level = "steps"
        """How much the trace shows."""
        self._ready = False
        self.view = SessionView()
        self._only_task: OneTask | None = None
        """The only task whose rows are shown; None: all are."""
        self._spinner: Timer | None = None

    def compose(self) -> ComposeResult:
        """Panes above, composer and status line below."""
        with Horizontal(id="tabs"):
            for name in _PANES:
                active = " -active" if name == self._pane else ""
                yield Plain(name.capitalize(), id=f"tab-{name}", classes=f"tab{active}")
        yield Tabs(key_of("session.next_tab", self._keys), id="running")
        with Horizontal(id="panes"):
            with Vertical(id="trace-pane"):
                yield PaneTitle("Trace", id="title-trace")
                yield Plain(id="plan")
                welcome = words.welcome(self._keys, replay=self.bar is not None)
                review = "" if self.bar is not None else key_of("app.review", self._keys)
                yield Trace(id="trace", welcome=welcome, level=self.level, review=review)
                yield Plain(id="fresh")
                yield Input(placeholder="Find in the trace", id="find", classes="line-input")
                yield Input(placeholder=words.WRONG, id="wrong", classes="line-input", max_length=2000)
            yield Side(id="side")
        yield Plain(id="unsaved")
        yield Plain(id="banner")
        yield Plain(id="question")
        yield Queued(id="queued")
        yield StatusLine(keys=self._keys, motion=self._motion, replay=self.bar is not None, id="status")
        if self.bar is not None:
            yield self.bar
        else:
            with Horizontal(id="foot"):
                yield Plain("❯", id="prompt")
                yield Composer(id="composer", blink=self._motion)
            yield ContextLine(id="context")

    def on_mount(self) -> None:
        """Focus the composer and draw."""
        self._ready = True
        self.home_focus()
        self.watch(self.query_one(Trace), "follow", lambda: self._draw_banners(self.view), init=False)
        self.opens(*self._opened)

    def detail(self, level: Level) -> None:
        """Show less or more of the trace."""
        self.level = level
        if self._ready and self.query_one(Trace).level != level:
            self.query_one(Trace).detail(level)

    def say_level(self) -> bool:
        """Show the level of detail in the line of keys; return False if there is none."""
        for line in self.query(ContextLine):
            line.draw()
        return self.is_active and self.bar is None

    def home_focus(self) -> None:
        """Focus the composer or the replay bar."""
        (self.bar or self.query_one(Composer)).focus()

    def focus_next(self, selector: str | type[QueryType] = "*") -> Widget | None:
        """Move from the composer to the suggestions, if there are any."""
        suggestions = [
            suggestion for suggestion in self.query(Suggestion) if suggestion.display and suggestion.size
        ]
        if suggestions and isinstance(self.focused, Composer):
            self.set_focus(suggestions[0])
            return self.focused
        return super().focus_next(selector)

    @on(ScreenSuspend)
    @on(ScreenResume)
    def _covered(self, event: ScreenSuspend | ScreenResume) -> None:
        """Hide the cursor and the key line while another screen is on top."""
        if self._ready and self.bar is None:
            covered = isinstance(event, ScreenSuspend)
            self.query_one(Composer).show_cursor = not covered
            self.query_one(ContextLine).cover(covered)

    def on_resize(self) -> None:
        """Choose the layout for the new size."""
        self._fit()

    def fit(self, size: Size) -> None:
        """Set the classes for a size; styles update once the screen is ready."""
        classes = {
            "-narrow": size.width < _NARROW,
            "-wide": size.width >= _WIDE,
            "-tall": size.height >= _TALL,
            **{f"-{name}": self._pane == name for name in _PANES},
        }
        for name, applies in classes.items():
            if self.has_class(name) != applies:
                self.set_class(applies, name, update=self._ready)
        if self._ready:
            for name in _PANES:
                self.query_one(f"#tab-{name}").set_class(self._pane == name, "-active")

    def _fit(self) -> None:
        self.fit(self.size)
        if self._ready:
            self._draw_banners(self.view)

    # --- drawing --------------------------------------------------------------------------

    def draw(self, view: SessionView) -> None:
        """Draw a newer view in every pane."""
        self.view = view
        if not self._ready:
            return
        with self.app.batch_update():
            trace = self.query_one(Trace)
            if trace.share_loaded is not None:
                trace.advance(view)
                self.query_one(StatusLine).show_share_read(trace.share_loaded)
                if trace.share_loaded is not None:
                    return  # the other panes describe the end of the session, which is not read yet
            trace.advance(self._only_task.shown(view) if self._only_task else view)
            if self.bar is None:
                trace.greet(words.states(view, self._keys))
                trace.wait_for(words.expected(view))
            self.query_one(Library).advance(view)
            self.query_one(SandboxPane).advance(view)
            self.query_one(StatusLine).advance(view, words.expected(view) if trace.expects else "")
            self.query_one(Queued).advance(view)
            if self.bar is not None:
                self.bar.advance(view)
            else:
                self.query_one(ContextLine).advance(view)
            self._titles(view)
            self._draw_banners(view)
            self.draw_tabs()

    def _titles(self, view: SessionView) -> None:
        for name, (text, mark) in words.titles(view).items():
            if name == "trace" and self._only_task:
                text = words.one_task_title(view, self._only_task.task_id, self._keys)
            self.query_one(f"#title-{name}", PaneTitle).show(name.capitalize(), text)
            self.query_one(f"#tab-{name}", Plain).update(f"{name.capitalize()} {mark}".rstrip())
        plan = self.query_one("#plan", Plain)
        plan.display = bool(view.plan) and self._plan_open
        if plan.display:
            steps = [f"{n}. {step}" for n, step in enumerate(view.plan, 1)]
            edit = (
                f"{key_of('session.edit_plan', self._keys)} changes it" if view.busy and not self.bar else ""
            )
            notes = "".join(f"\n{line}" for line in (plan_note(view), edit) if line)
            plan.update(Content.assemble("\n".join(steps), (notes, "$alita-muted")))

    def _draw_banners(self, view: SessionView) -> None:
        """Draw banners, question and placeholder."""
        for offer in self.query(Suggestions):
            offer.advance(view, sent=self.query_one(Trace).expects)
        for recent in self.query("#recent").results():
            recent.advance(view, sent=self.query_one(Trace).expects)  # type: ignore[attr-defined]
        if self.bar is not None:
            return
        lines = {
            "#unsaved": words.unsaved(view),
            "#banner": words.banner(view, self._keys),
            "#question": "" if self._reads_question else words.question(view),
        }
        for selector, text in lines.items():
            line = self.query_one(selector, Plain)
            line.display = bool(text)
            line.update(text)
        placeholder = words.placeholder(view, self._keys)
        composer = self.query_one(Composer)
        composer.remember(tuple(task.text for task in view.tasks))
        self.begun_after_all(view)
        if composer.placeholder != placeholder:
            composer.placeholder = placeholder

    @property
    def _reads_question(self) -> bool:
        """Whether the end of the trace, where the question of a single task stands, is on screen."""
        seen = self._pane == "trace" or not self.has_class("-narrow")
        return seen and self.query_one(Trace).follow and not self.view.state.lanes

    def action_next_lane(self) -> None:
        """Show only the next task's rows; after the last task show all rows."""
        tasks = choosable_tasks(self.view)
        if not tasks and self._only_task is None:
            self.notify("There is one task: all rows are its own.")
            return
        current = self._only_task.task_id if self._only_task else NO_TASK
        following = tasks[tasks.index(current) + 1 :] if current in tasks else () if current else tasks
        self.only(next(iter(following), NO_TASK))

    def only(self, task_id: TaskId) -> None:
        """Show one task's rows in the trace; all rows for an empty id."""
        self._only_task = OneTask(task_id) if task_id else None
        trace = self.query_one(Trace)
        trace.advance(replace(self.view, trace=Rows()))
        trace.action_last()
        self.draw(self.view)

    # --- what the person writes -----------------------------------------------------------

    @on(Suggestion.Chosen)
    def _suggested(self, message: Suggestion.Chosen) -> None:
        self.home_focus()
        self._expect(message.task)
        self.post_message(CommandAsked(SubmitTask(text=message.task)))

    def _expect(self, text: str, files: tuple[str, ...] = ()) -> Trace:
        """Show a task at once, with a spinner until something comes of it."""
        trace = self.query_one(Trace)
        if self.has_class("-narrow") and self._pane != "trace":
            self._pane = "trace"
            self._fit()
        trace.expect(text, words.expected(self.view), files)
        self.query_one(StatusLine).advance(self.view, words.expected(self.view))
        for offer in self.query("#suggestions, #recent"):
            offer.display = False
        if self._motion:
            self._spinner = self._spinner or self.set_interval(0.12, self._spin)
        return trace

    def _spin(self) -> None:
        trace = self.query_one(Trace)
        if trace.expects:
            trace.wait_for(words.expected(self.view))
        elif self._spinner is not None:
            self._spinner.stop()
            self._spinner = None

    # --- panes ----------------------------------------------------------------------------

    @on(Click, ".tab")
    def _tab(self, event: Click) -> None:
        if event.widget is not None and event.widget.id:
            self.action_pane(event.widget.id.removeprefix("tab-"))

    @on(Click, "#status")
    async def _status_clicked(self) -> None:
        if pending(self.view):
            await self.run_action("app.review")

    @on(Click, "#fresh")
    def _to_the_end(self) -> None:
        self.query_one(Trace).action_last()

    @on(Trace.FollowChanged)
    def _following(self, message: Trace.FollowChanged) -> None:
        pill = self.query_one("#fresh", Plain)
        pill.display = message.unseen > 0
        pill.update(f"↓ {message.unseen} new — {key_of('pane.last', self._keys)}")

    @on(Trace.FindAsked)
    def action_find(self) -> None:
        """Search the trace."""
        line = self.query_one("#find", Input)
        line.display = True
        line.focus()

    @on(Input.Submitted, "#find")
    def _find(self, event: Input.Submitted) -> None:
        event.input.display = False
        trace = self.query_one(Trace)
        hits = trace.find(event.value)
        trace.focus()
        if event.value:
            message = f"{counted(hits, 'row')}; n and N go through them" if hits else "Nothing found"
            self.notify(message, timeout=3)

    def action_pane(self, name: str) -> None:
        """Go to a pane."""
        self._pane = name
        self.remove_class("-sideless")
        self._fit()
        self.query_one(f"#{name}").focus()

    def action_side(self) -> None:
        """Show or hide the side panes."""
        self.toggle_class("-sideless")

    def action_plan(self) -> None:
        """Open or fold the plan."""
        self._plan_open = not self._plan_open
        self._titles(self.view)

    def action_edit_plan(self) -> None:
        """Put the running task's plan into the composer; what is sent replaces it."""
        if self.bar is not None or not (self.view.busy and self.view.plan):
            self.notify("No task with a plan is running.")
            return
        state = self.view.state
        self.query_one(Composer).draft(editable(state.plan, state.ticks))
        self.home_focus()

    def action_escape(self) -> None:
        """Close an open input line; else focus the composer; else, when pressed twice, stop the task."""
        for line in self.query(".line-input").results(Input):
            if line.display:
                line.value = ""
                line.display = False
                if line.id == "wrong":
                    self.query_one(Trace).focus()  # at the row that would have been rated
                    return
                if line.id == "find":
                    self.query_one(Trace).find("")
                self.home_focus()
                return
        if self.bar is not None or not isinstance(self.focused, Composer):
            self._pane = "trace"
            self._fit()
            self.home_focus()
        elif not self.query_one(Composer).text:
            self.stop_by_escape()

    def clear(self) -> bool:
        """Clear the composer; return False if it was empty."""
        if self.bar is not None:
            return False
        composer = self.query_one(Composer)
        had_text = bool(composer.text)
        composer.text = ""
        return had_text
