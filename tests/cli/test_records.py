"""What is on record cannot be rewritten unseen: attacks on the real files of a home, through the real CLI and AppContext.

The oracle is the promise: no tool runs that the person's newest verdict does not allow, and `audit verify` says
what is wrong.
"""

from __future__ import annotations

import grp
import json
import os
import pwd
import shutil
from pathlib import Path

import msgspec
import pytest

from alita_tui.app.context import AppContext
from alita_tui.app.doctor import repair_records
from alita_tui.events import Ban, BuildDigest, Verdict, build_digest
from alita_tui.spine.commands import ResolveApproval
from alita_tui.spine.errors import AlitaError
from alita_tui.store.entry import AuditEntry
from tests.cli.audited import SESSION, TOOL
from tests.cli.records_lab import Records
from tests.support import streams


@pytest.fixture
def home(tmp_path: Path) -> Records:
    made = Records(tmp_path)
    assert made.runs()
    assert made.run("audit", "verify").exit_code == 0
    return made


def test_a_log_that_was_rewritten_as_a_whole_is_rejected(home: Records) -> None:
    assert home.run("tools", "revoke", TOOL).exit_code == 0
    home.forget("revoked")
    done = home.run("audit", "verify")
    assert done.exit_code == 1, done.stdout
    assert not home.runs()


def test_a_revocation_holds_even_if_its_line_in_the_registry_is_deleted(home: Records) -> None:
    assert home.run("tools", "revoke", TOOL).exit_code == 0
    journal = home.registry.with_name("registry.json.journal")
    places = [one for one in (home.registry, journal) if one.exists()]
    for place in places:
        raw = place.read_bytes()
        place.write_bytes(b"\n".join(one for one in raw.split(b"\n") if b'"revoked"' not in one))
        place.write_bytes(place.read_bytes().replace(b'"state":"revoked"', b'"state":"provisional"'))
    assert not home.runs()


def test_garbled_last_lines_are_damage(home: Records) -> None:
    assert home.run("tools", "pin", TOOL).exit_code == 0
    raw = home.log.read_bytes()
    home.log.write_bytes(raw[:-300])
    done = home.run("audit", "verify")
    assert done.exit_code == 1 and "entry 2" in done.stdout
    assert not home.runs()
    home.log.write_bytes(raw + b'{"sequence":3,garbled')
    assert home.run("audit", "verify").exit_code == 1
    home.log.write_bytes(b"".join(raw.splitlines(keepends=True)[:1]) + b'{"sequence":2,"a"')
    done = home.run("audit", "verify")
    assert done.exit_code == 1 and "was cut off" not in done.stdout


def test_a_restored_backup_does_not_bring_a_revoked_tool_back(home: Records) -> None:
    made = json.loads(home.run("backup", "create", "--json").stdout)
    assert home.run("tools", "revoke", TOOL).exit_code == 0
    done = home.run("backup", "restore", made["backup_id"])
    assert done.exit_code == 0
    assert not home.runs()
    assert "revoked" in done.stdout


def test_an_older_registry_does_not_bring_a_revoked_tool_back(home: Records) -> None:
    app = AppContext.open(home.home)
    app.library.cards()
    app.tool_documents.close()
    older = home.registry.read_bytes()
    assert home.run("tools", "revoke", TOOL).exit_code == 0
    home.registry.with_name("registry.json.journal").unlink(missing_ok=True)
    home.registry.write_bytes(older)
    assert not home.runs()
    shown = home.run("tools", "list").output
    assert "the log says revoked" in shown


def test_a_handwritten_note_is_no_verdict(home: Records) -> None:
    command = ResolveApproval(approval_id="p9", digest=BuildDigest("d" * 64), verdict=Verdict(decision="approved", via="console", seen_ms=100_000.0, scrolled_to_end=True))  # fmt: skip
    note = {"command": msgspec.to_builtins(command), "by": "somebody-else", "at": "2026-11-21T10:00:00+00:00"}
    home.app.paths.desk.mkdir(parents=True, exist_ok=True)
    (home.app.paths.desk / "p9.json").write_text(json.dumps(note))
    assert home.app.inbox.verdict("p9") is None


