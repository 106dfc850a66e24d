"""Lawful streams made by hand, for the pure layers and for widgets without an engine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from alita_tui import events as e
from alita_tui.events import (
    Enforcement,
    Finding,
    Lock,
    LockedPackage,
    MemoryItem,
    NearMiss,
    RunReport,
    SandboxStatus,
    SearchHit,
    Source,
    TestCase,
    ToolCard,
    ToolDraft,
    ToolRequest,
    Usage,
    WebResult,
    build_digest,
)
from alita_tui.spine.envelope import Envelope

START = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)

CODE = '''# /// script
# requires-python = ">=3.11"
# dependencies = ["email-validator>=2"]
# ///
"""Validate email addresses by syntax, without asking the network."""
import json
import sys

from email_validator import EmailNotValidError, validate_email


def run(addresses: list[str]) -> dict[str, list[dict[str, object]]]:
    """Check each address and say why a bad one is bad."""
    results = []
    for address in addresses:
        try:
            found = validate_email(address, check_deliverability=False)
            results.append({"address": address, "valid": True, "normalized": found.normalized})
        except EmailNotValidError as error:
            results.append({"address": address, "valid": False, "reason": str(error)})
    return {"results": results}


if __name__ == "__main__":
    print(json.dumps(run(**json.load(sys.stdin))))
'''
TESTS = """from validate_email_addresses import run


def test_accepts_a_plain_address():
    assert run(["ada@example.org"])["results"][0]["valid"] is True


def test_rejects_a_missing_at_sign():
    assert run(["ada.example.org"])["results"][0]["valid"] is False


def test_keeps_the_order():
    assert [r["address"] for r in run(["b@x.org", "a@x.org"])["results"]] == ["b@x.org", "a@x.org"]
"""
DRAFT = ToolDraft(
    name=e.ToolName("validate_email_addresses"),
    description="Validate email addresses by syntax and say why a bad one is bad.",
    code=CODE,
    tests=TESTS,
    requirements=("email-validator>=2",),
    input_schema={
        "type": "object",
        "properties": {"addresses": {"type": "array", "items": {"type": "string"}}},
        "required": ["addresses"],
        "additionalProperties": False,
    },
    output_schema={"type": "object", "properties": {"results": {"type": "array"}}, "required": ["results"]},
)
LOCK = Lock(
    requirements=("email-validator>=2",),
    packages=(
        LockedPackage(name="dnspython", version="2.8.0", hashes=("sha256:" + "ab" * 32,), size=331_094),
        LockedPackage(
            name="email-validator",
            version="2.3.0",
            hashes=("sha256:" + "cd" * 32,),
            uploaded="2025-08-26T13:09:05Z",
            size=35_604,
            direct=True,
        ),
        LockedPackage(name="idna", version="3.11", hashes=("sha256:" + "ef" * 32,), size=71_008),
    ),
    python="3.11",
    platform="x86_64-manylinux_2_36",
)
DIGEST = build_digest(DRAFT, LOCK)
LIBRARY = (
    ToolCard(
        name=e.ToolName("csv_join"),
        version=2,
        description="Join two CSV texts on a column.",
        digest=e.BuildDigest("1a" * 32),
        state="trusted",
        runs=14,
    ),
    ToolCard(
        name=e.ToolName("parse_dates"),
        version=1,
        description="Parse dates in many formats to ISO 8601.",
        digest=e.BuildDigest("2b" * 32),
        state="provisional",
        requirements=("python-dateutil>=2.9",),
        runs=3,
        failures=1,
    ),
    ToolCard(
        name=e.ToolName("roll_dice"),
        version=1,
        description="Roll dice with any number of sides.",
        digest=e.BuildDigest("3c" * 32),
        state="trusted",
        runs=5,
    ),
)
STATUS = SandboxStatus(
    available=True,
    engine="podman 5.4.2, crun 1.21, rootless",
    image="localhost/alita-base:3.12",
    image_digest="sha256:" + "9f" * 32,
    image_origin="pulled",
    enforcement=(
        Enforcement(resource="memory", mechanism="cgroup v2 memory.max"),
        Enforcement(resource="network", mechanism="network namespace without interfaces"),
    ),
)


class Tape:
    """Writes envelopes with gapless numbers and a clock that moves on by half a second."""

    def __init__(self, session_id: str = "20261120-093000-demo") -> None:
        self.session_id = session_id
        self.envelopes: list[Envelope] = []
        self.step = 0
        self._seq = 0

    def add(self, event: e.SessionEvent, span: str = "") -> Envelope:
        """Append one event, durable or transient."""
        durable = not isinstance(event, e.Transient)
        self._seq += durable
        envelope = Envelope(
            seq=self._seq if durable else None,
            session_id=self.session_id,
            at=START + timedelta(milliseconds=500 * len(self.envelopes)),
            step=self.step,
            span=span,
            event=event,
        )
        self.envelopes.append(envelope)
        return envelope

    def turn(self, action: e.ActionName, arguments: dict[str, object], text: str = "") -> str:
        """A model reply with one action; returns the action's id."""
        self.step += 1
        action_id = f"a{self.step}"
        for word in text.split(" ") if text else ():
            self.add(
                e.ModelDelta(call_id=f"m{self.step}", role="orchestrator", channel="text", text=word + " ")
            )
        request = ToolRequest(call_id=action_id, name=action, arguments=arguments)
        self.add(
            e.ModelReplied(
                call_id=f"m{self.step}",
                role="orchestrator",
                model="openai:small",
                text=text,
                requests=(request,),
                stop="tool_calls",
                usage=Usage(input_tokens=900 + 40 * self.step, output_tokens=60),
                duration_ms=820,
            )
        )
        self.add(
            e.BudgetSpent(
                call_id=f"m{self.step}", cost_usd=0.0021, total_usd=0.0021 * self.step, limit_usd=0.5
            )
        )
        self.add(e.ActionChosen(action_id=action_id, action=action, arguments=arguments), span=action_id)
        return action_id


