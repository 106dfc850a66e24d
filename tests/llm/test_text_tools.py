"""Tool calls in text: what is asked, what is read, how it is found out."""

from __future__ import annotations

import msgspec
import pytest

from alita_tui.events import ToolRequest
from alita_tui.llm.factory import ModelSpec, open_model, probe
from alita_tui.llm.scripted import ScriptReply
from alita_tui.llm.text_tools import NO_ACTION, TextToolsModel, in_text, read
from alita_tui.spine.errors import ModelError
from alita_tui.spine.ports.models import Delta, Message, Reply
from tests.support.servers.lab import CALL, FIND, REQUEST, Lab
from tests.support.servers.wire import Fault

ACT = 'I look.\n\n<action name="find_tool">\n{"query": "größe"}\n</action>\n'


async def ask(model: TextToolsModel, request=REQUEST) -> tuple[list[Delta], Reply]:
    pieces = [piece async for piece in model.reply(request)]
    assert isinstance(pieces[-1], Reply)
    return pieces[:-1], pieces[-1]  # type: ignore[return-value]


def heard(text: str, must_call: str = "*") -> Reply:
    return read(Reply(model="p:a", text=text), msgspec.structs.replace(REQUEST, must_call=must_call))


async def test_a_call_written_as_text_is_parsed(lab: Lab) -> None:
    lab.server.plan(Fault(script=ScriptReply(text=ACT)))
    deltas, reply = await ask(TextToolsModel(lab.model, "text"))
    (call,) = reply.requests
    assert (call.name, call.arguments, call.problem) == ("find_tool", {"query": "größe"}, "")
    assert (reply.text, reply.stop) == ("I look.", "tool_use")
    said = {
        channel: "".join(d.text for d in deltas if d.channel == channel) for channel in ("text", "arguments")
    }
    assert said["text"].strip() == "I look." and said["arguments"].startswith('<action name="find_tool">')
    sent = lab.server.requests[0].body
    assert not {"tools", "tool_choice"} & sent.keys()
    assert "find_tool: Search the library." in str(sent) and "at least one action" in str(sent)


async def test_a_server_that_refuses_tools_gets_the_text_protocol_from_then_on(lab: Lab) -> None:
    refusal = msgspec.json.encode(lab.server.error_body(400, "this model does not support tools"))
    model = TextToolsModel(lab.model, "auto")
    lab.server.plan(Fault(status=400, body=refusal), *[Fault(script=ScriptReply(text=ACT))] * 2)
    with pytest.raises(ModelError) as caught:
        await ask(model)
    assert caught.value.kind == "no_tools" and "tools=text" in caught.value.hint
    for _ in range(2):
        assert (await ask(model))[1].requests[0].name == "find_tool"


async def test_a_server_that_ignores_tools_is_found_out(lab: Lab) -> None:
    model = TextToolsModel(lab.model, "auto")
    words = Fault(script=ScriptReply(text="I would search."))
    lab.server.plan(words, words, Fault(script=ScriptReply(text=ACT)))
    assert (await ask(model))[1].text == "I would search."  # once may be a slip
    with pytest.raises(ModelError, match="text protocol is used from now on"):
        await ask(model)
    assert (await ask(model))[1].requests[0].name == "find_tool"


@pytest.mark.parametrize("text", [ACT, '<tool_call>{"name": "find_tool", "arguments": {}}</tool_call>'])
async def test_calls_written_as_text_are_not_counted_as_errors(lab: Lab, text: str) -> None:
    model = TextToolsModel(lab.model, "auto")
    lab.server.plan(Fault(script=ScriptReply(text=text)))
    with pytest.raises(ModelError, match="text protocol is used from now on"):
        await ask(model)


async def test_a_model_that_ignores_a_required_tool_is_detected_at_once(lab: Lab) -> None:
    model = TextToolsModel(lab.model, "auto")
    lab.server.plan(Fault(script=ScriptReply(text="I would search.")))
    with pytest.raises(ModelError, match="text protocol is used from now on"):
        await ask(model, msgspec.structs.replace(REQUEST, must_call=REQUEST.tools[0].name))


async def test_a_model_that_once_called_a_tool_may_just_answer_later(lab: Lab) -> None:
    model = TextToolsModel(lab.model, "auto")
    lab.server.plan(Fault(script=CALL), Fault(script=ScriptReply(text="Done.")))
    assert (await ask(model))[1].requests
    assert (await ask(model))[1].text == "Done."
    assert not model.in_text


async def test_requests_without_tools_are_unchanged(lab: Lab) -> None:
    lab.server.plan(Fault(script=ScriptReply(text="plain")))
    request = msgspec.structs.replace(REQUEST, tools=(), must_call="")
    assert (await ask(TextToolsModel(lab.model, "text"), request))[1].text == "plain"
    assert "How to act" not in str(lab.server.requests[0].body)


async def test_a_probe_reports_that_only_text_works(lab: Lab) -> None:
    pong = ScriptReply(text='<action name="ping">{"word": "pong"}</action>')
    lab.server.plan(Fault(script=ScriptReply(text="pong")), Fault(script=pong))
    result = await probe(TextToolsModel(lab.model, "auto"))
    assert (result.ok, result.calls_tools) == (True, False)
    assert "text protocol works" in result.text


