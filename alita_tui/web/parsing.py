"""Runs `web.extraction` on one page in a process of its own, and keeps what it read before it met a limit."""

from __future__ import annotations

import json
from typing import Any, Literal

from alita_tui.confined.run import filtered

Kind = Literal["article", "soup", "pdf", "results"]


async def parsed(
    kind: Kind, body: bytes, charset: str = "", url: str = "", *, room: int = 1_000_000
) -> tuple[list[dict[str, Any]], bool]:
    """Return what the filter said, line by line, and whether it came to its end; `room` is in characters."""
    said, ended = await filtered("alita_tui.web.extraction", (kind, str(room), charset, url), body)
    return [json.loads(line) for line in said.split(b"\n")[:-1]], ended
