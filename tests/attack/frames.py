"""Attacks on what reads a container's words: frames, the warden's report, the tool's answer, the broker's connections.

Each of 100,000 frames is made of a good one by changes, or of nothing. Whatever comes, it becomes a report that can be
recorded and read back, or an error that has a name.
"""

from __future__ import annotations

import asyncio
import json
import random
import string
from collections import Counter
from typing import Any

import msgspec

from alita_tui.events import RunReport
from alita_tui.sandbox.broker.streams import Connections, Violation
from alita_tui.sandbox.channel import frame, take
from alita_tui.sandbox.container import Container
from alita_tui.sandbox.conversation import converse
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports.sandbox import Job
from tests.attack.report import Outcome

FRAMES = 100_000
NUMBERS = (
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "-1e999",
    "-0.0",
    "1" + "0" * 400,
    "1" * 5000,
    "9" * 19,
    "1.5",
    "true",
    "null",
    "0x1",
)
ATOMS: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**63, 2**64, 2**70, -(2**63) - 1, 1.5, 1e308, -0.0, "", "x", "\ud800", "\x00", "\u202e", "wall", "memory", "1e999",
    [], {}, [[]], {"a": None}, "x" * 500, [0] * 60, {"": {"": {"": []}}},
)  # fmt: skip
CASES = [{"name": "test_a", "passed": True, "message": "", "duration_ms": 1.0, "calls": 1}]


def good(dice: random.Random) -> dict[str, Any]:
    """What a warden says when all is well."""
    answers: list[dict[str, Any]] = [
        {"result": {"a": [1, 2.5, None, "é"]}},
        {"cases": CASES},
        {"error": "E", "exception": "E", "limit": None},
        {},
    ]
    return {
        "exit_code": 0, "signal": None, "limits_hit": [], "truncated": ["stdout"], "duration_ms": 3.5, "cpu_ms": 1.25, "peak_memory_bytes": 1 << 20,
        "answer": dice.choice(answers),
    }  # fmt: skip


def changed(value: Any, dice: random.Random) -> Any:
    """The same with something else at some place."""
    if isinstance(value, dict) and value and dice.random() < 0.85:
        key = dice.choice(list(value))
        kept = {one: value[one] for one in value if one != key or dice.random() < 0.9}
        return {**kept, dice.choice([key, key, key, "more", ""]): changed(value[key], dice)}
    if isinstance(value, list) and value and dice.random() < 0.7:
        at = dice.randrange(len(value))
        return [*value[:at], changed(value[at], dice), *value[at + 1 :]] * dice.choice([1, 1, 1, 2, 9])
    return dice.choice(ATOMS)


def text(dice: random.Random) -> bytes:
    """One payload."""
    said = good(dice)
    for _ in range(dice.choice([0, 1, 1, 2, 5])):
        part = dice.choice(["answer", "answer", "answer", "limits", "whole"])
        if part == "answer" and isinstance(said, dict) and "answer" in said:
            said = {**said, "answer": changed(said["answer"], dice)}
        elif part == "limits" and isinstance(said, dict):
            said = {**said, "limits_hit": dice.choice([["memory"], ["wall"], ["cpu", "output"], ["more"]])}
        else:
            said = changed(said, dice)
    if isinstance(said, dict) and "answer" in said and dice.random() < 0.95:
        inner = json.dumps(said["answer"])
        if dice.random() < 0.3:
            inner = broken(inner, dice)
        said = {**said, "answer": inner}
    whole = json.dumps(said, ensure_ascii=dice.random() < 0.5)
    if dice.random() < 0.25:
        whole = broken(whole, dice)
    raw = whole.encode("utf-8", "surrogatepass")
    if dice.random() < 0.1:
        at = dice.randrange(len(raw) + 1)
        raw = raw[:at] + dice.randbytes(dice.choice([1, 2, 60])) + raw[at + dice.randrange(3) :]
    return raw


