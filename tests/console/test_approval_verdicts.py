"""Verdicts beyond yes and no, on screen: for the task, less granted, tested again, stopped, banned."""

from __future__ import annotations

import msgspec
import pytest
from textual.widgets import Input

from alita_tui import events as e
from alita_tui.console.active_keys import sections
from alita_tui.console.review.code import Base, code_rows, diff_rows, split_rows
from alita_tui.console.review.fields import NameInput, ReasonInput
from alita_tui.console.review.steps import BuildReview, Twice
from alita_tui.console.review.ticks import Ticks
from alita_tui.console.review.verdict_bar import Button, VerdictBar
from alita_tui.console.widgets.sheet import fold_row
from alita_tui.console.widgets.styled_text import width_of
from alita_tui.events import Capabilities
from alita_tui.spine.envelope import SCHEMA_VERSION
from alita_tui.view.fold import fold_all
from alita_tui.view.model import SessionView
from tests.console.approval_cases import (
    NEW,
    NEW_DIGEST,
    OLD,
    TWIN,
    calm,
    doubled,
    queue,
    risky,
    until_asked,
    waiting_for,
)
from tests.console.approval_host import CALMLY, HASTILY, Host, settled
from tests.support import streams

WIDE, MIDDLE, SMALL = (200, 60), (120, 36), (80, 24)
WANTS = Capabilities(network=("api.example:443",), secrets=("TOKEN",))


def asking() -> SessionView:
    """A build that asks for two things, with nothing else against it."""
    return waiting_for(msgspec.structs.replace(streams.DRAFT, capabilities=WANTS))


async def test_a_calm_build_is_approved_for_its_task_with_one_key() -> None:
    app = Host(calm())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("o")
        await settled(pilot)
        assert [(c.verdict.decision, c.verdict.lasting, c.verdict.grants) for c in app.decided] == [
            ("approved", "task", None)
        ]


async def test_the_name_holds_for_either_way_of_approving() -> None:
    app = Host(risky())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("o")
        assert app.review.bar.mode == "name"
        await pilot.press(*app.typed)
        await settled(pilot)
        await pilot.press("o")
        await settled(pilot)
        assert [(c.verdict.decision, c.verdict.lasting, c.digest) for c in app.decided] == [
            ("approved", "task", NEW_DIGEST)
        ]


async def test_the_prompt_names_its_verdict_and_no_other_key_continues_it() -> None:
    """Who began with "for this task" and presses the other key has begun something else: the tool stays for good."""
    app = Host(risky())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("o")
        assert "For this task only: to accept the risks type their names" in app.said()
        await pilot.press(*"nobody")
        await settled(pilot)
        assert "No risk is called nobody" in app.said()
        await pilot.press(*["backspace"] * 6, *app.typed)
        await settled(pilot)
        assert "o approves this code for this task only" in app.said()
        await pilot.press("a")
        await settled(pilot)
        assert app.decided == [] and app.review.bar.mode == "name", "approving for good asks anew"
        assert "Approve: to accept the risks type their names" in app.said()
        await pilot.press("escape", "o")
        await settled(pilot)
        assert app.decided == [] and app.review.bar.mode == "name"


async def test_enter_clears_a_name_that_is_no_risk_and_says_so() -> None:
    app = Host(risky())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("o")
        first = app.names[0]
        await pilot.press(*app.typed[: len(first) + 1], *"nobody", "enter")
        await settled(pilot)
        assert app.review.query_one(NameInput).value == f"{first} "
        assert "No risk is called nobody, so it was cleared." in app.said()
        await pilot.press(*app.typed[len(first) + 1 :])
        await settled(pilot)
        assert "o approves this code for this task only" in app.said()


def test_unread_code_is_announced_for_each_kind_of_approval() -> None:
    build = calm().builds[0]
    review = BuildReview(build, build.attempts[-1], 0.0)
    keys = {"approve": "a", "lend": "o"}
    assert review.approve(5, "task") == "unread"
    assert "Press o again to approve anyway for this task only" in review.line(5, keys, "")[0]
    assert review.approve(5, "library") == "unread"
    assert "Press a again to approve anyway; that is recorded" in review.line(5, keys, "")[0]
    assert review.approve(5, "library") == "approved"


@pytest.mark.parametrize(
    ("verdict", "key"),
    [("retested", "retest"), ("stopped", "stop"), ("withdrawn", "withdraw"),
     ("reused", "reuse"), ("merged", "merge"), ("aliased", "alias")],
)  # fmt: skip
def test_what_takes_a_second_press_names_its_key(verdict: Twice, key: str) -> None:
    build = doubled().builds[0]
    review = BuildReview(build, build.attempts[-1], 0.0)
    assert not review.confirm(verdict)
    said, _ = review.line(0, {"approve": "a", "lend": "o", key: "F7"}, "")
    assert said.startswith("Press F7 again to "), said
    held, _ = review.line(0, {"approve": "a", "lend": "o", key: "F7"}, "held")
    assert held.startswith("Press another key or scroll first. Press F7 again to "), held


