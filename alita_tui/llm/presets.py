"""Providers as data, one entry each: protocol, address, key, first model, and the vendor's own rules."""

from __future__ import annotations

from typing import Literal

from alita_tui.events import Value
from alita_tui.spine.errors import ConfigError
from alita_tui.spine.near_names import did_you_mean
from alita_tui.spine.text import one_line


class Preset(Value, frozen=True):
    """One provider."""

    name: str
    label: str
    protocol: Literal["anthropic", "openai"]
    base_url: str
    """Empty if the person has to set it."""
    key_name: str
    """Environment variable of the key, and its name in `.env` and keyring."""
    needs_key: bool = True
    """False for self-hosted servers, which may still require one."""
    tools: Literal["native", "auto"] = "native"
    """`auto`: whether a model calls tools is found out by its first reply."""
    model: str = ""
    """A sensible default model, which the price table knows; empty if the person has to choose."""
    local: bool = False
    """True for servers on the person's own machine: nothing is paid for their calls."""
    larger: str = ""
    """The setting of a self-hosted server for a larger window."""
    window_path: str = ""
    """Path at which a server of one's own reports the window of a loaded model; see `llm.windows`."""
    price_name: str = ""
    """The provider's name in the price table, if it differs."""

    # The vendor's rules.
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Name of the field for the longest reply."""
    tells_usage: bool = True
    """Whether `stream_options` has to ask for the usage. Mistral sends it unasked, and refuses the field."""
    forces_calls: bool = True
    """Whether `tool_choice` may demand a call. DeepSeek's thinking mode, which is its default, refuses it."""
    short_ids: bool = False
    """Whether ids of calls have nine letters or digits, and no `user` turn follows a `tool` turn (Mistral)."""
    schemas: Literal["full", "plain", "google"] = "plain"
    """Which keywords of JSON Schema it takes; see `llm.schemas`."""
    wants_back: Literal["", "signature", "reasoning", "given"] = ""
    """What a sent-back turn with calls has to contain: Gemini's `thought_signature`, DeepSeek's reasoning, or
    (`given`) the reasoning if the server sent any."""


PRESETS: tuple[Preset, ...] = (
    Preset(name="anthropic", label="Anthropic", protocol="anthropic", base_url="https://api.anthropic.com",
           key_name="ANTHROPIC_API_KEY", model="claude-sonnet-5-5", schemas="full"),
    Preset(name="openai", label="OpenAI", protocol="openai", base_url="https://api.openai.com/v1",
           key_name="OPENAI_API_KEY", model="gpt-5.4-mini", limit="max_completion_tokens", schemas="full"),
    Preset(name="ollama", label="Ollama (local)", protocol="openai", base_url="http://127.0.0.1:11434/v1",
           key_name="OLLAMA_API_KEY", needs_key=False, tools="auto", local=True,
           larger="`OLLAMA_CONTEXT_LENGTH=16384 ollama serve`",
           window_path="/api/ps"),  # docs/api.md; only once the model is loaded
    Preset(name="llama.cpp", label="llama.cpp server (local)", protocol="openai",
           base_url="http://127.0.0.1:8080/v1", key_name="LLAMA_API_KEY", needs_key=False, tools="auto",
           local=True, larger="`llama-server -c 16384`", window_path="/props"),  # tools/server/README.md
    Preset(name="vllm", label="vLLM (local)", protocol="openai", base_url="http://127.0.0.1:8000/v1",
           key_name="VLLM_API_KEY", needs_key=False, tools="auto", local=True,
           larger="`vllm serve --max-model-len 16384`",
           window_path="/v1/models"),  # ModelCard.max_model_len
    Preset(name="lmstudio", label="LM Studio (local)", protocol="openai", base_url="http://127.0.0.1:1234/v1",
           key_name="LM_API_TOKEN", needs_key=False, tools="auto", local=True,
           larger="`lms load --context-length 16384`",
           window_path="/api/v0/models/{model}"),  # lmstudio.ai/docs/developer/rest
    Preset(name="groq", label="Groq", protocol="openai", base_url="https://api.groq.com/openai/v1",
           key_name="GROQ_API_KEY", model="openai/gpt-oss-120b"),
    Preset(name="mistral", label="Mistral", protocol="openai", base_url="https://api.mistral.ai/v1",
           key_name="MISTRAL_API_KEY", model="mistral-medium-latest", tells_usage=False, short_ids=True),
    Preset(name="deepseek", label="DeepSeek", protocol="openai", base_url="https://api.deepseek.com/v1",
           key_name="DEEPSEEK_API_KEY", model="deepseek-flash", forces_calls=False, wants_back="reasoning"),
    Preset(name="gemini", label="Google Gemini", protocol="openai",
           base_url="https://generativelanguage.googleapis.com/v1beta/openai", key_name="GEMINI_API_KEY",
           model="gemini-3.5-flash", schemas="google", wants_back="signature", price_name="google"),
    Preset(name="xai", label="xAI", protocol="openai", base_url="https://api.x.ai/v1",
           key_name="XAI_API_KEY", model="grok-4.7", price_name="x-ai"),
    Preset(name="openrouter", label="OpenRouter", protocol="openai", base_url="https://openrouter.ai/api/v1",
           key_name="OPENROUTER_API_KEY", tools="auto"),
    Preset(name="custom", label="Any OpenAI-compatible server", protocol="openai", base_url="",
           key_name="LLM_API_KEY", needs_key=False, tools="auto", wants_back="given"),
)  # fmt: skip
_BY_NAME = {entry.name: entry for entry in PRESETS}


def rules_of(name: str) -> Preset:
    """Return the provider's preset, or the one for any compatible server if it has none."""
    return _BY_NAME.get(name) or _BY_NAME["custom"]


def preset(name: str) -> Preset:
    """Return a provider by its name. Raise ConfigError that lists the names."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    raise ConfigError(
        f"There is no provider {one_line(name, 60)!r}.",
        hint=did_you_mean(name, _BY_NAME, f"The providers are {', '.join(_BY_NAME)}."),
    )
