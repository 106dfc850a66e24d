"""Runs of a suite through the command line, against a model server on loopback: results, money, going on after a kill."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alita_tui.events import BudgetSpent
from alita_tui.llm.scripted import Rule, Script, ScriptReply
from tests.app.evaluation.suites import CALL, MIND, alita, command, settle, suite, sums, until
from tests.cli.scripted_runs import act
from tests.support.servers.openai_server import OpenAIServer
from tests.support.servers.wire import Fault, Received


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(MIND) as one:
        yield one


def test_a_run_shows_its_figures_and_where_it_went_wrong(tmp_path: Path, server: OpenAIServer) -> None:
    home = tmp_path / "home"
    settle(home, server)
    ran = alita(
        home, "run", str(sums(tmp_path / "s", 2, 1)), "--repeat", "2", "--fail-under", "0.9", "--json"
    )
    assert ran.returncode == 1, ran.stderr
    assert "Solved 67%" in ran.stderr and "6/6" in ran.stderr
    told = json.loads(ran.stdout)
    assert (told["ended"], told["solved"]) == (6, 4)
    assert told["usd"] == pytest.approx(10 * CALL)
    assert sorted((one["case"], one["turn"]) for one in told["cases"]) == sorted(
        (case, turn) for case in ("sum-0", "sum-1", "off-0") for turn in (1, 2)
    )
    wrong = next(one for one in told["cases"] if one["case"] == "off-0")
    assert (wrong["failure"], wrong["why"]) == ("ungrounded answer", "41 instead of 42")
    assert told["setup"]["prompts"]["agent/prompts/orchestrator.md"]
    assert {one["library_digest"] for one in told["cases"]} == {told["setup"]["library_digest"]} != {""}, (
        "an empty library has a digest, too, and no case built anything"
    )
    shown = alita(home, "show", "last").stdout
    again = next(line.split() for line in shown.splitlines() if wrong["session_id"] in line)
    assert again[:2] == ["alita", "--home"]
    replayed = subprocess.run(
        [sys.executable, "-m", "alita_tui", *again[1:], "--headless"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert replayed.returncode == 0, replayed.stderr
    assert not list((home / "data" / "sessions").glob("*.json")), "no case is a session of the person's home"
    assert "6" in alita(home, "list").stdout


@pytest.mark.walk
def test_a_killed_run_continues_and_nothing_is_done_or_paid_twice(
    tmp_path: Path, server: OpenAIServer
) -> None:
    """The oracle is the wire: what the server was asked, what it answered, and what it charges for that."""
    home, cases, jobs, answered = tmp_path / "home", 50, 3, 24
    settle(home, server)
    folder = sums(tmp_path / "s", cases)
    # Once so many calls are answered, each worker has one that hangs; only then is the process killed.
    server.plan(*[Fault()] * answered, *[Fault(then="stall")] * jobs)
    process = subprocess.Popen(
        command(home, "run", str(folder), "--jobs", str(jobs)),
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    until(lambda: len(server.requests) == answered + jobs, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    hanging = Counter(map(asked, server.requests[answered:]))
    assert len(hanging) == jobs
    (run,) = (home / "data" / "evaluations").iterdir()
    before = (run / "results.jsonl").read_bytes()
    assert 0 < before.count(b"\n") <= answered // 2
    with (run / "results.jsonl").open("ab") as file:
        file.write(b'{"case":"sum-49","mod')  # as a kill in the middle of a write leaves it

    went_on = alita(home, "run", "--resume", run.name, "--jobs", str(jobs), "--json")
    assert went_on.returncode == 0, went_on.stderr
    told = json.loads(went_on.stdout)
    assert (told["ended"], told["solved"]) == (cases, cases)
    assert len({one["case"] for one in told["cases"]}) == cases
    assert (run / "results.jsonl").read_bytes().startswith(before), "what had ended is not done again"
    assert (run / "results.jsonl").read_bytes().count(b'{"case":') == cases + 1, "and not written again"
    wire = Counter(map(asked, server.requests))
    every = Counter((f"Add {n}.", turn) for n in range(cases) for turn in (0, 1))
    assert wire == every + hanging, (
        "each call once, and again those alone that the kill left without an answer"
    )

    sessions = list((run / "homes").glob("*/data/sessions/*.json"))
    assert len(sessions) == cases, "a case that the kill broke off goes on in its own session"
    charged = 2 * cases * CALL
    assert sum(_paid(session, estimated=False) for session in sessions) == pytest.approx(charged, abs=1e-9)
    cut_off = [usd for session in sessions if (usd := _paid(session, estimated=True))]
    assert len(cut_off) == jobs, "a call without an answer counts as what it could have cost, and once"
    assert told["usd"] == pytest.approx(charged + sum(cut_off), abs=1e-9)
    count, whole = len(server.requests), (run / "results.jsonl").read_bytes()
    done = alita(home, "run", "--resume", run.name, "--json")
    assert json.loads(done.stdout)["usd"] == told["usd"] and len(server.requests) == count
    assert (run / "results.jsonl").read_bytes() == whole, "no case counts as left that has ended"


@pytest.mark.walk
def test_ctrl_c_stops_a_run_that_can_be_continued_as_it_says(tmp_path: Path, server: OpenAIServer) -> None:
    home, cases, jobs, answered = tmp_path / "home", 8, 2, 6
    settle(home, server)
    server.plan(*[Fault()] * answered, *[Fault(then="stall")] * jobs)
    process = subprocess.Popen(
        command(home, "run", str(sums(tmp_path / "s", cases)), "--jobs", str(jobs)),
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    until(lambda: len(server.requests) == answered + jobs, process)
    hanging = Counter(map(asked, server.requests[answered:]))
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    (run,) = (home / "data" / "evaluations").iterdir()
    assert process.returncode == 130 and "Traceback" not in said, said
    assert f"Go on: alita eval run --resume {run.name}" in said
    ended = (run / "results.jsonl").read_bytes().count(b"\n")
    assert 0 < ended <= answered // 2 and f"{ended} of {cases}" in alita(home, "list").stdout
    assert f"{cases - ended} cases to go" in alita(home, "show").stdout
    went_on = json.loads(alita(home, "run", "--resume", "last", "--json").stdout)
    assert (went_on["ended"], went_on["solved"]) == (cases, cases)
    every = Counter((f"Add {n}.", turn) for n in range(cases) for turn in (0, 1))
    assert Counter(map(asked, server.requests)) == every + hanging, "nothing that was answered is asked again"


def asked(request: Received) -> tuple[str, int]:
    """The task of a request, and how many turns of the agent came before it."""
    said = [str(one.get("content") or "") for one in request.body["messages"]]
    task = next(text.partition("TASK: ")[2] for text in said if "TASK: " in text[:40])
    return task.splitlines()[0], sum(one["role"] == "assistant" for one in request.body["messages"])


def _paid(session: Path, *, estimated: bool) -> float:
    """Dollars in a session's record, read without the evaluation's code: those of calls that broke off, or of the others."""
    from alita_tui.store.sessions import SessionFile

    file = SessionFile.open(session, readonly=True)
    try:
        spent = [one.event for one in file.history() if isinstance(one.event, BudgetSpent)]
        return sum(one.cost_usd or 0.0 for one in spent if one.estimated is estimated)
    finally:
        file.close()


def test_the_budget_of_a_run_is_never_broken(tmp_path: Path, server: OpenAIServer) -> None:
    home = tmp_path / "home"
    settle(home, server)
    with (home / "config.toml").open("a") as settings:
        settings.write("[budget]\nreply_tokens = 500\ntask_usd = 0.03\n")
    ran = alita(home, "run", str(sums(tmp_path / "s", 16)), "--budget-usd", "0.05", "--jobs", "4", "--json")
    assert ran.returncode == 3, ran.stderr
    told = json.loads(ran.stdout)
    assert 0 < told["ended"] < 16 and 0 < told["usd"] <= 0.05
    assert "too little is left of the budget" in ran.stderr and "--budget-usd MORE" in ran.stderr
    assert f"{told['ended']} of 16" in alita(home, "list").stdout
    whole = json.loads(alita(home, "run", "--resume", "last", "--budget-usd", "0.2", "--json").stdout)
    assert (
        whole["ended"] == 16 and whole["unfinished_usd"] == 0 and whole["usd"] == pytest.approx(32 * CALL)
    ), "and with more it goes on"


def test_the_cost_of_a_case_cut_off_by_the_budget_is_reported(tmp_path: Path, server: OpenAIServer) -> None:
    home = tmp_path / "home"
    settle(home, server)
    with (home / "config.toml").open("a") as settings:
        settings.write("[budget]\nreply_tokens = 500\n")
    ran = alita(home, "run", str(sums(tmp_path / "s", 1)), "--budget-usd", "0.0063", "--json")
    told = json.loads(ran.stdout)
    assert (ran.returncode, told["ended"]) == (3, 0), "the second of its two calls did not fit"
    assert told["usd"] == told["unfinished_usd"] == pytest.approx(CALL)
    assert "$0.0021" in alita(home, "list").stdout
    assert [line.usd for line in _shown_lines(home)] == [pytest.approx(CALL)], "the console tells the same"
    assert "$0.0021 more was paid" in alita(home, "show").stdout


def _shown_lines(home: Path) -> tuple[Any, ...]:
    from alita_tui.app.context import AppContext
    from alita_tui.app.evaluation.views import run_lines

    app = AppContext.open(home)
    try:
        return run_lines(app)
    finally:
        app.close()


def test_costs_are_read_again_only_for_sessions_that_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of runs opens no session twice, however long it is; one that changed, or whose case ended, counts anew."""
    from datetime import UTC, datetime

    from alita_tui.app.evaluation import costs
    from alita_tui.evaluation.results import Setup
    from alita_tui.store.sessions import SessionFile, SessionStore
    from tests.statistics.simulated import envelopes

    setup = Setup(run="r", suite="s", suite_path="", suite_digest="", models=("a:b",))
    opened: list[Path] = []

    def opening(path: Path, **more: Any) -> SessionFile:
        opened.append(path)
        return real(path, **more)

    real = SessionFile.open
    monkeypatch.setattr(SessionFile, "open", opening)
    paid = {}
    for number, folder in enumerate((tmp_path / "homes" / "1" / "data" / "sessions", tmp_path / "judge")):
        name = f"x-{number}"
        told = list(envelopes(name, datetime(2026, 11, 1, tzinfo=UTC), tasks=3 + number))
        SessionStore(folder).add(name, told)
        paid[number] = sum(one.event.cost_usd or 0.0 for one in told if isinstance(one.event, BudgetSpent))
    opened.clear()
    assert costs.unfinished_usd(tmp_path, setup) == pytest.approx(paid[0] + paid[1]) and len(opened) == 2
    assert costs.unfinished_usd(tmp_path, setup) == pytest.approx(paid[0] + paid[1]) and len(opened) == 2
    (tmp_path / "costs.json").write_text("damaged")
    assert costs.unfinished_usd(tmp_path, setup) == pytest.approx(paid[0] + paid[1]) and len(opened) == 4
    (tmp_path / "judge" / "x-1.json").unlink()
    SessionStore(tmp_path / "judge").add("x-1", envelopes("x-1", datetime(2026, 11, 2, tzinfo=UTC), tasks=1))
    opened.clear()
    assert costs.unfinished_usd(tmp_path, setup) != pytest.approx(paid[0] + paid[1])
    assert [path.name for path in opened] == ["x-1.json"]
    (tmp_path / "results.jsonl").write_text('{"case": "a", "model": "a:b", "turn": 1, "home": "homes/1"}\n')
    assert costs.unfinished_usd(tmp_path, setup) < paid[1], "what has ended is in its result"


