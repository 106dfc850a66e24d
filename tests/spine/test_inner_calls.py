"""The laws of calls inside of calls: granted, of the granted bytes, while the caller runs, in no circle."""

from __future__ import annotations

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.events import Capabilities, Lock, ToolCard, build_digest
from alita_tui.spine.grants import ToolGrant
from alita_tui.spine.laws import check
from tests.support import streams
from tests.support.calling import a_tool

A, B, C = "aa" * 32, "bb" * 32, "cc" * 32
REPORT = e.RunReport(status="ok", exit_code=0, result=1)


def grant(name: str, digest: str, version: int = 1) -> str:
    return ToolGrant(name=name, version=version, digest=digest).text


def call(call_id: str, name: str, digest: str, *tools: str, caller: str = "", depth: int = 0) -> e.ToolCalled:
    return e.ToolCalled(
        call_id=e.CallId(call_id),
        action_id="",
        name=e.ToolName(name),
        version=1,
        digest=e.BuildDigest(digest),
        arguments={},
        tools=tools,
        caller=caller,
        depth=depth,
    )


def end(call_id: str) -> e.ToolReturned:
    return e.ToolReturned(call_id=e.CallId(call_id), report=REPORT)


def laws(*events: e.SessionEvent) -> set[str]:
    """Return the laws that these events break in a session whose library has `a` alone."""
    tape = streams.Tape()
    card = ToolCard(name=e.ToolName("a"), version=1, description="", digest=e.BuildDigest(A), state="trusted")
    streams.opened(tape, library=(card,))
    for event in events:
        tape.add(event)
    return {breach.law for breach in check(tape.envelopes, complete=True)}


OUTER = call("1", "a", A, grant("b", B))
INNER = call("2", "b", B, grant("c", C), caller="1", depth=1)
THIRD = call("3", "c", C, caller="2", depth=2)


def test_a_nested_call_with_a_grant_breaks_no_law() -> None:
    assert laws(OUTER, INNER, THIRD, end("3"), end("2"), end("1")) == set()


@pytest.mark.parametrize(
    "inner",
    [
        call("2", "c", C, caller="1", depth=1),
        msgspec.structs.replace(INNER, digest=e.BuildDigest(C)),
        msgspec.structs.replace(INNER, version=2),
        msgspec.structs.replace(INNER, name=e.ToolName("c")),
    ],
)
def test_a_call_without_a_grant_is_a_breach(inner: e.ToolCalled) -> None:
    assert laws(OUTER, inner, end("2"), end("1")) == {"call what was granted"}


def test_a_grant_of_another_call_does_not_count() -> None:
    other = call("4", "a", A, grant("b", B))
    plain = call("1", "a", A)
    assert laws(other, plain, INNER, end("2"), end("1"), end("4")) == {"call what was granted"}


def test_a_nested_call_ends_before_its_open_caller() -> None:
    assert "call within a call" in laws(OUTER, end("1"), INNER, end("2"))
    assert "call within a call" in laws(msgspec.structs.replace(INNER, caller="nobody"), end("2"))
    assert laws(OUTER, INNER, end("1"), end("2")) == {"inner calls end first"}


def test_a_call_without_a_caller_needs_its_own_approval() -> None:
    assert laws(OUTER, msgspec.structs.replace(INNER, caller="", depth=0), end("2"), end("1")) == {
        "run what was approved"
    }


def test_circles_and_deep_nesting_are_breaches() -> None:
    again = call("2", "a", A, grant("a", A), caller="1", depth=1)
    assert laws(call("1", "a", A, grant("a", A)), again, end("2"), end("1")) == {"no circle of calls"}
    assert laws(OUTER, msgspec.structs.replace(INNER, depth=2), end("2"), end("1")) == {"call within a call"}
    chain = [call("0", "a", A, grant("t1", f"{1:064x}"))]
    for n in range(1, 5):
        more = grant(f"t{n + 1}", f"{n + 1:064x}")
        chain.append(call(str(n), f"t{n}", f"{n:064x}", more, caller=str(n - 1), depth=n))
    ends = [end(str(n)) for n in reversed(range(5))]
    assert laws(*chain, *ends) == {"call within a call"}
    assert laws(*chain[:-1], *ends[1:]) == set()


@pytest.mark.parametrize("withheld", [True, False])
def test_a_tool_built_here_runs_with_the_tools_that_its_verdict_granted(withheld: bool) -> None:
    draft = a_tool("outer", tools=(grant("b", B),))
    digest = build_digest(draft, Lock())
    build, ask = e.BuildId("b1"), "p1"
    verdict = e.Verdict(decision="approved", grants=Capabilities() if withheld else None)
    card = ToolCard(name=draft.name, version=1, description="", digest=digest, state="provisional")
    built = (
        e.BuildStarted(build_id=build, action_id="", name=draft.name, goal="", version=1),
        e.BuildDrafted(
            build_id=build, attempt=1, author="model", model="m", draft=draft, digest=draft.digest
        ),
        e.ApprovalRequested(approval_id=ask, build_id=build, digest=digest, name=draft.name, version=1),
        e.ApprovalResolved(approval_id=ask, build_id=build, digest=digest, verdict=verdict),
        e.ToolRegistered(build_id=build, approval_id=ask, card=card),
    )
    outer = call("1", "outer", digest, grant("b", B))
    broken = laws(*built, outer, INNER, end("2"), end("1"))
    assert broken == ({"call what was granted"} if withheld else set())


def test_records_from_before_nested_calls_are_read_unchanged() -> None:
    old = Capabilities(network=("a.example:443",))
    assert msgspec.json.encode(old) == b'{"network":["a.example:443"]}', "digests of earlier drafts stay"
    assert b"depth" not in msgspec.json.encode(end("1")) and b"caller" not in msgspec.json.encode(
        call("1", "a", A)
    )
