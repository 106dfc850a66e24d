"""Sequences of bytes through the product's own reader, parser and review, in a world of simulated time.

Keyboard, terminal, line, reader, event loop and writer each take their time and stand still now and then. Only the
widgets are stood in for: what is drawn decides nothing.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from types import SimpleNamespace
from typing import Any

import msgspec
from textual import events
from textual.widgets import Input

from alita_tui.console.input.parser import InputParser, Settled
from alita_tui.console.input.timing import GREETINGS, InputTiming
from alita_tui.console.messages import CommandAsked
from alita_tui.console.review.deciding import DecidingScreen
from alita_tui.console.review.screen import ApprovalScreen
from alita_tui.console.review.steps import BuildReview
from alita_tui.console.review.verdict_bar import DIGEST, NAME, VerdictBar
from alita_tui.spine.commands import ResolveApproval
from alita_tui.state.build import BuildState
from alita_tui.state.rows import Rows
from alita_tui.view import risk
from alita_tui.view.model import SessionView
from tests.attack.inputs.oracle import Decided, Made, Shown, accidents
from tests.attack.inputs.people import Step, sequence
from tests.console.approval_cases import calm, doubled, risky
from tests.support.viewing import with_

SEQUENCES = 104_000
_ANSWERS = {"\x1b[5n": b"\x1b[0n", "\x1b[c": b"\x1b[?62;22c"}
CLOSES, TURNS = {"escape": "back"}, {"n": "next", "p": "previous"}
BUILDS = (*[calm().builds[-1]] * 6, risky().builds[-1], doubled().builds[-1])


class Field(Input):
    """Stands in for the field in focus."""

    def __init__(self, bar: Bar) -> None:
        self.bar = bar

    def _forward_event(self, event: events.Event) -> None:
        if self.bar.screen.judge(event) and isinstance(event, events.Key):
            self.bar.key(event.key)


class Bar:
    """Stands in for the verdict bar: its modes and fields, with no widget."""

    def __init__(self, screen: Any) -> None:
        self.screen = screen
        self.mode, self.about, self.text = "idle", "", ""
        self.field = Field(self)

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None

    def idle(self) -> None:
        self.mode, self.text = "idle", ""

    def ask_reason(self, about: str) -> None:
        self.mode, self.about = "reject", about

    def ask_ban(self, about: str, _items: tuple[str, ...]) -> None:
        self.mode, self.about = "ban", about

    def ask_name(self, about: str, _name: str, _lasting: str) -> None:
        self.mode, self.about = "name", about

    def ask_grants(self, about: str, *_: Any) -> None:
        self.mode, self.about = "grants", about

    def key(self, key: str) -> None:
        if key == "enter" and self.mode in ("reject", "ban") and self.text.strip():
            mode: Any = self.mode
            self.screen._reason_given(VerdictBar.Worded(self.about, mode, self.text, (NAME, DIGEST)))
        self.text += key if len(key) == 1 else ""


class Bare(ApprovalScreen):
    """The review without widgets."""

    def __init__(self, view: SessionView, world: World) -> None:
        self.world = world
        self.stand_in = Bar(self)
        super().__init__(view, clock=lambda: world.now)
        self.timing.watch(True)
        self._present(next(iter(self.queue), None))

    @property
    def app(self) -> Any:  # type: ignore[override]  # no app runs
        return SimpleNamespace(post_message=self.world.posted, _keymap={}, timing=self.world.timing)

    @property
    def bar(self) -> Any:
        return self.stand_in

    @property
    def panes(self) -> Any:
        code = SimpleNamespace(unread=0, read=True, lines=27)
        nothing = lambda *_: None  # noqa: E731
        return SimpleNamespace(
            code=code, present=nothing, focus_sheet=nothing, withhold=nothing, close_log=lambda: False
        )

    @property
    def focused(self) -> Any:  # type: ignore[override]  # no app runs
        return self.stand_in.field if self.stand_in.mode in ("name", "reject", "ban") else None

    @property
    def is_current(self) -> bool:
        return self.world.screen is self

    def call_after_refresh(self, callback: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
        review: BuildReview = args[0]

        def draw() -> None:
            if self.is_current and review is self._review:
                self.world.write(review.build.approval_id)
                self._drawn(review, 0)

        self.world.later(self.world.rng.choice([0.005, 0.03, 0.2]), lambda: self.world.do(draw))
        return True

    def tick(self) -> None:
        return

    def notify(self, *_: Any, **__: Any) -> None:
        return

    def dismiss(self, *_: Any) -> Any:
        self.world.close()

    async def run_action(self, action: Any, *_: Any) -> None:
        getattr(self, f"action_{action}")()


class World:
    """Everything between a person's hands and the engine, and its time."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.now = rng.uniform(10, 1e5)
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self.mute = rng.random() < 0.25
        jitters = [0.0] if self.mute else [0.0, 0.0, 0.02, 0.2, 0.6]
        self.keyboard = rng.choice([0.0, 0.005, 0.05])
        self.line, self.back = rng.choice([0.0, 0.02, 0.15]), rng.choice([0.0, 0.02, 0.15])
        if self.mute:
            self.line = self.back = rng.choice([0.0, 0.002])
        self.jitter = rng.choice(jitters)
        self.loses = rng.choice([0.0, 0.0, 0.0, 0.1, 0.5])
        """Share of the answers that the line loses; never all of the first ones, which would make it a mute terminal on
        an unsteady line: nobody can tell when a key was made there."""
        self._unanswered: int | None = 0
        """How many questions came before the first answer; None once there was one."""
        self.made: list[Made] = []
        self.shown: list[Shown] = []
        self.decided: list[Decided] = []
        self.timing = InputTiming(self._ask, clock=lambda: self.now)
        self.reader = InputParser(self.timing)
        self._buffer: deque[int] = deque()
        self._order: dict[str, float] = {}
        self._asleep = 0.0
        self._busy = 0.0
        self._loop: deque[Callable[[], None]] = deque()
        self.screen: Bare | None = None
        self._presses = 0
        self._numbers = 0
        self.builds = [self._build(), self._build()]
        self.timing.begin(self.now)
        self.later(0.0, self._look)
        self.until(self.now + (2.5 if self.mute else 0.8))

    def _build(self) -> BuildState:
        self._numbers += 1
        build = self.rng.choice(BUILDS)
        approval_id = f"p{self._numbers}"
        return msgspec.structs.replace(
            build, approval_id=approval_id, build_id=f"b{approval_id}", status="pending"
        )

    @property
    def view(self) -> SessionView:
        return with_(builds=Rows[BuildState]().append(*self.builds))

    # --- time -----------------------------------------------------------------------------

    def later(self, seconds: float, what: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._queue, (self.now + seconds, self._count, what))

    def in_order(self, lane: str, seconds: float, what: Callable[[], None]) -> None:
        """As `later`, never before what went the same way earlier."""
        due = max(self.now + seconds, self._order.get(lane, 0.0))
        self._order[lane] = due
        self.later(due - self.now, what)

    def until(self, end: float) -> None:
        while self._queue and self._queue[0][0] <= end:
            self.now, _, what = heapq.heappop(self._queue)
            what()
        self.now = end

    # --- to the terminal and back -----------------------------------------------------------

    def press(self, step: Step) -> None:
        self._presses += not step.held
        self.made.append(Made(self.now, step.data, step.what, self._presses))
        wait = self.keyboard + self.rng.uniform(0, 0.015)
        self.in_order("keyboard", wait, lambda: self._send(step.data))

    def _send(self, data: bytes, whole: float = 0.7) -> None:
        """The terminal sends; a line may break anything anywhere."""
        while data:
            cut = len(data) if self.rng.random() < whole else self.rng.randrange(1, len(data) + 1)
            part, data = data[:cut], data[cut:]
            wait = self.line + (self.rng.uniform(0, self.jitter) if self.jitter else 0.0)
            self.in_order("line", wait, partial(self._buffer.extend, part))

    def write(self, said: str) -> None:
        """What the console writes: a review by its approval, empty for none, or a question."""
        wait = self.back + (self.rng.uniform(0, self.jitter) if self.jitter else 0.0)
        self.in_order("back", wait, lambda: self._arrived(said))

    def _arrived(self, said: str) -> None:
        if said not in _ANSWERS:
            self.shown.append(Shown(self.now, said))
        elif not self.mute:
            lost = self.rng.random() < self.loses
            if lost and self._unanswered is not None:
                self._unanswered += 1
                lost = self._unanswered < GREETINGS
            if not lost:
                self._unanswered = None
                self._send(_ANSWERS[said], 0.95)

    def _ask(self, question: str) -> bool:
        self.write(question)
        written = self.now + (0.0 if self.rng.random() < 0.9 else 0.3)
        self.later(written - self.now, lambda: self.timing.written(self.now))
        return True

    # --- the console ------------------------------------------------------------------------

    def _look(self) -> None:
        """One turn of the reader."""
        if self.now >= self._asleep:
            if not self._buffer:
                messages = self.reader.empty(self.now)
            else:
                size = (
                    len(self._buffer)
                    if self.rng.random() < 0.9
                    else self.rng.randrange(1, len(self._buffer) + 1)
                )
                messages = self.reader.read(bytes(self._buffer.popleft() for _ in range(size)), self.now)
            for message in messages:
                self.do(partial(self._handle, message))
        self.later(
            0.001 if self._buffer and self.now >= self._asleep else max(0.02, self._asleep - self.now),
            self._look,
        )

    def do(self, what: Callable[[], None]) -> None:
        """Have the event loop do something when its turn comes."""
        self._loop.append(what)
        self.later(max(0.0, self._busy - self.now), self._turn)

    def _turn(self) -> None:
        if self.now < self._busy:
            self.later(self._busy - self.now, self._turn)
        elif self._loop:
            self._loop.popleft()()

    def _handle(self, message: Any) -> None:
        screen = self.screen
        if isinstance(message, Settled):
            if screen is not None:
                finish(screen.settled(message.number))
        elif screen is None:
            if isinstance(message, events.Key) and message.key == "f8":
                self.open()
        elif isinstance(message, events.AppFocus):
            screen._terminal_focus(True)
        elif isinstance(message, events.MouseScrollUp | events.MouseScrollDown):
            screen._record_input(message)
            screen._scrolled()
        elif isinstance(message, events.MouseEvent):
            screen._record_input(message)
        elif isinstance(message, events.Key | events.Paste) and screen.judge(message):
            if isinstance(message, events.Paste):
                screen.stand_in.text += message.text if screen.stand_in.mode != "idle" else ""
            elif screen.stand_in.mode != "idle" and message.key != "escape":
                screen.stand_in.key(message.key)
            elif action := {**CLOSES, **TURNS}.get(message.key):
                getattr(screen, f"action_{action}")()

    def open(self) -> None:
        self.screen = Bare(self.view, self)

    def close(self) -> None:
        if self.screen is not None:
            self.timing.watch(False)
            self.screen = None
            self.write("")

    def posted(self, message: Any) -> None:
        if isinstance(message, CommandAsked) and isinstance(message.command, ResolveApproval):
            command = message.command
            self.decided.append(Decided(self.now, command.verdict.decision, command.approval_id))
            self.builds = [one for one in self.builds if one.approval_id != command.approval_id] + [
                self._build()
            ]
            self.later(0.01, lambda: self.do(self._advance))
        elif isinstance(message, DecidingScreen.EditRequested):
            self.decided.append(Decided(self.now, "edited", message.approval_id))

    def _advance(self) -> None:
        if self.screen is not None:
            self.screen.advance(self.view)

    # --- a script ---------------------------------------------------------------------------

    def play(self, steps: list[Step]) -> None:
        for step in steps:
            self.until(self.now + step.pause)
            match step.what:
                case "open":
                    self._open()
                case "look":
                    self.until(self.now + 0.2)
                case "stall":
                    self._asleep = max(self._asleep, self.now + step.seconds)
                    self._busy = max(self._busy, self._asleep)
                case "busy":
                    self._busy = max(self._busy, self.now + step.seconds)
                case "resize":
                    if self.screen is not None:
                        self.do(self._repaint)
                case _:
                    self.press(step)
        self.until(self.now + 2.0)

    def _repaint(self) -> None:
        if self.screen is not None:
            self.screen.repaint()

    def _open(self) -> None:
        """F8, and look until a review is there."""
        if self.screen is None:
            self.press(Step(0, "f8", b"\x1b[19~"))
        end = self.now + 4
        while self.now < end and not (self.shown and self.shown[-1].approval_id):
            self.until(self.now + 0.05)


