"""Names that no tool may have, because they mean something else already. Pure."""

from __future__ import annotations

import builtins
import keyword
import sys
from typing import get_args

from alita_tui.events import ActionName

ACTION_NAMES: tuple[ActionName, ...] = get_args(ActionName)
"""What the agent can choose to do; `agent.actions` has a type for each."""
STARTER_NAMES = (
    "api_query", "browse", "calculator", "chart", "csv_table", "download", "file_read", "file_write", "image_info",
    "pdf_text", "shell", "sqlite_query", "text_summarizer", "xlsx_read",
)  # fmt: skip
"""The tools that come with alita."""


def reserved(name: str) -> str:
    """Return what already has this name, in words; empty if it is free."""
    if name in ACTION_NAMES:
        return "an action of the agent"
    if name in STARTER_NAMES:
        return "a tool that comes with alita"
    if keyword.iskeyword(name) or keyword.issoftkeyword(name) or hasattr(builtins, name):
        return "a word of Python's own"
    if name in sys.stdlib_module_names:
        return "a module of Python's own"
    return ""
