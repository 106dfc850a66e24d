"""Runs `web.extraction` on one page in its own process; its output up to a limit is used."""

from __future__ import annotations

import json
from typing import Any, Literal

from alita_tui.confined.run import filtered

Kind = Literal["article", "soup", "pdf", "results"]


async def parsed(
    kind: Kind, body: bytes, charset: str = "", url: str = "", *, room: int = 1_000_000
) -> tuple[list[dict[str, Any]], bool]:
    """Return the filter's output lines, and whether it finished; `room` is in characters."""
    output, ended = await filtered("alita_tui.web.extraction", (kind, str(room), charset, url), body)
    return [json.loads(line) for line in output.split(b"\n")[:-1]], ended
