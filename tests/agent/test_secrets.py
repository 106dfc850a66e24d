"""What a person marked as secret is in no file, whichever way it came in, and the record stays lawful."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from alita_tui import events as e
from alita_tui.events import RunReport
from alita_tui.llm.scripted import Rule
from alita_tui.spine.commands import AnswerQuestion, Command, ResolveApproval, Steer, SubmitTask
from tests.agent.lab import Lab, draft, say

SECRET = "open-sesame-4711"


async def test_a_secret_reaches_no_file_whichever_way_it_came_in(tmp_path: Path) -> None:
    smith = draft(marker=SECRET)
    smith.requests[0].arguments["input_schema"]["additionalProperties"] = True
    rules = [
        Rule(
            role="orchestrator",
            match="TASK: ",
            replies=(
                say("ask_user", f"thinking of {SECRET}", question=f"Is it {SECRET}?"),
                say("build_tool", name="double_it", goal=f"Double with {SECRET}."),
                say("build_tool", name="double_it", goal="Double again."),
                say("run_tool", name="double_it", arguments={"x": 4, "key": SECRET}),
                say("answer", text=f"eight, by {SECRET}"),
            ),
        ),
        Rule(role="toolsmith", match="Tool name: double_it", replies=(smith, smith)),
    ]
    lab = Lab(tmp_path, rules=rules, secrets=(("SESAME", SECRET),))
    lab.sandbox.runs = [RunReport(status="ok", exit_code=0, result={SECRET: [SECRET]}, stdout=SECRET)]
    asked: Iterator[e.Decision] = iter(("rejected", "edited", "approved"))

    def person(event: e.SessionEvent) -> Command | None:
        match event:
            case e.QuestionAsked(question_id=question_id):
                return AnswerQuestion(question_id=question_id, text=f"yes, {SECRET}")
            case e.BuildStarted():
                return Steer(text=f"mind {SECRET}")
            case e.ApprovalRequested(approval_id=approval_id, digest=digest, build_id=build_id):
                code = next(one.draft.code for one in lab.events(e.BuildDrafted) if one.build_id == build_id)
                return ResolveApproval(approval_id=approval_id, digest=digest, code=f"{code}\nKEY = {SECRET!r}\n", verdict=e.Verdict(decision=next(asked), reason=f"because of {SECRET}"))  # fmt: skip
            case _:
                return None

    ended = await lab.do(SubmitTask(text=f"double four with {SECRET}"), when=person)
    assert ended.outcome == "answered" and ended.answer == "eight, by [redacted SESAME]"
    assert lab.sandbox.jobs[-1].arguments["key"] == "[redacted SESAME]", "what ran is what the record says"
    assert "KEY = '[redacted SESAME]'" in lab.shelf.get("double_it").draft.code
    lab.file.close()
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"registry.json.journal", "memory.json.journal", "20261121-000000-lab0.json"} <= {
        p.name for p in written
    }
    assert [path for path in written if SECRET.encode() in path.read_bytes()] == []


async def test_a_verdict_left_on_the_desk_holds_no_secret(tmp_path: Path) -> None:
    rules = [
        Rule(
            role="orchestrator",
            match="TASK: ",
            replies=(say("build_tool", name="double_it", goal="Double."),),
        ),
        Rule(role="toolsmith", match="Tool name: double_it", replies=(draft(),)),
    ]
    lab = Lab(tmp_path, rules=rules, parks=True, secrets=(("", SECRET),))
    await lab.do(SubmitTask(text="double four"))
    asked = lab.events(e.ApprovalRequested)[0]
    given = ResolveApproval(
        approval_id="",
        digest=asked.digest,
        verdict=e.Verdict(decision="rejected", reason=SECRET, by="me", via="cli"),
    )
    lab.desk.leave(asked.approval_id, given)
    left = lab.desk.verdict(asked.approval_id)
    assert left is not None and left.verdict.reason == "[redacted]"
    assert SECRET not in str(msgspec.to_builtins(left))
    lab.file.close()


async def test_streamed_output_holds_no_secret(tmp_path: Path) -> None:
    lab = Lab(tmp_path, rules=[], secrets=(("SESAME", SECRET),))
    news = lab.bus.subscribe()
    for piece in (f"<{SECRET[:5]}", f"{SECRET[5:]}> and", " so on\n"):  # it comes as it comes
        lab.bus.hint(e.OutputChunk(run_id="r", title="t", stream="stdout", text=piece))
    lab.bus.close()
    told = [one.event async for one in news]
    assert (
        "".join(one.text for one in told if isinstance(one, e.OutputChunk))
        == "<[redacted SESAME]> and so on\n"
    )
    lab.file.close()
