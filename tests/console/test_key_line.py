"""The line of keys: a key stays with its word, whatever the width."""

from textual.app import App, ComposeResult
from textual.content import Content

from alita_tui.console.widgets.key_line import KeyLine, packed

ITEMS = [Content(f"{key} {word}") for key, word in (("b", "back a version"), ("y", "copy"), ("Esc", "back"))]


def test_items_are_never_broken_and_lines_are_full() -> None:
    assert packed(ITEMS, "   ", 80).plain == "b back a version   y copy   Esc back"
    assert packed(ITEMS, "   ", 26).plain == "b back a version   y copy\nEsc back"
    assert packed(ITEMS, "   ", 24).plain == "b back a version\ny copy   Esc back"
    assert packed(ITEMS, "   ", 3).plain == "b back a version\ny copy\nEsc back"


async def test_the_key_line_wraps_again_when_the_width_changes() -> None:
    class Host(App[None]):
        def compose(self) -> ComposeResult:
            yield KeyLine()

    app = Host()
    async with app.run_test(size=(60, 10)) as pilot:
        line = app.query_one(KeyLine)
        line.show(ITEMS)
        await pilot.pause()
        assert line.size.height == 1
        await pilot.resize_terminal(20, 10)
        await pilot.pause()
        assert line.size.height == 2
