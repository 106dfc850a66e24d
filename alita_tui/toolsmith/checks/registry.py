"""The one list of checks that every draft goes through."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from alita_tui.spine.ports.builds import PastCall
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.ports.models import Asker
from alita_tui.spine.ports.sandbox import Limits, Sandbox
from alita_tui.spine.ports.web import FaultBook, PackageIndex
from alita_tui.toolsmith.checks.case import Check, Workbench
from alita_tui.toolsmith.checks.conditions import OtherConditions
from alita_tui.toolsmith.checks.coverage import Coverage
from alita_tui.toolsmith.checks.declared import Declared
from alita_tui.toolsmith.checks.examples import Examples
from alita_tui.toolsmith.checks.fuzz import Fuzz
from alita_tui.toolsmith.checks.growth import Growth
from alita_tui.toolsmith.checks.hidden import Hidden
from alita_tui.toolsmith.checks.literals import Literals
from alita_tui.toolsmith.checks.mutation import Mutation
from alita_tui.toolsmith.checks.neighbours import Neighbours
from alita_tui.toolsmith.checks.packages import Requirements
from alita_tui.toolsmith.checks.replay import Replayed


class Checks(NamedTuple):
    """Checks in two groups."""

    before: tuple[Check, ...]
    """Must pass before any code of the draft runs."""
    after: tuple[Check, ...]
    """Follow the draft's own tests."""


def all_checks(
    sandbox: Sandbox,
    limits: Limits,
    *,
    asker: Asker,
    index: PackageIndex,
    book: FaultBook,
    shelf: ToolShelf,
    calls: Callable[[str], tuple[PastCall, ...]],
    now: Callable[[], datetime],
) -> Checks:
    """Return all checks. `asker` writes hidden tests; `calls` returns recorded calls of a tool, newest first."""
    bench = Workbench(sandbox, limits)
    hidden = Hidden(bench, asker)
    return Checks(
        before=(Requirements(index, book, now),),
        after=(
            Examples(bench),
            Declared(bench),
            Literals(),
            Mutation(bench),
            OtherConditions(bench, now),
            Fuzz(bench),
            Growth(bench),
            Coverage(bench, hidden),
            hidden,
            Neighbours(bench, shelf),
            Replayed(bench, calls),
        ),
    )
