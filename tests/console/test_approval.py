from __future__ import annotations

from typing import Any

import msgspec
import pytest
from textual import events
from textual._xterm_parser import XTermParser
from textual.pilot import Pilot

from alita_tui import events as e
from alita_tui.console.review.code import CodeView
from alita_tui.console.review.evidence import Evidence
from alita_tui.console.review.panes import BuildPanes
from alita_tui.console.review.screen import ApprovalScreen
from alita_tui.console.review.verdict_bar import Button, VerdictBar
from alita_tui.console.widgets.plain import Plain
from alita_tui.events import Finding
from alita_tui.state.build import BuildState
from alita_tui.state.rows import Rows
from alita_tui.view.fold import fold_all
from alita_tui.view.model import SessionView
from alita_tui.view.risk import names_to_accept, risks
from tests.console.approval_cases import (
    LONG_CODE,
    NEW_DIGEST,
    OLD,
    add_risky,
    calm,
    queue,
    risky,
    waiting_for,
)
from tests.console.approval_host import CALMLY, HASTILY, Host, settled
from tests.console.navigating import until
from tests.support import streams
from tests.support.viewing import with_

WIDE, MIDDLE, SMALL = (200, 60), (120, 36), (80, 24)
LONG = msgspec.structs.replace(streams.DRAFT, code=LONG_CODE)


async def looked_at(app: Host, pilot: Pilot[Any]) -> None:
    """The review has been open for long."""
    await settled(pilot)
    app.at += 2000
    app.review.tick()


async def test_a_read_build_without_risk_is_one_key() -> None:
    app = Host(calm())
    async with app.run_test(size=WIDE) as pilot:
        await looked_at(app, pilot)
        assert app.review.armed
        assert "read to the end" in app.said()
        await pilot.press("a")
        await settled(pilot)
        (command,) = app.decided
        assert (command.approval_id, command.digest) == ("p1", streams.DIGEST)
        assert (command.verdict.decision, command.verdict.via, command.verdict.scrolled_to_end) == (
            "approved",
            "console",
            True,
        )
        assert command.verdict.seen_ms >= 1_000_000
        assert not isinstance(app.screen, ApprovalScreen), "no build is left, so it closes"


def reviewing(app: Host) -> bool:
    return isinstance(app.screen, ApprovalScreen)


@pytest.mark.parametrize("size", [WIDE, MIDDLE, SMALL])
async def test_enter_and_space_do_nothing_and_escape_only_closes(size: tuple[int, int]) -> None:
    app = Host(calm())
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        focused = app.focused
        assert isinstance(focused, CodeView | Evidence), "what is read has the focus, no verdict has"
        await pilot.press("enter", "space", "enter", "tab", "enter", "space", "tab", "enter", "space")
        assert reviewing(app)
        await pilot.press("escape")
        await settled(pilot)
        assert not reviewing(app)
        assert (app.decided, app.deferred) == ([], []), "the build waits as before"


async def test_z_postpones_a_build_with_a_notice() -> None:
    app = Host(calm())
    async with app.run_test(size=WIDE) as pilot:
        await looked_at(app, pilot)
        assert str(app.review.query_one("#choice-defer", Plain).content) == "z Later"
        assert str(app.review.query_one("#choice-back", Plain).content) == "Esc Close"
        await pilot.press("z")
        await settled(pilot)
        assert not reviewing(app)
        assert (app.decided, app.deferred) == ([], ["p1"]), "the agent continues without it"


async def test_w_twice_drops_the_build_without_a_verdict() -> None:
    app = Host(calm())
    async with app.run_test(size=WIDE) as pilot:
        await looked_at(app, pilot)
        await pilot.press("w")
        assert "Press w again to drop this build" in app.said()
        await pilot.press("escape")
        assert reviewing(app), "Esc takes the step back"
        assert "drop this build" not in app.said()
        await pilot.press("w")
        assert app.decided == []
        await pilot.press("left", "w")
        await settled(pilot)
        (sent,) = app.decided
        assert (sent.verdict.decision, sent.approval_id, app.deferred) == ("withdrawn", "p1", [])


async def test_in_the_log_escape_goes_back_to_the_review() -> None:
    app = Host(calm())
    async with app.run_test(size=WIDE) as pilot:
        await looked_at(app, pilot)
        await pilot.press("s")
        assert isinstance(app.focused, Evidence)
        await pilot.press("escape")
        await settled(pilot)
        assert reviewing(app)
        assert isinstance(app.focused, CodeView)
        await pilot.press("escape")
        await settled(pilot)
        assert not reviewing(app)
        assert (app.decided, app.deferred) == ([], [])


