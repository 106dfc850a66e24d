"""What came of a task's tool runs and of its searches, and what the person says of it; kept with the library's tools.

Derived from the record alone, so doing it again after a crash changes nothing. A run counts as accepted where its task
was answered and something of its result stands in the answer, or went into a later call.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from alita_tui import events as e
from alita_tui.agent.clauses import relevant
from alita_tui.agent.rated import words_about_memory
from alita_tui.events import Json, RunOutcome, Showing, Value, as_json
from alita_tui.spine.bus import Bus
from alita_tui.spine.commands import GiveFeedback
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import UsageError
from alita_tui.spine.feedback import standing
from alita_tui.spine.history import History, of
from alita_tui.spine.history import newest as newest_of
from alita_tui.spine.ports.library import Library
from alita_tui.spine.ports.memory import Memory

_KINDS = (
    e.TaskSubmitted, e.TaskFinished, e.ToolSearched, e.ToolCalled, e.ToolReturned, e.ToolFailed, e.ToolRegistered,
    e.FeedbackGiven,
)  # fmt: skip
_OF_BUILDS = (
    e.BuildStarted, e.BuildDrafted, e.BuildReviewed, e.BuildTested, e.GateChecked, e.ApprovalRequested,
    e.ApprovalResolved, e.ToolRegistered,
)  # fmt: skip
"""A rating of any of these is one of the build."""
_NOT_ITS_FAULT: tuple[e.FailureReason, ...] = ("interrupted", "sandbox")
_SCALARS = 200
"""Values of a result that are looked for."""
_SHORTEST = 3
"""Characters from which a text of a result that stands in an answer says anything."""
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
"""How a person begins who corrects the answer before."""


class ToolOutcomes(Value, frozen=True):
    """What a task says of one version of a tool."""

    name: str
    version: int
    outcomes: tuple[RunOutcome, ...] = ()
    showings: tuple[Showing, ...] = ()


class Outcomes:
    """Keeps outcomes and feedback, unless the session only tries something out."""

    def __init__(self, bus: Bus, library: Library, memory: Memory, *, teaches: bool) -> None:
        self._bus = bus
        self._memory = memory
        self._library = library
        self._teaches = teaches

    async def settle(self, task_id: str) -> None:
        """Keep what came of a task's runs and searches. Raise StoreError."""
        if not self._teaches:
            return
        for one in await asyncio.to_thread(outcomes_of, self._bus.history, task_id):
            await self._bus.kept(self._library.note, one.name, one.version, one.outcomes, one.showings)

    async def feedback(self, command: GiveFeedback) -> None:
        """Record what the person says of an answer or a run, and keep it. Raise StoreError."""
        try:
            given = await asyncio.to_thread(rated, self._bus.history, command)
        except UsageError as error:
            await self._bus.emit(e.NoticeRaised(level="info", text=error.message, hint=error.hint))
            return
        await self._bus.emit(given)
        await self.settle(given.task_id)
        await self.weigh(given.task_id)

    async def weigh(self, task_id: str) -> None:
        """Keep what the person says of a task with what it taught, as far as that is written. Raise StoreError."""
        if not self._teaches:
            return
        for one in await asyncio.to_thread(words_about_memory, self._bus.history, task_id):
            await self._bus.kept(self._memory.rate, one.item_id, one.source, one.rating)

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
            return  # only the answer just before, and not one that the person rated


def rated(history: Sequence[Envelope], command: GiveFeedback) -> e.FeedbackGiven:
    """Return the feedback that a command is. Raise UsageError where it names neither an answer nor a run.

    Also where it takes back what nobody said.
    """
    if command.undo and not command.seq:
        return _taken_back(history, None)
    calls: dict[str, str] = {}
    task = ""
    ends = (e.ToolReturned, e.ToolFailed, e.TaskFinished, e.FeedbackGiven)
    for envelope in of(history, e.TaskSubmitted, e.ToolCalled, *ends, *_OF_BUILDS):
        match envelope.event:
            case e.TaskSubmitted(task_id=task_id):
                task = task_id
            case e.ToolCalled(call_id=call_id):
                calls[call_id] = envelope.task_id or task
            case _:
                pass
        if command.seq and envelope.seq == command.seq:
            found = _named(envelope.event, calls, envelope.task_id or task)
            if found is not None and found[2] and not _joined(history, found[2]):
                raise UsageError("No tool came of that build.", hint="Say why when you reject it.")
            if found is not None:
                return _taken_back(history, found) if command.undo else _said(command, *found)
    if command.seq:
        raise UsageError(
            f"Event {command.seq} is nothing that can be rated.",
            hint="Choose an answer, a result, a failure or a registered build.",
        )
    newest = [one.event for one in of(history, e.TaskFinished) if isinstance(one.event, e.TaskFinished)]
    if not newest:
        raise UsageError("No task of this session has ended yet.", hint="There is nothing to rate.")
    return _said(command, newest[-1].task_id)


