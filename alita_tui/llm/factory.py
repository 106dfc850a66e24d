"""A model from its description, and one real call that says what works."""

from __future__ import annotations

import time
from pathlib import Path

from alita_tui.llm.presets import preset
from alita_tui.llm.scripted import ScriptedModel, load_script
from alita_tui.spine.errors import ConfigError
from alita_tui.spine.ports import Delta, Message, Model, ModelRequest, Reply, ToolSpec
from alita_tui.spine.values import Value


class ModelSpec(Value, frozen=True):
    """Which model, where, with what key."""

    provider: str
    model: str = ""
    base_url: str = ""
    """Empty: the provider's own."""
    api_key: str = ""
    timeout: float = 120.0
    """Seconds without a byte before a call counts as stalled."""
    script: str = ""
    """Path of the recording, for the provider `demo`."""
    delay: float = 0.012
    """Seconds between the words of a recording."""

    def __repr__(self) -> str:
        return f"ModelSpec({self.provider}:{self.model})"


class ProbeResult(Value, frozen=True):
    """What one small real call showed."""

    streams: bool
    calls_tools: bool
    reports_usage: bool
    seconds: float


def open_model(spec: ModelSpec) -> Model:
    """The model; nothing is imported or connected before its first call. Raises ConfigError."""
    if spec.provider == "demo":
        return ScriptedModel(load_script(Path(spec.script)), delay=spec.delay)
    chosen = preset(spec.provider)
    name, base_url = spec.model or chosen.model, spec.base_url or chosen.base_url
    if not name:
        raise ConfigError(
            f"No model is named for {spec.provider}.", hint="Set one: `alita config set model.name NAME`."
        )
    if not base_url:
        raise ConfigError(
            f"{spec.provider} needs a base URL.", hint="Set one: `alita config set model.base_url URL`."
        )
    if chosen.key_name and not spec.api_key and chosen.name != "custom":
        raise ConfigError(
            f"There is no key for {spec.provider}.", hint=f"Set {chosen.key_name}, or run `alita setup`."
        )
    if chosen.protocol == "anthropic":
        from alita_tui.llm.anthropic_model import AnthropicModel

        return AnthropicModel(
            spec.provider, name, api_key=spec.api_key, base_url=base_url, timeout=spec.timeout
        )
    from alita_tui.llm.openai_model import OpenAIModel

    return OpenAIModel(spec.provider, name, api_key=spec.api_key, base_url=base_url, timeout=spec.timeout)


def sdk_of(provider: str) -> str:
    """The module that a provider's first call will import; empty for the recording."""
    return "" if provider in ("", "demo") else preset(provider).protocol


async def probe(model: Model) -> ProbeResult:
    """Make one small call. Raises ModelError."""
    ping = ToolSpec(
        name="ping",
        description="Answer the test call.",
        parameters={"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    )
    request = ModelRequest(
        role="orchestrator",
        system="This is a test of the connection.",
        messages=(Message(role="user", text="Call ping with the word pong."),),
        tools=(ping,),
        must_call="ping",
        max_tokens=256,
    )
    started = time.monotonic()
    pieces, reply = 0, Reply(model=model.name)
    async for piece in model.reply(request):
        if isinstance(piece, Delta):
            pieces += 1
        else:
            reply = piece
    return ProbeResult(
        streams=pieces > 0,
        calls_tools=any(call.name == "ping" and not call.problem for call in reply.requests),
        reports_usage=reply.usage.reported,
        seconds=time.monotonic() - started,
    )
