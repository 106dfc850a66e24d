"""The parser, from many threads at once."""

from __future__ import annotations

import ast
import gc
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from alita_tui.spine.syntax import UNPARSABLE, parse

TEXT = (
    "def run(x):\n    return [[one + {x: (x, x)} for one in two] for two in x if not (x and x or x)]\n" * 10
)


def test_threads_do_not_disturb_each_other() -> None:
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
def test_what_is_no_python_raises_what_is_said(text: str) -> None:
    with pytest.raises(UNPARSABLE):
        parse(text)


def test_what_the_parser_warns_of_is_not_printed() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse("A = '\\d'\n")