def _joined(history: Sequence[Envelope], build_id: str) -> bool:
    registered = (one.event for one in of(history, e.ToolRegistered))
    return any(isinstance(one, e.ToolRegistered) and one.build_id == build_id for one in registered)


def _said(command: GiveFeedback, task_id: str, call_id: str = "", build_id: str = "") -> e.FeedbackGiven:
    return e.FeedbackGiven(
        task_id=task_id,
        call_id=call_id,
        build_id=build_id,
        rating=command.rating,
        text=command.text.strip(),
        expected=command.expected.strip(),
    )


def _taken_back(history: Sequence[Envelope], target: tuple[str, str, str] | None) -> e.FeedbackGiven:
    """Return what takes back the newest rating of a target, of anything for None. Raise UsageError for none."""
    given = [one.event for one in of(history, e.FeedbackGiven) if isinstance(one.event, e.FeedbackGiven)]
    for one in reversed(standing(given)):
        if target in (None, one.target):
            return msgspec.structs.replace(one, text="", expected="", by="person", undone=True)
    raise UsageError("Nothing was said of it.", hint="There is nothing to undo.")


def _named(event: e.SessionEvent, calls: dict[str, str], task: str) -> tuple[str, str, str] | None:
    match event:
        case e.TaskFinished(task_id=task_id):
            return task_id, "", ""
        case e.FeedbackGiven():  # the row of what was said stands for its own
            return event.target
        case _ if isinstance(event, _OF_BUILDS) and task:
            return task, "", str(event.build_id)
        case e.ToolReturned(call_id=call_id) | e.ToolFailed(call_id=call_id) if calls.get(call_id):
            return calls[call_id], call_id, ""
        case _:
            return None


