"""Toasts lie where nobody types."""

from __future__ import annotations

import pytest
from textual.widgets import Input, TextArea
from textual.widgets._toast import Toast

from alita_tui.console.review.screen import ApprovalScreen
from tests.console.navigating import until
from tests.console.screens import console, covered, drawn
from tests.support import goldens


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
@pytest.mark.parametrize("keys", [(), ("ctrl+f",), ("ctrl+p",), ("f5", "slash"), ("f8",)], ids=" ".join)
async def test_no_toast_covers_the_field_that_is_typed_into(
    keys: tuple[str, ...], size: tuple[int, int]
) -> None:
    envelopes = goldens.waiting()
    app = console(envelopes)
    async with app.run_test(size=size, notifications=True) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        app.notify("said before the field was there " * 4, timeout=60)
        for key in keys:
            await pilot.press(key)
            await (covered(pilot) if key in ("ctrl+p", "f5", "f8") else pilot.pause())
        if isinstance(app.screen, ApprovalScreen):
            assert app.screen._review is not None
            app.screen.bar.ask_reason(app.screen._review.build.approval_id)
        await until(pilot, lambda: isinstance(app.focused, Input | TextArea))
        for n in range(6):
            app.notify(f"toast {n} " * 9, timeout=60)
        await until(pilot, lambda: len(app.screen.query(Toast)) >= 6)
        field = app.focused
        assert field is not None and field.region

        def apart() -> bool:
            seen = app.screen._compositor.visible_widgets
            shown = [
                seen[one][0].intersection(seen[one][1]) for one in app.screen.query(Toast) if one in seen
            ]
            return bool(shown) and not any(one.overlaps(field.region) for one in shown)

        await until(pilot, apart)
