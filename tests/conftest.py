"""For every test: no animations (they move pictures), and no settings of the person who runs them."""

from __future__ import annotations

import os

import pytest

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


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A room's real containers are one process's work: its tests look at what others' runs would leave, too."""
    for item in items:
        if item.get_closest_marker("podman") or item.path.parent.name in ("sandbox", "e2e"):
            room = "sandbox" if item.path.parent.name == "sandbox" else "others"
            item.add_marker(pytest.mark.xdist_group(f"containers-{room}"))
