"""Attacks on what is on record: log, heads, library, desk notes, backups, homes; on real files, judged by the promise.

The oracle knows nothing of how the log is made: a list of what the person decided, in order. After an attack
no version may run that the newest decision on it does not allow, and where the log was touched `audit verify`
has to say so.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

from alita_tui.app.context import AppContext
from alita_tui.app.tool_runs import approve_anew
from alita_tui.cli.main import cli
from alita_tui.events import BuildDigest, Lock, MoveKind, ToolDraft, Verdict, build_digest
from alita_tui.spine.commands import ResolveApproval
from alita_tui.spine.errors import AlitaError
from tests.attack.report import Outcome
from tests.support import streams

NAMES = ("alpha", "beta", "gamma", "delta")
DECISIONS: tuple[tuple[str, str, int], ...] = (
    ("approve", "alpha", 1), ("approve", "beta", 1), ("approve", "gamma", 1), ("approve", "delta", 1),
    ("approve", "delta", 2), ("quarantine", "gamma", 1), ("restore", "gamma", 1), ("pin", "delta", 1),
    ("unpin", "delta", 2), ("archive", "delta", 1), ("revoke", "beta", 1),
)  # fmt: skip
"""What the person decided on which version, the newest last."""
ALLOWED = frozenset({("alpha", 1), ("gamma", 1), ("delta", 2)})
"""What may run after all of it, written down by hand."""


@dataclass(frozen=True)
class Attack:
    """One attack: what it does to a home, and whether `audit verify` has to say that something is wrong."""

    name: str
    act: Callable[[Path], object]
    seen: bool = True


class Ground:
    """A home in which all decisions were made, as it was after each of them, and what it is attacked with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps: list[Path] = []
        self.backups: list[str] = []
        home = folder / "home"
        for number, (what, name, version) in enumerate(DECISIONS):
            app = AppContext.open(home)
            if what == "approve":
                made = approve_anew(app, _draft(name, version), Lock(), origin="imported")
                assert made.version == version
            else:
                kind = msgspec.convert(what, MoveKind)
                app.lineages("cli").move(name, kind, version, by="ada")
            app.tool_documents.close()
            self.steps.append(Path(shutil.copytree(home, folder / f"step-{number}")))
        self.home = home
        assert allowed_to_run(home) == ALLOWED and not said(home)

    def copy(self, place: Path) -> Path:
        """The home again, for one attack."""
        return Path(shutil.copytree(self.home, place))


def _draft(name: str, version: int) -> ToolDraft:
    code = f'"""Add {version}."""\n\n\ndef run(x: int) -> int:\n    """Add."""\n    return x + {version}\n'
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    return msgspec.structs.replace(
        streams.DRAFT, name=name, code=code, requirements=(), input_schema=schema,
        output_schema={"type": "integer"}, description=f"Adds {version} for {name}.",
    )  # fmt: skip


def allowed_to_run(home: Path) -> frozenset[tuple[str, int]]:
    """What a process that starts now would let run, by every way of naming it."""
    found = set()
    try:
        shelf = AppContext.open(home).library
    except AlitaError:
        return frozenset()
    for name in NAMES:
        for version in (None, 1, 2, 3, 9):
            try:
                record = shelf.get(name, version)
            except AlitaError:
                continue
            same = record.draft.digest == _draft(name, record.version).digest
            found.add((record.draft.name, record.version if same else -1))
    return frozenset(found)


def said(home: Path, *more: str) -> str:
    """What `audit verify` finds wrong; empty where it finds nothing."""
    done = CliRunner().invoke(cli, ["--home", str(home), "audit", "verify", *more])
    if isinstance(done.exception, AlitaError):
        return done.exception.message
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.output if done.exit_code else ""