async def test_an_unticked_capability_is_neither_granted_nor_a_risk() -> None:
    app = Host(asking())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        app.at += 10
        app.review.tick()
        assert "2 risks" in app.said()
        await pilot.press("c")
        assert app.review.query_one(Ticks).ticked == WANTS.items
        await pilot.press("a", "enter", "space")
        await settled(pilot)
        assert app.decided == [], "a key for the list is no verdict"
        assert "Esc back, ticks stay" in app.said()
        await pilot.press("escape")
        await settled(pilot)
        app.at += 10
        app.review.tick()
        assert "not granted: network:api.example:443" in app.said()
        assert "1 risk:" in app.said()
        await pilot.press("c", "right", "space", "escape")
        await settled(pilot)
        app.at += 10
        app.review.tick()
        assert "risk" not in app.said(), "nothing granted and all green is one key"
        assert "no capability: it computes" in app.sheet_text("#evidence")
        await pilot.press("a")
        await settled(pilot)
        assert [(c.verdict.decision, c.verdict.grants) for c in app.decided] == [("approved", Capabilities())]


async def test_a_grant_changed_after_the_names_takes_the_names_again() -> None:
    app = Host(asking())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("a")
        await pilot.press(*app.typed)
        await settled(pilot)
        assert "Risks accepted by name" in app.said()
        await pilot.press("c", "space", "escape")
        await settled(pilot)
        await pilot.press("a")
        await settled(pilot)
        assert app.decided == []
        assert app.review.bar.mode == "name"


@pytest.mark.parametrize(("key", "verdict"), [("t", "retested"), ("x", "stopped")])
async def test_a_weighty_verdict_takes_its_key_twice_with_a_pause(key: str, verdict: str) -> None:
    app = Host(asking())
    async with app.run_test(size=MIDDLE) as pilot:
        await settled(pilot)
        await pilot.press(key)
        assert "again" in app.said()
        await pilot.press(key)
        app.pace = HASTILY
        await pilot.press(key, key)
        assert app.decided == [], "a held key is one key"
        await pilot.press("escape")
        app.pace = CALMLY
        await pilot.press(key)
        assert app.decided == [], "Esc took the step back"
        other = "x" if key == "t" else "t"
        await pilot.press(other)
        assert app.decided == [], "a press of the one announces nothing of the other"
        await pilot.press(key)
        assert app.decided == []
        await pilot.press("enter", "space")
        assert app.decided == []
        await pilot.press(key)
        await settled(pilot)
        assert [(c.verdict.decision, c.verdict.grants) for c in app.decided] == [(verdict, None)]


async def test_testing_again_uses_the_ticked_grants() -> None:
    app = Host(asking())
    async with app.run_test(size=MIDDLE) as pilot:
        await settled(pilot)
        await pilot.press("c", "space", "escape")
        await settled(pilot)
        await pilot.press("t")
        assert "with secret:TOKEN" in app.said()
        await pilot.press("left", "t")
        await settled(pilot)
        assert [c.verdict.grants for c in app.decided] == [Capabilities(secrets=("TOKEN",))]


async def test_a_ban_needs_a_target_and_a_reason() -> None:
    app = Host(asking())
    async with app.run_test(size=SMALL) as pilot:
        await settled(pilot)
        await pilot.press("b")
        await pilot.press("enter")
        await settled(pilot)
        assert app.decided == [], "a ban needs a reason"
        await pilot.press(*"never", "tab", "space", "right", "right", "right", "space", "shift+tab", "enter")
        await settled(pilot)
        (command,) = app.decided
        assert (command.verdict.decision, command.verdict.reason) == ("banned", "never")
        assert command.verdict.banned == ("digest", "secret:TOKEN")


async def test_a_ban_without_a_target_is_not_made() -> None:
    app = Host(calm())
    async with app.run_test(size=MIDDLE) as pilot:
        await settled(pilot)
        await pilot.press("b", *"no", "tab", "space", "right", "space", "shift+tab", "enter")
        await settled(pilot)
        assert app.decided == []
        assert app.review.bar.mode == "ban"


async def test_the_fields_of_a_build_are_reset_after_its_verdict() -> None:
    app = Host(queue())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("n")
        await pilot.press("c", "space", "escape", "p", "n")
        await settled(pilot)
        assert app.review._review is not None
        assert app.review._review.withheld == frozenset(), "another look begins with all that it asks for"
        assert app.review.query_one(VerdictBar).mode == "idle"


@pytest.mark.parametrize("size", [WIDE, MIDDLE, SMALL])
async def test_every_verdict_is_on_screen_with_its_key(size: tuple[int, int]) -> None:
    app = Host(risky())
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        shown = [button for button in app.review.query("Button") if button.display]
        words = " ".join(str(button.content) for button in shown)  # type: ignore[attr-defined]
        for said in (
            "a Approve",
            "o For this task",
            "r Reject",
            "e Edit",
            "t Test",
            "b Ban",
            "x Stop",
            "c Grants",
        ):
            assert said in words
        assert all(button.region.right <= size[0] and button.region.bottom <= size[1] for button in shown)
        assert all(button.region.width >= len(str(button.content)) for button in shown)  # type: ignore[attr-defined]


