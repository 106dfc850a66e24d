"""Under reduced motion nothing blinks or glides, whichever field has the focus."""

from __future__ import annotations

import pytest
from textual.widgets import Input

from alita_tui.config.paths import shipped
from alita_tui.console.app import AlitaApp
from alita_tui.console.ports import ConsoleOptions
from alita_tui.console.session.trace import Trace
from alita_tui.replay.playback import LiveTape
from tests.console.navigating import until
from tests.console.screens import Catalog, Sink, Source, drawn
from tests.support import goldens


@pytest.mark.parametrize("reduced", [True, False])
@pytest.mark.parametrize("keys", [("ctrl+p",), ("f5", "slash")], ids=["palette", "sessions"])
async def test_no_field_blinks_under_reduced_motion(
    keys: tuple[str, ...], reduced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "textual.constants.TEXTUAL_ANIMATIONS", "full"
    )  # else whatever Textual was imported with
    envelopes = goldens.golden("golden-exit")
    options = ConsoleOptions(builtin_themes=shipped("themes"), theme="alita-dark", reduced_motion=reduced)
    app = AlitaApp(Source(envelopes), Sink(), catalog=Catalog(), options=options, tape=LiveTape())
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        app.main.query_one(Trace).focus()
        for key in keys:
            await pilot.press(key)
        fields: list[Input] = []

        def focused() -> bool:
            fields[:] = [field for field in app.screen.query(Input) if field.has_focus]
            return bool(fields)

        await until(pilot, focused)
        (field,) = fields
        assert field.cursor_blink != reduced
        assert field._cursor_visible or not reduced, "it is seen where the next letter goes"
        assert (app.animation_level == "none") is reduced