def broken(words: str, dice: random.Random) -> str:
    """A text with something torn out, put in, nested or made a number that is none."""
    at = dice.randrange(len(words) + 1)
    how = dice.randrange(6)
    if how == 0:
        return words[:at]
    if how == 1:
        return (
            words[:at]
            + dice.choice(["[" * 300, "{" * 99, '{"a":' * 250, "]", '"', "\\", ",", ":"])
            + words[at:]
        )
    if how == 2:
        return words[:at] + "".join(dice.choices(string.printable, k=5)) + words[at + 3 :]
    if how == 3:
        for old in dice.sample(["1", "2.5", "0", "3.5", "1.0", "null"], 3):
            if old in words:
                return words.replace(old, dice.choice(NUMBERS), 1)
    if how == 4:
        return words + words
    return dice.choice(
        ['"', "null", "3", "[]", '{"answer": 1}', "", "[" * 3000, '{"a":1,"a":2}', words.replace(":", ",")]
    )


class _Words:
    """The host's end of a line on which these frames come, then nothing."""

    stray = bytearray()

    def __init__(self, frames: list[tuple[bytes, bytes]]) -> None:
        self._frames = frames

    async def send(self, kind: bytes, payload: bytes) -> None:
        """Whatever the host says, nobody minds."""

    async def receive(self) -> tuple[bytes, bytes] | None:
        """The next one."""
        return self._frames.pop(0) if self._frames else None


async def one(dice: random.Random) -> str:
    """Have one report read; what came of it. Raises whatever should not be raised."""
    container = Container.__new__(Container)
    container.pid, container._configured, container.channel = 0, True, _Words([])  # type: ignore[assignment]
    noise = [
        (dice.choice(b"OERXNKCWTZ\x00").to_bytes(), dice.randbytes(dice.choice([0, 3, 8, 50])))
        for _ in range(dice.choice([0, 0, 1, 3]))
    ]
    wire = bytearray().join(frame(*each) for each in (*noise, (b"D", text(dice))))
    read = []
    while (found := take(wire)) is not None:
        read.append(found)
    container.channel = _Words(read)  # type: ignore[assignment]
    job = Job(run_id="r", module="m", code="", kind=dice.choice(["run", "script", "run"]))
    try:
        report = await converse(container, job, lambda *_: None)
    except SandboxUnavailable as error:
        return "refused" if str(error) else "said nothing"
    again = msgspec.json.decode(msgspec.json.encode(report), type=RunReport)
    assert again == report, "it is not read as it was recorded"
    assert report.status == "ok" or (report.reason and report.result is None), report
    assert json.dumps(report.result, allow_nan=False) is not None
    return report.status


async def connections(dice: random.Random) -> None:
    """Frames of the broker's connections, as a tool's warden would never send them."""

    async def serve(*_: Any) -> None:
        await asyncio.sleep(0)

    async def send(kind: bytes, payload: bytes) -> None:
        return

    switch = Connections(send, serve)
    try:
        for _ in range(dice.randrange(1, 6)):
            number = dice.choice([0, 1, 2, 2**32 - 1]).to_bytes(4, "big")
            body = dice.choice(
                [b"", number, number + dice.randbytes(dice.choice([1, 4, 8, 300])), dice.randbytes(3)]
            )
            try:
                switch.take(dice.choice([b"C", b"N", b"K", b"X"]), body)
            except Violation:
                break
    finally:
        await switch.close()


def attack(share: float, seed: int) -> list[Outcome]:
    """A share of the frames."""
    dice = random.Random(seed)
    count = max(1, round(FRAMES * min(share, 1.0)))
    came: Counter[str] = Counter()
    missed: list[str] = []

    async def all_of_them() -> None:
        for number in range(count):
            before = dice.getstate()
            try:
                came[await one(dice)] += 1
                if number % 5 == 0:
                    await connections(dice)
            except Exception as error:
                again = random.Random()
                again.setstate(before)
                missed.append(f"frame {number} of seed {seed}: {type(error).__name__}: {str(error)[:200]}")

    asyncio.run(all_of_them())
    for wanted in ("ok", "error", "exit", "bad_result", "refused", "limit"):
        if count >= 1000 and not came[wanted]:
            missed.append(f"no frame came out as {wanted}: {dict(came)}")
    return [Outcome("frames: of a container", count, count - len(missed), tuple(missed[:20]))]
