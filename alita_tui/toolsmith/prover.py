"""Gathers evidence about a draft: static review, requirements, its own tests in the sandbox, checks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from alita_tui import events as e
from alita_tui.events import Capabilities, Finding, GateResult, Lock, RunReport, ToolDraft, Value
from alita_tui.runtimes.languages import runtime_of
from alita_tui.runtimes.notes import Notes
from alita_tui.runtimes.scratch_files import granted as scratch_granted
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import IndexUnreachable, RequirementsError
from alita_tui.spine.ports.sandbox import Job, Limits, Sandbox
from alita_tui.spine.ports.stream import Progress
from alita_tui.spine.text import one_line
from alita_tui.state.build import BuildState
from alita_tui.toolsmith.checks.callers import BREAKS
from alita_tui.toolsmith.checks.case import Case, Check
from alita_tui.toolsmith.checks.replay import LEFT_OUT, STILL
from alita_tui.toolsmith.checks.runner import LONGEST, more_time, run_checks
from alita_tui.toolsmith.provenance import provenance
from alita_tui.toolsmith.review import review

_TEST_RUNS = 3
"""Repetitions of the self-tests: they expose a flaky tool."""
_NOTHING = Capabilities()
_MOST_LINTED = 10
"""Findings of a linter that a model is shown at once."""


Build = e.BuildStarted | BuildState
"""The build that a draft belongs to: as it began, or as an earlier process left it."""


class Proof(Value, frozen=True):
    """The evidence about a draft, in short."""

    problem: str = ""
    """The first problem, for the model; empty if the draft passes."""
    doubt: str = ""
    """A failed check of a draft that passes its tests, for the model: worth a repair, but no reason to refuse it."""
    lock: Lock = Lock()
    repairable: bool = True
    """False if the draft is not the problem."""


class Prover:
    """Gathers evidence about drafts and records what was observed."""

    def __init__(
        self,
        bus: Bus,
        sandbox: Sandbox,
        *,
        before: Sequence[Check],
        after: Sequence[Check],
        limits: Limits,
        progress: Progress,
    ) -> None:
        """`before` are the checks that must pass before any code of the draft runs; `after` follow its own tests."""
        self._bus = bus
        self._sandbox = sandbox
        self._before = before
        self._after = after
        self.limits = limits
        self._progress = progress

    async def prove(self, build: Build, attempt: int, draft: ToolDraft, *, by: str, why: str = "") -> Proof:
        """Put a draft through review, requirements, tests and checks; stop at the first problem.

        `by` names the model that wrote it; empty for a person. `why` is its reason for the language.
        """
        digest = draft.digest
        await self._bus.emit(
            e.BuildDrafted(
                build_id=build.build_id,
                attempt=attempt,
                author="model" if by else "person",
                model=by,
                draft=draft,
                digest=digest,
                language_reason=why if draft.language != "python" else "",
            ),
            span=build.build_id,
        )
        reviewed = await asyncio.to_thread(review, draft, provenance(self._bus.history), build.parent)
        findings = (*reviewed.findings, *await self._linted(draft)) if reviewed.passed else reviewed.findings
        await self._bus.emit(
            e.BuildReviewed(
                build_id=build.build_id,
                attempt=attempt,
                digest=digest,
                findings=findings,
                passed=reviewed.passed,
                imports=reviewed.imports,
            ),
            span=build.build_id,
        )
        if not reviewed.passed:
            blocking = (
                f"line {f.line}: {f.text}" if f.line else f.text for f in reviewed.findings if f.blocking
            )
            return Proof(problem="The static review failed: " + "; ".join(blocking))
        lock, refused, repairable = Lock(), "", True
        try:
            if requirements := (*draft.requirements, *runtime_of(draft.language).needs):
                lock = await self._sandbox.lock(
                    requirements, self._progress, browser=draft.capabilities.browser
                )
        except RequirementsError as error:
            refused, repairable = str(error), not isinstance(error, IndexUnreachable)
        await self._bus.emit(
            e.RequirementsLocked(build_id=build.build_id, attempt=attempt, lock=lock, problem=refused),
            span=build.build_id,
        )
        if refused:
            return Proof(problem=f"A requirement was refused: {refused}", repairable=repairable)
        case = Case(
            build_id=build.build_id,
            draft=draft,
            lock=lock,
            task=build.task,
            goal=build.goal,
            parent=build.parent,
            examples=build.examples,
        )
        stopped = [
            result
            for result in await self._run_checks(self._before, case, attempt)
            if result.state == "failed"
        ]
        if stopped:
            return Proof(problem=f"A requirement was refused: {stopped[0].summary}", lock=lock)
        if problem := await self.test(build, attempt, draft, lock):
            return Proof(problem=problem, lock=lock)
        results = await self._run_checks(self._after, case, attempt)
        doubts = [*_lint_doubts(draft, findings), *map(_doubt, filter(_doubted, results))]
        return Proof(doubt="\n".join(doubts), lock=lock)

    async def _linted(self, draft: ToolDraft) -> tuple[Finding, ...]:
        """Return the findings of the language's linter, which does not run the code; or why it could not run."""
        lint = runtime_of(draft.language).lint
        if lint is None:
            return ()
        notes = Notes()
        try:
            lock = await self._sandbox.lock(lint.needs, self._progress)
            job = Job(
                run_id="lint", module="lint", code=lint.script, kind="script", lock=lock,
                arguments={"text": lint.question(draft.code)}, limits=self.limits,
            )  # fmt: skip
            report = await self._sandbox.run(job, lambda *_: None, self._progress)
            if report.status != "ok":
                raise ValueError(report.reason)
            lint.note(notes, report.stdout)
        except (RequirementsError, ValueError) as error:
            notes.add("medium", "bandit", f"{lint.title} did not read it: {one_line(str(error), 160)}")
        return notes.sorted()

    async def _run_checks(self, checks: Sequence[Check], case: Case, attempt: int) -> tuple[GateResult, ...]:
        count = 0

        async def tell(result: GateResult) -> None:
            nonlocal count
            count += 1
            digest = case.draft.digest
            checked = e.GateChecked(build_id=case.build_id, attempt=attempt, digest=digest, result=result)
            await self._bus.emit(checked, span=case.build_id)
            if count < len(checks):
                self._progress(f"checks of {case.draft.name}", count, len(checks), result.summary)

        return await run_checks(checks, case, tell, longest=LONGEST * more_time(self.limits))

    async def test(
        self, build: Build, attempt: int, draft: ToolDraft, lock: Lock, granted: Capabilities = _NOTHING
    ) -> str:
        """Run a draft's own tests repeatedly; return why they do not pass, or an empty string.

        Drafts are granted nothing of the person's, unless the person asked for a test with `granted`. Tests that stand
        in for what is granted do so even then, and are recorded as granted nothing.
        """
        scratch = scratch_granted(draft)
        granted = _NOTHING if scratch else granted
        job = Job(
            run_id=build.build_id,
            module=draft.name,
            code=draft.code,
            language=draft.language,
            parameters=tuple(runtime_of(draft.language).parameters(draft)),
            tests=draft.tests,
            kind="test",
            lock=lock,
            limits=self.limits,
            **({"capabilities": granted} | scratch),
        )
        title = f"self-tests of {draft.name}"

        def show(stream: Literal["stdout", "stderr"], text: str) -> None:
            self._bus.hint(e.OutputChunk(run_id=build.build_id, title=title, stream=stream, text=text))

        reports: list[RunReport] = []
        problem = ""
        for _ in range(_TEST_RUNS):
            report = await self._sandbox.run(job, show, self._progress)
            reports.append(report)
            problem = _failure(report) or _difference(reports[0], report)
            if problem:
                break
        await self._bus.emit(
            e.BuildTested(
                build_id=build.build_id,
                attempt=attempt,
                digest=draft.digest,
                passed=not problem,
                reports=tuple(reports),
                problem=problem.splitlines()[0] if problem else "",
                granted=granted,
            ),
            span=build.build_id,
        )
        return problem


