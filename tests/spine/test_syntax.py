"""The parser, from many threads at once."""

from __future__ import annotations

import ast
import gc
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import alita_tui
from alita_tui.spine.syntax import UNPARSABLE, parse

TEXT = (
    "def run(x):\n    return [[one + {x: (x, x)} for one in two] for two in x if not (x and x or x)]\n" * 10
)


def test_parsing_in_threads_is_independent() -> None:
    def note(phase: str, info: dict[str, int]) -> None:
        sum(range(50))

    before, often = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(50)
    gc.callbacks.append(note)  # where the collector runs Python, threads may take turns
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(6) as pool:
            trees = list(pool.map(parse, [TEXT] * 40))
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*before)
        sys.setswitchinterval(often)
    assert {len(list(ast.walk(tree))) for tree in trees} == {len(list(ast.walk(parse(TEXT))))}


@pytest.mark.parametrize("text", ["def run(:", "\x00", "(" * 5000])
def test_invalid_python_raises_a_documented_error(text: str) -> None:
    with pytest.raises(UNPARSABLE):
        parse(text)


def test_warnings_of_the_parser_are_not_printed() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse("A = '\\d'\n")


def test_only_this_module_calls_the_parser() -> None:
    """One call that takes no lock is enough to make every other one fail at random."""
    package = Path(alita_tui.__file__).parent
    elsewhere = [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if "ast.parse(" in path.read_text("utf-8") and path.name != "syntax.py"
    ]
    # These run in processes of their own, inside a container.
    assert all(name.startswith(("sandbox/warden/", "_shipped/")) for name in elsewhere), elsewhere