async def test_keys_typed_before_the_review_is_visible_postpone_nothing() -> None:
    app = Host(calm(), pace=HASTILY)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("z", "w", "w", "z")
        await settled(pilot)
        assert reviewing(app)
        assert (app.decided, app.deferred) == ([], [])


async def test_a_postponed_build_is_not_postponed_again() -> None:
    view = calm()
    build = msgspec.structs.replace(view.builds[-1], put_off=True)
    app = Host(with_(view, builds=view.builds.replace(len(view.builds) - 1, build)))
    async with app.run_test(size=WIDE) as pilot:
        await looked_at(app, pilot)
        await pilot.press("z")
        await settled(pilot)
        assert not isinstance(app.screen, ApprovalScreen)
        assert app.deferred == []


async def test_no_verdict_counts_before_it_is_armed() -> None:
    app = Host(calm(), pace=HASTILY)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert not app.review.armed
        assert "after a moment" in app.said()
        await pilot.press("a", "r", "x", "enter", "e", "a")
        for choice in ("approve", "reject", "edit"):
            await pilot.click(f"#choice-{choice}")
        await settled(pilot)
        assert app.decided == []
        assert app.edits == []
        assert app.review.query_one(VerdictBar).mode == "idle"


async def test_a_paste_with_an_escape_in_it_presses_no_key() -> None:
    app = Host(calm())
    async with app.run_test(size=WIDE) as pilot:
        await looked_at(app, pilot)
        assert app.review.armed
        parser = XTermParser(debug=False)
        for event in (*parser.feed("\x1b[200~x\x1ba\x1b[201~"), *parser.feed("")):
            assert isinstance(event, events.Event)
            app.post_message(event)
        await settled(pilot)
        assert app.decided == []
        await pilot.press("a")
        await settled(pilot)
        assert [command.verdict.decision for command in app.decided] == ["approved"]


async def test_unread_code_takes_a_second_key_after_a_pause() -> None:
    app = Host(waiting_for(LONG))
    async with app.run_test(size=MIDDLE) as pilot:
        await looked_at(app, pilot)
        unread = app.review.query_one(CodeView).unread
        assert unread > 20
        assert f"unread: {unread} lines" in app.said()
        await pilot.press("a")
        assert "again to approve anyway" in app.said()
        await pilot.press("a")
        app.at += 10
        app.review.tick()
        assert app.said().startswith("Press another key or scroll first.")
        app.pace = HASTILY
        await pilot.press("a", "a", "left", "a")
        assert app.decided == [], "a held key is one key"
        await pilot.press("escape")
        assert isinstance(app.screen, ApprovalScreen), "Esc takes the step back first"
        app.pace = CALMLY
        await pilot.press("a")
        assert app.decided == []
        await pilot.press("left", "a")
        await settled(pilot)
        assert [(c.verdict.decision, c.verdict.scrolled_to_end) for c in app.decided] == [("approved", False)]


async def test_code_read_to_the_end_takes_one_key() -> None:
    app = Host(waiting_for(LONG))
    async with app.run_test(size=MIDDLE) as pilot:
        await settled(pilot)
        code = app.review.query_one(CodeView)
        while code.unread:
            before = code.unread
            await pilot.press("pagedown")
            await settled(pilot)
            assert code.unread < before
        await looked_at(app, pilot)
        assert "read to the end" in app.said()
        await pilot.press("a")
        await settled(pilot)
        assert [c.verdict.scrolled_to_end for c in app.decided] == [True]


@pytest.mark.parametrize("size", [SMALL, MIDDLE, (100, 30), (200, 55)])
@pytest.mark.parametrize("build", [waiting_for(LONG), calm(), risky()], ids=["long", "calm", "risky"])
async def test_code_shown_while_the_review_was_laid_out_does_not_count_as_read(
    build: SessionView, size: tuple[int, int]
) -> None:
    app = Host(build)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        code = app.review.query_one(CodeView)
        top = round(code.scroll_y)
        on_screen = [code.row_at(y) for y in range(top, top + code.scrollable_content_region.height)]
        seen = {line for line in range(1, code.lines + 1) if code.seen(line)}
        assert seen <= {row.source for row in on_screen if row is not None}


