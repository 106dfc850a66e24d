"""A home whose records a test changes."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
from typer.testing import CliRunner, Result

from alita_tui.app.context import AppContext
from alita_tui.cli.main import cli
from alita_tui.spine.errors import AlitaError
from alita_tui.store.entry import GENESIS
from tests.cli.audited import TOOL, Shell


class Records(Shell):
    """A home with one approved tool, and what is there to attack it with."""

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(cli, ["--home", str(self.home), *words])

    @property
    def log(self) -> Path:
        return self.app.paths.audit

    @property
    def registry(self) -> Path:
        return self.app.paths.registry

    def runs(self, name: str = TOOL) -> bool:
        """Whether a process that starts now would let the tool run."""
        try:
            AppContext.open(self.home).library.get(name)
        except AlitaError:
            return False
        return True

    def lines(self) -> list[bytes]:
        return self.log.read_bytes().splitlines(keepends=True)

    def forget(self, *verdicts: str) -> None:
        """Take entries out of the log and chain the rest anew, as anyone can who knows how it is made."""
        previous, kept = GENESIS, list[bytes]()
        for line in self.lines():
            entry = json.loads(line)
            if entry["verdict"] in verdicts:
                continue
            entry |= {"sequence": len(kept) + 1, "previous": previous}
            entry.pop("hash")
            previous = _hash(entry)
            kept.append(json.dumps({**entry, "hash": previous}, separators=(",", ":")).encode() + b"\n")
        self.log.write_bytes(b"".join(kept))


def _hash(entry: dict[str, object]) -> str:
    from hashlib import sha256

    bare = {key: value for key, value in entry.items() if key not in ("hash", "signature")}
    return sha256(msgspec.json.encode(bare, order="sorted")).hexdigest()
