"""`alita tasks`: the queue from any shell, of a closed session and of one that another process has open."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from alita_tui.app.context import AppContext
from alita_tui.app.session import open_session
from alita_tui.config.load import load
from alita_tui.config.paths import locate
from alita_tui.events import NoticeRaised, QueueSwitched, TaskCancelled, TaskFinished, TaskQueued
from alita_tui.llm.scripted import Rule, Script
from alita_tui.spine.commands import CloseSession
from alita_tui.spine.laws import check
from tests.cli.processes import alita, settle
from tests.cli.scripted_runs import act
from tests.support.servers.openai_server import OpenAIServer

ANSWERS = Script(
    format="alita-script/1",
    name="answers",
    rules=tuple(
        Rule(role="orchestrator", match=f"TASK: {task}", replies=(act("answer", text=f"done {task}"),))
        for task in ("one", "two", "three", "changed", "left")
    ),
)


def listed(home: Path) -> dict[str, Any]:
    done = alita(home, "tasks", "list", "--json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def queue(home: Path) -> list[str]:
    return [one["text"] for one in listed(home)["tasks"] if one["place"]]


def test_a_request_for_several_agents_without_a_task_is_refused(tmp_path: Path) -> None:
    for words in (("run", "/team"), ("tasks", "add", " /team ")):
        done = alita(tmp_path / "home", *words)
        assert done.returncode == 2 and "There is no task." in done.stderr


def test_a_queue_filled_and_changed_from_shells_is_processed_in_order(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with OpenAIServer(ANSWERS) as server:
        settle(home, server)
        model = ("--model", "custom:one")
        assert alita(home, *model, "run", "one").returncode == 0
        added = {}
        for text in ("one", "two", "three"):
            done = alita(home, "tasks", "add", text)
            assert done.returncode == 0, done.stderr
            added[text] = listed(home)["tasks"][-1]["id"]
            assert done.stdout.strip().endswith(f", task {added[text]}"), done.stdout
        assert queue(home) == ["one", "two", "three"]
        told = json.loads(alita(home, "tasks", "add", "four", "--json").stdout)
        assert told == {**listed(home), "added": told["tasks"][-1]["id"]}
        assert alita(home, "tasks", "cancel", told["added"]).returncode == 0
        assert alita(home, "tasks", "move", "3", "1").returncode == 0
        assert alita(home, "tasks", "edit", "3", "changed").returncode == 0
        assert queue(home) == ["three", "one", "changed"]
        assert alita(home, "tasks", "cancel", "2").returncode == 0
        assert alita(home, "tasks", "pause").returncode == 0
        held = alita(home, *model, "resume")
        assert held.returncode == 2 and "paused" in held.stderr and "alita tasks resume" in held.stderr
        assert queue(home) == ["three", "changed"] and listed(home)["paused"]
        assert alita(home, "tasks", "resume").returncode == 0
        assert alita(home, *model, "resume").returncode == 0
    assert [(one["text"], one["standing"], one["answer"]) for one in listed(home)["tasks"]] == [
        ("one", "done", "done one"),
        ("four", "cancelled", ""),
        ("one", "cancelled", ""),
        ("three", "done", "done three"),
        ("changed", "done", "done changed"),
    ], "what was cancelled before it began is a task too"
    for text in ("two", "three"):  # "two" was changed before it began
        shown = alita(home, "tasks", "show", added[text])
        assert shown.returncode == 0 and "answered" in shown.stdout, (
            "an id that was printed goes on to name it"
        )
    cancelled = listed(home)["tasks"][2]["id"]
    shown = alita(home, "tasks", "show", cancelled)
    assert shown.returncode == 0 and "cancelled" in shown.stdout
    for deed, why in (("cancel", "ended already"), ("retry", "cancelled before it began")):
        refused = alita(home, "tasks", deed, cancelled)
        assert refused.returncode == 2 and why in refused.stderr
    assert alita(home, "sessions", "verify").returncode == 0


def test_what_does_not_fit_is_refused_with_what_to_do(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with OpenAIServer(ANSWERS) as server:
        settle(home, server)
        assert alita(home, "tasks", "pause").returncode == 2, "there is no session"
        assert alita(home, "--model", "custom:one", "run", "one").returncode == 0
        assert alita(home, "tasks", "add", "one").returncode == 0
        before = listed(home)
        for words in (
            ("cancel", "2"),
            ("edit", "1", " "),
            ("move", "x", "1"),
            ("retry", "1"),
            *(("show", str(n)) for n in range(2, 10)),
            ("show", "zz"),
            ("add", " "),
        ):
            refused = alita(home, "tasks", *words)
            assert refused.returncode == 2 and refused.stderr.strip(), words
        assert listed(home) == before


def test_an_open_session_takes_up_tasks_left_by_a_shell(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with OpenAIServer(ANSWERS) as server:
        settle(home, server)
        asyncio.run(_left(home))


async def _left(home: Path) -> None:
    paths = locate(home, {})
    app = AppContext(paths, load(paths, {}, {"model": "custom:one"}), {})
    session = await open_session(app, None, parks=False)
    running = asyncio.create_task(session.run())

    def seen(kind: type) -> list[Any]:
        return [one.event for one in session.bus.history if isinstance(one.event, kind)]

    async def until(true: Callable[[], object]) -> None:
        async with asyncio.timeout(180):
            while not true():
                await asyncio.sleep(0.05)

    async def shell(*words: str) -> str:
        done = await asyncio.to_thread(alita, home, "tasks", *words)
        assert done.returncode == 0 and "open" in done.stdout, done.stderr
        return done.stdout

    try:
        await until(lambda: len(session.bus.history) > 2)
        await shell("pause")
        await until(lambda: seen(QueueSwitched))
        added = [
            (await shell("add", "left")).split(", task ")[1].split()[0],
            json.loads(await shell("add", "three", "--json"))["added"],
        ]
        await until(lambda: len(seen(TaskQueued)) == 2)
        assert [one.queue_id for one in seen(TaskQueued)] == added
        await shell("cancel", "2")
        await until(lambda: seen(TaskCancelled))
        await until(
            lambda: not list(paths.left_tasks.glob("*.json"))
        )  # each is removed once it was carried out
        await shell("resume")
        await until(lambda: seen(TaskFinished))
    finally:
        session.send(CloseSession())
        await running
    assert [one.answer for one in seen(TaskFinished)] == ["done left"]
    assert not [one for one in seen(NoticeRaised) if one.level == "error"]
    assert check(session.bus.history, complete=True) == []


def test_schedules_show_their_outcome_and_ids_are_never_reused(tmp_path: Path) -> None:
    home = tmp_path / "home"

    def said(*words: str) -> tuple[int, str]:
        done = alita(home, *words)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout + done.stderr

    for number in (1, 2):
        assert f"schedule s{number}" in said("tasks", "add", "sum up", "--every", "1d", "--at", "07:00")[1]
    assert said("tasks", "pause", "s2") == (0, "schedule s2 is paused\n")
    assert said("tasks", "cancel", "s2") == (0, "schedule s2 is ended\n")
    assert "schedule s3" in said("tasks", "add", "another", "--every", "2h")[1], "s2 stands on old lists"
    for words in (("show", "s1"), ("move", "s1", "1"), ("edit", "s1", "other"), ("retry", "s1")):
        code, told = said("tasks", *words)
        assert code == 2 and "s1 is the id of a schedule" in told and "cancel it" in told


def test_an_unknown_model_leaves_no_session_behind(tmp_path: Path) -> None:
    done = alita(tmp_path / "home", "run", "--detach", "--model", "nope:x", "hello")
    assert done.returncode == 2 and "no provider 'nope'" in done.stderr
    assert json.loads(alita(tmp_path / "home", "sessions", "list", "--json").stdout) == []
