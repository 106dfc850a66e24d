"""Packs: the same bytes for the same tools, and nothing that is not exactly one is read."""

from __future__ import annotations

import io
import json
import stat
import struct
import time
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from alita_tui.app import packs
from alita_tui.app.context import AppContext
from alita_tui.app.packs import Offered, approve, differences, offered, read_pack, signer
from alita_tui.cli.main import cli
from alita_tui.events import (
    BuildId,
    Capabilities,
    Lock,
    LockedPackage,
    Source,
    ToolDraft,
    ToolRecord,
    build_digest,
)
from alita_tui.registry import packs as pack_files
from alita_tui.registry.packs import SIGNED_AS, Evidence, archive_bytes, pack, read
from alita_tui.runtimes.languages import runtime_of
from alita_tui.spine.errors import RegistryError, UsageError
from alita_tui.state.build import BuildState
from alita_tui.store.entry import AuditEntry
from tests.cli.audited import TOOL, Shell
from tests.registry.records import RECORD
from tests.support import streams


def made(*records: ToolRecord) -> bytes:
    manifest, entries = pack("mine", [(one, Evidence(approval_id="p1")) for one in records or (RECORD,)])
    return archive_bytes(manifest, entries, "ab" * 32, "cd" * 64)


def rewritten(change: Callable[[dict[str, bytes]], Any]) -> bytes:
    """A pack whose entries were changed by someone who knows how it is made."""
    with zipfile.ZipFile(io.BytesIO(made())) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    change(entries)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return file.getvalue()


def test_arguments_that_tests_give_by_their_place_keep_their_order() -> None:
    properties = {name: {"type": "string"} for name in ("text", "most", "also")}
    draft = msgspec.structs.replace(
        streams.DRAFT, input_schema={"type": "object", "properties": properties}, language="bash"
    )
    record = msgspec.structs.replace(RECORD, draft=draft, digest=build_digest(draft, streams.LOCK))
    (tool,) = read(made(record)).tools
    assert [*tool.draft.input_schema["properties"]] == ["text", "most", "also"]
    assert runtime_of("bash").parameters(tool.draft) == ["text", "most", "also"]


