"""What an evaluation leaves out is not there, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from alita_tui.app.checking import NoModel, checks
from alita_tui.app.context import AppContext


def test_without_hidden_tests_every_other_check_runs(tmp_path: Path) -> None:
    app = AppContext.open(tmp_path)
    nobody = cast(Any, None)
    whole = checks(app, nobody, NoModel(), nobody, nobody)
    less = checks(replace(app, left_out=frozenset(("hidden-tests",))), nobody, NoModel(), nobody, nobody)
    assert [one.name for one in whole.before] == [one.name for one in less.before]
    assert {one.name for one in whole.after} - {one.name for one in less.after} == {"hidden"}
    assert len(whole.after) == len(less.after) + 1