def opened(tape: Tape, *, library: tuple[ToolCard, ...] = LIBRARY, recorded: bool = False) -> None:
    """The head of every session."""
    tape.add(e.SessionOpened(model="openai:small", recorded=recorded, version="0.1.0"))
    tape.add(e.LibraryLoaded(tools=library))
    tape.add(e.SandboxChecked(status=STATUS))


def until_approval(tape: Tape) -> None:
    """From the task to the moment a person is asked."""
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="Create a tool to validate email addresses."))
    tape.add(e.MemoryRecalled(task_id=e.TaskId("t1")))
    tape.turn("plan", {"steps": ["look in the library", "research", "build", "use it"]}, "First a plan.")
    tape.add(
        e.PlanProposed(
            task_id=e.TaskId("t1"), steps=("look in the library", "research a package", "build", "use it")
        )
    )
    action = tape.turn(
        "find_tool", {"query": "validate email addresses"}, "The library may have this already."
    )
    misses = (
        NearMiss(
            name="parse_dates", version=1, score=0.21, description="Parse dates in many formats to ISO 8601."
        ),
        NearMiss(name="csv_join", version=2, score=0.08, description="Join two CSV texts on a column."),
    )
    tape.add(
        e.ToolSearched(action_id=action, query="validate email addresses", near_misses=misses), span=action
    )
    action = tape.turn(
        "search_web", {"query": "python email validation"}, "Nothing close. What do others use?"
    )
    found = (
        WebResult(
            title="email-validator · PyPI",
            url="https://pypi.org/project/email-validator/",
            snippet="A robust email syntax and deliverability validation library.",
        ),
    )
    tape.add(
        e.WebSearched(action_id=action, query="python email validation", provider="web", results=found),
        span=action,
    )
    action = tape.turn(
        "build_tool", {"name": DRAFT.name, "goal": DRAFT.description}, "A small tool on that library."
    )
    tape.add(
        e.BuildStarted(
            build_id=e.BuildId("b1"),
            action_id=action,
            name=DRAFT.name,
            goal=DRAFT.description,
            near_misses=misses,
            sources=(Source(url=found[0].url, title=found[0].title, excerpt=found[0].snippet),),
        ),
        span="b1",
    )
    tape.add(e.ModelDelta(call_id="s1", role="toolsmith", channel="arguments", text='{"name": "validate_'))
    tape.add(
        e.ModelReplied(
            call_id="s1",
            role="toolsmith",
            model="openai:small",
            stop="tool_calls",
            usage=Usage(input_tokens=1900, output_tokens=640),
            duration_ms=6200,
        )
    )
    tape.add(
        e.BuildDrafted(
            build_id=e.BuildId("b1"),
            attempt=1,
            author="model",
            model="openai:small",
            draft=DRAFT,
            digest=DRAFT.digest,
        ),
        span="b1",
    )
    note = Finding(severity="info", rule="ast/import", text="imports email_validator (declared)", line=9)
    tape.add(
        e.BuildReviewed(
            build_id=e.BuildId("b1"),
            attempt=1,
            digest=DRAFT.digest,
            findings=(note,),
            imports=("email_validator", "json", "sys"),
        ),
        span="b1",
    )
    tape.add(e.Progressed(work="Installing 3 packages", done=2, total=3, detail="dnspython 2.8.0"))
    tape.add(e.RequirementsLocked(build_id=e.BuildId("b1"), attempt=1, lock=LOCK), span="b1")
    tape.add(e.OutputChunk(run_id="b1", title="self-tests", stream="stdout", text="3 tests\n"))
    cases = tuple(
        TestCase(name=name, passed=True, duration_ms=3.1)
        for name in ("test_accepts_a_plain_address", "test_rejects_a_missing_at_sign", "test_keeps_the_order")
    )
    report = RunReport(
        status="ok",
        exit_code=0,
        stdout="3 tests\n",
        duration_ms=412,
        peak_memory_bytes=31_000_000,
        cases=cases,
    )
    tape.add(
        e.BuildTested(
            build_id=e.BuildId("b1"), attempt=1, digest=DRAFT.digest, passed=True, reports=(report,) * 3
        ),
        span="b1",
    )
    tape.add(
        e.ApprovalRequested(
            approval_id="p1", build_id=e.BuildId("b1"), digest=DIGEST, name=DRAFT.name, version=1
        ),
        span="b1",
    )


