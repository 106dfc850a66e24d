"""The app's part in the memory: opening it, looking at a source, telling the session what was forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alita_tui.console.replay.navigation import ReplayNavigation
from alita_tui.spine.commands import ForgetMemory
from alita_tui.spine.ports.stream import CommandSink

if TYPE_CHECKING:
    # What opens later is imported when it does: the first paint needs the session's screen alone.
    from alita_tui.console.memory.screen import MemoryScreen


class MemoryOpener(ReplayNavigation):
    """Base of the app: shows what is remembered."""

    if TYPE_CHECKING:

        @property
        def _sink(self) -> CommandSink | None: ...

    def action_memory(self) -> None:
        """Show what is remembered."""
        from alita_tui.console.memory.screen import MemoryScreen

        if self.screen is self.main:
            may_change = self._sink is not None
            self.push_screen(MemoryScreen(self._catalog, self._keys, self._clock, may_change=may_change))

    def on_memory_screen_source_asked(self, message: MemoryScreen.SourceAsked) -> None:
        """Replay the session that something was learned from, at its event."""
        self._look(message.session_id, message.seq or None)

    def on_memory_screen_tool_wanted(self, message: MemoryScreen.ToolWanted) -> None:
        """Have a recipe built as one tool; it is reviewed as any build is."""
        if self._sink is not None:
            self._sink.send(message.order)

    def on_memory_screen_forgot(self, message: MemoryScreen.Forgot) -> None:
        """Remove what was forgotten from the conversation, too."""
        if self._sink is not None:
            self._sink.send(ForgetMemory(item_id=message.item_id, back=message.back))
