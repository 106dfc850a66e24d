"""What the sessions of one home may share with those of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alita_tui.sandbox.fleet import Fleet
    from alita_tui.store.spend import SpendBook


@dataclass(frozen=True)
class Lent:
    """Parts of another context, which closes them after everything that uses them."""

    sandbox: Fleet
    """Runs already; sessions become its guests."""
    book: SpendBook
    """Where calls are paid."""
