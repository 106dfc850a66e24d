"""The files of a recorded session, for commands and the console."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.app.recordings import path_of, recording
from alita_tui.artefacts.media import HEAD_BYTES, is_text, media_type
from alita_tui.artefacts.slices import Part, part_of_file, part_of_value
from alita_tui.events import Artefact, ArtefactOrigin
from alita_tui.spine.errors import UsageError
from alita_tui.spine.levels import shallow_json

if TYPE_CHECKING:
    from alita_tui.store.artefacts import SessionArtefacts


_CHUNK = 1 << 20
_OPENED_AS = {
    "text/plain": (".txt",), "image/png": (".png",), "image/jpeg": (".jpg", ".jpeg"), "image/gif": (".gif",),
    "application/pdf": (".pdf",),
}  # fmt: skip
"""Media type, detected from the bytes -> file name suffixes."""
_OPEN_SECONDS = 10.0
"""Seconds to wait for the program that opens a file."""


def session_artefacts(app: AppContext, session_id: str, *, reuse: bool = False) -> SessionArtefacts:
    """Return the artefacts of a session, to add to and to read. Raise UsageError if there is no such session.

    With `reuse` the folder of one run serves the next, until `close`.
    """
    return app.sessions.artefacts(session_id, app.loaded.settings.artefacts.file_mb * 1_000_000, reuse=reuse)


def files_of_recorded_task(text: str) -> tuple[str, ...]:
    """Return the shipped files that go with a task of the recorded model; none for any other task."""
    from alita_tui.app.context import DEMO_SCRIPT
    from alita_tui.config.paths import shipped
    from alita_tui.llm.scripted import load_script

    folder = shipped("sessions")
    name = load_script(folder / DEMO_SCRIPT).files.get(text.strip())
    return (str(folder / name),) if name else ()


class FileOfSession(msgspec.Struct, frozen=True):
    """An artefact, where it came from, and where its bytes are."""

    artefact: Artefact
    origin: ArtefactOrigin
    seq: int
    path: Path | None
    """None if the bytes are missing; their digest was not checked."""

    def bytes_at(self) -> Path:
        """Return the path, after checking the digest. Raise UsageError if the bytes are missing, StoreError if
        they are not what was added.
        """
        from alita_tui.store.artefacts import SessionArtefacts

        if self.path is None:
            raise UsageError(
                f"The bytes of {self.artefact.name} are missing.",
                hint="The session came without its files, or they were removed.",
            )
        return SessionArtefacts(self.path.parent, 0).path(self.artefact)

    @property
    def row(self) -> dict[str, object]:
        """Return it as JSON for programs."""
        fields = msgspec.to_builtins(self.artefact)
        return {**fields, "origin": self.origin, "event": self.seq, "path": str(self.path or "")}


def files_of(
    app: AppContext, session: str | None, damage: Callable[[str], object] = lambda _: None
) -> tuple[FileOfSession, ...]:
    """Return the files of a session, each handle and name once, the newest last. Raise UsageError, StoreError."""
    envelopes = recording(app, session, damage)
    from alita_tui.store.artefacts import SessionArtefacts, folder_of

    store = SessionArtefacts(folder_of(path_of(app, session)), 0)
    files: dict[tuple[str, str], FileOfSession] = {}
    for envelope in envelopes:
        if not isinstance(envelope.event, e.ArtefactAdded):
            continue
        artefact = envelope.event.artefact
        path = store.folder / artefact.digest if store.has(artefact) else None
        files[artefact.handle, artefact.name] = FileOfSession(
            artefact=artefact, origin=envelope.event.origin, seq=envelope.seq or 0, path=path
        )
    return tuple(files.values())


def look_at(file: FileOfSession, part: Part) -> str:
    """Return a part of a file as text, its beginning by default. Raise UsageError."""
    artefact, path = file.artefact, file.bytes_at()
    if not is_text(artefact.media_type):
        raise UsageError(
            f"{artefact.name} is not text ({artefact.media_type}).",
            hint=f"Save it: alita artefacts save {artefact.handle}",
        )
    if not part.pointer:
        return part_of_file(path, artefact.media_type, part)
    try:
        value = shallow_json(path.read_bytes())
    except ValueError as error:
        raise UsageError(f"{artefact.name} is not valid JSON: {error}.") from error
    return part_of_value(value, part)


def saved(source: Path, folder: Path, name: str) -> Path:
    """Copy a file into a folder under a name, with a number where that is taken; return the copy's path.

    Raise UsageError.
    """
    stem, dot, suffix = name.rpartition(".")
    stem, suffix = (stem, dot + suffix) if stem else (name, "")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(1, 10_000):
            target = folder / (name if number == 1 else f"{stem}-{number}{suffix}")
            try:
                with target.open("xb") as copy, source.open("rb") as content:
                    while piece := content.read(_CHUNK):
                        copy.write(piece)
                return target
            except FileExistsError:
                continue
    except OSError as error:
        raise UsageError(f"{name} cannot be saved in {folder}: {error.strerror}.") from error
    raise UsageError(f"{folder} holds too many files called {name}.")


def opened(app: AppContext, source: Path, name: str) -> str:
    """Open a copy of a file with the system's program for its kind; return the copy's path. Raise UsageError.

    A tool's file may be a page with scripts, a macro or a program, which a desktop would run. So pictures and PDF files
    are opened by the type of their bytes, every text as plain text, and nothing else.
    """
    with source.open("rb") as content:
        kind = media_type("", content.read(HEAD_BYTES))
    ending = _OPENED_AS.get(kind)
    if ending is None:
        raise UsageError(
            f"{name} is not opened from here: only text, pictures and PDF files are, because other kinds can hold "
            "programs.",
            hint=f"Save it, look at it, and open it yourself: alita artefacts save {name}",
        )
    copy = saved(
        source, app.paths.cache / "opened", name if name.lower().endswith(ending) else name + ending[0]
    )
    program = "open" if sys.platform == "darwin" else "xdg-open"
    quiet = subprocess.DEVNULL
    try:
        started = subprocess.Popen(
            [program, str(copy)], stdin=quiet, stdout=quiet, stderr=quiet, process_group=0
        )
        code = started.wait(_OPEN_SECONDS)
    except OSError:
        raise UsageError(f"There is no {program} here.", hint=f"The file is at {copy}.") from None
    except subprocess.TimeoutExpired:
        return str(copy)  # the program stays in the foreground
    if code:
        raise UsageError(f"{program} knows no program for {name} ({code}).", hint=f"The file is at {copy}.")
    return str(copy)
