from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.geometry import Offset
from textual.selection import Selection

from alita_tui.console.review.code import Base, CodeView, code_rows, diff_rows, highlight
from alita_tui.console.review.steps import BuildReview
from alita_tui.console.themes import ThemedApp
from alita_tui.console.widgets.sheet import Row, Sheet, fact, fold_row
from alita_tui.console.widgets.styled_text import text_of, width_of
from alita_tui.events import (
    Capabilities,
    Finding,
    Lock,
    LockedPackage,
    Provided,
    RunReport,
    build_digest,
)
from alita_tui.spine.grants import phrases
from alita_tui.spine.text import reveal
from alita_tui.state.build import Attempt
from alita_tui.view.risk import declared_by, risks, undeclared
from tests.console.approval_cases import LONG_CODE, NEW, OLD, calm, risky, waiting_for
from tests.console.approval_host import Host
from tests.support import streams

NASTY = st.text(
    st.sampled_from("ab_ =()[]'\"#\\\t\r\x0b\x0c\x1b\x85\u202e\u2066\u200b\u00a0\u2028界é\n \n{}⟨0"),
    max_size=160,
)


def undotted(text: str) -> str:
    return text.replace("·", " ")


@settings(max_examples=400)
@given(NASTY, st.integers(12, 90))
def test_no_byte_of_code_is_left_out_at_any_width(code: str, width: int) -> None:
    lines = [
        "".join(text_of(line)[len(text_of(row.gutter)) :] for line in fold_row(row, width))
        for row in code_rows(code)
    ]
    shown = undotted("\n".join(lines) + ("\n" if code.endswith("\n") else ""))
    assert shown == undotted(reveal(code))
    assert all(width_of(line) <= max(width, 14) for row in code_rows(code) for line in fold_row(row, width))


@settings(max_examples=200)
@given(NASTY, NASTY)
def test_a_diff_holds_every_line_that_is_new_and_every_one_that_is_gone(old: str, new: str) -> None:
    rows = diff_rows(new, Base("v1", old))
    signs: dict[str, list[str]] = {"+": [], "-": [], " ": []}
    for row in rows[1:]:
        if len(row.gutter) == 3:
            signs[row.gutter[1][0]].append(undotted(text_of(row.body)))
    before, after = (undotted(reveal(text)).split("\n") for text in (old, new))
    assert set(after) - set(before) <= set(signs["+"]) | {""}
    assert set(before) - set(after) <= set(signs["-"]) | {""}


def test_hidden_and_foreign_letters_are_marked_wherever_they_are() -> None:
    inked = [piece for line in highlight(NEW.code) for piece in line]
    loud = [text for text, style in inked if style == "hostile"]
    assert loud.count("⟨U+2066⟩") == 2
    assert "⟨U+0009⟩" in loud
    assert "n\u0430me" in loud
    assert ("···", "warn") in inked


def test_hidden_and_foreign_letters_are_marked_in_a_diff_too() -> None:
    for new, old in ((NEW.code, OLD.code), (OLD.code, NEW.code)):
        loud = [
            text for row in diff_rows(new, Base("v1", old)) for text, style in row.body if style == "hostile"
        ]
        assert "n\u0430me" in loud
        assert "⟨U+202E⟩" in loud


def test_words_wrap_under_the_label_and_long_ones_break() -> None:
    lines = [text_of(line) for line in fold_row(fact("goal", "one two three " + "x" * 40), 32)]
    assert lines[0].startswith("  goal")
    assert all(line.startswith(" " * 16) for line in lines[1:])
    assert all(cell_len(line) <= 32 for line in lines)
    assert "".join(line[16:] for line in lines).count("x") == 40


def test_a_wide_letter_is_never_cut_in_half() -> None:
    for width in range(9, 24):
        for line in fold_row(Row((("界" * 30, ""),), hard=True), width):
            assert width_of(line) <= width


class Bare(ThemedApp[None]):
    def __init__(self, sheet: Sheet) -> None:
        super().__init__()
        self.sheet = sheet

    def compose(self):
        yield self.sheet


async def test_only_lines_on_screen_count_as_read_even_after_a_resize() -> None:
    code = CodeView(LONG_CODE)
    app = Bare(code)
    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.pause()
        assert code.lines - code.unread in (19, 20)
        await pilot.resize_terminal(40, 20)
        await pilot.pause()
        before = code.unread
        code.scroll_to(y=40, animate=False)
        await pilot.pause()
        assert code.unread < before
        await pilot.resize_terminal(60, 200)
        await pilot.pause()
        assert code.read
        code.load(LONG_CODE + "x = 1\n")
        await pilot.pause()
        assert code.unread <= code.lines
        code.load("")
        assert (code.lines, code.read) == (0, True)


async def test_a_selection_is_copied_without_numbers_and_unwrapped() -> None:
    code = CodeView("a = 1\nb = '" + "x" * 60 + "'\nc = 3\n")
    app = Bare(code)
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        taken = code.get_selection(Selection(Offset(0, 0), Offset(40, 6)))
        assert taken is not None
        assert taken[0] == "a = 1\nb = '" + "x" * 60 + "'\nc = 3"


async def test_the_sheet_follows_the_theme() -> None:
    app = Host(calm())
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        code = app.review.query_one(CodeView)
        dark = code.render_line(5)
        app.theme = "alita-light"
        await pilot.pause()
        light = code.render_line(5)
        assert dark.text == light.text
        assert [s.style for s in dark] != [s.style for s in light]


# --- risk ---------------------------------------------------------------------------------


