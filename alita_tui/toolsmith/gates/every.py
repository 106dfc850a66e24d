"""The gates that every draft goes through: the one list of them, for the product and for its tests."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from alita_tui.spine.ports.builds import PastCall
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.ports.models import Asker
from alita_tui.spine.ports.sandbox import Limits, Sandbox
from alita_tui.spine.ports.web import FaultBook, PackageIndex
from alita_tui.toolsmith.gates.case import Gate, Workbench
from alita_tui.toolsmith.gates.conditions import OtherConditions
from alita_tui.toolsmith.gates.coverage import Coverage
from alita_tui.toolsmith.gates.declared import Declared
from alita_tui.toolsmith.gates.examples import Examples
from alita_tui.toolsmith.gates.fuzz import Fuzz
from alita_tui.toolsmith.gates.growth import Growth
from alita_tui.toolsmith.gates.hidden import Hidden
from alita_tui.toolsmith.gates.literals import Literals
from alita_tui.toolsmith.gates.mutation import Mutation
from alita_tui.toolsmith.gates.neighbours import Neighbours
from alita_tui.toolsmith.gates.packages import Requirements
from alita_tui.toolsmith.gates.replay import Replayed


class Gates(NamedTuple):
    """Gates in two groups."""

    before: tuple[Gate, ...]
    """Those that a draft passes before anything of it runs."""
    after: tuple[Gate, ...]
    """Those that follow its own tests."""


def every(
    sandbox: Sandbox,
    limits: Limits,
    *,
    asker: Asker,
    index: PackageIndex,
    book: FaultBook,
    shelf: ToolShelf,
    calls: Callable[[str], tuple[PastCall, ...]],
    now: Callable[[], datetime],
) -> Gates:
    """All of them. `asker` writes hidden tests; `calls` gives recorded calls of a tool, the newest first."""
    bench = Workbench(sandbox, limits)
    hidden = Hidden(bench, asker)
    return Gates(
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
