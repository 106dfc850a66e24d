"""Detects that a task goes in circles: similar actions without anything new, or a tool that keeps failing.

Everything is derived from the task's own events, so that a resumed task knows what was tried before. Novelty is
measured in words: the share of an observation's words that no earlier one of the task had.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

import msgspec

from alita_tui import events as e
from alita_tui.agent.tasks import TaskEnd
from alita_tui.events import Json, Value, as_json
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.history import of_kind
from alita_tui.spine.text import one_line

_LOOKUPS = frozenset(("find_tool", "search_web", "read_page", "look", "look_back"))
_NEW = 0.1
"""Share of an observation's words that have to be new."""
_ALIKE = {True: 0.3, False: 0.8}
"""Share of common words from which two actions are alike: for lookups, and for all others."""
_IDENTICAL, _SIMILAR, _OTHER = 1.0, 0.75, 0.25
"""How much a step without anything new counts: the same again, a similar one, a lookup in quite different words."""
_NUDGE, _REPLAN, _STUCK = 1.0, 3.0, 5.0
"""Number of such steps until the agent is nudged, asked for a new plan, and stopped."""
_FAILURES, _FAILED = 2, 5
"""Failures of one tool until the agent is asked to repair it, and stopped."""
_LONGEST = 200_000
"""Longest part of an action or observation that is compared, in characters."""
_WORDS = re.compile(r"\w+")

STUCK = "stuck-"
"""Prefix of the id of the question that is asked if no advice helps."""
STOP = "Stop here"
"""The answer to it that ends the task."""
_STUCK_HEAD, _STUCK_TAIL = "I am stuck: ", ". What should I do differently, or what is missing?"

_Step = list[tuple[str, Json]]
"""A step's actions with their arguments."""


class Advice(Value, frozen=True):
    """The advice that follows from the steps so far."""

    nudge: e.NudgeKind | None
    """None if the person is to be asked what to change."""
    text: str
    about: str = ""
    """The tool that has to be repaired."""


class ProgressWatch:
    """Follows the events of a task step by step."""

    def __init__(self, before: Sequence[Envelope] = (), earlier: Sequence[Envelope] = ()) -> None:
        """`before` are the events of the tasks that this one continues, `earlier` its own, both the oldest first.

        What earlier tasks tried counts as known, but their idle steps and failures are not counted.
        """
        self._seen_words: set[str] = set()
        self._actions: list[tuple[str, frozenset[str]]] = []
        self._idle = 0.0
        self._tried: list[_Step] = []
        """The steps since the last one that brought something new."""
        self._nudged: set[str] = set()
        """Kinds of advice given since then."""
        self._mentioned: set[str] = set()
        """Tools whose failures were mentioned and that have not worked since."""
        self._called: dict[str, str] = {}
        self._failures: Counter[str] = Counter()
        for _, step in groupby(before, lambda envelope: (envelope.task_id, envelope.step)):
            self.note([*step])
        self._idle, self._tried, self._nudged = 0.0, [], set()
        self._failures.clear()
        self._mentioned.clear()
        for _, own in groupby(earlier, lambda envelope: envelope.step):
            self.note([*own])

    def note(self, step: Iterable[Envelope]) -> Advice | None:
        """Read one step's events; return advice for the agent, if any."""
        step = [*step]
        actions = [(str(chosen.action), chosen.arguments) for chosen in of_kind(step, e.ActionChosen)]
        self._count_failures(step)
        person = any(map(_of_person, step))
        if actions or person:
            self._weigh(actions, observed(step), person=person)
        for envelope in step:
            if isinstance(envelope.event, e.AgentNudged):
                self._record_nudge(envelope.event.nudge, envelope.event.about)
        advice = self._failing() or self._circling()
        if advice and advice.nudge:
            self._record_nudge(advice.nudge, advice.about)
        return advice

    def _record_nudge(self, nudge: e.NudgeKind, about: str) -> None:
        self._nudged.add(nudge)
        self._mentioned |= {about} if about else set()

    def _weigh(self, actions: _Step, observation: str, *, person: bool) -> None:
        words = _words(observation)
        new = person or (bool(words) and len(words - self._seen_words) >= _NEW * len(words))
        self._seen_words |= words
        weighed = [
            action for action in actions if action[0] != "plan"
        ] or actions  # ticking off the plan along with another action is not a step
        counts = [self._repeats(name, _words(as_json(arguments))) for name, arguments in weighed]
        self._actions += [(name, _words(as_json(arguments))) for name, arguments in actions]
        if new:
            self._idle, self._tried, self._nudged = 0.0, [], set()
        else:
            self._idle += min(counts)
            self._tried.append(actions)

    def _repeats(self, name: str, words: frozenset[str]) -> float:
        """Return how much an action counts if it gave nothing new."""
        lookup = name in _LOOKUPS
        best = max(
            (_common(words, earlier) for earlier_name, earlier in self._actions if earlier_name == name),
            default=-1.0,
        )
        if best == 1.0:
            return _IDENTICAL
        if best >= _ALIKE[lookup]:
            return _SIMILAR
        return _OTHER if lookup and best >= 0 else 0.0

    def _count_failures(self, step: list[Envelope]) -> None:
        for envelope in step:
            if getattr(envelope.event, "depth", 0):
                continue  # the outer call reports how it went
            match envelope.event:
                case e.ToolCalled(call_id=call_id, name=name):
                    self._called[call_id] = name
                case e.ToolFailed(call_id=call_id, reason=reason) if reason not in (
                    "interrupted",
                    "sandbox",
                ):
                    failed = self._called.get(call_id, "")
                    self._failures[failed] += 1
                case e.ToolReturned(call_id=call_id):
                    self._recovered(self._called.get(call_id, ""))
                case e.ToolRegistered(card=card):
                    self._recovered(card.name)
                case e.QuestionAnswered():  # what to do about it
                    self._failures.clear()
                    self._mentioned.clear()
                case _:
                    pass

    def _recovered(self, name: str) -> None:
        self._failures.pop(name, None)
        self._mentioned.discard(name)

    def _failing(self) -> Advice | None:
        for name, count in self._failures.items():
            if count < _FAILURES:
                continue
            failing = (
                f"{name} failed {count} times in this task"  # its own words stay in the fence of its report
            )
            if count >= _FAILED:
                return Advice(nudge=None, text=failing)
            if name not in self._mentioned:
                instruction = (
                    "Do not run it again as it is. Repair it (build_tool under the same name, saying which input "
                    "fails and how), use another tool, or ask the person."
                )
                return Advice(nudge="repair", text=f"{failing}. {instruction}", about=name)
        return None

    def _circling(self) -> Advice | None:
        if self._idle < _NUDGE:
            return None
        stall = f"nothing new came of the last {len(self._tried)} steps. Tried: {_listed(self._tried)}"
        if self._idle >= _STUCK:
            return Advice(nudge=None, text=stall)
        stall = f"{stall[:1].upper()}{stall[1:]}."
        if self._idle >= _REPLAN and "replan" not in self._nudged:
            instruction = (
                "Call `plan` with another approach, ask the person with `ask_user`, or `answer` with what "
                "is known and what is missing."
            )
            return Advice(nudge="replan", text=f"{stall} {instruction}")
        if not {"repeat", "replan"} & self._nudged:
            return Advice(
                nudge="repeat", text=f"{stall} Do not repeat it in other words; try something else."
            )
        return None


