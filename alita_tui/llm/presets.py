"""Providers as data: protocol, address, where the key is, a model to begin with."""

from __future__ import annotations

from typing import Literal

from alita_tui.spine.errors import ConfigError
from alita_tui.spine.values import Value


class Preset(Value, frozen=True):
    """One provider."""

    name: str
    label: str
    protocol: Literal["anthropic", "openai"]
    base_url: str
    key_name: str = ""
    """Environment variable of the key; empty when none is needed."""
    model: str = ""
    """A sensible model to begin with; empty where the person has to say."""


PRESETS: tuple[Preset, ...] = (
    Preset(name="anthropic", label="Anthropic", protocol="anthropic", base_url="https://api.anthropic.com",
           key_name="ANTHROPIC_API_KEY", model="claude-sonnet-4-5"),
    Preset(name="openai", label="OpenAI", protocol="openai", base_url="https://api.openai.com/v1",
           key_name="OPENAI_API_KEY", model="gpt-5-mini"),
    Preset(name="ollama", label="Ollama (local)", protocol="openai", base_url="http://127.0.0.1:11434/v1"),
    Preset(name="llama.cpp", label="llama.cpp server (local)", protocol="openai",
           base_url="http://127.0.0.1:8080/v1"),
    Preset(name="vllm", label="vLLM (local)", protocol="openai", base_url="http://127.0.0.1:8000/v1"),
    Preset(name="lmstudio", label="LM Studio (local)", protocol="openai", base_url="http://127.0.0.1:1234/v1"),
    Preset(name="groq", label="Groq", protocol="openai", base_url="https://api.groq.com/openai/v1",
           key_name="GROQ_API_KEY"),
    Preset(name="mistral", label="Mistral", protocol="openai", base_url="https://api.mistral.ai/v1",
           key_name="MISTRAL_API_KEY", model="mistral-large-latest"),
    Preset(name="deepseek", label="DeepSeek", protocol="openai", base_url="https://api.deepseek.com/v1",
           key_name="DEEPSEEK_API_KEY", model="deepseek-chat"),
    Preset(name="gemini", label="Google Gemini", protocol="openai",
           base_url="https://generativelanguage.googleapis.com/v1beta/openai", key_name="GEMINI_API_KEY"),
    Preset(name="openrouter", label="OpenRouter", protocol="openai", base_url="https://openrouter.ai/api/v1",
           key_name="OPENROUTER_API_KEY"),
    Preset(name="custom", label="Any OpenAI-compatible server", protocol="openai", base_url="",
           key_name="ALITA_API_KEY"),
)  # fmt: skip


def preset(name: str) -> Preset:
    """A provider by its name. Raises ConfigError that lists the names."""
    for one in PRESETS:
        if one.name == name:
            return one
    raise ConfigError(
        f"There is no provider {name!r}.", hint=f"The providers are {', '.join(p.name for p in PRESETS)}."
    )
