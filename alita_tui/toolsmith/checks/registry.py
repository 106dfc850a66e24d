"""The one list of checks that every draft goes through."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from alita_tui.spine.ports.builds import FailedCall, PastCall
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.ports.models import Asker
from alita_tui.spine.ports.sandbox import Limits, Sandbox
from alita_tui.spine.ports.web import FaultBook, PackageIndex
from alita_tui.toolsmith.checks.callers import Callers
from alita_tui.toolsmith.checks.capabilities import CapabilitiesCheck
from alita_tui.toolsmith.checks.case import Check
from alita_tui.toolsmith.checks.conditions import ConditionsCheck
from alita_tui.toolsmith.checks.contract import ContractCheck
from alita_tui.toolsmith.checks.coverage import CoverageCheck
from alita_tui.toolsmith.checks.fuzz import FuzzCheck
from alita_tui.toolsmith.checks.growth import GrowthCheck
from alita_tui.toolsmith.checks.hidden import HiddenTestsCheck
from alita_tui.toolsmith.checks.literals import LiteralsCheck
from alita_tui.toolsmith.checks.mutation import MutationCheck
from alita_tui.toolsmith.checks.neighbours import NeighboursCheck
from alita_tui.toolsmith.checks.replay import ReplayCheck
from alita_tui.toolsmith.checks.requirements import RequirementsCheck
from alita_tui.toolsmith.checks.workbench import Workbench


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
    failures: Callable[[str], tuple[FailedCall, ...]] = lambda _: (),
    accepted: Callable[[], str] = lambda: "",
) -> Checks:
    """Return all checks. `asker` writes hidden tests; `calls` and `failures` return a tool's recorded calls.

    `accepted` returns the tool that a person approved in this session though no fault database answered.
    """
    bench = Workbench(sandbox, limits)
    hidden = HiddenTestsCheck(bench, asker)
    return Checks(
        before=(RequirementsCheck(index, book, now, accepted),),
        after=(
            ContractCheck(bench),
            CapabilitiesCheck(bench),
            LiteralsCheck(),
            MutationCheck(bench),
            ConditionsCheck(bench, now),
            FuzzCheck(bench),
            GrowthCheck(bench),
            CoverageCheck(bench, hidden),
            hidden,
            NeighboursCheck(bench, shelf),
            ReplayCheck(bench, calls, failures, Callers(bench, shelf).rows),
        ),
    )