@pytest.mark.parametrize("animated", [False, True])
async def test_code_that_was_jumped_over_does_not_count_as_read(animated: bool) -> None:
    app = Host(waiting_for(LONG))
    app.animation_level = "full" if animated else "none"
    async with app.run_test(size=SMALL) as pilot:
        await settled(pilot)
        app.review.panes.show_tab("Code")
        await settled(pilot)
        await pilot.press("end")
        await pilot.wait_for_animation()
        await settled(pilot)
        code = app.review.query_one(CodeView)
        assert code.seen(code.lines)
        assert code.unread > 20


async def test_a_risky_build_takes_the_names_of_its_risks_letter_by_letter() -> None:
    app = Host(risky())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("a")
        assert len(app.names) > 5 and all(one in app.said() for one in app.names)
        app.post_message(events.Paste(" ".join(app.names)))
        await settled(pilot)
        await pilot.press(*app.typed[:-1], "enter", "enter")
        assert app.names[0] not in app.said() and app.names[-1] in app.said(), "what is left to type"
        assert "Not complete yet" in app.said(), "Enter is answered"
        assert app.decided == []
        assert app.review.query_one(VerdictBar).mode == "name"
        await pilot.press(app.typed[-1])
        await settled(pilot)
        assert "Risks accepted by name" in app.said()
        assert app.decided == [], "typing the names is no verdict yet"
        await pilot.press("enter", "space")
        assert app.decided == []
        await pilot.press("a")
        await settled(pilot)
        (sent,) = app.decided
        assert (sent.verdict.decision, sent.digest) == ("approved", NEW_DIGEST)
        view = risky().builds[-1]
        assert sent.verdict.accepted == names_to_accept(risks(view, view.attempts[-1]))


async def test_a_finding_of_medium_weight_is_accepted_by_name_too() -> None:
    view = calm()
    finding = Finding(severity="medium", rule="ast/state", text="N: what one call leaves", line=3)
    attempt = msgspec.structs.replace(view.builds[-1].attempts[-1], findings=(finding,))
    changed = msgspec.structs.replace(view.builds[-1], attempts=(attempt,))
    app = Host(with_(view, builds=Rows[BuildState]().append(changed)))
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("a", "a")
        await settled(pilot)
        assert app.decided == [] and app.names == ("keeps-state",)
        await pilot.press("backspace", *app.typed)
        await settled(pilot)
        await pilot.press("a")
        await settled(pilot)
        assert [one.verdict.accepted for one in app.decided] == [("keeps-state",)]


async def test_typing_on_after_the_name_does_not_approve() -> None:
    app = Host(risky())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("a")
        app.pace = HASTILY
        await pilot.press(*app.typed, "a", "a")
        await settled(pilot)
        assert app.decided == []


async def test_a_rejection_needs_words_and_escape_goes_back() -> None:
    app = Host(calm())
    async with app.run_test(size=MIDDLE) as pilot:
        await settled(pilot)
        await pilot.press("r")
        await pilot.press("enter")
        await settled(pilot)
        assert app.decided == []
        await until(pilot, lambda: "The agent learns from the reason" in app.said())  # where one looks
        await pilot.press("n", "o")
        await until(pilot, lambda: "Enter rejects with this reason" in app.said())
        await pilot.press("escape")
        bar = app.review.query_one(VerdictBar)
        assert bar.mode == "idle"
        await pilot.press("r")
        await pilot.press(*"use the shelf", "tab", "right", "space", "a", "e")
        await settled(pilot)
        assert app.decided == []
        assert app.edits == []
        app.pace = HASTILY
        await pilot.press("a", "enter", "space")
        await settled(pilot)
        assert app.decided == [], "an Enter out of a burst sends no more here than anywhere"
        app.pace = CALMLY
        await pilot.press("space", "enter")
        await settled(pilot)
        (command,) = app.decided
        assert (command.verdict.decision, command.verdict.reason, command.verdict.tags) == (
            "rejected",
            "use the shelf",
            ("unsafe",),
        )


async def test_an_enter_out_of_the_same_burst_does_not_reject() -> None:
    app = Host(calm())
    async with app.run_test(size=MIDDLE) as pilot:
        await settled(pilot)
        await pilot.press("r")
        app.pace = HASTILY
        await pilot.press("n", "o", "enter")
        await settled(pilot)
        assert app.decided == []
        assert app.review.query_one(VerdictBar).mode == "reject"
        app.pace = CALMLY
        await pilot.press("enter", "enter")
        await settled(pilot)
        assert app.decided == [], "a held Enter is one Enter"
        await pilot.press("t", "enter")
        await settled(pilot)
        assert [c.verdict.reason for c in app.decided] == ["not"]


