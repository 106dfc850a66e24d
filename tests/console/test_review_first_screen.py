"""The first screenful of a review, as it is painted at 80x24: what is unusual, what it may touch, how sure we are."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
import pytest

from alita_tui.console.review.code import CodeView
from alita_tui.console.review.evidence import Evidence
from alita_tui.console.review.glance import glance
from alita_tui.console.review.panes import worst_line
from alita_tui.console.review.verdict_bar import Button
from alita_tui.console.widgets.sheet import Row, fold_row
from alita_tui.console.widgets.styled_text import text_of
from alita_tui.events import Capabilities, Finding, GateName, GateResult, GateState
from alita_tui.state.build import BuildState
from alita_tui.state.rows import Rows
from alita_tui.view.model import SessionView
from alita_tui.view.purpose import purpose
from alita_tui.view.risk import current_names, risks
from tests.console.approval_cases import calm, risky
from tests.console.approval_host import Host
from tests.console.gate_states import every
from tests.console.navigating import until
from tests.support.viewing import with_

NO_BREAK = "\N{NO-BREAK SPACE}"


def how_sure(rows: list[Row]) -> Row:
    """The row that says how sure we are."""
    (row,) = (row for row in rows if row.gutter and "how sure" in row.gutter[0][0])
    return row


def painted(app: Host) -> str:
    """What the screen shows, line by line, with a common blank for one that keeps words on a line."""
    width, height = app.size
    lines = app.screen._compositor.render_strips()
    assert len(lines) == height
    shown = "\n".join("".join(segment.text for segment in line)[:width] for line in lines)
    return shown.replace(NO_BREAK, " ")


def changed(**fields: object) -> SessionView:
    view = calm()
    attempt = msgspec.structs.replace(view.builds[-1].attempts[-1], **fields)
    return with_(
        view, builds=Rows[BuildState]().append(msgspec.structs.replace(view.builds[-1], attempts=(attempt,)))
    )


def found(rule: str, severity: str = "high", line: int = 7) -> Finding:
    return Finding(severity=severity, rule=rule, text=f"what {rule} found", line=line)  # type: ignore[arg-type]


async def test_a_calm_build_answers_everything_in_one_screenful() -> None:
    app = Host(calm())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        screen = painted(app)
    for said in (
        "approving takes one key",
        "may touch",
        "does",
        "how sure",
        "own tests 3 of 3",
        "■ hidden tests passed",
        "changes",
        "replaces",
    ):
        assert said in screen


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_the_most_telling_risks_come_first_and_say_their_names(size: tuple[int, int]) -> None:
    noise = tuple(found("B101", "medium", n) for n in range(9)) + (found("ast/clock", "medium"),)
    telling = (found("ast/test-detection", "medium"), found("ast/introspection"), found("ast/dynamic"))
    app = Host(changed(findings=(*noise, *telling)))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        screen = painted(app)
    for name in ("introspects", "code-not-on-page", "detects-tests"):
        assert name in screen


def odd(name: GateName, summary: str) -> dict[str, object]:
    return {"gates": every(GateResult(gate=name, state="failed", summary=summary))}


def drafted(**fields: object) -> dict[str, object]:
    return {"draft": msgspec.structs.replace(calm().builds[-1].attempts[-1].draft, **fields)}


TEN: tuple[tuple[dict[str, object], tuple[str, ...]], ...] = (
    ({}, ()),
    (drafted(description="Sums."), ()),
    (drafted(output_schema={"type": "string"}), ()),
    ({"findings": (found("ast/note", "low"),)}, ()),
    (drafted(input_schema={"type": "object", "properties": {str(n): {} for n in range(30)}}), ()),
    (
        drafted(capabilities=Capabilities(network=("any evil.example:443",))),
        ("evil.example:443",),
    ),
    (
        odd("mutation", "the tests caught 3 of 10 planted bugs"),
        ("the tests caught 3 of 10", "✗ planted bugs caught 3 of 10"),
    ),
    (odd("hidden", "1 of 6 cases"), ("✗ hidden tests 1 of 6", "1 of 6 cases")),
    (odd("requirements", "httpx2 is 9 days old and one letter from httpx"), ("one letter from httpx",)),
    ({"findings": (found("ast/test-detection", "high", 14),)}, ("detects-tests",)),
)
"""Ten builds: five as they should be, five bad in different ways, with what one has to see to refuse them."""


@pytest.mark.parametrize("size", [(100, 30), (120, 36)])
@pytest.mark.parametrize("number", range(len(TEN)))
async def test_everything_needed_to_refuse_is_on_the_first_screenful_in_order(
    number: int, size: tuple[int, int]
) -> None:
    fields, telling = TEN[number]
    view = changed(**fields)
    attempt = view.builds[-1].attempts[-1]
    asked = msgspec.structs.replace(view.builds[-1], digest=attempt.build_digest)
    app = Host(with_(view, builds=Rows[BuildState]().append(asked)))
    async with app.run_test(size=size) as pilot:
        shown = app.review.query_one(Evidence)

        def screenful() -> str:
            return "\n".join(shown.render_line(n).text for n in range(shown.size.height))

        for _ in range(200):
            await pilot.pause()
            if "  changes " in screenful():
                break
        screen = screenful()
    places = [
        screen.index(f"  {label} ") for label in ("may touch", "does", "how sure", "unusual", "changes")
    ]
    assert places == sorted(places)
    flat = " ".join(screen.split())
    assert "Its author says: " in flat and "Takes " in flat
    for said in telling:
        assert said in flat
    assert ("unusual nothing" in flat) is (not telling)


@pytest.mark.parametrize("size", [(120, 36), (200, 55)])
@pytest.mark.parametrize("version", [1, 2])
async def test_packages_of_npm_are_named_on_the_first_screenful(size: tuple[int, int], version: int) -> None:
    named = ("npm:lodash@^4.17.21", "npm:@scope/dates@~2.1")
    view = changed(
        **drafted(language="javascript", requirements=named),
        language_reason="the two packages that it needs exist for this language alone, and it is the shortest there",
        gates=every(
            GateResult(
                gate="requirements", state="skipped", summary="no fault database answered: " + "x" * 200
            ),
            GateResult(gate="mutation", state="skipped", summary="there was no time for it"),
            GateResult(gate="hidden", state="failed", summary="1 of 6 cases", good=1, tried=6),
        ),
        findings=(found("ast/environment"), found("ast/clock", "medium")),
    )
    build = view.builds[-1]
    parent = build.attempts[-1].draft if version == 2 else None
    view = with_(
        view, builds=Rows[BuildState]().append(msgspec.structs.replace(build, version=version, parent=parent))
    )
    app = Host(view)

    def screenful() -> str:
        shown = app.review.query_one(Evidence)
        return " ".join(shown.render_line(n).text for n in range(shown.size.height))

    async with app.run_test(size=size) as pilot:
        for _ in range(200):
            await pilot.pause()
            if all(name in screenful() for name in named):
                break
        assert [name for name in named if name not in screenful()] == [], screenful()


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 36), (200, 55)])
async def test_two_long_risks_leave_all_five_answers_on_the_first_screenful_and_lines_of_code(
    size: tuple[int, int],
) -> None:
    told = "package email-validator: named by a search result (https://pypi.org/project/email-validator/), not by you"
    rules = ("ast/introspection", "ast/environment")
    view = changed(findings=tuple(msgspec.structs.replace(found(rule), text=told) for rule in rules))
    assert len(risks(view.builds[-1], view.builds[-1].attempts[-1])) == 2
    app = Host(view)

    def missing() -> list[str]:
        shown = app.review.query_one(Evidence)
        screen = "\n".join(shown.render_line(n).text for n in range(shown.size.height))
        labels = ("may touch", "does", "how sure", "unusual", "changes")
        return [label for label in labels if f"  {label} " not in screen]

    async with app.run_test(size=size) as pilot:
        for _ in range(200):
            await pilot.pause()
            if not missing():
                break
        assert missing() == []
        assert size[0] < 100 or app.review.query_one(CodeView).size.height >= (9 if size[1] > 30 else 7)


def test_what_a_tool_does_is_computed_and_a_name_cannot_pass_for_a_part_of_the_sentence() -> None:
    attempt = calm().builds[-1].attempts[-1]
    assert purpose(attempt).startswith("Takes addresses (a list of texts); returns results (a list); ")
    lying = "x (a text); returns nothing; reached for no more than it declares. And"
    schema = {
        "type": "object",
        "properties": {lying: {"type": "integer"}, "n" * 99: {"type": ["string", "null"]}},
    }
    said = purpose(
        msgspec.structs.replace(
            attempt,
            gates=(),
            draft=msgspec.structs.replace(
                attempt.draft, input_schema=schema, output_schema={"type": "boolean"}
            ),
        )
    )
    assert said.startswith("Takes one with an odd name (a whole number) and nnn")
    assert (
        "a text or nothing" in said and "; returns yes or no; so it declares, no call was held to it" in said
    )
    assert "reached for no more" not in said


@pytest.mark.parametrize("gate", ["mutation", "hidden", "capabilities", "literals"])
async def test_a_failed_check_is_on_the_first_screenful(gate: GateName) -> None:
    odd = GateResult(gate=gate, state="failed", summary="this one tells something")
    app = Host(changed(gates=every(odd)))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "this one tells something" in painted(app)


async def test_a_new_version_says_what_it_may_do_that_the_old_could_not_and_opens_on_the_diff() -> None:
    app = Host(risky())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        screen = painted(app)
        assert "replaces v1" in screen and "may do what v1 could not" in screen
        assert "new packages: httpx>=0.28, python-dateutil" in " ".join(screen.split())
        code = app.review.query_one(CodeView)
        assert code.base is not None and code.base.label == "v1"


async def test_a_click_on_a_risk_goes_to_its_line() -> None:
    view = changed(findings=(found("ast/introspection", line=20),))
    assert [one.line for one in risks(view.builds[-1], view.builds[-1].attempts[-1])] == [20]
    app = Host(view)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        shown = app.review.query_one(Evidence)
        place = next(n for n in range(shown.size.height) if "introspects" in shown.render_line(n).text)
        await pilot.click(Evidence, offset=(20, place))
        await pilot.pause()
        code = app.review.query_one(CodeView)
        assert code.display and app.decided == []
        assert "20 │" in painted(app)


async def test_enter_goes_to_the_line_of_the_chosen_risk() -> None:
    view = changed(findings=(found("ast/introspection", line=20), found("ast/environment", "medium", line=3)))
    assert [one.line for one in risks(view.builds[-1], view.builds[-1].attempts[-1])] == [20, 3]
    for keys, line in ((("enter",), 20), (("down", "enter"), 20), (("down", "down", "enter"), 3),
                       (("down", "down", "up", "enter"), 20)):  # fmt: skip
        app = Host(view)
        asked: list[int] = []
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            code = app.review.query_one(CodeView)
            go = code.go_to_line

            def noted(line: int, go: Callable[[int], None] = go, asked: list[int] = asked) -> None:
                asked.append(line)
                go(line)

            code.go_to_line = noted  # type: ignore[method-assign]  # watched
            for key in keys:
                await pilot.press(key)
            await pilot.pause()
            assert asked == [line] and code.display and app.decided == []
            assert f"{line} │" in painted(app)


def test_risks_have_plain_names_and_former_names_are_still_accepted() -> None:
    old = ("B602", "B310", "B314", "B105", "B324", "B301", "B113", "B999")
    view = changed(findings=tuple(found(rule) for rule in old))
    names = {one.name for one in risks(view.builds[-1], view.builds[-1].attempts[-1])}
    assert names == {
        "processes", "opens-any-address", "unsafe-xml", "secret-in-code", "weak-cryptography", "loads-objects",
        "no-timeout", "code-scan",
    }  # fmt: skip
    assert current_names(["b602", "B310", "network", "b999"]) == [
        "processes",
        "opens-any-address",
        "network",
        "code-scan",
    ]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"requirements": ("steady-orders",)}, "the package steady-orders"),
        ({"capabilities": Capabilities(network=("GET a.example:443", "GET b.example:443"))}, "b.example"),
    ],
)
def test_new_abilities_of_a_version_are_a_risk(more: dict[str, object], said: str) -> None:
    view = calm()
    build = view.builds[-1]
    attempt = build.attempts[-1]
    old = msgspec.structs.replace(attempt.draft, capabilities=Capabilities(network=("GET a.example:443",)))
    new = msgspec.structs.replace(old, **more)
    build = msgspec.structs.replace(build, parent=old, version=2)
    first = risks(build, msgspec.structs.replace(attempt, draft=old))
    assert "gains" not in {one.name for one in first}
    (gains,) = (
        one for one in risks(build, msgspec.structs.replace(attempt, draft=new)) if one.name == "gains"
    )
    assert said in gains.text and "a.example" not in gains.text
    kept = risks(build, msgspec.structs.replace(attempt, draft=new), new.capabilities.items)
    assert ("gains" in {one.name for one in kept}) is ("requirements" in more)


async def test_findings_are_marked_in_the_margin_of_the_code_and_one_key_goes_to_the_next() -> None:
    view = changed(
        findings=(
            found("ast/introspection", line=20),
            found("ast/note", "low", line=3),
            found("ast/import", "info", line=5),
        )
    )
    app = Host(view)

    def marked() -> dict[int, str]:
        """The marks in the margin, by line, as they are painted."""
        margins = re.findall(r"(\d+) │([^ ])", painted(app))
        return {int(number): mark for number, mark in margins if mark in "▌▸"}

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("right_square_bracket")  # to the code
        await pilot.pause()
        assert app.review.query_one(CodeView).display and not app.review.query_one(Evidence).display
        await until(pilot, lambda: marked().get(20) == "▌")  # it opens at the worst
        for line, other in ((3, 20), (20, 3), (3, 20)):
            await pilot.press("full_stop")
            await pilot.pause()
            assert marked()[line] == "▸", "the one that was gone to"
            assert marked().get(other, "▌") == "▌" and 5 not in marked(), "what is no finding has no mark"
        assert app.decided == []


async def test_where_no_finding_is_about_a_line_the_key_says_so() -> None:
    app = Host(calm())
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("full_stop")
        await pilot.pause()
        assert [notice.message for notice in app._notifications] == [
            "No finding is about a line of the code."
        ]


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 36), (200, 55)])
@pytest.mark.parametrize("line", [2, 70, 200])
async def test_the_code_opens_where_the_worst_finding_is(size: tuple[int, int], line: int) -> None:
    code = "".join(f"x{number} = {number}\n" for number in range(1, 201))
    findings = (found("B101", "low", 120), found("ast/dynamic", "high", line))
    app = Host(changed(findings=findings, **drafted(code=code)))
    async with app.run_test(size=size) as pilot:
        review = app.review
        review.panes.show_tab("Code")
        view = review.query_one(CodeView)
        await until(pilot, lambda: view.seen(line))
        shown = "\n".join(view.render_line(row).text for row in range(view.size.height))
        assert f"▌x{line} = {line} " in shown
        unseen = {1, 20, 120, 200} - {number for number in range(1, 201) if f"x{number} = {number} " in shown}
        assert not any(view.seen(number) for number in unseen), "only what is on screen has been read"
        assert (view.scroll_y == 0) is (line == 2), "from its beginning if the line is seen there"


async def test_code_without_a_finding_opens_at_its_beginning() -> None:
    app = Host(changed(**drafted(code="".join(f"x{number} = {number}\n" for number in range(1, 201)))))
    async with app.run_test(size=(120, 36)) as pilot:
        view = app.review.query_one(CodeView)
        await until(pilot, lambda: view.seen(1))
        assert view.scroll_y == 0


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (110, 30), (120, 36), (200, 55)])
async def test_every_choice_of_the_verdict_bar_is_visible(size: tuple[int, int]) -> None:
    app = Host(risky())
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        bar = app.review.bar
        shown = [button for button in bar.query(Button) if button.display and button.region.width]
        assert {"approve", "reject", "ban", "stop"} <= {button.choice for button in shown}
        assert all(button.region.right <= bar.content_region.right for button in shown)


def checked(**results: GateResult) -> dict[str, object]:
    return {"gates": every(*(msgspec.structs.replace(one, gate=name) for name, one in results.items()))}


def result(state: GateState, summary: str, good: int = 0, tried: int = 0) -> GateResult:
    return GateResult(gate="hidden", state=state, summary=summary, good=good, tried=tried)


@pytest.mark.parametrize(
    ("results", "said"),
    [
        (
            {
                "hidden": result("passed", "…", 5, 5),
                "mutation": result("passed", "…", 9, 12),
                "replay": result("passed", "…", 3, 3),
            },
            "■ own tests 3 of 3 · ■ hidden tests 5 of 5 · ■ planted bugs caught 9 of 12 · ■ 3 real calls replayed"
            " · all 13 checks passed",
        ),
        (
            {
                "hidden": result("failed", "…", 1, 6),
                "mutation": result("failed", "…", 3, 10),
                "replay": result("failed", "…", 1, 4),
            },
            "■ own tests 3 of 3 · ✗ hidden tests 1 of 6 · ✗ planted bugs caught 3 of 10"
            " · ✗ 3 of 4 real calls come out otherwise · 10 of 13 checks, 3 failed",
        ),
        (  # as recordings of earlier versions have it
            {
                "hidden": result("passed", "6 of 6 cases by openai:1 of 2, which saw only the contract"),
                "mutation": result("passed", "the tests catch 5 of 6 mutants (83%; 60% is asked)"),
                "replay": result(
                    "passed", "all 1 recorded calls come out as before; of the calls all 3 succeed"
                ),
            },
            "■ hidden tests 6 of 6 · ■ planted bugs caught 5 of 6 · ■ 1 real call replayed",
        ),
        (
            {
                "hidden": result("skipped", "no separate call wrote tests: 127.0.0.1 answered 3 of 4"),
                "mutation": result("skipped", "there is no operator or constant to flip"),
                "replay": result("passed", "it replaces no tool, so there are no old calls to repeat"),
            },
            "○ hidden tests could not run · ○ planted bugs could not be tried · no real calls to replay"
            " · 11 of 13 checks, 2 could not run",
        ),
        (
            {"hidden": result("passed", "none can be written: its purpose is chance")},
            "no hidden test can be written",
        ),
    ],
)
def test_the_evidence_is_given_in_figures_and_missing_checks_are_named(
    results: dict[str, GateResult], said: str
) -> None:
    attempt = changed(**checked(**results)).builds[-1].attempts[-1]
    rows = glance(changed(**checked(**results)).builds[-1], attempt)
    assert said in how_sure(rows).text.replace(NO_BREAK, " ")


def test_checks_without_a_record_are_shown_as_missing() -> None:
    build = changed(gates=()).builds[-1]
    assert how_sure(glance(build, build.attempts[-1])).text.replace(NO_BREAK, " ") == (
        "■ own tests 3 of 3 · ○ hidden tests not run · ○ planted bugs not tried · ○ real calls not replayed"
        " · 1 of 13 checks, 12 not run"
    )


def test_each_mark_is_on_the_line_of_its_words() -> None:
    build = calm().builds[-1]
    row = how_sure(glance(build, build.attempts[-1]))
    for width in range(30, 121):
        lines = [text_of(line).strip() for line in fold_row(row, width)]
        assert not [line for line in lines if line.endswith(("■", "✗", "○"))], (width, lines)


PUZZLES = re.compile(r"in the code: no more|seen in tests|declared|capabilit|broker|egress|grant")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "nothing: no internet, none of your files, no secrets, no models, no other tools"),
        (
            odd("capabilities", "it uses what it does not declare: network"),
            "asks for nothing, but its code tries to reach more; see unusual",
        ),
        ({"gates": ()}, "asks for nothing; whether it tries to reach more was not checked"),
        (
            drafted(capabilities=Capabilities(network=("GET a.example:443",))),
            "the internet: a.example:443, GET requests only",
        ),
        (
            drafted(capabilities=Capabilities(network=("a.example:443",))),
            "the internet: a.example:443, may also send data",
        ),
        (
            drafted(capabilities=Capabilities(workspace="read")),
            "your files: reads those in your workspace folder",
        ),
        (
            drafted(capabilities=Capabilities(workspace="write")),
            "your files: reads and changes those in your workspace folder",
        ),
        (
            drafted(capabilities=Capabilities(network=("a.example:443",), secrets=("KEY@a.example:443",))),
            "your secret KEY, sent to a.example:443 only",
        ),
        (drafted(capabilities=Capabilities(model_calls=3)), "models: up to 3 calls a run, on your account"),
        (drafted(capabilities=Capabilities(tools=("csv_totals",))), "the tool csv_totals"),
    ],
)
def test_what_a_tool_may_touch_is_shown_in_plain_words(fields: dict[str, object], said: str) -> None:
    build = changed(**fields).builds[-1]
    rows = glance(build, build.attempts[-1])
    first = next(n for n, row in enumerate(rows) if row.gutter and "may touch" in row.gutter[0][0])
    last = next(n for n, row in enumerate(rows) if row.gutter and "does" in row.gutter[0][0])
    touched = " | ".join(row.text for row in rows[first:last])
    assert said in touched
    assert not PUZZLES.search(touched), touched
    if build.attempts[-1].draft.capabilities.network:
        assert "none of your files" in touched, "what it may not touch is said, too"


@pytest.mark.parametrize("view", [calm, risky], ids=["calm", "risky"])
async def test_at_80_by_24_code_is_below_the_answers_and_the_key_to_more_of_it_is_named(
    view: Callable[[], SessionView],
) -> None:
    app = Host(view())
    async with app.run_test(size=(80, 24)) as pilot:
        code = app.review.query_one(CodeView)
        build = app.view.builds[-1]
        assert build.presented is not None
        line = worst_line(build, build.presented) or 1
        await until(pilot, lambda: re.search(rf"(?m)^ +{line} ?[│+]", painted(app)) and code.seen(line))
        screen = painted(app)
        assert "] shows more of it" in screen
        assert all(
            f"  {label} " in screen for label in ("may touch", "does", "how sure", "unusual", "changes")
        )
        unread = code.unread
        assert 0 < unread < code.lines, "what was on screen was read, and nothing else"
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: code.size.height > 12)
        assert app.decided == []


async def test_the_marked_line_is_among_the_few_lines_of_code_below_the_answers() -> None:
    code = "".join(f"x{number} = {number}\n" for number in range(1, 201))
    view = changed(findings=(found("ast/dynamic", "high", 70),), **drafted(code=code))
    app = Host(view)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "▌x70 = 70 " in painted(app))


async def test_where_there_is_room_trace_answers_and_code_are_side_by_side() -> None:
    app = Host(risky())
    async with app.run_test(size=(200, 55)) as pilot:
        await until(pilot, lambda: app.review.query_one(CodeView).region.x > 100)
        review = app.review.query_one("#review").region
        evidence, code = app.review.query_one(Evidence).region, app.review.query_one(CodeView).region
        assert 44 <= review.x <= 48 and review.right == 200
        assert evidence.width >= 65 and code.width >= 78 and evidence.right <= code.x
        assert evidence.y == code.y
        await pilot.press("f")
        await until(pilot, lambda: app.review.query_one("#review").region.x == 0)
        assert app.decided == []