def finish(work: Any) -> None:
    """Run a coroutine that awaits nothing real."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise AssertionError("it waited")


def run(count: int, seed: int) -> tuple[list[str], Counter[str]]:
    """Play scripts: what went wrong, and the verdicts there were."""
    # The same few builds come again and again: their code is parsed once each.
    risk._name_risks = cache(getattr(risk._name_risks, "__wrapped__", risk._name_risks))
    missed: list[str] = []
    verdicts: Counter[str] = Counter()
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        kind, steps = sequence(rng)
        world = World(rng)
        try:
            world.play(steps)
        except Exception as error:  # whatever ended it, the console would have ended
            missed.append(f"simulated {seed} {number}, {kind}: it ended with {error!r}")
            continue
        found = accidents(world.made, world.shown, world.decided)
        missed += [f"simulated {seed} {number}, {kind}{', mute' * world.mute}: {one}" for one in found]
        verdicts.update(one.verdict for one in world.decided)
    return missed, verdicts


def attack(share: float, seed: int) -> tuple[int, list[str], Counter[str]]:
    """A share of all sequences, on two processes."""
    count = round(SEQUENCES * share / 2)
    missed: list[str] = []
    total: Counter[str] = Counter()
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for found, verdicts in pool.map(run, [count, count], [seed * 2, seed * 2 + 1]):
            missed += found
            total += verdicts
    return 2 * count, missed, total
