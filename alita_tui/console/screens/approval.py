"""The review of a build, beside the trace. What is approved is what was on screen, by its digest.

Nothing that was typed, pasted, clicked or scrolled before the person could see the build decides on it:
input is judged by when it was made (see `Arming`), and early verdict keys never reach the bindings.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import ClassVar, Literal

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.message import Message
from textual.screen import ModalScreen

from alita_tui.console.actions import bindings, shown
from alita_tui.console.arming import Arming
from alita_tui.console.risk import risks, serious
from alita_tui.console.widgets.build_head import BuildHead, PartTabs, Tab, presented
from alita_tui.console.widgets.code import Base, CodeView
from alita_tui.console.widgets.evidence import PARTS, Evidence, Part
from alita_tui.console.widgets.sheet import Sheet
from alita_tui.console.widgets.verdict import LABELS, VERDICTS, Button, Choice, VerdictBar
from alita_tui.spine.commands import ResolveApproval
from alita_tui.spine.values import ToolDraft
from alita_tui.view.model import Attempt, BuildView, SessionView
from alita_tui.view.queries import pending

NARROW = 100
"""Columns below which the review takes the whole screen, one part at a time."""
_BESIDE = 130
"""Columns of the review from which evidence and code stand side by side."""
_TAB_PARTS: dict[Tab, tuple[Part, ...]] = {
    "Why": ("why", "contract"),
    "Code": (),
    "Tests": ("tests",),
    "Sandbox": ("sandbox",),
    "Risk": ("risk", "capabilities", "requirements", "review", "grant"),
}


class ApprovalScreen(ModalScreen[None]):
    """One waiting build at a time, with its evidence, its code and the verdict."""

    AUTO_FOCUS = "#code"
    BINDINGS: ClassVar[list[BindingType]] = bindings("approval")
    DEFAULT_CSS = """
    ApprovalScreen {
        align: right top;
        background: transparent;
        #review { width: 60%; height: 100%; background: $background; border-left: solid $alita-approval; }
        #panes { height: 1fr; }
        #evidence { height: 9fr; padding: 0 1; }
        #code { height: 11fr; border-top: solid $alita-line; padding: 0 1 0 0; }
        Sheet:focus { background-tint: $foreground 3%; }
        #code:focus { border-top: solid $alita-approval; }
        &.-beside #panes { layout: horizontal; }
        &.-beside #evidence { width: 5fr; height: 100%; }
        &.-beside #code { width: 6fr; height: 100%; border-top: none; border-left: solid $alita-line; }
        &.-beside #code:focus { border-left: solid $alita-approval; }
        &.-full #review, &.-narrow #review { width: 100%; border-left: none; }
        PartTabs { display: none; }
        &.-narrow PartTabs { display: block; }
        &.-narrow #code { border-top: none; height: 1fr; }
        &.-narrow #evidence { height: 1fr; }
        &.-narrow.-on-code #evidence { display: none; }
        &.-narrow.-on-evidence #code { display: none; }
    }
    """

    class Decided(Message):
        """A person decided. Posted to the app, which hands the command to the engine."""

        def __init__(self, command: ResolveApproval) -> None:
            super().__init__()
            self.command = command

    class EditRequested(Message):
        """The person wants the code in an editor; the app answers with `ApprovalScreen.edited`."""

        def __init__(self, approval_id: str, draft: ToolDraft) -> None:
            super().__init__()
            self.approval_id = approval_id
            self.draft = draft

    def __init__(
        self,
        view: SessionView,
        approval_id: str = "",
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._view = view
        self._wanted = approval_id
        self._now = now
        self._clock = clock
        """The clock that `Message.time` is taken from."""
        self._decided: set[str] = set()
        self._build: BuildView | None = None
        self._attempt: Attempt | None = None
        self._serious = False
        self._arming = Arming(clock())
        self._again: Arming | None = None
        """After a step of a risky approval: quiet has to pass before the next key counts."""
        self._named = False
        self._unread_known = False
        self._input_at = 0.0
        self._shown_at = 0.0
        self._tab: Tab = "Code"

    # --- what is shown ------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Head, tabs where it is narrow, evidence and code, verdict."""
        with Vertical(id="review"):
            yield BuildHead(id="head")
            yield PartTabs()
            with Container(id="panes"):
                yield Evidence(id="evidence")
                yield CodeView(id="code")
            yield VerdictBar(id="verdict")

    def on_mount(self) -> None:
        """Show the build; from here on a person can see it."""
        self.watch(self.app, "app_focus", self._terminal_focus, init=False)
        self._fit()
        queue = self.queue
        wanted = next((one for one in queue if one.approval_id == self._wanted), None)
        self._present(wanted or (queue[0] if queue else None))
        self.set_interval(0.1, self.tick)

    @property
    def queue(self) -> tuple[BuildView, ...]:
        """The builds that wait, without those decided here already."""
        return tuple(one for one in pending(self._view) if one.approval_id not in self._decided)

    @property
    def build(self) -> BuildView | None:
        """The build on screen."""
        return self._build

    @property
    def armed(self) -> bool:
        """Whether a verdict key pressed now would count."""
        return self._undecided and self._arming.armed(self._clock())

    @property
    def _undecided(self) -> bool:
        build = self._build
        return build is not None and any(one.approval_id == build.approval_id for one in self.queue)

    def advance(self, view: SessionView) -> None:
        """The session moved on; the build on screen stays, even when it was decided elsewhere."""
        self._view = view
        if self._build is None and self.queue:
            self._present(self.queue[0])
        self.tick()

    def tick(self) -> None:
        """Bring the time, the queue and the verdict line up to date."""
        build, bar = self._build, self.query_one(VerdictBar)
        queue = self.queue
        place = next(
            (n for n, one in enumerate(queue, 1) if build and one.approval_id == build.approval_id), 0
        )
        if build:
            self.query_one(BuildHead).present(build, place, len(queue), self._now())
        bar.arm(self.armed)
        bar.draw_keys(self._keys(), self._offered(len(queue)))
        bar.say(*self._line())

    def _present(self, build: BuildView | None) -> None:
        self._build = build
        self._attempt = attempt = presented(build) if build else None
        self._arming = Arming(self._clock())
        self._again, self._named, self._unread_known = None, False, False
        self._shown_at = self._clock()
        bar = self.query_one(VerdictBar)
        bar.idle()
        if build and attempt:
            self._serious = serious(build, attempt)
            self.query_one(CodeView).load(attempt.draft.code, _bases(build, attempt))
            self._present_evidence()
            self.query_one(CodeView).focus()
        self.tick()

    def _present_evidence(self) -> None:
        if self._build and self._attempt:
            narrow = self.has_class("-narrow")
            parts = (_TAB_PARTS[self._tab] or PARTS) if narrow else PARTS
            self.query_one(Evidence).present(self._build, self._attempt, self._view.sandbox, parts)

    def _keys(self) -> dict[Choice, str]:
        """The live key of each choice, whatever the keymap says."""
        found: dict[Choice, str] = {}
        for key, held in self._bindings.key_to_bindings.items():
            for binding in held:
                choice = next((one for one in LABELS if binding.action == one), None)
                if choice and choice not in found:
                    found[choice] = shown(key)
        return found

    def _offered(self, waiting: int) -> frozenset[Choice]:
        hidden: set[Choice] = set() if self.query_one(CodeView).bases else {"diff"}
        hidden |= {"next"} if waiting < 2 else set()
        hidden |= set() if self._undecided else {"approve", "reject", "edit"}
        return frozenset(LABELS) - frozenset(hidden)

    def _line(self) -> tuple[str, str]:
        """What the verdict bar says, and in which tone."""
        bar, build, attempt = self.query_one(VerdictBar), self._build, self._attempt
        if build is None or attempt is None:
            return "No build waits.", "muted"
        if not self._undecided:
            return _settled(self._view, build)
        if bar.mode == "name":
            return (
                f"Type the tool's name, {build.name}, if you want it in spite of the risks. Esc goes back.",
                "warn",
            )
        if bar.mode == "reject":
            return "Enter rejects with this reason. Tab marks a tag, Esc goes back.", ""
        unread = self.query_one(CodeView).unread
        approve = self._keys().get("approve", "a")
        if self._unread_known and unread:
            return f"unread: {unread} lines. {approve} again approves them unread, which is recorded.", "bad"
        if self._named:
            return f"Name typed. {approve} approves exactly these bytes.", "warn"
        if not self._arming.armed(self._clock()):
            return "Have a look first: verdict keys count in a moment.", "muted"
        parts = [f"unread: {unread} lines"] if unread else ["read to the end"]
        count = sum(risk.serious for risk in risks(build, attempt))
        if count:
            parts.append(
                f"▲ {count} serious {'risk' if count == 1 else 'risks'}: {approve} asks for the name"
            )
        tone = "bad" if count else "warn" if unread else "good"
        return " · ".join(parts), tone

    # --- input, judged by when it was made ----------------------------------------------

    def _touched(self, at: float) -> bool:
        """Note input made at a time; True when a verdict made then counts."""
        self._input_at = at
        counts = self._arming.touch(at)
        return (self._again is None or self._again.touch(at)) and counts

    def on_key(self, event: events.Key) -> None:
        """Keep early verdict keys away from the bindings, and note every other key."""
        counts = self._touched(event.time)
        held = self._bindings.key_to_bindings.get(event.key, ())
        if not counts and any(binding.action in VERDICTS for binding in held):
            event.stop()
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text is input, and never a verdict."""
        self._touched(event.time)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """A click is input."""
        self._touched(event.time)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll the trace that shows through."""
        self._scroll_below(event, 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll the trace that shows through."""
        self._scroll_below(event, -3)

    def _scroll_below(self, event: events.MouseEvent, lines: int) -> None:
        self._touched(event.time)
        if event.screen_x >= self.query_one("#review").region.x or len(self.app.screen_stack) < 2:
            return
        below, _region = self.app.screen_stack[-2].get_widget_at(event.screen_x, event.screen_y)
        for widget in below.ancestors_with_self:
            if getattr(widget, "allow_vertical_scroll", False):
                widget.scroll_relative(y=lines, animate=False)  # type: ignore[attr-defined]
                return

    @on(Sheet.Moved)
    def _sheet_scrolled(self, message: Sheet.Moved) -> None:
        self._touched(message.time)

    def _terminal_focus(self, focused: bool) -> None:
        """The key or click that brings the terminal to the front was not meant for the build."""
        if focused:
            self._arming = Arming(self._clock())

    @on(Button.Pressed)
    async def _pressed(self, message: Button.Pressed) -> None:
        message.stop()
        if self._touched(message.at) or message.choice not in VERDICTS:
            await self.run_action(message.choice)

    # --- verdicts -----------------------------------------------------------------------

    def _may(self) -> bool:
        """Whether the input that led here counts for the build on screen, which still waits."""
        bar = self.query_one(VerdictBar)
        counts = self._arming.armed(self._input_at) and (
            self._again is None or self._again.armed(self._input_at)
        )
        return self._undecided and counts and bar.mode == "idle"

    def action_approve(self) -> None:
        """Approve, after as many steps as the risk asks for."""
        build, attempt, bar = self._build, self._attempt, self.query_one(VerdictBar)
        if build is None or attempt is None or not self._may():
            return
        if attempt.draft.digest != build.digest:
            self.notify(
                "These are not the bytes that approval is asked for; they cannot be approved.",
                severity="error",
                markup=False,
            )
            return
        if self._serious and not self._named:
            bar.ask_name(build.name)
        elif self.query_one(CodeView).unread and not self._unread_known:
            self._unread_known = True
            self._again = Arming(self._clock(), longest=None)
        else:
            self._decide("approved")
        self.tick()

    def action_reject(self) -> None:
        """Ask for the reason."""
        if self._may():
            self.query_one(VerdictBar).ask_reason(self._clock())
            self.tick()

    def action_edit(self) -> None:
        """Ask the app for an editor."""
        if self._may() and self._build and self._attempt:
            self.app.post_message(self.EditRequested(self._build.approval_id, self._attempt.draft))

    def edited(self, approval_id: str, code: str, tests: str = "") -> None:
        """Take what the editor gave back; bytes that did not change are no verdict."""
        build, attempt = self._build, self._attempt
        self._arming = Arming(self._clock())
        if build is None or attempt is None or build.approval_id != approval_id or not self._undecided:
            return
        changed = tests if tests != attempt.draft.tests else ""
        if code == attempt.draft.code and not changed:
            self.notify("Nothing was changed; the build keeps waiting.", markup=False)
            return
        self._decide("edited", code=code, tests=changed)

    @on(VerdictBar.Named)
    def _name_typed(self) -> None:
        self._named = True
        self._again = Arming(self._clock(), longest=None)
        self.query_one(VerdictBar).idle()
        self._focus_sheet()
        self.tick()

    @on(VerdictBar.Rejected)
    def _reason_given(self, message: VerdictBar.Rejected) -> None:
        if self._undecided:
            self._decide("rejected", reason=message.reason)

    def _decide(
        self,
        verdict: Literal["approved", "rejected", "edited"],
        *,
        reason: str = "",
        code: str = "",
        tests: str = "",
    ) -> None:
        """Send the verdict once, then go on to the next waiting build or leave."""
        build, attempt = self._build, self._attempt
        if build is None or attempt is None or build.approval_id in self._decided:
            return
        self._decided.add(build.approval_id)
        command = ResolveApproval(
            approval_id=build.approval_id,
            digest=attempt.draft.digest,
            verdict=verdict,
            reason=reason,
            code=code,
            tests=tests,
            seen_ms=max(0.0, (self._clock() - self._shown_at) * 1000),
            scrolled_to_end=self.query_one(CodeView).read,
        )
        self.app.post_message(self.Decided(command))
        if self.queue:
            self._present(self.queue[0])
        else:
            self.dismiss(None)

    # --- getting about ------------------------------------------------------------------

    def action_defer(self) -> None:
        """Close a field, or else the review; the build keeps waiting."""
        bar = self.query_one(VerdictBar)
        if bar.mode == "idle" and not self._unread_known and not self._named:
            self.dismiss(None)
            return
        bar.idle()
        self._named, self._unread_known, self._again = False, False, None
        self._focus_sheet()
        self.tick()

    def action_diff(self) -> None:
        """The code, or what differs from the version or the attempt before."""
        self._show_tab("Code")
        if not self.query_one(CodeView).cycle():
            self.notify("There is no earlier version to compare with.", markup=False)
        self._name_code()

    def action_next(self) -> None:
        """The next waiting build."""
        self._turn(1)

    def action_previous(self) -> None:
        """The waiting build before."""
        self._turn(-1)

    def _turn(self, by: int) -> None:
        queue = self.queue
        if not queue or self.query_one(VerdictBar).mode != "idle":
            return
        ids = [one.approval_id for one in queue]
        here = ids.index(self._build.approval_id) if self._build and self._build.approval_id in ids else -by
        if queue[(here + by) % len(queue)] is not self._build:
            self._present(queue[(here + by) % len(queue)])

    def action_log(self) -> None:
        """Everything that the self-tests printed, and the tests themselves."""
        evidence = self.query_one(Evidence)
        self._show_tab("Tests")
        evidence.whole_log = not evidence.whole_log
        self._present_evidence()
        evidence.go_to("tests")
        self._focus_sheet()

    def action_full(self) -> None:
        """The review over the whole screen, or beside the trace."""
        self.toggle_class("-full")
        self._fit()

    def action_tab(self, by: int) -> None:
        """The part before or after, where one part is shown at a time."""
        tabs = list(_TAB_PARTS)
        self._show_tab(tabs[(tabs.index(self._tab) + by) % len(tabs)])

    @on(PartTabs.Chosen)
    def _tab_chosen(self, message: PartTabs.Chosen) -> None:
        self._show_tab(message.tab)

    def on_resize(self) -> None:
        """See `_fit`."""
        self._fit()

    def _fit(self) -> None:
        """Choose the layout for the width there is."""
        width = self.app.size.width
        was = self.has_class("-narrow")
        self.set_class(width < NARROW, "-narrow")
        wide = width if self.has_class("-full") else width * 6 // 10
        self.set_class(width >= NARROW and wide >= _BESIDE, "-beside")
        if was != self.has_class("-narrow"):
            self._present_evidence()
        self._show_tab(self._tab)

    def _show_tab(self, tab: Tab) -> None:
        changed, self._tab = tab != self._tab, tab
        self.query_one(PartTabs).mark(tab)
        self.set_class(tab == "Code", "-on-code")
        self.set_class(tab != "Code", "-on-evidence")
        if changed and self.has_class("-narrow"):
            self._present_evidence()
            self._focus_sheet()

    def _focus_sheet(self) -> None:
        on_code = self._tab == "Code" or not self.has_class("-narrow")
        self.query_one(CodeView if on_code else Evidence).focus()

    def _name_code(self) -> None:
        code = self.query_one(CodeView)
        code.border_title = f"from {code.base.label}" if code.base else None


def _settled(view: SessionView, build: BuildView) -> tuple[str, str]:
    now = next((one for one in view.builds if one.approval_id == build.approval_id), build)
    who = f" by {now.by}" if now.by else ""
    return f"Nothing to decide here: {now.state}{who}.", "muted"


def _bases(build: BuildView, attempt: Attempt) -> list[Base]:
    """What the code can be compared with: the version it replaces, the attempt before."""
    bases = [Base(f"v{build.version - 1}", build.parent.code)] if build.parent else []
    earlier = [one for one in build.attempts if one.number < attempt.number]
    return bases + ([Base(f"attempt {earlier[-1].number}", earlier[-1].draft.code)] if earlier else [])
