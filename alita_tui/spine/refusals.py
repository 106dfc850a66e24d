"""Tells how a run of a tool failed: by refusing its input on purpose, or otherwise; and finds its message. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from alita_tui.events import BrokerAnswered, RunReport
from alita_tui.spine.text import SafeText, one_line

_BY_CONTRACT = frozenset({"ValueError", "RangeError"})
"""Exceptions with which the contract of tools lets them refuse their input: of Python and Bash (`exit 65`), and of
JavaScript."""
_PYTHON = "Traceback (most recent call last):"
_OWN_FRAME = re.compile(r'  File "/tmp/tool/[^"]+", line (\d+), in ')
_LONGEST = 600


class _Frame(NamedTuple):
    place: str
    code: str
    """The line of code, as far as Python knows it."""


def refused_input(report: RunReport, requests: Iterable[BrokerAnswered] = ()) -> bool:
    """Return True if a tool refused its arguments on purpose, so that the run says nothing about the tool.

    `requests` are those of this run. A tool to which something outside gave an answer may refuse because it cannot read
    that answer, which is its own fault; in Python a ValueError that no `raise` of the tool raised is one, too.
    """
    if report.status != "error" or report.exception not in _BY_CONTRACT:
        return False
    if any(request.outcome == "served" and request.status < 400 for request in requests):
        return False
    if _PYTHON not in report.error:
        return True
    frames, message = _parsed(report.error)
    if not frames or not message.startswith(report.exception):
        return False
    return _OWN_FRAME.match(frames[-1].place) is not None and frames[-1].code.startswith("raise ")


def last_message(report: RunReport) -> SafeText:
    """Return what ended a run, in one line and without a traceback: for an exception its class and its message."""
    text = report.error.strip()
    if not text:
        return one_line(f"exit code {report.exit_code}")
    if not report.exception:
        return one_line(text.splitlines()[-1] if _PYTHON in text else text, _LONGEST)
    message = _parsed(text)[1].split("\n    at ")[0]  # where JavaScript's stack begins
    message = re.sub(rf"\A(?:[\w.]+\.)?{re.escape(report.exception)}(?::\s|\Z)", "", message).strip()
    return one_line(f"{report.exception}: {message}" if message else report.exception, _LONGEST)


def line_of_code(report: RunReport) -> int | None:
    """Return the line of a tool's Python code at which it failed; None if its traceback has none."""
    own = [match for frame in _parsed(report.error)[0] if (match := _OWN_FRAME.match(frame.place))]
    return int(own[-1][1]) if own else None


def _parsed(text: str) -> tuple[list[_Frame], str]:
    """Return the frames of the last traceback of Python in a text, and what follows them; without one, all of it."""
    lines = text.rpartition(_PYTHON)[2].strip("\n").splitlines()
    frames: list[_Frame] = []
    for number, line in enumerate(lines):
        if not line.startswith("  "):
            return frames, "\n".join(lines[number:])
        if line.startswith("  File "):
            code = lines[number + 1] if number + 1 < len(lines) else ""
            frames.append(_Frame(line, code.strip() if code.startswith("    ") else ""))
    return frames, ""
