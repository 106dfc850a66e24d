"""Sessions as they come from months of use: tasks of a few families, tools that fail now and then, prices, clocks."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import datetime, timedelta

from alita_tui import events as e
from alita_tui.events import BuildDigest, CallId, RunReport, ToolName, Usage
from alita_tui.spine.envelope import SCHEMA_VERSION, Envelope
from alita_tui.statistics.records import Records
from alita_tui.statistics.rows import Build, Call, Run, SessionRows, Task, words_of

FAMILIES = (
    ("Join the sales of {} with the customers by their number", ("csv_join", "pivot_csv"), 20.0, 0.004),
    ("Convert the amounts of {} from dollars to euros", ("fx_rates",), 8.0, 0.002),
    ("Chart the rainfall of {} as bars", ("read_json", "bar_chart"), 35.0, 0.01),
    ("Summarise the minutes of the meeting in {}", ("summarise",), 60.0, 0.03),
    ("Find duplicate addresses in the list of {}", ("parse_rows", "find_twins"), 15.0, 0.003),
)
"""Task, its tools, seconds and dollars that the middle one takes."""
PLACES = "Bremen Lisbon Osaka Quito Tromsø Windhoek Perth Lima Tallinn Hue".split()
MODELS = (("anthropic:large", 1.0), ("openai:small", 0.2), ("local:free", None))
FAILURES = ("error", "timeout", "limit", "bad_result")


def rows(
    seed: int, start: float, tasks: int = 5, *, fails: float = 0.04, answered: float = 0.93
) -> SessionRows:
    """The rows of one session. `start`: seconds since 1970."""
    rng = random.Random(seed)
    made = SessionRows()
    at, seq = start, 3
    for number in range(tasks):
        text, tools, seconds, usd = rng.choice(FAMILIES)
        model, price = rng.choice(MODELS)
        began, first = at, seq
        for tool in tools * rng.randint(1, 3):
            seq += 2
            at += rng.lognormvariate(0, 0.5)
            kind = rng.choice(FAILURES) if rng.random() < fails else ""
            made.runs.append(
                Run(at, seq, number, tool, 1 + seed % 2, kind, rng.lognormvariate(5, 1), rng.random() < 0.7)
            )
        for role in ("orchestrator", "orchestrator", "archivist"):
            seq += 3
            cost = math.nan if price is None else usd / 3 * price * rng.lognormvariate(0, 0.4)
            made.calls.append(
                Call(
                    at,
                    seq,
                    number,
                    role,
                    model,
                    "",
                    rng.randint(500, 9000),
                    0,
                    cost,
                    True,
                    rng.lognormvariate(7, 0.6),
                    "",
                )
            )
        took = seconds * rng.lognormvariate(0, 0.4)
        seq, at = seq + 4, began + took
        outcome = "answered" if rng.random() < answered else rng.choice(["stuck", "budget", "failed"])
        words = words_of(text.format(rng.choice(PLACES)))
        made.tasks.append(
            Task(began, first, seq, outcome, took, rng.choice((0, 0, 0, 1, -1)), 0, words, False)
        )
        if rng.random() < 0.05:
            made.builds.append(
                Build(at, seq - 1, number, rng.choice(tools), rng.choice(("", "", "failed", "rejected")))
            )
        at += rng.uniform(5, 400)
    return made


def records(
    sessions: int, now: datetime, *, days: int = 90, tasks: int = 5, seed: int = 0, **more: float
) -> Records:
    """The rows of many sessions over the days before `now`."""
    made = Records()
    read = []
    for number in range(sessions):
        start = (now - timedelta(days=days * (1 - number / sessions))).timestamp()
        name = f"s{number:06}"
        read.append((name, name, (number,), rows(seed * 1_000_003 + number, start, tasks, **more)))
    made.update([name for name, *_ in read], read)
    return made


def envelopes(session_id: str, start: datetime, tasks: int = 3, seed: int = 0) -> Iterator[Envelope]:
    """The record of one session with the same kinds of tasks."""
    rng = random.Random(f"{session_id}{seed}")
    seq, at = 0, start

    def put(event: e.SessionEvent, task: e.TaskId = e.NO_TASK, seconds: float = 0.5) -> Envelope:
        nonlocal seq, at
        seq, at = seq + 1, at + timedelta(seconds=seconds)
        return Envelope(
            seq=seq, session_id=session_id, at=at, task_id=task, schema_version=SCHEMA_VERSION, event=event
        )

    yield put(e.SessionOpened(title="", model="openai:small", version="1"))
    for number in range(tasks):
        text, tools, seconds, usd = rng.choice(FAMILIES)
        model, price = rng.choice(MODELS)
        task = e.TaskId(f"t{number}")
        yield put(e.TaskSubmitted(task_id=task, text=text.format(rng.choice(PLACES))), task)
        for turn, tool in enumerate(tools * rng.randint(1, 4)):
            call = f"{task}m{turn}"
            usage = Usage(input_tokens=rng.randint(500, 9000), output_tokens=rng.randint(20, 400))
            yield put(
                e.ModelReplied(
                    call_id=call,
                    role="orchestrator",
                    model=model,
                    usage=usage,
                    duration_ms=rng.uniform(400, 4000),
                ),
                task,
            )
            cost = None if price is None else usd / 3 * price * rng.lognormvariate(0, 0.4)
            yield put(e.BudgetSpent(call_id=call, cost_usd=cost, role="orchestrator", model=model), task, 0)
            run = CallId(f"{task}r{turn}")
            yield put(
                e.ToolCalled(
                    call_id=run, action_id=f"{task}a{turn}", name=ToolName(tool), version=1,
                    digest=BuildDigest("0" * 64), arguments={"rows": [turn]},
                ),
                task,
            )  # fmt: skip
            if rng.random() < 0.05:
                yield put(e.ToolFailed(call_id=run, reason="timeout", text="It took too long."), task)
            else:
                report = RunReport(status="ok", result=turn, duration_ms=rng.lognormvariate(5, 1))
                yield put(e.ToolReturned(call_id=run, report=report), task)
        yield put(
            e.TaskFinished(
                task_id=task, outcome="answered" if rng.random() < 0.93 else "stuck", answer="Done."
            ),
            task,
            seconds * rng.lognormvariate(0, 0.4),
        )
    yield put(e.SessionClosed(state="0", version="1"))