def attack(share: float, seed: int) -> list[Outcome]:
    """Try this share of all attacks, chosen by the seed."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="alita-records-") as folder:
        root = Path(folder)
        root.chmod(0o700)
        ground = Ground(root)
        sections: list[Outcome] = []
        for section, made in SECTIONS.items():
            every = list(made(ground, random.Random(seed)))
            chosen = chance.sample(every, max(1, round(len(every) * share)))
            missed = []
            for number, one in enumerate(chosen):
                home = ground.copy(root / f"{section.replace(' ', '-')}-{number}")
                missed += tried(home, one)
                shutil.rmtree(home)
            sections.append(
                Outcome(f"records: {section}", len(chosen), len(chosen) - len(missed), tuple(missed))
            )
        return sections


def tried(home: Path, one: Attack) -> list[str]:
    """Attack a home and judge it; a line for what was not held off."""
    told = one.act(home)
    if isinstance(told, str):
        return [f"{one.name}: {told}"]
    wrong = allowed_to_run(home) - ALLOWED
    if wrong:
        return [f"{one.name}: {sorted(wrong)} would run"]
    if one.seen and not said(home):
        return [f"{one.name}: nothing is said of it"]
    return []


# --- the attacks ---------------------------------------------------------------------------


def flips(ground: Ground, chance: random.Random) -> Iterator[Attack]:
    """One bit is another, anywhere in what is relied on."""
    for name in (
        ("data/audit.jsonl",) * 40 + ("data/audit.head", "audit/head") * 10 + ("data/registry.json",) * 20
    ):
        at = chance.randrange((ground.home / name).stat().st_size)
        bit = chance.randrange(8)

        def act(home: Path, name: str = name, at: int = at, bit: int = bit) -> None:
            raw = bytearray((home / name).read_bytes())
            raw[at] ^= 1 << bit
            (home / name).write_bytes(raw)

        # The line's end of a head says nothing; what the library's file says is held to the log.
        ending = name.endswith("head") and at == (ground.home / name).stat().st_size - 1
        yield Attack(f"bit {bit} of byte {at} in {name}", act, "registry" not in name and not ending)


def lines(ground: Ground, chance: random.Random) -> Iterator[Attack]:
    """Lines of the log are taken out, doubled, moved, put in, garbled."""
    many = len(DECISIONS)
    for at in range(many):
        yield _on_lines(f"line {at + 1} is gone", partial(_spliced, start=at, end=at + 1))
        yield _on_lines(f"line {at + 1} is there twice", partial(_spliced, start=at + 1, end=at))
        other = (at + 1 + chance.randrange(many - 1)) % many

        def swapped(found: list[bytes], at: int = at, other: int = other) -> list[bytes]:
            found[at], found[other] = found[other], found[at]
            return found

        yield _on_lines(f"lines {at + 1} and {other + 1} are swapped", swapped)
        noise = bytes(chance.randrange(1, 256) for _ in range(30)).replace(b"\n", b"?") + b"\n"
        yield _on_lines(f"noise before line {at + 1}", partial(_spliced, start=at, end=at, put=(noise,)))
        yield _on_lines(f"line {at + 1} is noise", partial(_spliced, start=at, end=at + 1, put=(noise,)))


def rewritten(ground: Ground, chance: random.Random) -> Iterator[Attack]:
    """Entries say something else, and all hashes are made anew; the key is not had, or is the attacker's own."""
    changes: tuple[tuple[str, Any], ...] = (
        ("verdict", "rejected"), ("who", "mallory"), ("digest", "0" * 64), ("version", 7), ("name", "omega"),
        ("approval_id", "imported-x"), ("lasting", "library"), ("reason", "it is fine"),
    )  # fmt: skip
    for signing in ("kept", "none", "own", "own, heads too"):
        for field, value in changes:
            at = chance.randrange(len(DECISIONS))
            if field == "lasting":  # take the newest word out instead
                yield Attack(
                    f"the last entry taken out, signatures: {signing}", _forger(None, "", "", signing)
                )
            else:
                name = f"entry {at + 1} with another {field}, signatures: {signing}"
                yield Attack(name, _forger(at, field, value, signing))


def cut(ground: Ground, chance: random.Random) -> Iterator[Attack]:
    """The log or a head ends earlier."""
    raw = (ground.home / "data/audit.jsonl").read_bytes()
    ends = [n + 1 for n, byte in enumerate(raw[:-1]) if byte == 10]
    for size in (0, *ends, *(chance.randrange(1, len(raw)) for _ in range(20))):
        yield Attack(f"the log cut to {size} bytes", partial(_cut, name="data/audit.jsonl", size=size))
    for name in ("data/audit.head", "audit/head"):
        for size in (1, 40, 200):
            yield Attack(f"{name} cut to {size} bytes", partial(_cut, name=name, size=size))
    yield Attack("no log", lambda home: (home / "data/audit.jsonl").unlink())
    yield Attack("no head apart", lambda home: (home / "audit/head").unlink())
    yield Attack("no head beside", lambda home: (home / "data/audit.head").unlink(), False)
    yield Attack("no log, no head beside", lambda home: _gone(home, "data/audit.jsonl", "data/audit.head"))
    yield Attack("no heads", lambda home: _gone(home, "audit/head", "data/audit.head"))


