"""What parties may say in a trial, checked word for word, and what it amounts to."""

from __future__ import annotations

from typing import Any

MOST_TESTS = 500
MOST_CALLS = 200
"""Calls that are kept of those the tests make."""
LARGEST_KEPT = 4000
"""Characters of a kept call's arguments, and of its result."""
MOST_TEXT = 20_000
MOST_PLACES = 100_000
_TIMES = ("ms", "cpu_ms")


class Broken(Exception):
    """A party that said what it may not say."""


class Failed(Exception):
    """A party that could not begin: what a piece of work answers then."""

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__()
        self.answer = answer


def began(said: dict[str, Any]) -> None:
    """Accept that a party is ready. Raises Failed and Broken."""
    if "unsupported" in said:
        raise Failed({"unsupported": _text(said["unsupported"])})
    if isinstance(found := said.get("failed"), dict):
        trace, name = _text(found.get("trace")), _text(found.get("error"))[:200]
        raise Failed({"error": trace or name or "it failed", "exception": name, "limit": found.get("limit")})
    if said.get("ready") is not True:
        raise Broken("the tool's process did not say that it is ready")


def answered(said: dict[str, Any], number: int) -> dict[str, Any]:
    """The answer to a call, with nothing in it but what an answer has. Raises Broken."""
    if said.get("answer") != number or isinstance(number, bool):
        raise Broken("the tool's process answered what it was not asked")
    found: dict[str, Any] = {name: _number(said.get(name)) for name in _TIMES}
    if "passed" in said:
        found |= observed(said)
    if "result" in said:
        return {**found, "result": said["result"]}
    kinds, given = said.get("kinds"), said.get("args")
    if not isinstance(kinds, list) or not isinstance(given, list) or not kinds:
        raise Broken("the tool's process answered with neither a result nor an error")
    return {
        **found,
        "error": _text(said.get("error"))[:200] or "Exception",
        "kinds": [_text(one)[:200] for one in kinds[:20]],
        "args": given[:20],
        "text": _text(said.get("text"))[:2000],
        "trace": _text(said.get("trace")),
        "limit": said.get("limit") if said.get("limit") in ("memory", "files") else None,
        **({"unfit": _text(said["unfit"])[:500]} if "unfit" in said else {}),
    }


def observed(said: dict[str, Any]) -> dict[str, Any]:
    """What a tool's process noted of itself. Raises Broken."""
    passed, seen = said.get("passed"), said.get("seen")
    if not isinstance(passed, list) or not isinstance(seen, list):
        raise Broken("the tool's process did not say what it noted")
    return {
        "passed": [one for one in passed[:MOST_PLACES] if type(one) is int],
        "seen": [
            [_text(part)[:1000] for part in one]
            for one in seen[:MOST_CALLS]
            if isinstance(one, list) and len(one) == 2
        ],
    }


class Record:
    """How the tests of one piece of work went."""

    def __init__(self, *, stop: bool, keep: bool) -> None:
        """With `stop` the first test that fails is the last; with `keep` the calls are part of the answer."""
        self._keep = keep
        self.done = False
        self._stop = stop
        self._labels: list[str] | None = None
        self._cases: list[dict[str, Any]] = []
        self._current = ""
        self._fault = ""
        self._calls: list[dict[str, Any]] = []
        self._made = 0
        self._more: dict[str, Any] = {}

    def take(self, said: dict[str, Any]) -> None:
        """What the tests' process says. Raises Failed and Broken."""
        if self._labels is None:
            self._begin(said)
        elif "begin" in said and not self._current and said["begin"] in self._labels[len(self._cases) :][:1]:
            self._current, self._fault, self._made = said["begin"], "", 0
        elif "end" in said and self._current and said["end"] == self._current:
            message = self._fault or _text(said.get("message"))
            self._case(said.get("passed") is True and not message, message, _number(said.get("ms")))
            self._current = ""
        elif said.get("done") is True and not self._current and self._complete():
            self.done = True
        else:
            raise Broken("the tests' process said what it may not say at this point")

    def call(self, order: dict[str, Any], answer: dict[str, Any]) -> None:
        """A call of `run` that the tests made."""
        self._made += 1
        kept = {"given": order["given"], "named": order["named"]}
        said: dict[str, Any] = {
            name: answer[name] for name in ("result", "error", "text", "unfit") if name in answer
        }
        if (
            self._keep
            and len(self._calls) < MOST_CALLS
            and max(len(repr(kept)), len(repr(said))) <= LARGEST_KEPT
        ):
            self._calls.append({"test": self._current, **kept, **said})

    def fault(self, reason: str) -> None:
        """The test that runs now has failed, whatever it says of itself."""
        self._fault = self._fault or reason

    def note(self, more: dict[str, Any]) -> None:
        """What else the piece of work answers."""
        self._more |= more

    def end(self, reason: str, *, late: bool = False) -> None:
        """There will be no more: what did not end has failed."""
        self._more["late"] = late
        if self._labels is None:
            self._more["error"] = reason
            return
        for label in self._labels[len(self._cases) :]:
            said = reason if label == self._current or not self._current else f"not run: {reason}"
            self._current = label
            self._case(False, said, 0.0)
        self._current = ""

    def answer(self) -> dict[str, Any]:
        """As the host reads it."""
        if "error" in self._more:
            return self._more
        return {"cases": self._cases, "calls": self._calls, **self._more}

    def _begin(self, said: dict[str, Any]) -> None:
        if "failed" in said or "unsupported" in said:
            began(said)
        labels = said.get("tests")
        if not isinstance(labels, list) or not all(isinstance(one, str) for one in labels):
            raise Broken("the tests' process did not say which tests there are")
        if len(labels) > MOST_TESTS or len(set(labels)) < len(labels):
            raise Broken(
                f"the tests' process names {len(labels)} tests, of at most {MOST_TESTS} different ones"
            )
        self._labels = [one[:200] for one in labels]

    def _case(self, passed: bool, message: str, spent: float) -> None:
        self._cases.append(
            {
                "name": self._current,
                "passed": passed,
                "message": "" if passed else message or "failed",
                "duration_ms": spent,
                "calls": self._made,
            }
        )

    def _complete(self) -> bool:
        stopped = self._stop and self._cases and not self._cases[-1]["passed"]
        return bool(stopped) or self._labels is not None and len(self._cases) == len(self._labels)


def _text(value: object) -> str:
    return value[:MOST_TEXT] if isinstance(value, str) else ""


def _number(value: object) -> float:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if plain and 0 <= value < 1e9 else 0.0  # type: ignore[arg-type, operator]
