"""A person's terminal with the console inside: made keys go in when they are due, what it paints is watched."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from tests.attack.inputs.oracle import Decided, Made, Shown
from tests.attack.inputs.screen import Screen

ROOT = Path(__file__).parents[3]
_QUESTION = re.compile(rb"\x1b\[(?:5n|c|\?\d+\$p)")
_BEGUN = re.compile(rb"\x1b(?:\[(?:5|\?\d*\$?)?)?\Z")
"""A question cut off by the end of a read: a loaded machine reads larger pieces, which end anywhere."""


class Terminal:
    """One console process on a pseudo-terminal, for many sequences of input."""

    def __init__(
        self, log: Path, *, answers: float | None = 0.001, size: tuple[int, int] = (160, 50)
    ) -> None:
        """`answers`: seconds until a query is answered; None for a terminal that answers none."""
        self._main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.log = log
        self.answers = answers
        self.made: list[Made] = []
        self.shown: list[Shown] = []
        self.loses: set[int] = set()
        """Numbers of the questions, from 0, whose answer is lost on its way."""
        self.questions = 0
        """How many questions it was asked."""
        self._rest = b""
        """The beginning of a question whose end was not read yet."""
        self._due: list[tuple[float, bytes]] = []
        self.screen = Screen(*size)
        self._resume = 0.0
        self._size, self._wider = size, False
        self._offset = 0
        self.decided: list[Decided] = []
        self.notes: list[dict[str, object]] = []
        self._presses = 0
        # pytest-xdist sets these, and Textual believes them more than the terminal.
        environ = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.attack.inputs.desk", str(log)],
            env={
                **environ,
                "TERM": "xterm-256color",
                "PYTHONPATH": str(ROOT),
                "TEXTUAL_ANIMATIONS": "none",
                "VISUAL": "true",  # an editor that somebody has to close ends a sequence
            },
            stdin=side,
            stdout=side,
            stderr=side,
            start_new_session=True,
        )
        os.close(side)

    # --- the person -----------------------------------------------------------------------

    def press(self, what: str, data: bytes | None = None, *, held: bool = False) -> None:
        """Make an input now; `held` repeats the key before."""
        self._presses += not held
        data = what.encode() if data is None else data
        one = Made(time.monotonic(), data, what, self._presses)
        self.made.append(one)
        os.write(self._main, data)

    def rest(self, seconds: float) -> None:
        """Make nothing for a while, looking at the screen."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._turn(left)

    def stall(self, seconds: float) -> None:
        """The console stands still for a while; what is made goes on arriving at its terminal."""
        os.kill(self.process.pid, signal.SIGSTOP)
        self._resume = time.monotonic() + seconds

    def resize(self) -> None:
        """Make the window one column wider or narrower."""
        self._wider = not self._wider
        self.screen.width = self._size[0] + self._wider
        fcntl.ioctl(
            self._main, termios.TIOCSWINSZ, struct.pack("HHHH", self._size[1], self.screen.width, 0, 0)
        )

    def recover(self) -> None:
        """Close what fields and reviews are open, for the next script to begin anew."""
        while self._resume:
            self.rest(0.05)
        for _ in range(3):
            self.rest(0.15)
            if self.here:
                self.press("escape", b"\x1b")
                self.rest(0.25)

    def see(self, seconds: float = 20.0, *, other: str = "") -> str:
        """Wait until a review is painted, of another build than `other`; its approval id."""
        end = time.monotonic() + seconds
        while not self.here or self.here == other:
            if time.monotonic() > end:
                raise TimeoutError(f"alive: {self.alive}\n{self.screen.text}")
            self._turn(0.05)
        return self.here

    @property
    def here(self) -> str:
        """The approval whose review is on screen; empty for none."""
        return self.shown[-1].approval_id if self.shown else ""

    def start(self) -> None:
        """Wait until builds wait, and until a mute terminal is known for one."""
        end = time.monotonic() + 60
        while "count_1" not in self.screen.text:
            if not self.alive or time.monotonic() > end:
                raise TimeoutError(f"alive: {self.alive}\n{self.screen.text}")
            self.rest(0.1)
        self.rest(2.2)

    def open(self) -> str:
        """Press F8 unless a review is there, and wait for one."""
        for _ in range(4):
            if not self.here:
                self.press("f8", b"\x1b[19~")
            if self._painted():
                return self.here
            # What was open in the console took the key.
            self.press("escape", b"\x1b")
            self.rest(0.5)
        raise TimeoutError(f"no review opens, alive: {self.alive}\n{self.screen.text}")

    def _painted(self, seconds: float = 60.0) -> bool:
        """Wait until a review is painted, or until the console has nothing more to do; whether one is."""
        end = time.monotonic() + seconds
        asleep: list[bool] = []
        while not self.here and time.monotonic() < end:
            self.rest(0.05)
            asleep.append(self._sleeps())
            if len(asleep) >= 30 and sum(asleep[-30:]) >= 27:
                break
        return bool(self.here)

    def _sleeps(self) -> bool:
        """Whether the console's event loop waits for something to happen, rather than for a processor."""
        try:
            stat = Path(f"/proc/{self.process.pid}/stat").read_bytes()
        except OSError:
            return True
        return not self._resume and stat.rpartition(b")")[2].split()[0] == b"S"

    @property
    def alive(self) -> bool:
        """Whether the console still runs."""
        return self.process.poll() is None

    # --- the terminal ---------------------------------------------------------------------

    def _turn(self, seconds: float) -> None:
        now = time.monotonic()
        if self._resume and now >= self._resume:
            os.kill(self.process.pid, signal.SIGCONT)
            self._resume = 0.0
        for due, data in [one for one in self._due if one[0] <= now]:
            self._due.remove((due, data))
            os.write(self._main, data)
        pauses = [due - now for due, _ in self._due] + ([self._resume - now] if self._resume else [])
        wait = min([seconds, *pauses])
        if select.select([self._main], [], [], max(0.0, wait))[0]:
            try:
                data = os.read(self._main, 65536)
            except OSError:
                data = b""
            if data:
                self._take(data)
            else:
                time.sleep(min(seconds, 0.05))
        self._read_log()

    def _take(self, data: bytes) -> None:
        now = time.monotonic()
        if self.answers is not None:
            sent = self._rest + data
            self._rest = found[0] if (found := _BEGUN.search(sent)) else b""
            for query in _QUESTION.findall(sent.removesuffix(self._rest)):
                said = {b"\x1b[5n": b"\x1b[0n", b"\x1b[c": b"\x1b[?62;22c"}.get(query)
                if query.endswith(b"$p"):
                    said = b"\x1b[?%b;0$y" % query[3:-2]
                if self.questions not in self.loses:
                    self._due.append((now + self.answers, said or b""))
                self.questions += query == b"\x1b[5n"
        self.screen.write(data)
        if self.screen.review != self.here:
            self.shown.append(Shown(now, self.screen.review))

    def _read_log(self) -> None:
        if not self.log.exists():
            return
        with self.log.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                said = json.loads(line)
                self.notes.append(said)
                if "verdict" in said:
                    self.decided.append(Decided(said["at"], said["verdict"], said["approval_id"]))

    def close(self) -> None:
        """End the console."""
        if self.alive:
            os.kill(self.process.pid, signal.SIGCONT)
            self.process.terminate()
            end = time.monotonic() + 10
            while self.alive and time.monotonic() < end:
                self._turn(0.05)
            if self.alive:
                self.process.kill()
        self.process.wait()
        os.close(self._main)
