"""Ten different builds in one queue, decided by scripted reviewers with at most three keys each where all is green."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from alita_tui import events as e
from alita_tui.events import Finding, Lock, RunReport, TestCase, ToolDraft, build_digest
from alita_tui.view.fold import fold_all
from alita_tui.view.model import SessionView
from tests.console.approval_cases import add_risky, passed
from tests.console.approval_host import Host
from tests.support import streams

PASSED = RunReport(status="ok", cases=(TestCase(name="test_it", passed=True),))
BODY = "\n".join(f"    x_{n} = {n}" for n in range(200))
BASE = streams.DRAFT


def drafts() -> list[ToolDraft]:
    """All green, each in a way of its own."""
    change: list[Callable[[int], dict[str, object]]] = [
        lambda n: {},
        lambda n: {"requirements": ()},
        lambda n: {"code": BASE.code + "# much to read\n" * 150},
        lambda n: {"code": f'"""One."""\n\n\ndef run() -> int:\n    return {n}\n', "requirements": ()},
        lambda n: {"code": f'"""Long."""\n\n\ndef run() -> int:\n{BODY}\n    return 1\n', "requirements": ()},
        lambda n: {"description": "Ünïcödé in words, [bold]markup[/bold] and a tab\tand more."},
        lambda n: {"tests": BASE.tests * 8},
        lambda n: {"input_schema": {"type": "object", "properties": {str(k): {} for k in range(40)}}},
        lambda n: {"output_schema": {"type": "string"}},
        lambda n: {"code": BASE.code.replace("results", "found"), "requirements": BASE.requirements},
    ]
    return [msgspec.structs.replace(BASE, name=f"tool_{n}", **make(n)) for n, make in enumerate(change)]


def waiting() -> SessionView:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="Build ten."))
    for n, draft in enumerate(drafts()):
        build_id = e.BuildId(f"b{n}")
        lock = streams.LOCK if draft.requirements else Lock()
        tape.add(e.BuildStarted(build_id=build_id, action_id=f"a{n}", name=draft.name, goal="Do it."))
        tape.add(
            e.BuildDrafted(
                build_id=build_id,
                attempt=1,
                author="model",
                model="m",
                draft=draft,
                digest=draft.digest,
            )
        )
        low = (Finding(severity="low", rule="ast/note", text="a remark"),) if n % 2 else ()
        tape.add(e.BuildReviewed(build_id=build_id, attempt=1, digest=draft.digest, findings=low))
        tape.add(e.RequirementsLocked(build_id=build_id, attempt=1, lock=lock))
        tape.add(
            e.BuildTested(
                build_id=build_id,
                attempt=1,
                digest=draft.digest,
                passed=True,
                reports=(PASSED,) * 3,
            )
        )
        for one in passed(build_id, 1, draft.digest):
            tape.add(one)
        tape.add(
            e.ApprovalRequested(
                approval_id=f"p{n}",
                build_id=build_id,
                digest=build_digest(draft, lock),
                name=draft.name,
                version=1,
            )
        )
    return fold_all(tape.envelopes)


async def test_ten_green_builds_take_at_most_three_keys_each() -> None:
    app = Host(waiting())
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        for number, draft in enumerate(drafts()):
            assert app.review.build is not None and app.review.build.name == draft.name
            pressed = 0
            while len(app.decided) == number:
                # The key that decided the build before counts only after something else.
                await pilot.press("left", "o" if number == 3 else "a")
                await pilot.pause()
                pressed += 1
                assert pressed <= 3, app.said()
            assert pressed <= 2
            last = app.decided[-1]
            lock = streams.LOCK if draft.requirements else Lock()
            assert (last.approval_id, last.digest) == (f"p{number}", build_digest(draft, lock))
            assert last.verdict.lasting == ("task" if number == 3 else "library")
    assert [command.verdict.decision for command in app.decided] == ["approved"] * 10


async def test_a_risky_one_among_them_takes_more_than_three_keys() -> None:
    tape = streams.Tape()
    streams.opened(tape)
    add_risky(tape)
    app = Host(fold_all(tape.envelopes))
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        for _ in range(3):
            await pilot.press("left", "a")
            await pilot.pause()
        assert app.decided == []
        assert app.review.bar.mode == "name"
