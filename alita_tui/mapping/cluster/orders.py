"""The messages between a coordinator and its workers: orders and answers in JSON. An order names tool and rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from hashlib import sha256
from itertools import islice, takewhile
from pathlib import Path
from typing import BinaryIO

import msgspec

from alita_tui.events import Json, Value, ready
from alita_tui.mapping.outcomes import Outcome
from alita_tui.mapping.rows import InputFile, Row, is_parquet, parquet_rows
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.text import one_line

PIECE_BYTES = 16 << 20
"""Most bytes of the file of inputs that one order covers, unless a single row is longer."""
ANSWER_BYTES = 64 << 20
"""Largest answer in bytes; a worker sends an answer well before it gets that large."""


class BadAnswer(AlitaError):
    """The answer is invalid or does not match the order."""


class Order(Value, frozen=True):
    """Rows of a file for a tool to run. It holds no code and no values of the rows."""

    tool: str
    """Digest of the approved build."""
    file: str
    """Path of the inputs, the same on every machine."""
    header: int
    """Length in bytes of the file's header."""
    start: int
    end: int
    sha256: str
    """Digest of the header and of the bytes from `start` to `end`; for Parquet, of the calls as JSON."""
    first: int
    """Number of the first row."""
    rows: int
    """Number of rows in these bytes that are calls."""


class Answer(Value, frozen=True):
    """The answer to an order."""

    outcomes: tuple[Outcome, ...] = ()
    """Outcomes of the order's first rows; the coordinator orders the others again."""
    lost: str = ""
    """How the sandbox was lost while a row ran."""
    refused: str = ""
    """Why this worker runs none of the rows."""


class Piece(Value, frozen=True):
    """The bytes that an order refers to."""

    header: bytes
    rows: bytes

    @property
    def sha256(self) -> str:
        """The digest of both."""
        return sha256(self.header + self.rows).hexdigest()


def ordered(tool: str, inputs: InputFile, rows: Sequence[Row]) -> Order:
    """Return the order for the first of these rows, as many as fit into `PIECE_BYTES`. Blocks. Raises OSError."""
    covered = [row for row in rows if row.end - rows[0].start <= PIECE_BYTES] or list(rows[:1])
    start, end = covered[0].start, covered[-1].end
    if is_parquet(Path(inputs.path)):
        return Order(
            tool=tool, file=str(Path(inputs.path).absolute()), header=0, start=start, end=end,
            sha256=calls_digest(covered), first=covered[0].number, rows=len(covered),
        )  # fmt: skip
    with Path(inputs.path).open("rb") as file:
        header = file.read(inputs.header)
        file.seek(start)
        piece = Piece(header=header, rows=file.read(end - start))
    return Order(
        tool=tool, file=str(Path(inputs.path).absolute()), header=inputs.header, start=start, end=end,
        sha256=piece.sha256, first=covered[0].number, rows=len(covered),
    )  # fmt: skip


def calls_digest(rows: Sequence[Row]) -> str:
    """Return the digest of calls, which an order of a Parquet file uses instead of the file's bytes."""
    return sha256(json.dumps([[row.number, row.arguments] for row in rows]).encode()).hexdigest()


def parquet_calls(file: BinaryIO, schema: Json, order: Order) -> list[Row]:
    """Return the calls of a Parquet file that an order refers to, at most `order.rows`. Raises UsageError."""
    with closing(parquet_rows(file, schema, order.first)) as rows:
        within = takewhile(lambda row: row.end <= order.end - order.start, rows)
        return list(islice((row for row in within if not row.problem), order.rows))


def encoded(message: Order | Answer) -> str:
    """Return an order or an answer as JSON."""
    return msgspec.json.encode(message).decode()


def read_order(text: object) -> Order:
    """Return a coordinator's order. Raises ValueError."""
    if not isinstance(text, str) or len(text) > 1 << 16:
        raise ValueError("it is not an order")
    order = msgspec.json.decode(text, type=ready(Order), strict=True)
    if not 0 <= order.header <= order.start < order.end or order.first < 1 or order.rows < 1:
        raise ValueError("its numbers are none of a file")
    return order


def read_answer(text: object, rows: Sequence[Row]) -> Answer:
    """Return a worker's answer about these rows. Raises BadAnswer."""
    if not isinstance(text, str) or len(text) > ANSWER_BYTES:
        raise BadAnswer("What came back is not text, or too long.")
    try:
        answer = msgspec.json.decode(text, type=ready(Answer), strict=True)
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"What came back is not an answer: {one_line(str(error), 200)}") from error
    problem = answer.lost or answer.refused
    if problem:
        return Answer(lost=one_line(answer.lost, 500), refused=one_line(answer.refused, 500))
    numbers = [outcome.row for outcome in answer.outcomes]
    if not numbers or numbers != [row.number for row in rows[: len(numbers)]]:
        raise BadAnswer("What came back is not about the rows that were sent.")
    # A failure is stored with the coordinator's copy of the row's arguments, not with the worker's.
    outcomes = tuple(
        Outcome(row=outcome.row, reason=one_line(outcome.reason, 2_000), arguments=row.arguments)
        if outcome.reason
        else Outcome(row=outcome.row, result=outcome.result)
        for outcome, row in zip(answer.outcomes, rows, strict=False)
    )
    return Answer(outcomes=outcomes)
