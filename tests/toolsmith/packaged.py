"""Honest drafts that use packages which do much of their own when they are imported."""

from __future__ import annotations

from alita_tui.events import Capabilities, ToolDraft, ToolName
from alita_tui.toolsmith.contract import normalise

_NUMBERS = {
    "type": "array",
    "items": {"type": "number", "minimum": -1e6, "maximum": 1e6},
    "minItems": 2,
    "maxItems": 100,
}
_CLOSED = {"type": "object", "additionalProperties": False}

NUMPY = '''
"""Percentile of numbers."""

import numpy as np


def run(numbers: list[float], percent: float) -> float:
    """Return the percentile by linear interpolation."""
    if not numbers:
        raise ValueError("numbers is empty")
    if not 0 <= percent <= 100:
        raise ValueError("percent has to be from 0 to 100")
    return float(np.percentile(np.asarray(numbers, dtype=float), percent))
'''

SCIPY = '''
"""Slope of a line through points."""

from scipy import stats


def run(ys: list[float]) -> float:
    """Return the slope of the line that fits the values at 0, 1, 2 and so on."""
    if len(ys) < 2:
        raise ValueError("ys needs two values")
    return round(float(stats.linregress(list(range(len(ys))), ys).slope), 6)
'''

MATPLOTLIB = '''
"""A line chart as PNG."""

import base64
import io

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def run(values: list[float]) -> str:
    """Return the chart of the values as base64 of a PNG."""
    if not values:
        raise ValueError("values is empty")
    figure, axes = plt.subplots()
    axes.plot(values)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    plt.close(figure)
    return base64.b64encode(buffer.getvalue()).decode("ascii")
'''


def _tests(name: str, *checks: str, refuses: str) -> str:
    lines = [f"from {name} import run\n"]
    lines += [f"\n\ndef test_{n}():\n    assert {check}\n" for n, check in enumerate(checks)]
    lines += [
        f"\n\ndef test_bad_{n}():\n    try:\n        run({bad})\n    except ValueError:\n        return\n    assert False\n"
        for n, bad in enumerate(refuses.split(" | "))
    ]
    return "".join(lines)


def _draft(
    name: str, code: str, description: str, takes: dict[str, object], gives: object, tests: str, package: str
) -> ToolDraft:
    schema = {**_CLOSED, "properties": takes, "required": list(takes)}
    return normalise(
        ToolDraft(
            name=ToolName(name),
            description=description,
            code=code.lstrip("\n"),
            tests=tests,
            requirements=(package,),
            input_schema=schema,
            output_schema=gives,
            capabilities=Capabilities(),
        )
    )


def drafts() -> tuple[ToolDraft, ...]:
    """One draft for each package."""
    number = {"type": "number"}
    percent = {"type": "number", "minimum": 0, "maximum": 100}
    return (
        _draft(
            "percentile_of", NUMPY, "The percentile of a list of numbers, by linear interpolation.",
            {"numbers": _NUMBERS, "percent": percent}, number,
            _tests("percentile_of", "run([1, 2, 3], 50) == 2", "run([0, 10], 25) == 2.5", "run([4, 1], 100) == 4", refuses="[], 5 | [1], 101"),
            "numpy>=2",
        ),
        _draft(
            "slope_of", SCIPY, "The slope of the line that fits values at 0, 1, 2 and so on, to six digits.",
            {"ys": _NUMBERS}, number,
            _tests("slope_of", "run([1, 3]) == 2", "run([0, 0, 0]) == 0", "run([3, 2, 1]) == -1", refuses="[] | [1]"),
            "scipy>=1.11",
        ),
        _draft(
            "line_chart", MATPLOTLIB, "A line chart of values as base64 of a PNG.",
            {"values": _NUMBERS}, {"type": "string"},
            _tests("line_chart", "run([1, 2]).startswith('iVBOR')", "len(run([3, 1, 2])) > 1000", refuses="[]"),
            "matplotlib>=3.8",
        ),
    )  # fmt: skip
