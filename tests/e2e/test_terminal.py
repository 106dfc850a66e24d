"""The console in a real pseudo-terminal: it paints, and it gives the terminal back."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from alita_tui.config.paths import shipped
from alita_tui.store.sessions import SessionStore
from tests.support import streams

pytestmark = pytest.mark.pty


def _without_size(environ: dict[str, str]) -> dict[str, str]:
    """Return it without the size of the test runner's terminal, which pytest-xdist sets: this terminal's size counts."""
    return {name: value for name, value in environ.items() if name not in {"COLUMNS", "LINES"}}


class Terminal:
    """A child of ours on the other side of a pseudo-terminal."""

    def __init__(self, environ: dict[str, str], *arguments: str, size: tuple[int, int] = (36, 120)) -> None:
        self._main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "alita_tui", *arguments],
            env={**_without_size(environ), "TERM": "xterm-256color", "COLORTERM": "truecolor"},
            stdin=side,
            stdout=side,
            stderr=side,
            start_new_session=True,
        )
        os.close(side)
        self.said = b""

    def wait(self, pattern: bytes, seconds: float = 240) -> None:
        """Read until a pattern has been written."""
        end = time.monotonic() + seconds
        while not re.search(pattern, self.said):
            if time.monotonic() >= end:
                self.kill()
                raise AssertionError(self.said[-2000:])
            if not self._read(0.2) and self.process.poll() is not None:
                raise AssertionError((self.process.returncode, self.said[-2000:]))

    def type(self, keys: bytes, until: bytes = b"", seconds: float = 240) -> None:
        """Send keys; read until a pattern is written from then on."""
        if until:
            self.said = b""
        os.write(self._main, keys)
        if until:
            self.wait(until, seconds)

    def quiet(self, seconds: float) -> None:
        """Read for a while without pressing anything, as a person does who looks."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._read(0.05)

    def end(self, seconds: float = 240) -> int:
        """Read to the end; the exit code."""
        limit = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() >= limit:
                self.kill()
                raise AssertionError(("it does not end", self.said[-2000:]))
            self._read(0.05)
        while self._read(0.1):
            pass
        os.close(self._main)
        return self.process.returncode

    def kill(self) -> None:
        """End it, so that a test that failed leaves nothing."""
        self.process.kill()
        self.process.wait()

    def _read(self, seconds: float) -> bool:
        if not select.select([self._main], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._main, 65536)
        except OSError:
            return False
        self.said += data
        return bool(data)


