"""The outcomes of a task's tool runs and searches, and the person's feedback; stored beside the library's tools.

Derived from the record alone, so repeating it after a crash changes nothing. A run counts as accepted if its task was
answered and part of its result is in the answer, or went into a later call.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from alita_tui import events as e
from alita_tui.agent.feedback import feedback_of, memory_ratings
from alita_tui.events import Json, RunOutcome, Showing, Value, as_json
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import GiveFeedback
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import UsageError
from alita_tui.spine.feedback import valid_ratings
from alita_tui.spine.history import History, of, of_kind
from alita_tui.spine.history import newest as newest_of
from alita_tui.spine.ports.library import Library
from alita_tui.spine.ports.memory import Memory
from alita_tui.spine.ranking import words
from alita_tui.spine.refusals import refused_input
from alita_tui.spine.text import one_line

_KINDS = (
    e.TaskSubmitted, e.TaskFinished, e.ToolSearched, e.ToolCalled, e.ToolReturned, e.ToolFailed, e.ToolRegistered,
    e.FeedbackGiven, e.BrokerAnswered,
)  # fmt: skip
_NOT_ITS_FAULT: tuple[e.FailureReason, ...] = ("interrupted", "sandbox")
_SCALARS = 200
"""Most values of a result that are searched for in an answer."""
_SHORTEST = 3
"""Shortest text of a result, in characters, whose appearance in an answer is evidence."""
_FIGURE = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w]|\.\d)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CORRECTING = re.compile(
    r"\W*(?:(?:no|nein)(?:[,!:;–—]|\.(?!\s*\d)|\s*-(?!\w)|\s+[–—])"
    r"|(?:(?:that|this|it|the answer|your answer)(?:['’]s| is| was)"
    r" (?:wrong|incorrect|not (?:right|correct|true|what i))"
    r"|(?:that|it)['’]s not it|not what i|not (?:right|correct|true)(?=\s*(?:[,.!:;–—]|$))|nope|wrong|incorrect|falsch"
    r"|das (?:ist|war) (?:falsch|nicht (?:ganz )?(?:richtig|korrekt|wahr|was ich))|das stimmt (?:so )?nicht"
    r")\b(?!-\w))",
    re.IGNORECASE,
)
"""Matches the start of a message that corrects the previous answer."""


class ToolOutcomes(Value, frozen=True):
    """The outcomes that one task adds to a version of a tool."""

    name: str
    version: int
    outcomes: tuple[RunOutcome, ...] = ()
    showings: tuple[Showing, ...] = ()


class Outcomes:
    """Stores outcomes and feedback, unless the session only tries something out."""

    def __init__(self, bus: Bus, library: Library, memory: Memory, *, teaches: bool) -> None:
        self._bus = bus
        self._memory = memory
        self._library = library
        self._teaches = teaches

    async def settle(self, task_id: e.TaskId) -> None:
        """Store the outcomes of a task's runs and searches. Raise StoreError."""
        if not self._teaches:
            return
        for outcomes in await asyncio.to_thread(outcomes_of, self._bus.history, task_id):
            await self._bus.save_with(
                self._library.note, outcomes.name, outcomes.version, outcomes.outcomes, outcomes.showings
            )

    async def feedback(self, command: GiveFeedback) -> None:
        """Record the person's feedback on an answer or a run, and store it. Raise StoreError."""
        try:
            feedback = await asyncio.to_thread(feedback_of, self._bus.history, command)
        except UsageError as error:
            await self._bus.emit(e.NoticeRaised(level="info", text=error.message, hint=error.hint))
            return
        await self._bus.emit(feedback)
        await self.settle(feedback.task_id)
        await self.weigh(feedback.task_id)

    async def weigh(self, task_id: e.TaskId) -> None:
        """Store the person's feedback on a task with each memory item that the task taught. Raise StoreError."""
        if not self._teaches:
            return
        for rating in await asyncio.to_thread(memory_ratings, self._bus.history, task_id):
            await self._bus.save_with(self._memory.rate, rating.item_id, rating.source, rating.rating)

    async def corrected(self, text: str) -> None:
        """Take a new task that begins by correcting the answer before as feedback on it. Raise StoreError."""
        if not _CORRECTING.match(text):
            return
        for envelope in self._bus.history.newest(e.TaskFinished, e.FeedbackGiven):
            if isinstance(envelope.event, e.TaskFinished) and envelope.event.outcome == "answered":
                task_id = envelope.event.task_id
                await self._bus.emit(
                    e.FeedbackGiven(task_id=task_id, rating="down", text=text[:500], by="correction")
                )
                await self.settle(task_id)
                await self.weigh(task_id)
            return  # only the last answer, and only if the person has not rated it


