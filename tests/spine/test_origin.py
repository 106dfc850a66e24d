"""Where events are born: several tasks and agents write to one stream, and each envelope says whose it is."""

from __future__ import annotations

import asyncio
import random

from alita_tui import events as e
from alita_tui.events import SessionEvent
from alita_tui.spine import origin
from alita_tui.spine.bus import Bus
from alita_tui.spine.envelope import SCHEMA_VERSION, Envelope, decode, encode
from alita_tui.spine.laws import check
from alita_tui.spine.origin import Origin, in_task, working_on
from tests.support.streams import START


class Kept:
    """A recorder that hesitates, so that tasks overtake one another."""

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []

    async def record(self, envelope: Envelope, *, barrier: bool) -> None:
        for _ in range(random.randrange(3)):
            await asyncio.sleep(0)
        self.envelopes.append(envelope)


def stream() -> tuple[Bus, list[Envelope]]:
    recorder = Kept()
    return Bus("20261120-093000-aaaa", recorder, lambda: START), recorder.envelopes


def chosen(action_id: str) -> SessionEvent:
    return e.ActionChosen(action_id=action_id, action="find_tool", arguments={})


async def agent(bus: Bus, task_id: e.TaskId, agent_id: e.AgentId, steps: int) -> None:
    with working_on(in_task(task_id, agent_id=agent_id)):
        for number in range(steps):
            origin.begin_step()
            action_id = f"{task_id}-{agent_id}-{number}"
            await bus.emit(chosen(action_id), span=action_id)
            with working_on(origin.current().inside(action_id)):
                # A handler that does its work in a task of its own, and in a thread.
                await asyncio.create_task(bus.emit(e.NoticeRaised(level="info", text=action_id)))
                await asyncio.to_thread(asyncio.run, asyncio.sleep(0))
                await bus.emit(chosen(f"{action_id}-call"), span=f"{action_id}-call")


async def test_each_envelope_says_its_task_agent_step_and_parent():
    bus, envelopes = stream()
    agents = [(e.TaskId(f"t{number}"), e.AgentId(name)) for number in range(4) for name in ("lead", "helper")]
    await asyncio.gather(*(agent(bus, task_id, name, 5) for task_id, name in agents))
    assert len(envelopes) == len(agents) * 5 * 3
    assert len({envelope.task_id for envelope in envelopes[:12]}) > 1  # they do take turns
    for envelope in envelopes:
        match envelope.event:
            case e.ActionChosen(action_id=action_id) if action_id.endswith("-call"):
                parent = action_id.removesuffix("-call")
                task_id, name, number = parent.split("-")
            case e.ActionChosen(action_id=action_id):
                task_id, name, number = action_id.split("-")
                parent = task_id
            case e.NoticeRaised(text=action_id):
                task_id, name, number = action_id.split("-")
                parent = task_id
                assert envelope.span == action_id
            case other:
                raise AssertionError(other)
        assert (envelope.task_id, envelope.agent_id, envelope.step) == (task_id, name, int(number) + 1)
        assert envelope.parent == parent


async def test_an_event_that_another_task_emits_for_a_call_belongs_to_the_call():
    bus, envelopes = stream()
    card = e.ToolCalled(
        call_id=e.CallId("c1"),
        action_id="a1",
        name=e.ToolName("x"),
        version=1,
        digest=e.BuildDigest("d"),
        arguments={},
    )
    answered = e.BrokerAnswered(call_id=e.CallId("c1"), request="GET https://a.example/", outcome="served")
    with working_on(
        Origin(task_id=e.TaskId("one"), agent_id=e.AgentId("lead"), step=3, span="a1", parent="one")
    ):
        await bus.emit(card, span="c1")
    with working_on(in_task(e.TaskId("two"), step=9)):
        await bus.emit(answered, span="c1")  # by a broker that was started under another task
    await bus.emit(answered, span="c1")  # and by one that was started under none
    placed = {(one.task_id, one.agent_id, one.step, one.span, one.parent) for one in envelopes}
    assert placed == {("one", "lead", 3, "c1", "a1")}


async def test_outside_of_a_task_an_envelope_names_none():
    bus, envelopes = stream()
    await bus.emit(e.NoticeRaised(level="info", text="x"))
    (envelope,) = envelopes
    assert (envelope.task_id, envelope.agent_id, envelope.step, envelope.parent) == ("", "", 0, "")


async def test_the_schema_is_written_and_a_missing_one_means_the_first():
    bus, envelopes = stream()
    with working_on(in_task(e.TaskId("t"))):
        await bus.emit(e.TaskSubmitted(task_id=e.TaskId("t"), text="x"), span="t")
    line = encode(envelopes[0])
    assert b'"schema_version":2' in line and SCHEMA_VERSION == 2
    assert decode(line) == envelopes[0]
    first = decode(
        line.replace(b',"schema_version":2', b"").replace(b',"task_id":"t","agent_id":"lead"', b"")
    )
    assert (first.schema_version, first.task_id) == (1, "")
    assert first.belongs_to(e.TaskId("t")) and not envelopes[0].belongs_to(e.TaskId("other"))


async def test_the_laws_see_an_event_in_the_wrong_task():
    bus, envelopes = stream()
    with working_on(in_task(e.TaskId("t"))):
        await bus.emit(e.TaskSubmitted(task_id=e.TaskId("t"), text="x"), span="t")
    with working_on(in_task(e.TaskId("u"))):
        await bus.emit(chosen("a"))
        await bus.emit(e.TaskFinished(task_id=e.TaskId("t"), outcome="answered"))
    assert [breach.seq for breach in check(envelopes) if breach.law == "in its task"] == [2, 3, 3]
