"""The input that was read from the terminal, and what that proves about when it was made.

A key may be read late: this process stalls, the line is slow, the terminal is busy. But the terminal sends keys and
answers in order, so a key that is read after the answer to a question was pressed after the question was asked.
Therefore a verdict needs three answers: to a question after painting (the screen is painted), to one at the end of
the quiet time, and after the key to one that is asked when no other input followed for long enough.

If an answer got lost, every later one would be matched with an earlier question, and nothing would count any more.
So an overdue question is followed by one of another kind, whose answer looks different. When that answer comes, all
earlier questions have been answered or never will be.

For a terminal that never answers, the reader's own polls are used: a poll without input proves that later input
arrived after it.
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
"""Number of questions until then, and seconds between them: an answer may get lost."""
RETRY = 1.0
"""Seconds after which an unanswered question is repeated."""
OVERDUE = 0.3
"""Seconds after which the next question is accompanied by one of the other kind."""
QUESTION = "\x1b[5n"
"""DSR query. Terminals answer `ESC [ 0 n` after everything written before."""
OTHER_QUESTION = "\x1b[c"
"""DA1 query. Terminals answer `ESC [ ? … c`, in the same order."""
MOST_OTHERS = 100
"""Unanswered questions of the other kind after which the terminal is taken not to support it."""


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

    The reader's thread records input, the event loop's thread reports painting. `ask` sends the terminal a question,
    and returns False if it cannot now. Without `ask` there is no terminal: the time of an event counts as exact, and
    no silence has to follow it.
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
        self._other_questions: deque[float] = deque()
        """Times of the unanswered questions of the other kind."""
        self._first: float | None = None
        self._newest = float("-inf")
        self._question_count = self._answers = 0
        self._proved = float("-inf")
        """Input read from now on was sent after this time."""
        self._empty = float("-inf")
        """When a poll last found nothing."""
        self._paint = Paint(float("-inf"))
        self._last: TimedInput | None = None
        self._deed = ""
        self._pressed: dict[str, float] = {}
        self._swallowed: dict[str, float] = {}
        """When the last character of a broken sequence was read, by character: see `swallowed`."""
        self._since = float("-inf")
        """When something was last read, or moved on screen."""
        self._settled = 0

    @property
    def terminal(self) -> bool:
        """Whether there is a terminal to ask."""
        return self._ask is not None

    @property
    def mute(self) -> bool:
        """Whether the terminal does not answer questions."""
        may_answer = self._answers or self._question_count < GREETINGS or self._first is None
        return not may_answer and self._empty - (self._first or 0.0) >= MUTE

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
        """Start to find out when a drawn review is on the terminal; return its record."""
        if not self.terminal:
            return Paint(at, at, at)
        with self._lock:
            paint = self._paint = Paint(self.clock())
            self.question()
        return paint

    def stir(self, at: float) -> None:
        """Restart the quiet time: something moved on screen."""
        self._since = max(self._since, at)

    def objection_to_key(self, paint: Paint | None, at: float) -> Objection:
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
        """Start with a fresh terminal: earlier questions will not be answered."""
        with self._lock:
            self._questions.clear()
            self._other_questions.clear()
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
            other_due = not self._other_questions or at - self._other_questions[-1] >= OVERDUE
            if overdue and other_due and len(self._other_questions) < MOST_OTHERS:
                self._other_questions.append(at)
                if not self._ask(OTHER_QUESTION):
                    self._other_questions.pop()
            self._questions.append(at)
            if not self._ask(QUESTION):
                self._questions.pop()
                return
            self._newest = at
            self._question_count += 1
            self._first = at if self._first is None else self._first
        finally:
            self._lock.release()

    def written(self, at: float) -> None:
        """Record that everything before the newest question was written."""
        if self._newest >= self._paint.drawn and self._paint.written is None:
            self._paint.written = at

    def answered(self, at: float) -> bool:
        """Record an answer; return False if nothing was asked: then it was typed."""
        with self._lock:
            if not self._questions:
                return False
            self._record_proof(self._questions.popleft(), at)
        return True

    def answered_other(self, at: float) -> bool:
        """Record an answer of the other kind, and drop earlier questions: their answers are lost."""
        with self._lock:
            if not self._other_questions:
                return False
            asked_at = self._other_questions.popleft()
            while self._questions and self._questions[0] < asked_at:
                self._questions.popleft()
            self._record_proof(asked_at, at)
        return True

    def _record_proof(self, asked_at: float, at: float) -> None:
        self._answers += 1
        self._proved = max(self._proved, asked_at)
        if self._paint.at is None and self._proved >= self._paint.drawn:
            self._paint.at = at

    def empty(self, at: float) -> int:
        """Record a poll without input; return the number of an input, once, that was alone long enough, else 0."""
        self._empty = at
        if self.mute and self._paint.at is None:
            self._paint.at = self._paint.written
        if not self._answers and self._question_count < GREETINGS and at - self._newest >= EVERY:
            self.question()
        if not self.watching:
            return 0
        last = self._last
        times = (
            [max(self._since, self._paint.at) + QUIET] if self._paint.at is not None else [self._paint.drawn]
        )
        if last is not None and last.number > self._settled:
            if self.proved >= last.at + last.alone:
                self._settled = last.number
                return last.number
            times.append(last.at + last.alone)
        due_time = max((moment for moment in times if self.proved < moment <= at), default=None)
        if due_time is not None and not self.mute and (self._newest < due_time or at - self._newest >= RETRY):
            self.question()
        return 0

    def swallowed(self, what: str, at: float) -> None:
        """Record the last character of a sequence: it may be a key, pressed after a sequence that was broken off.

        If that key is held down, its first repetition would pass for a press.
        """
        self._swallowed = {what: at}
        self._pressed[what] = at

    def note(
        self, what: str, at: float, *, deed: bool = True, repeated: bool = False, pieced: bool = False
    ) -> TimedInput:
        """Record an input that was read at a time, and return its timing.

        A `deed` is a key, click, wheel turn or paste. An input that was `pieced` together from several reads may be the
        end of one and the beginning of another.
        """
        after = self.proved if self.terminal else at
        timed = TimedInput(
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
        self._last = timed
        self._since = max(self._since, at)
        if deed:
            self._deed = what
            self._pressed = {
                key: pressed_at for key, pressed_at in self._pressed.items() if at - pressed_at < LATELY
            }
            self._pressed[what] = at
        return timed
