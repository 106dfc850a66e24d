import ast
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from alita_tui.config.paths import shipped
from alita_tui.events import BuildDigest, Lock, RunOutcome, Source, ToolDraft, ToolName, build_digest
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.starters import Starters
from alita_tui.spine.errors import DigestMismatch, RegistryError
from alita_tui.spine.ports.library import FinishedRun
from alita_tui.store.documents import DocumentTable
from alita_tui.toolsmith.contract import normalise
from tests.support import streams

DRAFT, LOCK, DIGEST = streams.DRAFT, streams.LOCK, streams.DIGEST
SOURCES = (Source(url="https://pypi.org/project/email-validator/", title="email-validator"),)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path


def shelf(data: Path) -> ToolLibrary:
    return ToolLibrary(DocumentTable(data / "registry.json", "tools"), data / "mcp_box")


def add(on: ToolLibrary, draft: ToolDraft = DRAFT, approval: str = "p1"):
    return on.register(draft, LOCK, approval_id=approval, digest=build_digest(draft, LOCK), sources=SOURCES)


def changed(**changes) -> ToolDraft:
    return msgspec.structs.replace(DRAFT, **changes)


def test_a_registered_tool_survives_a_restart(data):
    made = add(shelf(data))
    assert (made.version, made.state, made.parent_version) == (1, "provisional", None)
    again = shelf(data)
    assert again.get(DRAFT.name) == made and again.get(DRAFT.name).draft == DRAFT
    assert again.cards() == (made.card,) and again.versions(DRAFT.name) == (made,)
    assert again.search("validate email addresses").hits[0].card == made.card
    assert again.search("validate email addresses").hits[0].input_schema == DRAFT.input_schema


def test_the_files_of_a_stored_tool_hold_its_facts_and_run_without_alita(data):
    add(shelf(data))
    place = data / "mcp_box" / DRAFT.name / "v1"
    facts = json.loads((place / f"{DRAFT.name}.mcp.json").read_text())
    assert (facts["name"], facts["inputSchema"]) == (DRAFT.name, DRAFT.input_schema)
    assert (facts["digest"], facts["version"], facts["evidence"]["approval"]) == (DIGEST, 1, "p1")
    assert facts["requirements"]["asked"] == list(DRAFT.requirements)
    assert {package["name"]: package["hashes"] for package in facts["requirements"]["lock"]["packages"]} == {
        package.name: list(package.hashes) for package in LOCK.packages
    }
    assert facts["annotations"] == {"readOnlyHint": True, "openWorldHint": False}
    assert (place / f"{DRAFT.name}.py").read_text() == DRAFT.code
    ast.parse((place / facts["tests"]).read_text())
    code = "import json, sys\ndef run(x): return 2 * x\nprint(json.dumps(run(**json.load(sys.stdin))))\n"
    pure = ToolDraft(name=ToolName("double"), description="Double.", tests="", code=code)
    add(shelf(data), pure, "p2")
    script = data / "mcp_box" / "double" / "v1" / "double.py"
    done = subprocess.run([sys.executable, script], input=b'{"x": 4}', capture_output=True, check=True)
    assert done.stdout == b"8\n"


