"""Providers as data: protocol, address, where the key is, a model to begin with."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Literal

from alita_tui.spine.errors import ConfigError
from alita_tui.spine.text import one_line
from alita_tui.spine.values import Value


class Preset(Value, frozen=True):
    """One provider."""

    name: str
    label: str
    protocol: Literal["anthropic", "openai"]
    base_url: str
    """Empty where the person has to say."""
    key_name: str
    """Environment variable of the key, and its name in `.env` and keyring."""
    needs_key: bool = True
    """False for servers of one's own, which may still ask for one."""
    tools: Literal["native", "auto"] = "native"
    """`auto`: whether a model calls tools is found out by its first reply."""
    model: str = ""
    """A sensible model to begin with; empty where the person has to say."""


PRESETS: tuple[Preset, ...] = (
    Preset(name="anthropic", label="Anthropic", protocol="anthropic", base_url="https://api.anthropic.com",
           key_name="ANTHROPIC_API_KEY", model="claude-sonnet-5-5"),
    Preset(name="openai", label="OpenAI", protocol="openai", base_url="https://api.openai.com/v1",
           key_name="OPENAI_API_KEY", model="gpt-5.4-mini"),
    Preset(name="ollama", label="Ollama (local)", protocol="openai", base_url="http://127.0.0.1:11434/v1",
           key_name="OLLAMA_API_KEY", needs_key=False, tools="auto"),
    Preset(name="llama.cpp", label="llama.cpp server (local)", protocol="openai",
           base_url="http://127.0.0.1:8080/v1", key_name="LLAMA_API_KEY", needs_key=False, tools="auto"),
    Preset(name="vllm", label="vLLM (local)", protocol="openai", base_url="http://127.0.0.1:8000/v1",
           key_name="VLLM_API_KEY", needs_key=False, tools="auto"),
    Preset(name="lmstudio", label="LM Studio (local)", protocol="openai", base_url="http://127.0.0.1:1234/v1",
           key_name="LM_API_TOKEN", needs_key=False, tools="auto"),
    Preset(name="groq", label="Groq", protocol="openai", base_url="https://api.groq.com/openai/v1",
           key_name="GROQ_API_KEY", model="openai/gpt-oss-120b"),
    Preset(name="mistral", label="Mistral", protocol="openai", base_url="https://api.mistral.ai/v1",
           key_name="MISTRAL_API_KEY", model="mistral-medium-latest"),
    Preset(name="deepseek", label="DeepSeek", protocol="openai", base_url="https://api.deepseek.com/v1",
           key_name="DEEPSEEK_API_KEY", model="deepseek-chat"),
    Preset(name="gemini", label="Google Gemini", protocol="openai",
           base_url="https://generativelanguage.googleapis.com/v1beta/openai", key_name="GEMINI_API_KEY",
           model="gemini-3.5-flash"),
    Preset(name="openrouter", label="OpenRouter", protocol="openai", base_url="https://openrouter.ai/api/v1",
           key_name="OPENROUTER_API_KEY", tools="auto"),
    Preset(name="custom", label="Any OpenAI-compatible server", protocol="openai", base_url="",
           key_name="LLM_API_KEY", needs_key=False, tools="auto"),
)  # fmt: skip


def preset(name: str) -> Preset:
    """A provider by its name. Raises ConfigError that lists the names."""
    for one in PRESETS:
        if one.name == name:
            return one
    names = [one.name for one in PRESETS]
    near = get_close_matches(name, names, 1)
    raise ConfigError(
        f"There is no provider {one_line(name, 60)!r}.",
        hint=f"Did you mean {near[0]}?" if near else f"The providers are {', '.join(names)}.",
    )
