"""12,000 random streams of input through the review's own code, judged by an oracle that knows no code of it.

Only the widgets are stood in for: what is drawn decides nothing. `test_console_approval_streams` drives the
whole app, with fewer streams.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from textual import events
from textual.widgets import Input

from alita_tui.console.input.timing import InputTiming
from alita_tui.console.messages import CommandAsked
from alita_tui.console.review.deciding import DecidingScreen
from alita_tui.console.review.screen import ApprovalScreen
from alita_tui.console.review.verdict_bar import DIGEST, NAME, Button, Choice, VerdictBar
from alita_tui.spine.commands import ResolveApproval
from alita_tui.state.build import BuildState
from alita_tui.state.rows import Rows
from alita_tui.view import risk
from alita_tui.view.model import SessionView
from tests.console.approval_cases import NEW, calm, doubled, queue, risky
from tests.support.viewing import with_

QUIET = 0.425  # as promised to people, not as the code has it
SEQUENCES = 12_000
ACTIONS = {
    "a": "approve", "o": "lend", "r": "reject", "e": "edit", "t": "retest", "b": "ban", "x": "stop",
    "u": "reuse", "m": "merge", "l": "alias", "c": "grants", "n": "next", "p": "previous", "z": "defer",
    "w": "withdraw", "escape": "back",
}  # fmt: skip
DECISIVE = {"a": {"approved"}, "o": {"approved"}, "t": {"retested"}, "x": {"stopped"}, "e": {"edit"},
            "u": {"rejected"}, "m": {"rejected"}, "l": {"aliased"}, "w": {"withdrawn"},
            "enter": {"rejected", "banned"}}  # fmt: skip
BUILDS = (*queue().builds, *calm().builds, *risky().builds, *doubled().builds, *doubled(risky()).builds)
TWICE = frozenset("txumlw")


class Field(Input):
    """Stands in for the field in focus."""

    def __init__(self, bar: Bar) -> None:
        self.bar = bar

    def _forward_event(self, event: events.Event) -> None:
        if self.bar.screen.judge(event) and isinstance(event, events.Key):
            self.bar.key(event.key, event.time)


@dataclass
class Bar:
    """Stands in for the verdict bar: its modes and fields, with no widget."""

    screen: Any
    mode: str = "idle"
    about: str = ""
    name: str = ""
    text: str = ""
    ticked: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    slip: bool = False
    """The next letter of a name is a wrong one."""

    @property
    def field(self) -> Any:
        return Field(self)

    def idle(self) -> None:
        self.mode, self.text, self.ticked = "idle", "", ()

    def arm(self, armed: bool) -> None:
        return

    def ask_reason(self, about: str) -> None:
        self.mode, self.about = "reject", about

    def ask_ban(self, about: str, items: tuple[str, ...]) -> None:
        self.mode, self.about, self.ticked = "ban", about, (NAME, DIGEST)

    def ask_name(self, about: str, names: tuple[str, ...], lasting: str) -> None:
        self.mode, self.about, self.name = "name", about, " ".join(names)

    def ask_grants(self, about: str, items: tuple[str, ...], withheld: Any) -> None:
        self.mode, self.about, self.items = "grants", about, items

    def key(self, key: str, at: float) -> None:
        """A key while a field has the focus."""
        if self.mode == "name":
            self.text += key if len(key) == 1 else ""
            if self.text == self.name:
                self.screen._name_typed(VerdictBar.Named(self.about))
        elif self.mode == "grants":
            if key == "space":
                self.screen._granting(VerdictBar.Granting(self.about, self.items[1:]))
        elif key == "enter":
            words = self.text.strip()
            if words:
                mode: Any = self.mode
                for _ in range(2):  # an Enter too many
                    self.screen._reason_given(VerdictBar.Worded(self.about, mode, words, self.ticked))
        else:
            self.text += key if len(key) == 1 else ""


class Bare(ApprovalScreen):
    """The review without widgets."""

    def __init__(self, view: SessionView, table: Table) -> None:
        self.table = table
        self.stand_in = Bar(self)
        self.lines = 0
        self.pointed: Button | None = None
        super().__init__(view, clock=lambda: table.now)
        self._present(next(iter(self.queue), None))

    @property
    def app(self) -> Any:  # type: ignore[override]  # no app runs
        return SimpleNamespace(post_message=self.table.posted, _keymap={}, timing=self.table.timing)

    @property
    def is_current(self) -> bool:
        return True

    def call_after_refresh(self, _drawn: Any, review: Any, _more: int) -> bool:
        self._drawn(review, 0)
        return True

    def call_next(self, work: Any, *arguments: Any) -> None:
        asyncio_run(work(*arguments))

    @property
    def bar(self) -> Any:
        return self.stand_in

    @property
    def panes(self) -> Any:
        code = SimpleNamespace(unread=self.lines, read=not self.lines, lines=27)
        nothing = lambda *_: None  # noqa: E731
        return SimpleNamespace(
            code=code, present=nothing, focus_sheet=nothing, withhold=nothing, close_log=lambda: False
        )

    @property
    def focused(self) -> Any:  # type: ignore[override]  # no app runs
        return self.stand_in.field if self.stand_in.mode in ("name", "reject", "ban") else None

    def tick(self) -> None:
        return

    def notify(self, *_: Any, **__: Any) -> None:
        return

    def dismiss(self, *_: Any) -> Any:
        self.table.closed = True

    async def run_action(self, action: Any, *_: Any) -> None:
        getattr(self, f"action_{action}")()

    def _under(self, event: events.MouseEvent) -> Button | None:
        return self.pointed


@dataclass
class Table:
    """The oracle: what was shown when, and which inputs there were."""

    now: float
    closed: bool = False
    sent: list[ResolveApproval] = field(default_factory=list)
    edits: list[str] = field(default_factory=list)
    shown: str = ""
    quiet_since: float = float("-inf")
    shown_at: float = 0.0
    last: str = ""
    timing: InputTiming = field(default_factory=InputTiming)
    announced: dict[tuple[str, str], float] = field(default_factory=dict)
    """When a weighty key was first pressed on a build."""
    log: list[tuple[float, str]] = field(default_factory=list)

    def posted(self, message: Any) -> None:
        if isinstance(message, CommandAsked) and isinstance(message.command, ResolveApproval):
            self.sent.append(message.command)
        elif isinstance(message, DecidingScreen.EditRequested):
            self.edits.append(message.approval_id)

    def look(self, approval_id: str) -> None:
        """What is on screen now; another build begins its wait anew."""
        if approval_id != self.shown:
            self.shown, self.shown_at = approval_id, self.now

    def input(self, at: float, what: str) -> bool:
        """Whether an input made then may lead to a verdict on what is shown."""
        allowed = at > self.shown_at and at >= self.quiet_since + QUIET and what != self.last
        self.quiet_since, self.last = max(self.quiet_since, at), what
        return allowed

    def focus(self) -> None:
        self.shown_at = self.now


def numbered(build: BuildState, number: int) -> BuildState:
    return msgspec.structs.replace(build, approval_id=f"p{number}", build_id=f"b{number}", status="pending")


class Session:
    """One screen, input as it comes, builds as they arrive or are decided elsewhere."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.table = Table(now=rng.uniform(0, 1e5))
        self.buttons: dict[str, Button] = {}
        self.builds = [numbered(rng.choice(BUILDS), 0), numbered(rng.choice(BUILDS), 1)]
        self.open()

    @property
    def view(self) -> SessionView:
        return with_(builds=Rows[BuildState]().append(*self.builds))

    def open(self) -> None:
        self.table.closed = False
        self.screen = Bare(self.view, self.table)
        self.screen.lines = self.rng.choice([0, 0, 12])
        self.table.shown = ""
        self.see()

    def see(self) -> None:
        build = self.screen.build
        self.table.look(build.approval_id if build else "")

    def act(self) -> None:
        rng, table = self.rng, self.table
        at = table.now
        # Handled late, now and then, by an event loop that was busy.
        table.now += rng.choice([0.0, 0.0, 0.001, 0.2, 2.0])
        kind = rng.choice(["key"] * 12 + ["click", "click", "paste", "wheel", "focus", "arrive", "gone"])
        before = (len(table.sent), len(table.edits))
        shown = self.screen.build.approval_id if self.screen.build else ""
        key, allowed, mode = "", False, self.screen.stand_in.mode
        if kind == "arrive":
            self.builds.append(numbered(rng.choice(BUILDS), len(self.builds)))
            self.screen.advance(self.view)
        elif kind == "gone":
            place = rng.randrange(len(self.builds))
            self.builds[place] = msgspec.structs.replace(self.builds[place], status="rejected")
            self.screen.advance(self.view)
        elif kind == "focus":
            table.focus()
            self.screen._terminal_focus(True)
        elif kind == "wheel":
            table.input(at, "wheel")
            self.made("wheel", at)
            self.screen._scrolled()
            table.quiet_since = table.now
        elif kind == "click":
            choice: Choice = rng.choice(
                ("approve", "reject", "edit", "stop", "lend", "retest", "ban", "reuse", "merge", "alias")
            )
            key, allowed = next(k for k, name in ACTIONS.items() if name == choice), table.input(at, choice)
            self.click(choice, at)
        elif kind == "paste":
            table.input(at, "paste")
            event = events.Paste("a\nyes\n" + NEW.name)
            event.time = at
            if self.screen.judge(event) and mode in ("reject", "ban"):
                self.screen.stand_in.text += event.text.splitlines()[0]
        else:
            key = rng.choice(
                [
                    *"aorertbxcumlnpumlwwz",
                    "a",
                    "a",
                    "t",
                    "x",
                    "u",
                    "m",
                    "l",
                    "w",
                    "w",
                    "r",
                    "enter",
                    "enter",
                    "space",
                    "escape",
                    "q",
                ]
            )
            allowed = table.input(at, key)
            self.press(key, at)
        table.log.append((at, f"{kind} {key} in {mode} on {shown}: {allowed}"))
        self.check(before, key, at, allowed, mode, shown)
        if key in TWICE and mode == "idle" and allowed:
            table.announced.setdefault((shown, key), table.now)
        self.see()
        if table.closed:
            self.open()

    def press(self, key: str, at: float) -> None:
        event = events.Key(key, key if len(key) == 1 else None)
        event.time = at
        if not self.screen.judge(event):
            return
        bar = self.screen.stand_in
        if bar.mode != "idle" and key != "escape":
            right = bar.name[len(bar.text) : len(bar.text) + 1] if bar.mode == "name" else ""
            typed = right if right and self.rng.random() < 0.9 else key
            bar.key(typed, at)
        elif action := ACTIONS.get(key):
            getattr(self.screen, f"action_{action}")()

    def made(self, what: str, at: float) -> None:
        """Note an input that is no key."""
        self.screen._newest = self.table.timing.note(what, at)
        self.screen._held = None

    def click(self, choice: Choice, at: float) -> None:
        """The mouse goes down and up on a choice."""
        button = Button(choice)
        self.screen.pointed = self.buttons.setdefault(choice, button)
        for kind in (events.MouseDown, events.MouseUp):
            event = kind(None, 1, 1, 0, 0, 1, False, False, False, 1, 1)
            event.time = at
            self.screen._mouse(event)

    def check(
        self, before: tuple[int, int], key: str, at: float, allowed: bool, mode: str, shown: str
    ) -> None:
        table = self.table
        fresh = table.sent[before[0] :]
        assert len(fresh) + len(table.edits) - before[1] <= 1, table.log[-12:]
        for command in fresh:
            why = (command.verdict.decision, table.log[-12:])
            assert allowed, why
            assert command.verdict.decision in DECISIVE.get(key, ()), why
            assert command.approval_id == shown, why
            wanted = next(one for one in self.builds if one.approval_id == shown)
            assert wanted.status == "pending", why
            assert command.digest == wanted.digest, why
            if key in TWICE:
                assert at >= table.announced.get((shown, key), at) + QUIET, why
            assert command.verdict.alias_of == (wanted.attempts[-1].twins[0] if key == "l" else None), why
            assert (key == "enter") == (mode in ("reject", "ban")), why
            self.builds[self.builds.index(wanted)] = msgspec.structs.replace(wanted, status="approved")
        for approval_id in table.edits[before[1] :]:
            assert allowed and key == "e" and approval_id == shown, table.log[-12:]


