"""The terminal's driver: reads on time, asks the terminal, and survives whatever it sends.

It extends Textual's: it reports when a poll found no input, and when drawn output was written.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import time
from collections.abc import Callable
from queue import Full
from typing import IO, Any

from textual.drivers.linux_driver import LinuxDriver

from alita_tui.console.input.parser import InputParser
from alita_tui.console.input.timing import InputTiming
from alita_tui.console.terminal import typed_meanwhile

_log = logging.getLogger(__name__)
BEAT, IDLE = 0.02, 0.1
"""Seconds between two polls of the input, during a review and otherwise."""
GONE = 2.0
"""Seconds of read errors after which the terminal counts as gone."""


class _Mark(str):
    """Text to write, and a callback for when it was flushed."""

    flushed: Callable[[float], None]


class _ReportingFile:
    """The file that Textual writes to; reports when a mark was flushed."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        self._file.write(text)
        if isinstance(text, _Mark):
            self._file.flush()
            text.flushed(time.monotonic())

    def flush(self) -> None:
        self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


class TerminalDriver(LinuxDriver):
    """Textual's driver with our input parser and timing."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.timing = InputTiming(self._ask)
        self._wake_reader, self._wake_writer = os.pipe()
        """A pipe; a byte written to it ends the reader's wait, so that leaving does not wait for the next poll."""
        assert self._file is not None
        self._file = _ReportingFile(self._file)  # type: ignore[assignment]  # the writer's thread calls nothing else

    def start_application_mode(self) -> None:
        """Take over the terminal, and start asking it."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.timing.begin(time.monotonic())

    def disable_input(self) -> None:
        """Stop reading at once."""
        os.write(self._wake_writer, b".")
        super().disable_input()
        if select.select([self._wake_reader], [], [], 0)[0]:
            os.read(self._wake_reader, 64)

    def _ask(self, question: str) -> bool:
        """Queue a question for the terminal; return False if the queue is full."""
        if self._writer_thread is None:
            return False
        mark = _Mark(question)
        mark.flushed = self.timing.written
        try:
            self._writer_thread._queue.put_nowait(mark)
        except Full:
            return False
        return True

    def run_input_thread(self) -> None:
        """Read until stopped; no input ends the loop."""
        reader = InputParser(self.timing)
        failing_since: float | None = None
        if typed := typed_meanwhile():
            for message in reader.read(typed, time.monotonic()):
                self.process_message(message)
        while not self.exit_event.is_set():
            try:
                self._poll(reader)
                failing_since = None
            except OSError as error:
                failing_since = failing_since or time.monotonic()
                if time.monotonic() - failing_since > GONE:
                    _log.error("The terminal cannot be read: %s", error)
                    self._app.call_later(self._app.exit, return_code=129)
                    return
                time.sleep(IDLE)
            except Exception:  # noqa: BLE001  # one bad input must not end the reader
                _log.exception("The reader failed; what it had read is dropped")
                reader = InputParser(self.timing)
                self.timing.note("junk", time.monotonic(), deed=False)

    def _poll(self, reader: InputParser) -> None:
        """Poll the input once, waiting briefly if there is none."""
        polled_at = (
            time.monotonic()
        )  # taken before the poll: it proves something about this time, not a later one
        if not select.select([self.fileno], [], [], 0)[0]:
            for message in reader.empty(polled_at):
                self.process_message(message)
            timeout = BEAT if self.timing.watching or reader.open else IDLE
            if self.fileno not in select.select([self.fileno, self._wake_reader], [], [], timeout)[0]:
                return
        data = os.read(self.fileno, 4096)
        if not data:
            raise OSError("end of file")
        for message in reader.read(data, time.monotonic()):
            self.process_message(message)

    def _sigcont_application(self, *arguments: Any) -> None:
        """Continue after Ctrl+Z as Textual does; after a stop without notice, set up the terminal again.

        There Textual would start a second reader beside the first.
        """
        if self._must_signal_resume or not self._auto_restart:
            super()._sigcont_application(*arguments)
        else:
            self._loop.call_soon_threadsafe(self._take_over_again)

    def _take_over_again(self) -> None:
        """Set the terminal up again and redraw: a shell may have used it meanwhile."""
        if self._key_thread is None or not self._key_thread.is_alive():
            return
        self.suspend_application_mode()
        self.resume_application_mode()
        asyncio.run_coroutine_threadsafe(self._app._post_message(self.SignalResume()), loop=self._loop)
        self._app.refresh(layout=True)
