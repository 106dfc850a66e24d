"""Artefacts: immutable files that a task was given or that its tools made, addressed by their content."""

from __future__ import annotations

from typing import Literal

from alita_tui.events.base import Fact, Value


class Artefact(Value, frozen=True):
    """The description of an artefact; its bytes are in a folder beside the session's file."""

    handle: str
    """How models and people name it: `art_` and the first ten hex digits of the digest."""
    digest: str
    """SHA-256 (hex) of its bytes."""
    name: str
    """File name with extension, without a folder."""
    media_type: str
    size: int
    """Bytes."""
    preview: str = ""
    """The beginning of a text, or the shape of a JSON value; empty for other kinds."""


ArtefactOrigin = Literal["person", "tool", "result", "page", "skill"]
"""Given by the person; left by a tool in its folder; a result that is too large for the record; fetched from the web;
read from a skill."""


class ArtefactAdded(Fact, frozen=True):
    """An artefact joined the session. Its bytes are on disk."""

    artefact: Artefact
    origin: ArtefactOrigin
    source: str = ""
    """The call that made it, or the action that fetched or read it; empty for a file of the person."""
