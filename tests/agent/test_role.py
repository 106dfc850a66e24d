"""Roles are data: shipped ones hold what they promise, and a person's file that is wrong spoils nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import get_args

import pytest

from alita_tui.agent.actions import ACTIONS
from alita_tui.agent.role import VERIFIER, RoleAction, read_role, read_roles
from alita_tui.spine.errors import ConfigError, RegistryError

LEAST = 'purpose = "Counts."\nprompt = "You count."\n'


def test_the_shipped_roles_are_there_and_speak_to_their_reader() -> None:
    roles = read_roles()
    assert {role.name for role in roles} == {"researcher", "data-analyst", "toolsmith", VERIFIER, "writer"}
    for role in roles:
        assert role.prompt.strip().startswith("You "), role.name
        assert role.purpose and role.done_when and not role.own
    assert {role.name for role in roles if "build_tool" in role.actions} == {"toolsmith"}
    assert [role.name for role in roles if "delegate" in role.actions] == []


def test_no_role_can_be_allowed_actions_of_the_lead() -> None:
    allowed = {*get_args(RoleAction)}
    assert allowed - {"delegate"} <= ACTIONS.keys()
    assert not allowed & {"answer", "plan", "ask_user", "wait"}


def test_a_file_defines_a_role_or_replaces_a_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "counter.toml").write_text(LEAST + 'actions = ["look"]\ntools = ["csv_*", "sum"]\n')
    (tmp_path / "writer.toml").write_text(LEAST)
    (tmp_path / "notes.txt").write_text("no role")
    roles = read_roles(tmp_path)
    assert roles.problems == {}
    assert roles["counter"].actions == ("look",) and roles["counter"].own
    assert [roles["counter"].allows(name) for name in ("csv_table", "sum", "sums", "chart")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert roles["writer"].prompt == "You count." and roles["researcher"].own is False
    with pytest.raises(RegistryError, match="no role"):
        roles["counterfeit"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("counter", "purpose = ", "TOML"),
        ("counter", 'purpose = "Counts."', "prompt"),
        ("counter", LEAST + 'actions = ["answer"]', "answer"),
        ("counter", LEAST + 'actions = ["ask_user"]', "ask_user"),
        ("counter", LEAST + "share = 1.5", "share"),
        ("counter", LEAST + "share = 0", "share"),
        ("counter", LEAST + "share = nan", "share"),
        ("counter", LEAST + "minutes = inf", "minutes"),
        ("counter", LEAST + "steps = 0", "steps"),
        ("counter", LEAST + 'aktions = ["look"]', "aktions"),
        ("counter", LEAST + 'name = "other"', "name"),
        ("counter", LEAST + "own = true", "own"),
        ("Counter", LEAST, "not a name"),
        ("../counter", LEAST, "not a name"),
    ],
)
def test_a_wrong_file_is_refused_with_what_is_wrong(name: str, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_role(text, name)
    assert said in f"{refused.value.message} {refused.value.hint}"


def test_a_wrong_file_is_a_problem_and_the_others_hold(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(LEAST)
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "huge.toml").write_text(LEAST + "# " + "x" * 70_000)
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "gone.toml").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "endless.toml").symlink_to("/dev/zero")
    roles = read_roles(tmp_path)
    wrong = {"bad", "huge", "folder", "gone", "pipe", "endless"}
    assert {Path(place).stem for place in roles.problems} == wrong
    assert roles["good"].own and len(list(roles)) == 6
