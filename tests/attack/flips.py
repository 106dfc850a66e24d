"""Flips single bits of the files of a real home, then looks at it as a person does.

Whatever is lost or altered must be told, and nothing may end in a traceback. The files are a closed session, one
that a kill left in its journal, one that is part file and part journal, the documents that sessions share, and the
list of sessions; each also as the versions before checksums wrote it, where only the second promise can be kept.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import msgspec
from typer.testing import CliRunner

from alita_tui.cli.main import cli
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import AlitaError
from alita_tui.store.damage import damages
from alita_tui.store.documents import DocumentTable
from alita_tui.store.labels import Labels
from alita_tui.store.sessions import SessionFile, SessionStore
from alita_tui.store.spend import SpendBook
from alita_tui.view.fold import fold_all
from tests.attack.report import Outcome
from tests.support.goldens import golden

FLIPS = 1_000
"""Of files with checksums, and a quarter as many of older ones."""

_OLD = Path(__file__).parent.parent / "store" / "golden"
_TABLES = {"registry.json": "tools", "memory.json": "items", "labels.json": "labels"}
_TODAY = date(2026, 11, 21)
Seen = dict[str, object]
"""What a person sees of a home, by what they look at."""


def attack(share: float, seed: int) -> list[Outcome]:
    """Do `share` of all flips; the same seed gives the same ones. Each outcome counts flips."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="alita-flips-") as name:
        new = _Campaign(Path(name) / "new", _home)
        old = _Campaign(Path(name) / "old", _older_home)
        for campaign, count in ((new, FLIPS), (old, FLIPS // 4)):
            for _ in range(max(1, round(count * share))):
                campaign.flip(chance)
    return [
        Outcome("flips told", new.tried, new.tried - len(new.silent), tuple(new.silent)),
        Outcome(
            "flips without a traceback",
            new.tried + old.tried,
            new.tried + old.tried - len(new.crashed) - len(old.crashed),
            (*new.crashed, *old.crashed),
        ),
    ]


class _Campaign:
    """One home that is damaged, looked at and put back, again and again."""

    def __init__(self, home: Path, furnish: Callable[[Path], None]) -> None:
        self.home = home
        furnish(home)
        self._true = _look(home).seen  # makes the list of sessions, too
        self._files = {path: path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}
        self.tried = 0
        self.silent: list[str] = []
        self.crashed: list[str] = []

    def flip(self, chance: random.Random) -> None:
        """One bit of one file, each file as likely as the next."""
        self.tried += 1
        path = chance.choice([one for one, raw in self._files.items() if raw])
        raw = bytearray(self._files[path])
        place, bit = chance.randrange(len(raw)), chance.randrange(8)
        raw[place] ^= 1 << bit
        path.write_bytes(raw)
        where = f"{path.relative_to(self.home)} byte {place} bit {bit}"
        try:
            found = _look(self.home)
            lost = [what for what, seen in found.seen.items() if seen != self._true[what]]
            if unsaid := [what for what in lost if not found.told.get(what)]:
                self.silent.append(f"{where}: {', '.join(unsaid)}")
        except Exception:
            self.crashed.append(f"{where}: {traceback.format_exc(limit=-3)}")
        finally:
            self._put_back()

    def _put_back(self) -> None:
        for path in self.home.rglob("*"):
            if path.is_file() and path not in self._files:
                path.unlink()
        for path, raw in self._files.items():
            path.write_bytes(raw)


@dataclass
class _Look:
    """What is seen, and what is told of damage, by what was looked at."""

    seen: Seen
    told: dict[str, str]


def _look(home: Path) -> _Look:
    found = _Look({}, {})
    data = home / "data"
    for one in SessionStore(data / "sessions").list():
        kept = msgspec.structs.replace(one, state="closed", discarded=0)
        found.seen[f"list {Path(one.path).stem}"] = kept
        found.told[f"list {Path(one.path).stem}"] = (
            "told" if one.discarded or one.state == "unreadable" else ""
        )
    for path in sorted(
        {Path(str(one).removesuffix(".journal")) for one in (data / "sessions").glob("*.json*")}
    ):
        if path.suffix == ".json":
            for readonly in (True, False):  # the second one repairs
                _session(found, path, readonly)
    for name, what, content in _shared(data):
        problems = [one.text for one in damages([data / name])]
        found.seen[what], found.told[what] = content, "; ".join(problems)
    for command in (
        ["sessions", "list"],
        ["sessions", "verify", "--all"],
        ["tools", "list"],
        ["sessions", "search", "csv"],
    ):
        done = CliRunner().invoke(cli, ["--home", str(home), *command])
        if done.exception is not None and not isinstance(done.exception, SystemExit | AlitaError):
            raise done.exception
    return found


def _session(found: _Look, path: Path, readonly: bool) -> None:
    what = f"{path.stem} {'looked at' if readonly else 'taken up'}"
    try:
        file = SessionFile.open(path, readonly=readonly)
    except AlitaError as error:
        found.seen[what], found.told[what] = None, error.message
        return
    envelopes = file.envelopes()
    fold_all(envelopes)
    found.seen[what], found.told[what] = (file.session_id, file.imported, envelopes), file.restored.note
    file.close()


def _shared(data: Path) -> Iterator[tuple[str, str, object]]:
    for name, table in _TABLES.items():
        yield name, name, _opened(data / name, table)
    yield "labels.json", "labels", Labels(DocumentTable(data / "labels.json", "labels")).all()
    book = SpendBook(data / "spend.json", "", lambda: _TODAY)
    yield "spend.json", "spend", book.days()


def _opened(path: Path, table: str) -> object:
    return sorted(map(repr, DocumentTable(path, table).all()))


# --- the homes --------------------------------------------------------------------------


def _home(home: Path) -> None:
    data = home / "data"
    shelf = SessionStore(data / "sessions")
    events = golden("golden-walkthrough")
    shelf.add("closed", _as("closed", events))
    with _killed(SessionFile.create(shelf.path("killed"), "killed")) as file:
        file.fill(_as("killed", events[:60]))
    shelf.add("both", _as("both", events[:40]))
    with _killed(SessionFile.open(shelf.path("both"))) as file:
        file.fill(_as("both", events[40:]))
    for name, table in _TABLES.items():
        old = msgspec.json.decode((_OLD / "2" / name).read_bytes())[table] if name != "labels.json" else {}
        documents = DocumentTable(data / name, table)
        for row in old.values():
            documents.put(row["key"], row["value"])
        if name == "labels.json":
            labels = Labels(documents)
            labels.rename("closed", "Emails to check")
            labels.tag("killed", add=["csv", "work"])
        documents.close()
        for row in list(old.values())[:1]:
            documents.put(row["key"] + "-again", row["value"])
        if name == "labels.json":
            labels.bookmark("closed", 12, "where it went wrong")
    book = SpendBook(data / "spend.json", "closed", lambda: _TODAY)
    book.settle("c1", 0.25, 600)
    book.close()
    book.settle("c2", 0.5, 900)


def _older_home(home: Path) -> None:
    data = home / "data"
    (data / "sessions").mkdir(parents=True)
    for name in ("registry.json", "memory.json", "spend.json"):
        shutil.copy(_OLD / "2" / name, data / name)
    shutil.copy(_OLD / "2" / "session.json", data / "sessions" / "second.json")
    for part in ("session.json", "session.json.journal"):
        if (_OLD / "1" / part).exists():
            shutil.copy(_OLD / "1" / part, data / "sessions" / part.replace("session", "first"))


def _as(session_id: str, events: list[Envelope]) -> Iterator[Envelope]:
    return (msgspec.structs.replace(one, session_id=session_id) for one in events)


@contextmanager
def _killed(file: SessionFile) -> Iterator[SessionFile]:
    """What the kernel does for a process that dies."""
    yield file
    file._writer.shutdown()
    file._log._unlock()
