"""Reads the bytes of an audit log and reports what is wrong, entry by entry. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256

from alita_tui.store.entry import ADOPTED, GENESIS, AuditEntry, read_entry, unfinished
from alita_tui.store.seal import verifier


@dataclass
class Chain:
    """A log as read."""

    entries: list[AuditEntry] = field(default_factory=list)
    """Every readable entry, oldest first."""
    problems: list[str] = field(default_factory=list)
    """Problems, one line each; empty if the log is intact."""
    size: int = 0
    """Size up to the end of the last entry, including its line end if there is one."""
    ended: bool = True
    """True if the last line is complete."""
    signed: bool = False
    """True if there are signed entries."""
    previous: str = GENESIS
    sequence: int = 0


def read_chain(raw: bytes, public: str, *, trusted: int = 0, unsigned: int = 0) -> Chain:
    """Return a log whose entries are signed with this key (hex; empty if nothing is signed).

    The first `trusted` bytes are covered by a signed head and are not checked again. Unsigned entries are allowed
    within the first `unsigned` bytes, or before an entry that adopts them.
    """
    chain = Chain(ended=not raw or raw.endswith(b"\n"))
    genuine = verifier(public, "audit entry") if public else lambda _text, _signature: False
    adopted = raw.find(b'"verdict":"%b"' % ADOPTED.encode())  # the adopting entry is checked in its turn
    for number, begin, end, line in _lines(raw):
        entry = read_entry(line)
        if entry is None:
            # A write that a crash cut off is no damage: it was never acknowledged.
            if not unfinished(line, chain.sequence + 1):
                problem = f"what follows entry {chain.sequence} cannot be read; it is damaged"
                chain.problems.append(f"line {number}: {problem}")
            continue
        if end > trusted:
            wrong = _faults(chain, entry, line, memoryview(raw)[:begin], public, genuine)
            if not entry.signed and public and end > max(unsigned, adopted):
                wrong.append("is not signed")
            chain.problems += (f"line {number}: {entry.label} {problem}" for problem in wrong)
        chain.entries.append(entry)
        chain.signed = chain.signed or entry.signed
        chain.previous, chain.sequence, chain.size = entry.hash, entry.sequence, end
    return chain


def _lines(raw: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield number (from 1), begin, end with the line end, and text of each line that is not empty."""
    begin = number = 0
    while begin < len(raw):
        newline = raw.find(b"\n", begin)
        end = newline + 1 if newline >= 0 else len(raw)
        number += 1
        if line := raw[begin:end].rstrip(b"\n"):
            yield number, begin, end, line
        begin = end


def _faults(
    chain: Chain,
    entry: AuditEntry,
    line: bytes,
    preceding: memoryview,
    public: str,
    genuine: Callable[[str, str], bool],
) -> list[str]:
    faults = []
    if entry.own_hash != entry.hash or (entry.signed and line != entry.line):
        faults.append("was changed after it was written")
    if entry.previous != chain.previous:
        faults.append("does not follow the one before it")
    if entry.sequence != chain.sequence + 1:
        faults.append(f"follows entry {chain.sequence}")
    if entry.signed:
        if entry.key != public:
            faults.append("is signed with a key that is not this home's")
        elif not genuine(entry.hash, entry.signature):
            faults.append("bears a signature that is not genuine")
        if chain.entries and not chain.signed:
            if entry.verdict != ADOPTED or entry.digest != sha256(preceding).hexdigest():
                faults.append("does not adopt the unsigned entries before it as they are")
    elif chain.signed:
        faults.append("is not signed")
    return faults
