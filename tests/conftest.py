"""For every test: no animations (they move pictures), and no settings of the person who runs them."""

from __future__ import annotations

import ast
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import hypothesis
import pytest
from xdist.scheduler import LoadFileScheduling

from tests.attack.commit import number_of_commit, seed_of_commit

# Textual reads this when it is imported.
os.environ["TEXTUAL_ANIMATIONS"] = "none"
# No test leaves a key in the keyring of the person who runs it.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
for name in [name for name in os.environ if name.startswith("ALITA_")]:
    del os.environ[name]


_parse = ast.parse
_parsing = threading.RLock()


def _one_by_one(*given: Any, **named: Any) -> Any:
    with _parsing:
        for _ in range(5):
            with suppress(SystemError):
                return _parse(*given, **named)
        return _parse(*given, **named)


# pytest parses what a test imports, in any thread; CPython before 3.11.8 fails at random where two threads parse
# (python/cpython#106905).
if sys.version_info < (3, 11, 8):
    ast.parse = _one_by_one


# An example that takes 200 ms fails otherwise, as it may on a busy machine.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record",
        action="store_true",
        help="Keep the sessions of the walks through in sessions/ (make golden).",
    )
    parser.addoption(
        "--whole",
        action="store_true",
        help="Take everything: the walks through, every case of what is sampled, and what is not this commit's turn.",
    )
    parser.addoption(
        "--rest",
        action="store_true",
        help="Take what is left out otherwise, and nothing else (make jobs).",
    )
    parser.addoption(
        "--share",
        type=float,
        default=1.0,
        help="Of what --rest takes, this share; another one with each commit.",
    )
    parser.addoption(
        "--quick",
        action="store_true",
        help="Of the files and tests that take turns, try one in twenty instead of one in eight; one picture of each screen.",
    )
    parser.addoption(
        "--other-wire",
        action="store_true",
        help="Do each odd job and walk through over the wire protocol that it does not take by default.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Take no picture for unused, and delete none, where only a sample of the tests runs."""
    config.option.disable_unused_snapshots = not config.getoption("--whole")


def _sample_pictures(items: list[pytest.Item], quick: bool) -> None:
    """Mark the tests that compare pictures as `sampled`: a screen has up to six, in sizes and themes.

    Each commit tries a third of them; a quick run tries one.
    """
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if "snap_compare" in getattr(item, "fixturenames", ()):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for known in cases.values():
        for item in known:
            if item.get_closest_marker("sampled") is None:
                item.add_marker(pytest.mark.sampled(1 if quick else -(-len(known) // 3)))


def _not_sampled(items: list[pytest.Item]) -> set[str]:
    """Return the cases of `sampled` tests that this commit does not try; another one tries others."""
    cases: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    for item in items:
        if (marker := item.get_closest_marker("sampled")) is not None:
            test = item.nodeid.partition("[")[0]
            cases.setdefault(test, []).append(item.nodeid)
            sizes[test] = marker.args[0]
    chance = Random(seed_of_commit())
    return {
        case
        for test, known in cases.items()
        for case in chance.sample(known, max(len(known) - sizes[test], 0))
    }


_BY_TURNS = frozenset(
    "agent app attack cli console e2e evaluation mapping mcp_box replay runtimes sandbox servers serving store "
    "toolsmith".split()
)
"""Folders whose tests start containers, processes or apps: all of them would take forty minutes."""
_BY_TURNS_IF_QUICK = _BY_TURNS | frozenset("confined crash llm web".split())
"""Besides, folders whose tests start servers or many processes."""
_FILES_IF_QUICK = 4
"""Of the files of those folders a quick run reads one in so many: to read them all would take 20 seconds."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files that a quick run does not read for this commit, unless they are named."""
    if (
        config.getoption("--quick")
        and collection_path.name.startswith("test_")
        and collection_path.parent.name in _BY_TURNS_IF_QUICK
        and not _named(config)
        and crc32(collection_path.name.encode()) % _FILES_IF_QUICK != number_of_commit() % _FILES_IF_QUICK
    ):
        return True
    return None


def _named(config: pytest.Config) -> bool:
    """Return whether the arguments name a file or a test."""
    return any("::" in argument or argument.endswith(".py") for argument in config.args)


def _not_its_turn(items: list[pytest.Item], quick: bool) -> set[str]:
    """Return the tests that another commit tries; what is sampled takes no turns."""
    folders, turns = (_BY_TURNS_IF_QUICK, 5) if quick else (_BY_TURNS, 8)
    turn = number_of_commit() % turns
    return {
        item.nodeid
        for item in items
        if item.path.parent.name in folders
        and item.get_closest_marker("sampled") is None
        and crc32(item.nodeid.encode()) % turns != turn
    }


def _left_out(items: list[pytest.Item], quick: bool) -> set[str]:
    """Return the tests that a plain run of this commit leaves out."""
    walks = {item.nodeid for item in items if item.get_closest_marker("walk")}
    return walks | _not_sampled(items) | _not_its_turn(items, quick)


_LONGEST_FIRST = ("sandbox", "attack", "e2e", "toolsmith", "console", "store", "cli", "tests", "agent")
"""Folders whose tests start containers, processes or apps. Begun last, one of them would leave a process idle."""


class _Rooms(LoadFileScheduling):  # type: ignore[misc]  # xdist ships no types
    """Files side by side; the sandbox's in one process: they look at what others' runs would leave, too.

    Attacks by keys each go anywhere: nearly all their time is a person's.
    """

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith("tests/attack/test_named.py"):
            return nodeid
        scope = super()._split_scope(nodeid)
        return "tests/sandbox" if scope.startswith("tests/sandbox/") else scope


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _Rooms:
    """How `-n` spreads the tests: in the order of `pytest_collection_modifyitems`."""
    config.option.loadscopereorder = False
    return _Rooms(config, log)


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out walks, cases and tests of other commits; in a process of `-n`, what takes long comes first.

    Naming a file or a test tries all of it.
    """
    quick = config.getoption("--quick")
    _sample_pictures(items, quick)
    if not (config.getoption("--whole") or _named(config)):
        out = _left_out(items, quick)
        if config.getoption("--rest"):
            most, seed = 1_000 * config.getoption("--share"), seed_of_commit()
            chosen = {one for one in out if crc32(f"{seed} {one}".encode()) % 1_000 < most}
            out = {item.nodeid for item in items} - chosen
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in out])
        items[:] = [item for item in items if item.nodeid not in out]

    def late(item: pytest.Item) -> int:
        room = item.path.parent.name
        return _LONGEST_FIRST.index(room) if room in _LONGEST_FIRST else len(_LONGEST_FIRST)

    if hasattr(config, "workerinput"):
        items.sort(key=late)
