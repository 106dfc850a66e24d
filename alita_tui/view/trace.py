"""The rows of the trace for each event: none, one or a few."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import assert_never

import msgspec

from alita_tui import events as e
from alita_tui.events.build import CHECKS
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.ports.memory import sort_of
from alita_tui.spine.text import SafeText, counted, neutralise, one_line
from alita_tui.view import pages
from alita_tui.view.agents import agent_row, finding_words
from alita_tui.view.deferred_text import WORTH, DeferredText
from alita_tui.view.feedback import feedback_row
from alita_tui.view.model import RowKind, Tone, TraceRow
from alita_tui.view.nesting import card_key, nesting
from alita_tui.view.plan import offered, ticked, weighing
from alita_tui.view.queue import CHANGES, changed
from alita_tui.view.result_words import result_words
from alita_tui.view.servers import server_row
from alita_tui.view.statistics import estimated_title
from alita_tui.view.trace_words import (
    NOTED,
    brokered,
    chosen,
    lasted,
    line_count,
    numbers,
    page_logged,
    report_of,
    searched,
    size_of,
)
from alita_tui.view.verdict_words import DECISION, DECISION_TONE, scope_of

_MOST = 16
"""Maximum number of rows per event."""

_NUDGES: dict[str, str] = {
    "act": "The reply has no action; asked for one",
    "repeat": "It repeats itself; told so",
    "replan": "Nothing new came of it; asked for another plan",
    "repair": "A tool keeps failing; asked to repair it",
}
_OUTCOME: dict[str, tuple[str, Tone]] = {
    "answered": ("Done", "good"),
    "failed": ("Failed", "bad"),
    "interrupted": ("Interrupted", "warn"),
    "budget": ("Stopped at the budget", "warn"),
    "step_limit": ("Stopped at the step limit", "warn"),
    "stuck": ("Stopped: the agent was going in circles", "warn"),
    "rejected": ("Stopped because you rejected the build", "warn"),
    "sandbox": ("No sandbox", "bad"),
    "parked": ("Paused until you decide about a build", "wait"),
}


_BROKERED: dict[str, Tone] = {"served": "muted", "refused": "bad", "failed": "warn"}
_PAGE: dict[e.PageLevel, Tone] = {"debug": "muted", "info": "muted", "warning": "warn", "error": "bad"}


def _action(event: e.SessionEvent) -> str:
    """Return the action that an event begins; empty for all others."""
    match event:
        case e.ActionChosen(action=action):
            return action
        case e.AgentStarted():
            return "delegate"
        case _:
            return ""


def rows_for(envelope: Envelope) -> tuple[TraceRow, ...]:  # noqa: C901  # one match over all kinds
    """Return the rows that an envelope adds to the trace."""

    def row(
        kind: RowKind, title: str, detail: str = "", *, meta: str = "", tone: Tone = "normal"
    ) -> tuple[TraceRow, ...]:
        return (
            TraceRow(
                seq=envelope.seq or 0,
                at=envelope.at,
                step=envelope.step,
                span=envelope.span,
                kind=kind,
                title=one_line(nesting(envelope) + title, 400),
                text=neutralise(detail),
                meta=one_line(meta, 40),
                tone=tone,
                task=envelope.task_id,
                key=key,
                within=within,
                action=_action(event),
            ),
        )

    event = envelope.event
    key, within = card_key(event)
    match event:  # the most frequent kinds first: a long session is folded in one go
        case e.BudgetSpent() | e.BudgetReserved():
            return ()  # the status line says it
        case e.ModelReplied(role=role, text=text, thinking=thinking, duration_ms=duration):
            thought = text or thinking
            if not thought or role not in ("orchestrator", "specialist"):
                return ()
            full_text = f"{thinking}\n\n{text}" if text and thinking else thought
            return row("thought", thought, full_text, meta=lasted(duration))
        case e.ActionChosen(action="plan" | "answer" | "ask_user" | "delegate" | "report"):
            return ()  # what follows says it
        case e.ActionChosen(action=action, arguments=arguments):
            return row("action", chosen(action, arguments), e.as_json(arguments, indent=2))
        case e.GateChecked(result=gate):
            lines_text = "\n".join(f"{gate_row.label}: {gate_row.text}" for gate_row in gate.rows)
            inks: dict[str, Tone] = {"passed": "good", "failed": "warn", "skipped": "muted"}
            verb = "could not run" if gate.state == "skipped" else gate.state
            headline = f"{CHECKS[gate.gate].title} {verb}: {gate.summary}"
            return row("build", headline, lines_text, meta=lasted(gate.duration_ms), tone=inks[gate.state])
        case e.SessionResumed(restored=restored, note=note):
            restored_text = f"Restored {counted(restored, 'event')}"
            return row(
                "session",
                f"{restored_text}; {note}" if note else restored_text,
                note,
                tone="warn" if note else "muted",
            )
        case e.TaskQueued() | e.TaskEdited() | e.TaskMoved() | e.TaskCancelled() | e.QueueSwitched():
            return row(*changed(event), meta=CHANGES.get(type(event), ""))
        case e.TaskSubmitted(text=text, again=again, retried=retried):
            meta = "tried again" if retried else "taken up again" if again else ""
            return row("task", text, text, meta=meta)
        case e.PlansWeighed():
            return row("plan", *weighing(event), meta="weighed")
        case e.PlanProposed(steps=steps, recipe=recipe, status=status, ids=ids, by=by):
            lines = ticked(steps, status)
            numbered = "\n".join(f"{n}. {line}" for n, line in zip(ids or count(1), lines, strict=False))
            origin = "yours" if by == "person" else "from memory" if recipe else ""
            return row("plan", "; ".join(lines), numbered, meta=origin)
        case e.Steered(text=text):
            return row("task", text, nesting(envelope) + text, meta="steered")
        case e.QuestionAnswered(text=text):
            return row("task", text, text, meta="answered")
        case e.QuestionAsked(text=text, choices=choices):
            return row("question", offered(text, choices), offered(text, choices), tone="wait")
        case e.Interrupted(text=text):
            return row("notice", "Interrupted", text, tone="warn")
        case e.TaskFinished(outcome=outcome, answer=answer, reason=reason, hint=hint, ungrounded=bare):
            if outcome == "answered":
                warning = f"Not from a tool, a page, a file or you: {'; '.join(bare)}"
                marked = row("notice", warning, warning, tone="warn") if bare else ()
                headline, tone = finding_words(event.finding, event.faults)
                checked = row("notice", headline, headline, tone=tone) if headline else ()
                return (*row("answer", answer, answer, tone="good"), *checked, *marked)
            title, tone = _OUTCOME[outcome]
            details = "\n".join(part for part in (answer, hint) if part)
            return row("answer", f"{title}: {reason}" if reason else title, details, tone=tone)
        case e.NoticeRaised(level=level, text=text, hint=hint):
            tones: dict[str, Tone] = {"info": "muted", "warning": "warn", "error": "bad"}
            return row("error" if level == "error" else "notice", text, hint, tone=tones[level])
        case e.ModelFailed(text=text, hint=hint, retry_in=retry_in, error=error):
            title = text if retry_in is None else f"{text} Trying again in {retry_in:.0f} s."
            return row("error", title, hint, meta=error, tone="bad" if retry_in is None else "warn")
        case e.ProviderFailedOver(previous=previous, model=model, reason=reason):
            return row("notice", f"Switched from {previous} to {model}", reason, tone="warn")
        case e.ProviderChanged(state="disabled", model=model, reason=reason):
            return row("notice", f"{model} failed too often: off until you turn it on", reason, tone="bad")
        case e.ProviderChanged():
            return ()  # the status line says it
        case e.BudgetRaised(scope=scope, unit=unit, limit=limit):
            amount = f"${limit:.2f}" if unit == "usd" else f"{limit:,.0f} tokens"
            return row("notice", f"The {scope} may now cost {amount}", tone="muted")
        case e.ActionFailed(action=action, text=text, hint=hint):
            return row("error", f"{action}: {text}", hint, tone="bad")
        case e.ActionMalformed(text=text, problem=problem):
            return row("error", f"No valid action: {problem}", text, tone="warn")
        case e.AgentNudged(nudge=nudge, text=text):
            return row("notice", _NUDGES[nudge], text, tone="muted" if nudge == "act" else "warn")
        case e.ToolSearched():
            title, lines_text, meta = searched(event)
            sure = event.hits and event.band != "perhaps"
            return row("observation", title, lines_text, meta=meta, tone="good" if sure else "normal")
        case e.WebSearched(provider=provider, results=results, failed=failed):
            lines_text = "\n\n".join(f"{r.title}\n{r.url}\n{r.snippet}" for r in results)
            failures = "\n".join(f"{failure.provider} did not answer: {failure.reason}" for failure in failed)
            title = f"{counted(len(results), 'result')} from {provider}"
            if failed:
                title += f" instead of {', '.join(failure.provider for failure in failed)}"
            full_list = "\n\n".join(filter(None, (failures, lines_text)))
            return row("observation", title, full_list, tone="warn" if failed else "normal")
        case e.PageRead():
            return row("observation", pages.title(event), pages.body(event), meta=pages.extent(event))
        case e.LookedBack(seq=seq, text=text, handle=handle, part=part):
            subject = handle or (f"event {seq} again" if seq else "the list of files")
            return row("observation", f"Read {subject}{f', {part}' if part else ''}", text)
        case e.ArtefactAdded(origin="page"):
            return ()  # the row of its page says it
        case e.ArtefactAdded(artefact=file, origin=origin):
            source_word = {
                "person": "given",
                "tool": "made",
                "result": "a large result",
                "skill": "of a skill",
            }[origin]
            title = f"File {file.name}: {file.media_type}, {size_of(file.size)}"
            return row("file", title, f"{file.handle}\n{file.preview}".rstrip(), meta=source_word)
        case e.WaitEnded():
            return ()  # what it waited for says it
        case e.ContextTrimmed(masked=masked, shortened=cut, tokens_before=before, tokens_after=after):
            title = f"The model sees {counted(len(masked), 'observation')} as one line"
            title += f", {len(cut)} shortened" if cut else ""
            title += f", {counted(event.left_out, 'turn')} not at all" if event.left_out else ""
            lines_text = f"One line: events {numbers(masked)}\nHead and tail: events {numbers(cut)}"
            return row("notice", title, lines_text, meta=f"{before:,} → {after:,} tokens", tone="muted")
        case e.ContextSummarised(upto=upto, text=text, tokens_before=before, tokens_after=after):
            title = f"The model sees everything up to event {upto} as a summary"
            return row("notice", title, text, meta=f"{before:,} → {after:,} tokens", tone="muted")
        case e.ContextGiven(blocks=blocks):
            names = ", ".join(block.name for block in blocks)
            texts = "\n\n".join(f"── {block.source or block.name}\n{block.text}" for block in blocks)
            tokens = f"{sum(block.tokens for block in blocks):,} tokens"
            return row("notice", f"Given with the task: {names}", texts, meta=tokens, tone="muted")
        case e.ContextSwitched(block=block, on=on):
            return row(
                "notice", f"Context: {block} is {'on' if on else 'off'} for this session", tone="muted"
            )
        case e.BuildStarted(name=name, version=version, goal=goal, lessons=lessons, given=given):
            note = f"{counted(len(lessons), 'past rejection')} shaped this build" if lessons else ""
            return row("build", f"Building {name} v{version}", "\n".join((goal, *lessons, *given)), meta=note)
        case e.BuildDrafted(attempt=attempt, author=author, draft=draft, digest=digest):
            author_text = (
                "your edit" if author == "person" else "draft" if attempt == 1 else f"repair {attempt - 1}"
            )
            return row(
                "build",
                f"{draft.name}: {author_text}, {line_count(draft.code)} lines",
                draft.code,
                meta=digest[:12],
            )
        case e.BuildReviewed(findings=findings, passed=passed):
            lines_text = "\n".join(f"{f.severity:6} {f.rule} line {f.line}: {f.text}" for f in findings)
            summary = counted(len(findings), "finding") if findings else "no findings"
            title = f"Static review: {summary}" if passed else f"Static review failed: {summary}"
            return row("build", title, lines_text, tone="normal" if passed else "warn")
        case e.RequirementsLocked(lock=lock, problem=problem):
            if problem:
                return row("build", f"Requirements refused: {problem}", tone="warn")
            if not lock.packages:
                return ()
            lines_text = "\n".join(f"{p.name} {p.version}" for p in lock.packages)
            return row("build", f"Locked {counted(len(lock.packages), 'package')}", lines_text)
        case e.BuildTested(passed=passed, reports=reports, problem=problem):
            cases = reports[-1].cases if reports else ()
            passed_cases = sum(case.passed for case in cases)
            title = f"Self-tests: {passed_cases} of {len(cases)} passed" + (
                f" ({len(reports)} runs)" if passed else ""
            )
            title += f", granted {', '.join(event.granted.items)}" if event.granted.items else ""
            detail = "\n".join((problem, *(report_of(report) for report in reports))).strip()
            total = sum(report.duration_ms for report in reports)
            return row("build", title, detail, meta=lasted(total), tone="good" if passed else "warn")
        case e.BuildFailed(reason=reason):
            return row("error", f"Build failed: {reason}", tone="bad")
        case e.ApprovalRequested(name=name, version=version, digest=digest):
            return row(
                "approval", f"{name} v{version} is ready for your review", meta=digest[:12], tone="wait"
            )
        case e.ApprovalResolved(verdict=verdict, digest=digest):
            author_text = f" by {verdict.by} ({verdict.via})" if verdict.by else ""
            title = f"{DECISION[verdict.decision]}{scope_of(verdict)}{author_text}"
            title += f": {verdict.why}" if verdict.why else ""
            tone = DECISION_TONE.get(verdict.decision, "bad")
            return row("approval", title, verdict.why, meta=digest[:12], tone=tone)
        case e.BuildPutOff():
            return row("approval", "Decide later; the agent continues without it", tone="wait")
        case e.ToolRegistered(card=card, lasting=lasting):
            subject = "joined the library" if lasting == "library" else "approved for this task only"
            return row("build", f"{card.name} v{card.version} {subject}", card.description, tone="good")
        case e.ToolAliased(name=name, target=target):
            return row("build", f"{name} is now an alias of {target.label}", meta=target.digest[:12])
        case e.ToolCalled(name=name, version=version, arguments=arguments, alias=alias):
            suffix = f", called as {alias}" if alias else ""
            suffix += f", at the server {event.server}" if event.server else ""
            return row("run", f"{name} v{version}{suffix}", e.as_json(arguments, indent=2))
        case e.BrokerAnswered():
            return row("run", *brokered(event), meta=lasted(event.duration_ms), tone=_BROKERED[event.outcome])
        case e.PageLogged(level=level):
            return row("run", *page_logged(event), tone=_PAGE[level])
        case e.ToolReturned(report=report, misfit=misfit):
            misfit_note = f"It does not fit its output schema: {misfit}\n" if misfit else ""
            return row(
                "observation",
                result_words(report),
                misfit_note + report_of(report),
                meta="does not fit its schema" if misfit else lasted(report.duration_ms),
                tone="warn" if misfit else "good",
            )
        case e.ToolFailed(text=text, hint=hint, report=failed):
            detail = "\n".join(part for part in (hint, report_of(failed) if failed else "") if part)
            return row("error", text, detail, tone="bad")
        case e.ToolDemoted(name=name, version=version, state=state, reason=reason):
            headline = f"{name} v{version} is {state} now: {reason}"
            return row(
                "notice",
                headline,
                "Ask for it to be repaired: it is built anew, and asks again.",
                tone="warn",
            )
        case e.ToolSuspended(name=name, version=version, server=server, reason=reason):
            headline = f"{name} v{version} is suspended: the server {server} changed it"
            todo = f"It runs again once it is approved as it is now: alita mcp show {server}"
            return row("notice", headline, f"{reason}\n{todo}", tone="warn")
        case (
            e.ServerStarted()
            | e.ServerStopped()
            | e.ServerAsked()
            | e.ServerQuestion()
            | e.ServerQuestionEnded()
        ):
            kind, title, detail, meta, tone = server_row(event)
            return row(kind, title, detail, meta=meta, tone=tone)
        case e.MemoryRecalled(items=items):
            lines_text = "\n\n".join(
                f"{item.text}\n({item.memory}, matched: {item.why}, from {item.source_session}:{item.source_seq})"
                for item in items
            )
            return (
                row(
                    "memory",
                    f"Found {counted(len(items), 'note')} from earlier tasks",
                    lines_text,
                    tone="muted",
                )
                if items
                else ()
            )
        case e.MemoryWritten(item=item, closes=closes):
            headline = f"Noted for later: {item.text}"
            superseded = f"Holds no longer: {', '.join(closes)}" if closes else ""
            detail = "\n".join(filter(None, (item.text, superseded)))
            return row(
                "memory", headline, detail, meta="corrects" if closes else NOTED[sort_of(item)], tone="muted"
            )
        case e.MemoryForgotten(item_id=item_id, back=back):
            headline = "You took back that this was forgotten" if back else "You had this forgotten"
            return row("memory", f"{headline}: {item_id}", tone="muted")
        case e.AnswerVerified(returned=False):
            return ()  # the row of the answer says it
        case e.DirectorChosen() | e.AgentStarted() | e.AgentEnded() | e.AnswerVerified():
            kind, title, detail, meta, tone = agent_row(event)
            return row(kind, title, detail, meta=meta, tone=tone)
        case e.TaskEstimated():
            return row("notice", estimated_title(event), tone="muted")
        case e.FeedbackGiven(text=text):
            title, source, ink = feedback_row(event)
            return row("notice", title, text, meta=source, tone=ink)
        case e.UnknownEvent(raw=raw, reason=reason):
            return row("unknown", f"Damaged record: {reason}", raw, tone="muted")
        case e.SessionOpened(parent=str(parent), parent_seq=seq):
            return row("session", f"Forked from {parent} at event {seq}", tone="muted")
        case e.SessionOpened() | e.LibraryLoaded() | e.SandboxChecked() | e.SessionClosed():
            return ()
        case e.ModelDelta() | e.OutputChunk() | e.Progressed() | e.SavingStalled() | e.WorkHeld():
            return ()
        case _:
            assert_never(event)


def _is_long(row: TraceRow) -> bool:
    """Return True if a row's text is not held in memory; the limit for answers is higher."""
    return len(row.detail) > (16 * WORTH if row.kind == "answer" else WORTH)


def rows_with_deferred_text(read: Callable[[int], Envelope]) -> Callable[[Envelope], tuple[TraceRow, ...]]:
    """Return a `rows_for` whose long texts are read again when needed; `read` returns an event by its number."""

    def text_of(position: int) -> SafeText:
        seq, number = divmod(position, _MOST)
        return rows_for(read(seq))[number].detail

    def rows(envelope: Envelope) -> tuple[TraceRow, ...]:
        rows_made = rows_for(envelope)
        if envelope.seq is None or not any(map(_is_long, rows_made)):
            return rows_made
        return tuple(
            msgspec.structs.replace(row, text=DeferredText(text_of, envelope.seq * _MOST + number))
            if _is_long(row)
            else row
            for number, row in enumerate(rows_made)
        )

    return rows
