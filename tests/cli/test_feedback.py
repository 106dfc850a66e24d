"""`alita feedback` on a session that is closed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from alita_tui import events as e
from alita_tui.app.recordings import recording
from alita_tui.cli.main import cli
from alita_tui.spine.errors import StoreLocked, UsageError
from alita_tui.spine.laws import check
from tests.cli.audited import SESSION, TOOL, Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def alita(shell: Shell, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(shell.home), *words])


def test_feedback_from_the_shell_is_recorded_and_shown_with_the_tool(shell: Shell) -> None:
    done = alita(shell, "feedback", SESSION, "--down", "it let a bad address through")
    assert done.exit_code == 0, done.output
    assert "noted: 👎 for the answer" in done.stdout
    events = recording(shell.app, SESSION)
    assert check(events) == []
    (given,) = [one.event for one in events if isinstance(one.event, e.FeedbackGiven)]
    assert (given.rating, given.text) == ("down", "it let a bad address through")
    assert isinstance(events[-1].event, e.SessionClosed) and events[-1].event.state
    assert alita(shell, "sessions", "verify", SESSION).exit_code == 0
    shown = alita(shell, "tools", "show", TOOL).stdout
    assert "one 👎" in shown and "relied on 0." in shown
    assert "👎 an answer: it let a bad address through" in alita(shell, "feedback", SESSION).stdout
    assert alita(shell, "feedback", SESSION, "--up").exit_code == 0
    assert "one 👍" in alita(shell, "tools", "show", TOOL).stdout
    assert [one["rating"] for one in json.loads(alita(shell, "feedback", SESSION, "--json").stdout)] == [
        "down",
        "up",
    ]


def test_feedback_that_cannot_be_given_leaves_the_session_unchanged(shell: Shell) -> None:
    before = recording(shell.app, SESSION)
    for words in (
        ("--up", "--down"),
        ("just a text",),
        ("--up", "--event", "1"),
        ("--up", "--event", "99999"),
    ):
        assert isinstance(alita(shell, "feedback", SESSION, *words).exception, UsageError), words
    assert isinstance(alita(shell, "feedback", "nobody", "--up").exception, UsageError)
    assert recording(shell.app, SESSION) == before


def test_a_session_that_is_open_is_left_alone(shell: Shell) -> None:
    from alita_tui.app.session import open_file

    file = open_file(shell.app, SESSION)
    try:
        assert isinstance(alita(shell, "feedback", SESSION, "--up").exception, StoreLocked)
    finally:
        file.close()


def test_a_correction_is_recorded_and_each_rating_is_undone_by_one_command(shell: Shell) -> None:
    assert alita(shell, "feedback", SESSION, "--should-be", "only the two valid ones").exit_code == 0
    given = json.loads(alita(shell, "feedback", SESSION, "--json").stdout)
    assert [(one["rating"], one["expected"]) for one in given] == [("down", "only the two valid ones")]
    assert "it should be: only the two valid ones" in alita(shell, "feedback", SESSION).stdout
    assert "one 👎" in alita(shell, "tools", "show", TOOL).stdout
    assert alita(shell, "feedback", SESSION, "--up").exit_code == 0
    assert "one 👍" in alita(shell, "tools", "show", TOOL).stdout
    assert "taken back: 👍 for the answer" in alita(shell, "feedback", SESSION, "--undo").stdout
    assert "one 👎" in alita(shell, "tools", "show", TOOL).stdout
    assert "taken back: 👎 for the answer" in alita(shell, "feedback", SESSION, "--undo").stdout
    shown = alita(shell, "tools", "show", TOOL).stdout
    assert "👎" not in shown and "👍" not in shown and "1 good of 1" in shown
    assert "👎" not in alita(shell, "feedback", SESSION).stdout
    assert isinstance(alita(shell, "feedback", SESSION, "--undo").exception, UsageError)
    assert check(recording(shell.app, SESSION)) == []
    assert alita(shell, "sessions", "verify", SESSION).exit_code == 0
