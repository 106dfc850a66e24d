"""A test that fails beside others is tried alone; an attack, a wrong result and a run that broke off are not forgiven."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.again import main, may_pass

pytestmark = pytest.mark.slow

ONE = "tests/cli/test_queue.py::test_one"


@pytest.mark.parametrize(
    ("tests", "may"),
    [
        ([ONE], True),
        ([], False),
        (["tests/attack/test_named.py::test_one"], False),
        ([ONE, "tests/attack/test_named.py::test_one"], False),
        (["tests/cli/test_queue.py"], False),  # it could not be imported
        ([f"{ONE}[{number}]" for number in range(6)], False),
    ],
)
def test_only_a_few_failures_that_are_no_attacks_are_tried_again(tests: list[str], may: bool) -> None:
    assert may_pass(tests) is may


@pytest.mark.parametrize(
    ("test", "first", "again"),
    [
        (
            "    made = Path(__file__).with_name('made')\n    made.touch()\n    assert made.stat().st_size",
            1,
            1,
        ),
        (
            "    made = Path(__file__).with_name('made')\n    seen = made.exists()\n    made.touch()\n    assert seen",
            1,
            0,
        ),
        ("    raise KeyboardInterrupt", 2, 2),
    ],
    ids=["wrong", "unsteady", "interrupted"],
)
def test_the_second_run_decides(
    test: str, first: int, again: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the Makefile does it: a run with a cache folder of its own, then what failed of it."""
    (tmp_path / "test_made.py").write_text(f"from pathlib import Path\n\ndef test_made():\n{test}\n")
    monkeypatch.chdir(tmp_path)
    run = [sys.executable, "-m", "pytest", "-q", "-o", "cache_dir=cache", "--cache-clear"]
    ran = subprocess.run(run, check=False)
    assert ran.returncode == first
    assert main(ran.returncode, Path("cache"), []) == again