def outcomes_of(history: Sequence[Envelope], task_id: e.TaskId) -> tuple[ToolOutcomes, ...]:
    """Return the outcomes of the tools that one task ran or was shown."""
    course = _Course(history, task_id)
    outcomes: defaultdict[tuple[str, int], list[RunOutcome]] = defaultdict(list)
    showings: defaultdict[tuple[str, int], list[Showing]] = defaultdict(list)
    for outcome, tool in (*course.runs(), *course.builds()):
        outcomes[tool].append(outcome)
    for showing, tool in course.needs():
        showings[tool].append(showing)
    return tuple(
        ToolOutcomes(
            name=name,
            version=version,
            outcomes=tuple(outcomes[name, version]),
            showings=tuple(showings[name, version]),
        )
        for name, version in {**outcomes, **showings}
    )


class _Course:
    """The events of one task, and the outcomes derived from them."""

    def __init__(self, history: Sequence[Envelope], task_id: e.TaskId) -> None:
        events = list(_of_task(history, task_id))
        self._events = events
        self._session = events[0].session_id if events else ""
        self._task = f"{self._session}/{task_id}"
        self._ended = next(of_kind(reversed(events), e.TaskFinished), None)
        self._calls = {call.call_id: call for call in of_kind(events, e.ToolCalled)}
        feedback = list(of_kind(events, e.FeedbackGiven))
        self._feedback = valid_ratings(feedback)
        self._ever_rated = {str(rating.call_id) for rating in feedback}
        self._taken_back = len(self._feedback) < len(feedback)
        self._accepted = self._answered_with()

        self._rated = self._accepted or frozenset(
            str(returned.call_id) for returned in of_kind(events, e.ToolReturned)
        )
        """The runs that a rating of the answer applies to."""

    def runs(self) -> Iterator[tuple[RunOutcome, tuple[str, int]]]:
        """Yield each run's outcome and its tool."""
        for envelope in self._events:
            event = envelope.event
            if not isinstance(event, e.ToolReturned | e.ToolFailed) or event.call_id not in self._calls:
                continue
            if isinstance(event, e.ToolFailed) and event.reason in _NOT_ITS_FAULT:
                continue
            call = self._calls[event.call_id]
            at = envelope.at.isoformat()
            outcome = RunOutcome(run=f"{self._session}/{call.call_id}", at=at, grade="ran", task=self._task)
            graded = self._graded(outcome, event)
            if graded.grade == "failed" and self._refused_input(event):
                if str(call.call_id) not in self._ever_rated:
                    continue
                graded = msgspec.structs.replace(graded, grade="ran", share=0.0)  # its rating was taken back
            yield graded, (call.name, call.version)

    def _refused_input(self, event: e.ToolReturned | e.ToolFailed) -> bool:
        requests = [
            request for request in of_kind(self._events, e.BrokerAnswered) if request.call_id == event.call_id
        ]
        return event.report is not None and refused_input(event.report, requests)

    def builds(self) -> Iterator[tuple[RunOutcome, tuple[str, int]]]:
        """Yield an outcome for each build that the person rated; with share 0 if the rating was taken back."""
        by_build = {feedback.build_id: feedback for feedback in self._feedback if feedback.build_id}
        ever = {feedback.build_id for feedback in of_kind(self._events, e.FeedbackGiven)}
        for envelope in self._events:
            event = envelope.event
            if not isinstance(event, e.ToolRegistered) or str(event.build_id) not in ever:
                continue
            rating = by_build.get(str(event.build_id))
            outcome = RunOutcome(
                run=f"{self._session}/{event.build_id}", at=envelope.at.isoformat(), task=self._task,
                grade=rating.rating if rating else "ran", share=1.0 if rating else 0.0,
                text=rating.remark if rating else "", undone=rating is None,
            )  # fmt: skip
            yield outcome, (event.card.name, event.card.version)

    def needs(self) -> Iterator[tuple[Showing, tuple[str, int]]]:
        """Yield each need that a tool was found for, once the task has ended."""
        if self._ended is None or self._ended.outcome in ("parked", "budget", "interrupted"):
            return
        for place, envelope in enumerate(self._events):
            if not isinstance(envelope.event, e.ToolSearched):
                continue
            later = self._events[place + 1 :]
            used = {call.name for call in of_kind(later, e.ToolCalled)}
            built = [str(registered.card.name) for registered in of_kind(later, e.ToolRegistered)]
            accepted = {
                call.name
                for call in self._calls.values()
                if call.call_id in self._accepted and not self._wrong
            }
            tools = {(hit.card.name, hit.card.version): True for hit in envelope.event.hits}
            for miss in envelope.event.near_misses:
                tools.setdefault((e.ToolName(miss.name), miss.version), False)
            names = {name for name, _ in tools}
            # used for something that was not accepted, which is no evidence either way
            prior = envelope.event.prior if names & accepted or not names & used else 0.0
            for (name, version), was_hit in tools.items():
                showing = Showing(
                    need=f"{self._session}/{envelope.event.action_id}",
                    query=envelope.event.query,
                    at=envelope.at.isoformat(),
                    shown=was_hit,
                    used=name in used,
                    accepted=name in accepted,
                    prior=prior if (name, version) == next(iter(tools)) else 0.0,
                    met=bool(names & accepted),
                    instead="" if name in used else next((new for new in built if new != name), ""),
                )
                yield showing, (name, version)

    def _graded(self, outcome: RunOutcome, event: e.ToolReturned | e.ToolFailed) -> RunOutcome:
        call_id = event.call_id
        grade: e.Grade = "ran"
        if isinstance(event, e.ToolFailed):
            grade = "failed"
        elif event.misfit:
            grade = "misfit"
        elif call_id in self._accepted:
            grade = "accepted"
        share, text = 1.0, ""
        for feedback in self._feedback:  # the newest counts
            if feedback.call_id == call_id:
                grade, share, text = feedback.rating, 1.0, feedback.remark
            elif feedback.answer and call_id in self._rated:
                grade, share, text = feedback.rating, 1 / len(self._rated), feedback.remark
        answered_part = self._answered_part(self._calls[call_id]) if grade in ("accepted", "up") else ""
        undone = self._taken_back and grade not in ("up", "down")
        return msgspec.structs.replace(
            outcome, grade=grade, share=share, text=text, asked=answered_part, undone=undone
        )

    @property
    def _wrong(self) -> bool:
        """True if the person found the answer wrong."""
        ratings = [feedback.rating for feedback in self._feedback if feedback.answer]
        return ratings[-1:] == ["down"]

    def _answered_part(self, call: e.ToolCalled) -> str:
        """Return the part of the task that a call answers; nothing for one that a tool made."""
        if call.depth or call.caller:
            return ""
        task, about = "", str(call.name).replace("_", " ")
        for envelope in self._events:
            match envelope.event:
                case e.TaskSubmitted(text=text):
                    task = text
                case e.ToolSearched(query=query, hits=hits, near_misses=near):
                    descriptions = {hit.card.name: hit.card.description for hit in hits}
                    descriptions |= {e.ToolName(miss.name): miss.description for miss in near}
                    about += f" {query} {descriptions[call.name]}" if call.name in descriptions else ""
                case _:
                    pass
        return relevant(task, about)

    def _answered_with(self) -> frozenset[str]:
        """Return the calls whose results the answer rests on."""
        if self._ended is None or self._ended.outcome != "answered":
            return frozenset()
        returned = [
            (place, envelope.event)
            for place, envelope in enumerate(self._events)
            if isinstance(envelope.event, e.ToolReturned) and envelope.event.call_id in self._calls
        ]
        accepted: set[str] = set()
        for place, event in returned:
            texts = [self._ended.answer.casefold()]
            texts += [_text(call.arguments) for call in of_kind(self._events[place + 1 :], e.ToolCalled)]
            if event.report.files or event.report.result_handle or _flows(event.report.result, texts):
                accepted.add(str(event.call_id))
        for call_id in tuple(accepted):  # a tool called by an accepted one contributed
            accepted |= {str(call.call_id) for call in self._calls.values() if call.caller == call_id}
        return frozenset(accepted)


