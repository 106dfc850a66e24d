"""Compares an audit log with its two heads and reports what is wrong. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from alita_tui.store.chain import Chain, read_chain
from alita_tui.store.heads import Head, Heads, read_head

HeadsRaw = tuple[bytes | None, bytes | None]
"""Both heads as they are in their files, the one beside the log first."""


@dataclass
class CheckedLog:
    """The log as it is, with what is wrong."""

    raw: bytes
    heads_raw: HeadsRaw
    chain: Chain
    problems: tuple[str, ...]
    """Problems, one line each; if there is one, nothing in the log is relied on."""
    public: str
    """The key (hex) that signs it; empty if nothing was signed yet."""
    heads: tuple[Head, ...] = ()
    """The genuine heads that fit the log, the one beside it first."""

    @property
    def behind(self) -> bool:
        """True if a head does not include the last entries yet, or unsigned entries are not adopted."""
        up_to_date = len(self.heads) == 2 and all(head.size == self.chain.size for head in self.heads)
        return bool(self.chain.entries) and not (up_to_date and self.chain.signed)

    @property
    def claimed(self) -> list[Head]:
        """The heads that this home's key signed, whether they fit the log or not."""
        read = map(read_head, self.heads_raw)
        return [head for head in read if head is not None and head.key == self.public and head.genuine]

    def counts(self, raw: bytes) -> bool:
        """Return True if a log contains, whole, everything that both heads cover."""
        heads, far = self.claimed, read_head(self.heads_raw[1])
        if far is None or far not in heads or not all(head.fits(raw) for head in heads):
            return False
        return not read_chain(raw[: max(head.size for head in heads)], self.public).problems


def check_log(raw: bytes, heads_raw: HeadsRaw, heads: Heads, own: str, *, fully: bool = False) -> CheckedLog:
    """Return a log with what is wrong with it, compared with its heads and its key.

    `own` is the home's public key (hex), empty if it cannot be reached: then the head beside the key names it.
    What a genuine head covers is not checked entry by entry, unless `fully`.
    """
    far = read_head(heads_raw[1])
    public = own or (far.key if far is not None else "")
    fitting: list[Head] = []
    problems = list(_against_heads(raw, heads_raw, heads, public, fitting))
    covered = max((head.size for head in fitting), default=0)
    chain = read_chain(
        raw,
        public,
        trusted=0 if fully or problems else covered,
        unsigned=covered if public else len(raw),
    )
    listed = tuple(dict.fromkeys((*chain.problems, *problems)))  # which entry first, then the consequences
    return CheckedLog(raw, heads_raw, chain, listed, public, tuple(fitting))


def _against_heads(
    raw: bytes, heads_raw: HeadsRaw, heads: Heads, public: str, good: list[Head]
) -> Iterator[str]:
    """Yield what the heads show to be wrong with a log, and add the heads that fit it to `good`."""
    stored: tuple[tuple[Path, bytes | None], ...] = ((heads.near, heads_raw[0]), (heads.far, heads_raw[1]))
    for path, head_raw in stored:
        if head_raw is None and (path == heads.near or not public):
            continue  # the far head counts; this one is written again
        head = read_head(head_raw)
        if head is None or not head.genuine:
            yield f"the head {path} is " + ("gone" if head_raw is None else "not genuine")
        elif not public:
            yield f"the key of this log is gone from {heads.far.parent}"
        elif head.key != public:
            yield f"the head {path} is signed with a key that is not this home's"
        elif not head.fits(raw):
            yield _missing(head, raw)
        else:
            good.append(head)


def _missing(head: Head, raw: bytes) -> str:
    """Return how a log contradicts a genuine head: entries are gone, or it is another log."""
    chain = read_chain(raw, head.key)
    if chain.sequence < head.sequence:
        first = chain.sequence + 1
        subject = f"entry {first} is" if first == head.sequence else f"entries {first} to {head.sequence} are"
        missing = f"{subject} gone, or an older copy was put back"
        return f"the log ends at entry {chain.sequence}, and its head counts {head.sequence}: {missing}"
    return f"the log is not the one that its head counts up to entry {head.sequence}"