def older(ground: Ground, chance: random.Random) -> Iterator[Attack]:
    """Files are put back as they were after an earlier decision: each, and those of the data all together."""
    last = len(DECISIONS) - 1
    for number in range(last):
        for name in ("data/audit.jsonl", "data/audit.head", "audit/head", "data/registry.json"):
            # A head that is behind is what a crash leaves; the log is ahead of it, signed and chained.
            seen = name == "data/audit.jsonl"
            yield Attack(f"{name} of step {number}", _put_back(ground.steps[number], name), seen)
        yield Attack(f"all data of step {number}", _put_back(ground.steps[number], "data"))
        yield Attack(
            f"log and library of step {number}",
            _put_back(ground.steps[number], "data/audit.jsonl", "data/registry.json"),
        )


def library(ground: Ground, chance: random.Random) -> Iterator[Attack]:
    """The library's documents are edited: states, approvals, grants, pins, other names, more versions."""
    for state in ("provisional", "trusted", "stale"):
        for name, version in (("beta", 1), ("delta", 1)):
            yield Attack(
                f"{name} v{version} is {state}",
                partial(_document, name=name, version=version, change={"state": state}),
            )
    for name, other in (("beta", "alpha"), ("delta", "gamma"), ("beta", "delta")):
        yield Attack(f"{name} with the approval of {other}", partial(_lent_approval, name=name, other=other))
    for version in (2, 3, 9):
        yield Attack(f"beta as v{version}", partial(_as_version, name="beta", version=version))
    for name in ("alpha", "gamma", "delta", "beta"):
        version = 2 if name == "delta" else 1
        grants = {"network": ["evil.example:443"], "workspace": "write"}
        yield Attack(
            f"{name} with grants of its own",
            partial(_document, name=name, version=version, change={"grants": grants}),
            name != "beta",  # it does not run
        )
        yield Attack(
            f"{name} with other code", partial(_other_code, name=name, version=version), name != "beta"
        )
        yield Attack(f"{name} with other code and digest", partial(_other_digest, name=name, version=version))
    yield Attack("beta by another name", _alias)
    yield Attack("delta pinned to v1", lambda home: _pin(home, "delta", 1), True)


def notes(ground: Ground, chance: random.Random) -> Iterator[Attack]:
    """Verdicts are left on the desk by hand."""
    for who in ("root", "somebody-else", "ada"):
        for via in ("console", "cli", "policy"):
            for seen_ms in (0.0, 100_000.0, -1.0):
                for signature in ("", "00" * 64):
                    note = _note(who, via, seen_ms, signature)
                    yield Attack(f"a note by {who}, {via}, {seen_ms}", partial(_left, note=note), False)
    yield Attack("a note signed with another key", lambda home: _left(home, _signed_elsewhere()), False)
    yield Attack("a head's signature on a note", lambda home: _left(home, _with_head_signature(home)), False)


def restored(ground: Ground, chance: random.Random) -> Iterator[Attack]:
    """A backup of an earlier time is restored: what was decided since holds."""
    for number in range(len(DECISIONS)):

        def act(home: Path, step: Path = ground.steps[number]) -> str | None:
            made = AppContext.open(step).backups.create()
            place = home / "data" / "backups"
            place.mkdir(mode=0o700, exist_ok=True)
            shutil.copy(made.path, place)
            done = CliRunner().invoke(cli, ["--home", str(home), "backup", "restore", made.backup_id])
            return None if done.exit_code == 0 else f"not restored: {done.output} {done.exception}"

        yield Attack(f"a backup of step {number}", act, False)


