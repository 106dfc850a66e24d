"""`alita policy`, and the rules at work in a home: off until written, every use in the log, taken back by name."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner, Result

from alita_tui import events as e
from alita_tui.app.context import AppContext
from alita_tui.app.verdicts import ruling
from alita_tui.cli.main import cli
from alita_tui.events import GateResult, RunReport, TestCase
from alita_tui.events.build import CHECKS
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import ConfigError
from alita_tui.store.sessions import SessionFile
from tests.support import streams

SESSION = "20261120-093000-aaaa"
PURE = msgspec.structs.replace(
    streams.DRAFT,
    requirements=(),
    code='"""Double."""\nimport json\n\n\ndef run(x: int) -> int:\n    """Twice x."""\n    return 2 * x\n',
)
RULES = '[[rule]]\nname = "pure"\nmax_lines = 60\n'


class Home:
    """A session in which a pure build waits as `p1`, with every gate passed."""

    def __init__(self, folder: Path, *, improves: str = "") -> None:
        self.home = folder
        self.improves = improves
        self.app = AppContext.open(folder)
        self.envelopes = tuple(self._waiting())
        asyncio.run(self._record())
        (self.asked,) = (one.event for one in self.envelopes if isinstance(one.event, e.ApprovalRequested))

    def _waiting(self) -> list[Envelope]:
        tape = streams.Tape()
        streams.opened(tape)
        tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="Double it.", improves=self.improves))
        tape.add(e.BuildStarted(build_id=e.BuildId("b1"), action_id="a1", name=PURE.name, goal="Double."))
        tape.add(
            e.BuildDrafted(
                build_id=e.BuildId("b1"), attempt=1, author="model", model="m", draft=PURE, digest=PURE.digest
            )
        )
        tape.add(e.BuildReviewed(build_id=e.BuildId("b1"), attempt=1, digest=PURE.digest, imports=("json",)))
        tape.add(
            e.BuildTested(
                build_id=e.BuildId("b1"), attempt=1, digest=PURE.digest, passed=True,
                reports=(RunReport(status="ok", cases=(TestCase(name="test_it", passed=True),)),),
            )
        )  # fmt: skip
        for name in CHECKS:
            result = GateResult(gate=name, state="passed", summary="well")
            tape.add(e.GateChecked(build_id=e.BuildId("b1"), attempt=1, digest=PURE.digest, result=result))
        tape.add(
            e.ApprovalRequested(
                approval_id="p1",
                build_id=e.BuildId("b1"),
                digest=e.BuildDigest(PURE.digest),
                name=PURE.name,
                version=1,
            )
        )
        return [msgspec.structs.replace(one, session_id=SESSION) for one in tape.envelopes if one.durable]

    async def _record(self) -> None:
        file = SessionFile.create(self.app.sessions.path(SESSION), SESSION)
        for one in self.envelopes:
            await file.record(one, barrier=False)
        file.close()

    def write(self, text: str) -> None:
        self.app.paths.policy.write_text(text)

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(cli, ["--home", str(self.home), "policy", *words])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_rules_decide_nothing_until_they_are_enabled(home: Home) -> None:
    shown = home.run("list").stdout
    assert "you are always asked" in shown and "[[rule]]" in shown
    assert ruling(home.app, home.envelopes, home.asked) is None
    home.write(RULES)
    assert ruling(home.app, home.envelopes, home.asked) is None
    assert "off" in home.run("list").stdout
    assert "the policy is off" in home.run("explain", "p1").stdout


def test_a_rule_that_covers_the_build_decides_on_its_bytes(home: Home) -> None:
    home.write("enabled = true\n" + RULES)
    ruled = ruling(home.app, home.envelopes, home.asked)
    assert ruled is not None
    assert (ruled.verdict.by, ruled.verdict.via, ruled.verdict.decision) == (
        "rule pure",
        "policy",
        "approved",
    )
    assert ruled.digest == e.BuildDigest(PURE.digest)
    assert "no network" in ruled.verdict.reason and "rule sha256" in ruled.verdict.reason
    assert "pure: would approve it" in home.run("explain", "p1").stdout


def test_no_rule_decides_on_what_alita_proposed_by_itself(tmp_path: Path) -> None:
    """The settings promise that nothing of a proposal joins before the person's own verdict."""
    home = Home(tmp_path, improves="repair:double:1")
    home.write("enabled = true\n" + RULES)
    assert ruling(home.app, home.envelopes, home.asked) is None
    assert "a proposal of alita's own" in home.run("explain", "p1").stdout


def test_a_build_that_no_rule_covers_is_explained(home: Home) -> None:
    home.write('enabled = true\n[[rule]]\nname = "tiny"\nmax_lines = 2\n')
    assert ruling(home.app, home.envelopes, home.asked) is None
    said = home.run("explain", "p1").stdout
    assert "tiny: asks you" in said and "it has 7 lines" in said
    assert json.loads(home.run("explain", "p1", "--json").stdout)["unmet"] == {"tiny": ["it has 7 lines"]}


def test_every_use_of_a_rule_is_logged_and_a_rule_is_revoked_by_name(home: Home) -> None:
    home.write("enabled = true\n" + RULES)
    resolved = e.ApprovalResolved(
        approval_id="p1",
        build_id=e.BuildId("b1"),
        digest=e.BuildDigest(PURE.digest),
        verdict=e.Verdict(decision="approved", by="rule pure", via="policy"),
    )
    home.app.audit.enter(SESSION, home.asked, resolved)
    found = json.loads(home.run("list", "--json").stdout)
    assert found["uses"] == {"pure": [f"{PURE.name} v1"]}
    done = home.run("revoke", "pure")
    assert done.exit_code == 0
    assert f"it approved {PURE.name} v1" in done.stdout
    assert ruling(home.app, home.envelopes, home.asked) is None
    assert "revoked" in home.run("list").stdout
    assert [entry.verdict for entry in home.app.audit.entries()] == ["approved", "rule revoked"]
    assert isinstance(home.run("revoke", "pure").exception, ConfigError)


def test_a_policy_that_cannot_be_read_decides_nothing(home: Home) -> None:
    home.write('enabled = true\n[[rule]]\nname = "x"\nsecrets = ["TOKEN"]\n')
    with pytest.raises(ConfigError, match="no rule can cover secrets"):
        ruling(home.app, home.envelopes, home.asked)