def test_a_tool_runs_as_a_script_with_uv(data):
    try:
        from uv import find_uv_bin

        uv = find_uv_bin()
    except (ImportError, FileNotFoundError) as error:
        pytest.skip(f"uv is not installed: {error}")
    calculator = normalise(Starters(shipped("starters")).draft("calculator"))
    record = shelf(data).register(
        calculator, Lock(), approval_id="p1", digest=build_digest(calculator, Lock()), sources=()
    )
    script = data / "mcp_box" / "calculator" / "v1" / "calculator.py"
    assert script.read_text().startswith("# /// script\n") and record.draft.code == script.read_text()
    done = subprocess.run(
        [uv, "run", "--quiet", "--offline", "--no-config", "--no-project", "--script", script],
        input=b'{"expression": "6 * 7"}', capture_output=True, env={**os.environ, "UV_PYTHON": sys.executable},
        cwd=data, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert 42 in json.loads(done.stdout).values()


def test_a_changed_lock_does_not_run(data):
    on = shelf(data)
    add(on)
    path = data / "mcp_box" / DRAFT.name / "v1" / f"{DRAFT.name}.mcp.json"
    facts = json.loads(path.read_text())
    for field, value in (("version", "0.0.1"), ("name", "evil"), ("hashes", ["sha256:" + "00" * 32])):
        package = {**facts["requirements"]["lock"]["packages"][0], field: value}
        lock = {**facts["requirements"]["lock"], "packages": [package]}
        path.write_text(json.dumps({**facts, "requirements": {**facts["requirements"], "lock": lock}}))
        with pytest.raises(DigestMismatch, match="not the ones that were approved"):
            on.get(DRAFT.name)
    with pytest.raises(DigestMismatch):
        on.register(DRAFT, Lock(), approval_id="p9", digest=DIGEST, sources=())


@pytest.mark.parametrize("file", [f"{DRAFT.name}.py", f"test_{DRAFT.name}.py", f"{DRAFT.name}.mcp.json"])
def test_changed_bytes_do_not_run(data, file):
    on = shelf(data)
    add(on)
    path = data / "mcp_box" / DRAFT.name / "v1" / file
    whole = path.read_text()
    path.write_text(
        whole.replace("each address", "every address")
        .replace("by syntax", "by guess")
        .replace("plain", "odd")
    )
    assert path.read_text() != whole
    with pytest.raises(DigestMismatch, match="not the ones that were approved"):
        on.get(DRAFT.name)
    path.write_text(whole)
    assert on.get(DRAFT.name).digest == DIGEST
    path.write_bytes(path.read_bytes() + b"\xff")
    with pytest.raises(RegistryError):
        on.get(DRAFT.name)
    path.unlink()
    with pytest.raises(RegistryError, match="could not be read"):
        on.get(DRAFT.name)


def test_line_ends_and_odd_characters_survive_byte_for_byte(data):
    odd = changed(code="x = 1\r\ny = '\u202e\u00e9'\r", tests="\n\n", description="Ünïcode \x1b[31m")
    on = shelf(data)
    add(on, odd)
    assert on.get(odd.name).draft == odd
    with pytest.raises(RegistryError, match="no file can hold"):
        add(on, changed(name="surrogate", code="'\ud800'"), "p9")
    assert [card.name for card in on.cards()] == [odd.name]


def test_only_approved_bytes_are_registered(data):
    on = shelf(data)
    with pytest.raises(DigestMismatch):
        on.register(DRAFT, Lock(), approval_id="p1", digest=BuildDigest("0" * 64), sources=())
    with pytest.raises(RegistryError, match="no approval"):
        on.register(DRAFT, Lock(), approval_id="", digest=BuildDigest(DRAFT.digest), sources=())
    for name in ("../evil", "A", "", "a/b", "x" * 65):
        with pytest.raises(RegistryError, match="not a name for a tool"):
            add(on, changed(name=name))
    assert on.cards() == () and not (data / "mcp_box").exists()


def test_registering_the_same_approval_again_gives_the_same_version(data):
    on = shelf(data)
    first = add(on)
    assert add(on) == first == add(shelf(data))
    with pytest.raises(DigestMismatch, match="approved another draft"):
        add(on, changed(code="other = 1"))
    assert len(on.versions(DRAFT.name)) == 1


def test_a_newer_version_takes_over_and_the_older_one_stays(data):
    on = shelf(data)
    old = add(on)
    assert on.next_version(DRAFT.name) == 2 and on.next_version("other") == 1
    new = add(on, changed(description="Validate addresses of email better."), "p2")
    assert (new.version, new.parent_version) == (2, 1)
    assert [card.version for card in on.cards()] == [2]
    assert on.get(DRAFT.name).version == 2 and on.get(DRAFT.name, 1) == old
    assert [hit.card.version for hit in on.search("validate email addresses").hits] == [2]
    on.change_state(DRAFT.name, 2, "revoked")
    assert [card.version for card in on.cards()] == [1] and on.get(DRAFT.name) == old
    with pytest.raises(RegistryError, match="v2 is revoked"):
        on.get(DRAFT.name, 2)
    on.change_state(DRAFT.name, 1, "archived")
    assert on.cards() == () and on.search("validate email addresses").hits == ()
    with pytest.raises(RegistryError, match="There is no tool"):
        on.get(DRAFT.name)
    assert [record.state for record in shelf(data).versions(DRAFT.name)] == ["archived", "revoked"]
    with pytest.raises(RegistryError):
        on.change_state(DRAFT.name, 9, "revoked")


def test_trust_is_earned_by_two_different_successes_and_lost_by_failures(data):
    on = shelf(data)
    add(on)

    def run(ok: bool, query: str):
        on.record_run(DRAFT.name, 1, ok=ok, query=query)
        return on.cards()[0]

    assert run(True, "check ada@example.org for validity").state == "provisional"
    assert run(True, "check bob@example.org for validity").state == "provisional", "the same need again"
    card = run(True, "clean the newsletter recipients")
    assert (card.state, card.runs, card.failures) == ("trusted", 3, 0)
    assert run(False, "anything").state == "trusted", "one failure is none"
    assert run(False, "anything").state == "provisional"
    card = run(False, "anything")
    assert (card.state, card.runs, card.failures) == ("stale", 6, 3)
    assert shelf(data).cards() == (card,)
    assert on.search("newsletter recipients to clean").hits[0].card.name == DRAFT.name, "learned from use"
    assert on.search("anything").hits == (), "a failure teaches nothing"


def test_a_run_that_is_counted_has_its_outcome_after_a_power_cut(data, monkeypatch):
    on = shelf(data)
    add(on)
    journal = next(path for path in data.iterdir() if "journal" in path.name)
    synced: list[int] = []
    real = os.fdatasync

    def watched(fd: int) -> None:
        real(fd)
        synced.append(os.fstat(fd).st_size)

    monkeypatch.setattr(os, "fdatasync", watched)
    outcome = RunOutcome(run="s/1", at="2026-11-01T10:00:00+00:00", grade="misfit")
    on.record_run(DRAFT.name, 1, ok=True, query="", outcome=outcome)
    assert len(synced) == 1, "each sync is time that a client waits"
    os.truncate(journal, synced[-1])  # what the disk surely has
    again = shelf(data)
    assert again.track(DRAFT.name, 1).outcomes == (outcome,)
    (record,) = again.records()
    assert record.runs == 1


COUNTING = """
import sys
from pathlib import Path
from alita_tui.events import RunOutcome
from alita_tui.registry.library import ToolLibrary
from alita_tui.store.documents import DocumentTable
data, name, who, many = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
on = ToolLibrary(DocumentTable(data / "registry.json", "tools"), data / "mcp_box")
print("ready", flush=True)
sys.stdin.readline()
for number in range(many):
    outcome = RunOutcome(run=f"{who}/{number}", at="2026-11-01T10:00:00+00:00", grade="ran")
    on.record_run(name, 1, ok=True, query="", outcome=outcome)
"""


def test_processes_that_count_at_the_same_time_lose_no_run(data):
    add(shelf(data))
    words = [sys.executable, "-c", COUNTING, str(data), str(DRAFT.name)]
    each = 60
    crowd = [
        subprocess.Popen(
            [*words, str(who), str(each)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={"PYTHONPATH": str(Path.cwd())},
        )
        for who in range(3)
    ]  # fmt: skip
    for one in crowd:
        assert one.stdout is not None and one.stdout.readline() == b"ready\n"
    for one in crowd:
        assert one.stdin is not None
        one.stdin.write(b"\n")
        one.stdin.flush()
    for one in crowd:
        one.communicate()
        assert one.returncode == 0
    (record,) = shelf(data).records()
    assert record.runs == 3 * each


def test_runs_counted_together_equal_runs_counted_one_by_one_and_are_on_disk(data, tmp_path, monkeypatch):
    together, alone = shelf(data), shelf(tmp_path / "alone")
    for library in (together, alone):
        add(library)
    ends = [True, True, False, True, False, False]
    runs = [
        FinishedRun(
            name=DRAFT.name, version=1, ok=ok, query=f"need {number}",
            outcome=RunOutcome(run=f"s/{number}", at=f"2026-11-01T10:0{number}:00+00:00", grade="ran" if ok else "failed"),
        )
        for number, ok in enumerate(ends)
    ]  # fmt: skip
    synced: list[int] = []
    real = os.fdatasync

    def watched(fd: int) -> None:
        real(fd)
        synced.append(os.fstat(fd).st_size)

    for run in runs:
        state = alone.record_run(run.name, 1, ok=run.ok, query=run.query, outcome=run.outcome)
    monkeypatch.setattr(os, "fdatasync", watched)
    assert together.record_runs([*runs, FinishedRun(name="unknown", version=3, ok=True)])[-2:] == (
        state,
        None,
    )
    assert len(synced) == 1
    os.truncate(next(path for path in data.iterdir() if "journal" in path.name), synced[-1])
    again = shelf(data)
    (mine,), (theirs,) = again.versions(DRAFT.name), alone.versions(DRAFT.name)
    assert (mine.state, mine.runs, mine.failures) == (theirs.state, 6, 3)
    assert again.track(DRAFT.name, 1) == alone.track(DRAFT.name, 1)
    assert [need.query for need in again.needs_met(DRAFT.name)] == [
        need.query for need in alone.needs_met(DRAFT.name)
    ]


def test_counting_a_run_does_not_undo_a_revocation_by_another_process(data):
    mine, other = shelf(data), shelf(data)
    add(mine)
    mine.cards()
    other.change_state(DRAFT.name, 1, "revoked")
    mine.record_run(DRAFT.name, 1, ok=True, query="validate this")
    assert mine.cards() == other.cards() == ()


def test_two_processes_share_the_library(data):
    mine, other = shelf(data), shelf(data)
    assert mine.cards() == other.cards() == ()
    add(mine)
    code = f"""
import sys
from pathlib import Path
import msgspec
from tests.support import streams
from alita_tui.registry.library import ToolLibrary
from alita_tui.events import build_digest
from alita_tui.store.documents import DocumentTable
data = Path({str(data)!r})
on = ToolLibrary(DocumentTable(data / "registry.json", "tools"), data / "mcp_box")
assert [card.version for card in on.cards()] == [1]
draft = msgspec.structs.replace(streams.DRAFT, code="x = 2")
print(on.register(draft, streams.LOCK, approval_id="p2", digest=build_digest(draft, streams.LOCK), sources=()).version)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        env={"PYTHONPATH": str(Path.cwd())},
    )
    assert done.stdout == b"2\n"
    assert [record.version for record in other.versions(DRAFT.name)] == [1, 2]
    assert mine.next_version(DRAFT.name) == 3 and mine.get(DRAFT.name).draft.code == "x = 2"


def test_a_version_number_is_used_once_even_if_the_index_lags(data):
    """The number is claimed in the file system, where two processes cannot both have it."""

    class Lagging:
        """Another process's registrations are not seen yet."""

        def __init__(self):
            self.kept = {}

        def all(self):
            return tuple(self.kept.values())

        def put(self, key, document, *, barrier=True):
            self.kept[key] = document

        def remove(self, key):
            self.kept.pop(key, None)

        def changing(self):
            return nullcontext()

        def sync(self):
            pass

    one, two = (ToolLibrary(Lagging(), data / "mcp_box") for _ in range(2))
    first = add(one)
    second = add(two, changed(code="x = 3"), "p2")
    assert (first.version, second.version) == (1, 2)
    assert one.get(DRAFT.name).draft == DRAFT


def test_unreadable_documents_are_ignored(data):
    table = DocumentTable(data / "registry.json", "tools")
    odd: Any
    for number, odd in enumerate(
        [None, 3, {"tool": {"name": 1}}, {"use": {}}, {"future": {}}, {"tool": None}]
    ):
        table.put(f"odd{number}", odd)
    on = shelf(data)
    add(on)
    assert [card.name for card in on.cards()] == [DRAFT.name] and len(table.all()) == 7


def test_threads_can_ask_and_count_at_the_same_time(data):
    on = shelf(data)
    add(on)
    with ThreadPoolExecutor(4) as pool:
        counted = [
            pool.submit(on.record_run, DRAFT.name, 1, ok=True, query=f"need {n % 3}") for n in range(40)
        ]
        found = [pool.submit(on.search, "validate email addresses") for _ in range(40)]
        assert all(one.result().hits for one in found) and not [
            one.exception() for one in counted if one.exception()
        ]
    assert on.cards()[0].runs == shelf(data).cards()[0].runs == 40


def told(library: ToolLibrary) -> object:
    """All that a library says of its tools."""
    names = sorted(library.names())
    return (
        library.records(),
        [library.versions(name) for name in names],
        [(library.track(name, 1), library.reliability(name, 1)) for name in names],
        [library.pinned(name) for name in names],
    )


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("run", "fail", "note", "pin", "unpin", "archive", "add", "forget", "wait")),
        st.integers(0, 1),
        st.integers(0, 2),
    ),
    max_size=14,
)


