"""A session in lines: files, the queue, ratings, and each verdict in typed steps, over the state of real recordings."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.cli import plain_opening
from alita_tui.cli.build_text import print_summary
from alita_tui.cli.main import cli
from alita_tui.cli.plain import PlainConsole
from alita_tui.cli.typed_lines import Lines
from alita_tui.spine.commands import (
    CancelTask,
    Command,
    Continue,
    GiveFeedback,
    MoveTask,
    PutOff,
    ResolveApproval,
    Steer,
    SubmitTask,
    SwitchQueue,
)
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import reveal
from alita_tui.state.queue import QueuedTask
from alita_tui.state.reduce import reduce_all
from alita_tui.state.session import SessionState
from alita_tui.view.five_answers import five_answers
from tests.console import ten_builds
from tests.support import goldens


class Typed(Lines):
    """What a person types, without a terminal; `test_plain.py` of e2e has one."""

    def __init__(self, *lines: str) -> None:
        self.left = list(lines)
        self.prompts: list[str] = []

    async def next(self) -> str | None:
        return self.left.pop(0) if self.left else None

    async def asked(self, prompt: str) -> str | None:
        self.prompts.append(prompt)
        return await self.next()


class Session:
    """Takes commands."""

    session_id = "s1"

    def __init__(self) -> None:
        self.sent: list[Command] = []

    def send(self, command: Command) -> None:
        self.sent.append(command)


async def typed(state: SessionState, *lines: str) -> tuple[list[Command], list[str]]:
    """Return what is sent for lines that are typed, and what was asked."""
    session, script = Session(), Typed(*lines)
    console = PlainConsole(session, script)  # type: ignore[arg-type]  # it has what sending takes
    console._state = state
    await console.take_lines()
    return session.sent, script.prompts


def answered() -> SessionState:
    return reduce_all(goldens.walkthrough())


def waiting(twins: tuple[e.Twin, ...] = ()) -> SessionState:
    """Return a state with a waiting build, which may have tools like it."""
    envelopes = [
        msgspec.structs.replace(
            one,
            event=msgspec.structs.replace(
                one.event, result=msgspec.structs.replace(one.event.result, twins=twins)
            ),
        )
        if isinstance(one.event, e.GateChecked) and one.event.result.gate == "neighbours"
        else one
        for one in goldens.waiting()
    ]
    state = reduce_all(envelopes)
    build = next(one for one in state.builds if one.status == "pending")
    assert build.presented is not None and bool(build.presented.twins) is bool(twins)
    return state


def queued(*texts: str, paused: bool = False) -> SessionState:
    queue = tuple(
        QueuedTask(f"q{n}", text, datetime(2026, 11, 26, tzinfo=UTC)) for n, text in enumerate(texts, 1)
    )
    return msgspec.structs.replace(answered(), queue=queue, paused=paused)


async def test_a_file_goes_with_the_task_and_a_missing_one_sends_nothing(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sales.csv").write_text("a,b\n")
    path = str(tmp_path / "sales.csv")
    sent, _ = await typed(
        answered(), "sum @sales.csv", "/new chart @sales.csv", "sum @gone.csv", "/new x @gone.csv"
    )
    assert sent == [
        SubmitTask(text="sum @sales.csv", attach=(path,)),
        SubmitTask(text="chart @sales.csv", attach=(path,)),
    ]
    assert capsys.readouterr().out.count("There is no file gone.csv. Nothing was sent.") == 2
    sent, _ = await typed(waiting(), "and @sales.csv")
    assert sent == [Steer(text="and @sales.csv", attach=(path,))]


async def test_the_queue_is_listed_changed_and_paused(capsys) -> None:
    state = queued("first", "[b]second\x1b[31m", paused=True)
    sent, _ = await typed(state, "/queue", "/cancel 2", "/sooner 2", "/sooner 1", "/pause", "/continue")
    assert sent == [
        CancelTask(task_id="q2"),
        MoveTask(queue_id="q2", before="q1"),
        SwitchQueue(paused=True),
        SwitchQueue(paused=False),
    ]
    said = capsys.readouterr().out
    assert "  1 first" in said and "  2 [b]second" in said and "\x1b" not in said
    assert "/continue goes on" in said and "the next one already" in said


@pytest.mark.parametrize(
    "line", ["/cancel", "/cancel 0", "/cancel 3", "/sooner x", "/cancel -1", "/cancel 1 2"]
)
async def test_an_invalid_queue_number_changes_nothing(line: str) -> None:
    sent, _ = await typed(queued("first", "second"), line)
    assert sent == []


async def test_the_newest_answer_is_rated_and_the_rating_taken_back() -> None:
    sent, _ = await typed(
        answered(), "/good", "/bad the sum is wrong", "/should-be", "/should-be 42 kg", "/unrate"
    )
    assert sent == [
        GiveFeedback(rating="up"),
        GiveFeedback(rating="down", text="the sum is wrong"),
        GiveFeedback(rating="down", expected="42 kg"),
        GiveFeedback(rating="up", undo=True),
    ]


async def test_without_an_answer_nothing_is_rated(capsys) -> None:
    sent, _ = await typed(waiting(), "/good", "/bad", "/unrate")
    assert sent == [] and capsys.readouterr().out.count("no answer to rate") == 3


TWIN = e.Twin(name=e.ToolName("email_check"), version=2, digest=e.BuildDigest("ab" * 32))


async def test_reuse_merge_and_alias_take_the_name_and_are_bound_to_the_bytes() -> None:
    state = waiting((TWIN,))
    build = next(one for one in state.builds if one.status == "pending")
    for number, wanted in (("11", "rejected"), ("12", "rejected"), ("13", "aliased")):
        sent, prompts = await typed(state, "/review", number, build.name)
        (given,) = sent
        assert isinstance(given, ResolveApproval)
        assert (given.approval_id, given.digest) == (build.approval_id, build.digest)
        assert given.verdict.decision == wanted
        assert (given.verdict.alias_of == TWIN) is (number == "13")
        assert ("email_check" in given.verdict.reason) is (number != "13")
        assert "email_check" in prompts[0]
        sent, _ = await typed(state, "/review", number, "yes", "9")
        assert sent == []


ANSWERS = ("May touch", "Does", "How sure", "Unusual", "Changes in the library")


def _answers(shown: str) -> dict[str, str]:
    """Return the text below each of the five labels, on one line."""
    places = [shown.index(f"\n{label}\n") for label in ANSWERS]
    assert places == sorted(places), "in the order of the full screen"
    ends = [*places[1:], shown.index("\nGoal: ")]
    return {
        label: " ".join(shown[start:end].split()).removeprefix(label).strip()
        for label, start, end in zip(ANSWERS, places, ends, strict=True)
    }


@pytest.mark.parametrize("name", [*ten_builds.GOOD, *ten_builds.BAD])
async def test_a_review_answers_the_five_questions_in_order_and_in_the_words_of_the_full_screen(
    name: str, capsys
) -> None:
    view = ten_builds.waiting(name)
    build = view.builds[-1]
    assert build.presented is not None
    await typed(view.state, "/review", "9")
    shown = capsys.readouterr().out
    said = _answers(shown)
    full = five_answers(build, build.presented)
    for text, _tone in full.touches:
        assert reveal(text) in said["May touch"]
    assert reveal(full.does) in said["Does"] and "Its author says: " in said["Does"]
    for words, _tone in full.how_sure:
        if words.strip() and words not in "■✗○":
            assert words.strip(" ·") in said["How sure"]
    assert not set("■✗○▲△") & set(said["How sure"] + said["Unusual"]), "marks are words here"
    for risk in full.unusual:
        assert f"{risk.name}: {reveal(risk.text)}" in said["Unusual"]
    assert full.unusual or said["Unusual"].startswith("nothing")
    for sentence in full.changes:
        assert reveal(sentence) in said["Changes in the library"]


async def test_the_claims_of_an_author_cannot_be_mistaken_for_an_answer(capsys) -> None:
    view = ten_builds.waiting("template_fill")
    build = view.builds[-1]
    lie = "Fill in.\n\nHow sure\n  own tests 99 of 99\n\nUnusual\n  nothing"
    draft = msgspec.structs.replace(build.attempts[-1].draft, description=lie)
    attempt = msgspec.structs.replace(build.attempts[-1], draft=draft)
    print_summary(build, attempt)
    shown = "\n" + capsys.readouterr().out
    assert shown.count("\nHow sure\n") == shown.count("\nUnusual\n") == 1
    assert "own tests 99" not in _answers(shown)["How sure"]


async def test_without_a_similar_tool_there_is_none_to_choose() -> None:
    sent, prompts = await typed(waiting(), "/review", "11", "12", "13", "9")
    assert sent == [] and "11 " not in prompts[0]


async def test_a_ban_needs_its_reason() -> None:
    state = waiting()
    sent, _ = await typed(state, "/review", "10", "", "9")
    assert sent == []
    sent, _ = await typed(state, "/review", "10", "reads the home folder")
    (given,) = sent
    assert isinstance(given, ResolveApproval) and given.verdict.decision == "banned"
    assert given.verdict.reason == "reads the home folder" and given.verdict.banned == ("name", "digest")


async def test_later_lets_the_agent_continue_and_back_changes_nothing() -> None:
    state = waiting()
    assert isinstance((await typed(state, "/review", "8"))[0][0], PutOff)
    assert (await typed(state, "/review", "9"))[0] == []


class Opened(Session):
    """A session whose engine holds what was left unfinished."""

    def __init__(self, envelopes: list[Envelope]) -> None:
        super().__init__()
        self.source = self
        self._envelopes = envelopes

    async def __aiter__(self) -> AsyncIterator[Envelope]:
        for one in self._envelopes:
            yield one


async def test_unfinished_work_is_announced_and_waits_for_the_person(capsys) -> None:
    past = [one for one in goldens.waiting() if one.seq is not None][:6]
    (task,) = reduce_all(past).tasks
    hint = msgspec.structs.replace(past[-1], seq=None, event=e.WorkHeld(tasks=(task.task_id,)))
    session = Opened([*past, hint])
    console = PlainConsole(session, Typed("/where", "and be quick", "/continue"))  # type: ignore[arg-type]
    await console.show(len(past))
    said = capsys.readouterr().out
    assert task.text in said and "Nothing runs yet" in said and "/continue" in said
    await console.take_lines()
    assert "Nothing runs yet" in capsys.readouterr().out, "/where says the same"
    steer, go_on = session.sent
    assert isinstance(steer, Steer) and steer.text == "and be quick" and go_on == Continue()


async def test_after_resuming_continue_controls_the_queue_again(capsys) -> None:
    past = [one for one in goldens.waiting() if one.seq is not None][:6]
    (task,) = reduce_all(past).tasks
    held, free = (
        msgspec.structs.replace(past[-1], seq=None, event=e.WorkHeld(tasks=ids))
        for ids in ((task.task_id,), ())
    )
    session = Opened([*past, held, free])
    console = PlainConsole(session, Typed("/continue"))  # type: ignore[arg-type]
    await console.show(len(past))
    await console.take_lines()
    assert session.sent == [SwitchQueue(paused=False)]


def test_what_a_home_without_a_model_is_told_to_do_gives_it_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_opening, "_need_lines", lambda: None)
    with pytest.raises(UsageError, match="No model is chosen yet") as refused:
        plain_opening.open_plain(tmp_path)
    one, demo = re.findall("`alita (.+?)`", refused.value.hint)
    assert demo == "--plain demo", "lines stay lines"
    words = one.replace("PROVIDER:NAME", "ollama:tiny").split()
    done = CliRunner().invoke(cli, ["--home", str(tmp_path), *words])
    assert done.exit_code == 0, done.output
    assert AppContext.open(tmp_path).loaded.settings.configured
