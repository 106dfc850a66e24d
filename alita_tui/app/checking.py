"""Builds the checks of drafts with their dependencies, for sessions, and for use without a model outside of one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from alita_tui.app.context import AppContext
from alita_tui.app.identity import now
from alita_tui.app.recordings import past_calls
from alita_tui.spine.errors import ModelError
from alita_tui.spine.ports.library import ToolShelf
from alita_tui.spine.ports.models import Asker, ModelRequest, Reply
from alita_tui.spine.ports.sandbox import Sandbox
from alita_tui.spine.ports.web import PackageIndex

if TYPE_CHECKING:
    from alita_tui.toolsmith.checks.registry import Checks


def checks(
    app: AppContext,
    sandbox: Sandbox,
    asker: Asker,
    index: PackageIndex,
    library: ToolShelf,
    accepted: Callable[[], str] = lambda: "",
) -> Checks:
    """Return the checks of drafts: those before anything runs, and those after their own tests.

    `accepted` returns the tool that a person approved in this session though no fault database answered.
    """
    from alita_tui.app.improving import failed_calls
    from alita_tui.sandbox.faults import FaultDatabase
    from alita_tui.toolsmith.checks.registry import all_checks

    checks = all_checks(
        sandbox,
        app.limits,
        asker=asker,
        index=index,
        book=FaultDatabase(app.loaded.settings.web.osv_url),
        shelf=library,
        calls=partial(past_calls, app),
        failures=partial(failed_calls, app),
        now=now,
        accepted=accepted,
    )
    if "hidden-tests" in app.left_out:
        return checks._replace(after=tuple(check for check in checks.after if check.name != "hidden"))
    return checks


class NoModel:
    """An `Asker` without a model: a check that asks one reports that it could not run."""

    unfinished = ""

    async def ask(self, request: ModelRequest) -> Reply:
        """Raise ModelError."""
        raise ModelError("unavailable", "no model is asked here")

    async def enable(self, model: str) -> None:
        """Do nothing."""
