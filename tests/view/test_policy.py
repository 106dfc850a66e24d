"""What a rule covers and what none can."""

from __future__ import annotations

from datetime import date
from typing import Any

import msgspec
import pytest

from alita_tui.events import Capabilities, Finding, GateName, GateResult, Lock, LockedPackage
from alita_tui.events.build import CHECKS
from alita_tui.state.build import Attempt, BuildState
from alita_tui.view.policy import Rule, unmet_conditions
from tests.console.approval_cases import calm, risky
from tests.support import streams

TODAY = date(2026, 11, 21)
PURE = msgspec.structs.replace(streams.DRAFT, requirements=())


def passed(*names: GateName) -> tuple[GateResult, ...]:
    return tuple(GateResult(gate=name, state="passed", summary="well") for name in names)


def made(**changes: Any) -> tuple[BuildState, Attempt]:
    """A pure draft with all evidence on its side, changed."""
    build = calm().builds[-1]
    bare = msgspec.structs.replace(
        build.attempts[-1],
        draft=PURE,
        lock=Lock(),
        gates=passed(*CHECKS),
        imports=("json", "sys"),
        findings=(),
    )
    attempt = msgspec.structs.replace(bare, **changes)
    return msgspec.structs.replace(build, attempts=(attempt,), digest=attempt.build_digest), attempt


def ask(rule: Rule, known: tuple[LockedPackage, ...] = (), **changes: Any) -> tuple[str, ...]:
    return unmet_conditions(rule, *made(**changes), known, TODAY)


def asking(**wants: Any) -> dict[str, Any]:
    return {"draft": msgspec.structs.replace(PURE, capabilities=Capabilities(**wants))}


def test_the_narrowest_rule_covers_a_pure_build_with_all_evidence() -> None:
    assert ask(Rule(name="pure")) == ()


@pytest.mark.parametrize(
    "rule",
    [
        "ast/dynamic",
        "ast/introspection",
        "ast/test-detection",
        "ast/state",
        "ast/clock",
        "ast/pattern",
        "ast/main",
    ],
)
def test_no_rule_ignores_minor_findings_of_the_review(rule: str) -> None:
    (reason,) = ask(Rule(name="pure"), findings=(Finding(severity="low", rule=rule, text="x", line=3),))
    assert rule in reason
    assert ask(Rule(name="pure"), findings=(Finding(severity="low", rule="ast/long-line", text="x"),)) == ()


@pytest.mark.parametrize("gone", CHECKS)
def test_a_rule_always_requires_all_evidence(gone: GateName) -> None:
    rule = Rule(name="lax", gates=("contract",))
    assert ask(rule) == ()
    assert ask(rule, gates=passed(*(one for one in CHECKS if one != gone)))
    skipped = GateResult(gate=gone, state="skipped", summary="nobody was there")
    assert ask(rule, gates=(*passed(*(one for one in CHECKS if one != gone)), skipped))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (asking(network=("api.example:443",)), "asks for the host"),
        (asking(workspace="read"), "asks for read access to the files in the workspace"),
        (asking(model_calls=1), "1 model calls"),
        (asking(secrets=("TOKEN",)), "the secret TOKEN, which no rule covers"),
        ({"lock": streams.LOCK, "draft": streams.DRAFT}, "it needs dnspython 2.8.0"),
        ({"lock": None, "draft": streams.DRAFT}, "not pinned"),
        ({"gates": passed(*list(CHECKS)[1:])}, "has not passed (not run)"),
        ({"gates": (*passed(*list(CHECKS)[1:]), GateResult(gate="requirements", state="skipped", summary="x"))}, "skipped"),
        ({"gates": (*passed(*list(CHECKS)[1:]), GateResult(gate="requirements", state="failed", summary="x"))}, "failed"),
        ({"passed": None}, "self-tests have not run"),
        ({"passed": False}, "did not pass"),
        ({"reports": ()}, "no self-test case"),
        ({"reviewed": None}, "static review has not run"),
        ({"findings": (Finding(severity="medium", rule="B310", text="x"),)}, "(medium, B310)"),
        ({"findings": (Finding(severity="medium", rule="named-elsewhere", text="x"),)}, "x (medium)"),
        ({"imports": ("requests",)}, "imports requests"),
        ({"author": "person"}, "edited by a person"),
        ({"draft": msgspec.structs.replace(PURE, code=PURE.code + "# \u202e\n")}, "hidden character"),
        ({"draft": msgspec.structs.replace(PURE, code=PURE.code + "x = 1\n" * 300)}, "lines"),
    ],
)  # fmt: skip
def test_any_other_build_is_left_to_the_person(changes: dict[str, Any], said: str) -> None:
    reasons = ask(Rule(name="pure"), **changes)
    assert any(said in reason for reason in reasons), reasons


def test_a_rule_covers_what_it_names_and_no_more() -> None:
    rule = Rule(name="wide", network=("api.example:443",), workspace="read", model_calls=2)
    assert ask(rule, **asking(network=("api.example:443",), workspace="read", model_calls=2)) == ()
    assert ask(rule, **asking(network=("api.example:444",)))
    assert ask(rule, **asking(network=("GET api.example:443",))), "another grant is another host"
    assert ask(rule, **asking(workspace="write"))
    assert ask(rule, **asking(model_calls=3))


def test_known_requirements_must_be_the_same_wheels() -> None:
    rule, changes = (
        Rule(name="known", requirements="known"),
        {"lock": streams.LOCK, "draft": streams.DRAFT, "imports": ()},
    )
    assert ask(rule, streams.LOCK.packages, **changes) == ()
    assert "which no approved tool has" in ask(rule, streams.LOCK.packages[1:], **changes)[0]
    other = msgspec.structs.replace(streams.LOCK.packages[0], hashes=("sha256:" + "00" * 32,))
    assert ask(rule, (other, *streams.LOCK.packages[1:]), **changes)
    bare = msgspec.structs.replace(streams.LOCK.packages[0], hashes=())
    unhashed = msgspec.structs.replace(streams.LOCK, packages=(bare,))
    assert ask(rule, (bare,), **{**changes, "lock": unhashed}), "what has no hash is never known"


def test_a_rule_expires() -> None:
    assert ask(Rule(name="r", until=TODAY)) == ()
    assert ask(Rule(name="r", until=date(2026, 11, 20))) == ("it held until 2026-11-20",)
    assert ask(Rule(name="r", revoked="2026-11-01 by ada")) == ("it was revoked 2026-11-01 by ada",)


def test_a_risky_build_is_covered_by_nothing() -> None:
    build = risky().builds[-1]
    everything = Rule(
        name="all", network=build.attempts[-1].draft.capabilities.network, workspace="write", model_calls=99,
        requirements="known", gates=(), max_lines=10_000,
    )  # fmt: skip
    lock = build.attempts[-1].lock
    assert lock is not None
    assert len(unmet_conditions(everything, build, build.attempts[-1], lock.packages, TODAY)) >= 6