async def test_the_head_is_one_line_where_there_is_room() -> None:
    app = Host(risky())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        app.review.tick()
        head = str(app.review.query_one("#head").content)  # type: ignore[attr-defined]
        whole = "BUILD 1 of 1 · fetch_rates v2 (replaces v1) · asked by step 1 · waiting 0:55 · sha256 "
        assert head.startswith(whole) and "\n" not in head


async def test_the_head_names_the_agent_that_asked() -> None:
    tape = until_asked()
    by = [
        msgspec.structs.replace(one, agent_id="toolsmith-[2]", schema_version=SCHEMA_VERSION)
        if isinstance(one.event, e.BuildStarted)
        else one
        for one in tape.envelopes
    ]
    app = Host(fold_all(by))
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert "asked by toolsmith-[2], step 4" in str(app.review.query_one("#head").content)  # type: ignore[attr-defined]


def test_the_side_by_side_diff_shows_both_versions_completely() -> None:
    rows = split_rows(NEW.code, Base("v1", OLD.code))
    assert [row.source for row in rows if row.source] == list(range(1, NEW.code.count("\n") + 1))
    plain = [row.text for row in code_rows(NEW.code)]
    assert [row.beside.text for row in rows[1:] if row.beside and row.beside.source] == plain
    left = [row for row in rows[1:] if row.gutter]
    assert len(left) == OLD.code.count("\n")
    for row in rows:
        for line in fold_row(row, 61):
            assert width_of(line) <= 61


async def test_the_diff_turns_side_by_side_and_back() -> None:
    app = Host(risky())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("v")
        await settled(pilot)
        assert app.sheet_text("#code").startswith(" v1 │ this draft")
        await pilot.press("v")
        assert app.sheet_text("#code") == "\n".join(r.text for r in diff_rows(NEW.code, Base("v1", OLD.code)))


async def test_an_enter_too_many_rejects_no_other_build() -> None:
    app = Host(queue())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("r", *"no")
        bar = app.review.bar
        for _ in range(3):  # as they come when the event loop was busy
            bar.query_one(ReasonInput).post_message(Input.Submitted(bar.query_one(ReasonInput), "no"))
        await settled(pilot)
        assert [c.approval_id for c in app.decided] == ["p1"]


async def test_a_name_typed_for_one_build_counts_for_no_other() -> None:
    app = Host(risky())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("a")
        app.review.post_message(VerdictBar.Named("another"))
        app.review.post_message(VerdictBar.Granting("another", ()))
        app.review.post_message(VerdictBar.Worded("another", "reject", "no", ()))
        await settled(pilot)
        review = app.review._review
        assert review is not None
        assert not review.named and not review.withheld
        assert app.decided == []


@pytest.mark.parametrize("size", [WIDE, MIDDLE, SMALL])
async def test_reuse_merge_and_alias_are_offered_where_a_tool_gives_the_same_answers(
    size: tuple[int, int],
) -> None:
    for view, offered in ((calm(), False), (doubled(), True)):
        app = Host(view)
        async with app.run_test(size=size) as pilot:
            await settled(pilot)
            choices = {one.choice for one in app.review.query(Button) if one.display}
            assert ({"reuse", "merge", "alias"} <= choices, {"approve", "reject"} <= choices) == (
                offered,
                True,
            )
            shown = [one for one in app.review.query(Button) if one.display]
            assert all(one.region.right <= size[0] for one in shown), "none is cut off"
            listed = {key.action.id for part in sections(app.review, replay=False) for key in part.keys}
            assert ({"approval.reuse", "approval.merge", "approval.alias"} <= listed) == offered
            assert "approval.approve" in listed
            await pilot.press("u", "m", "l", "u", "m", "l")
            await settled(pilot)
            assert app.decided == []


@pytest.mark.parametrize(
    ("key", "verdict", "said"),
    [
        ("u", "rejected", "have the agent use check_mails v3"),
        ("m", "rejected", "have check_mails v3 built anew to do both"),
        ("l", "aliased", "another name of check_mails v3"),
    ],
)
async def test_reuse_merge_and_alias_take_their_key_twice_with_a_pause(
    key: str, verdict: str, said: str
) -> None:
    app = Host(doubled())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press(key)
        assert said in app.said()
        await pilot.press(key)
        app.pace = HASTILY
        await pilot.press(key, key)
        assert app.decided == [], "a held key is one key"
        app.pace = CALMLY
        await pilot.press("escape", key)
        assert app.decided == [], "Esc took the step back"
        await pilot.press("left", key)
        await settled(pilot)
        (sent,) = app.decided
        assert (sent.verdict.decision, sent.digest) == (verdict, streams.DIGEST)
        if key == "l":
            assert (sent.verdict.alias_of, sent.verdict.reason, sent.verdict.tags) == (TWIN, "", ())
        elif key == "m":
            assert "build_tool check_mails anew" in sent.verdict.reason and sent.verdict.tags == (
                "duplicate",
            )
        else:
            assert "use run_tool check_mails" in sent.verdict.reason and sent.verdict.tags == ("duplicate",)
