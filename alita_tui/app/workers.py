"""`alita worker`: runs rows for a coordinator on another machine, with tools that are approved on this one."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Literal

from msgspec.structs import replace

from alita_tui.app.context import AppContext
from alita_tui.app.identity import new_id
from alita_tui.app.mapping import Lanes, grants_nothing
from alita_tui.events import ToolRecord
from alita_tui.mapping.cluster.orders import (
    ANSWER_BYTES,
    Answer,
    Order,
    Piece,
    calls_digest,
    encoded,
    parquet_calls,
    read_order,
)
from alita_tui.mapping.coordinator import Lost
from alita_tui.mapping.outcomes import Outcome
from alita_tui.mapping.rows import KINDS, Row, is_parquet, rows_within
from alita_tui.sandbox.fleet import Fleet
from alita_tui.spine.errors import AlitaError, RegistryError, UsageError

_SECONDS = 15.0
"""Seconds after which the rows done so far are sent; also how long rows may run on after the coordinator left."""
_BYTES = ANSWER_BYTES // 4
"""Bytes of results after which they are sent, too."""
_STEP = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


def cluster_part(name: Literal["client", "machine"]) -> ModuleType:
    """Return a module that needs Dask. Raise UsageError if it is not installed."""
    try:
        return import_module(f"alita_tui.mapping.cluster.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("alita_tui"):
            raise
        raise UsageError(
            "A cluster needs Dask, which is not installed here.",
            hint="Install it: pip install 'alita-tui[dask]'",
        ) from None


class Rows:
    """Finds an approved tool and rows by their digests, and runs the tool on them in the sandbox."""

    def __init__(self, app: AppContext, folders: Sequence[Path], lanes: int) -> None:
        """Rows are read from files below `folders` alone."""
        self._app = app
        self._folders = [folder.absolute() for folder in folders]
        settings = replace(app.sandbox_settings(pool=True), lanes=lanes, many_calls=True)
        self._sandbox = Fleet(settings, f"worker-{new_id()}")
        self._lanes = lanes
        self._library = asyncio.Lock()

    async def prepare(self) -> None:
        """Make the sandbox ready. Raise SandboxUnavailable."""
        await self._sandbox.prepare(lambda *_: None)

    async def close(self) -> None:
        """End what runs."""
        await self._sandbox.close()

    async def answer(self, text: object) -> str:
        """Return the answer to an order, as text; an error is an answer, too."""
        try:
            order = read_order(text)
            async with self._library:
                record = await asyncio.to_thread(self._approved, order.tool)
            rows = await asyncio.to_thread(self._rows, order, record)
            return encoded(Answer(outcomes=tuple(await self._run(record, rows))))
        except Lost as error:
            return encoded(Answer(lost=str(error) or "the sandbox was lost"))
        except AlitaError as error:
            return encoded(Answer(refused=str(error)))
        except (OSError, ValueError, RecursionError) as error:
            return encoded(Answer(refused=f"The rows cannot be read: {error}"))

    def _approved(self, digest: str) -> ToolRecord:
        """Return a tool with files, lock and signed approval of this digest. Raise RegistryError, UsageError."""
        for record in self._app.library.records():
            if record.digest == digest:
                approved = self._app.library.get(record.draft.name, record.version)
                if approved.digest == digest:
                    grants_nothing(approved)
                    return approved
        raise RegistryError(
            f"No tool with the digest {digest[:12]} is approved here.",
            hint="Bring it as a pack: alita tools export, alita tools import",
        )

    def _rows(self, order: Order, record: ToolRecord) -> list[Row]:
        """Return the calls that an order refers to. Raise UsageError, OSError, ValueError."""
        path = Path(order.file)
        if path.suffix.lower() not in KINDS:
            raise UsageError(f"{path.name} is no file of rows.")
        schema = record.draft.input_schema
        another = UsageError(f"{path} is another file here than where the map was started.")
        with os.fdopen(self._opened(path), "rb") as file:
            if is_parquet(path):
                calls = parquet_calls(file, schema, order)
                if calls_digest(calls) != order.sha256:
                    raise another
                return calls
            header = file.read(order.header)
            file.seek(order.start)
            piece = Piece(header=header, rows=file.read(order.end - order.start))
        if piece.sha256 != order.sha256:
            raise another
        rows = rows_within(path, schema, piece.header, piece.rows, order.first)
        calls = [row for row in rows if not row.problem]
        if len(calls) != order.rows or calls[0].number != order.first:
            raise ValueError("they are other rows than were counted")
        return calls

    def _opened(self, path: Path) -> int:
        """Open a regular file below one of the folders, through no link. Raise UsageError, OSError."""
        below = next((folder for folder in self._folders if path.is_relative_to(folder)), None)
        if below is None or ".." in path.parts:
            raise UsageError(
                f"{path} is in no folder that this worker reads from.",
                hint="Name it: alita worker --data FOLDER",
            )
        fd = os.open(below, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for step in path.relative_to(below).parts:
            try:
                following = os.open(step, _STEP | os.O_NONBLOCK, dir_fd=fd)
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise
                raise UsageError(
                    f"{path}: {step} is a link, and a worker follows none.",
                    hint="Map the file itself, and name its folder: alita worker --data FOLDER",
                ) from None
            finally:
                os.close(fd)
            fd = following
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise UsageError(f"{path} is not a regular file.")
        return fd

    async def _run(self, record: ToolRecord, rows: Sequence[Row]) -> list[Outcome]:
        """Run rows until all are done, or there is enough to send.

        Raise Lost, SandboxUnavailable, RequirementsError.
        """
        lanes = Lanes(self._app, record, self._sandbox, self._lanes)
        outcomes: list[Outcome] = []
        size, end = 0, time.monotonic() + _SECONDS
        for row in rows:
            outcomes.append(replace(await lanes.run_row(row), arguments=None))  # the coordinator has them
            size += len(encoded(Answer(outcomes=(outcomes[-1],))))
            if size > _BYTES or time.monotonic() > end:
                break
        return outcomes
