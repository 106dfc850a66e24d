# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Write a text file of the workspace, or add to one."""

from __future__ import annotations

import os
import urllib.error
import urllib.parse
import urllib.request


def run(path: str, text: str, append: bool = False) -> dict[str, object]:
    """Make or replace a file; with `append`, add the text to its end. How many bytes it has then.

    Raises ValueError for a path that cannot be written, or is not granted.
    """
    if not path.strip():
        raise ValueError("the path is empty")
    before = _read(path) if append else b""
    data = before + text.encode("utf-8", "replace")
    _write(path, data)
    return {"path": path, "bytes": len(data)}


def _read(path: str) -> bytes:
    """What is there already; nothing where there is no file yet."""
    broker = os.environ.get("ALITA_BROKER", "")
    if not broker:  # outside of alita: a file of the current folder
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    try:
        return _ask("GET", broker, path, None)
    except FileNotFoundError:
        return b""


def _write(path: str, data: bytes) -> None:
    broker = os.environ.get("ALITA_BROKER", "")
    if broker:
        _ask("PUT", broker, path, data)
        return
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}") from error


def _ask(method: str, broker: str, path: str, data: bytes | None) -> bytes:
    url = f"{broker}/files/{urllib.parse.quote(path)}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=data, method=method)) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        said = error.read().decode("utf-8", "replace").strip()
        if error.code == 404:
            raise FileNotFoundError(said) from error
        raise ValueError(said) from error


if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(run(**json.load(sys.stdin))))
