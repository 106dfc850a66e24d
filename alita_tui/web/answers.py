"""Checks a server's answer: its status, a rate limit, and whether its JSON is valid."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from alita_tui.spine.errors import WebError
from alita_tui.spine.text import one_line
from alita_tui.web.fetch import Fetched

_WAIT = 60.0
"""Seconds to wait if a server that limits requests does not say how long."""
_LONGEST = 3600.0
_SPENT = (429, 432, 433)
"""Statuses for too many requests; two are Tavily's for a plan that is used up."""


class RateLimited(WebError):
    """The server accepts no requests for `wait` seconds."""

    def __init__(self, message: str, *, wait: float = _WAIT, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.wait = wait


def check_status(answer: Fetched, *, ok: tuple[int, ...] = (200,), hint: str = "") -> None:
    """Raise WebError for any other status, RateLimited with the wait if the server reports a limit."""
    if answer.status in ok:
        return
    host = host_of(answer)
    exhausted = answer.headers.get("x-ratelimit-remaining") == "0"
    if answer.status in _SPENT or (answer.status == 403 and (exhausted or "retry-after" in answer.headers)):
        wait = _wait(answer.headers)
        when = f"Wait {wait:.0f} s." if wait is not None else "Wait a while."
        raise RateLimited(
            f"{host} has had too many requests (HTTP {answer.status}).",
            wait=_WAIT if wait is None else wait,
            hint=f"{when} {hint}".strip(),
        )
    path = one_line(urlsplit(answer.url).path, 120)
    raise WebError(f"{host} answered HTTP {answer.status} for {path or '/'}.", hint=hint)


def _wait(headers: dict[str, str]) -> float | None:
    """Return the seconds to wait by Retry-After (RFC 9110, 10.2.3) or GitHub's reset time."""
    retry_after, reset = headers.get("retry-after", "").strip(), headers.get("x-ratelimit-reset", "").strip()
    now = datetime.now(UTC)
    if retry_after.isascii() and retry_after.isdigit():
        seconds = float(retry_after[:9])
    elif retry_after:
        try:
            until = parsedate_to_datetime(retry_after)
        except (ValueError, OverflowError):
            return None
        seconds = (until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds()
    elif reset.isascii() and reset.isdigit() and len(reset) == 10:  # seconds since 1970
        seconds = int(reset) - now.timestamp()
    else:
        return None
    return min(max(seconds, 0.0), _LONGEST)


def host_of(answer: Fetched) -> str:
    """Return the server's name as it may be shown."""
    return one_line(urlsplit(answer.url).netloc, 80)


def parsed_json(answer: Fetched) -> dict[str, Any]:
    """Return the answer as an object. Raise WebError."""
    try:
        document = json.loads(answer.body.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise _not_understood(answer) from error
    if not isinstance(document, dict):
        raise _not_understood(answer)
    if document.get("error"):
        raise WebError(
            f"{host_of(answer)} answered with an error of its own.", hint="Check its key and plan."
        )
    return document


def objects(value: object, *path: str) -> list[dict[str, Any]]:
    """Return the objects of the list at a path; empty if there is no such list."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text_of(item: dict[str, Any], *path: str) -> str:
    """Return the text at a path; empty if there is none."""
    value: object = item
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def _not_understood(answer: Fetched) -> WebError:
    return WebError(
        f"{host_of(answer)} sent an answer that is not the JSON it documents.", hint="Check its base URL."
    )