@pytest.mark.parametrize(
    ("language", "names", "unknown"),
    [("bash", ("text", "most"), True), ("bash", ("text",), False), ("python", ("text", "most"), False)],
)
def test_a_pack_of_an_earlier_version_says_that_its_arguments_are_sorted(
    language: str, names: tuple[str, ...], unknown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema: Any = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    draft = msgspec.structs.replace(streams.DRAFT, input_schema=schema, language=language)
    record = msgspec.structs.replace(RECORD, draft=draft, digest=build_digest(draft, streams.LOCK))
    (today,) = read(made(record)).tools
    assert not today.arguments_sorted
    monkeypatch.setattr(
        pack_files, "as_json", lambda value, indent: pack_files._json(value).decode().rstrip("\n")
    )
    (before,) = read(made(record)).tools
    assert before.arguments_sorted is unknown
    assert [*before.draft.input_schema["properties"]] == sorted(names)


def test_packing_is_reproducible_and_reads_back_unchanged() -> None:
    assert made() == made()
    (tool,) = read(made()).tools
    assert (tool.draft, tool.lock, tool.version, tool.digest) == (
        streams.DRAFT,
        streams.LOCK,
        3,
        streams.DIGEST,
    )
    other = msgspec.structs.replace(RECORD, draft=msgspec.structs.replace(streams.DRAFT, name="another"))
    assert made(RECORD, other) == made(other, RECORD), "whatever their order"
    assert [one.draft.name for one in read(made(RECORD, other)).tools] == ["another", TOOL]


def entry(name: str, data: bytes = b"x", **fields: Any) -> bytes:
    """The pack with one entry more."""
    file = io.BytesIO(made())
    with (
        warnings.catch_warnings(action="ignore"),
        zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive,
    ):
        info = zipfile.ZipInfo(name)
        info.compress_type = zipfile.ZIP_DEFLATED
        for field, value in fields.items():
            setattr(info, field, value)
        archive.writestr(info, data)
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "as an archive"),
        (b"PK\x03\x04", "as an archive"),
        (made()[:-30], "as an archive"),
        (entry("../../evil.py"), "no place in a pack"),
        (entry("/etc/passwd"), "no place in a pack"),
        (entry("tools/../../x"), "no place in a pack"),
        (entry("tools\\evil\\evil.py"), "no place in a pack"),
        (entry("tools/Évil/Évil.py"), "no place in a pack"),
        (entry(f"tools/{TOOL}/other.py"), "no place in a pack"),
        (entry(f"tools/{TOOL}/{TOOL}.py"), "there twice"),
        (entry("pack.json"), "there twice"),
        (entry("tools/a/a.py", external_attr=(stat.S_IFLNK | 0o777) << 16), "not a plain file"),
        (entry("tools/a/a.py", external_attr=(stat.S_IFIFO | 0o777) << 16), "not a plain file"),
        (entry("tools/a/a.py", b"\0" * 2_000_000), "too large"),
        (entry("tools/a/a.py", compress_type=zipfile.ZIP_LZMA), "unsupported method"),
        (entry("tools/a/a.py"), "manifest and entries differ"),
        (rewritten(lambda all: all.pop("pack.json")), "it has no 'pack.json'"),
        (rewritten(lambda all: all.pop(f"tools/{TOOL}/{TOOL}.py")), "manifest and entries differ"),
        (rewritten(lambda all: all.update({f"tools/{TOOL}/{TOOL}.py": b"evil"})), "was changed"),
        (rewritten(lambda all: all.update({"pack.json": b"[" * 100_000})), "cannot be read"),
        (rewritten(lambda all: all.update({"pack.json": all["pack.json"].replace(b"/1", b"/9")})), "its format is"),
        (rewritten(lambda all: all.update({"pack.json": b" " + all["pack.json"]})), "more than it should"),
        (b"\0" * 20_000_001, "larger than 20 MB"),
    ],
)  # fmt: skip
def test_a_hostile_archive_is_refused_and_says_why(data: bytes, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        read(data)


def test_a_bomb_is_not_unpacked() -> None:
    data = bytearray(entry("tools/a/a.py", b"\0" * 900_000_0))
    size = data.rfind(b"PK\x01\x02")
    assert size > 0
    data[size + 24 : size + 28] = struct.pack("<I", 10)  # the directory says that it is small
    honest = entry("tools/a/a.py", bytes(120_000_000))
    tracemalloc.start()
    begun = time.process_time()
    with pytest.raises(UsageError, match="refused"):
        read(bytes(data))
    with pytest.raises(UsageError, match="too large"):
        read(honest)
    assert tracemalloc.get_traced_memory()[1] < 30_000_000 and time.process_time() - begun < 20
    tracemalloc.stop()
    many = io.BytesIO()
    with zipfile.ZipFile(many, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(90):
            archive.writestr(f"tools/a{number}/a{number}.py", b"\0" * 900_000)
    with pytest.raises(UsageError, match="too large"):
        read(many.getvalue())


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(place=st.integers(0, len(made()) - 1), byte=st.integers(0, 255))
def test_a_changed_byte_is_refused_or_changes_nothing(place: int, byte: int) -> None:
    data = bytearray(made())
    data[place] = byte
    try:
        found = read(bytes(data))
    except UsageError:
        return
    assert (found.tools, found.manifest) == (read(made()).tools, read(made()).manifest)


# --- out of one home, into another --------------------------------------------------------------


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "one")


def alita(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), "tools", *words])


