"""What was read from the terminal, and what that proves about when it was made.

A key waits to be read: behind a stall of this process, a slow line, a busy terminal. But the terminal sends keys and
answers in one order, so a key that is read after the answer to a question was made after the question was asked.
Therefore a verdict takes two answers: one to a question that followed the painting (it was painted) and one to
a question asked when the quiet time was over; and after the key a third, asked when it had been alone for long enough.

An answer may get lost, and every later one would then be taken for an answer to an earlier question: nothing would
ever count again. So a question that waits is followed by one of another kind, whose answer looks different: what was
asked before it has been answered by then, or never will be.

A terminal that has never answered leaves the reader's own looks: a look that found nothing to read proves that what is
found later arrived after it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from alita_tui.console.input.arming import LATELY, QUIET, STALL, Objection, TimedInput, objection

MUTE = 2.0
"""Seconds after the first question until a silent terminal counts as mute."""
GREETINGS, EVERY = 4, 0.4
"""Number of questions before that, and seconds between them: an answer may get lost."""
RETRY = 1.0
"""Seconds after which an unanswered question is repeated."""
OVERDUE = 0.3
"""Seconds after which the next question is accompanied by one of the other kind."""
QUESTION = "\x1b[5n"
"""DSR query. Terminals answer `ESC [ 0 n` after everything written before."""
OTHER_QUESTION = "\x1b[c"
"""DA1 query. Terminals answer `ESC [ ? … c`, in the same order."""
MOST_OTHERS = 100
"""Unanswered questions of the other kind after which a terminal counts as one that does not know it."""


@dataclass(slots=True)
class Paint:
    """A drawn screen, and when it was certainly on the terminal."""

    drawn: float
    """When it was queued for writing."""
    written: float | None = None
    at: float | None = None
    """When it was known to be on the terminal; None: not yet."""


class InputTiming:
    """All input of the console, in the order in which it was read.

    The reader's thread notes; the event loop's says what is painted. `ask` sends the terminal a question
    and gives False when it cannot just now; without it there is no terminal: input is made when its event says,
    and alone at once.
    """

    def __init__(
        self, ask: Callable[[str], bool] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = clock
        self._ask = ask
        self._lock = threading.RLock()
        self._watchers = 0
        self._questions: deque[float] = deque()
        """Times of the unanswered questions."""
        self._others: deque[float] = deque()
        """The same of those of the other kind."""
        self._first: float | None = None
        self._newest = float("-inf")
        self._asked = self._answers = 0
        self._proved = float("-inf")
        """What is read from now on was sent after this time."""
        self._empty = float("-inf")
        """When a poll last found nothing."""
        self._paint = Paint(float("-inf"))
        self._last: TimedInput | None = None
        self._deed = ""
        self._pressed: dict[str, float] = {}
        self._swallowed: dict[str, float] = {}
        """When what may be a key that is down was read: see `swallowed`."""
        self._since = float("-inf")
        """When something was last read, or moved on screen."""
        self._told = 0

    @property
    def terminal(self) -> bool:
        """Whether there is a terminal to ask."""
        return self._ask is not None

    @property
    def mute(self) -> bool:
        """Whether the terminal does not answer questions."""
        told = self._answers or self._asked < GREETINGS or self._first is None
        return not told and self._empty - (self._first or 0.0) >= MUTE

    @property
    def proved(self) -> float:
        """The next input was made after this time."""
        return self._empty if self.mute else self._proved

    @property
    def watching(self) -> bool:
        """Whether a review is on screen."""
        return self._watchers > 0

    def watch(self, begins: bool) -> None:
        """Count a review that opens or closes."""
        self._watchers += 1 if begins else -1

    # --- the event loop's side --------------------------------------------------------------

    def painting(self, at: float) -> Paint:
        """Begin to find out when a drawn review is on the terminal."""
        if not self.terminal:
            return Paint(at, at, at)
        with self._lock:
            paint = self._paint = Paint(self.clock())
            self.question()
        return paint

    def stir(self, at: float) -> None:
        """Restart the quiet time: something moved on screen."""
        self._since = max(self._since, at)

    def waits(self, paint: Paint | None, at: float) -> Objection:
        """Return why a key pressed now, other than the last one, would be no verdict."""
        proved = self.proved if self.terminal else at
        number = self._last.number + 1 if self._last else 1
        return objection(TimedInput(number, "", at, proved, self._since, " "), paint.at if paint else None)

    @property
    def deed(self) -> str:
        """The last key, click or wheel turn."""
        return self._deed

    # --- the reader's side ------------------------------------------------------------------

    def begin(self, at: float) -> None:
        """Start anew with the terminal: earlier questions will not be answered."""
        with self._lock:
            self._questions.clear()
            self._others.clear()
            self._empty = self._proved = at
            self._newest = float("-inf")
            self.stir(at)
        self.question()

    def question(self) -> None:
        """Ask the terminal a question, or skip it if the queue is full."""
        if self._ask is None or not self._lock.acquire(blocking=False):
            return
        try:
            at = self.clock()
            overdue = bool(self._questions) and at - self._questions[0] >= OVERDUE
            again = not self._others or at - self._others[-1] >= OVERDUE
            if overdue and again and len(self._others) < MOST_OTHERS:
                self._others.append(at)
                if not self._ask(OTHER_QUESTION):
                    self._others.pop()
            self._questions.append(at)
            if not self._ask(QUESTION):
                self._questions.pop()
                return
            self._newest = at
            self._asked += 1
            self._first = at if self._first is None else self._first
        finally:
            self._lock.release()

    def written(self, at: float) -> None:
        """Record that everything before the newest question was written."""
        if self._newest >= self._paint.drawn and self._paint.written is None:
            self._paint.written = at

    def answered(self, at: float) -> bool:
        """Record an answer; return False if nothing was asked, so that it was typed."""
        with self._lock:
            if not self._questions:
                return False
            self._proves(self._questions.popleft(), at)
        return True

    def answered_other(self, at: float) -> bool:
        """The same for an answer of the other kind; answers to earlier questions are lost."""
        with self._lock:
            if not self._others:
                return False
            asked = self._others.popleft()
            while self._questions and self._questions[0] < asked:
                self._questions.popleft()
            self._proves(asked, at)
        return True

    def _proves(self, asked: float, at: float) -> None:
        self._answers += 1
        self._proved = max(self._proved, asked)
        if self._paint.at is None and self._proved >= self._paint.drawn:
            self._paint.at = at

    def empty(self, at: float) -> int:
        """Record a poll without input. Return the number of an input that was alone, once; else 0."""
        self._empty = at
        if self.mute and self._paint.at is None:
            self._paint.at = self._paint.written
        if not self._answers and self._asked < GREETINGS and at - self._newest >= EVERY:
            self.question()
        if not self.watching:
            return 0
        last = self._last
        marks = (
            [max(self._since, self._paint.at) + QUIET] if self._paint.at is not None else [self._paint.drawn]
        )
        if last is not None and last.number > self._told:
            if self.proved >= last.at + last.alone:
                self._told = last.number
                return last.number
            marks.append(last.at + last.alone)
        due = max((mark for mark in marks if self.proved < mark <= at), default=None)
        if due is not None and not self.mute and (self._newest < due or at - self._newest >= RETRY):
            self.question()
        return 0

    def swallowed(self, what: str, at: float) -> None:
        """A sequence that was read ends in this: it may be a key, pressed behind a sequence that was broken off.

        If it is held down, its first repetition would pass for a press.
        """
        self._swallowed = {what: at}
        self._pressed[what] = at

    def note(
        self, what: str, at: float, *, deed: bool = True, repeated: bool = False, pieced: bool = False
    ) -> TimedInput:
        """Something was read at a time; a `deed` is a key, click or turn of the wheel, and no mere sign of one.

        What was `pieced` together of several reads may be the end of one thing and the beginning of another.
        """
        after = self.proved if self.terminal else at
        heard = TimedInput(
            number=self._last.number + 1 if self._last else 1,
            what=what,
            at=at,
            after=after,
            since=self._since,
            last=what if at - self._swallowed.get(what, float("-inf")) < LATELY else self._deed,
            lately=at - self._pressed.get(what, float("-inf")) < LATELY,
            repeated=repeated,
            stalled=pieced or (self.terminal and at - self._empty > STALL),
        )
        self._last = heard
        self._since = max(self._since, at)
        if deed:
            self._deed = what
            self._pressed = {key: when for key, when in self._pressed.items() if at - when < LATELY}
            self._pressed[what] = at
        return heard
