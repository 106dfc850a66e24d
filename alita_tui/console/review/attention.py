"""Notifies a person whose terminal is not in front: bell, desktop notification, window title.

Terminals ignore the ones they do not know: OSC 9 (iTerm2, Windows Terminal, kitty and others) and OSC 777 (urxvt,
foot, VTE). The old title is saved on xterm's stack (XTWINOPS 22) and restored (23).
"""

from __future__ import annotations

from collections.abc import Callable

from alita_tui.spine.text import one_line

_BELL = "\a"
_PUSH_TITLE, _POP_TITLE = "\x1b[22;2t", "\x1b[23;2t"


class Attention:
    """Writes notifications to a terminal, each once."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._called: set[str] = set()
        self._titled = False

    def call(self, key: str, text: str, *, away: bool) -> None:
        """Notify once per key. Nothing is written unless the person is `away`."""
        if key in self._called:
            return
        self._called.add(key)
        if not away:
            return
        # A semicolon would end a field of OSC 777; controls are taken out by `one_line`.
        message = one_line(text, 120).replace(";", ",")
        title = f"{'' if self._titled else _PUSH_TITLE}\x1b]2;● {message}{_BELL}"
        self._write(f"{_BELL}\x1b]9;alita: {message}{_BELL}\x1b]777;notify;alita;{message}{_BELL}{title}")
        self._titled = True

    def seen(self) -> None:
        """Restore the window's title: the person is back."""
        if self._titled:
            self._titled = False
            self._write(_POP_TITLE)