def what_to_change(tried: str) -> str:
    """Return the question to the person about a task that goes in circles."""
    return f"{_STUCK_HEAD}{tried}{_STUCK_TAIL}"


def stopped(newest_first: Iterable[Envelope]) -> TaskEnd | None:
    """Return the end of a task that goes in circles and that the person stopped; None otherwise."""
    stop_id = ""
    for envelope in newest_first:
        match envelope.event:
            case e.QuestionAnswered(question_id=question_id, text=text) if question_id.startswith(STUCK):
                if text != STOP:
                    return None
                stop_id = question_id
            case e.QuestionAsked(question_id=question_id, text=text) if question_id == stop_id:
                return TaskEnd("stuck", text.removeprefix(_STUCK_HEAD).partition(_STUCK_TAIL)[0])
            case _:
                pass
    return None


def observed(events: Iterable[Envelope]) -> str:
    """Return a step's observations without what differs each time: ids, times, figures."""
    observations: list[str] = []
    for envelope in events:
        if getattr(envelope.event, "depth", 0):
            continue
        match envelope.event:
            case e.ToolSearched(hits=hits, near_misses=near):
                observations += [f"{hit.card.name} {hit.card.version}" for hit in hits]
                observations += [f"{miss.name} {miss.version}" for miss in near]
                observations.append("" if hits or near else "none")
            case e.WebSearched(results=results):
                observations += [f"{result.url} {result.title} {result.snippet}" for result in results]
                observations.append("" if results else "none")
            case e.PageRead(text=text) | e.LookedBack(text=text) | e.ActionFailed(text=text):
                observations.append(text)
            case e.ToolFailed(text=text):
                observations.append(text)
            case e.ToolReturned(report=report):
                observations.append(as_json(report.result))
            case e.ToolAliased(name=name):
                observations.append(name)
            case e.ToolRegistered(card=card):
                observations.append(f"{card.name} {card.digest}")
            case e.BuildFailed(reason=reason) | e.ApprovalResolved(verdict=e.Verdict(why=reason)):
                observations.append(reason)
            case e.ActionChosen() | e.BuildStarted() | e.ToolCalled() | e.WaitEnded() | e.QuestionAsked():
                pass
            case event if hasattr(event, "action_id"):  # the observation of any other action
                facts = msgspec.to_builtins(event)
                observations.append(
                    as_json({key: value for key, value in facts.items() if key not in ("kind", "action_id")})
                )
            case _:
                pass
    return "\n".join(observations)


def _of_person(envelope: Envelope) -> bool:
    """Return whether the person said or decided something, which is always new."""
    return isinstance(envelope.event, e.WaitEnded | e.QuestionAnswered | e.Steered | e.ApprovalResolved)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORDS.findall(text[:_LONGEST].lower()))


def _common(words: frozenset[str], earlier: frozenset[str]) -> float:
    """Return the share of words that two texts have in common; numbers have to be the same."""
    if words == earlier:
        return 1.0
    if {word for word in words if word.isdigit()} != {word for word in earlier if word.isdigit()}:
        return 0.0
    return min(len(words & earlier) / len(words | earlier), 0.99)


def _listed(steps: list[_Step]) -> str:
    """Return the attempts by action: `find_tool ×6 ("count primes", "prime counter", …)`."""
    tried: dict[str, list[str]] = {}
    for step in steps:
        for name, arguments in step:
            values = arguments.values() if isinstance(arguments, dict) else ()
            first_text = next((value for value in values if isinstance(value, str)), "")
            tried.setdefault(name, []).append(str(one_line(first_text, 60)))
    return "; ".join(f"{name} ×{len(texts)} ({', '.join(_quoted(texts))})" for name, texts in tried.items())


def _quoted(texts: list[str]) -> list[str]:
    different = list(dict.fromkeys(text for text in texts if text))
    return [*(f'"{text}"' for text in different[:3]), *(("…",) if len(different) > 3 else ())]
