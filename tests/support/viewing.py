"""Views made by hand."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from alita_tui.state.session import SessionState
from alita_tui.view.model import SessionView


def with_(view: SessionView | None = None, **fields: Any) -> SessionView:
    """A view with other fields, those of its state included."""
    view = view or SessionView()
    inner = {name: value for name, value in fields.items() if name in SessionState.__struct_fields__}
    outer = {name: value for name, value in fields.items() if name in SessionView.__struct_fields__}
    return replace(view, state=replace(view.state, **inner), **outer)
