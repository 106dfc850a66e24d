"""Opens a model from its description, and probes it with one real call."""

from __future__ import annotations

import time
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol
from urllib.parse import urlsplit

from alita_tui.events import ModelErrorKind, Value
from alita_tui.llm.presets import Preset, preset
from alita_tui.llm.prices import OwnPrice
from alita_tui.llm.scripted import ScriptedModel, load_script
from alita_tui.spine.errors import ConfigError, ModelError
from alita_tui.spine.ports.models import Delta, Message, Model, ModelRequest, Reply, ToolSpec

if TYPE_CHECKING:
    from alita_tui.llm.embedding import EmbeddingModel
    from alita_tui.llm.remote import RemoteModel

_RECORDINGS = ("demo", "scripted")


class ModelSpec(Value, frozen=True):
    """Which model, where, with what key."""

    provider: str
    model: str = ""
    """The model's name; empty for the preset's, if it has one."""
    base_url: str = ""
    """Empty: the provider's own."""
    api_key: str = ""
    timeout: float = 120.0
    """Longest silence in seconds."""
    script: str = ""
    """Path of the recording, for the providers `demo` and `scripted`."""
    tools: Literal["", "native", "text"] = ""
    """How it calls tools; empty: as the preset says."""
    vision: bool = False
    """Whether it reads images."""
    own_price: OwnPrice | None = None
    """Goes before the price table."""
    delay: float = 0.012
    """Seconds between the pieces of a recording."""

    def __repr__(self) -> str:
        return f"ModelSpec({self.provider}:{self.model})"


class OpenedModel(Model, Protocol):
    """A model that can be prepared and has to be closed."""

    async def warm(self) -> None:
        """Import what the first call needs, in a thread. Raise ModelError."""

    async def aclose(self) -> None:
        """Close the connections."""


class ProbeResult(Value, frozen=True):
    """What one small real call showed."""

    ok: bool
    """True when a reply came and it called the tool, natively or in text."""
    streams: bool = False
    calls_tools: bool = False
    reports_usage: bool = False
    has_price: bool = False
    first_piece_ms: float = 0.0
    total_ms: float = 0.0
    tokens_per_second: float = 0.0
    """Written tokens by the time since the first piece; 0 when unknown."""
    error: ModelErrorKind | None = None
    text: str = ""
    """What went wrong, or what the model lacks."""
    hint: str = ""


def open_model(spec: ModelSpec) -> OpenedModel:
    """Return the model; nothing is imported or connected before its first call. Raise ConfigError."""
    if spec.provider in _RECORDINGS:
        if not spec.script:
            raise ConfigError("There is no recording to play.", hint="Choose a model with `alita setup`.")
        return ScriptedModel(load_script(Path(spec.script)), delay=spec.delay)
    chosen = preset(spec.provider)
    if not (spec.model or chosen.model):
        raise ConfigError(
            f"No model is named for {spec.provider}.", hint="Set one: `alita config set model.name NAME`."
        )
    tools = spec.tools or chosen.tools
    model = _remote(spec, chosen)
    if tools == "native":
        return model
    from alita_tui.llm.text_tools import TextToolsModel

    return TextToolsModel(model, tools)


async def offered(spec: ModelSpec) -> tuple[str, ...]:
    """Return the sorted models that a provider's server lists; none without a list. Raise ConfigError, ModelError."""
    if spec.provider in _RECORDINGS:
        return ()
    server = _remote(spec, preset(spec.provider))
    try:
        return await server.offered()
    finally:
        await server.aclose()


def open_embedding(spec: ModelSpec) -> EmbeddingModel:
    """Return an embedding model; nothing is imported or connected before its first call. Raise ConfigError."""
    from alita_tui.llm.embedding import EmbeddingModel

    chosen = preset(spec.provider)
    if chosen.protocol != "openai":
        raise ConfigError(
            f"{spec.provider} makes no vectors.", hint="Set library.encoder to a model of another provider."
        )
    base_url = (spec.base_url or chosen.base_url).rstrip("/")
    _check(spec, chosen, base_url)
    return EmbeddingModel(
        spec.provider,
        spec.model,
        api_key=spec.api_key,
        base_url=base_url,
        timeout=spec.timeout,
        own_price=spec.own_price,
    )


