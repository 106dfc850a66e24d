"""The keymap file, and the table that it changes."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.widget import Widget

from alita_tui.console.action_table import ACTIONS, GROUPS
from alita_tui.console.actions import bindings, key_of, shown
from alita_tui.console.keymap import _keys, _meet, read_keymap
from alita_tui.console.session.composer import Composer
from alita_tui.console.session.library import Library
from alita_tui.console.session.screen import SessionScreen
from alita_tui.console.session.trace import Trace
from alita_tui.console.themes import ThemedApp


def keymap(folder: Path, text: str) -> tuple[dict[str, str], list[str]]:
    path = folder / "keymap.toml"
    path.write_text(text, "utf-8")
    return read_keymap(path)


def test_the_table_has_no_two_actions_on_one_key() -> None:
    clashes = [
        (one.id, other.id)
        for one, other in combinations(ACTIONS, 2)
        if _meet(one, other) and _keys(one, {}) & _keys(other, {})
    ]
    assert clashes == []
    assert len({one.id for one in ACTIONS}) == len(ACTIONS)
    assert {one.owner for one in ACTIONS} <= set(GROUPS)


@pytest.mark.parametrize(
    ("owner", "widget"),
    [("session", SessionScreen), ("composer", Composer), ("pane", Trace)],
)
def test_every_action_of_the_table_can_be_run(owner: str, widget: type[Widget]) -> None:
    for one in ACTIONS:
        name = one.run.partition("(")[0]
        if one.owner == owner and "." not in name:
            assert hasattr(widget, f"action_{name}"), one.id


def test_no_key_of_app_or_session_is_lost_on_the_composer() -> None:
    assert Composer._merged_bindings is not None
    taken = set(Composer._merged_bindings.key_to_bindings)
    lost = [
        one.id
        for one in ACTIONS
        if one.owner in ("app", "session") and not one.priority and _keys(one, {}) & taken
    ]
    assert lost == []


def test_bindings_carry_id_and_tooltip() -> None:
    for binding in bindings("app", "session"):
        assert isinstance(binding, Binding) and binding.id and binding.tooltip


def test_keys_are_written_as_people_write_them() -> None:
    assert shown("ctrl+p,f3") == "Ctrl+P"
    assert shown("question_mark") == "?"
    assert shown("f8") == "F8"
    assert key_of("app.review", {"app.review": "ctrl+r"}) == "Ctrl+R"


def test_a_valid_keymap_is_applied(tmp_path: Path) -> None:
    keys, problems = keymap(tmp_path, '[keys]\n"app.review" = "f11, ctrl+e"\n"pane.yank" = "c"\n')
    assert keys == {"app.review": "f11,ctrl+e", "pane.yank": "c"}
    assert problems == []


def test_two_actions_may_swap_their_keys(tmp_path: Path) -> None:
    keys, problems = keymap(tmp_path, '[keys]\n"pane.find_next" = "y"\n"pane.yank" = "n"\n')
    assert problems == []
    assert keys == {"pane.find_next": "y", "pane.yank": "n"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('"app.nothing" = "f3"', "no action 'app.nothing'"),
        ('"app.review" = 3', "have to be text"),
        ('"app.review" = " "', "have to be text"),
        ('"app.review" = "ctrl+rr"', "no key 'ctrl+rr'"),
        ('"app.review" = "hold+r"', "no key 'hold+r'"),
        ('"app.review" = "f1"', "f1 would be both app.review and app.help"),
        ('"pane.yank" = "f2"', "f2 would be both pane.yank and session.trace"),
        ('"pane.yank" = "ctrl+q"', "ctrl+q would be both pane.yank and app.quit"),
    ],
)
def test_a_wrong_key_binding_is_reported_and_keeps_its_default(tmp_path: Path, line: str, said: str) -> None:
    keys, problems = keymap(tmp_path, f'[keys]\n{line}\n"session.side" = "f11"\n')
    assert keys == {"session.side": "f11"}
    assert len(problems) == 1
    assert said in problems[0]
    assert problems[0].startswith("keymap.toml: ")


@pytest.mark.parametrize(
    "text", ['"app.help" = "ctrl+e"\n', 'app.help = "ctrl+e"\n', '[app]\nhelp = "ctrl+e"\n']
)
def test_a_name_outside_its_table_is_said_and_where_it_belongs(tmp_path: Path, text: str) -> None:
    """F1 says to put the grey name into the file, so that is what people do."""
    keys, (problem,) = keymap(tmp_path, text + '[keys]\n"session.side" = "f11"\n')
    assert keys == {"session.side": "f11"} and "app" in problem and "below a line [keys]" in problem


def test_a_name_needs_no_quotes(tmp_path: Path) -> None:
    keys, problems = keymap(tmp_path, '[keys]\napp.help = "ctrl+e"\napp.nothing = "f3"\n')
    assert keys == {"app.help": "ctrl+e"}
    assert problems == ["keymap.toml: there is no action 'app.nothing'"]


def test_a_keymap_that_is_not_toml_is_reported(tmp_path: Path) -> None:
    keys, problems = keymap(tmp_path, "[keys")
    assert keys == {}
    assert len(problems) == 1
    assert read_keymap(tmp_path / "none.toml") == ({}, [])


async def test_a_remapped_key_runs_the_action_and_the_old_key_does_not() -> None:
    class Bare(ThemedApp[None]):
        moved: list[str]

        def compose(self):
            yield Library()

        def on_mount(self) -> None:
            self.moved = []
            self.set_keymap({"pane.find": "f3"})

        def on_library_find_asked(self) -> None:
            self.moved.append("find")

    app = Bare()
    async with app.run_test() as pilot:
        app.query_one(Library).focus()
        await pilot.press("slash")
        assert app.moved == []
        await pilot.press("f3")
        assert app.moved == ["find"]


def test_no_key_is_one_that_terminals_send_as_another_key() -> None:
    """Shift+F3 is `CSI 1;2R` on the wire, which is where the cursor is: it never arrives as a key."""
    assert not [one.id for one in ACTIONS if "shift+f3" in one.key.split(",")]


def test_no_action_is_described_with_a_key_that_the_keymap_may_change() -> None:
    named = re.compile(r"\b(?:[a-z]|F\d+|Ctrl\+\w) (?:brings|shows|takes|opens|closes|undoes)")
    assert [action.id for action in ACTIONS if named.search(action.tooltip)] == []