async def test_an_edit_counts_only_if_bytes_changed() -> None:
    app = Host(calm())
    async with app.run_test(size=MIDDLE) as pilot:
        await settled(pilot)
        await pilot.press("e")
        await settled(pilot)
        (asked,) = app.edits
        assert asked.draft == streams.DRAFT
        app.review.edited(asked.approval_id, asked.draft.code, asked.draft.tests)
        app.review.edited("another", "x = 1\n", "")
        await settled(pilot)
        assert app.decided == []
        app.review.edited(asked.approval_id, asked.draft.code + "# mine\n", asked.draft.tests)
        await settled(pilot)
        (command,) = app.decided
        assert (command.verdict.decision, command.tests) == ("edited", "")
        assert command.code.endswith("# mine\n")
        assert command.digest == streams.DIGEST


async def test_builds_are_decided_one_at_a_time_and_each_waits_for_its_own_quiet_time() -> None:
    app = Host(queue())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        head = app.review.query_one("#head", Plain)
        assert "BUILD 1 of 2 · validate_email_addresses v1 (new)" in str(head.content)
        await pilot.press("n")
        assert "BUILD 2 of 2 · fetch_rates v2 (replaces v1)" in str(head.content)
        await pilot.press("p")
        await settled(pilot)  # what is not painted yet is not decided
        await pilot.press("a", "a")
        app.pace = HASTILY
        await pilot.press("a", "a")
        await settled(pilot)
        assert [c.approval_id for c in app.decided] == ["p1"], "keys meant for one build decide no other"
        assert app.review.bar.mode == "idle"
        assert "BUILD 1 of 1 · fetch_rates" in str(head.content)
        assert app.review.query_one(VerdictBar).mode == "idle"


async def test_a_build_that_was_decided_elsewhere_takes_no_verdict() -> None:
    envelopes = streams.waiting()
    app = Host(fold_all(envelopes))
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        tape = streams.Tape()
        tape.envelopes, tape._seq = list(envelopes), max(one.seq or 0 for one in envelopes)
        tape.add(
            e.ApprovalResolved(
                approval_id="p1",
                build_id=e.BuildId("b1"),
                digest=streams.DIGEST,
                verdict=e.Verdict(decision="rejected", by="ada"),
            )
        )
        app.review.advance(fold_all(tape.envelopes))
        assert "rejected by ada" in app.said()
        await pilot.press("a", "r", "e")
        await settled(pilot)
        assert app.decided == []
        assert app.review.query_one(VerdictBar).mode == "idle"


async def test_a_new_build_does_not_replace_the_one_on_screen() -> None:
    app = Host(calm())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        app.review.advance(queue())
        assert app.review.build is not None
        assert app.review.build.approval_id == "p1"
        assert "BUILD 1 of 2" in str(app.review.query_one("#head", Plain).content)


async def test_bytes_other_than_the_shown_ones_cannot_be_approved() -> None:
    view = calm()
    build = view.builds[0]
    forged = msgspec.structs.replace(streams.DRAFT, code="print('other')\n")
    from msgspec.structs import replace

    attempt = replace(build.attempts[0], draft=forged)
    app = Host(with_(view, builds=view.builds.replace(0, replace(build, attempts=(attempt,)))))
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert "not the ones that approval is asked for" in app.sheet_text("#evidence")
        await pilot.press("a")
        await settled(pilot)
        assert app.decided == []
        assert app.review.query_one(VerdictBar).mode == "idle"


async def test_the_mouse_may_decide_once_armed() -> None:
    app = Host(calm())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert all(not button.can_focus for button in app.review.query(Button))
        await pilot.click("#choice-approve")
        await settled(pilot)
        assert [c.verdict.decision for c in app.decided] == ["approved"]


async def test_the_click_that_brings_the_terminal_back_is_no_verdict() -> None:
    app = Host(calm())
    async with app.run_test(size=WIDE) as pilot:
        await looked_at(app, pilot)
        assert app.review.armed
        app.app_focus = False
        app.pace = HASTILY
        app.post_message(events.AppFocus())
        await settled(pilot)
        await pilot.click("#choice-approve")
        await pilot.press("a")
        await settled(pilot)
        assert app.decided == []


async def test_the_trace_beside_it_scrolls() -> None:
    app = Host(calm())
    async with app.run_test(size=MIDDLE) as pilot:
        await settled(pilot)
        trace = app.screen_stack[0].query_one("#trace")
        await pilot._post_mouse_events([events.MouseScrollDown], offset=(10, 10))
        await settled(pilot)
        assert trace.scroll_y > 0