def _remote(spec: ModelSpec, chosen: Preset) -> RemoteModel:
    base_url = (spec.base_url or chosen.base_url).rstrip("/")
    _check(spec, chosen, base_url)
    if chosen.protocol == "anthropic":
        base_url = base_url.removesuffix("/v1")  # which the SDK adds itself
    return _adapter(chosen)(
        spec.provider,
        spec.model or chosen.model,
        api_key=spec.api_key,
        base_url=base_url,
        timeout=spec.timeout,
        own_price=spec.own_price,
        vision=spec.vision,
    )


async def preload(provider: str) -> None:
    """Import in a thread what the provider's first call needs, so that it does not block the screen.

    Raise ConfigError for an unknown provider, ImportError when its SDK is missing.
    """
    if provider and provider not in _RECORDINGS:
        await _adapter(preset(provider)).preload()


def _adapter(chosen: Preset) -> type[RemoteModel]:
    if chosen.protocol == "anthropic":
        from alita_tui.llm.anthropic_model import AnthropicModel

        return AnthropicModel
    from alita_tui.llm.openai_model import OpenAIModel

    return OpenAIModel


def _check(spec: ModelSpec, chosen: Preset, base_url: str) -> None:
    if not base_url:
        raise ConfigError(
            f"{spec.provider} needs a base URL.", hint="Set one: `alita config set model.base_url URL`."
        )
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(
            f"The base URL of {spec.provider} is not an address of a server.",
            hint="Write it like http://127.0.0.1:11434/v1.",
        )
    if chosen.needs_key and not spec.api_key:
        raise ConfigError(
            f"There is no key for {spec.provider}.", hint=f"Set {chosen.key_name}, or run `alita setup`."
        )


async def probe(model: Model, *, again: bool = False) -> ProbeResult:
    """Make one small call and say what works. Never raises ModelError: it is the result.

    A model that turns out to call no tools of its own is asked once more, in text.
    """
    if model.recorded:
        return ProbeResult(ok=True, streams=True, calls_tools=True, text="A recording: no model is asked.")
    started = time.monotonic()
    first, reply = 0.0, None
    try:
        async with aclosing(model.reply(_PING)) as pieces:  # type: ignore[type-var]  # async generators
            async for piece in pieces:
                if isinstance(piece, Delta):
                    first = first or (time.monotonic() - started) * 1000
                else:
                    reply = piece
    except ModelError as error:
        if error.kind == "no_tools" and not again:
            return await probe(model, again=True)
        return ProbeResult(ok=False, error=error.kind, text=error.message, hint=error.hint)
    return _result(model, reply or Reply(model=model.name), first, (time.monotonic() - started) * 1000)


def _result(model: Model, reply: Reply, first_ms: float, total_ms: float) -> ProbeResult:
    from alita_tui.llm.text_tools import TextToolsModel

    in_text = isinstance(model, TextToolsModel) and model.in_text
    writing = (total_ms - first_ms) / 1000
    calls = any(call.name == "ping" and not call.problem for call in reply.requests)
    return ProbeResult(
        ok=calls,
        streams=first_ms > 0,
        calls_tools=calls and not in_text,
        reports_usage=reply.usage.reported,
        has_price=model.price(reply.usage) is not None,
        first_piece_ms=first_ms,
        total_ms=total_ms,
        tokens_per_second=reply.usage.output_tokens / writing if first_ms and writing > 0 else 0.0,
        text=_IN_TEXT
        if calls and in_text
        else ""
        if calls
        else f"{model.name} answers, but did not call the tool it was told to call.",
        hint="" if calls else "Choose a model that can call tools.",
    )


_IN_TEXT = "It calls no tools of its own; the text protocol works."
_PING = ModelRequest(
    role="orchestrator",
    system="This is a test of the connection.",
    messages=(Message(role="user", text="Call ping with the word pong."),),
    tools=(
        ToolSpec(
            name="ping",
            description="Answers the test call.",
            parameters={"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
        ),
    ),
    must_call="ping",
    max_tokens=1024,
)
