"""Exports sessions to files that can be shared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from alita_tui.app.context import AppContext
from alita_tui.replay.export import ENDINGS, Format, export
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import UsageError


def redacted_export(app: AppContext, envelopes: Sequence[Envelope], form: Format) -> str:
    """Return a session as text in a format, without the secrets that are known here."""
    return export(envelopes, form, app.redactor().value)


def export_path(envelopes: Sequence[Envelope], form: Format) -> Path:
    """Return a file name for an export in the working folder that no file has yet."""
    return unused_path(envelopes[0].session_id if envelopes else "session", ENDINGS[form])


def unused_path(name: str, ending: str) -> Path:
    """Return a path in the working folder that no file has yet: the name, with a number where that is taken."""
    number, path = 1, Path(f"{name}.{ending}")
    while path.exists():
        number += 1
        path = Path(f"{name}-{number}.{ending}")
    return path


def write_text(path: Path, text: str) -> None:
    """Write a file that only this user can read, all of it or nothing. Raises UsageError."""
    draft = path.with_name(f".{path.name}.tmp")
    try:
        if path.exists() and not path.is_file():  # a pipe or a device
            path.write_text(text, "utf-8", "replace")
            return
        try:
            draft.touch(mode=0o600)
            draft.write_text(text, "utf-8", "replace")
            draft.replace(path.resolve())
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from error
