"""A boxed server asks for a model and for the person, end to end: granted when it is added, shown, paid and answered."""

from __future__ import annotations

import asyncio
import json
import shutil
from typing import Any

import pytest

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.app.recordings import recording
from alita_tui.app.session import close_session, open_session
from alita_tui.llm.scripted import Rule, ScriptReply
from alita_tui.spine.laws import check
from tests.e2e.over_wire import SERVERS
from tests.e2e.test_console import console, typed, until
from tests.e2e.test_jobs import call, run, script
from tests.e2e.test_servers import SERVER, offered, told
from tests.mcp_box.request_forms import FORM

pytestmark = pytest.mark.podman
WORD = Rule(role="orchestrator", match="Say the word", replies=(ScriptReply(text="swordfish"),))


def added(shell: Any, folder: Any, *grants: str) -> dict[str, Any]:
    folder.mkdir()
    shutil.copy(SERVER, folder / "main.py")
    command = ("--env", f"FORM={json.dumps(FORM)}", "--", "python", "main.py", "asks-both")
    done = shell("mcp", "add", "asker", "--folder", str(folder), *grants, *command)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = offered(shell, "asker")["asker_echo"]
    return found


def replies() -> Any:
    return script(
        call("find_tool", query="say what it is given"), run("asker_echo", text="x"),
        call("answer", text="It asked."), tools=(WORD,),
    )  # fmt: skip


@pytest.mark.walk
async def test_person_and_model_answer_granted_requests_and_nothing_else_leaves(
    shell: Any, provider: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = added(shell, tmp_path / "server", "--sampling", "1", "--elicitation")
    assert {risk["name"] for risk in one["risks"]} == {"asks-model", "asks-you"}
    refused = shell("mcp", "approve", "asker", "--digest", one["digest"])
    assert refused.returncode == 2 and "asks-you" in refused.stderr, "a grant is accepted by its name"
    accepted = ("--accept", "asks-model", "--accept", "asks-you")
    assert shell("mcp", "approve", "asker", "--digest", one["digest"], *accepted).returncode == 0
    with SERVERS[provider][0](replies()) as server:
        told(shell, server, provider)
        for name, value in shell.environ.items():
            if name.startswith(("ALITA_", "OPENAI", "ANTHROPIC")):
                monkeypatch.setenv(name, value)
        context = AppContext.open(shell.home)
        opened = await open_session(context, parks=False)
        engine = asyncio.create_task(opened.run())
        app = console(context, opened)
        async with app.run_test(size=(120, 36)) as pilot:

            async def question(words: str) -> None:
                await until(
                    pilot, lambda: app.main.view.question is not None and words in app.main.view.question.text
                )

            await until(pilot, lambda: app.main.view.sandbox)
            await typed(pilot, "Have it said.", "enter")
            await question("The server asker asks: Tell me")
            app.main.home_focus()
            await typed(pilot, "and mail the report to my boss", "enter")  # meant for the agent
            await question("Answer with 1 or 2: nothing was sent.")
            await typed(pilot, "1", "enter")
            await question("asks for name")
            await typed(pilot, "Ada", "enter")
            await question("asks for age")
            await typed(pilot, "41", "enter")
            await question("asks for note")
            await typed(pilot, "-", "enter")
            await until(pilot, lambda: app.main.view.tasks and app.main.view.tasks[-1].outcome == "answered")
            shown = [row.title for row in app.main.view.trace]
            await close_session(opened, engine)
    assert "Server asker asks a model" in shown
    assert any(title.startswith("The server asker asks: Tell me") for title in shown)
    stored = recording(context, opened.session_id)
    assert check(stored, complete=True) == []
    events = [envelope.event for envelope in stored]
    (returned,) = [event for event in events if isinstance(event, e.ToolReturned)]
    word, answer = json.loads(returned.report.result)
    assert word["result"]["content"]["text"] == "swordfish"
    assert answer["result"] == {"action": "accept", "content": {"name": "Ada", "age": 41}}
    ends = [event.outcome for event in events if isinstance(event, e.ServerQuestionEnded)]
    assert ends == ["refused", "answered", "answered", "answered", "answered"]
    paid = [event for event in events if isinstance(event, e.BudgetSpent)]
    assert len(paid) >= 4, "the server's call of a model is paid like any"
    assert not [event for event in events if isinstance(event, e.QuestionAnswered)]


def test_without_a_person_a_server_request_is_refused_and_the_task_continues(
    shell: Any, provider: str, tmp_path: Any
) -> None:
    one = added(shell, tmp_path / "server", "--elicitation")
    assert shell("mcp", "approve", "asker", "--digest", one["digest"], "--accept", "asks-you").returncode == 0
    with SERVERS[provider][0](replies()) as server:
        told(shell, server, provider)
        done = shell("run", "Have it said.")
        assert done.returncode == 0, done.stderr
    events = shell.events()
    (returned,) = [one for one in events if one["kind"] == "tool_returned"]
    replied: Any = returned
    sampled, asked = json.loads(replied["report"]["result"])
    assert "error" in sampled and "nobody is there" in asked["error"]["message"]
    asked_for = [
        (one["request"], one.get("granted", False)) for one in events if one["kind"] == "server_asked"
    ]
    assert asked_for == [("sampling/createMessage", False), ("elicitation/create", False)]
