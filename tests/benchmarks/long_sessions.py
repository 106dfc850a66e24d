"""Very long sessions as they really get: the events of a real run, over and over, with texts of their own.

Run: python tests/benchmarks/long_sessions.py FILE EVENTS writes one through the store.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from pathlib import Path

import msgspec

from alita_tui import events as e
from alita_tui.events import WebResult
from alita_tui.spine.envelope import Envelope, encode
from alita_tui.store.sessions import SessionFile
from tests.support.goldens import walkthrough

_WORDS = (
    "the a of to and in is that for with as on by from which column value table tool result number total average "
    "library function argument schema sandbox approve check verify invoice customer order temperature station "
    "Überprüfung naïve façade Ergebnis größer данные таблица проверка 结果 数据 工具 データ 関数 नतीजा तालिका "
    "🙂 — … ≤ 3.14159 2,718 2024-07-01 https://example.org/a/b?c=d user@example.org {'key': [1, 2, 3]} x=17; \\n"
).split(" ")
_PIECE = 1_000


def long_session() -> Iterator[Envelope]:
    """A lawful session without end: the tasks of the golden walk through, each time with ids of its own."""
    once = [one for one in walkthrough() if not isinstance(one.event, e.SessionClosed)]
    start = next(n for n, one in enumerate(once) if isinstance(one.event, e.TaskSubmitted))
    head, body = once[:start], once[start:]
    ids = {value for one in body for value in _ids(one)}
    span = body[-1].at - body[0].at + timedelta(seconds=5)
    seq = 0
    for one in head:
        seq += 1
        yield msgspec.structs.replace(one, seq=seq)
    turn = 0
    texts = [encode(one).decode() for one in body]
    while True:
        for one, text in zip(body, texts, strict=True):
            seq += 1
            for known in ids:
                text = text.replace(known, f"{known}-{turn}")
            made = msgspec.json.decode(text, type=Envelope)
            yield msgspec.structs.replace(made, seq=seq, at=one.at + span * turn)
        turn += 1


def _ids(one: Envelope) -> set[str]:
    names = ("task_id", "call_id", "action_id", "build_id", "approval_id")
    return {value for name in names if (value := getattr(one.event, name, ""))}


def realistic(events: int, seed: int = 1) -> Iterator[Envelope]:
    """The same with varied text: long results and pages, several scripts; some 950 bytes an event."""
    chance = random.Random(seed)

    def text(size: float) -> str:
        """Some words, most often fewer than `size` of them, at times a hundred times as many."""
        count = min(int(size * chance.lognormvariate(0, 1.1)) + 1, 8_000)
        return " ".join(chance.choices(_WORDS, k=count)).replace("\\n", "\n")

    for one in islice(long_session(), events):
        event = one.event
        match event:
            case e.ModelReplied():
                event = msgspec.structs.replace(event, thinking=text(60), text=text(15))
            case e.ToolReturned(report=report):
                told = {"rows": [text(30) for _ in range(1 + int(chance.lognormvariate(2.2, 1.2)) % 80)]}
                report = msgspec.structs.replace(report, result=told, stdout=text(200), stderr=text(10))
                event = msgspec.structs.replace(event, report=report)
            case e.WebSearched():
                found = tuple(
                    WebResult(title=text(5), url=f"https://example.org/{n}", snippet=text(60))
                    for n in range(8)
                )
                event = msgspec.structs.replace(event, results=found)
            case e.TaskFinished():
                event = msgspec.structs.replace(event, answer=text(120))
            case e.TaskSubmitted():
                event = msgspec.structs.replace(event, text=f"{event.text} {text(12)}")
            case _:
                pass
        yield msgspec.structs.replace(one, event=event)


def _ended(session: Iterator[Envelope]) -> Iterator[Envelope]:
    """The same, closed in good order: notices stand in place of the last task where that is cut off."""
    held: list[Envelope] = []
    for one in session:
        held.append(one)
        if isinstance(one.event, e.TaskFinished):
            yield from held[:-1]
            held = held[-1:]
    yield from held[:1]
    for number, one in enumerate(held[1:], 2):
        event = (
            e.NoticeRaised(level="info", text=f"Notice {number}.")
            if number < len(held)
            else e.SessionClosed()
        )
        yield msgspec.structs.replace(one, event=event)


def write(path: Path, events: int) -> None:
    """Put one on disk through the store."""
    file = SessionFile.create(path, path.stem)
    try:
        made = (msgspec.structs.replace(one, session_id=path.stem) for one in _ended(realistic(events)))
        while piece := list(islice(made, _PIECE)):
            file.fill(piece)
    finally:
        file.close()


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
