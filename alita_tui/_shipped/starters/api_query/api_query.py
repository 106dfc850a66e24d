# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Ask an HTTP API whose host was granted at approval, and read its answer as JSON or text."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.parse
import urllib.request

_MOST = 400_000
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


def run(
    url: str,
    method: str = "GET",
    query: dict[str, object] | None = None,
    headers: dict[str, str] | None = None,
    body: object = None,
    secret: str = "",
) -> dict[str, object]:
    """The answer's status, headers, and content: `json` where it is JSON, else `text`, cut where it is long.

    `body` is sent as JSON. `secret` names a granted secret that is sent as a bearer token. An answer
    of an error is an answer too. Raises ValueError for bad input or a host that is not granted.
    """
    method = method.upper()
    if method not in _METHODS:
        raise ValueError(f"method has to be one of {', '.join(_METHODS)}")
    request = urllib.request.Request(_address(url, query or {}), method=method)
    for name, value in {"Accept": "application/json", **(headers or {})}.items():
        request.add_header(name, value)
    if secret:
        request.add_header("Authorization", f"Bearer {_token(secret)}")
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request) as answer:
            return _read(answer.status, dict(answer.headers), answer.read(_MOST + 1))
    except urllib.error.HTTPError as error:
        content = error.read(_MOST + 1)
        if content.startswith(b"alita: "):
            raise ValueError(content.decode("utf-8", "replace").strip()) from error
        return _read(error.code, dict(error.headers), content)
    except (urllib.error.URLError, OSError) as error:
        raise ValueError(f"{url} cannot be asked: {getattr(error, 'reason', error)}") from error


def _address(url: str, query: dict[str, object]) -> str:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("url has to be a whole http:// or https:// address")
    given = urllib.parse.parse_qsl(parts.query, keep_blank_values=True)
    asked = urllib.parse.urlencode([*given, *query.items()], doseq=True)
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc, parts.path or "/", asked, ""))


def _token(name: str) -> str:
    """In alita a stand-in that becomes the secret on its way to the host; elsewhere the secret itself."""
    if name not in os.environ:
        raise ValueError(f"the secret {name} is not granted")
    return os.environ[name]


def _read(status: int, headers: dict[str, str], content: bytes) -> dict[str, object]:
    kept = {name.lower(): value for name, value in headers.items()}
    found: dict[str, object] = {"status": status, "headers": kept, "truncated": len(content) > _MOST}
    text = content[:_MOST].decode("utf-8", "replace")
    try:
        found["json"] = json.loads(text)
    except (ValueError, RecursionError):
        found["text"] = text
    return found


if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(run(**json.load(sys.stdin))))
