"""The body of a chat completions request, by the rules of the vendor."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from alita_tui.events import Json, ToolRequest, digest_of
from alita_tui.llm.assembly import mend, mend_value
from alita_tui.llm.faults import Endpoint
from alita_tui.llm.presets import Preset
from alita_tui.llm.schemas import fitting
from alita_tui.spine.ports.models import Message, ModelRequest, ToolSpec

_SHORT_ID = re.compile(r"[a-zA-Z0-9]{9}")
_READ = "I have read the results."
"""Turn between a result and the person's words, where no `user` turn may follow a `tool` turn."""
_UNSIGNED = "skip_thought_signature_validator"
"""For calls that another model made: https://ai.google.dev/gemini-api/docs/thought-signatures (FAQ)."""


def chat_body(rules: Preset, at: Endpoint, request: ModelRequest, most: int = 0) -> dict[str, Any]:
    """Return the body of a request; `most` is the model's longest reply in tokens, 0 if unknown."""
    system = [{"role": "system", "content": mend(request.system)}] if request.system else []
    body: dict[str, Any] = {
        "model": at.model,
        "messages": [*system, *_turns(rules, at.name, request.messages)],
        rules.limit: min(request.max_tokens, most or request.max_tokens),
    }
    if rules.tells_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        # Several servers know only the words: to force one tool, it is the only one offered.
        tools = [tool for tool in request.tools if request.must_call in ("", "*", tool.name)]
        body["tools"] = [_tool(rules, tool) for tool in tools]
        body["tool_choice"] = "required" if request.must_call and rules.forces_calls else "auto"
    return body


_CHANGES: tuple[tuple[re.Pattern[str], dict[str, Any]], ...] = tuple(
    (re.compile(words, re.IGNORECASE | re.DOTALL), changes)
    for words, changes in (
        (r"max_completion_tokens['\"`]? instead", {"limit": "max_completion_tokens"}),
        (r"max_completion_tokens.{0,120}(extra|unknown|unrecogni[sz]ed|not permitted|unsupported)"
         r"|(extra|unknown|unrecogni[sz]ed|unsupported).{0,120}max_completion_tokens", {"limit": "max_tokens"}),
        (r"stream_options", {"tells_usage": False}),
        (r"tool_choice", {"forces_calls": False}),
        (r"tool call id was|unexpected role 'user' after role 'tool'", {"short_ids": True}),
        (r"thought_signature", {"wants_back": "signature"}),
        (r"reasoning_content", {"wants_back": "reasoning"}),
        (r"pattern must start with|additionalProperties|unknown name|json.?schema|invalid schema|grammar",
         {"schemas": "plain"}),
        (r"function_declarations|non-empty for object type", {"schemas": "google"}),
    )
)  # fmt: skip
"""Messages by which a server refuses a field, and the rules that apply from then on."""


def adapted(rules: Preset, text: str, status: int) -> Preset | None:
    """Return the rules that follow from a server's refusal; None if it shows nothing new."""
    if status not in (400, 404, 422, 500):
        return None
    for pattern, changes in _CHANGES:
        if pattern.search(text) and (changed := msgspec.structs.replace(rules, **changes)) != rules:
            return changed
    return None


def _tool(rules: Preset, tool: ToolSpec) -> Json:
    function = {"name": tool.name, "description": tool.description}
    if rules.schemas != "google" or tool.parameters.get("properties"):
        function["parameters"] = fitting(tool.parameters, rules.schemas)
    return {"type": "function", "function": function}


def _turns(rules: Preset, name: str, messages: Sequence[Message]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for message in messages:
        if rules.short_ids and message.role == "user" and turns and turns[-1]["role"] == "tool":
            turns.append({"role": "assistant", "content": _READ})
        turns.append(_turn(rules, name, message))
    return turns


def _turn(rules: Preset, name: str, message: Message) -> dict[str, Any]:
    match message.role:
        case "user":
            return {"role": "user", "content": mend(message.text)}
        case "tool":
            call_id = _id(rules, message.call_id)
            return {"role": "tool", "tool_call_id": call_id, "content": mend(message.text)}
        case "assistant" if message.requests:
            calls = [_call(rules, name, call, n == 0) for n, call in enumerate(message.requests)]
            turn = {"role": "assistant", "content": mend(message.text) or None, "tool_calls": calls}
            return turn | _thoughts(rules, name, message.requests[0].carried)
        case "assistant":
            return {"role": "assistant", "content": mend(message.text)}


def _call(rules: Preset, name: str, call: ToolRequest, first: bool) -> dict[str, Any]:
    arguments = msgspec.json.encode(mend_value(call.arguments)).decode()
    turn: dict[str, Any] = {
        "id": _id(rules, call.call_id),
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }
    if (extra := call.carried.get("extra")) and call.carried.get("by") == name:
        turn["extra_content"] = msgspec.json.decode(extra)
    elif first and rules.wants_back == "signature":
        turn["extra_content"] = {"google": {"thought_signature": _UNSIGNED}}
    return turn


def _thoughts(rules: Preset, name: str, carried: dict[str, str]) -> dict[str, Any]:
    """Return the model's thoughts before its calls, if they have to be sent back with them."""
    returned = carried if carried.get("by") == name else {}
    fields: dict[str, Any] = {}
    if details := returned.get("details"):
        fields["reasoning_details"] = msgspec.json.decode(details)
    if rules.wants_back == "reasoning":
        fields["reasoning_content"] = returned.get("reasoning", "")
    elif rules.wants_back == "given" and returned.get("reasoning"):
        fields["reasoning_content"] = returned["reasoning"]
    return fields


def _id(rules: Preset, call_id: str) -> str:
    if not rules.short_ids or _SHORT_ID.fullmatch(call_id):
        return call_id
    return digest_of(call_id)[:9]
