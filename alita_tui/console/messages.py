"""What any screen may ask of the app. The app alone handles these messages."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from alita_tui.spine.commands import Command


@dataclass
class CommandAsked(Message):
    """Send a command to the engine; nothing is sent while the past is on screen."""

    command: Command


@dataclass
class CopyAsked(Message):
    """Copy a text to the clipboard."""

    text: str


@dataclass
class ToolAsked(Message):
    """Show a tool of the library."""

    name: str


@dataclass
class ReplayAsked(Message):
    """Replay another session, from an event on if one is given."""

    session_id: str
    seq: int | None = None


@dataclass
class SessionAsked(Message):
    """Open another session in place of this one, which continues in the background."""

    session_id: str