def test_cases_count_towards_the_daily_budget(tmp_path: Path, server: OpenAIServer) -> None:
    """Each case has a home of its own; what it spends is the person's, and so is the cap of a day."""
    home = tmp_path / "home"
    settle(home, server)
    with (home / "config.toml").open("a") as settings:
        settings.write("[budget]\nreply_tokens = 500\nday_usd = 0.02\n")
    ran = alita(home, "run", str(sums(tmp_path / "s", 12)), "--jobs", "2", "--json")
    told = json.loads(ran.stdout)
    assert told["solved"] and 0 < told["usd"] <= 0.02, ran.stderr
    assert {one["failure"] for one in told["cases"] if not one["solved"]} == {"budget"}
    book = json.loads((home / "data" / "spend.json").read_text())["days"]
    assert sum(row["usd"] for row in book.values()) == pytest.approx(told["usd"])


def test_wrong_use_of_eval_commands_is_explained(tmp_path: Path, server: OpenAIServer) -> None:
    home = tmp_path / "home"
    settle(home, server)
    for words, said in (
        (("run",), "There is no suite"),
        (("run", str(tmp_path / "none")), "no suite at"),
        (("run", "--resume", "none"), "There is no run"),
        (("show",), "There is no run"),
        (("run", str(sums(tmp_path / "s", 1)), "--model", "nobody:x"), "nobody"),
        (("run", str(tmp_path / "s"), "--tag", "none"), "No case has this tag"),
    ):
        done = alita(home, *words)
        assert done.returncode == 2 and said in done.stderr, (words, done.stderr)
    assert "No run yet" in alita(home, "list").stdout, "what was refused leaves no run behind"
    folder = sums(tmp_path / "t", 1)
    assert alita(home, "run", str(folder)).returncode == 0
    again = alita(home, "run", "--resume", "last", "--repeat", "2")
    assert again.returncode == 2 and "Leave out repeat" in again.stderr
    sums(folder, 2)
    changed = alita(home, "run", "--resume", "last")
    assert changed.returncode == 2 and "has changed" in changed.stderr


