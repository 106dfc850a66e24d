"""Changes another program's settings file: exactly as shown, with a backup, or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from alita_tui.app.identity import now
from alita_tui.events import Value
from alita_tui.mcp_box.clients import ClientName, client_file
from alita_tui.spine.errors import StoreError, UsageError

_LARGEST = 32 << 20


class Plan(Value, frozen=True):
    """A change to one file."""

    path: Path
    """The file itself, even if the program's path is a link to it."""
    exists: bool
    before: str
    after: str

    @property
    def changes(self) -> bool:
        """True if there is anything to do."""
        return self.before != self.after


def planned(client: ClientName, command: tuple[str, ...], environ: Mapping[str, str]) -> Plan:
    """Return the change that gives a client alita's tools. Raise UsageError, StoreError."""
    place = client_file(client, environ)
    path = place.path.resolve()
    before = _read(path)
    after = place.changed(before or "", place.entry(command))
    return Plan(path=path, exists=before is not None, before=before or "", after=after)


def apply(plan: Plan) -> Path | None:
    """Make a change; return the backup, if there was a file. Raise UsageError if it changed meanwhile, StoreError."""
    draft = plan.path.with_name(f".{plan.path.name}.alita-{os.getpid()}")
    try:
        mode = plan.path.stat().st_mode & 0o777 if plan.exists else 0o600
        plan.path.parent.mkdir(parents=True, exist_ok=True)
        backup = _backup(plan, mode) if plan.exists else None
        _write(draft, plan.after, mode)
        if (_read(plan.path) or "") != plan.before or plan.path.exists() != plan.exists:
            raise UsageError(
                f"{plan.path} was changed by another program just now.", hint="Nothing was done. Try again."
            )
        draft.replace(plan.path)
    except OSError as error:
        raise StoreError(
            f"{plan.path} cannot be changed: {error.strerror}.", hint="Check its folder."
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
    return backup


def _backup(plan: Plan, mode: int) -> Path:
    stamp = f"{now():%Y%m%d-%H%M%S}"
    for number in range(100):
        path = plan.path.with_name(f"{plan.path.name}.before-alita-{stamp}{f'-{number}' if number else ''}")
        with suppress(FileExistsError):
            _write(path, plan.before, mode)
            return path
    raise StoreError(f"There are too many backups beside {plan.path}.", hint="Remove some.")


def _write(path: Path, text: str, mode: int) -> None:
    made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(made, "wb") as file:
        os.fchmod(made, mode)
        file.write(text.encode())
        file.flush()
        os.fsync(made)


def _read(path: Path) -> str | None:
    """Return a file's text; None if it does not exist. Raise StoreError, UsageError."""
    try:
        if path.stat().st_size > _LARGEST:
            raise UsageError(f"{path} is too large to be a settings file.")
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is left as it is: it is not UTF-8.") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.") from error
