"""The recorded model's replies, from servers of both vendors."""

from __future__ import annotations

from collections.abc import Callable

from alita_tui.config.paths import shipped
from alita_tui.llm.scripted import load_script
from tests.support.servers.anthropic_server import AnthropicServer
from tests.support.servers.openai_server import OpenAIServer
from tests.support.servers.wire import ModelServer

SCRIPT = load_script(shipped("sessions") / "demo.script.json")


SERVERS: dict[str, tuple[Callable[..., ModelServer], str]] = {
    "openai": (OpenAIServer, "OPENAI_API_KEY"),
    "anthropic": (AnthropicServer, "ANTHROPIC_API_KEY"),
}