@pytest.mark.walk
def test_two_runs_that_begin_at_once_are_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of both says the same second: neither takes the other's folder, and no error is shown."""
    from datetime import UTC, datetime

    from alita_tui.app.context import AppContext
    from alita_tui.app.evaluation import beginning
    from alita_tui.evaluation.suite import read_suite

    monkeypatch.setattr(beginning, "now", lambda: datetime(2026, 11, 26, tzinfo=UTC))
    app = AppContext.open(tmp_path / "home")
    path = sums(tmp_path / "s", 1)
    read, names = read_suite(path), set()
    for _ in range(3):
        # Another process has looked before the folder was there.
        monkeypatch.setattr(Path, "exists", lambda one, **_: False)
        setup = beginning.begin(
            app, read, path, (), repeat=1, budget_usd=0, approve="none", without=(), tags=()
        )
        monkeypatch.undo()
        monkeypatch.setattr(beginning, "now", lambda: datetime(2026, 11, 26, tzinfo=UTC))
        assert (
            json.loads((beginning.folder_of_runs(app) / setup.run / "run.json").read_text())["run"]
            == setup.run
        )
        names.add(setup.run)
    app.close()
    assert len(names) == 3


def test_two_runs_are_compared(tmp_path: Path, server: OpenAIServer) -> None:
    home = tmp_path / "home"
    settle(home, server)
    folder = sums(tmp_path / "s", 2, 1)
    names = []
    for _ in range(2):
        ran = alita(home, "run", str(folder), "--jobs", "2", "--json")
        assert ran.returncode == 0, ran.stderr
        names.append(json.loads(ran.stdout)["setup"]["run"])
    told = json.loads(alita(home, "compare", *names, "--json").stdout)
    assert told["verdict"].startswith("Both solved the same share, 66.7 %") and told["cases"] == 3
    said = alita(home, "compare", names[0], f"{names[1]}@custom:one")
    assert said.returncode == 0 and "the same" in said.stdout, said.stderr
    page = tmp_path / "page.html"
    assert alita(home, "report", *names, "--out", str(page)).returncode == 0
    assert "Both solved the same share" in page.read_text()
    assert alita(home, "report", *names, "--out", str(page)).returncode == 2, "nothing is written over"
    sums(folder, 1)
    assert alita(home, "run", str(folder)).returncode == 0
    other = alita(home, "compare", names[0], "last")
    assert other.returncode == 2 and "different suites" in other.stderr
    assert "no model" in alita(home, "compare", names[0], f"{names[1]}@x:y").stderr


