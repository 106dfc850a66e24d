"""The main screen: trace, library and sandbox; the composer, or the player's bar in its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from alita_tui.console.actions import bindings, key_of
from alita_tui.console.widgets.composer import Composer
from alita_tui.console.widgets.library import Library
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sandbox_pane import SandboxPane
from alita_tui.console.widgets.status import StatusLine
from alita_tui.console.widgets.trace import Trace
from alita_tui.spine.commands import AnswerQuestion, Command, Interrupt, Steer, SubmitTask
from alita_tui.view.model import SessionView
from alita_tui.view.queries import pending

_NARROW = 100
_PANES = ("trace", "library", "sandbox")


class SessionScreen(Screen[None]):
    """Draws the view; what a person does leaves it as a command."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("session")
    CSS = """
    SessionScreen { background: $background; layout: vertical; }
    #panes { height: 1fr; }
    #trace-pane { width: 1fr; }
    #side { width: 38%; max-width: 68; min-width: 30; border-left: solid $alita-line; }
    .pane-title { height: 1; padding: 0 1; color: $alita-muted; background: $background; text-style: bold; }
    .pane-title.-active { color: $foreground; }
    Trace, Library, SandboxPane { height: 1fr; padding: 0 0 0 1; }
    #library-pane { height: 2fr; }
    #sandbox-pane { height: 3fr; border-top: solid $alita-line; }
    #banner {
        height: auto; padding: 0 1; background: $alita-cursor; color: $alita-wait; text-style: bold;
        display: none;
    }
    #question {
        height: auto; max-height: 8; padding: 0 1; background: $surface; color: $alita-question;
        display: none;
    }
    #plan {
        height: auto; max-height: 9; padding: 0 1; color: $alita-plan; background: $background;
        display: none; border-bottom: solid $alita-line;
    }
    #fresh {
        height: auto; padding: 0 1 1 7; color: $alita-muted; background: $background; display: none;
        text-align: right;
    }
    #suggestions { height: auto; padding: 1 2; background: $background; display: none; }
    .suggestion { height: 1; padding: 0 1; color: $primary; }
    .suggestion:hover, .suggestion:focus { background: $alita-cursor; text-style: bold; }
    #foot { height: auto; background: $surface; border-top: solid $alita-line; }
    #prompt { width: 3; padding: 0 0 0 1; color: $primary; background: $surface; }
    #find { display: none; height: 1; border: none; background: $panel; padding: 0 1; }
    #find:focus { border: none; }
    Composer { width: 1fr; }
    #tabs { height: 1; display: none; background: $panel; }
    #tabs Plain { width: auto; padding: 0 2; color: $alita-muted; }
    #tabs Plain.-active { color: $foreground; background: $alita-cursor; text-style: bold; }
    SessionScreen.-narrow #tabs { display: block; }
    SessionScreen.-narrow #side { width: 1fr; max-width: 100%; border: none; }
    SessionScreen.-narrow .pane-title { display: none; }
    SessionScreen.-narrow #sandbox-pane { border: none; }
    SessionScreen.-narrow.-trace #side, SessionScreen.-narrow.-library #trace-pane,
    SessionScreen.-narrow.-sandbox #trace-pane, SessionScreen.-narrow.-library #sandbox-pane,
    SessionScreen.-narrow.-sandbox #library-pane, SessionScreen.-sideless #side { display: none; }
    SessionScreen.-narrow.-sideless #side { display: block; }
    SessionScreen.-narrow.-sideless.-trace #side { display: none; }
    """

    class Asked(Message):
        """A command for the engine."""

        def __init__(self, command: Command) -> None:
            super().__init__()
            self.command = command

    class ToolAsked(Message):
        """A tool is to be shown whole."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class CopyAsked(Message):
        """Text is to be copied."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(
        self,
        *,
        keys: Mapping[str, str],
        suggestions: tuple[str, ...] = (),
        player: Widget | None = None,
        motion: bool = True,
    ) -> None:
        super().__init__()
        self._keys = keys
        self._suggestions = suggestions
        self._player = player
        self._motion = motion
        self._pane = "trace"
        self._plan_open = False
        self.view = SessionView()

    def compose(self) -> ComposeResult:
        """Panes above, the person's line below."""
        with Horizontal(id="tabs"):
            for name in _PANES:
                yield Plain(name.capitalize(), id=f"tab-{name}")
        with Horizontal(id="panes"):
            with Vertical(id="trace-pane"):
                yield Plain("Trace", classes="pane-title", id="title-trace")
                yield Plain(id="plan")
                yield Vertical(id="suggestions")
                yield Trace(id="trace")
                yield Plain(id="fresh")
            with Vertical(id="side"):
                with Vertical(id="library-pane"):
                    yield Plain("Library", classes="pane-title", id="title-library")
                    yield Library(id="library")
                with Vertical(id="sandbox-pane"):
                    yield Plain("Sandbox", classes="pane-title", id="title-sandbox")
                    yield SandboxPane(id="sandbox")
        yield Plain(id="banner")
        yield Plain(id="question")
        yield Input(placeholder="Find in the trace", id="find")
        if self._player is not None:
            yield self._player
        else:
            with Horizontal(id="foot"):
                yield Plain("❯", id="prompt")
                yield Composer(id="composer", blink=self._motion)
        yield StatusLine(keys=self._keys, motion=self._motion, replay=self._player is not None, id="status")

    def on_mount(self) -> None:
        """The person can write at once."""
        self._fit()
        if self._suggestions:
            box = self.query_one("#suggestions")
            box.mount(Plain("Recorded tasks: Tab and Enter choose one, or write your own", classes="pane-title"))
            for number, task in enumerate(self._suggestions):
                box.mount(Suggestion(task, id=f"suggestion-{number}"))
        self.home_focus()
        self.draw(self.view)

    def home_focus(self) -> None:
        """Where the keys go when nothing else was chosen."""
        (self._player or self.query_one(Composer)).focus()

    def on_resize(self) -> None:
        """Side by side where there is room, one at a time where there is not."""
        self._fit()

    def _fit(self) -> None:
        self.set_class(self.size.width < _NARROW, "-narrow")
        for name in _PANES:
            self.set_class(self._pane == name, f"-{name}")
            self.query_one(f"#tab-{name}").set_class(self._pane == name, "-active")

    # --- drawing --------------------------------------------------------------------------

    def draw(self, view: SessionView) -> None:
        """Draw a newer view in every pane."""
        self.view = view
        if not self.is_mounted:
            return
        self.query_one(Trace).advance(view)
        self.query_one(Library).advance(view)
        self.query_one(SandboxPane).advance(view)
        self.query_one(StatusLine).advance(view)
        advance = getattr(self._player, "advance", None)
        if advance is not None:
            advance(view)
        self._titles(view)
        self._banner(view)
        self._placeholder(view)
        question = self.query_one("#question", Plain)
        question.display = view.question is not None and self._player is None
        if view.question is not None:
            question.update(Content(f"? {view.question.text}"))
        empty = not len(view.trace) and self._player is None
        self.query_one("#suggestions").display = empty and bool(self._suggestions)

    def _titles(self, view: SessionView) -> None:
        title = str(view.title) or "New session"
        self.query_one("#title-trace", Plain).update(Content(f"Trace  {title}"))
        count = f"  {len(view.library)} tools" if view.library else ""
        self.query_one("#title-library", Plain).update(Content(f"Library{count}"))
        plan = self.query_one("#plan", Plain)
        plan.display = bool(view.plan) and self._plan_open
        plan.update(Content("\n".join(f"{n}. {step}" for n, step in enumerate(view.plan, 1))))

    def _banner(self, view: SessionView) -> None:
        waiting = pending(view)
        banner = self.query_one("#banner", Plain)
        banner.display = bool(waiting) and self._player is None
        if waiting:
            build = waiting[0]
            more = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
            key = key_of("app.review", self._keys)
            banner.update(
                Content(f"◈ {build.name} v{build.version}{more} waits for your verdict — {key} to review")
            )

    def _placeholder(self, view: SessionView) -> None:
        if self._player is not None:
            return
        if view.question is not None:
            text = "Answer the question"
        elif view.busy:
            queue = key_of("composer.next", self._keys)
            text = f"Add to the running task, or {queue} to queue another"
        else:
            text = "What is to be done?"
        composer = self.query_one(Composer)
        if composer.placeholder != text:
            composer.placeholder = text

    # --- what the person does -------------------------------------------------------------

    @on(Composer.Sent)
    def _sent(self, message: Composer.Sent) -> None:
        view = self.view
        if view.question is not None and not message.next_task:
            self.post_message(
                self.Asked(AnswerQuestion(question_id=view.question.question_id, text=message.text))
            )
        elif view.busy and not message.next_task:
            self.post_message(self.Asked(Steer(text=message.text)))
        else:
            self.post_message(self.Asked(SubmitTask(text=message.text)))

    @on(Library.Chosen)
    def _tool(self, message: Library.Chosen) -> None:
        self.post_message(self.ToolAsked(message.name))

    @on(Trace.Yanked)
    @on(Library.Yanked)
    def _yank(self, message: Trace.Yanked | Library.Yanked) -> None:
        self.post_message(self.CopyAsked(message.text))

    @on(Trace.FollowChanged)
    def _following(self, message: Trace.FollowChanged) -> None:
        pill = self.query_one("#fresh", Plain)
        pill.display = message.unseen > 0
        pill.update(Content(f"↓ {message.unseen} new — End"))

    @on(Trace.FindAsked)
    def action_find(self) -> None:
        """Search the trace."""
        find = self.query_one("#find", Input)
        find.display = True
        find.focus()

    @on(Input.Submitted, "#find")
    def _find(self, event: Input.Submitted) -> None:
        event.input.display = False
        hits = self.query_one(Trace).find(event.value)
        self.query_one(Trace).focus()
        self.notify(f"{hits} rows" if hits else "Nothing found", markup=False, timeout=3)

    def pick(self, task: str) -> None:
        """A suggested task is sent."""
        self.home_focus()
        self.post_message(self.Asked(SubmitTask(text=task)))

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

    def action_escape(self) -> None:
        """Back to the composer; from there, stop what runs."""
        find = self.query_one("#find", Input)
        if find.display:
            find.display = False
            self.home_focus()
        elif self._player is not None or not isinstance(self.focused, Composer):
            self._pane = "trace"
            self._fit()
            self.home_focus()
        elif not self.query_one(Composer).text and self.view.busy:
            self.action_interrupt()

    def action_interrupt(self) -> None:
        """Stop the running task."""
        if self.view.busy and self._player is None:
            self.post_message(self.Asked(Interrupt()))

    def clear(self) -> bool:
        """Empty the composer; False when it was empty."""
        if self._player is not None:
            return False
        composer = self.query_one(Composer)
        had = bool(composer.text)
        composer.text = ""
        return had


class Suggestion(Plain, can_focus=True):
    """A task that can be chosen instead of typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("enter", "choose", "Choose"),
        ("down", "app.focus_next", "Next"),
        ("up", "app.focus_previous", "Previous"),
    ]

    def __init__(self, task: str, *, id: str | None = None) -> None:
        super().__init__(Content(f"❯ {task}"), id=id, classes="suggestion")
        self._suggested = task

    def action_choose(self) -> None:
        """Send this task."""
        screen = self.screen
        assert isinstance(screen, SessionScreen)
        screen.pick(self._suggested)

    def on_click(self) -> None:
        """As with Enter."""
        self.action_choose()
