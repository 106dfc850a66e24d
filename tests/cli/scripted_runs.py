"""Runs of the command line with a scripted model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alita_tui.events import Usage
from alita_tui.llm.scripted import Rule, Script, ScriptReply, ScriptRequest
from tests.support.servers.openai_server import OpenAIServer


def act(name: str, **arguments: Any) -> ScriptReply:
    usage = Usage(input_tokens=2000, output_tokens=40, cached_tokens=1500)
    return ScriptReply(requests=(ScriptRequest(name=name, arguments=arguments),), usage=usage)


SCRIPT = Script(
    format="alita-script/1",
    name="two steps",
    rules=(
        Rule(
            role="orchestrator",
            match="TASK: ",
            replies=(act("find_tool", query="a thing"), act("answer", text="there is none")),
        ),
    ),
)


def settle(home: Path, servers: tuple[OpenAIServer, OpenAIServer], budget: str = "") -> None:
    one, two = servers
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(
        f'[roles]\norchestrator = ["custom:one; base_url={one.base_url}", '
        f'"custom:two; base_url={two.base_url}; input_usd=1; output_usd=2"]\n[budget]\n{budget}\n'
    )