def foreign(ground: Ground, chance: random.Random) -> Iterator[Attack]:
    """A tool or a whole folder of data comes to a home whose person decided nothing on it."""
    for number in (3, 6, len(DECISIONS) - 1):
        for what in (("data/registry.json", "data/mcp_box"), ("data",), ("data/mcp_box",)):

            def act(
                home: Path, step: Path = ground.steps[number], what: tuple[str, ...] = what
            ) -> str | None:
                other = home / "other"
                (other / "data").mkdir(parents=True, mode=0o700)
                for one in what:
                    _copy(step / one, other / one)
                found = allowed_to_run(other)
                return f"{sorted(found)} run in another home" if found else None

            yield Attack(f"{', '.join(what)} of step {number} in another home", act, False)

        def unsigned(home: Path, step: Path = ground.steps[number]) -> str | None:
            other = home / "other"
            AppContext.open(other).library.cards()  # somebody lives there already
            _copy(step / "data", other / "data")
            _forger(0, "who", "ada", "none")(other)
            (other / "data/audit.head").unlink(missing_ok=True)
            found = allowed_to_run(other)
            return f"{sorted(found)} run on an unsigned log" if found else None

        yield Attack(f"an unsigned log of step {number} in another home", unsigned, False)


def everything(ground: Ground, chance: random.Random) -> Iterator[Attack]:
    """Data and key are both put back: here nothing can tell, and an anchor elsewhere does."""
    for number in range(len(DECISIONS) - 1):

        def act(home: Path, step: Path = ground.steps[number]) -> str | None:
            anchor = home.parent / f"{home.name}.anchor"
            done = CliRunner().invoke(cli, ["--home", str(home), "audit", "anchor", str(anchor)])
            assert done.exit_code == 0, done.output
            shutil.rmtree(home)
            shutil.copytree(step, home)
            told = said(home, "--anchor", str(anchor))
            shutil.rmtree(home / "data")  # nothing of it is to be judged as if it could be seen here
            shutil.copytree(ground.home / "data", home / "data")
            shutil.rmtree(home / "audit")
            shutil.copytree(ground.home / "audit", home / "audit")
            return None if "is not the one that was anchored" in told else "the anchor says nothing"

        yield Attack(f"everything of step {number}", act, False)


SECTIONS: dict[str, Callable[[Ground, random.Random], Iterator[Attack]]] = {
    "bits": flips,
    "lines": lines,
    "rewritten": rewritten,
    "cut": cut,
    "older copies": older,
    "library": library,
    "desk notes": notes,
    "backups": restored,
    "foreign homes": foreign,
    "all of it": everything,
}


# --- how they are done ---------------------------------------------------------------------


def _spliced(found: list[bytes], start: int, end: int, put: tuple[bytes, ...] = ()) -> list[bytes]:
    return [*found[:start], *put, *found[end:]]


def _on_lines(name: str, change: Callable[[list[bytes]], list[bytes]]) -> Attack:
    def act(home: Path) -> None:
        path = home / "data/audit.jsonl"
        path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))

    return Attack(name, act)


def _forger(at: int | None, field: str, value: object, signing: str) -> Callable[[Path], None]:
    def act(home: Path) -> None:
        path = home / "data/audit.jsonl"
        entries = [json.loads(line) for line in path.read_bytes().splitlines()]
        key = Ed25519PrivateKey.generate()
        public = key.public_key().public_bytes_raw().hex()
        if at is None:
            del entries[-1]
        else:
            entries[at][field] = value
        previous = "0" * 64
        for entry in entries:
            entry["previous"] = previous
            if signing.startswith("own"):
                entry["key"] = public
            elif signing == "none":
                for gone in ("key", "format", "signature"):
                    entry.pop(gone, None)
            bare = {name: one for name, one in entry.items() if name not in ("hash", "signature")}
            previous = entry["hash"] = sha256(msgspec.json.encode(bare, order="sorted")).hexdigest()
            if signing.startswith("own"):
                entry["signature"] = key.sign(f"alita audit entry\n{previous}".encode()).hex()
        raw = b"".join(msgspec.json.encode(one) + b"\n" for one in entries)
        path.write_bytes(raw)
        if signing.endswith("heads too"):
            head = {
                "sequence": len(entries), "hash": previous, "size": len(raw), "digest": sha256(raw).hexdigest(),
                "at": "2026-11-21T10:00:00+00:00", "key": public, "signature": "",
            }  # fmt: skip
            text = msgspec.json.encode(head, order="sorted").decode()
            head["signature"] = key.sign(f"alita audit head\n{text}".encode()).hex()
            (home / "data/audit.head").write_bytes(msgspec.json.encode(head) + b"\n")

    return act


