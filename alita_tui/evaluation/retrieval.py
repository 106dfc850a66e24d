"""A folder of tool descriptions and questions as a suite: each answer has to be the name of the tool that fits."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import msgspec

from alita_tui.evaluation.bounded import read_bounded
from alita_tui.evaluation.checks import Exact
from alita_tui.events import Value, ready
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line

TOOLS, QUERIES = "*tools.json", "*queries.csv"
NONE = "none"
"""The right answer if no tool fits."""
_INSTRUCTION = (
    "Which tool of the library is the right one for this request? Do not carry the request out: answer with the tool's"
    f" name alone, or with {NONE} if no tool fits.\n\nRequest: "
)
_MOST_BYTES = 64_000_000


class Question(Value, frozen=True):
    """A request, and the tool that fits it."""

    id: str
    tool: str
    """Empty if none fits."""
    task: str

    @property
    def check(self) -> Exact:
        """The check of the answer."""
        return Exact(text=self.tool or NONE, loose=True)


def is_retrieval(folder: Path) -> bool:
    """Return True if a folder holds tools and queries."""
    return all(any(folder.glob(pattern)) for pattern in (TOOLS, QUERIES))


def read_tools(folder: Path) -> tuple[tuple[str, str], ...]:
    """Return names and descriptions of the tools, sorted by name. Raises UsageError."""
    file = _only(folder, TOOLS)
    try:
        tools = msgspec.json.decode(read_bounded(file, _MOST_BYTES), type=ready(dict[str, str]))
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{file}: {one_line(str(error), 200)}.") from error
    return tuple(sorted(tools.items()))


def read_questions(folder: Path) -> Iterator[Question]:
    """Yield the questions in their order; duplicates count once. Raises UsageError."""
    file, tool_names = _only(folder, QUERIES), {name for name, _ in read_tools(folder)}
    seen: set[tuple[str, str]] = set()
    try:
        rows = csv.DictReader(io.StringIO(read_bounded(file, _MOST_BYTES).decode("utf-8-sig"), newline=""))
        for number, row in enumerate(rows, 1):
            tool, query = (row.get("tool") or "").strip(), (row.get("query") or "").strip()
            if not query or (tool and tool not in tool_names):
                problem = "has no query" if not query else f"names {one_line(tool, 60)!r}, which is no tool"
                raise UsageError(f"{file}, row {number}: it {problem}.")
            if (tool, query) not in seen:
                seen.add((tool, query))
                yield Question(id=f"{number:04}-{tool or NONE}", tool=tool, task=_INSTRUCTION + query)
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{file} cannot be read: {one_line(str(error), 200)}.") from error


def _only(folder: Path, pattern: str) -> Path:
    files = sorted(folder.glob(pattern))
    if len(files) != 1:
        raise UsageError(f"{folder} has to have one {pattern}; it has {len(files)}.")
    return files[0]
