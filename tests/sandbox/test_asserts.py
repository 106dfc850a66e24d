"""A failed assert of a self-test says what it compared; one that passes does what it always did."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from alita_tui.sandbox.warden.asserts import imported


def told(tmp_path: Path, body: str) -> str:
    """The message of the assert that fails in this test function."""
    text = "class C:\n    def __repr__(self):\n        raise ValueError\n\n\ndef test_it():\n"
    path = tmp_path / "test_tool.py"
    path.write_text(text + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n")
    module = imported("test_tool", str(path))
    try:
        module.test_it()
    except AssertionError as error:
        return str(error)
    return "it passed"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("a, b = 4, 5\nassert a == b", "where a is 4\nwhere b is 5"),
        ("def run(x):\n    return {'n': x}\nassert run(2) == {'n': 3}", "where run(2) is {'n': 2}"),
        ("def run(x):\n    return 0\nassert run(1)", "where run(1) is 0"),
        ("a = 3\nassert a == 4, 'three is not four'", "three is not four\nwhere a is 3"),
        ("a = [1]\nassert len(a) == 2", "where a is [1]\nwhere len(a) is 1"),
        ("a = 3\nassert 0 < a < 2 and a != 9", "where a is 3"),
        ("a, b = 1, 2\nassert a == 2 and b == 3", "where a is 1"),
        ("a = 'x'\nassert isinstance(a, int)", "where a is 'x'"),
        ("a = 'xyz'\nassert a.startswith('y')", "where a is 'xyz'\nwhere a.startswith('y') is False"),
        ("import math\nassert math.isclose(1.0 + 1, 3)", "where math.isclose(1.0 + 1, 3) is False"),
        ("a = [1]\nassert not a", "where a is [1]"),
        ("assert C() == 1", "where C() is a C that cannot be shown (ValueError)"),
        ("assert False", ""),
        ("assert all(x > 1 for x in [1])", ""),
        ("a = 'y' * 5000\nassert a == ''", f"where a is '{'y' * 299} … {'y' * 79}' (5002 characters)"),
    ],
)
def test_a_failed_assert_shows_its_operands(tmp_path: Path, body: str, said: str) -> None:
    assert told(tmp_path, body) == said


def test_operands_are_evaluated_once_and_only_as_far_as_needed(tmp_path: Path) -> None:
    body = """
    seen = []

    def at(x):
        seen.append(x)
        return x

    assert at(1) < at(2) < at(3)
    assert at(4) == 4 or at(5) == 5
    assert not (at(6) == 7 and at(8) == 8)
    assert seen == [1, 2, 3, 4, 6], seen
    assert (seen.append(9), True)[1]
    assert [n for n in range(3) if at(n) >= 0] == [0, 1, 2]
    class D:
        x = at(1)
        assert x == 1
    """
    assert told(tmp_path, body) == "it passed"


def test_lines_of_a_traceback_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "test_tool.py"
    path.write_text(
        '"""Doc."""\nfrom __future__ import annotations\n\n\ndef test_it():\n    a = 1\n    assert (\n        a == 2\n    )\n'
    )
    module = imported("test_tool", str(path))
    with pytest.raises(AssertionError) as caught:
        module.test_it()
    assert caught.traceback[-1].lineno + 1 in (7, 8)


def test_invalid_python_in_tests_raises_a_syntax_error(tmp_path: Path) -> None:
    path = tmp_path / "test_tool.py"
    path.write_text("def test_it(:\n")
    with pytest.raises(SyntaxError):
        imported("test_tool", str(path))
