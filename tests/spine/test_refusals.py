"""A run that refused its input is told from a failure; the message is found without the traceback."""

from __future__ import annotations

import pytest

from alita_tui.events import BrokerAnswered, CallId, RunReport
from alita_tui.spine.refusals import last_message, line_of_code, refused_input

HEAD = "Traceback (most recent call last):\n"
OWN = '  File "/tmp/tool/chart.py", line 38, in run\n    raise ValueError("kind is wrong")\n'
BY_PYTHON = '  File "/tmp/tool/chart.py", line 40, in run\n    return int(text)\n           ~~~^^^^^^\n'
LIBRARY = '  File "/env/json/decoder.py", line 340, in decode\n    raise ValueError("no JSON")\n'


def report(error: str, exception: str = "ValueError", status: str = "error") -> RunReport:
    return RunReport(status=status, exit_code=1, error=error, exception=exception)  # type: ignore[arg-type]


def request(outcome: str, status: int) -> BrokerAnswered:
    return BrokerAnswered(call_id=CallId("c"), request="GET x", outcome=outcome, status=status)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("run", "refused"),
    [
        (report(f"{HEAD}{OWN}ValueError: kind is wrong"), True),
        (report(f"{HEAD}{BY_PYTHON}ValueError: invalid literal\n\nDuring …:\n\n{HEAD}{OWN}ValueError: no"), True),
        (report(f"{HEAD}{OWN}ValueError: first\n  File is odd"), True),
        (report(f"{HEAD}{BY_PYTHON}ValueError: invalid literal for int()"), False),
        (report(f"{HEAD}{OWN}{LIBRARY}ValueError: no JSON"), False),
        (report(f"{HEAD}{OWN}KeyError: 'x'", "KeyError"), False),
        (report("ValueError: no such column\n"), True),  # a script in Bash that ended with 65
        (report("RangeError: too many\n    at run (file:///tmp/tool/x.mjs:3:9)", "RangeError"), True),
        (report("TypeError: x is undefined\n    at run (x.mjs:3:9)", "TypeError"), False),
        (report("It ran longer than 20 s and was ended.", "", "timeout"), False),
        (report(f"{HEAD}{OWN}ValueError: kind", "ValueError", "limit"), False),
        (RunReport(status="ok", result=1), False),
    ],
)  # fmt: skip
def test_only_deliberate_errors_are_refusals(run: RunReport, refused: bool) -> None:
    assert refused_input(run) is refused


@pytest.mark.parametrize(
    ("requests", "refused"),
    [
        ((), True),
        ((request("refused", 403), request("failed", 0), request("served", 404)), True),
        ((request("served", 404), request("served", 200)), False),
    ],
)
def test_a_tool_with_an_answer_from_outside_may_be_at_fault(
    requests: tuple[BrokerAnswered, ...], refused: bool
) -> None:
    assert refused_input(report(f"{HEAD}{OWN}ValueError: kind is wrong"), requests) is refused


@pytest.mark.parametrize(
    ("run", "message", "line"),
    [
        (report(f"{HEAD}{OWN}ValueError: kind is wrong\nor missing"), "ValueError: kind is wrong or missing", 38),
        (report(f"{HEAD}{OWN}{LIBRARY}json.decoder.JSONDecodeError: no", "JSONDecodeError"), "JSONDecodeError: no", 38),
        (report(f"{HEAD}{BY_PYTHON}AssertionError", "AssertionError"), "AssertionError", 40),
        (report("RangeError: too many\n    at run (x.mjs:3:9)", "RangeError"), "RangeError: too many", None),
        (report("It was ended at its limit: memory.", "", "limit"), "It was ended at its limit: memory.", None),
        (RunReport(status="exit", exit_code=3), "exit code 3", None),
    ],
)  # fmt: skip
def test_the_message_is_extracted_without_the_traceback(
    run: RunReport, message: str, line: int | None
) -> None:
    assert last_message(run) == message and line_of_code(run) == line
