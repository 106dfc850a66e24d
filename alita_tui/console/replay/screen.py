"""A replay over the open session: the same screen, fed by a player. It can send nothing."""

from __future__ import annotations

from collections.abc import Mapping

from textual import on, work

from alita_tui.console.replay.bar import ReplayBar
from alita_tui.console.replay.player import Player
from alita_tui.console.session.screen import SessionScreen
from alita_tui.console.session.trace import Trace
from alita_tui.console.stage import Advanced, Stage


class ReplayScreen(SessionScreen):
    """Shows a session as it was at the player's position."""

    def __init__(
        self, player: Player, *, keys: Mapping[str, str], rewound: bool = False, motion: bool = True
    ) -> None:
        self.controls = ReplayBar(player, rewound=rewound)
        super().__init__(keys=keys, player=self.controls, motion=motion)
        self.player = player
        self._stage = Stage(player, lambda view: self.post_message(Advanced(view)))

    def on_mount(self) -> None:
        """Show the player's position, and continue from there."""
        self.fit(self.app.size)
        self._stage.jump(self.player.view)
        self._read()

    def on_unmount(self) -> None:
        """Close the player."""
        self.player.close()

    def action_escape(self) -> None:
        """Close an open line, else go to the controls, and from there back to the session beneath."""
        if self.focused is self.controls and not any(line.display for line in self.query(".line-input")):
            self.controls.action_leave()
        else:
            super().action_escape()

    @work(name="replay", group="replay", exclusive=True, exit_on_error=False)
    async def _read(self) -> None:
        await self._stage.run()

    @on(Advanced)
    def _advanced(self, message: Advanced) -> None:
        message.stop()
        self.draw(message.view)

    @on(ReplayBar.Jumped)
    def _jumped(self, message: ReplayBar.Jumped) -> None:
        message.stop()
        self._stage.jump(message.view)

    @on(Trace.RewindAsked)
    def _seek(self, message: Trace.RewindAsked) -> None:
        message.stop()
        self.player.seek_seq(message.seq)
        self._stage.jump(self.player.view)
