"""The conversation that a model is shown, derived from the events alone.

Because it is derived, a resumed session goes on with exactly the conversation it had.
"""

from __future__ import annotations

from copy import copy

import msgspec

from alita_tui import events as e
from alita_tui.events import Json, RunReport, ToolRequest, Value
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.ports.models import Message
from alita_tui.spine.text import neutralise


class Entry(Value, frozen=True):
    """One turn, whole, and the event that it comes from."""

    seq: int
    message: Message
    name: str = ""
    """For an observation: the action that brought it."""


class Conversation:
    """The turns so far, carried on event by event."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._seq = 0
        self._open: dict[str, ToolRequest] = {}
        """Action id -> the request, for those without a result."""
        self._builds: dict[str, str] = {}
        """Build id -> the action that asked for it."""
        self._named: dict[str, str] = {}
        """Build id -> its tool's name."""
        self._put_off: set[str] = set()
        """Builds whose action has its result already: what comes of them is told as news."""
        self._calls: dict[str, str] = {}
        self._said: list[str] = []
        """What the person said while requests were open."""

    def hear(self, envelope: Envelope) -> None:  # noqa: C901  # one match over all kinds
        """Take in the next event."""
        event, self._seq = envelope.event, envelope.seq or self._seq
        match event:
            case e.TaskSubmitted(text=text, again=again, retried=retried):
                self._close_open("The task before ended without this.")
                why = (
                    "the person asks to try it again" if retried else "a build that it waited for was decided"
                )
                self._person(f"TASK{f' (taken up again: {why})' if again else ''}: {text}")
            case e.MemoryRecalled(items=items) if items:
                listed = "\n".join(f"- [{item.item_id}] {item.text}" for item in items)
                self._person(f"From earlier tasks, for what it is worth:\n{listed}")
            case e.Steered(text=text):
                self._person(f"The person adds: {text}")
            case e.ModelReplied(role="orchestrator", call_id=call_id, text=text, requests=requests):
                self._close_open("The run was interrupted before this was done.")
                self._add(Message(role="assistant", text=text, requests=requests))
                self._open = {f"{call_id}.{n}": request for n, request in enumerate(requests)}
            case e.ActionMalformed(problem=problem):
                said = f"No valid action: {problem} Choose one of the actions, with valid arguments."
                if self._open:
                    self._close_open(said)
                else:
                    self._person(said)
            case e.PlanProposed():
                self._result_of_first("The plan is noted. Go on.")
            case e.ToolSearched(action_id=action_id):
                self._result(action_id, _searched(event))
            case e.WebSearched(action_id=action_id, provider=provider, results=results):
                listed = "\n\n".join(f"{r.title}\n{r.url}\n{r.snippet}" for r in results)
                self._result(action_id, untrusted(f"search:{provider}", listed or "no results"))
            case e.PageRead(action_id=action_id, url=url, text=text):
                self._result(action_id, untrusted(url, text))
            case e.LookedBack(action_id=action_id, text=text):
                self._result(action_id, text)
            case e.ActionFailed(action_id=action_id, text=text, hint=hint):
                self._result(action_id, f"{text} {hint}".strip(), error=True)
            case e.QuestionAnswered(question_id=action_id, text=text):
                self._result(action_id, f"The person answered: {text}")
            case e.BuildStarted(build_id=build_id, action_id=action_id, name=name):
                self._builds[build_id], self._named[build_id] = action_id, name
            case e.ToolRegistered(build_id=build_id, card=card, lasting=lasting):
                where = "is in the library" if lasting == "library" else "may be used for this task only"
                self._built(
                    build_id, f"Approved: {card.name} v{card.version} {where}. Use run_tool to run it."
                )
            case e.ToolAliased(build_id=build_id, name=name, target=target):
                said = (
                    f"{name} is an alias of {target.label}, which gives the same answers; nothing was added."
                )
                self._built(build_id, f"{said} Use run_tool {target.name} to run it.")
            case e.BuildFailed(build_id=build_id, reason=reason):
                self._built(build_id, f"The build failed: {reason}", error=True)
            case e.ApprovalResolved(
                build_id=build_id, verdict=e.Verdict(decision="rejected" | "banned") as verdict
            ):
                said = f"The person {verdict.decision} this build: {verdict.why or 'no reason given'}"
                self._built(build_id, said, error=True)
            case e.BuildPutOff(build_id=build_id):
                self._built(build_id, "It has no verdict yet.")
                self._put_off.add(build_id)
                name = self._named.get(build_id, build_id)
                self._person(
                    f"The person puts off the build of {name} and decides later; it is no tool yet. "
                    "Go on with what does not need it; `wait` when nothing else is left to do."
                )
            case e.WaitEnded(action_id=action_id):
                self._result(action_id, "There is news.")
            case e.ToolCalled(call_id=call_id, action_id=action_id):
                self._calls[call_id] = action_id
            case e.ToolReturned(call_id=call_id, report=report):
                self._result(self._calls.get(call_id, ""), returned(report))
            case e.ToolFailed(call_id=call_id, text=text, hint=hint, report=failed):
                said = "\n".join(part for part in (text, hint, returned(failed) if failed else "") if part)
                self._result(self._calls.get(call_id, ""), said, error=True)
            case e.ToolDemoted(name=name, version=version, reason=reason):
                said = f"{name} v{version} is not relied on any more: {reason}. If it is needed, repair it:"
                self._person(f"{said} build_tool under the same name, saying what fails.")
            case e.Interrupted(text=text) if text:
                self._person(f"The person cut your reply off. It had said: {text}")
            case e.TaskFinished(outcome="parked" | "budget"):
                pass  # what is open gets its result when the task is taken up
            case e.TaskFinished(outcome=outcome, reason=reason):
                ended = "ok" if outcome == "answered" else f"The task ended: {outcome}. {reason}".strip()
                self._close_open(ended)
            case _:
                pass

    def entries(self) -> tuple[Entry, ...]:
        """The turns as they would be if nothing more came; what is open stays open."""
        whole = copy(self)
        whole._entries, whole._open, whole._said = [*self._entries], {**self._open}, [*self._said]
        whole._close_open("The run was interrupted before this was done.")
        return tuple(whole._entries)

    def _add(self, message: Message, name: str = "") -> None:
        self._entries.append(Entry(seq=self._seq, message=message, name=name))

    def _person(self, text: str) -> None:
        if self._open:
            self._said.append(text)
        else:
            self._add(Message(role="user", text=text))

    def _built(self, build_id: str, text: str, *, error: bool = False) -> None:
        if build_id in self._put_off:
            self._person(f"About the build of {self._named.get(build_id, build_id)}: {text}")
        else:
            self._result(self._builds.get(build_id, ""), text, error=error)

    def _result_of_first(self, text: str) -> None:
        if self._open:
            self._result(next(iter(self._open)), text)

    def _result(self, action_id: str, text: str, *, error: bool = False) -> None:
        request = self._open.pop(action_id, None)
        if request is None:
            return
        self._add(Message(role="tool", text=text, call_id=request.call_id, is_error=error), request.name)
        if not self._open:
            self._flush()

    def _close_open(self, text: str) -> None:
        for action_id in list(self._open):
            self._result(action_id, text)
        self._flush()

    def _flush(self) -> None:
        said, self._said = self._said, []
        for text in said:
            self._add(Message(role="user", text=text))