def asyncio_run(work: Any) -> None:
    """Run a coroutine that awaits nothing real."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise AssertionError("it waited")


def test_no_sequence_of_input_decides_too_early_or_on_another_build(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The same few builds come again and again: their code is parsed once each.
    monkeypatch.setattr(risk, "_name_risks", cache(risk._name_risks))
    rng = random.Random(20261121)
    decided: dict[str, int] = {}
    for _ in range(SEQUENCES):
        session = Session(rng)
        for _step in range(rng.randrange(6, 18)):
            session.table.now += rng.choice([0.0, 0.01, 0.1, 0.3, 0.43, 0.5, 0.6, 0.6, 1.6])
            session.act()
        for command in session.table.sent:
            what: str = command.verdict.decision
            if command.verdict.tags:
                what = "merged" if command.verdict.reason.startswith("merge: ") else "reused"
            decided[what] = decided.get(what, 0) + 1
        assert len({command.approval_id for command in session.table.sent}) == len(session.table.sent)
    # The streams could decide, in every way: otherwise nothing of the above would mean anything.
    assert set(decided) == {
        "approved",
        "rejected",
        "reused",
        "merged",
        "banned",
        "retested",
        "stopped",
        "aliased",
        "withdrawn",
    }
    assert min(decided.values()) > 30, decided


async def test_the_oracle_finds_planted_mistakes() -> None:
    """A review that is armed from the start does not pass."""
    rng = random.Random(3)
    await asyncio.sleep(0)
    original = DecidingScreen._decidable

    class Hasty(Bare):
        def _decidable(self) -> Any:
            return self._review if self.stand_in.mode == "idle" and self.undecided else None

        def judge(self, event: events.Event) -> bool:
            return True

    assert Bare._decidable is original
    caught = 0
    for _ in range(400):
        session = Session(rng)
        session.screen = Hasty(session.view, session.table)
        try:
            for _step in range(8):
                session.table.now += rng.choice([0.0, 0.1])
                session.act()
        except AssertionError:
            caught += 1
    assert caught > 50