RESTORED = (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?2004l", b"\x1b[?25h")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)]
)
def test_a_signal_gives_the_terminal_back(shell, number: signal.Signals, code: int) -> None:
    terminal = Terminal(shell.environ, "--model", "demo:recorded")
    terminal.wait(rb"What should")  # the console itself: the first frame has a test of its own
    assert b"\x1b[?1049h" in terminal.said
    terminal.process.send_signal(number)
    assert terminal.end() == code, terminal.said[-1500:].decode("utf-8", "replace")
    tail = terminal.said[terminal.said.rindex(b"\x1b[?1049h") :]
    for sequence in RESTORED:
        assert sequence in tail, sequence


def test_text_typed_while_the_console_opens_becomes_a_task_and_is_not_echoed(shell) -> None:
    terminal = Terminal(shell.environ, "--model", "demo:recorded")
    terminal.wait(rb"Opening ")
    assert b"What should" not in terminal.said, "the first frame comes before the console"
    terminal.type(b"typed early\r")
    terminal.wait(rb"(?s)What should.*typed early.*ready")
    assert b"typed early" not in terminal.said.partition(b"What should")[0], "echoed over the frame"
    terminal.type(b"\x11")
    assert terminal.end() == 0
    assert "typed early" in shell("sessions", "list").stdout


def test_a_signal_in_the_first_moment_gives_the_terminal_back(shell) -> None:
    terminal = Terminal(shell.environ, "--model", "demo:recorded")
    before = termios.tcgetattr(terminal._main)
    terminal.wait(rb"Opening ")
    assert termios.tcgetattr(terminal._main) != before, "keys are not echoed meanwhile"
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.process.wait(240) == 143
    assert termios.tcgetattr(terminal._main) == before
    assert terminal.end() == 143
    for sequence in RESTORED:
        assert sequence in terminal.said, sequence


def test_a_signal_in_the_midst_of_the_first_frame_gives_the_terminal_back(shell) -> None:
    # The frame is larger than what a terminal takes at once, so the console is still writing it, through a buffer.
    environ = {name: value for name, value in shell.environ.items() if name != "PYTHONUNBUFFERED"}
    terminal = Terminal(environ, "--model", "demo:recorded", size=(300, 500))
    terminal.wait(rb"1049h")
    terminal.process.send_signal(signal.SIGTERM)
    code = terminal.end()
    assert code == 143, terminal.said[-1500:].decode("utf-8", "replace")
    for sequence in RESTORED:
        assert sequence in terminal.said, sequence


def test_the_first_start_offers_the_recorded_demo(shell) -> None:
    terminal = Terminal(shell.environ)
    terminal.wait(rb"Recorded demo")
    terminal.process.send_signal(signal.SIGTERM)
    terminal.end()


def test_a_model_error_is_printed_after_the_screen_is_restored(shell) -> None:
    terminal = Terminal(shell.environ, "--model", "custom:small")
    code = terminal.end()
    told = terminal.said.decode("utf-8", "replace")
    assert code == 2, told[-1500:]
    assert "Traceback" not in told
    assert "alita: " in told[told.rfind("\x1b[?1049l") :]


def test_what_is_typed_while_a_replay_opens_is_not_lost(shell) -> None:
    terminal = Terminal(shell.environ, "replay", str(shipped("sessions") / "golden-walkthrough.json"))
    terminal.type(b"\x1b[F")  # End, before anything is on screen
    terminal.wait(rb"cannot have two periods")
    terminal.kill()


def _shown(text: str) -> bytes:
    """Return a pattern of a text on one line of the screen: a toast over a divider is painted in pieces."""
    return rb"(?:\x1b\[[0-9;]*[Hm])*".join(re.escape(character.encode()) for character in text)


def test_quitting_says_how_to_come_back(shell) -> None:
    terminal = Terminal(shell.environ, "--model", "demo:recorded")
    terminal.wait(rb"sandbox ready")
    terminal.type(b"hello\r", b"(?s)Configure a model with.*ready")  # the task has ended
    terminal.type(b"\x11")
    assert terminal.end() == 0
    told = terminal.said.decode("utf-8", "replace").rpartition("\x1b[?1049l")[2]
    found = re.search(r"To come back to this session: (?:alita|\S+ -m alita_tui) (.+)", told)
    assert found, told
    # In a shell of its own that knows nothing of ALITA_HOME, what was printed opens the session.
    elsewhere = {name: value for name, value in shell.environ.items() if name != "ALITA_HOME"}
    again = Terminal(elsewhere, *shlex.split(found[1]))
    again.wait(rb"hello")
    again.wait(rb"Restored \d+ events")
    again.type(b"\x03", until=_shown("Press again to quit"))
    again.wait(_shown("--home"))
    again.wait(_shown(shlex.split(found[1])[-1]))
    again.type(b"\x11")
    assert again.end() == 0


@pytest.mark.parametrize(("kind", "named"), [("dumb", "TERM=dumb"), ("", "without TERM")])
def test_an_unsupported_terminal_is_named(shell, kind: str, named: str) -> None:
    main, side = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "alita_tui"],
        env={**shell.environ, "TERM": kind}, stdin=side, stdout=side, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(main)
    os.close(side)
    assert done.returncode == 2 and "not an interactive terminal" not in done.stderr
    assert named in done.stderr and "alita --plain" in done.stderr


@pytest.mark.parametrize("pressed", [b"", b"\x1b[19~"], ids=["while writing", "in the review"])
def test_quitting_while_a_build_waits_says_so(shell, pressed: bytes) -> None:
    envelopes = [envelope for envelope in streams.waiting() if envelope.seq]
    named = SessionStore(shell.home / "data" / "sessions").add(envelopes[0].session_id, envelopes)
    terminal = Terminal(shell.environ, "--model", "demo:recorded", "--session", named)
    terminal.wait(rb"to review")
    if pressed:
        terminal.type(pressed, until=rb"AT A GLANCE")
    terminal.type(b"\x11")
    assert terminal.end() == 0
    left = terminal.said.decode("utf-8", "replace").rpartition("\x1b[?1049l")[2]
    assert "validate_email_addresses v1 waits for your decision" in left
    assert f"alita_tui --home {shell.home} --session {named}" in left


def test_typed_text_survives_kill_9_without_secrets_on_disk(shell) -> None:
    terminal = Terminal(shell.environ, "--model", "demo:recorded")
    terminal.wait(rb"events saved")
    key = b"ghp_" + b"aB3dE5gH7" * 4
    terminal.type(b"chart the sales with " + key + b" by", b"by")
    path = _draft_file(shell, terminal, b"by")
    assert path.stat().st_mode & 0o777 == 0o600 and key not in path.read_bytes()
    terminal.process.kill()
    assert terminal.end() == -signal.SIGKILL
    again = Terminal(shell.environ, "--model", "demo:recorded")
    again.wait(rb"chart the sales with")
    again.wait(rb"by")
    again.process.send_signal(signal.SIGTERM)
    again.end()


def _draft_file(shell, terminal: Terminal, ends: bytes, seconds: float = 240) -> Path:
    """Wait until the drafts on disk end with what was typed last, reading what the console paints meanwhile."""
    limit = time.monotonic() + seconds
    home = Path(shell.environ["ALITA_HOME"])
    while time.monotonic() < limit:
        terminal.quiet(0.05)
        for path in home.rglob("drafts.json"):
            if ends + b'"' in path.read_bytes():
                return path
    terminal.kill()
    raise AssertionError("what was typed is on no disk")
