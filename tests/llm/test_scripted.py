"""The recorded model: its file, its choice of replies, its stream."""

import json
from pathlib import Path
from typing import Any

import pytest

from alita_tui.config.paths import shipped
from alita_tui.events import Usage
from alita_tui.llm.scripted import ScriptedModel, choose, load_script
from alita_tui.spine.errors import ConfigError, ModelError
from alita_tui.spine.ports.models import Delta, Message, Model, ModelRequest, Reply, ToolSpec
from tests.support.servers.anthropic_server import AnthropicServer
from tests.support.servers.lab import ADAPTERS, KEY, REQUEST, open_lab
from tests.support.servers.openai_server import OpenAIServer
from tests.support.servers.wire import ModelServer

SUBMIT = ToolSpec(name="submit_tool", description="Hand in.", parameters={"type": "object"})
SCRIPT: dict[str, Any] = {
    "format": "alita-script/1",
    "name": "small",
    "tasks": ["Validate addresses."],
    "rules": [
        {
            "role": "orchestrator",
            "match": r"validat\w+ addr",
            "replies": [
                {
                    "thinking": "Is there a tool?",
                    "text": "I look first.",
                    "requests": [{"name": "find_tool", "arguments": {"query": "ü" * 60}}],
                    "usage": {"input_tokens": 90, "output_tokens": 12, "cached_tokens": 40},
                },
                {"text": "All good."},
            ],
        },
        {"role": "orchestrator", "match": "addr", "replies": [{"text": "Never chosen for validate."}]},
        {"role": "toolsmith", "match": "build", "replies": [{"requests": [{"name": "submit_tool"}]}]},
        {
            "role": "orchestrator",
            "match": "^refused",
            "told_by": "tool",
            "replies": [{"text": "Not wanted, then."}],
        },
        {
            "role": "orchestrator",
            "match": "fail",
            "replies": [{"error": {"kind": "rate_limit", "text": "Slow.", "retry_after": 3}}],
        },
    ],
    "otherwise": {"orchestrator": {"text": "I only know one task."}},
}
TASK = Message(role="user", text="Please VALIDATE addresses.")
TURN = Message(role="assistant", text="I look first.")
RESULT = Message(role="tool", text="nothing", call_id="c")


def written(folder: Path, value: object) -> Path:
    path = folder / "script.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


@pytest.fixture
def script(tmp_path: Path):
    return load_script(written(tmp_path, SCRIPT))


async def replies(model: Model, request: ModelRequest) -> tuple[list[Delta], Reply]:
    found = [piece async for piece in model.reply(request)]
    *deltas, reply = found
    assert isinstance(reply, Reply)
    pieces = [piece for piece in deltas if isinstance(piece, Delta)]
    assert pieces == deltas
    return pieces, reply


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([TASK], "I look first."),
        ([TASK, TURN, RESULT], "All good."),
        ([TASK, TURN, RESULT, Message(role="user", text="A nudge.")], "All good."),
        ([TASK, TURN, RESULT, TURN, TASK], "I look first."),
        ([TASK, TURN, Message(role="tool", text="Refused: no dice.", call_id="c")], "Not wanted, then."),
        ([TASK, TURN, RESULT, Message(role="user", text="Refused.")], "All good."),
        ([Message(role="user", text="Hello.")], "I only know one task."),
        ([], "I only know one task."),
        ([Message(role="user", text="my addr")], "Never chosen for validate."),
    ],
)
def test_the_reply_follows_from_the_conversation_alone(script, messages: list[Message], text: str) -> None:
    assert choose(script, "orchestrator", messages).text == text
    assert choose(script, "orchestrator", messages).text == text  # nothing is counted between calls


def test_past_its_end_and_for_other_roles_the_recording_raises_an_error(script) -> None:
    with pytest.raises(ModelError, match="ends here") as caught:
        choose(script, "orchestrator", [TASK, TURN, RESULT, TURN])
    assert caught.value.kind == "unavailable"
    with pytest.raises(ModelError, match="no reply to this"):
        choose(script, "reviewer", [TASK])


async def test_the_scripted_model_streams_words_and_ends_in_a_reply(script) -> None:
    model = ScriptedModel(script)
    deltas, reply = await replies(model, ModelRequest(role="orchestrator", system="", messages=(TASK,)))
    for channel, whole in (("thinking", "Is there a tool?"), ("text", "I look first.")):
        pieces = [delta.text for delta in deltas if delta.channel == channel]
        assert len(pieces) > 1
        assert "".join(pieces) == whole
    (call,) = reply.requests
    arguments = "".join(delta.text for delta in deltas if delta.channel == "arguments")
    assert json.loads(arguments) == call.arguments == {"query": "ü" * 60}
    assert reply.usage == Usage(input_tokens=90, output_tokens=12, cached_tokens=40)
    assert (reply.stop, reply.model, model.recorded, model.price(reply.usage)) == (
        "tool_use",
        "demo:small",
        True,
        0.0,
    )


async def test_ids_repeat_in_every_run_and_differ_within_a_conversation(script) -> None:
    first = ModelRequest(role="orchestrator", system="", messages=(TASK,))
    again = ModelRequest(role="orchestrator", system="", messages=(TASK, TURN, RESULT, TASK))
    ids = [
        (await replies(ScriptedModel(script), one))[1].requests[0].call_id for one in (first, first, again)
    ]
    assert ids[0] == ids[1] != ids[2]


