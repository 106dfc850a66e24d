"""Parts of a task handed to other agents: what each sees, may take and leaves behind, and that none ends another."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from alita_tui import events as e
from alita_tui.agent.budget import Budget, Cap
from alita_tui.agent.role import Roles, read_role, read_roles
from alita_tui.llm.scripted import Rule
from alita_tui.spine.commands import CloseSession, Command, Interrupt, Steer, SubmitTask
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.laws import check
from alita_tui.spine.ports.models import ModelRequest
from alita_tui.state.reduce import reduce_all
from tests.agent.lab import Findings, Lab, draft, say
from tests.agent.replies import BUILD, approve
from tests.agent.side_by_side import Gate, hand, lead, leave_verdicts, nothing, part, report, together, until

TASK = SubmitTask(text="/team compare two towns")
DONE = say("answer", text="compared")


def lab(folder: Path, *rules: Rule, **more: Any) -> Lab:
    return Lab(folder, rules=[*rules], **more)


def of_agent(one: Lab, agent_id: e.AgentId) -> list[Envelope]:
    return [envelope for envelope in one.bus.history if envelope.delegate == agent_id]


def ends(one: Lab) -> dict[str, e.AgentEnded]:
    return {event.agent_id: event for event in one.events(e.AgentEnded)}


def sent_to(one: Lab, goal: str) -> list[ModelRequest]:
    """What the models of the agent with this goal were sent."""
    return [r for r in one.asked if r.role == "specialist" and f"GOAL: {goal}" in r.messages[0].text]


def whole(request: ModelRequest) -> str:
    return request.system + "\n".join(
        message.text + json.dumps([call.arguments for call in message.requests])
        for message in request.messages
    )


# --- what an agent sees ---------------------------------------------------------------------


async def test_two_parts_are_worked_on_at_the_same_time_and_reported_to_the_lead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, "north", "south")
    one = lab(
        tmp_path, lead(together(hand("researcher", "north"), hand("researcher", "south")), DONE),
        part("north", report("cold")), part("south", report("warm", missing="the wind")),
    )  # fmt: skip
    going = asyncio.create_task(one.do(TASK))
    await until(lambda: gate.at >= {"north", "south"})
    await gate.open()
    assert (await going).answer == "compared"
    assert gate.together == 2
    told = whole(one.requests[-1])
    assert "cold" in told and "warm" in told and "the wind" in told
    assert told.count('<untrusted source="researcher-') >= 3
    assert {event.outcome for event in ends(one).values()} == {"reported"}


async def test_an_agent_sees_its_part_and_nothing_of_the_lead_or_of_those_beside_it(tmp_path: Path) -> None:
    secret = tmp_path / "plans.txt"
    secret.write_text("the lead's own file")
    one = lab(
        tmp_path / "lab",
        lead(
            say("find_tool", "my private thoughts", query="secret query"),
            together(hand("researcher", "north"), hand("researcher", "south")),
            DONE,
        ),
        part("north", say("look"), say("look", what="plans.txt"), together(*(e.ToolRequest(call_id="", name="look", arguments={"what": f"e{n}"}) for n in range(1, 20))), say("look", what="skills/x"), report()),
        part("south", say("find_tool", query="southern words"), report()),
    )  # fmt: skip
    await one.do(SubmitTask(text="/team compare ALPHA and BETA", attach=(str(secret),)))
    for goal, others in (("north", "southern words"), ("south", "plans.txt")):
        seen = "\n".join(map(whole, sent_to(one, goal)))
        for hidden in ("ALPHA", "private thoughts", "secret query", "the lead's own file", others):
            if (goal, hidden) != ("north", "plans.txt"):
                assert hidden not in seen, (goal, hidden)
    shown = "\n".join(m.text for m in sent_to(one, "north")[-1].messages if m.role == "tool")
    assert "There are no files." in shown and "There is no file" in shown
    assert "No tool fits" not in shown  # what the lead's search brought
    assert "holds no observation" in shown and "handed no skill" in shown


async def test_files_that_are_handed_over_are_visible_and_can_be_passed_to_tools(tmp_path: Path) -> None:
    table = tmp_path / "sales.csv"
    table.write_text("a,b\n1,2\n")
    seq = 0
    for place in ("first", "second"):  # the second time with the number that the search has
        one = lab(
            tmp_path / place,
            lead(
                say("find_tool", query="csv adder"),
                together(hand("data-analyst", "sum", inputs=["sales.csv", f"e{seq}"])),
                DONE,
            ),
            part("sum", say("look", what="sales.csv"), report("3", artefacts=["sales.csv"], evidence=["sales.csv"])),
        )  # fmt: skip
        await one.play(SubmitTask(text="/team sum it", attach=(str(table),)))
        assert bool(one.events(e.AgentStarted)) == bool(seq)
        seq = next(x.seq or 0 for x in one.bus.history if isinstance(x.event, e.ToolSearched))
    first, last = sent_to(one, "sum")[0], sent_to(one, "sum")[-1]
    assert (
        "sales.csv" in first.messages[0].text and f"e{seq}, as you were handed it" in first.messages[0].text
    )
    assert "a,b" in whole(last)
    (ended,) = one.events(e.AgentEnded)
    (given,) = [a.artefact.handle for a in one.events(e.ArtefactAdded)]
    assert ended.artefacts == (given,) and ended.outcome == "reported"


async def test_a_report_with_evidence_that_the_agent_lacks_is_refused_and_can_be_corrected(
    tmp_path: Path,
) -> None:
    one = lab(
        tmp_path, lead(together(hand("researcher", "north")), DONE),
        part("north", report(evidence=["e1"]), report(evidence=["https://example.org/x"]), report(artefacts=["no.csv"]), report("plain")),
    )  # fmt: skip
    await one.do(TASK)
    (ended,) = one.events(e.AgentEnded)
    assert (ended.outcome, ended.result, ended.evidence) == ("reported", "plain", ())
    assert len([f for f in one.events(e.ActionFailed) if f.action == "report"]) == 3


async def test_a_page_that_was_found_is_evidence(tmp_path: Path) -> None:
    one = lab(
        tmp_path, lead(together(hand("researcher", "north")), DONE),
        part("north", say("search_web", query="snow"), report(evidence=["https://example.org/snow"])),
    )  # fmt: skip
    one.web = Findings()
    one._build()
    await one.do(TASK)
    assert one.events(e.AgentEnded)[0].evidence == ("https://example.org/snow",)


async def test_a_role_can_use_its_own_actions_only(tmp_path: Path) -> None:
    one = lab(
        tmp_path, lead(together(hand("writer", "north"), hand("nobody", "south")), DONE),
        part("north", say("search_web", query="x"), report("written")),
    )  # fmt: skip
    await one.do(TASK)
    assert not one.events(e.WebSearched)
    assert "You cannot 'search_web'" in one.events(e.ActionMalformed)[0].problem
    assert {spec.name for spec in sent_to(one, "north")[0].tools} == {"look", "report"}
    assert any("no role 'nobody'" in failed.text for failed in one.events(e.ActionFailed))


async def test_a_role_finds_and_runs_the_tools_of_its_patterns_alone(tmp_path: Path) -> None:
    run = say("run_tool", name="double_it", arguments={"x": 4})
    find = say("find_tool", query="double a whole number")
    one = lab(
        tmp_path,
        lead(BUILD, together(hand("only-csv", "north"), hand("any", "south")), DONE),
        part("north", find, run, report()),
        part("south", find, run, report()),
        Rule(role="toolsmith", match="Tool name: double_it", replies=(draft(),)),
    )
    text = 'purpose = "P"\nprompt = "You"\nactions = ["find_tool", "run_tool"]\n'
    one.roles = Roles({
        "only-csv": read_role(text + 'tools = ["csv_*"]', "only-csv"), "any": read_role(text, "any"),
    })  # fmt: skip
    one._build()
    await one.do(TASK, when=approve)
    ran = [x.delegate for x in one.bus.history if isinstance(x.event, e.ToolCalled)]
    assert ran == ["any-2"]
    found = {str(x.delegate): x.event.hits for x in one.bus.history if isinstance(x.event, e.ToolSearched)}
    assert found["only-csv-1"] == () and found["any-2"]


# --- limits -----------------------------------------------------------------------------------


def deeper() -> Roles:
    text = 'purpose = "P"\nprompt = "You"\nactions = ["look", "delegate"]\n'
    return Roles({**{role.name: role for role in read_roles()}, "boss": read_role(text, "boss")})


async def test_a_part_can_be_handed_on_twice_and_no_further(tmp_path: Path) -> None:
    one = lab(
        tmp_path, lead(together(hand("boss", "one")), DONE),
        part("one", say("delegate", role="boss", goal="two"), report("from two")),
        part("two", say("delegate", role="boss", goal="three"), report("did it myself")),
    )  # fmt: skip
    one.roles = deeper()
    one._build()
    assert (await one.do(TASK)).outcome == "answered"
    assert [started.depth for started in one.events(e.AgentStarted)] == [1, 2]
    assert "delegate" not in {spec.name for spec in sent_to(one, "two")[0].tools}
    assert [ended.agent_id for ended in one.events(e.AgentEnded)] == ["boss-2", "boss-1"]


async def test_agents_beyond_the_limit_wait_and_have_a_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, "a", "b", "c")
    one = lab(
        tmp_path, lead(together(*(hand("quick", goal) for goal in "abc")), DONE),
        *(part(goal, report(goal)) for goal in "abc"), agents=1,
    )  # fmt: skip
    text = 'purpose = "P"\nprompt = "You"\nactions = ["look"]\nminutes = 0.02\n'
    one.roles = Roles({"quick": read_role(text, "quick")})
    one._build()
    ended = await one.do(TASK)  # nobody lets them go: all are late, those that never got their turn, too
    assert ended.outcome == "answered" and gate.together == 1
    assert [end.outcome for end in one.events(e.AgentEnded)] == ["late"] * 3
    assert len(sent_to(one, "a")) + len(sent_to(one, "b")) + len(sent_to(one, "c")) == 0
    assert "Its time was up" in whole(one.requests[-1])


async def test_agents_take_no_slot_of_the_session(tmp_path: Path) -> None:
    one = lab(
        tmp_path, lead(together(hand("researcher", "north"), hand("researcher", "south")), DONE),
        part("north", report()), part("south", report()), parallel=1,
    )  # fmt: skip
    await one.play(TASK, SubmitTask(text="/team another"))
    assert [end.outcome for end in one.events(e.TaskFinished)] == ["answered"] * 2


# --- failing --------------------------------------------------------------------------------


async def test_a_failed_agent_is_retried_once_with_the_reason_while_the_others_continue(
    tmp_path: Path,
) -> None:
    one = lab(
        tmp_path, lead(together(hand("researcher", "north"), hand("researcher", "south")), DONE),
        nothing("north"), part("south", report("warm")),
    )  # fmt: skip
    assert (await one.do(TASK)).outcome == "answered"
    attempts = [started for started in one.events(e.AgentStarted) if started.goal == "north"]
    assert [started.attempt for started in attempts] == [1, 2]
    assert "no valid action" in attempts[1].because
    assert [ends(one)[started.agent_id].retried for started in attempts] == [True, False]
    assert "Another agent tried it before you" in sent_to(one, "north")[-1].messages[0].text
    told = whole(one.requests[-1])
    assert "gave no report" in told and "warm" in told and "say in the answer what is missing" in told


async def test_a_second_attempt_may_succeed(tmp_path: Path) -> None:
    one = lab(
        tmp_path, lead(together(hand("researcher", "north")), DONE),
        Rule(role="specialist", match="Another agent tried", replies=(report("at last"),)),
        nothing("north"),
    )  # fmt: skip
    await one.do(TASK)
    assert [(end.outcome, end.retried) for end in one.events(e.AgentEnded)] == [
        ("failed", True),
        ("reported", False),
    ]
    assert "at last" in whole(one.requests[-1])


async def test_text_without_an_action_is_questioned_once_and_then_counts_as_the_report(
    tmp_path: Path,
) -> None:
    one = lab(
        tmp_path, lead(together(hand("researcher", "north")), DONE),
        part("north", say(words="thinking"), say(words="it is cold")),
    )  # fmt: skip
    await one.do(TASK)
    assert one.events(e.AgentEnded)[0].result == "it is cold"


async def test_an_unexpected_fault_in_one_agent_leaves_the_task_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = lab(
        tmp_path, lead(together(hand("researcher", "north"), hand("researcher", "south")), DONE),
        part("north", say("find_tool", query="x"), report()), part("south", report("warm")),
    )  # fmt: skip

    async def broken(*_: Any) -> Any:
        raise KeyError("a bug")

    monkeypatch.setattr(one.shelf.__class__, "find", broken, raising=False)
    monkeypatch.setattr("alita_tui.registry.task_library.TaskLibrary.find", broken)
    assert (await one.do(TASK)).outcome == "answered"
    assert any(notice.level == "error" for notice in one.events(e.NoticeRaised))
    assert ends(one)["researcher-2"].outcome == "reported"


# --- stopping and steering ------------------------------------------------------------------


async def test_stopping_one_agent_lets_the_task_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, "north")
    one = lab(
        tmp_path, lead(together(hand("researcher", "north"), hand("researcher", "south")), DONE),
        part("north", report()), part("south", report("warm")),
    )  # fmt: skip

    def when(event: e.SessionEvent) -> Command | None:
        if isinstance(event, e.AgentEnded) and event.agent_id == "researcher-2":
            return Interrupt(agent_id=e.AgentId("researcher-1"))
        return None

    assert (await one.do(TASK, when=when)).outcome == "answered"
    assert gate.at == set()
    assert ends(one)["researcher-1"].outcome == "interrupted" and not one.events(e.Interrupted)


async def test_the_task_is_stopped_and_all_of_its_agents_end_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, "two", "south")
    one = lab(
        tmp_path, lead(together(hand("boss", "one"), hand("boss", "south")), DONE),
        part("one", say("delegate", role="boss", goal="two"), report()),
    )  # fmt: skip
    one.roles = deeper()
    one._build()
    going = asyncio.create_task(one.do(TASK))
    await until(lambda: gate.at >= {"two", "south"})
    one.engine.send(Interrupt())
    assert (await going).outcome == "interrupted"
    assert {end.outcome for end in one.events(e.AgentEnded)} == {"interrupted"} and len(ends(one)) == 3
    assert isinstance(one.bus.history[-1].event, e.TaskFinished)


async def test_a_tool_that_runs_for_an_agent_ends_with_it(tmp_path: Path) -> None:
    run = say("run_tool", name="double_it", arguments={"x": 4})
    one = lab(
        tmp_path, lead(BUILD, together(hand("data-analyst", "north")), DONE), part("north", run, report()),
        Rule(role="toolsmith", match="Tool name: double_it", replies=(draft(),)),
    )  # fmt: skip
    one.sandbox.runs = [asyncio.Event()]

    def when(event: e.SessionEvent) -> Command | None:
        return (
            Interrupt(agent_id=e.AgentId("data-analyst-1"))
            if isinstance(event, e.ToolCalled)
            else approve(event)
        )

    assert (await one.do(TASK, when=when)).outcome == "answered"
    (failed,) = one.events(e.ToolFailed)
    assert failed.reason == "interrupted" and ends(one)["data-analyst-1"].outcome == "interrupted"


async def test_steering_reaches_the_named_agent_only_or_all_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, "north", "south")
    again = say("find_tool", query="more")
    one = lab(
        tmp_path, lead(together(hand("researcher", "north"), hand("researcher", "south")), DONE),
        part("north", again, report()), part("south", again, report()),
    )  # fmt: skip
    going = asyncio.create_task(one.do(TASK))
    await until(lambda: gate.at >= {"north", "south"})
    one.engine.send(Steer(text="in metres", agent_id=e.AgentId("researcher-1")))
    one.engine.send(Steer(text="be brief", every=True))
    one.engine.send(Steer(text="nobody hears", agent_id=e.AgentId("researcher-9")))
    await until(lambda: len(one.events(e.Steered)) == 4 and one.events(e.NoticeRaised))
    await gate.open()
    await going
    north, south, top = (
        whole(sent_to(one, "north")[-1]),
        whole(sent_to(one, "south")[-1]),
        whole(one.requests[-1]),
    )
    assert "in metres" in north and "in metres" not in south + top
    assert all("be brief" in seen for seen in (north, south, top))
    assert not any("nobody hears" in seen for seen in (north, south, top))


# --- money ----------------------------------------------------------------------------------


def spent(one: Lab, agent_id: e.AgentId = e.NO_AGENT) -> float:
    return sum(x.event.cost_usd or 0 for x in one.bus.history if isinstance(x.event, e.BudgetSpent) and x.delegate == agent_id)  # fmt: skip


async def test_shares_stay_within_the_budget_and_calls_within_a_share(tmp_path: Path) -> None:
    """Each call costs a cent, and so does its reservation; the task may cost 11.5 cents."""

    goals = ("a", "b", "c", "d")
    one = lab(
        tmp_path, lead(together(*(hand("researcher", goal, budget_usd=0.03) for goal in goals)), DONE),
        *(part(goal, *(say("find_tool", query=f"{goal} {n}") for n in range(9)), report()) for goal in goals),
    )  # fmt: skip
    one.budget = Budget(task=Cap(usd=0.115))
    one._build()

    await one.do(TASK)
    started = one.events(e.AgentStarted)
    assert [begun.usd for begun in started] == [0.03, 0.03, 0.03]  # of 0.105 that were left
    assert any("more than" in failed.text for failed in one.events(e.ActionFailed))
    for begun in started:
        assert spent(one, begun.agent_id) == pytest.approx(0.03)
        assert ends(one)[begun.agent_id].outcome == "budget"
        assert ends(one)[begun.agent_id].usd == pytest.approx(0.03)
    assert sum(x.event.cost_usd or 0 for x in one.bus.history if isinstance(x.event, e.BudgetSpent)) <= 0.115
    assert not one.events(e.QuestionAsked)  # an agent never asks for more


async def test_the_lead_cannot_spend_what_it_handed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, "north")
    one = lab(
        tmp_path, lead(together(hand("researcher", "north", budget_usd=0.05)), DONE), part("north", report()),
        parks=True,
    )  # fmt: skip
    one.budget = Budget(task=Cap(usd=0.065))
    one._build()
    going = asyncio.create_task(one.do(TASK))
    await until(lambda: "north" in gate.at)
    ledger = one.shared_ledger()
    left = ledger.left(one.view.state.task.task_id)  # type: ignore[union-attr]
    assert left.usd == pytest.approx(0.005)
    await gate.open()
    assert (await going).outcome == "answered"
    left = one.shared_ledger().left(one.view.state.task.task_id)  # type: ignore[union-attr]
    assert left.usd == pytest.approx(0.035)  # what it did not take is the lead's again


async def test_a_share_is_part_of_what_is_left_and_a_second_attempt_gets_what_the_first_left(
    tmp_path: Path,
) -> None:
    one = lab(tmp_path, lead(together(hand("researcher", "north")), DONE), nothing("north"))
    one.budget = Budget(task=Cap(usd=1.01, tokens=100_000))
    one._build()
    await one.do(TASK)
    first, second = one.events(e.AgentStarted)
    assert first.usd == pytest.approx(0.3) and first.tokens and first.tokens < 30_000
    assert second.usd == pytest.approx(0.3 - ends(one)[first.agent_id].usd)
    assert second.tokens == first.tokens - ends(one)[first.agent_id].tokens


async def test_an_agent_is_not_started_with_more_budget_than_is_left(tmp_path: Path) -> None:
    one = lab(
        tmp_path, lead(together(hand("researcher", "north", budget_usd=5)), DONE), part("north", report())
    )
    one.budget = Budget(task=Cap(usd=1))
    one._build()
    assert (await one.do(TASK)).outcome == "answered"
    assert not one.events(e.AgentStarted)


# --- builds ---------------------------------------------------------------------------------


async def test_a_toolsmith_has_a_tool_built_and_the_lead_runs_it(tmp_path: Path) -> None:
    run = say("run_tool", name="double_it", arguments={"x": 4})
    one = lab(
        tmp_path, lead(together(hand("toolsmith", "double")), run, DONE), part("double", BUILD, run, report("double_it v1")),
        Rule(role="toolsmith", match="Tool name: double_it", replies=(draft(),)),
    )  # fmt: skip
    assert (await one.do(TASK, when=approve)).outcome == "answered"
    assert [x.delegate for x in one.bus.history if isinstance(x.event, e.ToolCalled)] == ["toolsmith-1", ""]
    paid = [x for x in one.bus.history if isinstance(x.event, e.BudgetSpent) and x.event.role == "toolsmith"]
    assert paid and {x.delegate for x in paid} == {"toolsmith-1"}


async def test_a_build_of_an_agent_parks_the_task_where_nobody_decides(tmp_path: Path) -> None:
    one = lab(
        tmp_path, lead(together(hand("toolsmith", "double"), hand("researcher", "south")), DONE),
        part("double", BUILD, report()), part("south", report("warm")),
        Rule(role="toolsmith", match="Tool name: double_it", replies=(draft(),)), parks=True,
    )  # fmt: skip
    assert (await one.do(TASK)).outcome == "parked"
    assert {x.outcome for x in one.events(e.AgentEnded)} == {"parked", "reported"}
    one.file.close()
    leave_verdicts(one, "double_it")
    one.reopen()
    assert (await one.do()).outcome == "answered"
    assert [made.card.name for made in one.events(e.ToolRegistered)] == ["double_it"]


async def test_stopping_a_toolsmith_withdraws_its_build(tmp_path: Path) -> None:
    one = lab(
        tmp_path, lead(together(hand("toolsmith", "double")), DONE), part("double", BUILD, report()),
        Rule(role="toolsmith", match="Tool name: double_it", replies=(draft(),)),
    )  # fmt: skip

    def when(event: e.SessionEvent) -> Command | None:
        return (
            Interrupt(agent_id=e.AgentId("toolsmith-1")) if isinstance(event, e.ApprovalRequested) else None
        )

    assert (await one.do(TASK, when=when)).outcome == "answered"
    (resolved,) = one.events(e.ApprovalResolved)
    assert resolved.verdict.decision == "withdrawn"


# --- a process that ends --------------------------------------------------------------------


async def test_the_next_process_ends_agents_that_a_killed_one_left_open(tmp_path: Path) -> None:
    run = say("run_tool", name="double_it", arguments={"x": 4})
    one = lab(
        tmp_path, lead(BUILD, together(hand("data-analyst", "north")), DONE), part("north", run, report()),
        Rule(role="toolsmith", match="Tool name: double_it", replies=(draft(),)),
    )  # fmt: skip
    one.sandbox.runs = [asyncio.Event()]
    held = one.bus.emit

    gone, over = asyncio.Event(), asyncio.Event()

    async def cut(event: Any, **more: Any) -> Any:
        if gone.is_set():  # as if the process had gone: nothing more is recorded, and nobody is told
            await over.wait()
            raise asyncio.CancelledError
        return await held(event, **more)

    one.bus.emit = cut  # type: ignore[method-assign]
    await one.begin()
    news = one.bus.subscribe()
    one.engine.send(TASK)
    engine = asyncio.create_task(one.engine.run(until_idle=True))
    async for envelope in news:
        if verdict := approve(envelope.event):
            one.engine.send(verdict)
        if isinstance(envelope.event, e.ToolCalled):
            gone.set()
            break
    assert [b.law for b in check(one.bus.history, complete=True)] == ["one end per call", "one end per agent"]
    left = list(one.bus.history)
    engine.cancel()
    one.reopen()
    assert len(one.bus.history) == len(left)
    assert (await one.do(when=approve)).outcome == "answered"
    assert ends(one)["data-analyst-1"].outcome == "interrupted"
    assert "The program ended" in whole(one.requests[-1])
    over.set()
    await asyncio.gather(engine, return_exceptions=True)


async def test_closing_the_session_ends_no_task_and_the_next_process_continues_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, "north")
    one = lab(tmp_path, lead(together(hand("researcher", "north")), DONE), part("north", report()))
    await one.begin()
    one.engine.send(TASK)
    engine = asyncio.create_task(one.engine.run())
    await until(lambda: "north" in gate.at)
    one.engine.send(CloseSession())
    await engine
    assert not one.events(e.TaskFinished)
    await gate.open()
    one.reopen()
    assert (await one.do()).outcome == "answered"


# --- state ----------------------------------------------------------------------------------


async def test_the_state_describes_the_lead_and_lists_its_agents_separately(tmp_path: Path) -> None:
    one = lab(
        tmp_path, lead(say("plan", steps=["|| a", "|| b"]), together(hand("researcher", "a"), hand("researcher", "b")), DONE),
        *(part(goal, say("find_tool", query=goal), say("find_tool", query=goal * 2), report()) for goal in "ab"),
    )  # fmt: skip
    await one.do(SubmitTask(text="compare"))
    state = reduce_all(one.bus.history)
    assert [agent.outcome for agent in state.agents] == ["reported"] * 2
    assert [(agent.step, round(agent.usd, 9)) for agent in state.agents] == [(3, 0.03)] * 2
    assert state.step == 3 and state.plan == ("a", "b") and state.calls == ()
    steps = [x.step for x in one.bus.history if isinstance(x.event, e.ActionChosen) and not x.delegate]
    assert steps == sorted(steps)
    spans = {
        x.event.agent_id: (x.span, x.parent) for x in one.bus.history if isinstance(x.event, e.AgentStarted)
    }
    for agent_id, (span, parent) in spans.items():
        assert span == agent_id and parent
        inner = [x for x in of_agent(one, agent_id) if isinstance(x.event, e.ActionChosen)]
        assert inner and all(x.parent == agent_id for x in inner)