def approved_and_used(tape: Tape) -> None:
    """From the verdict to the answer, and a second task that reuses the tool."""
    tape.add(
        e.ApprovalResolved(
            approval_id="p1",
            build_id=e.BuildId("b1"),
            digest=DIGEST,
            verdict=e.Verdict(decision="approved", by="ada", seen_ms=41_000, scrolled_to_end=True),
        ),
        span="b1",
    )
    card = ToolCard(
        name=DRAFT.name,
        version=1,
        description=DRAFT.description,
        digest=DIGEST,
        state="provisional",
        requirements=DRAFT.requirements,
    )
    tape.add(e.ToolRegistered(build_id=e.BuildId("b1"), approval_id="p1", card=card), span="b1")
    tape.turn("answer", {"text": "The tool validate_email_addresses is in the library."}, "Done.")
    tape.add(
        e.TaskFinished(
            task_id=e.TaskId("t1"),
            outcome="answered",
            answer="The tool validate_email_addresses is in the library.",
        )
    )
    memory = MemoryItem(
        item_id="e1",
        memory="episodic",
        text="Built validate_email_addresses with email-validator.",
        source_session=tape.session_id,
        source_seq=1,
    )
    tape.add(e.MemoryWritten(item=memory))
    tape.add(
        e.TaskSubmitted(
            task_id=e.TaskId("t2"), text="Are these addresses valid: ada@example.org, ada.example.org?"
        )
    )
    tape.add(e.MemoryRecalled(task_id=e.TaskId("t2"), items=(memory,)))
    action = tape.turn("find_tool", {"query": "validate email addresses"})
    tape.add(
        e.ToolSearched(
            action_id=action, query="validate email addresses", hits=(SearchHit(card=card, score=0.93),)
        ),
        span=action,
    )
    arguments = {"addresses": ["ada@example.org", "ada.example.org"]}
    action = tape.turn("run_tool", {"name": DRAFT.name, "arguments": arguments}, "That is the tool.")
    tape.add(
        e.ToolCalled(
            call_id=e.CallId("c1"),
            action_id=action,
            name=DRAFT.name,
            version=1,
            digest=DIGEST,
            arguments=arguments,
        ),
        span="c1",
    )
    tape.add(e.OutputChunk(run_id="c1", title=DRAFT.name, stream="stderr", text="checking 2 addresses\n"))
    result = {
        "results": [
            {"address": "ada@example.org", "valid": True, "normalized": "ada@example.org"},
            {"address": "ada.example.org", "valid": False, "reason": "An email address must have an @-sign."},
        ]
    }
    tape.add(
        e.ToolReturned(
            call_id=e.CallId("c1"),
            report=RunReport(
                status="ok",
                exit_code=0,
                result=result,
                stderr="checking 2 addresses\n",
                duration_ms=187,
                peak_memory_bytes=24_000_000,
            ),
        ),
        span="c1",
    )
    text = "ada@example.org is valid. ada.example.org is not: an email address must have an @-sign."
    tape.turn("answer", {"text": text}, text)
    tape.add(e.TaskFinished(task_id=e.TaskId("t2"), outcome="answered", answer=text))


def walkthrough(*, recorded: bool = False) -> list[Envelope]:
    """A whole lawful session: gap, build, approval, registration, reuse."""
    tape = Tape()
    opened(tape, recorded=recorded)
    until_approval(tape)
    approved_and_used(tape)
    tape.add(e.SessionClosed())
    return tape.envelopes


def waiting() -> list[Envelope]:
    """The same session up to the moment a person is asked."""
    tape = Tape()
    opened(tape)
    until_approval(tape)
    return tape.envelopes
