"""What a person is shown of a tool that may call others: all that it may use through them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from alita_tui.console.review.evidence import Evidence
from alita_tui.events import Capabilities
from alita_tui.spine.grants import ToolGrant, canonical, faults, phrases, repeatable, tool_grants, used_by
from alita_tui.state.build import Attempt, BuildState
from alita_tui.view.changes import changes, newly_allowed
from alita_tui.view.policy import Rule, unmet_conditions
from alita_tui.view.risk import names_to_accept, risks
from tests.console.approval_host import Host
from tests.console.test_review_first_screen import changed, painted
from tests.view.test_policy import PURE, TODAY, made

DIGEST = "3fa9c01b22de" + "0" * 52
ALL = (
    "network:GET a.example:443",
    "workspace:write",
    "secret:KEY@a.example:443",
    "model:3",
    "tool:leaf@2:0123456789ab",
)


def grant(*may: str, version: int = 3, digest: str = DIGEST) -> str:
    return ToolGrant(name="csv_totals", version=version, digest=digest, may=may).text


def asking(*tools: str, **more: Any) -> tuple[BuildState, Attempt]:
    return made(draft=msgspec.structs.replace(PURE, capabilities=Capabilities(tools=tools, **more)))


@pytest.mark.parametrize("may", [(), ALL, ALL[:1]])
def test_a_grant_is_parsed_as_written(may: tuple[str, ...]) -> None:
    (read,) = tool_grants(Capabilities(tools=(grant(*may),)))
    assert (read.name, read.version, read.digest, read.may) == ("csv_totals", 3, DIGEST, may)
    assert read.text == grant(*may) and faults(Capabilities(tools=(read.text,))) == ()


@pytest.mark.parametrize(
    "entry",
    ["Csv", "csv totals", "csv_totals@3", "csv_totals@x:" + DIGEST, "a@1:" + "Z" * 64, "a;b", "", "a\n"],
)
def test_an_invalid_tool_grant_is_reported_and_grants_nothing(entry: str) -> None:
    asked = Capabilities(tools=(entry,))
    assert tool_grants(asked) == () and len(faults(asked)) == 1


def test_a_name_without_a_pin_is_a_request_and_grants_nothing() -> None:
    asked = Capabilities(tools=("csv_totals",))
    assert tool_grants(asked) == () and faults(asked) == () and phrases(asked) == ("the tool csv_totals",)
    assert asked.items == ("tool:csv_totals",) and asked.brokered and not asked.none and not repeatable(asked)


def test_a_grant_names_its_bytes_and_matches_the_whole_digest() -> None:
    asked = Capabilities(tools=(grant(),))
    assert asked.items == ("tool:csv_totals@3:3fa9c01b22de",)
    assert asked.without(asked.items).none and asked.within(asked)
    other = Capabilities(tools=(grant(digest="3fa9c01b22de" + "1" * 52),))
    assert other.items == asked.items and not other.within(asked)
    assert canonical(Capabilities(tools=("b", "a", "b"))).tools == ("a", "b")


def test_grants_of_a_tool_include_those_of_the_tools_it_calls() -> None:
    own = Capabilities(
        network=("a.example:443",), secrets=("KEY",), tools=(grant("network:b.example:80", "workspace:read"),)
    )
    assert used_by(own) == (
        "network:a.example:443",
        "secret:KEY@a.example:443",
        "tool:csv_totals@3:3fa9c01b22de",
        "network:b.example:80",
        "workspace:read",
    )


def test_everything_that_a_called_tool_may_use_is_shown() -> None:
    (said,) = phrases(Capabilities(tools=(grant(*ALL),)))
    assert said == (
        "the tool csv_totals v3 (3fa9c01b22de), which may itself use network access to a.example:443, GET requests "
        "only + read and write access to the files in the workspace + the secret KEY, sent to a.example:443 alone "
        "+ 3 model calls a run + the tool leaf v2 (0123456789ab)"
    )
    assert phrases(Capabilities(tools=(grant(),)))[0].endswith("(3fa9c01b22de), which only computes")


def test_abilities_through_another_tool_are_a_risk_to_accept() -> None:
    build, attempt = asking(grant("network:a.example:443"))
    (risk,) = risks(build, attempt)
    assert (risk.name, risk.serious) == ("tools", True)
    assert risk.text == ("may use network access to a.example:443 by calling csv_totals v3 (3fa9c01b22de)")
    assert names_to_accept(risks(*asking(grant()))) == (), "one that only computes lends it nothing"
    assert names_to_accept(risks(build, attempt, withheld=attempt.draft.capabilities.items)) == ()


def test_a_new_version_that_may_call_a_tool_says_so() -> None:
    build, attempt = asking(grant("workspace:read"))
    build = msgspec.structs.replace(build, parent=PURE, version=2)
    (more,) = newly_allowed(build, attempt)
    assert more.startswith("the tool csv_totals v3") and "read access to the files in the workspace" in more
    assert any("may do what v1 could not: the tool csv_totals" in one for one in changes(build, attempt))
    assert "gains" in names_to_accept(risks(build, attempt))
    older = msgspec.structs.replace(
        PURE, capabilities=Capabilities(tools=(grant("workspace:read", version=2),))
    )
    assert newly_allowed(msgspec.structs.replace(build, parent=older), attempt), (
        "another version is another grant"
    )


@pytest.mark.parametrize("may", [(), ("network:a.example:443",)])
def test_no_rule_grants_a_call_of_another_tool(may: tuple[str, ...]) -> None:
    build, attempt = asking(grant(*may))
    wide = Rule(name="wide", network=("a.example:443",), workspace="write", model_calls=9)
    assert unmet_conditions(wide, build, attempt, (), TODAY) == (
        "it asks to call csv_totals, which no rule covers",
    )


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_the_first_screenful_shows_the_called_tools(size: tuple[int, int]) -> None:
    draft = msgspec.structs.replace(
        PURE, capabilities=Capabilities(tools=(grant("network:api.example:443"),))
    )
    app = Host(changed(draft=draft))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        screen = " ".join(painted(app).split())
        assert app.screen.query_one(Evidence).scroll_y == 0
    assert "accept by name" in screen and "tools may use network access to api.example:443" in screen
    assert "csv_totals v3 (3fa9c01b22de)" in screen