def untrusted(source: str, text: str) -> str:
    """Text from outside, fenced so that the prompt can say: data, never instructions."""
    body = neutralise(text).replace("</untrusted", "<\\/untrusted")
    return f'<untrusted source="{neutralise(source)[:300]}">\n{body}\n</untrusted>'


def returned(report: RunReport) -> str:
    """A run's report as the model reads it; what a tool prints is data too."""
    parts = [f"status: {report.status}"]
    if report.result is not None:
        plain = isinstance(report.result, bool | int | float)
        told = _json(report.result)
        parts.append(f"result: {told}" if plain else f"result:\n{untrusted('result', told)}")
    if report.limits_hit:
        parts.append(f"limits hit: {', '.join(report.limits_hit)}")
    parts += [
        f"{name}:\n{untrusted(name, text)}"
        for name, text in (("error", report.error), ("stdout", report.stdout), ("stderr", report.stderr))
        if text
    ]
    return "\n".join(parts)


def _searched(event: e.ToolSearched) -> str:
    if event.hits:
        listed = "\n".join(
            f"- {hit.card.name} v{hit.card.version} (score {hit.score:.2f}): {hit.card.description} "
            f"input schema: {_json(hit.input_schema)}"
            for hit in event.hits
        )
        return f"Tools that fit:\n{listed}"
    nearest = "\n".join(
        f"- {miss.name} (score {miss.score:.2f}): {miss.description}" for miss in event.near_misses
    )
    return f"No tool fits. Near misses:\n{nearest}" if nearest else "No tool fits, and none comes near."


def _json(value: Json) -> str:
    return msgspec.json.encode(value).decode("utf-8", "replace")
