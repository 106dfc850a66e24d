"""Records what pages in a run's browser write to their consoles; the browser's launcher sends it here.

Only requests with JSON are accepted: for those a page needs a preflight request with OPTIONS, which is refused. The
tool's code could send such a request, so its content is recorded as the words of a page, which nobody trusts.
"""

from __future__ import annotations

from typing import cast, get_args

import h11

from alita_tui.events import CallId, PageLevel, PageLogged
from alita_tui.sandbox.broker.grants import Entry, Refused, RunGrants
from alita_tui.sandbox.broker.http import HttpConnection
from alita_tui.sandbox.channel import parse
from alita_tui.spine.grants import PAGE, HostGrant
from alita_tui.spine.text import one_line

_MOST_BYTES = 256 << 10
"""Of one request."""
_MOST_CHARS = 1000
"""Of one message."""
_MOST_COUNTED = 1_000_000_000
_LEVELS = frozenset(get_args(PageLevel))


def is_from_launcher(request: h11.Request, grants: RunGrants, tls_host: HostGrant | None) -> bool:
    """Return whether the launcher of a granted browser sends what pages wrote."""
    if tls_host is not None or not grants.capabilities.browser or request.method != b"POST":
        return False
    content_types = [value for name, value in request.headers if name.lower() == b"content-type"]
    return request.target == PAGE.encode() and content_types == [b"application/json"]


async def record_messages(connection: HttpConnection, grants: RunGrants, entry: Entry) -> None:
    """Record the messages of one request. Raise Refused, and AlitaError where they cannot be recorded."""
    try:
        messages = parse(await connection.whole_body(_MOST_BYTES))
    except ValueError as error:
        raise Refused(400, f"the body is no JSON: {error}") from error
    if not isinstance(messages, list):
        raise Refused(400, "the body is a list of messages")
    for message in messages:
        if isinstance(message, dict):
            await grants.record_message(_message(grants, message))
    entry.status = 200
    await connection.respond(200, b"", "text/plain")


def _message(grants: RunGrants, message: dict[str, object]) -> PageLogged:
    level, count = message.get("level"), message.get("more")
    return PageLogged(
        call_id=CallId(grants.run_id),
        level=cast(PageLevel, level) if level in _LEVELS else "info",
        text=str(one_line(str(message.get("text", ""))[: 4 * _MOST_CHARS], _MOST_CHARS)),
        source=str(one_line(str(message.get("source", ""))[:2000], 300)),
        more=min(max(count, 0), _MOST_COUNTED)
        if isinstance(count, int) and not isinstance(count, bool)
        else 0,
    )