def outcomes_of(history: Sequence[Envelope], task_id: str) -> tuple[ToolOutcomes, ...]:
    """Return what one task says of the tools that it ran or was shown."""
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
    """How a task went."""

    def __init__(self, history: Sequence[Envelope], task_id: str) -> None:
        found = list(_of_task(history, task_id))
        self._events = found
        self._session = found[0].session_id if found else ""
        self._task = f"{self._session}/{task_id}"
        self._ended = next(
            (one.event for one in reversed(found) if isinstance(one.event, e.TaskFinished)), None
        )
        self._calls = {one.event.call_id: one.event for one in found if isinstance(one.event, e.ToolCalled)}
        said = [one.event for one in found if isinstance(one.event, e.FeedbackGiven)]
        self._feedback = standing(said)
        self._taken_back = len(self._feedback) < len(said)
        self._accepted = self._answered_with()

        self._rated = self._accepted or frozenset(
            str(one.event.call_id) for one in found if isinstance(one.event, e.ToolReturned)
        )
        """The runs that a word about the answer is about."""

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
            yield self._graded(outcome, event), (call.name, call.version)

    def builds(self) -> Iterator[tuple[RunOutcome, tuple[str, int]]]:
        """Yield what the person said of each build that they rated, and of one taken back that it counts nothing."""
        said = {one.build_id: one for one in self._feedback if one.build_id}
        ever = {one.event.build_id for one in self._events if isinstance(one.event, e.FeedbackGiven)}
        for envelope in self._events:
            event = envelope.event
            if not isinstance(event, e.ToolRegistered) or str(event.build_id) not in ever:
                continue
            word = said.get(str(event.build_id))
            outcome = RunOutcome(
                run=f"{self._session}/{event.build_id}", at=envelope.at.isoformat(), task=self._task,
                grade=word.rating if word else "ran", share=1.0 if word else 0.0,
                text=word.text or word.expected if word else "", undone=word is None,
            )  # fmt: skip
            yield outcome, (event.card.name, event.card.version)

    def needs(self) -> Iterator[tuple[Showing, tuple[str, int]]]:
        """Yield each need that a tool was found for, once the task has ended."""
        if self._ended is None or self._ended.outcome in ("parked", "budget", "interrupted"):
            return
        for place, envelope in enumerate(self._events):
            if not isinstance(envelope.event, e.ToolSearched):
                continue
            later = [one.event for one in self._events[place + 1 :]]
            used = {one.name for one in later if isinstance(one, e.ToolCalled)}
            built = [str(one.card.name) for one in later if isinstance(one, e.ToolRegistered)]
            accepted = {
                call.name
                for call in self._calls.values()
                if call.call_id in self._accepted and not self._wrong
            }
            found = {(hit.card.name, hit.card.version): True for hit in envelope.event.hits}
            for miss in envelope.event.near_misses:
                found.setdefault((e.ToolName(miss.name), miss.version), False)
            names = {name for name, _ in found}
            # used for something that was not accepted: that says neither
            prior = envelope.event.prior if names & accepted or not names & used else 0.0
            for (name, version), shown in found.items():
                showing = Showing(
                    need=f"{self._session}/{envelope.event.action_id}",
                    query=envelope.event.query,
                    at=envelope.at.isoformat(),
                    shown=shown,
                    used=name in used,
                    accepted=name in accepted,
                    prior=prior if (name, version) == next(iter(found)) else 0.0,
                    met=bool(names & accepted),
                    instead="" if name in used else next((one for one in built if one != name), ""),
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
        for said in self._feedback:  # the newest counts
            if said.call_id == call_id:
                grade, share, text = said.rating, 1.0, said.text
            elif said.answer and call_id in self._rated:
                grade, share, text = said.rating, 1 / len(self._rated), said.text
        asked = self._asked(self._calls[call_id]) if grade in ("accepted", "up") else ""
        undone = self._taken_back and grade not in ("up", "down")
        return msgspec.structs.replace(
            outcome, grade=grade, share=share, text=text, asked=asked, undone=undone
        )

    @property
    def _wrong(self) -> bool:
        """True if the person found the answer wrong."""
        said = [one.rating for one in self._feedback if one.answer]
        return said[-1:] == ["down"]

    def _asked(self, call: e.ToolCalled) -> str:
        """Return the part of the task that a call answers; nothing for one that a tool made."""
        if call.depth or call.caller:
            return ""
        task, about = "", str(call.name).replace("_", " ")
        for envelope in self._events:
            match envelope.event:
                case e.TaskSubmitted(text=text):
                    task = text
                case e.ToolSearched(query=query, hits=hits, near_misses=near):
                    told = {hit.card.name: hit.card.description for hit in hits}
                    told |= {e.ToolName(miss.name): miss.description for miss in near}
                    about += f" {query} {told[call.name]}" if call.name in told else ""
                case _:
                    pass
        return relevant(task, about)

    def _answered_with(self) -> frozenset[str]:
        """Return the calls whose results the answer rests on."""
        if self._ended is None or self._ended.outcome != "answered":
            return frozenset()
        returned = [
            (place, one.event)
            for place, one in enumerate(self._events)
            if isinstance(one.event, e.ToolReturned) and one.event.call_id in self._calls
        ]
        accepted: set[str] = set()
        for place, event in returned:
            later = (one.event for one in self._events[place + 1 :])
            texts = [self._ended.answer.casefold()]
            texts += [_text(one.arguments) for one in later if isinstance(one, e.ToolCalled)]
            if event.report.files or event.report.result_handle or _flows(event.report.result, texts):
                accepted.add(str(event.call_id))
        for call_id in tuple(accepted):  # a tool that was called by an accepted one had its part
            accepted |= {str(call.call_id) for call in self._calls.values() if call.caller == call_id}
        return frozenset(accepted)


def _of_task(history: Sequence[Envelope], task_id: str) -> Iterator[Envelope]:
    """Yield what bears on one task; an event of older files belongs to the task that was submitted last."""
    newest = ""
    begun = next(
        (
            one.seq or 0
            for one in newest_of(history, e.TaskSubmitted)
            if isinstance(one.event, e.TaskSubmitted) and one.event.task_id == task_id
        ),
        0,
    )
    since = history.of(*_KINDS, since=begun - 1) if isinstance(history, History) and begun else None
    for one in since or of(history, *_KINDS):  # a long session is read from where the task began
        match one.event:
            case e.TaskSubmitted(task_id=newest):
                owner = newest
            case e.FeedbackGiven(task_id=owner) | e.TaskFinished(task_id=owner):
                pass
            case _:
                owner = one.task_id or newest
        if owner == task_id:
            yield one


def _flows(result: Json, texts: list[str]) -> bool:
    """Return True if something of a result stands in one of the texts, or it holds nothing that could."""
    said = [text for text in _scalars(result) if len(text) >= _SHORTEST or _FIGURE.fullmatch(text)]
    if not said:
        return True
    whole = "\n".join(texts)
    figures = set(_FIGURE.findall(_THOUSANDS.sub("", whole)))
    return any(one in (figures if _FIGURE.fullmatch(one) else whole) for one in said)


def _scalars(value: Json) -> list[str]:
    """Return numbers and texts of a result as an answer would write them, the first ones only."""
    found: list[str] = []
    rest = [value]
    while rest and len(found) < _SCALARS:
        one = rest.pop(0)
        if isinstance(one, dict):
            rest += list(one.values())[:_SCALARS]
        elif isinstance(one, list):
            rest += one[:_SCALARS]
        elif isinstance(one, str):
            found.append(one.strip()[:200].casefold())
        elif isinstance(one, float):
            found += [f"{one:g}", f"{one:.2f}", f"{one:.1f}", str(round(one))]
        elif isinstance(one, int) and not isinstance(one, bool):
            found.append(str(one))
    return found


def _text(value: Json) -> str:
    return as_json(value).casefold()
