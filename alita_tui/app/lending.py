"""Parts of one home's context that another one uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alita_tui.sandbox.fleet import Fleet
    from alita_tui.store.spend import SpendBook


@dataclass(frozen=True)
class Lent:
    """Parts that another context opened and will close."""

    sandbox: Fleet
    """The running sandbox; sessions become its guests."""
    book: SpendBook
    """The book that calls are paid from."""
