"""For every test: no animations (they move pictures), and no settings of the person who runs them."""

from __future__ import annotations

import os
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

# Textual reads this when it is imported.
os.environ["TEXTUAL_ANIMATIONS"] = "none"
for name in [name for name in os.environ if name.startswith("ALITA_")]:
    del os.environ[name]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record",
        action="store_true",
        help="Keep the sessions of the walks through in sessions/ (make golden).",
    )


class _Rooms(LoadFileScheduling):
    """Files side by side; the sandbox's in one process: they look at what others' runs would leave, too."""

    def _split_scope(self, nodeid: str) -> str:
        scope = super()._split_scope(nodeid)
        return "tests/sandbox" if scope.startswith("tests/sandbox/") else scope


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _Rooms:
    """How `-n` spreads the tests."""
    return _Rooms(config, log)