async def test_narrow_shows_one_part_at_a_time_and_the_verdict_always() -> None:
    app = Host(risky())
    async with app.run_test(size=SMALL) as pilot:
        await settled(pilot)
        evidence, code = app.review.query_one(Evidence), app.review.query_one(CodeView)
        seen = []
        for _ in range(5):
            bar = app.review.query_one(VerdictBar)
            assert bar.region.bottom == 24
            seen.append(
                "code" if code.display and not evidence.display else evidence.text().split("\n")[0].split()[0]
            )
            await pilot.press("right_square_bracket")
            await settled(pilot)
        assert seen == ["the", "code", "WHY", "SELF-TESTS", "SANDBOX"], "the internet: the first answer leads"
        await pilot.resize_terminal(140, 40)
        await settled(pilot)
        assert evidence.display
        assert code.display
        assert app.review.query_one("#review").region.width == 84
        await pilot.press("f")
        await settled(pilot)
        assert app.review.query_one("#review").region.width == 140
        assert app.review.query_one(BuildPanes).has_class("-beside")


async def test_the_evidence_shows_what_was_observed() -> None:
    app = Host(risky())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        text = app.sheet_text("#evidence")
        for said in (
            "hidden characters in code or tests",
            "test_no_network failed in 3 of 3 runs",
            "line 22: subprocess call with shell=True identified. (high, B602)",
            "asks for network access to api.ecb.example:443",
            "asks for the secret ECB_TOKEN",
            "imports requests, which no requirement declares",
            "names with letters outside ASCII",
            "fetch_rates v1",
            "0.61",
            "https://api.ecb.example/docs",
            "declared by python-dateutil",
            "httpx 0.28.1",
            "d9d9d9d9d9d9…",
            "uploaded 2024-12-06",
            "pulled in",
            "B310",
            "Written by the same model that wrote the code.",
            "0/3 runs",
            "peak 46 MiB",
            "hit the wall limit",
            "no network, no workspace, no secrets, no model",
            "cgroup v2 memory.max",
            "approximate: rlimit and a watchdog",
            NEW_DIGEST,
            "[bold]Safe![/bold]",
            "Rates API [red]docs[/red]",
        ):
            assert said in text, said
        await pilot.press("s")
        await settled(pilot)
        text = app.sheet_text("#evidence")
        assert "fetching[/red] …" in text
        assert "\x1b" not in text
        assert "def test_has_usd():" in text


async def test_the_diff_goes_through_parent_and_attempt_and_back() -> None:
    app = Host(risky())
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        labels = []
        for _ in range(4):
            base = app.review.query_one(CodeView).base
            labels.append(base.label if base else "")
            await pilot.press("d")
        assert labels == ["v1", "attempt 1", "", "v1"], "a new version opens on what is new in it"
        await pilot.press("d", "d")
        text = app.sheet_text("#code")
        assert OLD.code.split("\n")[0] in text
        assert "import subprocess" in text


async def test_a_draft_without_evidence_is_shown_as_risky() -> None:
    app = Host(waiting_for(streams.DRAFT, full=False))
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        text = app.sheet_text("#evidence")
        for said in (
            "self-tests have not run",
            "static review has not run",
            "not pinned to exact wheels",
            "has nothing like it",
        ):
            assert said in text
        await pilot.press("a")
        assert app.review.query_one(VerdictBar).mode == "name"


async def test_keys_follow_the_keymap_and_stay_guarded() -> None:
    app = Host(calm(), pace=HASTILY)
    async with app.run_test(size=WIDE) as pilot:
        app.set_keymap({"approval.approve": "f10"})
        await pilot.press("escape")
        review = app.open()
        await settled(pilot)
        assert str(review.query_one("#choice-approve", Plain).content) == "F10 Approve"
        await pilot.press("f10", "a")
        await settled(pilot)
        assert app.decided == []
        await pilot.press("escape")
        app.pace = CALMLY
        app.open()
        await settled(pilot)
        await pilot.press("a")
        assert app.decided == []
        await pilot.press("f10")
        await settled(pilot)
        assert [c.verdict.decision for c in app.decided] == ["approved"]


async def test_an_empty_review_says_so() -> None:
    app = Host(fold_all(streams.walkthrough()))
    async with app.run_test(size=SMALL) as pilot:
        await settled(pilot)
        assert app.said() == "No build waits."
        await pilot.press("a", "r", "e", "n", "d", "s")
        assert app.decided == []
        tape = streams.Tape()
        streams.opened(tape)
        add_risky(tape)
        app.review.advance(fold_all(tape.envelopes))
        assert app.review.build is not None
