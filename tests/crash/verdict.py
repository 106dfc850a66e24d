"""Checks a session that was killed, and the one that went on from there. Problems are returned as sentences."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from tinydb import TinyDB

from alita_tui import events as e
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import StoreError
from alita_tui.spine.laws import check
from alita_tui.state.reduce import reduce, reduce_all
from alita_tui.state.session import SessionState
from alita_tui.store.audit import AuditLog
from alita_tui.store.sessions import SessionFile, SessionStore
from tests.crash.maps import MAPS, judge_map
from tests.crash.scene import FIVE, SCENES, TASKS, WITNESS_LOG, CrashApp, in_containers, open_app


def session_id_in(folder: Path) -> str | None:
    """Return the id of the session that a process left; None if it was killed before it made one."""
    sessions = SessionStore(folder / "home" / "data" / "sessions").list()
    assert len(sessions) <= 1, sessions
    return sessions[0].session_id if sessions else None


def judge(folder: Path, scene: str) -> list[str]:
    """Return what is wrong with what a killed process left, and with the end of the session that goes on from there."""
    if scene in MAPS:
        return judge_map(folder, scene)
    session_id = session_id_in(folder)
    sessions = folder / "home" / "data" / "sessions"
    before = _read(sessions / f"{session_id}.json") if session_id else []
    problems = _lost_events(folder, before) + [f"as it was left: {breach}" for breach in check(before)]
    asyncio.run({**SCENES, "containers": in_containers}[scene](folder, session_id))
    (path,) = sessions.glob("*.json")
    after = _read(path)
    problems += [f"at its end: {breach}" for breach in check(after, complete=True)]
    if [one.event for one in after[: len(before)]] != [one.event for one in before]:
        problems.append("events that were on record have changed")
    return problems + (_problems_of_five if scene == "five" else _problems_of_two)(folder, path, after)


def _read(path: Path) -> list[Envelope]:
    file = SessionFile.open(path, readonly=True)
    try:
        return list(file.envelopes())
    finally:
        file.close()


def _lost_events(folder: Path, before: list[Envelope]) -> list[str]:
    """Return the events that a subscriber received and that are not on record."""
    received = [line.split()[1:] for line in _witnessed(folder) if line.startswith("received ")]
    return [
        f"event {seq}, {kind}, was received and is lost"
        for seq, kind in received
        if int(seq) > len(before) or type(before[int(seq) - 1].event).__name__ != kind
    ]


def _witnessed(folder: Path) -> list[str]:
    log = folder / WITNESS_LOG
    return log.read_text().splitlines() if log.exists() else []


def _files(home: CrashApp, path: Path, events: list[e.SessionEvent]) -> list[str]:
    """Return what is wrong with the files of the session: those that the person gave, and those that runs left."""
    store = home.sessions.artefacts(path.stem, 10**9)
    problems: list[str] = []
    added = [one for one in events if isinstance(one, e.ArtefactAdded)]
    for one in added:
        try:
            store.path(one.artefact)
        except StoreError as error:
            problems.append(f"a file on record is not there: {error}")
    given = {one.artefact.handle for one in added if one.origin == "person"}
    for submitted in events:
        if isinstance(submitted, e.TaskSubmitted) and (not submitted.files or {*submitted.files} - given):
            problems.append(f"the task {submitted.text!r} began without its file")
    sources = [one.source for one in added if one.origin == "tool"]
    for returned in events:
        if isinstance(returned, e.ToolReturned) and sources.count(returned.call_id) != len(
            returned.report.files
        ):
            problems.append(f"the files of {returned.call_id} are not on record once each")
    litter = [one.name for one in store.folder.iterdir() if one.name.startswith(".")]
    return problems + [f"left in the folder of files: {name}" for name in litter]


def _problems_of_two(folder: Path, path: Path, after: list[Envelope]) -> list[str]:
    """Return what is wrong with the end of two tasks, for which one build was rejected and one approved."""
    events = [one.event for one in after]
    problems = []

    def expect(what: str, found: object, wanted: object) -> None:
        if found != wanted:
            problems.append(f"{what}: {found}, not {wanted}")

    finished = [one for one in events if isinstance(one, e.TaskFinished) and one.outcome != "parked"]
    expect("tasks", tuple(one.text for one in events if isinstance(one, e.TaskSubmitted)), TASKS)
    expect(
        "answers", [(one.outcome, one.answer) for one in finished], [("answered", "8"), ("answered", "10")]
    )

    asked = [one.approval_id for one in events if isinstance(one, e.ApprovalRequested)]
    verdicts = [one for one in events if isinstance(one, e.ApprovalResolved)]
    expect("verdicts", [one.verdict.decision for one in verdicts], ["rejected", "approved"])
    expect("decided", [one.approval_id for one in verdicts], asked)

    kept = [one.item.item_id for one in events if isinstance(one, e.MemoryWritten)]
    expect("memories of tasks", sum(one.startswith("episode:") for one in kept), len(TASKS))
    known = {item.item_id for item in open_app(folder).memory.items()}
    expect("memories on record that are not stored", set(kept) - known, set())

    called = {one.call_id for one in events if isinstance(one, e.ToolCalled)}
    ran = [line.split()[1] for line in _witnessed(folder) if line.startswith("ran ")]
    expect("runs without a record", set(ran) - called, set())
    expect("calls that ran twice", [call for call, times in Counter(ran).items() if times > 1], [])

    home = open_app(folder)
    expect("library", [card.name for card in home.library.cards()], ["double_it"])
    expect("versions", len(home.library.versions("double_it")), 1)
    audit = AuditLog(home.paths.audit, home.paths.audit_key_folder)
    expect("audit", [(one.approval_id, one.verdict) for one in audit.entries()],
           [(one.approval_id, one.verdict.decision) for one in verdicts])  # fmt: skip
    expect("audit chain", audit.verify(), [])
    expect("verdicts left in the inbox", list(home.paths.desk.glob("*")), [])

    problems += _files(home, path, events)
    spent = [one for one in events if isinstance(one, e.BudgetSpent)]
    reserved = {one.call_id for one in events if isinstance(one, e.BudgetReserved)}
    expect("calls that were not settled", reserved - {one.call_id for one in spent}, set())
    total = round(sum(one.cost_usd or 0 for one in spent), 9)
    expect("spent", round(spent[-1].total_usd, 9), total)
    (day,) = home.spend_book("").days().values()
    expect("the day's book", round(day.usd, 9), total)

    with TinyDB(path) as plain:
        expect("events for plain TinyDB", len(plain.table("events")), len(after))
    expect("litter", sorted(one.name for one in path.parent.iterdir() if one.name.endswith(".tmp")), [])
    return problems


def _problems_of_five(folder: Path, path: Path, after: list[Envelope]) -> list[str]:
    """Return what is wrong with the end of five tasks, of which two ran at a time: each is done, and done once."""
    events = [one.event for one in after]
    problems = _files(open_app(folder), path, events)

    def expect(what: str, found: object, wanted: object) -> None:
        if found != wanted:
            problems.append(f"{what}: {found!r} instead of {wanted!r}")

    expect("begun", [one.text for one in events if isinstance(one, e.TaskSubmitted)], list(FIVE))
    ends = [one for one in events if isinstance(one, e.TaskFinished)]
    expect("ends", sorted(one.answer for one in ends), sorted(str(2 * int(task.split()[1])) for task in FIVE))
    ran = Counter(line.split()[1] for line in _witnessed(folder) if line.startswith("ran "))
    called = {str(one.call_id) for one in events if isinstance(one, e.ToolCalled)}
    expect("runs without a record", set(ran) - called, set())
    expect("runs of a call", max(ran.values()), 1)
    spent = [one for one in events if isinstance(one, e.BudgetSpent)]
    reserved = {one.call_id for one in events if isinstance(one, e.BudgetReserved)}
    expect("calls that were not settled", reserved - {one.call_id for one in spent}, set())
    expect("spent", round(spent[-1].total_usd, 9), round(sum(one.cost_usd or 0 for one in spent), 9))
    kept = [
        one.item.item_id
        for one in events
        if isinstance(one, e.MemoryWritten) and one.item.memory == "episodic"
    ]
    expect("tasks remembered", sorted(Counter(kept).values()), [1] * len(FIVE))
    state = SessionState()
    for envelope in after:
        state = reduce(state, envelope)
    expect("a replay", state == reduce_all(after) and not state.lanes, True)
    return problems
