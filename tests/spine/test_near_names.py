"""A mistyped name is answered with those that are like it, and with no other."""

from __future__ import annotations

import pytest

from alita_tui.spine.near_names import did_you_mean

NAMES = ("alita-dark", "alita-light", "ember", "high-contrast", "high-contrast-light")


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("alita-drak", "Did you mean alita-dark?"),
        ("embre", "Did you mean ember?"),
        ("high-contrst", "Did you mean high-contrast or high-contrast-light?"),
        ("zzz", "See the list."),
        ("", "See the list."),
    ],
)
def test_a_mistyped_name_gets_the_nearest_suggestion(typed: str, told: str) -> None:
    assert did_you_mean(typed, NAMES, "See the list.") == told