def attempt_of(**changed: object) -> Attempt:
    attempt = calm().builds[0].attempts[0]
    from msgspec.structs import replace

    return replace(attempt, **changed)


def test_a_calm_build_has_no_risk() -> None:
    build = calm().builds[0]
    assert risks(build, build.attempts[0]) == ()


@pytest.mark.parametrize(
    ("changed", "said", "serious"),
    [
        ({"passed": None}, "have not run", True),
        ({"passed": False, "problem": "2 failed"}, "2 failed", True),
        ({"reports": ()}, "no self-test case", True),
        ({"reviewed": None}, "review has not run", True),
        ({"reviewed": False}, "did not pass", True),
        ({"findings": (Finding(severity="high", rule="B1", text="bad"),)}, "(high, B1)", True),
        ({"findings": (Finding(severity="low", rule="B2", text="x", blocking=True),)}, "B2", True),
        ({"findings": (Finding(severity="medium", rule="B3", text="x", line=3),)}, "line 3: x", False),
        ({"imports": ("requests",)}, "imports requests", True),
        ({"lock": None}, "not pinned", True),
        ({"lock_problem": "no such package"}, "no such package", True),
        ({"lock": Lock(packages=(LockedPackage(name="p", version="1"),))}, "p 1 has no hash", True),
    ],
)
def test_each_risk_is_named(changed: dict[str, object], said: str, serious: bool) -> None:
    build = calm().builds[0]
    found = risks(build, attempt_of(**changed))
    assert [one.serious for one in found if said in one.text] == [serious]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"code": "x = 'a\u202eb'\n"}, "1 hidden character"),
        ({"code": "n\u0430me = 1\n"}, "n⟨U+0430⟩me"),
        ({"code": "def run(:\n"}, "no valid Python"),
        ({"code": "(" * 5000}, "no valid Python"),
        ({"capabilities": Capabilities(network=("a.example:443",))}, "network access to a.example:443"),
        (
            {"capabilities": Capabilities(workspace="write")},
            "read and write access to the files in the workspace",
        ),
        ({"capabilities": Capabilities(model_calls=2)}, "2 model calls"),
    ],
)
def test_a_risk_in_the_draft_is_named(changed: dict[str, object], said: str) -> None:
    from msgspec.structs import replace

    draft = msgspec.structs.replace(streams.DRAFT, **changed)
    build = replace(calm().builds[0], digest=build_digest(draft, streams.LOCK))
    found = risks(build, attempt_of(draft=draft))
    assert [one.serious for one in found if said in one.text] == [True]


def test_imports_are_matched_with_what_declares_them() -> None:
    build = risky().builds[0]
    attempt = build.attempts[-1]
    assert undeclared(attempt) == ("requests",)
    assert declared_by("dateutil", attempt) == "python-dateutil"
    assert declared_by("json", attempt) == "standard library"


def test_installed_wheels_tell_what_their_requirements_provide() -> None:
    draft = msgspec.structs.replace(
        streams.DRAFT, requirements=("beautifulsoup4>=4", "Python_DateUtil", "html5lib")
    )
    installed = (
        Provided(distribution="beautifulsoup4", modules=("bs4",)),
        Provided(distribution="python-dateutil", modules=("dateutil",)),
        Provided(distribution="soupsieve", modules=("soupsieve",)),
    )
    attempt = attempt_of(draft=draft, imports=("bs4", "dateutil", "soupsieve", "html5lib", "BS4", "json"))
    assert undeclared(attempt) == ("bs4", "soupsieve", "BS4"), "without metadata, by name alone"
    report = RunReport(status="ok", provided=installed)
    attempt = msgspec.structs.replace(attempt, reports=(report,))
    assert undeclared(attempt) == ("soupsieve", "html5lib", "BS4"), "another package's, and what is not there"
    assert [declared_by(name, attempt) for name in ("bs4", "dateutil")] == [
        "beautifulsoup4",
        "python-dateutil",
    ]
    assert next(one for one in risks(calm().builds[0], attempt) if one.name == "undeclared-import").serious
    assert phrases(OLD.capabilities) == ()


def test_the_steps_of_a_risky_approval_come_one_after_the_other() -> None:
    build = risky().builds[0]
    review = BuildReview(build, build.attempts[-1], 0.0)
    keys = {"approve": "a", "lend": "o"}
    assert review.approve(5) == "name"
    review.name_typed(5)
    assert "5 lines not shown yet" in review.line(5, keys, "")[0], "it is said before the key that approves"
    assert review.approve(5) == "approved"
    assert review.back()
    assert review.approve(5) == "name"
    review.name_typed(0)
    assert review.approve(5) == "unread", "what became unread since was not announced"
    assert review.back()
    assert not review.back()
    assert review.approve(5) == "name"


def test_lookalike_names_count_in_the_tests_too() -> None:
    draft = msgspec.structs.replace(
        streams.DRAFT, tests="def test_it():\n    n\u0430me = 1\n    assert n\u0430me\n"
    )
    build = waiting_for(draft).builds[-1]
    (risk,) = [one.text for one in risks(build, build.attempts[-1]) if "ASCII" in one.text]
    assert risk == "names with letters outside ASCII in the tests: n⟨U+0430⟩me"


async def test_removing_panes_during_layout_raises_nothing() -> None:
    app = Host(calm())
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        panes = app.review.panes
        await panes.query("#panes").remove()
        panes.on_resize()  # as when the layout changed just before
        for _ in range(20):
            await pilot.pause()
        assert not panes.query("#code") and app.is_running
