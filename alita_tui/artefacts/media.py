"""Media type and preview of a file, by its first bytes and its name."""

from __future__ import annotations

import json
from mimetypes import MimeTypes
from pathlib import PurePosixPath
from typing import Any

HEAD_BYTES = 65_536
"""Bytes at a file's beginning that are examined."""
_PREVIEW_LINES = 8
_PREVIEW_LINE = 240
_PREVIEW = 1_200
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PAR1", "application/vnd.apache.parquet"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "application/x-xz"),
)
_TEXTS = (
    "application/json",
    "application/xml",
    "application/x-ndjson",
    "application/toml",
    "application/yaml",
)
_BY_NAME = {
    ".csv": "text/csv", ".tsv": "text/tab-separated-values", ".json": "application/json",
    ".jsonl": "application/x-ndjson", ".ndjson": "application/x-ndjson", ".md": "text/markdown",
    ".toml": "application/toml", ".yaml": "application/yaml", ".yml": "application/yaml", ".py": "text/x-python",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".parquet": "application/vnd.apache.parquet",
}  # fmt: skip
_STANDARD = MimeTypes(filenames=())
"""Without the machine's own tables, which differ."""


def media_type(name: str, head: bytes) -> str:
    """Return the media type of a file by its first bytes, else by its name, else by whether it is text."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    suffix = PurePosixPath(name).suffix.lower()
    by_name = _BY_NAME.get(suffix) or _STANDARD.guess_type("a" + suffix)[0] or ""
    if is_text(by_name) or not by_name:
        return by_name or "text/plain" if _decoded(head) is not None else "application/octet-stream"
    return by_name


def is_text(kind: str) -> bool:
    """Return whether files of this media type are text."""
    return kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+json", "+xml"))


def preview(kind: str, head: bytes) -> str:
    """Return the first lines of a text; empty for everything else."""
    text = _decoded(head) if is_text(kind) else None
    if text is None:
        return ""
    lines = text.splitlines()[:_PREVIEW_LINES]
    return "\n".join(line[:_PREVIEW_LINE] for line in lines)[:_PREVIEW]


def shape(value: Any, depth: int = 3) -> str:
    """Return what a JSON value is made of, such as `{"rows": [1200 × {"a": number, "b": text}]}`."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "number"
        case str():
            return "text" if len(value) <= 80 else f"text of {len(value)} characters"
        case list():
            inner = shape(value[0], depth - 1) if value and depth else "…" if value else ""
            return f"[{len(value)} × {inner}]" if inner else "[]"
        case dict():
            if not depth:
                return "{…}"
            fields = [
                f"{json.dumps(key)}: {shape(inner, depth - 1)}" for key, inner in list(value.items())[:20]
            ]
            rest = [f"… {len(value) - 20} more"] if len(value) > 20 else []
            return "{" + ", ".join((*fields, *rest)) + "}"
        case _:
            return type(value).__name__


def _decoded(head: bytes) -> str | None:
    """Return the bytes as text; None if they are not text."""
    if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return head.decode(encoding)
    except UnicodeDecodeError as error:
        if error.start >= len(head) - 4 and len(head) >= HEAD_BYTES - 4:  # cut within a character
            return head[: error.start].decode(encoding, "replace")
    text = head.decode("latin-1")
    printable = sum(character.isprintable() or character in "\r\n\t" for character in text)
    return text if printable >= 0.95 * len(text) else None