async def test_a_recorded_error_is_raised(script) -> None:
    request = ModelRequest(role="orchestrator", system="", messages=(Message(role="user", text="fail"),))
    with pytest.raises(ModelError, match="Slow") as caught:
        await replies(ScriptedModel(script), request)
    assert (caught.value.kind, caught.value.retry_after) == ("rate_limit", 3)


def test_a_script_that_is_no_recording_has_no_price(tmp_path: Path) -> None:
    model = ScriptedModel(load_script(written(tmp_path, {**SCRIPT, "recorded": False})), name="test:x")
    assert (model.name, model.recorded, model.price(Usage(input_tokens=5))) == ("test:x", False, None)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"format": "alita-script/9"}, "$.format"),
        ({"rules": [{"role": "cook", "match": "x", "replies": []}]}, "$.rules[0].role"),
        ({"rules": [{"role": "toolsmith", "match": "(", "replies": []}]}, "$.rules[0].match"),
        ({"rules": [{"role": "toolsmith", "match": "x", "replies": [{"txt": "typo"}]}]}, "txt"),
        ({"otherwise": {"toolsmith": {"error": {"kind": "odd", "text": ""}}}}, "kind"),
    ],
)
def test_a_broken_script_says_where(tmp_path: Path, change: dict[str, Any], where: str) -> None:
    path = written(tmp_path, {**SCRIPT, **change})
    with pytest.raises(ConfigError) as caught:
        load_script(path)
    assert where in caught.value.message
    assert str(path) in caught.value.message


@pytest.mark.parametrize("text", ["", "{", "[]", "\xff"])
def test_a_file_that_is_no_script_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError):
        load_script(written(tmp_path, text))


def test_a_missing_script_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load_script(tmp_path / "none.json")


@pytest.mark.parametrize(("vendor", "served"), [("anthropic", AnthropicServer), ("openai", OpenAIServer)])
async def test_the_servers_play_the_same_script_over_the_wire(
    script, vendor: str, served: type[ModelServer]
) -> None:
    async with served(script, api_key=KEY) as server:
        lab = open_lab(vendor, server)
        toolsmith = ModelRequest(
            role="toolsmith", system="s", messages=(Message(role="user", text="build"),), tools=(SUBMIT,)
        )
        for request in (
            ModelRequest(role="orchestrator", system="s", messages=(TASK,), tools=REQUEST.tools),
            ModelRequest(role="orchestrator", system="s", messages=(TASK, TURN, RESULT)),
            toolsmith,
        ):
            _, direct = await replies(ScriptedModel(script), request)
            _, served_reply = await lab.ask(request)
            for name in ("text", "thinking", "stop"):
                assert getattr(served_reply, name) == getattr(direct, name)
            assert [(c.name, c.arguments) for c in served_reply.requests] == [
                (c.name, c.arguments) for c in direct.requests
            ]
        error = await lab.fail(
            ModelRequest(role="orchestrator", system="s", messages=(Message(role="user", text="fail"),))
        )
        assert (error.kind, error.retry_after) == ("rate_limit", 3)
        await lab.model.aclose()
        other = ADAPTERS[vendor][1](vendor, "m", api_key="wrong", base_url=server.base_url, timeout=20.0)
        lab.model = other
        assert (await lab.fail(toolsmith)).kind == "auth"
        await other.aclose()


CHART = "Chart the sales in demo-sales.csv by region."


@pytest.mark.parametrize(
    "told",
    [
        [
            Message(
                role="user",
                text="About the build of bar_chart: Approved: bar_chart v1 is in the library. Use",
            )
        ],
        [
            Message(
                role="user",
                text="About the build of bar_chart: Approved: bar_chart v1 may be used for this task only. Use",
            )
        ],
        [
            Message(
                role="tool", text="Approved: bar_chart v1 may be used for this task only. Use", call_id="c"
            )
        ],
        [
            Message(
                role="user", text=f"TASK (taken up again: a build that it waited for was decided): {CHART}"
            )
        ],
    ],
    ids=["decided later", "later, for this task", "for this task", "after coming back"],
)
def test_the_demo_draws_the_chart_however_its_tool_was_approved(told: list[Message]) -> None:
    """README says that the chart is a file of the session, and that a verdict may be put off or for this task only."""
    script = load_script(shipped("sessions") / "demo.script.json")
    turn = Message(role="assistant", text="Putting off.")
    put_off = Message(
        role="user", text="The person puts off the build of bar_chart: it may be decided later."
    )
    talk = [Message(role="user", text=f"TASK: {CHART}"), turn, turn, put_off, turn, *told]
    (drawn,) = choose(script, "orchestrator", talk).requests
    assert (drawn.name, drawn.arguments["name"]) == ("run_tool", "bar_chart")
    result = Message(role="tool", text="status: ok", call_id="d")
    (answer,) = choose(script, "orchestrator", [*talk, turn, result]).requests
    assert answer.name == "answer" and "chart.svg" in answer.arguments["text"]


def test_the_demo_says_that_a_tool_approved_for_one_task_joins_no_library() -> None:
    script = load_script(shipped("sessions") / "demo.script.json")
    later = Message(
        role="user",
        text="About the build of roll_dice: Approved: roll_dice v1 may be used for this task only. Use",
    )
    (answer,) = choose(script, "orchestrator", [later]).requests
    assert "does not join the library" in answer.arguments["text"]
