"""A server's result of hundreds of levels."""

from __future__ import annotations

import pytest

from alita_tui.mcp_box.remote.results import report_of
from alita_tui.spine.ports.sandbox import Limits


@pytest.mark.parametrize("structured", [True, False])
def test_a_result_that_is_nested_too_deeply_is_refused(structured: bool) -> None:
    value: object = 1
    for _ in range(900):
        value = {"a": value}
    raw = {"content": [], "structuredContent": value}
    report = report_of(raw, structured=structured, limits=Limits(), landing=None, milliseconds=1.0)
    assert report.status == "bad_result" and "nested more than 100 levels deep" in report.error
    assert report.result is None
