"""`alita builds`: every verdict from another shell, on a session that waits."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner, Result

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.app.identity import me
from alita_tui.cli.main import cli
from alita_tui.events import GateResult, Twin
from alita_tui.spine.commands import ResolveApproval
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import reveal
from alita_tui.store.sessions import SessionFile
from alita_tui.view.risk import names_to_accept, risks
from tests.console.approval_cases import NEW, NEW_DIGEST, add_risky, risky
from tests.support import streams

SESSION = "20261120-093000-aaaa"
WITH_HOST = {"network": ["api.ecb.example:443"]}


RISKS = names_to_accept(risks(risky().builds[-1], risky().builds[-1].attempts[-1]))
"""What has to be accepted of the build that waits."""


def accept(*but: str) -> tuple[str, ...]:
    """The words that accept every risk but these."""
    return tuple(word for one in RISKS if one not in but for word in ("--accept", one))


class Shell:
    """The commands, with a home in which one risky build waits as `p2`."""

    def __init__(self, home: Path, *twins: Twin) -> None:
        self.home = home
        self.app = AppContext.open(home)
        tape = streams.Tape()
        streams.opened(tape)
        add_risky(tape)
        if twins:
            alike = GateResult(gate="neighbours", state="failed", summary="alike", twins=twins)
            tape.add(e.GateChecked(build_id=e.BuildId("b2"), attempt=2, digest=NEW.digest, result=alike))
        asyncio.run(self._record(tape))

    async def _record(self, tape: streams.Tape) -> None:
        file = SessionFile.create(self.app.sessions.path(SESSION), SESSION)
        for one in tape.envelopes:
            if one.durable:
                await file.record(msgspec.structs.replace(one, session_id=SESSION), barrier=False)
        file.close()

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(cli, ["--home", str(self.home), "builds", *words])

    @property
    def left(self) -> ResolveApproval:
        """What lies on the desk."""
        command = self.app.inbox.verdict("p2")
        assert command is not None
        return command


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_a_build_is_shown_with_what_it_asks_for(shell: Shell) -> None:
    shown = shell.run("show", "p2").stdout
    assert "network:api.ecb.example:443" in shown and "secret:ECB_TOKEN" in shown
    assert "⟨U+202E⟩" in shown, "hidden characters are spelled out"
    assert NEW_DIGEST in shown
    assert json.loads(shell.run("list", "--json").stdout)[0]["approval_id"] == "p2"


def test_the_list_holds_nothing_to_approve_by(shell: Shell) -> None:
    for words in (("list",), ("list", "--json")):
        said = shell.run(*words).stdout
        assert "p2" in said and NEW_DIGEST[:8] not in said
    refused = shell.run("approve", "p2", "--digest", "0" * 12, *accept())
    assert NEW_DIGEST[:8] not in str(refused.exception) + str(getattr(refused.exception, "hint", ""))


def test_a_build_is_shown_with_the_five_answers_first_and_the_approve_command_last(shell: Shell) -> None:
    shown = shell.run("show", "p2").stdout
    view = risky().builds[-1]
    for one in risks(view, view.attempts[-1]):
        assert f"{one.name}: {reveal(one.text)}" in shown
    places = [
        shown.index(part)
        for part in (
            "May touch",
            "How sure",
            "Unusual",
            "Changes",
            "replaces v",
            "Goal:",
            "Diff from v",
            "Code",
            NEW_DIGEST,
        )
    ]
    assert places == sorted(places)
    assert "may do what v" in shown and "network access to api.ecb.example:443" in shown
    assert shown.rstrip().split("\n")[-1].endswith("".join(f" --accept {one}" for one in RISKS))
    told = json.loads(shell.run("show", "p2", "--json").stdout)
    assert told["accept"] == list(RISKS) and {one["name"] for one in told["risks"]} == set(RISKS)


@pytest.mark.parametrize(
    ("words", "verdict", "fields"),
    [
        (("approve", "--digest", NEW_DIGEST, *accept()), "approved", {"accepted": list(RISKS)}),
        (
            ("approve", "--digest", NEW_DIGEST, "--task-only", *accept()),
            "approved",
            {"lasting": "task", "accepted": list(RISKS)},
        ),
        (
            ("approve", "--digest", NEW_DIGEST, "--without", "secret:ECB_TOKEN", *accept("secrets")),
            "approved",
            {"grants": WITH_HOST, "accepted": [one for one in RISKS if one != "secrets"]},
        ),
        (
            ("reject", "--reason", "no", "--tag", "unsafe"),
            "rejected",
            {"reason": "no", "tags": ["unsafe"]},
        ),
        (("test", "--digest", NEW_DIGEST), "retested", {}),
        (
            ("test", "--digest", NEW_DIGEST, "--without", "secret:ECB_TOKEN"),
            "retested",
            {"grants": WITH_HOST},
        ),
        (("stop", "--reason", "enough"), "stopped", {"reason": "enough"}),
        (("ban", "--reason", "never"), "banned", {"banned": ["name", "digest"], "reason": "never"}),
        (
            ("ban", "--reason", "x", "--what", "secret:ECB_TOKEN"),
            "banned",
            {"banned": ["secret:ECB_TOKEN"], "reason": "x"},
        ),
    ],
)
def test_a_verdict_is_left_for_the_session(
    shell: Shell, words: tuple[str, ...], verdict: str, fields: dict[str, Any]
) -> None:
    done = shell.run(words[0], "p2", *words[1:])
    assert done.exit_code == 0, done.output
    given = {"decision": verdict, "by": me(), "via": "cli", **fields}
    wanted = {"approval_id": "p2", "digest": NEW_DIGEST, "verdict": given}
    assert json.loads(msgspec.json.encode(shell.left)) == wanted
    assert shell.run("list").stdout.count(verdict) == 1
    again = shell.run("stop", "p2")
    assert isinstance(again.exception, UsageError), "the first verdict stands"
    assert shell.left.verdict.decision == verdict


def test_an_edit_is_taken_from_a_file_or_the_editor(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    assert isinstance(shell.run("edit", "p2").exception, UsageError), "nothing was changed"
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho '# mine' >> \"$1\"\n")
    editor.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(editor))
    tests = tmp_path / "tests.py"
    tests.write_text("def test_mine():\n    assert True\n")
    assert shell.run("edit", "p2", "--tests", str(tests)).exit_code == 0
    assert shell.left.code == NEW.code + "# mine\n"
    assert shell.left.tests.startswith("def test_mine")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("approve", "p2", "--digest", NEW_DIGEST[:63], *accept()), "too short"),
        (("approve", "p2", "--digest", "0" * 64, *accept()), "other bytes"),
        (("approve", "p2", "--digest", NEW_DIGEST), f"not accepted yet: {', '.join(RISKS)}"),
        (("approve", "p2", "--digest", NEW_DIGEST, *accept("network")), "not accepted yet: network"),
        (
            ("approve", "p2", "--digest", NEW_DIGEST, *accept(), "--accept", "everything"),
            "no risk 'everything'",
        ),
        (
            ("approve", "p2", "--digest", NEW_DIGEST, "--without", "secret:ECB_TOKEN", *accept()),
            "no risk 'secrets'",
        ),
        (("approve", "p2", "--digest", NEW_DIGEST, "--without", "secret:OTHER"), "secret:OTHER"),
        (("test", "p2", "--digest", "0" * 64), "other bytes"),
        (("ban", "p2", "--reason", "x", "--what", "model:9"), "model:9"),
        (("edit", "p2", "--code", "/nowhere/code.py"), "cannot be read"),
        (("reject", "nobody", "--reason", "x"), "nobody"),
    ],
)
def test_an_invalid_verdict_is_refused_and_leaves_nothing(
    shell: Shell, words: tuple[str, ...], said: str
) -> None:
    refused = shell.run(*words)
    assert isinstance(refused.exception, UsageError)
    assert said in str(refused.exception)
    assert shell.app.inbox.verdict("p2") is None


RATES, MONEY = (
    Twin(name=e.ToolName(name), version=2, digest=e.BuildDigest(f"{n}" * 64))
    for n, name in enumerate(("rates", "money"))
)


@pytest.mark.parametrize(("words", "twin"), [((), RATES), (("--tool", "money"), MONEY)])
def test_a_build_like_a_tool_is_made_another_name_of_it(
    tmp_path: Path, words: tuple[str, ...], twin: Twin
) -> None:
    shell = Shell(tmp_path, RATES, MONEY)
    assert "rates v2 gives the same answers" in shell.run("show", "p2").stdout
    assert isinstance(shell.run("alias", "p2", "--digest", "0" * 64, *words).exception, UsageError)
    done = shell.run("alias", "p2", "--digest", NEW_DIGEST, *words)
    assert done.exit_code == 0, done.output
    assert f"alita tools undo {twin.name}" in done.stdout
    assert (shell.left.verdict.decision, shell.left.verdict.alias_of, shell.left.digest) == (
        "aliased",
        twin,
        NEW_DIGEST,
    )


def test_a_build_like_a_tool_is_rejected_for_it(tmp_path: Path) -> None:
    shell = Shell(tmp_path, RATES, MONEY)
    assert shell.run("reuse", "p2", "--tool", "money").exit_code == 0
    assert (shell.left.verdict.decision, shell.left.verdict.tags) == ("rejected", ("duplicate",))
    assert shell.left.verdict.reason == "use run_tool money: money v2 gives the same answers"


def test_a_build_like_a_tool_is_merged_with_it(tmp_path: Path) -> None:
    shell = Shell(tmp_path, RATES, MONEY)
    assert shell.run("merge", "p2", "--tool", "money").exit_code == 0
    assert (shell.left.verdict.decision, shell.left.verdict.tags) == ("rejected", ("duplicate",))
    assert shell.left.verdict.reason.startswith("merge: build_tool money anew")


def test_an_alias_is_refused_without_a_similar_tool(shell: Shell, tmp_path: Path) -> None:
    for words in (("alias", "p2", "--digest", NEW_DIGEST), ("reuse", "p2")):
        refused = shell.run(*words)
        assert isinstance(refused.exception, UsageError) and "No tool is known" in str(refused.exception)
    other = Shell(tmp_path / "other", RATES)
    refused = other.run("alias", "p2", "--digest", NEW_DIGEST, "--tool", "money")
    assert isinstance(refused.exception, UsageError) and "rates v2" in refused.exception.hint
    assert shell.app.inbox.verdict("p2") is None and other.app.inbox.verdict("p2") is None
