"""An answer is checked before it is given, where the settings want it: by task, answer and evidence alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from alita_tui import events as e
from alita_tui.events import RunReport
from alita_tui.llm.scripted import Rule
from alita_tui.spine.commands import SubmitTask
from alita_tui.view.trace import rows_for
from tests.agent.lab import Lab, draft, say
from tests.agent.replies import BUILD, RUN, approve
from tests.agent.side_by_side import doing

TASK = SubmitTask(text="double four")


def finding(holds: bool, *faults: str, why: str = "because") -> Any:
    return say("give_finding", holds=holds, faults=list(faults), why=why)


def lab(folder: Path, *found: Any, answers: tuple[str, ...] = ("seven", "eight"), **more: Any) -> Lab:
    replies = (BUILD, RUN, *(say("answer", "I secretly guessed", text=text) for text in answers))
    return Lab(
        folder,
        rules=[
            doing("double four", *replies),
            Rule(role="toolsmith", match="Tool name: double_it", replies=(draft(),)),
            Rule(role="verifier", match=".", replies=found),
        ],
        **{"verify": "always", **more},
    )


def checked(one: Lab) -> list[tuple[str, bool]]:
    return [(event.finding, event.returned) for event in one.events(e.AnswerVerified)]


async def test_a_verified_answer_is_given(tmp_path: Path) -> None:
    one = lab(tmp_path, finding(True))
    ended = await one.do(TASK, when=approve)
    assert (ended.outcome, ended.answer) == ("answered", "seven")
    assert checked(one) == [("holds", False)] and ended.finding == "holds"


async def test_a_refusal_comes_back_once_and_the_next_answer_is_given_with_its_finding(
    tmp_path: Path,
) -> None:
    one = lab(tmp_path)
    one.rules[2:] = [
        Rule(role="verifier", match="eight", replies=(finding(False, "still wrong"),)),
        Rule(role="verifier", match="seven", replies=(finding(False, "seven is not it"),)),
    ]
    one._build()
    ended = await one.do(TASK, when=approve)
    assert ended.answer == "eight" and checked(one) == [("refused", True), ("refused", False)]
    assert (ended.finding, ended.faults) == ("refused", ("still wrong",))
    shown = [row for envelope in one.bus.history for row in rows_for(envelope)]
    after = shown[[row.kind for row in shown].index("answer") :]
    assert any("does not hold: still wrong" in row.title for row in after)
    told = one.requests[-1].messages[-1]
    assert told.role == "tool" and told.is_error and "seven is not it" in told.text
    assert "<untrusted" in told.text and "still wrong" not in told.text


async def test_the_verifier_sees_task_answer_and_evidence_but_no_reasoning(tmp_path: Path) -> None:
    one = lab(tmp_path, finding(True))
    one.sandbox.runs = [RunReport(status="ok", exit_code=0, result=8, stdout="working")]
    await one.do(TASK, when=approve)
    (request,) = [asked for asked in one.asked if asked.role == "verifier"]
    seen = request.system + "".join(message.text for message in request.messages)
    for part in ("double four", "seven", "result of double_it", "8", "working"):
        assert part in seen, part
    for hidden in ("secretly", "build it", "run_tool", "orchestrator"):
        assert hidden not in seen, hidden
    assert len(request.messages) == 1 and request.must_call == "give_finding"


@pytest.mark.parametrize(
    "found", [say(words="no call"), say("give_finding", holds="perhaps"), say("give_finding"), say("other", holds=True)]
)  # fmt: skip
async def test_a_verification_that_fails_does_not_hold_back_an_answer(tmp_path: Path, found: Any) -> None:
    one = lab(tmp_path, found)
    ended = await one.do(TASK, when=approve)
    assert (ended.outcome, ended.answer) == ("answered", "seven")
    assert checked(one) == [("unknown", False)]


async def test_an_answer_that_is_text_alone_is_checked_as_well(tmp_path: Path) -> None:
    one = lab(tmp_path, finding(False, "wrong"), finding(True), answers=())
    one.rules[0] = doing("double four", say(words="seven"), say(words="seven"), say(words="eight"))
    one.rules[2:] = [
        Rule(role="verifier", match="eight", replies=(finding(True),)),
        Rule(role="verifier", match="seven", replies=(finding(False, "wrong"),)),
    ]
    one._build()
    ended = await one.do(TASK)
    assert ended.answer == "eight" and checked(one) == [("refused", True), ("holds", False)]
    assert "wrong" in one.requests[-1].messages[-1].text


async def test_an_assumed_price_does_not_make_a_task_costly(tmp_path: Path) -> None:
    cheap = lab(tmp_path / "a", finding(True), verify="costly", verify_usd=0.10)
    await cheap.do(TASK, when=approve)
    assert checked(cheap) == []  # four or five calls of a cent
    dear = lab(tmp_path / "b", finding(True), verify="costly", verify_usd=0.02)
    await dear.do(TASK, when=approve)
    assert checked(dear) == [("holds", False)]
    assert dear.events(e.AnswerVerified)[0].because == "costly"
    unknown = lab(tmp_path / "c", finding(True), verify="costly", verify_usd=0.02)
    unknown.price, unknown.unknown_usd = None, 1_000_000.0
    unknown._build()
    await unknown.do(TASK, when=approve)
    assert unknown.events(e.AnswerVerified) == []


async def test_with_verify_never_no_verifier_is_asked(tmp_path: Path) -> None:
    one = lab(tmp_path, finding(False, "no"), verify="never", verify_usd=0.0)
    assert (await one.do(TASK, when=approve)).answer == "seven"
    assert not [asked for asked in one.asked if asked.role == "verifier"]