def test_a_new_suite_can_be_run(tmp_path: Path, server: OpenAIServer) -> None:
    home = tmp_path / "home"
    settle(home, server)
    assert alita(home, "new", str(tmp_path / "mine")).returncode == 0
    ran = alita(home, "run", str(tmp_path / "mine"), "--json")
    assert ran.returncode == 0, ran.stderr
    assert [one["solved"] for one in json.loads(ran.stdout)["cases"]] == [True, False]


async def test_an_error_that_nobody_foresaw_ends_its_case_and_no_other(
    tmp_path: Path, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of alita's own in one check, and a home that cannot be made: both are told, what was paid is counted."""
    from alita_tui.app.context import AppContext
    from alita_tui.app.evaluation import beginning, case_runner, execution
    from alita_tui.app.evaluation.costs import home_of
    from alita_tui.evaluation.suite import read_suite

    home, folder = tmp_path / "home", sums(tmp_path / "s", 4)
    settle(home, server)
    from alita_tui.app.evaluation.checks import judge

    async def faulty(app: Any, suite: Any, check: Any, answer: str, history: Any, *given: Any) -> Any:
        if any("Add 1." in getattr(one.event, "text", "") for one in history):
            raise ZeroDivisionError("a fault of [red]alita[/red]")
        return await judge(app, suite, check, answer, history, *given)

    monkeypatch.setattr(case_runner, "judge", faulty)
    app = AppContext.open(home)
    setup = beginning.begin(
        app, read_suite(folder), folder, (), repeat=1, budget_usd=0, approve="none", without=(), tags=()
    )
    run = beginning.folder_of_runs(app) / setup.run
    (run / "homes").mkdir()
    (run / home_of(("sum-2", "custom:one", 1))).write_text("in the way")
    results = await execution.run_cases(app, setup, run, 2, lambda *_: None)
    app.close()
    told = {one.case: one for one in results}
    assert {name: one.failure for name, one in told.items()} == {
        "sum-0": "", "sum-1": "harness", "sum-2": "harness", "sum-3": "",
    }  # fmt: skip
    assert "ZeroDivisionError" in told["sum-1"].why and told["sum-1"].usd == pytest.approx(2 * CALL)
    assert "cannot be created" in told["sum-2"].why


async def test_a_full_disk_stops_a_run_and_fails_no_case(
    tmp_path: Path, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could not be written says nothing of the case, which is gone on with once there is room."""
    import errno

    from alita_tui.app.context import AppContext
    from alita_tui.app.evaluation import beginning, case_runner, case_session, costs, execution, run_store
    from alita_tui.evaluation.suite import read_suite
    from alita_tui.spine.errors import StoreError
    from alita_tui.store import disk

    home, folder, full = tmp_path / "home", sums(tmp_path / "s", 3), ["by the store", "by the system"]
    settle(home, server)
    play = case_session.play

    async def filling(app: Any, task: str, *given: Any, **more: Any) -> Any:
        played = await play(app, task, *given, **more)
        if full and "1" in task:
            no_room = OSError(errno.ENOSPC, "No space left on device")
            if full[0] == "by the system":
                raise no_room
            raise disk.store_error("saved", folder, no_room) from no_room
        return played

    monkeypatch.setattr(case_runner, "play", filling)
    app = AppContext.open(home)
    setup = beginning.begin(
        app, read_suite(folder), folder, (), repeat=1, budget_usd=0, approve="none", without=(), tags=()
    )
    run = beginning.folder_of_runs(app) / setup.run
    while full:
        with pytest.raises(StoreError, match="No space left") as told:
            await execution.run_cases(app, setup, run, 1, lambda *_: None)
        assert "free some space" in told.value.hint
        assert [one.case for one in run_store.results_of(run)] == ["sum-0"]
        (run / "costs.json.tmp").symlink_to("/dev/full")
        assert costs.unfinished_usd(run, setup) == pytest.approx(2 * CALL), "and what it paid is told"
        (run / "run.json.tmp").symlink_to("/dev/full")
        with pytest.raises(StoreError, match="No space left"):
            beginning.raised(app, setup, 9.0)
        del full[0]
    results = await execution.run_cases(app, setup, run, 1, lambda *_: None)
    app.close()
    assert [one.failure for one in results] == ["", "", ""] and len(server.requests) == 6, (
        "nothing is asked twice"
    )
    assert sum(one.usd for one in results) == pytest.approx(6 * CALL)
    assert costs.unfinished_usd(run, setup) == 0


def test_a_rubric_is_judged_and_the_judge_is_measured(tmp_path: Path) -> None:
    """The judge is a model of the role reviewer: what it says counts, and how far it agrees with people is shown."""
    said = {"polite": True, "kind": True, "rude": False, "cold": True}
    judged = tuple(
        Rule(
            role="reviewer", match=f"It is {word}", replies=(act("judge", meets=meets, why=f"it is {word}"),)
        )
        for word, meets in said.items()
    )
    mute = Rule(
        role="reviewer", match="It is nothing", replies=(ScriptReply(text="I would rather not say."),)
    )
    answers = tuple(
        Rule(role="orchestrator", match=f"TASK: be {word}", replies=(act("answer", text=f"It is {word}."),))
        for word in ("polite", "rude", "nothing")
    )
    labelled = [("polite", True)] * 3 + [("kind", True)] + [("rude", False)] * 3 + [("cold", False)] * 2
    check = {"kind": "rubric", "rubric": "The answer is polite.", "labelled": "labels.jsonl"}
    folder = suite(
        tmp_path / "s",
        *({"id": word, "task": f"be {word}", "check": check} for word in ("polite", "rude", "nothing")),
    )
    lines = [json.dumps({"answer": f"It is {word}.", "solved": solved}) for word, solved in labelled]
    (folder / "labels.jsonl").write_text("\n".join(lines))
    home = tmp_path / "home"
    with OpenAIServer(Script(format="alita-script/1", name="judge", rules=(*judged, mute, *answers))) as one:
        settle(home, one)
        ran = alita(home, "run", str(folder), "--json")
        again = json.loads(alita(home, "run", "--resume", "last", "--json").stdout)
    told = json.loads(ran.stdout)
    cases = {case["case"]: case for case in told["cases"]}
    assert cases["polite"]["solved"] and not cases["rude"]["solved"], ran.stderr
    assert cases["rude"]["why"] == "the judge: it is rude"
    assert (cases["nothing"]["solved"], cases["nothing"]["failure"]) == (False, "harness"), (
        "no verdict, no pass"
    )
    (judge,) = told["judges"]
    assert (judge["examples"], judge["agreed"], judge["too_kind"], judge["too_strict"]) == (9, 7, 2, 0)
    # by hand: observed 7/9; by chance 4/9 * 6/9 + 5/9 * 3/9 = 39/81; kappa = (63 - 39) / (81 - 39)
    assert judge["kappa"] == pytest.approx(24 / 42, abs=1e-4)
    assert "7 of 9 labelled examples" in ran.stderr and "too little to rely on" in ran.stderr
    assert cases["polite"]["judge_usd"] == pytest.approx(10 * CALL), "nine examples and the answer itself"
    assert cases["rude"]["judge_usd"] == pytest.approx(CALL)
    assert told["usd"] == pytest.approx(sum(case["usd"] + case["judge_usd"] for case in told["cases"]))
    assert again["usd"] == told["usd"]


def test_a_rubric_without_enough_labels_is_refused(tmp_path: Path, server: OpenAIServer) -> None:
    check = {"kind": "rubric", "rubric": "It is polite.", "labelled": "labels.jsonl"}
    same = json.dumps({"answer": "Yes.", "solved": True}) + "\n"
    folder = suite(tmp_path / "s", {"task": "be polite", "check": check})
    (folder / "labels.jsonl").write_text(same * 20)
    home = tmp_path / "home"
    settle(home, server)
    done = alita(home, "run", str(folder))
    assert done.returncode == 2 and "too few labelled examples" in done.stderr and server.requests == []


def test_approval_by_a_policy_needs_a_policy(tmp_path: Path, server: OpenAIServer) -> None:
    home = tmp_path / "home"
    settle(home, server)
    folder = sums(tmp_path / "s", 1)
    for policy in ("", '[[rule]]\nname = "pure"\n'):  # none, and one that is off
        (home / "policy.toml").write_text(policy)
        done = alita(home, "run", str(folder), "--approve", "policy")
        assert done.returncode == 2 and "no rule that is in force" in done.stderr, done.stderr
    assert server.requests == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("without", "recalls", "learns"),
    [((), True, True), (("--without", "memory"), False, True), (("--without", "learning"), False, False)],
)
def test_the_cases_of_a_stream_share_a_home_without_the_left_out_tools(
    tmp_path: Path, server: OpenAIServer, without: tuple[str, ...], recalls: bool, learns: bool
) -> None:
    from alita_tui import events as e
    from alita_tui.store.sessions import SessionFile

    home, check = tmp_path / "home", {"kind": "number", "value": 42}
    tasks = ("Remember that our warehouse is in Bergen. Add 0.", "Add 1.", "Add 2. Where is our warehouse?")
    lines = [{"id": f"sum-{n}", "task": task, "check": check} for n, task in enumerate(tasks)]
    folder = suite(tmp_path / "s", *lines)
    settle(home, server)
    (folder / "suite.json").write_text('{"stream": true}')
    told = json.loads(alita(home, "run", str(folder), "--jobs", "3", "--json", *without).stdout)
    assert told["solved"] == 3 and [one["case"] for one in told["cases"]] == ["sum-0", "sum-1", "sum-2"]
    assert len({one["home"] for one in told["cases"]}) == 1, "one after the other in one home"
    assert len({one["session_id"] for one in told["cases"]}) == 3, (
        "and each is a session that can be replayed"
    )
    assert told["usd"] == pytest.approx(6 * CALL)
    run = home / "data" / "evaluations" / told["setup"]["run"]
    shared = run / told["cases"][0]["home"]
    file = SessionFile.open(
        shared / "data" / "sessions" / f"{told['cases'][2]['session_id']}.json", readonly=True
    )
    recalled = [one.event for one in file.history() if isinstance(one.event, e.MemoryRecalled)]
    file.close()
    assert any(event.items for event in recalled) is recalls
    memory = shared / "data" / "memory.json"
    assert (memory.exists() and "Bergen" in memory.read_text()) is learns
    server.requests.clear()
    results = (run / "results.jsonl").read_text().splitlines(keepends=True)
    (run / "results.jsonl").write_text("".join(results[:2]))
    again = json.loads(alita(home, "run", "--resume", "last", "--json").stdout)
    assert (again["ended"], again["usd"]) == (3, pytest.approx(6 * CALL)) and server.requests == []
