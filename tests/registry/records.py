"""A record of a tool."""

from __future__ import annotations

from alita_tui.events import (
    ToolRecord,
)
from tests.support import streams

RECORD = ToolRecord(
    draft=streams.DRAFT,
    version=3,
    digest=streams.DIGEST,
    state="trusted",
    lock=streams.LOCK,
    approval_id="p1",
)