def _lint_doubts(draft: ToolDraft, findings: Sequence[Finding]) -> list[str]:
    """Return the warnings and errors of the language's linter for the model, which can repair most of them."""
    lint = runtime_of(draft.language).lint
    rule = lint.title if lint else ""
    return [
        f"{rule}, line {finding.line}: {finding.text}"
        for finding in findings
        if finding.rule == rule and finding.severity in ("medium", "high")
    ][:_MOST_LINTED]


def _doubted(result: GateResult) -> bool:
    """Return True if the model should repair this; twins and changed answers are for the person to judge.

    Hidden tests that its contract is too narrow or too vague for are worth a repair, though they count as not run.
    """
    if result.gate == "replay":
        return any(row.label.startswith((LEFT_OUT, STILL, BREAKS)) for row in result.rows)
    if result.gate == "hidden" and result.state == "skipped":
        return any(row.tone == "bad" for row in result.rows)  # its contract gives no test
    return result.state == "failed" and result.gate != "neighbours"


def _doubt(result: GateResult) -> str:
    """Return a failed check for the model; of hidden tests only one case, as the others have to stay hidden."""
    bad = [f"{row.label}: {row.text}" for row in result.rows if row.tone == "bad"]
    return f"{result.summary}\n" + "\n".join(bad[:1] if result.gate == "hidden" else bad[:10])


def _failure(report: RunReport) -> str:
    """Return why a test run does not pass, for the model; empty if it does."""
    failed = [case for case in report.cases if not case.passed]
    if report.status == "ok" and report.cases and not failed:
        return ""
    if failed:
        messages = "\n\n".join(f"{case.name}\n{case.message}" for case in failed[:5])
        return f"{len(failed)} of {len(report.cases)} self-tests fail.\n{messages}"
    limits = f" Limits hit: {', '.join(report.limits_hit)}." if report.limits_hit else ""
    if report.status == "ok":
        return "The tests module has no test."
    return f"The self-tests ended with status {report.status}.{limits}\n{report.error}\n{report.stderr[-2000:]}".strip()


def _difference(first: RunReport, repeated: RunReport) -> str:
    outcome = [(case.name, case.passed) for case in first.cases]
    if outcome != [(case.name, case.passed) for case in repeated.cases]:
        return "The self-tests do not give the same result each time; make tool and tests deterministic."
    return ""