def test_a_ban_of_bytes_is_asked_about_with_their_own_digest(home: Records) -> None:
    """A build is banned by the digest of draft and wheels; a new build is known by its draft first."""
    assert str(streams.DRAFT.digest) != build_digest(streams.DRAFT, streams.LOCK)
    digest = build_digest(streams.DRAFT, streams.LOCK)
    home.app.library.ban(Ban(ban_id="x", digest=digest, draft=streams.DRAFT.digest, by="ada"))
    assert home.app.library.banned("other", streams.DRAFT, digest)
    assert home.app.library.banned("other", streams.DRAFT, "")
    assert not home.runs()


def test_a_tool_copied_to_another_home_asks_again(home: Records, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "data").mkdir(parents=True, mode=0o700)
    for one in ("registry.json", "registry.json.journal", "mcp_box"):
        there = home.app.paths.data / one
        if there.is_dir():
            shutil.copytree(there, other / "data" / one)
        elif there.exists():
            shutil.copy(there, other / "data" / one)
    with pytest.raises(AlitaError, match="no approval") as refused:
        AppContext.open(other).library.get(TOOL)
    assert f"alita tools approve {TOOL}" in refused.value.hint


def test_a_revocation_that_was_cut_off_is_repaired(home: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after the log and before the registry: the tool does not run, and the next start mends it."""
    from alita_tui.registry.library import ToolLibrary

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ToolLibrary, "change_state", killed)
    with pytest.raises(KeyboardInterrupt):
        home.app.lineages("cli").move(TOOL, "revoke", None, by="ada")
    monkeypatch.undo()
    assert not home.runs()
    found = AppContext.open(home.home).lineages("cli").of(TOOL)
    assert [one.state for one in found.versions] == ["revoked"]
    assert [one.kind for one in found.moves] == ["revoke"]
    assert home.run("audit", "verify").exit_code == 0


def test_a_session_without_one_of_its_approvals_says_so(home: Records) -> None:
    path = home.app.sessions.path(SESSION)
    raw = path.read_text()
    kept = [one for one in raw.splitlines() if '"approval_re' not in one]
    assert len(kept) < len(raw.splitlines())
    path.write_text("\n".join(kept) + "\n")
    done = home.run("sessions", "verify", SESSION)
    assert done.exit_code == 1
    assert "has no verdict on" in done.output


@pytest.mark.parametrize("what", ["config", "preferences", "policy", "home", "log", "link"])
def test_a_record_that_others_may_write_is_refused_with_the_command_that_fixes_it(
    home: Records, what: str
) -> None:
    paths = home.app.paths
    paths.config_file.write_text("")
    paths.policy.write_text("enabled = false\n")
    paths.preferences.write_text("Metric units.\n")
    place = {
        "config": paths.config_file, "preferences": paths.preferences, "policy": paths.policy, "home": paths.data, "log": paths.audit,
        "link": paths.policy,
    }[what]  # fmt: skip
    if what == "link":
        target = home.home / "elsewhere.toml"
        target.write_text("enabled = true\n")
        place.unlink()
        place.symlink_to(target)
    else:
        os.chmod(place, place.stat().st_mode | 0o002)
    done = home.run("tools", "list")
    assert isinstance(done.exception, AlitaError) and str(place) in done.exception.message
    assert "alita doctor --fix" in done.exception.hint
    assert repair_records(AppContext.open(home.home, strict=False))
    assert home.run("tools", "list").exit_code == 0 and not place.is_symlink()
    assert home.runs()


def test_an_anchor_elsewhere_reveals_that_a_whole_home_was_set_back(home: Records, tmp_path: Path) -> None:
    """Data and key together are the whole account: only what was written elsewhere tells."""
    elsewhere = tmp_path / "elsewhere.heads"
    older = Path(shutil.copytree(home.home, tmp_path / "older", ignore=shutil.ignore_patterns("older")))
    assert home.run("tools", "revoke", TOOL).exit_code == 0
    assert home.run("audit", "anchor", str(elsewhere)).exit_code == 0
    assert home.run("audit", "anchor", f"|tee -a {elsewhere}").exit_code == 0
    assert len(elsewhere.read_text().splitlines()) == 2
    assert home.run("audit", "verify", "--anchor", str(elsewhere)).exit_code == 0
    assert home.run("audit", "verify", "--anchor", f"|cat {elsewhere}").exit_code == 0
    shutil.rmtree(home.home / "data")
    shutil.rmtree(home.home / "audit")
    for one in ("data", "audit"):
        shutil.copytree(older / one, home.home / one)
    assert home.run("audit", "verify").exit_code == 0 and home.runs(), "here nothing can tell"
    done = home.run("audit", "verify", "--anchor", str(elsewhere))
    assert done.exit_code == 1 and "is not the one that was anchored" in done.stdout
    missing = home.run("audit", "verify", "--anchor", str(tmp_path / "nothing"))
    assert isinstance(missing.exception, AlitaError)
    broken = home.run("audit", "anchor", "|false")
    assert isinstance(broken.exception, AlitaError) and "false ended with 1" in broken.exception.message


def test_a_revoked_rule_stays_revoked(home: Records) -> None:
    rule = 'enabled = true\n[[rule]]\nname = "pure"\nmax_lines = 60\n'
    policy = home.app.paths.policy
    policy.write_text(rule)
    assert home.run("policy", "revoke", "pure").exit_code == 0
    policy.write_text(rule)
    assert [one.revoked != "" for one in AppContext.open(home.home).policy.rules] == [True]
    assert "revoked" in home.run("policy", "list").stdout
    done = home.run("audit", "verify")
    assert done.exit_code == 1 and "the rule pure was revoked" in done.stdout


def test_a_ban_deleted_from_the_library_still_holds(home: Records) -> None:
    home.app.audit.append(AuditEntry(
        who="ada", verdict="banned", digest="d" * 64, name="mailer", version=1, session_id="s2", approval_id="p7",
        banned=("name", "digest"), reason="no mail", via="cli",
    ))  # fmt: skip
    shelf = AppContext.open(home.home).library
    assert "The name mailer was banned by ada: no mail." in shelf.banned("mailer")
    assert shelf.banned("other", digest="d" * 64)
    done = home.run("audit", "verify")
    assert "the ban of mailer by ada is not in the library; it holds" in done.stdout
    assert home.run("tools", "unban", "p7").exit_code == 0
    assert not AppContext.open(home.home).library.banned("mailer")


def test_a_broken_log_is_repaired_from_a_backup_or_replaced_by_a_new_one(home: Records) -> None:
    assert home.run("backup", "create").exit_code == 0
    whole = home.log.read_bytes()
    home.log.write_bytes(whole[:-9] + b"garbled!\n")
    assert not home.runs()
    assert "No tool runs" in home.run("tools", "list").output
    assert "brought back" in home.run("audit", "repair").stdout
    assert home.runs() and home.log.read_bytes().startswith(whole)
    assert home.run("audit", "verify").exit_code == 0
    home.log.write_bytes(whole)
    assert "a new log was begun" in home.run("audit", "repair").stdout, "an entry is gone, and no copy has it"
    assert not home.runs()
    shown = home.run("tools", "list").output
    assert f"alita tools approve {TOOL} --version 1" in shown
    listed = home.run("tools", "approve", TOOL)
    assert (
        listed.exit_code == 0 and streams.DRAFT.digest[:16] in listed.stdout and "def run(" in listed.stdout
    )
    wrong = home.run("tools", "approve", TOOL, "--digest", "0" * 16)
    assert isinstance(wrong.exception, AlitaError)


def test_a_session_that_claims_to_be_imported_is_checked_against_its_verdicts(home: Records) -> None:
    path = home.app.sessions.path(SESSION)
    raw = path.read_text()
    assert raw.count(f'"session_id":"{SESSION}"') >= 1
    path.write_text(raw.replace(f'"session_id":"{SESSION}"', f'"session_id":"{SESSION}","imported":true', 1))
    assert AppContext.open(home.home).sessions.find(SESSION)
    found = json.loads(home.run("sessions", "verify", SESSION, "--json").stdout)["sessions"][0]
    assert found["proves"] == ["1 of its verdicts are in the log, signed"]


def test_the_verdict_names_the_user_of_the_process(home: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment says somebody else; the log does not."""
    monkeypatch.setenv("LOGNAME", "somebody-else")
    monkeypatch.setenv("USER", "somebody-else")
    assert home.run("tools", "pin", TOOL).exit_code == 0
    assert home.app.audit.entries()[-1].who == pwd.getpwuid(os.getuid()).pw_name


def test_a_home_writable_by_a_private_group_is_accepted(home: Records) -> None:
    """As with umask 002, where each user has a group of their own."""
    os.chmod(home.app.paths.data, 0o770)
    alone = not [one for one in pwd.getpwall() if one.pw_gid == os.getegid() and one.pw_uid != os.geteuid()]
    alone = alone and set(grp.getgrgid(os.getegid()).gr_mem) <= {pwd.getpwuid(os.geteuid()).pw_name}
    assert (home.run("tools", "list").exception is None) is alone
