"""Checks the messages of a trial's parties strictly, and records the course of the tests."""

from __future__ import annotations

from typing import Any

MOST_TESTS = 500
MOST_CALLS = 200
"""Most calls of the tests that are recorded."""
LARGEST_ARGUMENTS = 4000
LARGEST_RESULT = 100_000
"""Characters of a recorded call's arguments, and of its result."""
MOST_RESULTS = 2_000_000
"""Characters of all recorded results."""
MOST_TEXT = 20_000
MOST_PLACES = 100_000
_TIMES = ("ms", "cpu_ms")


class Broken(Exception):
    """A party sent a message that is invalid at this point."""


class Failed(Exception):
    """A party could not start. `answer` is the answer to the piece of work."""

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__()
        self.answer = answer


def check_ready(message: dict[str, Any]) -> None:
    """Check that a party is ready. Raise Failed, Broken."""
    if "unsupported" in message:
        raise Failed({"unsupported": _text(message["unsupported"])})
    if isinstance(failed := message.get("failed"), dict):
        trace, name = _text(failed.get("trace")), _text(failed.get("error"))[:200]
        raise Failed({"error": trace or name or "it failed", "exception": name, "limit": failed.get("limit")})
    if message.get("ready") is not True:
        raise Broken("the tool's process did not say that it is ready")


def checked_answer(message: dict[str, Any], number: int) -> dict[str, Any]:
    """Return the answer to a call, reduced to the valid fields. Raise Broken."""
    if message.get("answer") != number or isinstance(number, bool):
        raise Broken("the tool's process answered what it was not asked")
    fields: dict[str, Any] = {name: _number(message.get(name)) for name in _TIMES}
    if "passed" in message:
        fields |= checked_observations(message)
    if "result" in message:
        return {**fields, "result": message["result"]}
    kinds, arguments = message.get("kinds"), message.get("args")
    if not isinstance(kinds, list) or not isinstance(arguments, list) or not kinds:
        raise Broken("the tool's process answered with neither a result nor an error")
    return {
        **fields,
        "error": _text(message.get("error"))[:200] or "Exception",
        "kinds": [_text(kind)[:200] for kind in kinds[:20]],
        "args": arguments[:20],
        "text": _text(message.get("text"))[:2000],
        "trace": _text(message.get("trace")),
        "limit": message.get("limit") if message.get("limit") in ("memory", "files") else None,
        **({"unfit": _text(message["unfit"])[:500]} if "unfit" in message else {}),
    }


def checked_observations(message: dict[str, Any]) -> dict[str, Any]:
    """Return the valid part of what a tool's process recorded about itself. Raise Broken."""
    passed, accesses = message.get("passed"), message.get("seen")
    if not isinstance(passed, list) or not isinstance(accesses, list):
        raise Broken("the tool's process did not say what it noted")
    return {
        "passed": [place for place in passed[:MOST_PLACES] if type(place) is int],
        "seen": [
            [_text(part)[:1000] for part in access]
            for access in accesses[:MOST_CALLS]
            if isinstance(access, list) and len(access) == 2
        ],
    }


class Record:
    """The course of the tests of one piece of work."""

    def __init__(self, *, stop: bool, keep: bool) -> None:
        """With `stop` the first failed test is the last, and no test is told; with `keep` the answer has the calls."""
        self._keep = keep
        self.done = False
        self._stop = stop
        self._labels: list[str] | None = None
        self._cases: list[dict[str, Any]] = []
        self._current = ""
        self._fault = ""
        self._calls: list[dict[str, Any]] = []
        self._call_count = 0
        self._recorded_chars = 0
        self._extra: dict[str, Any] = {}

    def take(self, message: dict[str, Any]) -> None:
        """Record a message of the tests' process. Raise Failed, Broken."""
        if self._labels is None:
            self._begin(message)
        elif (
            "begin" in message
            and not self._current
            and message["begin"] in self._labels[len(self._cases) :][:1]
        ):
            self._current, self._fault, self._call_count = message["begin"], "", 0
        elif "end" in message and self._current and message["end"] == self._current:
            fault = self._fault or _text(message.get("message"))
            passed = message.get("passed") is True and not fault
            self._case(passed, fault, _number(message.get("ms")))
            self._current = ""
            self.done = self._stop and not passed
        elif message.get("done") is True and not self._current and self._complete():
            self.done = True
        else:
            raise Broken("the tests' process sent a message that is invalid at this point")

    def call(self, order: dict[str, Any], answer: dict[str, Any]) -> None:
        """Record a call of `run` by the tests."""
        self._call_count += 1
        arguments = {"given": order["given"], "named": order["named"]}
        outcome: dict[str, Any] = {
            name: answer[name] for name in ("result", "error", "text", "unfit") if name in answer
        }
        if not self._keep or len(self._calls) >= MOST_CALLS:
            return
        size = len(repr(outcome))
        if (
            len(repr(arguments)) <= LARGEST_ARGUMENTS
            and size <= LARGEST_RESULT
            and self._recorded_chars + size <= MOST_RESULTS
        ):
            self._recorded_chars += size
            self._calls.append({"test": self._current, **arguments, **outcome})

    def fault(self, reason: str) -> None:
        """Fail the current test, whatever its process reports."""
        self._fault = self._fault or reason

    def note(self, fields: dict[str, Any]) -> None:
        """Add to the answer."""
        self._extra |= fields

    def end(self, reason: str, *, late: bool = False) -> None:
        """End the record; tests that have not ended count as failed."""
        self._extra["late"] = late
        if self._labels is None:
            self._extra["error"] = reason
            return
        for label in self._labels[len(self._cases) :]:
            is_current = label == self._current or not self._current
            self._current = label
            self._case(False, reason if is_current else f"not run: {reason}", 0.0)
        self._current = ""

    def answer(self) -> dict[str, Any]:
        """Return the answer as the host reads it."""
        if "error" in self._extra:
            return self._extra
        return {"cases": self._cases, "calls": self._calls, **self._extra}

    def _begin(self, message: dict[str, Any]) -> None:
        if "failed" in message or "unsupported" in message:
            check_ready(message)
        labels = message.get("tests")
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise Broken("the tests' process did not say which tests there are")
        if len(labels) > MOST_TESTS or len(set(labels)) < len(labels):
            raise Broken(
                f"the tests' process names {len(labels)} tests, of at most {MOST_TESTS} different ones"
            )
        self._labels = [label[:200] for label in labels]

    def _case(self, passed: bool, message: str, duration_ms: float) -> None:
        self._cases.append(
            {
                "name": self._current,
                "passed": passed,
                "message": "" if passed else message or "failed",
                "duration_ms": duration_ms,
                "calls": self._call_count,
            }
        )

    def _complete(self) -> bool:
        return self._labels is not None and len(self._cases) == len(self._labels)


def _text(value: object) -> str:
    return value[:MOST_TEXT] if isinstance(value, str) else ""


def _number(value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e9 else 0.0  # type: ignore[arg-type, operator]
