"""The conversation that a model is shown, derived from the events alone.

Because it is derived, a resumed session continues with exactly the conversation it had.
"""

from __future__ import annotations

from collections import Counter
from copy import copy

from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.agent.agent_messages import directed, handed_part, refused, reported, without_team
from alita_tui.agent.checklist import from_person
from alita_tui.agent.passages import remarks, titled
from alita_tui.agent.progress import STUCK
from alita_tui.agent.prompt import block_text
from alita_tui.agent.references import file_list
from alita_tui.agent.tool_cards import hit_text, registered_text
from alita_tui.events import (
    Artefact,
    MemoryItem,
    PlanCandidate,
    RunReport,
    StepStatus,
    ToolDraft,
    ToolRequest,
    Value,
    as_json,
)
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.fence import defused, fenced
from alita_tui.spine.ports.memory import OWN_WORDS
from alita_tui.spine.ports.models import Message
from alita_tui.view.feedback import feedback_for_agent

RECALLED_HEAD = "From earlier tasks, for what it is worth:"
"""Prefix of recalled memories."""


MEMORY = "memory"
"""Name of the turns that show recalled memories."""


class Entry(Value, frozen=True):
    """One turn, whole, and the event that it comes from."""

    seq: int
    message: Message
    name: str = ""
    """For an observation the action that caused it, for a block of the context its name."""


