"""Thoughts and raw tool calls that a server leaves in the text, where neither belongs."""

from __future__ import annotations

import re
from typing import Literal

_PAIRS = {"<think>": "</think>", "<thinking>": "</thinking>", "[THINK]": "[/THINK]"}
"""As DeepSeek's and Qwen's templates, some of Anthropic's imitators, and Mistral's write them."""
_OPENS = re.compile(r"(?<![`'\"])(<think>|<thinking>|\[THINK\])")
"""A quoted tag is only mentioned."""
_RAW_CALL = re.compile(
    r"^[ \t]*(?:<tool_call>|<\|tool_calls?(?:_section)?_begin\|>|<｜tool▁calls?▁begin｜>|<\|tool_call\|?>"
    r"|\[TOOL_CALLS\]|<\|python_tag\|>|<function=\w|<function_calls>|<(?:\w+:)?invoke name=|<minimax:tool_call>"
    r"|<\|channel\|>commentary to=)",
    re.MULTILINE,
)
"""How templates of Hermes and Qwen, Kimi, DeepSeek, Granite, Mistral, Llama, MiniMax and gpt-oss begin a call."""
_HARMONY = re.compile(r"<\|channel\|>analysis<\|message\|>(.*?)<\|end\|>", re.DOTALL)
_FINAL = re.compile(r"(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>|<\|return\|>")
_LONGEST = max(map(len, _PAIRS))

Part = tuple[Literal["text", "thinking"], str]


class Splitter:
    """Separates streamed text into thoughts and text."""

    def __init__(self) -> None:
        self._held = ""
        self._before = ""
        """The last character that was given out, which may be a quote."""
        self._close = ""
        """The tag that ends the thought; empty outside of one."""

    def take(self, piece: str) -> list[Part]:
        """Return what a piece adds; the possible beginning of a tag is held back."""
        self._held += piece
        parts: list[Part] = []
        while part := self._next():
            parts.append(part)
        return [part for part in parts if part[1]]

    def rest(self) -> list[Part]:
        """Return what is held back at the end."""
        held, self._held = self._held, ""
        return [("thinking" if self._close else "text", held)] if held else []

    def _next(self) -> Part | None:
        if self._close:
            at = self._held.find(self._close)
            if at >= 0:
                thought, self._held = self._held[:at], self._held[at + len(self._close) :]
                self._close, self._before = "", ""
                return "thinking", thought
            return self._give("thinking", (self._close,))
        whole = self._before + self._held
        if match := _OPENS.search(whole):
            text = self._held[: match.start(1) - len(self._before)]
            self._held = self._held[match.end(1) - len(self._before) :]
            self._close = _PAIRS[match[1]]
            return "text", text
        part = self._give("text", tuple(_PAIRS))
        if part is not None:
            self._before = part[1][-1]
        return part

    def _give(self, kind: Literal["text", "thinking"], tags: tuple[str, ...]) -> Part | None:
        """Return what is held except the possible beginning of a tag; None if nothing is left."""
        sizes = range(min(_LONGEST + 2, len(self._held)), 0, -1)
        keep = next((n for n in sizes if any(tag.startswith(self._held[-n:]) for tag in tags)), 0)
        given, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        return (kind, given) if given else None


def tidied(text: str) -> tuple[str, str]:
    """Return text and thoughts; a thought whose opening tag the template swallowed ends at its closing tag."""
    thoughts = [thought.strip() for thought in _HARMONY.findall(text)]
    text = _FINAL.sub("", _HARMONY.sub("", text))
    for opens, closes in _PAIRS.items():
        before, tag, after = text.partition(closes)
        if tag and opens not in before:
            thoughts.append(before.strip())
            text = after
    return text, "\n".join(filter(None, thoughts))


def raw_call(text: str) -> bool:
    """Return whether the text has a call as the model's own template writes it."""
    return _RAW_CALL.search(text) is not None
