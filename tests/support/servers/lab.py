"""One adapter and its server, and how a test asks them."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import pytest

from alita_tui.events import Usage
from alita_tui.llm.anthropic_model import AnthropicModel
from alita_tui.llm.openai_model import OpenAIModel
from alita_tui.llm.remote import RemoteModel
from alita_tui.llm.scripted import ScriptReply, ScriptRequest
from alita_tui.spine.errors import ModelError
from alita_tui.spine.ports.models import Delta, Message, ModelRequest, Reply, ToolSpec
from tests.support.servers.anthropic_server import AnthropicServer
from tests.support.servers.openai_server import OpenAIServer
from tests.support.servers.wire import ModelServer

KEY = "sk-test-4f7a9c2e"
FIND = ToolSpec(
    name="find_tool",
    description="Search the library.",
    parameters={"type": "object", "properties": {"query": {"type": "string"}}},
)
REQUEST = ModelRequest(
    role="orchestrator",
    system="You are careful.",
    messages=(Message(role="user", text="Validate addresses."),),
    tools=(FIND,),
    must_call="*",
    max_tokens=900,
)
TEXT = ScriptReply(text="Die Größe ist 3 – gut 👍.", usage=Usage(input_tokens=120, output_tokens=9))
CALL = ScriptReply(
    text="I look.", requests=(ScriptRequest(name="find_tool", arguments={"query": "mail — ✉ größe"}),)
)
ADAPTERS: dict[str, tuple[type[ModelServer], type[RemoteModel]]] = {
    "anthropic": (AnthropicServer, AnthropicModel),
    "openai": (OpenAIServer, OpenAIModel),
}


@dataclass
class Lab:
    """One adapter and the server that it talks to."""

    vendor: str
    server: ModelServer
    model: RemoteModel

    async def ask(self, request: ModelRequest = REQUEST) -> tuple[list[Delta], Reply]:
        """All deltas and the one reply, which comes last."""
        pieces: list[Delta | Reply] = []
        async with aclosing(self.model.reply(request)) as stream:  # type: ignore[type-var]  # async generators
            async for piece in stream:
                pieces.append(piece)
        *deltas, reply = pieces
        assert isinstance(reply, Reply)
        found = [piece for piece in deltas if isinstance(piece, Delta)]
        assert found == deltas
        return found, reply

    async def fail(self, request: ModelRequest = REQUEST) -> ModelError:
        """The error of a call that must fail without a reply."""
        with pytest.raises(ModelError) as caught:
            async with aclosing(self.model.reply(request)) as stream:  # type: ignore[type-var]  # async generators
                async for piece in stream:
                    assert not isinstance(piece, Reply)
        return caught.value


def open_lab(vendor: str, server: ModelServer, **more: object) -> Lab:
    settings: dict[str, Any] = {"api_key": KEY, "base_url": server.base_url, "timeout": 20.0, **more}
    return Lab(vendor, server, ADAPTERS[vendor][1](vendor, "served-model", **settings))