class Conversation:
    """The turns so far, updated with each event."""

    def __init__(self, files: dict[str, Artefact] | None = None, agent_id: e.AgentId = e.NO_AGENT) -> None:
        """`files` are those of the session by handle, which others add to; `agent_id` is empty for a lead."""
        self._agent_id = agent_id
        self._entries: list[Entry] = []
        self._seq = 0
        self._open: dict[str, ToolRequest] = {}
        """Action id -> the request, for those without a result."""
        self._instead = ""
        """The notice that another plan replaces the model's own."""
        self._builds: dict[str, str] = {}
        """Build id -> the action that asked for it."""
        self._tool_names: dict[str, str] = {}
        """Build id -> its tool's name."""
        self._drafts: dict[str, ToolDraft] = {}
        """Build id -> its newest draft."""
        self._put_off: set[str] = set()
        """Builds whose action has its result already; their outcome is reported as news."""
        self._files: dict[str, Artefact] = {} if files is None else files
        self._artefacts_by_call: dict[str, list[Artefact]] = {}
        """Artefacts by the id of the call that made them."""
        self._inside: dict[str, str] = {}
        """Call of a tool by a tool -> the agent's own call that it is inside of."""
        self._calls: dict[str, str] = {}
        self._served: dict[str, str] = {}
        """By call of a remote tool: its server."""
        self._recalled: set[str] = set()
        """Memories that the task has been shown."""
        self._memories: dict[int, tuple[MemoryItem, ...]] = {}
        """Event -> what was recalled there."""
        self._held_turns: list[tuple[str, str]] = []
        """Messages from the person or about the task that arrived while requests were open, each with its name."""

    def apply(self, envelope: Envelope) -> None:  # noqa: C901  # one match over all kinds
        """Take in the next event."""
        event, self._seq = envelope.event, envelope.seq or self._seq
        match event:
            case e.ArtefactAdded(artefact=artefact, source=source):
                self._files[artefact.handle] = artefact
                self._artefacts_by_call.setdefault(self._inside.get(source, source), []).append(artefact)
            case e.TaskSubmitted(text=text, again=again, retried=retried, files=files):
                self._close_open("The task before ended without this.")
                if not again:
                    self._recalled = set()
                why = (
                    "the person asks to try it again" if retried else "a build that it waited for was decided"
                )
                self._person(
                    f"TASK{f' (taken up again: {why})' if again else ''}: {without_team(text)}{self._attached(files)}"
                )
            case e.MemoryRecalled(items=items) if items:
                fresh = tuple(item for item in items if item.item_id not in self._recalled)
                self._recalled |= {item.item_id for item in fresh}
                if fresh:
                    self._memories[self._seq] = fresh
                    self._person(recalled(fresh), MEMORY)
            case e.MemoryForgotten(item_id=item_id, back=False):
                self._forget(item_id)
            case e.ContextGiven(blocks=blocks):
                for block in blocks:
                    self._person(block_text(block), block.name)
            case e.Steered(text=text) if from_person(text):
                pass  # the plan that it makes follows
            case e.Steered(text=text, files=files):
                self._person(f"The person adds: {text}{self._attached(files)}")
            case e.AgentStarted(agent_id=agent_id) if agent_id == self._agent_id:
                self._person(handed_part(event, self._files))
            case e.AgentEnded(agent_id=agent_id) if agent_id == self._agent_id:
                self._close_open("Your part ended without this.")
            case e.AgentEnded(retried=False, action_id=action_id, outcome=outcome):
                self._result(action_id, reported(event, self._files), error=outcome != "reported")
            case e.DirectorChosen(directs=True, branches=branches) if branches:
                self._person(directed(branches))
            case e.AnswerVerified(returned=True, action_id=action_id):
                if action_id in self._open:
                    self._result(action_id, refused(event), error=True)
                else:  # the reply was text alone
                    self._person(refused(event))
            case e.ModelReplied(
                role="orchestrator" | "specialist", call_id=call_id, text=text, requests=requests
            ):
                self._close_open("The run was interrupted before this was done.")
                self._add(Message(role="assistant", text=text, requests=requests))
                self._open = {f"{call_id}.{n}": request for n, request in enumerate(requests)}
            case e.ActionMalformed(problem=problem):
                none = " None of the actions of this reply was done." if len(self._open) > 1 else ""
                note = f"No valid action: {problem}{none} Choose one of the actions, with valid arguments."
                if self._open:
                    self._close_open(note)
                else:
                    self._person(note)
            case e.AgentNudged(text=text):
                self._person(text)
            case e.PlanProposed(by="person", steps=steps, status=status, ids=ids):
                lines = (
                    f"{number}. [{tick}] {step}"
                    for number, tick, step in zip(ids, status, steps, strict=False)
                )
                self._person("\n".join(("The person changed the plan. It is now:", *lines)))
            case e.PlansWeighed(followed=followed, because=because):
                self._instead = _instead(followed, because)
            case e.PlanProposed(status=status):
                note = self._instead or f"The plan is noted{_progress(status)}. Go on."
                instead, self._instead = self._instead, ""
                if envelope.span in self._open or self._open:
                    self._result(
                        envelope.span if envelope.span in self._open else next(iter(self._open)), note
                    )
                elif instead:
                    self._person(instead)
            case e.ToolSearched(action_id=action_id):
                ordered = action_id in self._open and self._open[action_id].name == "build_tool"
                self._result(action_id, _THERE + _searched(event) if ordered else _searched(event))
            case e.WebSearched(action_id=action_id, provider=provider, results=results, failed=failed):
                listed = "\n\n".join(f"{r.title}\n{r.url}\n{r.snippet}" for r in results)
                instead = "".join(
                    f"\n\n{failure.provider} did not answer: {failure.reason}" for failure in failed
                )
                self._result(action_id, fenced(f"search:{provider}", (listed or "no results") + instead))
            case e.PageRead(action_id=action_id, url=url):
                page = fenced(url, titled(event)) if event.text else ""
                self._result(action_id, "\n".join(filter(None, (page, *remarks(event)))))
            case e.LookedBack(action_id=action_id, text=text, seq=seq, handle=handle, part=part):
                # An earlier observation still has its fences; a file or a part has none.
                fenced_already = seq and not part
                source = handle or (f"event {seq}" if seq else "files")
                self._result(action_id, text if fenced_already else fenced(source, text))
            case e.ActionFailed(action_id=action_id, text=text, hint=hint):
                self._result(action_id, f"{text} {hint}".strip(), error=True)
            case e.QuestionAnswered(question_id=question_id, text=text) if question_id.startswith(STUCK):
                self._person(
                    f"Nothing new came of your steps, so the person was asked what to change: {text}"
                )
            case e.QuestionAnswered(question_id=action_id, text=text):
                self._result(action_id, f"The person answered: {text}")
            case e.BuildStarted(build_id=build_id, action_id=action_id, name=name):
                self._builds[build_id], self._tool_names[build_id] = action_id, name
            case e.BuildDrafted(build_id=build_id, draft=draft):
                self._drafts[build_id] = draft
            case e.ToolRegistered(build_id=build_id, card=card, lasting=lasting):
                where = "is in the library" if lasting == "library" else "may be used for this task only"
                note = f"Approved: {card.name} v{card.version} {where}. Use run_tool to run it."
                approved_draft = self._drafts.pop(build_id, None)
                self._built(
                    build_id, f"{note}\n{registered_text(approved_draft)}" if approved_draft else note
                )
            case e.ToolAliased(build_id=build_id, name=name, target=target):
                note = (
                    f"{name} is an alias of {target.label}, which gives the same answers; nothing was added."
                )
                self._built(build_id, f"{note} Use run_tool {target.name} to run it.")
            case e.BuildFailed(build_id=build_id, reason=reason):
                self._built(build_id, f"The build failed: {reason}", error=True)
            case e.ApprovalResolved(
                build_id=build_id, verdict=e.Verdict(decision="rejected" | "banned") as verdict
            ):
                note = f"The person {verdict.decision} this build: {verdict.why or 'no reason given'}"
                self._built(build_id, note, error=True)
            case e.ApprovalResolved(
                build_id=build_id, verdict=e.Verdict(decision="withdrawn", via="console" | "cli")
            ):
                self._built(
                    build_id, "The person withdrew this build, without a verdict; it is no tool.", error=True
                )
            case e.BuildPutOff(build_id=build_id):
                self._built(build_id, "It has no verdict yet.")
                self._put_off.add(build_id)
                name = self._tool_names.get(build_id, build_id)
                self._person(
                    f"The person puts off the build of {name} and decides later; it is no tool yet. "
                    "Go on with what does not need it; `wait` when nothing else is left to do."
                )
            case e.WaitEnded(action_id=action_id):
                self._result(action_id, "There is news.")
            case e.ToolCalled(call_id=call_id, caller=caller) if caller:  # the caller reports its result
                self._inside[call_id] = self._inside.get(caller, caller)
            case e.ToolCalled(call_id=call_id, action_id=action_id, server=server):
                self._calls[call_id] = action_id
                if server:
                    self._served[call_id] = server
            case e.ToolReturned(call_id=call_id, report=report, misfit=misfit):
                files_made = tuple(self._artefacts_by_call.get(call_id, ()))
                note = returned(report, self._seq, files_made)
                if misfit:
                    note += f"\nThe result does not fit the tool's output schema:\n{fenced('misfit', misfit)}"
                self._result(self._calls.get(call_id, ""), note)
            case e.ToolFailed(call_id=call_id, text=text, hint=hint, report=failed):
                if failed:  # the tool's own words are in its report, fenced
                    text = f"{text.partition(': ')[0]}."
                elif by := self._served.get(call_id):  # it contains words of the server
                    text = f"The call gave no result.\n{fenced(f'server:{by}', text)}"
                note = "\n".join(part for part in (text, hint, returned(failed) if failed else "") if part)
                self._result(self._calls.get(call_id, ""), note, error=True)
            case e.ToolDemoted(name=name, version=version, reason=reason):
                note = f"{name} v{version} is not relied on any more: {reason}. If it is needed, repair it:"
                self._person(f"{note} build_tool under the same name, saying what fails.")
            case e.ToolSuspended(name=name, version=version, server=server):
                note = f"{name} v{version} does not run any more: its server {server} changed it"
                self._person(f"{note}, and a person has to approve it again. Do without it.")
            case e.FeedbackGiven(by="person"):
                self._person(feedback_for_agent(event))
            case e.Interrupted(text=text) if text:
                self._person(f"The person cut your reply off. It had said: {text}")
            case e.TaskFinished(outcome="parked" | "budget"):
                pass  # open requests get their results when the task is resumed
            case e.TaskFinished(outcome=outcome, reason=reason):
                ended = "ok" if outcome == "answered" else f"The task ended: {outcome}. {reason}".strip()
                self._close_open(ended)
            case _:
                pass

    def entries(self) -> tuple[Entry, ...]:
        """Return the turns as of now; requests without a result get a note instead, in the copy only."""
        closed = copy(self)
        closed._entries, closed._open, closed._held_turns = (
            [*self._entries],
            {**self._open},
            [*self._held_turns],
        )
        closed._close_open("The run was interrupted before this was done.")
        return tuple(closed._entries)

    def observation(self, seq: int) -> str:
        """Return the observation that an event has given so far; empty if none."""
        messages = (entry.message for entry in self._entries if entry.seq == seq)
        return next((message.text for message in messages if message.role == "tool"), "")

    def _add(self, message: Message, name: str = "") -> None:
        self._entries.append(Entry(seq=self._seq, message=message, name=name))

    def _forget(self, item_id: str) -> None:
        """Remove a recalled memory from the turns, and a turn that had nothing else."""
        entries: list[Entry] = []
        for entry in self._entries:
            items = self._memories.get(entry.seq, ()) if entry.name == MEMORY else ()
            remaining = tuple(item for item in items if item.item_id != item_id)
            if remaining != items:
                self._memories[entry.seq] = remaining
                message = replace(entry.message, text=recalled(remaining))
                entry = replace(entry, message=message)
            if remaining or not items:
                entries.append(entry)
        self._entries = entries

    def _person(self, text: str, name: str = "") -> None:
        if self._open:
            self._held_turns.append((text, name))
        else:
            self._add(Message(role="user", text=text), name)

    def _attached(self, handles: tuple[str, ...]) -> str:
        """Return the list of files that the person attached to a text."""
        files = tuple(self._files[handle] for handle in handles if handle in self._files)
        return f"\n\nFiles given with it:\n{fenced('files', file_list(files))}" if files else ""

    def _built(self, build_id: str, text: str, *, error: bool = False) -> None:
        if build_id in self._put_off:
            self._person(f"About the build of {self._tool_names.get(build_id, build_id)}: {text}")
        else:
            self._result(self._builds.get(build_id, ""), text, error=error)

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
        waiting, self._held_turns = self._held_turns, []
        for text, name in waiting:
            self._add(Message(role="user", text=text), name)


