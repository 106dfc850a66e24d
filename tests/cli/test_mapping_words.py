"""What a map says while it runs and when it is stopped."""

from __future__ import annotations

import pytest

from alita_tui.cli.progress import pace


@pytest.mark.parametrize(
    ("left", "per_second", "said"),
    [
        (100, 0.0, "no pace yet"),
        (100, 50.0, "50 a second, 0:02 left"),
        (100, 0.5, "0.5 a second, 3:20 left"),
        (100, 0.004, "one in 4:10, 6:56:40 left"),
        (-3, 2.0, "2 a second, 0:00 left"),
    ],
)
def test_any_pace_is_put_into_words(left: int, per_second: float, said: str) -> None:
    assert pace(left, per_second) == said