def _of_task(history: Sequence[Envelope], task_id: e.TaskId) -> Iterator[Envelope]:
    """Yield the events of one task; in older files an event belongs to the task that was submitted last."""
    newest = e.NO_TASK
    begun = next(
        (
            envelope.seq or 0
            for envelope in newest_of(history, e.TaskSubmitted)
            if isinstance(envelope.event, e.TaskSubmitted) and envelope.event.task_id == task_id
        ),
        0,
    )
    since = history.of(*_KINDS, since=begun - 1) if isinstance(history, History) and begun else None
    for envelope in since or of(history, *_KINDS):  # a long session is read from the start of the task only
        match envelope.event:
            case e.TaskSubmitted(task_id=newest):
                owner = newest
            case e.FeedbackGiven(task_id=owner) | e.TaskFinished(task_id=owner):
                pass
            case _:
                owner = envelope.task_id or newest
        if owner == task_id:
            yield envelope


def _flows(result: Json, texts: list[str]) -> bool:
    """Return True if part of a result is in one of the texts, or if no part of it could be."""
    scalars = [text for text in _scalars(result) if len(text) >= _SHORTEST or _FIGURE.fullmatch(text)]
    if not scalars:
        return True
    all_texts = "\n".join(texts)
    figures = set(_FIGURE.findall(_THOUSANDS.sub("", all_texts)))
    return any(scalar in (figures if _FIGURE.fullmatch(scalar) else all_texts) for scalar in scalars)


