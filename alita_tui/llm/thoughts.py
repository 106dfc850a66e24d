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
        self._held_back = ""
        self._last_released = ""
        """The last character that was released, which may be a quote."""
        self._close = ""
        """The tag that ends the thought; empty outside of one."""

    def take(self, piece: str) -> list[Part]:
        """Return what a piece adds; the possible beginning of a tag is held back."""
        self._held_back += piece
        parts: list[Part] = []
        while part := self._next():
            parts.append(part)
        return [part for part in parts if part[1]]

    def rest(self) -> list[Part]:
        """Return what is held back at the end."""
        remainder, self._held_back = self._held_back, ""
        return [("thinking" if self._close else "text", remainder)] if remainder else []

    def _next(self) -> Part | None:
        if self._close:
            at = self._held_back.find(self._close)
            if at >= 0:
                thought, self._held_back = self._held_back[:at], self._held_back[at + len(self._close) :]
                self._close, self._last_released = "", ""
                return "thinking", thought
            return self._release("thinking", (self._close,))
        searched = self._last_released + self._held_back
        if match := _OPENS.search(searched):
            text = self._held_back[: match.start(1) - len(self._last_released)]
            self._held_back = self._held_back[match.end(1) - len(self._last_released) :]
            self._close = _PAIRS[match[1]]
            return "text", text
        part = self._release("text", tuple(_PAIRS))
        if part is not None:
            self._last_released = part[1][-1]
        return part

    def _release(self, kind: Literal["text", "thinking"], tags: tuple[str, ...]) -> Part | None:
        """Release what is held back except the possible beginning of a tag; None if nothing is left."""
        sizes = range(min(_LONGEST + 2, len(self._held_back)), 0, -1)
        keep = next((n for n in sizes if any(tag.startswith(self._held_back[-n:]) for tag in tags)), 0)
        released, self._held_back = (
            self._held_back[: len(self._held_back) - keep],
            self._held_back[len(self._held_back) - keep :],
        )
        return (kind, released) if released else None


def tidied(text: str) -> tuple[str, str]:
    """Return text and thoughts; a thought whose opening tag the template swallowed ends at its closing tag."""
    thoughts = [thought.strip() for thought in _HARMONY.findall(text)]
    text = _FINAL.sub("", _HARMONY.sub("", text))
    for opens, closes in _PAIRS.items():
        head, tag, tail = text.partition(closes)
        if tag and opens not in head:
            thoughts.append(head.strip())
            text = tail
    return text, "\n".join(filter(None, thoughts))


def raw_call(text: str) -> bool:
    """Return whether the text has a call as the model's own template writes it."""
    return _RAW_CALL.search(text) is not None