def test_listing_a_pack_shows_its_signer_and_adds_nothing(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "mail.alita"
    done = alita(shell.home, "export", str(file), TOOL)
    assert done.exit_code == 0, done.output
    again = tmp_path / "again" / "mail.alita"
    again.parent.mkdir()
    assert alita(shell.home, "export", str(again), TOOL).exit_code == 0
    assert file.read_bytes() == again.read_bytes()
    assert isinstance(alita(shell.home, "export", str(file), TOOL).exception, UsageError), (
        "nothing is overwritten"
    )
    assert isinstance(
        alita(shell.home, "export", str(tmp_path / "b.alita"), "nobody").exception, RegistryError
    )
    assert "signed by this home" in alita(shell.home, "import", str(file)).stdout
    listed = alita(tmp_path / "two", "import", str(file))
    assert (
        "which this home does not know" in listed.stdout and TOOL in listed.stdout and "new" in listed.stdout
    )
    found = json.loads(alita(tmp_path / "two", "import", str(file), "--json").stdout)
    assert found["tools"][0]["evidence"]["approval_id"] == "p1"
    assert any(line.startswith("self-tests") for line in found["tools"][0]["evidence"]["accepted"])
    shown = alita(tmp_path / "two", "import", str(file), "--show", TOOL).stdout
    assert "none of that counts here" in shown and "def run" in shown and "--digest" in shown
    assert "Packages email-validator>=2" in shown and "Output schema" in shown, "the digest covers them too"
    assert "The library is empty" in alita(tmp_path / "two", "list").stdout
    assert json.loads(alita(shell.home, "import", str(file), "--json").stdout)["tools"][0]["state"] in (
        "here",
        "other version",
    )


def test_a_pack_with_an_invalid_signature_is_refused(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "mine.alita"
    file.write_bytes(made())
    with pytest.raises(UsageError, match="signature does not hold"):
        signer(shell.app, read_pack(file))
    assert isinstance(alita(shell.home, "import", str(file)).exception, UsageError)


def test_an_unseen_digest_approves_nothing(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "mail.alita"
    alita(shell.home, "export", str(file), TOOL)
    for digest in ("0" * 64, "abc", "", streams.DRAFT.digest[:4], streams.DRAFT.digest[:63]):
        assert isinstance(
            alita(tmp_path / "two", "import", str(file), "--digest", digest or "x").exception, UsageError
        )


HOLDER = msgspec.structs.replace(
    streams.DRAFT, name="holder", requirements=(), code='def run(k: str = "") -> dict:\n    return {}\n'
)


def register(shell: Shell, draft: ToolDraft, *sources: Source) -> None:
    """Have a tool in the library, approved."""
    digest = build_digest(draft, Lock())
    shell.app.audit.append(AuditEntry(
        who="ada", verdict="approved", digest=digest, name=draft.name, version=1, session_id="",
        approval_id="p8", via="cli",
    ))  # fmt: skip
    shell.app.library.register(draft, Lock(), approval_id="p8", digest=digest, sources=sources)


@pytest.mark.parametrize(
    ("sorted_then", "names"), [(True, ("text", "most")), (True, ("text",)), (False, ("text", "most"))]
)
def test_listing_a_pack_warns_of_tools_with_sorted_arguments(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sorted_then: bool, names: tuple[str, ...]
) -> None:
    schema: Any = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    draft = msgspec.structs.replace(
        streams.DRAFT, name="holder", requirements=(), code="jq .text", input_schema=schema, language="bash"
    )
    register(shell, draft)
    if sorted_then:
        monkeypatch.setattr(
            pack_files, "as_json", lambda value, indent: pack_files._json(value).decode().rstrip("\n")
        )
    file = tmp_path / "old.alita"
    assert alita(shell.home, "export", str(file), "holder").exit_code == 0
    monkeypatch.undo()
    done = alita(tmp_path / "two", "import", str(file))
    assert done.exit_code == 0, done.output
    warning = (
        "holder was packed by an older alita, which sorted its arguments. Its tests give them by their place and may "
        "fail here. If they do, whoever packed it should export it again: alita tools export PACK holder\n"
    )
    assert done.stderr.count(warning) == (sorted_then and len(names) > 1), done.stderr
    assert warning not in done.stdout
    listed = alita(tmp_path / "two", "import", str(file), "--json")
    assert json.loads(listed.stdout)["tools"][0]["name"] == "holder"


KEY = "sk-ant-api03-" + "A1b2C3d4" * 11


@pytest.mark.parametrize(
    "fields",
    [
        {"input_schema": {"type": "object", "properties": {"k": {"type": "string", "default": KEY}}}},
        {"output_schema": {"type": "object", "properties": {KEY: {"type": "string"}}}},
        {"description": f"Ask with {KEY}."},
        {"tests": f'KEY = "{KEY}"\n'},
    ],
    ids=" ".join,
)
def test_a_secret_anywhere_in_a_tool_is_not_exported(
    shell: Shell, tmp_path: Path, fields: dict[str, Any]
) -> None:
    register(shell, msgspec.structs.replace(HOLDER, **fields))
    file = tmp_path / "mine.alita"
    done = alita(shell.home, "export", str(file), "holder")
    assert "holds what looks like a secret" in str(done.exception) and not file.exists()


def test_a_secret_in_the_origin_of_a_tool_is_removed(shell: Shell, tmp_path: Path) -> None:
    source = Source(url=f"https://a.example/?key={KEY}", title=f"of {KEY}", excerpt=f"Use {KEY} for it.")
    register(shell, HOLDER, source)
    file = tmp_path / "mine.alita"
    done = alita(shell.home, "export", str(file), "holder")
    assert done.exit_code == 0, done.output
    with zipfile.ZipFile(file) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    assert not [name for name, data in entries.items() if KEY.encode() in data]
    told = entries["tools/holder/evidence.json"]
    assert (
        b"https://a.example/?key=[redacted" in told
        and b"https://a.example" in entries["tools/holder/holder.mcp.json"]
    )


def test_sources_claimed_by_a_pack_are_shown_and_not_adopted(shell: Shell, tmp_path: Path) -> None:
    claimed = tuple(f"https://docs.python.org/{number}/" + "a" * 2_000 for number in range(200))
    record = msgspec.structs.replace(RECORD, lock=Lock(), draft=HOLDER)
    manifest, entries = pack("mine", [(record, Evidence(sources=claimed, accepted=("x" * 2_000,) * 200))])
    audit = shell.app.audit
    file = tmp_path / "mine.alita"
    file.write_bytes(
        archive_bytes(manifest, entries, audit.checked().public, audit.signed(SIGNED_AS, manifest))
    )
    shown = alita(tmp_path / "two", "import", str(file), "--show", "holder").stdout
    assert "there: source https://docs.python.org/0/" in shown and "180 more" in shown and len(shown) < 20_000
    app = AppContext.open(tmp_path / "two")
    found = read_pack(file)
    (one,) = offered(app, found)
    build = BuildState(build_id=BuildId("b1"), action_id="", name="holder", version=1, goal="", step=0)
    seen = packs.Tested(problem="", lock=Lock(), build=build, risks=())
    record = approve(app, found, one, seen, ())
    assert [source.url for source in record.sources] == ["pack:mine"]


def test_a_pack_contains_the_callees_of_a_tool_which_are_approved_first(shell: Shell, tmp_path: Path) -> None:
    pin = f"{TOOL}@1:{streams.DIGEST}"
    caller = msgspec.structs.replace(
        streams.DRAFT, name="caller", requirements=(), code="def run(addresses: list) -> dict:\n    return {}\n",
        capabilities=Capabilities(tools=(pin,)),
    )  # fmt: skip
    register(shell, caller)
    file = tmp_path / "both.alita"
    done = alita(shell.home, "export", str(file), "caller")
    assert f"{TOOL} went along" in done.stdout, done.output
    two = AppContext.open(tmp_path / "two")
    first, second = offered(two, read_pack(file))
    assert (first.draft.name, first.state) == (TOOL, "new")
    assert (second.draft.name, second.state) == ("caller", "not yet") and TOOL in second.problem
    shown = alita(shell.home, "show", "caller").stdout
    assert f"calls {TOOL} v1" in shown
    assert "called by caller v1, which calls v1" in alita(shell.home, "show", TOOL).stdout
    graph = json.loads(alita(shell.home, "graph", "--json").stdout)
    assert graph == [
        {
            "caller": "caller",
            "caller_version": 1,
            "callee": TOOL,
            "callee_version": 1,
            "current": 1,
            "behind": False,
        }
    ]


def test_every_npm_package_that_resolves_differently_here_is_reported() -> None:
    def lock(*packages: tuple[str, str, str]) -> Lock:
        return Lock(
            packages=tuple(
                LockedPackage(
                    name=f"npm:{name}",
                    version=version,
                    place=f"node_modules/{n}",
                    hashes=(f"sha512-{content}",),
                )
                for n, (name, version, content) in enumerate(packages)
            )
        )

    there = lock(("low", "1.0.0", "a"), ("low", "2.0.0", "b"))
    (packed,) = read(
        made(msgspec.structs.replace(RECORD, lock=there, digest=build_digest(RECORD.draft, there)))
    ).tools
    offer = Offered(packed=packed, draft=packed.draft, state="new")
    assert differences(offer, there) == ()
    told = differences(offer, lock(("low", "1.0.1", "a"), ("low", "2.0.0", "b")))
    assert told == ("npm:low 1.0.1 and 2.0.0 here, 1.0.0 and 2.0.0 there",)
    told = differences(offer, lock(("low", "1.0.0", "a"), ("low", "2.0.0", "evil")))
    assert told == ("npm:low@2.0.0 has another content here than there",)