def recalled(items: tuple[MemoryItem, ...]) -> str:
    """Return recalled memories for the model: the person's own words as they are, everything else as data."""
    own = [item for item in items if item.memory == "semantic" and item.origin in OWN_WORDS]
    own_lines = [f"- [{item.item_id}] The person said: {defused(item.text)}" for item in own]
    other_lines = "\n".join(f"- [{item.item_id}] {item.text}" for item in items if item not in own)
    return "\n".join(
        filter(None, (RECALLED_HEAD, *own_lines, fenced(MEMORY, other_lines) if other_lines else ""))
    )


def _instead(followed: PlanCandidate | None, because: str) -> str:
    """Return the message that another plan is followed in place of the model's own; empty for its own."""
    if followed is None or (followed.source == "agent" and not because):
        return ""
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(followed.steps, 1))
    if because:
        return f"{because} failed, so another plan is worth more now. Follow it:\n{fenced('plan', steps)}"
    origin = "worked before" if followed.source == "recipe" else "is worth more by the records of its tools"
    return f"The plan is noted, but another one {origin}. Follow it instead:\n{fenced('plan', steps)}"


def _progress(status: tuple[StepStatus, ...]) -> str:
    counts = Counter(status)
    counted = (
        f"{counts[status_name]} {status_name}"
        for status_name in ("done", "doing", "failed", "dropped", "open")
        if counts[status_name]
    )
    return f": {', '.join(counted)}" if {*status} - {"open"} else ""