def _cut(home: Path, name: str, size: int) -> None:
    path = home / name
    path.write_bytes(path.read_bytes()[:size])


def _gone(home: Path, *names: str) -> None:
    for name in names:
        (home / name).unlink()


def _put_back(step: Path, *names: str) -> Callable[[Path], None]:
    def act(home: Path) -> None:
        for name in names:
            _copy(step / name, home / name)

    return act


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(source, target)
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.copy(source, target)


def _document(home: Path, name: str, version: int, change: dict[str, Any]) -> None:
    table = AppContext.open(home).tool_documents
    (tool,) = [
        one["tool"]
        for one in table.all()
        if "tool" in one and (one["tool"]["draft"]["name"], one["tool"]["version"]) == (name, version)
    ]
    table.put(f"tool:{name}:{change.get('version', version)}", {"tool": {**tool, **change}})
    table.close()


def _tool(home: Path, name: str) -> dict[str, Any]:
    tools = [one["tool"] for one in AppContext.open(home).tool_documents.all() if "tool" in one]
    return next(one for one in tools if one["draft"]["name"] == name)


def _lent_approval(home: Path, name: str, other: str) -> None:
    _document(home, name, 1, {"state": "provisional", "approval_id": _tool(home, other)["approval_id"]})


def _as_version(home: Path, name: str, version: int) -> None:
    shutil.copytree(home / f"data/mcp_box/{name}/v1", home / f"data/mcp_box/{name}/v{version}")
    _document(home, name, 1, {"state": "provisional", "version": version})


def _other_code(home: Path, name: str, version: int) -> None:
    path = home / f"data/mcp_box/{name}/v{version}/{name}.py"
    path.write_text(path.read_text() + "import os\n")


def _other_digest(home: Path, name: str, version: int) -> None:
    _other_code(home, name, version)
    draft = msgspec.structs.replace(_draft(name, version), code=_draft(name, version).code + "import os\n")
    _document(home, name, version, {"state": "provisional", "digest": build_digest(draft, Lock())})


def _alias(home: Path) -> str | None:
    table = AppContext.open(home).tool_documents
    target = {"name": "alpha", "version": 1, "digest": _draft("alpha", 1).digest}
    table.put(
        "alias:helper", {"alias": {"name": "helper", "description": "", "target": target, "approval_id": "x"}}
    )
    table.close()
    try:
        AppContext.open(home).library.get("helper")
    except AlitaError:
        return None
    return "a name that nobody gave runs"


def _pin(home: Path, name: str, version: int) -> None:
    table = AppContext.open(home).tool_documents
    table.put(f"pin:{name}", {"pin": {"name": name, "version": version}})
    table.close()


def _note(who: str, via: str, seen_ms: float, signature: str) -> dict[str, Any]:
    command = ResolveApproval(approval_id="p9", digest=BuildDigest("d" * 64), verdict=Verdict(decision="approved", via=msgspec.convert(via, type=Any), seen_ms=seen_ms, scrolled_to_end=True))  # fmt: skip
    note = {"command": msgspec.to_builtins(command), "by": who, "at": "2026-11-21T10:00:00+00:00"}
    return {**note, "signature": signature} if signature else note


def _signed_elsewhere() -> dict[str, Any]:
    note = _note("ada", "console", 9000.0, "")
    text = msgspec.json.encode(note, order="sorted").decode()
    return {**note, "signature": Ed25519PrivateKey.generate().sign(f"alita desk note\n{text}".encode()).hex()}


def _with_head_signature(home: Path) -> dict[str, Any]:
    head = json.loads((home / "data/audit.head").read_bytes())
    return _note("ada", "console", 9000.0, head["signature"])


def _left(home: Path, note: dict[str, Any]) -> str | None:
    place = home / "data/desk"
    place.mkdir(mode=0o700, exist_ok=True)
    (place / "p9.json").write_text(json.dumps(note))
    told: list[str] = []
    desk = AppContext.open(home).inbox
    desk.report = told.append
    if desk.verdict("p9") is not None:
        return "it is a verdict"
    return None if told and not (place / "p9.json").exists() else "nobody was told"
