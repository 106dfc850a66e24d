"""Agents as the person sees them: rows of the trace, and the tree of the agents of a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from alita_tui import events as e
from alita_tui.events import AgentOutcome
from alita_tui.spine.commands import Steer
from alita_tui.spine.text import SafeText, counted, one_line
from alita_tui.state.agents import AgentState
from alita_tui.state.session import SessionState
from alita_tui.view.model import RowKind, Tone
from alita_tui.view.statistics import dollars

Row = tuple[RowKind, str, str, str, Tone]
"""Kind, title, detail, figure, tone."""

_ENDED: dict[AgentOutcome, tuple[str, Tone]] = {
    "reported": ("reported", "good"),
    "failed": ("failed", "bad"),
    "stuck": ("went in circles", "warn"),
    "step_limit": ("ran out of steps", "warn"),
    "budget": ("ran out of its share", "warn"),
    "late": ("ran out of time", "warn"),
    "interrupted": ("was stopped", "warn"),
    "parked": ("waits for your decision", "wait"),
}
_BECAUSE = {
    "plan": "parts of the plan need nothing of each other",
    "person": "you asked for it",
    "setting": "agents.director",
    "single": "no two parts of the plan stand alone",
}
_FINDING: dict[str, tuple[str, Tone]] = {
    "holds": ("Checked: the answer holds", "good"),
    "refused": ("Checked: the answer does not hold", "warn"),
    "unknown": ("The answer could not be checked", "warn"),
}


def agent_row(event: e.DirectorChosen | e.AgentStarted | e.AgentEnded | e.AnswerVerified) -> Row:
    """Return the row of an event about agents or about the check of an answer."""
    match event:
        case e.DirectorChosen():
            return _director_row(event)
        case e.AgentStarted(agent_id=agent_id, goal=goal, attempt=attempt):
            suffix = ", second attempt" if attempt > 1 else ""
            return (
                "action",
                f"{agent_id} is handed{suffix}: {goal}",
                _order(event),
                share(event.usd, event.tokens),
                "normal",
            )
        case e.AgentEnded(agent_id=agent_id, outcome=outcome, result=result, reason=reason):
            verb, tone = _ENDED[outcome]
            words = result or reason
            title = f"{agent_id} {verb}{f': {words}' if words else ''}"
            title += "; another agent tries" if event.retried else ""
            return "observation", title, _report(event), share(event.usd or None, event.tokens or None), tone
        case e.AnswerVerified(finding=finding, text=text, faults=faults, returned=returned):
            words, tone = finding_words(finding, faults or (text,))
            detail = "\n".join((text, *(f"- {fault}" for fault in faults)))
            return "notice", words + ("; the agent is told" if returned else ""), detail, "", tone


def finding_words(finding: str, faults: Sequence[str] = ()) -> tuple[str, Tone]:
    """Return the finding of an answer's check in words, and its tone; empty words if there was no check."""
    words, tone = _FINDING.get(finding, ("", "normal"))
    reason = "; ".join(faults) if finding == "refused" else ""
    return f"{words}: {reason}" if reason else words, tone


def share(usd: float | None, tokens: int | None) -> str:
    """Return an amount of money in words, or of tokens if `usd` is None."""
    return dollars(usd) if usd is not None else f"{tokens:,} tokens" if tokens is not None else ""


def _director_row(event: e.DirectorChosen) -> Row:
    reason = _BECAUSE[event.because]
    if not event.directs:
        title = f"One agent does it: {reason}"
    else:
        title = f"Parts go to several agents: {reason}"
    lines = [f"- {step}" for step in event.branches]
    meta = ""
    if event.alone_tokens:
        lines.append(f"One agent: about {event.alone_tokens:,} tokens for what is left.")
    if event.tokens:
        price = f", about ${event.usd:.2f}" if event.usd is not None else ""
        lines.append(f"A lead with an agent for each part: about {event.tokens:,} tokens{price}.")
        meta = f"~{event.tokens:,} tokens"
    return "plan", title, "\n".join(lines), meta, "normal"