@pytest.mark.parametrize(
    ("provider", "tools", "wrapped"),
    [("ollama", "", True), ("ollama", "native", False), ("openai", "", False), ("openai", "text", True)],
)
def test_preset_or_option_chooses(provider: str, tools: str, wrapped: bool) -> None:
    model = open_model(ModelSpec(provider=provider, model="m", api_key="k", tools=tools))  # type: ignore[arg-type]
    assert isinstance(model, TextToolsModel) is wrapped
    assert model.name == f"{provider}:m" and not model.recorded


async def test_what_a_model_can_do_is_known_after_its_first_use(lab: Lab) -> None:
    model = TextToolsModel(lab.model, "auto")
    assert model.abilities == {"tools"}
    lab.server.plan(Fault(script=ScriptReply(text="pong")), Fault(script=ScriptReply(text="pong")))
    await probe(model)
    assert model.abilities == frozenset()
    seeing = open_model(ModelSpec(provider="ollama", model="m", tools="text", vision=True))
    assert seeing.abilities == {"vision"}


def test_several_actions_and_raw_line_breaks_are_read() -> None:
    reply = heard('a<action name="x">{"code": "1\n2"}</action> <action name="y">{}</action>\n')
    assert [(call.name, call.arguments) for call in reply.requests] == [("x", {"code": "1\n2"}), ("y", {})]
    assert len({call.call_id for call in reply.requests}) == 2


def test_thoughts_in_tags_are_no_text_and_hold_no_action() -> None:
    reply = heard('<think>maybe <action name="x">{}</action></think>\n<action name="y">{}</action>')
    assert [call.name for call in reply.requests] == ["y"]
    assert (reply.text, reply.thinking) == ("", 'maybe <action name="x">{}</action>')


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<action name="x">{"a": 1}', "not closed"),
        ("<action>{}</action>", "first line"),
        ('<action name="x">{}</action> and then', "text after"),
        ('<action name="x">{a: 1}</action>', "not JSON"),
        ('<action name="x">[1]</action>', "no JSON object"),
        ('<action name="x">{"a": ["half \\ud835"]}</action>', "half a character"),
        ('<action name="x">{"\\ud835": 1}</action>', "half a character"),
    ],
)
def test_malformed_text_is_one_call_with_a_problem(text: str, problem: str) -> None:
    (call,) = heard(text).requests
    assert problem in call.problem and call.arguments == {}
    assert call.name in ("x", NO_ACTION)


def test_plain_words_are_a_call_only_if_one_tool_is_required() -> None:
    assert heard("I would search.").requests == ()
    (call,) = heard("I would search.", must_call="find_tool").requests
    assert "no <action" in call.problem and call.name == NO_ACTION


def test_text_is_an_answer_if_no_tool_is_required() -> None:
    assert heard("Just so.", must_call="").requests == ()


def test_the_conversation_alternates_roles_and_includes_earlier_calls() -> None:
    done = ToolRequest(call_id="c1", name="find_tool", arguments={"query": "a"})
    bad = ToolRequest(call_id="c2", name=NO_ACTION, arguments={}, problem="the reply has no block")
    request = msgspec.structs.replace(
        REQUEST,
        messages=(
            Message(role="user", text="TASK: x"),
            Message(role="user", text="more"),
            Message(role="assistant", text="I look.", requests=(done,)),
            Message(role="tool", text="nothing", call_id="c1", is_error=True),
            Message(role="user", text="go on"),
            Message(role="assistant", text="hm", requests=(bad,)),
            Message(role="tool", text="No valid action", call_id="c2"),
        ),
    )
    turns = in_text(request).messages
    assert [turn.role for turn in turns] == ["user", "assistant", "user", "assistant", "user"]
    assert turns[1].text == 'I look.\n<action name="find_tool">\n{"query":"a"}\n</action>'
    assert turns[2].text == "Result of find_tool, which failed:\nnothing\n\ngo on"
    assert turns[3].text == "hm"


def test_a_required_tool_is_the_only_one_shown() -> None:
    other = msgspec.structs.replace(FIND, name="other")
    request = msgspec.structs.replace(REQUEST, tools=(FIND, other), must_call="other")
    assert "- other:" in in_text(request).system and "- find_tool:" not in in_text(request).system


@pytest.mark.parametrize("size", [1, 2, 5, 100])
async def test_the_split_between_text_and_action_does_not_depend_on_the_pieces(size: int) -> None:
    class Pieces:
        name, recorded = "p:a", False

        async def reply(self, request):
            text = "a < b <act " + ACT
            for start in range(0, len(text), size):
                yield Delta(channel="text", text=text[start : start + size])
            yield Reply(model="p:a", text=text)

    deltas, _ = await ask(TextToolsModel(Pieces(), "text"))  # type: ignore[arg-type]
    said = "".join(delta.text for delta in deltas if delta.channel == "text")
    assert said == "a < b <act I look.\n\n"