def _scalars(value: Json) -> list[str]:
    """Return numbers and texts of a result as an answer would write them, the first ones only."""
    scalars: list[str] = []
    pending = [value]
    while pending and len(scalars) < _SCALARS:
        element = pending.pop(0)
        if isinstance(element, dict):
            pending += list(element.values())[:_SCALARS]
        elif isinstance(element, list):
            pending += element[:_SCALARS]
        elif isinstance(element, str):
            scalars.append(element.strip()[:200].casefold())
        elif isinstance(element, float):
            scalars += [f"{element:g}", f"{element:.2f}", f"{element:.1f}", str(round(element))]
        elif isinstance(element, int) and not isinstance(element, bool):
            scalars.append(str(element))
    return scalars


def _text(value: Json) -> str:
    return as_json(value).casefold()


_LONGEST_PART = 300
_BETWEEN_REQUESTS = re.compile(
    r"(?<=[.!?;])\s+|\n+|,?\s+(?:and|und)\s+then\s+|,\s*then\s+|,\s+(?:and|und)\s+"
    r"|\s+(?:after that|afterwards|finally)[,\s]+",
    re.IGNORECASE,
)
"""Matches the boundary between two requests."""
_FEWEST_WORDS = 2
"""Fewest meaningful words that make a part a request of its own."""


def relevant(task: str, about: str) -> str:
    """Return the part of a task that shares most words with a text; the whole task if no part shares any."""
    whole_task = str(one_line(task, _LONGEST_PART))
    about_words = {form for form, _ in words(about)}
    parts = [
        part
        for part in _BETWEEN_REQUESTS.split(task[: 20 * _LONGEST_PART])
        if len(words(part)) >= _FEWEST_WORDS
    ]
    if len(parts) < 2:
        return whole_task
    shared = [len(about_words & {form for form, _ in words(part)}) for part in parts]
    if not max(shared):
        return whole_task
    return str(one_line(parts[shared.index(max(shared))], _LONGEST_PART))
