"""MCP results as JSON: text, structured content, pictures, and links to files that a run left."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from alita_tui.artefacts.media import is_text
from alita_tui.events import Artefact, Json, ToolRecord
from alita_tui.mcp_box.serve.descriptors import structured
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.serving import Answer
from alita_tui.spine.text import clip, neutralise, one_line

_LONGEST_TEXT = 64_000
"""Most characters of a result that are repeated as text; the structured content is complete."""
_LARGEST_PICTURE = 1 << 20
_MOST_PICTURES = 4
LARGEST_READ = 8 << 20
"""Largest file that is sent in one answer, in bytes."""
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_URI = re.compile(r"alita://artefact/([0-9a-f]{64})(?:/[^\x00-\x20]*)?")
PREFIX = "alita://artefact/"


def uri_of(file: Artefact) -> str:
    """Return a file's address: the digest identifies it, the name is for people."""
    return f"{PREFIX}{file.digest}/{quote(file.name, safe='')}"


def digest_in(uri: str) -> str | None:
    """Return the digest in an address; None for any other text. No part of the address is used as a path."""
    match = _URI.fullmatch(uri)
    return match[1] if match else None


def link(file: Artefact) -> dict[str, Any]:
    """Return a file as a resource."""
    return {"uri": uri_of(file), "name": file.name, "mimeType": file.media_type, "size": file.size}


def text(words: str) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": words}


def failed(message: str, hint: str = "") -> dict[str, Any]:
    """Return an error as a result, so that a model can act on it."""
    return {"content": [text(str(neutralise(f"{message} {hint}".strip())))], "isError": True}


def plain(value: Json) -> dict[str, Any]:
    """Return the result of one of alita's own tools."""
    return {"content": [text(msgspec.json.encode(value).decode())], "structuredContent": value}


def answered(
    record: ToolRecord, answer: Answer, pictures: list[tuple[Artefact, Path]], redacted: Callable[[str], str]
) -> dict[str, Any]:
    """Return the result of a call. A result that does not match its schema is an error, as clients check it.

    A picture with a secret in its bytes is left out.
    """
    content: list[dict[str, Any]] = []
    if answer.failed:
        content += failed(answer.failed, answer.hint)["content"]
    if answer.result is not None or not (answer.failed or answer.files):
        content.append(text(_as_text(answer.result)))
    content += [block for file, path in pictures if (block := _picture(file, path, redacted))]
    content += [{"type": "resource_link", **link(file)} for file in answer.files]
    if answer.failed:
        return {"content": content, "isError": True}
    data = structured(record, answer.result)
    return {"content": content} if data is None else {"content": content, "structuredContent": data}


def to_show(files: tuple[Artefact, ...]) -> tuple[Artefact, ...]:
    """Return the pictures that are sent with an answer: the first few that are not too large."""
    pictures = (file for file in files if file.media_type in _PICTURES and file.size <= _LARGEST_PICTURE)
    return tuple(pictures)[:_MOST_PICTURES]


def content_of(file: Artefact, path: Path, redacted: Callable[[str], str]) -> dict[str, Any]:
    """Return a file's content: text as text without secrets, anything else in base64. Blocks on the disk.

    Raises UsageError if other bytes hold a secret, because it cannot be removed from them. Archives are not
    searched.
    """
    raw, head = path.read_bytes(), {"uri": uri_of(file), "mimeType": file.media_type}
    if is_text(file.media_type):
        try:
            return {**head, "text": redacted(raw.decode("utf-8-sig"))}
        except UnicodeDecodeError:
            pass
    if _holds_secret(raw, redacted):
        raise UsageError(
            f"{one_line(file.name, 80)} holds a secret and is not handed on.",
            hint="The person can look at it: alita artefacts list",
        )
    return {**head, "blob": b64encode(raw).decode()}


def _picture(file: Artefact, path: Path, redacted: Callable[[str], str]) -> dict[str, Any] | None:
    raw = path.read_bytes()
    if _holds_secret(raw, redacted):
        return None
    return {"type": "image", "data": b64encode(raw).decode(), "mimeType": file.media_type}


def _holds_secret(raw: bytes, redacted: Callable[[str], str]) -> bool:
    """Return True if bytes hold a secret in UTF-8, UTF-16 or UTF-32."""
    letters = (raw.decode("latin-1"), raw.replace(b"\0", b"").decode("latin-1"))
    return any(redacted(text) != text for text in letters)


def _as_text(result: Json) -> str:
    """Return a result as text without terminal control sequences; the structured content is unchanged."""
    words = result if isinstance(result, str) else msgspec.json.encode(result).decode("utf-8", "replace")
    return str(neutralise(clip(words, _LONGEST_TEXT)[0]))
