"""The app's part in evaluations: opening the screen, and a case's session as a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import work

from alita_tui.console.replay.navigation import ReplayNavigation
from alita_tui.spine.errors import AlitaError

if TYPE_CHECKING:
    # What opens later is imported when it does: the first paint needs the session's screen alone.
    from alita_tui.console.evaluations.ports import CaseLine
    from alita_tui.console.evaluations.screen import EvaluationsScreen


class EvaluationsOpener(ReplayNavigation):
    """Base of the app: shows the runs of suites."""

    if TYPE_CHECKING:

        @property
        def replaying(self) -> bool:
            """Whether nothing can be sent."""

    def action_evaluations(self) -> None:
        """Show the runs of suites."""
        from alita_tui.console.evaluations.screen import EvaluationsScreen

        if self.screen is self.main:
            self.push_screen(
                EvaluationsScreen(self._catalog, self._keys, self._clock, may_begin=not self.replaying)
            )

    def on_evaluations_screen_replay_asked(self, message: EvaluationsScreen.ReplayAsked) -> None:
        """Replay a case, where it went wrong."""
        self._look_at_case(message.case)

    def on_evaluations_screen_copy_asked(self, message: EvaluationsScreen.CopyAsked) -> None:
        """Copy a command."""
        self._to_clipboard(message.text)

    @work(name="look", group="look", exclusive=True, exit_on_error=False)
    async def _look_at_case(self, case: CaseLine) -> None:
        try:
            player = await self._catalog.case_player(case)
        except AlitaError as error:
            self._complain(error)
            return
        self._push(player, case.at or None, rewound=False)
