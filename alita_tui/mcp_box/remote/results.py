"""Turns a remote tool's result (text, structured content, files) into a run's report. Links are not followed."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Any

import msgspec

from alita_tui.events import Json, LeftFile, RunReport
from alita_tui.spine.levels import DEEPEST, levels, too_deep
from alita_tui.spine.ports.sandbox import Limits
from alita_tui.spine.text import one_line

_MOST_FILES = 20
_SUFFIXES = {
    "image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
    "audio/wav": ".wav", "audio/mpeg": ".mp3", "application/pdf": ".pdf", "application/json": ".json",
    "text/plain": ".txt", "text/csv": ".csv", "text/html": ".html", "text/markdown": ".md",
}  # fmt: skip


def report_of(
    raw: dict[str, Any], *, structured: bool, limits: Limits, landing: Path | None, milliseconds: float
) -> RunReport:
    """Return the report of a call; with `structured` its result is the structured content.

    Blocks on the disk: files of the result are written into `landing` under numbers.
    """
    files = _Files(landing, limits)
    blocks = [_block(block, files) for block in raw.get("content") or () if isinstance(block, dict)]
    texts = [block["text"] for block in blocks if set(block) == {"type", "text"}]
    report = RunReport(status="ok", duration_ms=milliseconds, files=tuple(files.files), files_lost=files.lost)
    if raw.get("isError"):
        message = "\n".join(texts) or "the tool failed and said nothing"
        return msgspec.structs.replace(report, status="error", error=message[: limits.output_bytes])
    result: Json
    if structured:
        result = raw.get("structuredContent")
        if result is None:
            problem = "It ran, and gave no structured content although its descriptor promises it."
            return msgspec.structs.replace(report, status="bad_result", error=problem)
    elif raw.get("structuredContent") is not None and not texts:
        result = raw["structuredContent"]
    else:
        result = texts[0] if len(blocks) == 1 and texts else blocks
    if levels(result) > DEEPEST:
        return msgspec.structs.replace(
            report, status="bad_result", error=f"Its result is refused: {too_deep()}."
        )
    if len(msgspec.json.encode(result)) > limits.result_bytes:
        problem = f"The result is larger than {limits.result_bytes >> 10} kB."
        return msgspec.structs.replace(report, status="limit", error=problem, limits_hit=("result",))
    return msgspec.structs.replace(report, result=result)


class _Files:
    """Writes the files of a result to the landing folder."""

    def __init__(self, landing: Path | None, limits: Limits) -> None:
        self._landing = landing
        self._limits = limits
        self._size = 0
        self.files: list[LeftFile] = []
        self.lost = ""

    def keep(self, data: str, media: str) -> str:
        """Write base64 data to a file; return the file's name, or why it is not kept."""
        name = f"result-{len(self.files) + 1}{_SUFFIXES.get(media, '.bin')}"
        if self._landing is None:
            return "not kept"
        too_large = len(data) * 3 // 4 > self._limits.file_bytes
        if too_large or len(self.files) >= _MOST_FILES or self._size > self._limits.scratch_bytes:
            self.lost = "the result holds more or larger files than are accepted"
            return "not kept: too large or too many"
        try:
            raw = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            self.lost = "a file of the result is no base64"
            return "not kept: it cannot be read"
        (self._landing / str(len(self.files))).write_bytes(raw)
        self._size += len(raw)
        self.files.append(LeftFile(name=name, size=len(raw)))
        return name


def _block(block: dict[str, Any], files: _Files) -> dict[str, Any]:
    """Return a content block in which the name of a file replaces its bytes."""
    block_type = str(block.get("type"))
    if block_type == "text":
        return {"type": "text", "text": str(block.get("text", ""))}
    if block_type in ("image", "audio"):
        media = str(block.get("mimeType", ""))
        return {
            "type": block_type,
            "media": one_line(media, 80),
            "file": files.keep(str(block.get("data", "")), media),
        }
    if block_type == "resource_link":
        return {
            "type": block_type,
            "uri": one_line(str(block.get("uri")), 400),
            "name": one_line(str(block.get("name")), 200),
        }
    inner = block.get("resource")
    if block_type == "resource" and isinstance(inner, dict):
        content: dict[str, Any] = {"type": block_type, "uri": one_line(str(inner.get("uri")), 400)}
        if "blob" in inner:
            media = str(inner.get("mimeType", ""))
            return {**content, "file": files.keep(str(inner["blob"]), media)}
        return {**content, "text": str(inner.get("text", ""))}
    return {"type": one_line(block_type, 60)}