def _order(event: e.AgentStarted) -> str:
    handed = ", ".join(handed_file.name for handed_file in event.handed) or "nothing"
    lines = [
        event.goal,
        f"Role: {event.role}",
        f"Done when: {event.done_when}",
        f"Handed: {handed}",
        f"Limits: {event.seconds:.0f} seconds, {counted(event.steps, 'step')}",
    ]
    if event.usd is not None or event.tokens is not None:
        caps = (share(event.usd, None), share(None, event.tokens))
        lines.append(f"Set aside: {', '.join(filter(None, caps))}")
    if event.because:
        lines.append(f"The first attempt: {event.because}")
    return "\n".join(lines)


def _report(event: e.AgentEnded) -> str:
    lines = [event.result or event.reason]
    for head, text in (
        ("Could not do", event.missing),
        ("Files", ", ".join(event.artefacts)),
        ("Rests on", ", ".join(event.evidence)),
    ):
        lines += [f"{head}: {text}"] if text else []
    lines.append(f"Took {counted(event.steps, 'step')}, {event.tokens:,} tokens, {dollars(event.usd)}")
    return "\n".join(filter(None, lines))


def tree(state: SessionState, task_id: e.TaskId) -> Iterator[tuple[int, AgentState]]:
    """Yield the agents of a task with their depth from 1 on, each after the agent that it works for."""
    mine = [agent for agent in state.agents if agent.task_id == task_id]

    def below(parent: str, depth: int) -> Iterator[tuple[int, AgentState]]:
        for agent in mine:
            if agent.parent == parent and depth <= len(mine):
                yield depth, agent
                yield from below(agent.agent_id, depth + 1)

    yield from below("", 1)


class AgentUsage(NamedTuple):
    """What one agent used, or all agents of a role."""

    name: SafeText
    usd: float
    tokens: int
    calls: int
    steps: int
    model_ms: float
    unpriced: int
    estimated_tokens: int = 0


def by_agent(state: SessionState) -> tuple[AgentUsage, ...]:
    """Return what each agent used, for the newest task with several agents."""
    task_id = state.agents[-1].task_id if state.agents else e.NO_TASK
    return tuple(
        _usage_of(f"{'  ' * (depth - 1)}{agent.title}", (agent,)) for depth, agent in tree(state, task_id)
    )


def by_specialist(state: SessionState) -> tuple[AgentUsage, ...]:
    """Return what the agents of each role used in the session."""
    roles = dict.fromkeys(agent.role for agent in state.agents)
    return tuple(
        _usage_of(role, tuple(agent for agent in state.agents if agent.role == role)) for role in roles
    )


def _usage_of(name: str, agents: Sequence[AgentState]) -> AgentUsage:
    return AgentUsage(
        name=one_line(name, 60),
        usd=sum(agent.usd for agent in agents),
        tokens=sum(agent.tokens for agent in agents),
        calls=sum(agent.paid for agent in agents),
        steps=sum(agent.step for agent in agents),
        model_ms=sum(agent.model_ms for agent in agents),
        unpriced=sum(agent.unpriced for agent in agents),
        estimated_tokens=sum(agent.estimated_tokens for agent in agents),
    )


def steer_from(state: SessionState, text: str, attach: tuple[str, ...] = ()) -> Steer:
    """Return the command for text added to a task: to one agent (`@researcher-1 …`), to all (`@all …`) or the lead."""
    name, _, remaining = text.removeprefix("@").partition(" ")
    if text.startswith("@") and remaining.strip():
        if name == "all" and any(agent.outcome is None for agent in state.agents):
            return Steer(text=remaining.strip(), attach=attach, every=True)
        working = (agent.agent_id for agent in state.agents if agent.outcome is None)
        if agent_id := next((agent_id for agent_id in working if agent_id == name), e.NO_AGENT):
            return Steer(text=remaining.strip(), attach=attach, agent_id=agent_id)
    return Steer(text=text, attach=attach)


def agent_line(agent: AgentState) -> tuple[SafeText, SafeText, SafeText, Tone]:
    """Return the parts of an agent's line: its name, its state, its goal, and the tone of its state."""
    cost = share(agent.usd, None) if agent.usd else share(None, agent.tokens) if agent.tokens else ""
    if agent.outcome is not None:
        verb, tone = _ENDED[agent.outcome]
    elif agent.phase == "idle":
        verb, tone = "waits for its turn", "muted"
    else:
        verb, tone = f"step {agent.step}, {agent.phase}", "normal"
    state = ", ".join(filter(None, (verb, cost)))
    return one_line(agent.title, 80), one_line(state, 80), one_line(agent.goal, 300), tone