def returned(report: RunReport, seq: int = 0, artefacts: tuple[Artefact, ...] = ()) -> str:
    """Return a run's report as the model reads it; what a tool prints is data, so it is fenced.

    `seq` is the event by which the result can be referred to, `artefacts` the files it left or its large result.
    """
    parts = [f"status: {report.status}"]
    if report.result_handle:
        parts.append(
            f"result: too large to show; it is {report.result_handle}\n{fenced('result', str(report.result))}"
        )
    elif report.result is not None:
        plain = isinstance(report.result, bool | int | float)
        text = as_json(report.result)
        head = f"result{f' (e{seq})' if seq else ''}:"
        parts.append(f"{head} {text}" if plain else f"{head}\n{fenced('result', text)}")
    if files := [file for file in artefacts if file.handle != report.result_handle]:
        parts.append(f"files it made:\n{fenced('files', file_list(tuple(files)))}")
    if report.files_lost:
        parts.append(f"files not taken: {report.files_lost}")
    if report.limits_hit:
        parts.append(f"limits hit: {', '.join(report.limits_hit)}")
    parts += [
        f"{name}:\n{fenced(name, text)}"
        for name, text in (("error", report.error), ("stdout", report.stdout), ("stderr", report.stderr))
        if text
    ]
    return "\n".join(parts)


_THERE = (
    "Nothing is built yet, as the library may have it already. Use what fits, or build_tool under its name with what "
    "it lacks; if none of these does it, order this build once more.\n"
)


def _searched(event: e.ToolSearched) -> str:
    likely = f" (one that fits is there with {event.chance:.0%})" if event.band else ""
    if event.hits:
        listed = "\n".join(map(hit_text, event.hits))
        if event.band == "perhaps":
            return (
                f"Perhaps one of these fits{likely}. Read what each takes and gives, then do one of three: use it "
                "as it is (run_tool), adapt it (build_tool under its name, saying what it lacks), or build "
                f"another.\n{listed}"
            )
        less_likely = ", ".join(miss.name for miss in event.near_misses)
        return f"Tools that fit{likely}:\n{listed}" + (
            f"\nLess likely: {less_likely}." if less_likely else ""
        )
    nearest = "\n".join(
        f"- {miss.name} (score {miss.score:.2f}): {miss.description}" for miss in event.near_misses
    )
    if not nearest:
        return "No tool fits, and none comes near."
    return f"No tool fits{likely}. Near misses:\n{nearest}"
