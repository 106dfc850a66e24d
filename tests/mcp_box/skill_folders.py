"""Skills laid out in folders."""

from __future__ import annotations

from pathlib import Path


def front(
    name: str = "pdf-tools", description: str = "Fill PDF forms.", more: str = "", body: str = "# Steps"
) -> str:
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n{body}\n"


Files = dict[str, str | bytes]


def laid(top: Path, files: Files, name: str = "pdf-tools") -> Path:
    folder = top / name
    for path, data in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data.encode() if isinstance(data, str) else data)
    return folder