@given(steps=STEPS)
@example([("add", 0, 0), ("run", 0, 0), ("run", 0, 1), ("run", 1, 0), ("forget", 1, 0), ("run", 1, 2)])
@example([("add", 0, 0), ("run", 0, 0), ("wait", 0, 0)])
@settings(max_examples=12)
def test_incremental_updates_equal_a_fresh_read_of_the_library(steps: list[tuple[str, int, int]]) -> None:
    at = [datetime(2026, 11, 26, tzinfo=UTC)]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)

        def opened() -> ToolLibrary:
            documents = DocumentTable(data / "registry.json", "tools")
            return ToolLibrary(documents, data / "mcp_box", clock=lambda: at[0])

        both = (opened(), opened())
        names = [ToolName(f"{DRAFT.name}_{letter}") for letter in "abc"]
        for step, (what, who, which) in enumerate(steps):
            library, name = both[who], names[which]
            outcome = RunOutcome(run=f"s/{step}", at=at[0].isoformat(), grade="accepted", task=f"t{step}")
            known = bool(library.versions(name))
            match what:
                case "run" | "fail":
                    library.record_run(name, 1, ok=what == "run", query=f"q {step}", outcome=outcome)
                case "note":
                    library.note(name, 1, (outcome,))
                case "pin" | "unpin" if known:
                    library.pin(name, 1 if what == "pin" else None)
                case "archive" if known:
                    library.change_state(name, 1, "archived")
                case "add":
                    add(library, changed(name=name, description=f"Does {step}."), f"p{step}")
                case "forget":
                    library._documents.remove(f"use:{name}:1")
                case "wait":
                    at[0] += timedelta(days=100)
                case _:
                    pass
            library.records()
        assert told(both[0]) == told(both[1]) == told(opened())


def test_a_mistyped_name_is_answered_with_the_nearest(data):
    on = shelf(data)
    add(on)
    with pytest.raises(RegistryError) as refused:
        on.get("validate_email_adresses")
    assert refused.value.hint == f"Did you mean {DRAFT.name}?"
    with pytest.raises(RegistryError) as refused:
        on.get("weather")
    assert refused.value.hint == "`alita tools list` shows the library."
