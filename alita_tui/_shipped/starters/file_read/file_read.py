# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Read a file of the workspace, or list its files."""

from __future__ import annotations

import base64
import os
import urllib.error
import urllib.parse
import urllib.request


def run(path: str = "", start: int = 0, limit: int = 100_000) -> dict[str, object]:
    """The text of a file from character `start` on, at most `limit`; without a path, the names of all files.

    What is no UTF-8 text comes as base64. Raises ValueError for a file that is not there or not granted.
    """
    if not path:
        return {"files": _names()}
    if start < 0 or limit < 1:
        raise ValueError("start has to be 0 or more, and limit 1 or more")
    data = _read(path)
    try:
        text, encoding = data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        text, encoding = base64.b64encode(data).decode("ascii"), "base64"
    piece = text[start : start + limit]
    more = start + len(piece) < len(text)
    return {"path": path, "encoding": encoding, "bytes": len(data), "text": piece, "more": more}


def _read(path: str) -> bytes:
    broker = os.environ.get("ALITA_BROKER", "")
    if not broker:  # outside of alita: a file of the current folder
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    return _ask(f"{broker}/files/{urllib.parse.quote(path)}")


def _names() -> list[str]:
    broker = os.environ.get("ALITA_BROKER", "")
    if not broker:
        return sorted(entry.name for entry in os.scandir() if entry.is_file() and entry.name[0] != ".")
    import json

    return list(json.loads(_ask(f"{broker}/files/")))


def _ask(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        raise ValueError(error.read().decode("utf-8", "replace").strip()) from error


if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(run(**json.load(sys.stdin))))
