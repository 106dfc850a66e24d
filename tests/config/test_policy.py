from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from alita_tui.config.guarding import faults
from alita_tui.config.paths import locate
from alita_tui.config.policy import Policy, load_policy, revoke_rule
from alita_tui.spine.errors import ConfigError

FILE = """\
# mine
enabled = true

[[rule]]
name = "pure"       # nothing but its arguments
max_lines = 60
until = 2027-01-31

[[rule]]
name = "rates"
network = ["api.ecb.example:443"]
requirements = "known"
lasting = "task"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "policy.toml"


def test_without_a_file_or_the_setting_there_is_no_rule(path: Path) -> None:
    assert load_policy(path) == Policy()
    path.write_text(FILE.replace("enabled = true\n", ""))
    assert load_policy(path).rules == ()
    assert len(load_policy(path).rule) == 2


def test_rules_are_read_as_they_are_written(path: Path) -> None:
    path.write_text(FILE)
    pure, rates = load_policy(path).rules
    assert (pure.max_lines, pure.until, pure.network) == (60, date(2027, 1, 31), ())
    assert (rates.network, rates.requirements, rates.lasting) == (("api.ecb.example:443",), "known", "task")
    assert pure.digest != rates.digest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("enabled = ", "not TOML"),
        ('[[rule]]\nname = "x"\nsecrets = ["TOKEN"]\n', "no rule can cover secrets"),
        ('[[rule]]\nname = "x"\nsecrets = []\n', "no rule can cover secrets"),
        ('[[rule]]\nname = "x"\nrequirements = "any"\n', "requirements"),
        ('[[rule]]\nname = "x"\ntools = ["a"]\n', "tools"),
        ('[[rule]]\nname = "x"\ngates = ["vibes"]\n', "gates"),
        ("[[rule]]\nmax_lines = 3\n", "name"),
        ('[[rule]]\nname = ""\n', "name of its own"),
        ('[[rule]]\nname = "x"\n[[rule]]\nname = "x"\n', "name of its own"),
        ("enable = true\n", "the file has no 'enable'"),
        ('[[rule]]\nname = "x"\nmax_line = 3\n', "a rule has no 'max_line'"),
        ('[[rule]]\nname = "x"\nnetwork = ["*"]\n', "no single host; write each one out"),
        ('[[rule]]\nname = "x"\nnetwork = ["*.example.org:443"]\n', "no single host"),
        ('[[rule]]\nname = "x"\nnetwork = ["api.example.org"]\n', "no single host"),
        ('[[rule]]\nname = "x"\ngates = []\n', "leave gates out"),
        ('[[rule]]\nname = "x"\nmax_lines = 100000\n', "from 1 to 500"),
        ('[[rule]]\nname = "x"\nmax_lines = 0\n', "from 1 to 500"),
        ('[[rule]]\nname = "x"\nmodel_calls = 1000\n', "from 0 to 20"),
        ('[[rule]]\nname = "x"\nmodel_calls = -1\n', "from 0 to 20"),
    ],
)
def test_an_invalid_rule_file_is_refused(path: Path, text: str, said: str) -> None:
    path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        load_policy(path)


def test_an_unknown_key_of_a_rule_is_reported_with_the_nearest_name(path: Path) -> None:
    path.write_text('[[rule]]\nname = "x"\nmax_line = 3\n')
    with pytest.raises(ConfigError) as caught:
        load_policy(path)
    assert "Did you mean max_lines?" in caught.value.hint and "lasting" in caught.value.hint


def test_a_revoked_rule_stays_in_the_file_and_no_longer_applies(path: Path) -> None:
    path.write_text(FILE)
    assert revoke_rule(path, "pure", "2026-11-21 by ada").revoked == ""
    kept = path.read_text()
    assert "# mine" in kept and "# nothing but its arguments" in kept
    assert load_policy(path).rules[0].revoked == "2026-11-21 by ada"
    with pytest.raises(ConfigError, match="was revoked 2026-11-21 by ada"):
        revoke_rule(path, "pure", "again")
    with pytest.raises(ConfigError, match="no rule 'other'"):
        revoke_rule(path, "other", "x")


def test_alita_still_starts_after_a_rule_was_revoked_under_a_wide_umask(tmp_path: Path) -> None:
    paths = locate(tmp_path, {})
    paths.policy.write_text(FILE)
    paths.policy.chmod(0o600)
    before = os.umask(0)
    try:
        revoke_rule(paths.policy, "pure", "2026-11-21 by ada")
    finally:
        os.umask(before)
    assert not [fault for fault in faults(paths) if fault.path == str(paths.policy)]
