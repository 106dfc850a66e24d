"""Files on the command line: given with a task, piped in, saved."""

from __future__ import annotations

import os
import select
import stat
import sys
from pathlib import Path

import typer

from alita_tui.events import Json
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.sandbox import InputFile, input_path

_QUIET_SECONDS = 2.0
"""Seconds without standard input after which a message says that it is being read."""
_CHUNK = 1 << 20


def check_file(path: Path, most_mb: float) -> None:
    """Raise UsageError unless this is a file that can be read, of at most so many MB."""
    if path.is_dir():
        raise UsageError(
            f"{path} is a folder.", hint="Give a file; pack a folder first, for example with zip."
        )
    if path.exists() and not path.is_file():
        raise UsageError(
            f"{path} is a pipe or a device.", hint="Write what it holds into a file, and give that."
        )
    if not path.is_file():
        raise UsageError(f"There is no file {path}.", hint="Check the path.")
    if not os.access(path, os.R_OK):
        raise UsageError(f"{path} cannot be read.", hint="Check its permissions.")
    if (size := path.stat().st_size) > most_mb * 1e6:
        raise _too_large(str(path), size, most_mb)


def _too_large(name: str, size: float, most_mb: float) -> UsageError:
    return UsageError(
        f"{name} has {size / 1e6:,.1f} MB; one file may have {most_mb:,.0f} MB.",
        hint="Raise it: alita config set artefacts.file_mb N",
    )


def piped_file(folder: Path, most_mb: float) -> Path | None:
    """Write piped input to `stdin.txt` in a folder and return its path; None if nothing is piped in.

    A pipe is read to its end, however late its writer begins; a terminal, a device and a closed input are not read.
    Raise UsageError if it is too large or cannot be written.
    """
    if not _is_piped():
        return None
    if not select.select([sys.stdin], [], [], _QUIET_SECONDS)[0]:
        typer.echo("Reading standard input to its end; without one: alita run … < /dev/null", err=True)
    path = folder / "stdin.txt"
    try:
        with path.open("wb") as file:
            while piece := os.read(sys.stdin.fileno(), _CHUNK):
                if file.tell() + len(piece) > most_mb * 1e6:
                    raise _too_large("Standard input", file.tell() + len(piece), most_mb)
                file.write(piece)
    except OSError as error:
        raise UsageError(
            f"Standard input could not be read and written to {path}: {error.strerror}.",
            hint="Is the disk full? It is written to TMPDIR.",
        ) from error
    return path if path.stat().st_size else None


def _is_piped() -> bool:
    """Return whether standard input is a pipe, a file or a socket that delivers something."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
        if stat.S_ISSOCK(mode):  # some programs leave a socket open that never delivers anything
            return bool(select.select([sys.stdin], [], [], 0)[0])
        return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)
    except (OSError, ValueError, AttributeError):  # closed, or no file at all
        return False


def with_local_files(arguments: Json, schema: Json, most_mb: float) -> tuple[Json, tuple[InputFile, ...]]:
    """Return the arguments of a tool as it sees them, and the files of this machine that they name.

    Where the schema asks for a file (`"format": "file"`), a path becomes that of a read-only copy in the container. An
    empty text stays, because it omits an optional file. Raise UsageError as `check_file` does.
    """
    files: list[InputFile] = []

    def localised(value: Json, part: Json) -> Json:
        part = part if isinstance(part, dict) else {}
        if isinstance(value, str) and value and part.get("format") == "file":
            path = Path(value).expanduser()
            check_file(path, most_mb)
            files.append(InputFile(path=str(path.resolve()), name=path.name))
            return input_path(len(files) - 1, path.name)
        if isinstance(value, list):
            return [localised(item, part.get("items")) for item in value]
        if isinstance(value, dict):
            properties = part.get("properties")
            schemas = properties if isinstance(properties, dict) else {}
            return {name: localised(inner, schemas.get(name)) for name, inner in value.items()}
        return value

    return localised(arguments, schema), tuple(files)
