# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Fetch an address of a granted host and leave what comes as a file."""

from __future__ import annotations

import hashlib
import re
import urllib.error
import urllib.parse
import urllib.request

_MOST = 20_000_000
_PIECE = 65_536


def run(url: str, save_as: str = "", sha256: str = "") -> dict[str, object]:
    """Leaves the file and returns its name, size, kind and SHA-256.

    Without `save_as` it gets the last name of the address. With `sha256` a file with another one is refused.
    Raises ValueError for a host that is not granted, an answer that is an error, and more than 20 MB.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("url has to be a whole http:// or https:// address")
    name = save_as or _last(parts.path)
    if not re.fullmatch(r"[\w][\w .()+-]{0,99}", name):
        raise ValueError(f"{name!r} is no plain file name; give another one as save_as")
    try:
        with urllib.request.urlopen(urllib.request.Request(url)) as answer:
            kind = answer.headers.get_content_type()
            data = _all(answer)
    except urllib.error.HTTPError as error:
        said = error.read(2000)
        told = (
            said.decode("utf-8", "replace").strip() if said.startswith(b"alita: ") else f"HTTP {error.code}"
        )
        raise ValueError(f"{url} was not fetched: {told}") from error
    except (urllib.error.URLError, OSError) as error:
        raise ValueError(f"{url} was not fetched: {getattr(error, 'reason', error)}") from error
    digest = hashlib.sha256(data).hexdigest()
    if sha256 and digest != sha256.lower():
        raise ValueError(f"the file has the SHA-256 {digest}, and not the one that was asked for")
    with open(name, "wb") as file:
        file.write(data)
    return {"file": name, "bytes": len(data), "kind": kind, "sha256": digest}


def _last(path: str) -> str:
    return urllib.parse.unquote(path.rsplit("/", 1)[-1]) or "download"


def _all(answer: object) -> bytes:
    pieces = []
    size = 0
    while piece := answer.read(_PIECE):  # type: ignore[attr-defined]
        size += len(piece)
        if size > _MOST:
            raise ValueError(f"the file has more than {_MOST:,} bytes")
        pieces.append(piece)
    return b"".join(pieces)


if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(run(**json.load(sys.stdin))))
