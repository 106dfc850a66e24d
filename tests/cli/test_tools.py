"""`alita tools`: a tool's line of versions, and what can be done with it, from any shell."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner, Result

from alita_tui.app.context import AppContext
from alita_tui.app.forbidden import forbidden
from alita_tui.app.surroundings import surroundings
from alita_tui.app.tool_runs import approve_anew
from alita_tui.cli.main import cli
from alita_tui.events import Ban, Lock, Twin
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.spine.errors import RegistryError, UsageError
from alita_tui.store.entry import AuditEntry
from tests.cli.audited import TOOL, Shell
from tests.support import streams


class Tools(Shell):
    """The same home, by its tools."""

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(cli, ["--home", str(self.home), "tools", *words])

    @property
    def logged(self) -> list[str]:
        return [entry.verdict for entry in self.app.audit.entries() if not entry.on_build]


@pytest.fixture
def shell(tmp_path: Path) -> Tools:
    return Tools(tmp_path)


def test_a_tool_is_archived_and_restored_and_both_are_logged(shell: Tools) -> None:
    done = shell.run("quarantine", TOOL, "--reason", "looks odd")
    assert done.exit_code == 0, done.output
    assert "no version runs" in done.stdout and f"alita tools undo {TOOL}" in done.stdout
    assert isinstance(shell.run("show", TOOL).exception, RegistryError)
    assert isinstance(shell.run("rollback", TOOL).exception, RegistryError)
    assert "v1 runs" in shell.run("undo", TOOL).stdout
    assert shell.run("pin", TOOL).exit_code == 0
    assert shell.run("unpin", TOOL).exit_code == 0
    assert shell.run("archive", TOOL, "--version", "1").exit_code == 0
    assert "v1 runs" in shell.run("restore", TOOL).stdout
    assert shell.run("revoke", TOOL).exit_code == 0
    assert shell.logged == [
        "quarantined", "taken back: quarantined", "pinned", "unpinned", "archived", "restored", "revoked",
    ]  # fmt: skip
    assert shell.app.audit.verify() == []
    told = CliRunner().invoke(cli, ["--home", str(shell.home), "audit", "explain", TOOL]).stdout
    assert "quarantined by" in told and "looks odd" in told
    assert CliRunner().invoke(cli, ["--home", str(shell.home), "audit", "verify"]).exit_code == 0


def test_what_several_shells_approve_at_once_is_approved_once(tmp_path: Path) -> None:
    """Otherwise there would be versions with the same bytes, and revoking one would leave another running."""
    apps = [AppContext.open(tmp_path) for _ in range(4)]
    with ThreadPoolExecutor() as threads:
        made = list(threads.map(lambda app: approve_anew(app, streams.DRAFT, Lock(), origin="starter"), apps))
    assert [one.version for one in made] == [1, 1, 1, 1]
    assert [entry.verdict for entry in apps[0].audit.entries()] == ["approved"]
    apps[0].lineages("console").move(streams.DRAFT.name, "revoke", None, by="ada")
    assert approve_anew(apps[1], streams.DRAFT, Lock(), origin="starter").version == 2, "it was revoked"
    for app in apps:
        app.close()


def test_the_history_shows_versions_moves_and_costs(shell: Tools) -> None:
    shell.run("archive", TOOL, "--reason", "no use")
    shown = shell.run("history", TOOL).stdout
    assert "v1" in shown and "archived" in shown and "archive v1 by" in shown and "no use" in shown
    found = json.loads(shell.run("history", TOOL, "--json").stdout)
    assert [one["version"] for one in found["versions"]] == [1]
    assert found["moves"][0]["kind"] == "archive"
    assert found["spent_usd"]["1"] > 0, "from the session that it was built in"


def test_bans_are_listed_and_lifted(shell: Tools) -> None:
    assert "Nothing is banned" in shell.run("bans").stdout
    shell.app.library.ban(Ban(ban_id="b1", name="roll_dice", by="ada", reason="no dice"))
    assert "roll_dice" in shell.run("bans").stdout
    assert shell.run("unban", "b1").exit_code == 0
    assert json.loads(shell.run("bans", "--json").stdout) == []
    assert isinstance(shell.run("unban", "b1").exception, UsageError)
    assert shell.logged == ["unbanned"]
    (kept,) = shell.app.backups.list()
    assert kept.reason == "clean-up", (
        "taken before the ban left the library, and none for one that is not there"
    )
    back = CliRunner().invoke(cli, ["--home", str(shell.home), "backup", "restore", kept.backup_id])
    assert back.exit_code == 0, back.output
    assert [one["ban_id"] for one in json.loads(shell.run("bans", "--json").stdout)] == ["b1"]


def test_an_alias_is_listed_removed_and_restored_and_each_is_logged(shell: Tools) -> None:
    assert "No tool has another name" in shell.run("aliases").stdout
    digest = shell.app.library.get(TOOL).digest
    twin = Twin(name=TOOL, version=1, digest=digest)
    shell.app.audit.append(AuditEntry(
        who="ada", verdict="aliased", digest="d" * 64, name="sift_mails", version=1, session_id="s",
        approval_id="p7", alias=twin.label,
    ))  # fmt: skip
    shell.app.library.alias("sift_mails", "Sift mails.", twin, approval_id="p7", by="ada")
    listed = shell.run("aliases").stdout
    assert "sift_mails" in listed and f"{TOOL} v1" in listed
    assert json.loads(shell.run("aliases", "--json").stdout)[0]["target"]["digest"] == digest
    assert json.loads(shell.run("show", "sift_mails", "--json").stdout)["digest"] == digest
    history = shell.run("history", TOOL).stdout
    assert "Also called sift_mails" in history and "alias sift_mails v1 by ada" in history
    done = shell.run("unalias", "sift_mails", "--reason", "odd name")
    assert done.exit_code == 0, done.output
    assert isinstance(shell.run("show", "sift_mails").exception, RegistryError)
    assert shell.run("undo", TOOL).exit_code == 0
    assert "sift_mails" in shell.run("aliases").stdout
    assert shell.run("quarantine", TOOL).exit_code == 0
    assert "nothing" in shell.run("aliases").stdout
    assert isinstance(shell.run("run", "sift_mails").exception, RegistryError)
    assert isinstance(shell.run("unalias", "nobody").exception, RegistryError)
    assert shell.logged[:2] == ["another name removed", "taken back: another name removed"]
    assert shell.app.audit.verify() == []
    told = CliRunner().invoke(cli, ["--home", str(shell.home), "audit", "explain", TOOL]).stdout
    assert "another name removed by" in told and "odd name; alias: sift_mails" in told


def test_arguments_that_do_not_fit_are_refused_before_anything_runs_and_named(shell: Tools) -> None:
    wrong = shell.run("run", TOOL, "--input", '{"adresses": ["a@b"]}').exception
    assert isinstance(wrong, UsageError)
    assert "adresses is none of its parameters" in wrong.message and "addresses is missing" in wrong.message
    assert f"{TOOL}(addresses: list[str]" in wrong.hint and f"alita tools show {TOOL} --json" in wrong.hint
    odd = shell.run("run", TOOL, "--input", '{"addresses": [5]}').exception
    assert isinstance(odd, UsageError) and "$.addresses[0]" in odd.message
    (record,) = shell.app.library.versions(TOOL)
    assert (record.runs, record.failures) == (0, 0)


def test_a_tool_not_allowed_here_is_offered_to_no_model_and_people_see_why(
    shell: Tools,
) -> None:
    draft = msgspec.structs.replace(
        streams.DRAFT, name="words_often", language="bash", description="Count the most frequent words of a text.",
        code="printf '[]'\n",
    )  # fmt: skip
    approve_anew(shell.app, draft, Lock(), origin="imported")
    need = "most frequent words of a text"
    shelf = TaskLibrary(shell.app.library, forbidden=partial(forbidden, shell.app))
    assert "words_often" not in str(asyncio.run(shelf.find(need))) and "words_often" in str(
        shelf.search(need)
    )
    assert surroundings(shell.app).tools == 1
    told = shell.run("search", need).stdout
    assert "No tool fits" in told
    assert "Not offered: words_often v1. Tools in Bash are not allowed here." in told
    listed = json.loads(shell.run("search", need, "--json").stdout)
    assert [tool["name"] for tool in listed["forbidden"]] == ["words_often"] and not listed.get("hits")
    (shell.home / "config.toml").write_text('[sandbox]\nlanguages = ["python", "bash"]\n')
    allowed = shell.run("search", need).stdout
    assert "words_often" in allowed and "Not offered" not in allowed
    shell.app.library.ban(Ban(ban_id="b1", digest=shell.app.library.get("words_often").digest, by="ada"))
    assert "Not offered: words_often v1. The build" in shell.run("search", need).stdout


def test_a_person_searches_as_the_agent_does(shell: Tools) -> None:
    sure = shell.run("search", "validate email addresses")
    assert sure.exit_code == 0 and "A tool that fits is there (" in sure.stdout and TOOL in sure.stdout
    assert "shares" in sure.stdout and "not measured here yet" in sure.stdout
    unmet = shell.run("search", "play chess")
    assert "No tool fits (" in unmet.stdout and TOOL not in unmet.stdout
    found = json.loads(shell.run("search", "validate email addresses", "--json").stdout)
    assert found["band"] == "fits" and found["hits"][0]["card"]["name"] == TOOL
    assert isinstance(shell.run("search", " ").exception, UsageError)
