"""The full-screen console, opened from the command line; Textual is imported here and not before."""

from __future__ import annotations

from pathlib import Path


def open_console(home: Path | None, session: str | None, model: str | None) -> None:
    """Open the console on a new session or on `session`."""
    from alita_tui.wiring import House, need_terminal

    need_terminal()
    House.open(home, {"model": model})


def open_replay(home: Path | None, session: str | None) -> None:
    """Open the console on a recording."""


def open_setup(home: Path | None) -> None:
    """Open the wizard."""
