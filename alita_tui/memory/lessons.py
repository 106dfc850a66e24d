"""What a finished task leaves in memory, taken from verified events only.

A task teaches if it was answered, and a tool of the library returned a result or was built meanwhile. A task that led
nowhere teaches what was tried. Nothing is learned from recalled, searched or fetched text, so a mistake cannot confirm
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from alita_tui.events import MemoryItem, RecipeStep, TaskId, TaskOutcome
from alita_tui.memory.course import Course, course_of
from alita_tui.memory.facts import facts_of
from alita_tui.memory.recipes import manner, steps_of
from alita_tui.memory.stated import asked_of
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.ports.memory import FAILURE, ProposedFact
from alita_tui.spine.text import one_line

_TASK, _ANSWER = 300, 400
"""Longest part of a task and of an answer that is stored, in characters."""

FOOTNOTE = " (tools: "
"""Separates what an episode adds to task and answer; what follows is not searched."""
_LED_NOWHERE: frozenset[TaskOutcome] = frozenset(("stuck", "step_limit", "failed"))


def lessons(
    envelopes: Sequence[Envelope], task_id: TaskId, proposed: Sequence[ProposedFact] = ()
) -> tuple[MemoryItem, ...]:
    """Return all that a task teaches; of the facts `proposed` by a model only those that the record confirms."""
    course = course_of(envelopes, task_id)
    if course is None or course.outcome in ("parked", "budget"):
        return ()
    return (*_episode(course), *_recipe(course), *_failure(course), *facts_of(envelopes, course, proposed))


def _episode(course: Course) -> tuple[MemoryItem, ...]:
    """Return the task, its shortened answer, its tools and its cost; empty for a task that used no tool."""
    if course.outcome != "answered" or not (course.chain or course.built):
        return ()
    cost = f"${course.cost_usd:.4f}" + (" and calls without a known price" if course.unpriced else "")
    facts = [", ".join(course.chain) or "none"]
    facts += [f"built: {', '.join(course.built)}"] if course.built else []
    facts += [f"files: {one_line(', '.join(course.made), 120)}"] if course.made else []
    text = (
        f"{one_line(course.task, _TASK)} → {one_line(course.answer, _ANSWER)}{FOOTNOTE}"
        f"{'; '.join((*facts, f'cost: {cost}'))})"
    )
    return (
        MemoryItem(
            item_id=f"episode:{course.session_id}:{course.task_id}",
            memory="episodic",
            text=text,
            source_session=course.session_id,
            source_seq=course.seq,
            tools=course.chain,
            outcome=course.outcome,
            cost_usd=None if course.unpriced else round(course.cost_usd, 6),
            artefacts=course.made[:12],
        ),
    )


def recipe_id(tools: Sequence[str], steps: Sequence[RecipeStep] = ()) -> str:
    """Return the item id of a chain of tools that are called in this manner."""
    return f"recipe:{sha256(chr(10).join((*tools, *manner(steps))).encode()).hexdigest()[:16]}"


def _recipe(course: Course) -> tuple[MemoryItem, ...]:
    """Return the calls of tools that answered the task; the same chain and manner always get the same id."""
    if course.outcome != "answered" or not course.chain:
        return ()
    steps = steps_of(course)
    return (
        MemoryItem(
            item_id=recipe_id(course.chain, steps),
            memory="procedural",
            text=one_line(asked_of(course.task), _TASK),
            source_session=course.session_id,
            source_seq=course.seq,
            tools=course.chain,
            outcome=course.outcome,
            steps=steps,
        ),
    )


def _failure(course: Course) -> tuple[MemoryItem, ...]:
    """Return what was tried for a task that led nowhere; an error of the model alone teaches nothing."""
    tried = (*course.chain, *(name for name, _ in course.failed))
    if course.outcome not in _LED_NOWHERE or not tried:
        return ()
    if course.outcome == "failed" and not course.failed:
        return ()
    why = {"stuck": "it led nowhere", "step_limit": "it took too many steps", "failed": "it failed"}
    reasons = ", ".join(f"{name}: {one_line(reason, 40)}" for name, reason in course.failed)
    noted = [", ".join(tried), *([f"failed: {reasons}"] if reasons else [])]
    task = one_line(course.task, _TASK)
    name = sha256(f"{task}\n{' '.join(tried)}".encode()).hexdigest()[:16]
    return (
        MemoryItem(
            item_id=f"{FAILURE}{name}",
            memory="procedural",
            text=f"{task} → {why[course.outcome]}{FOOTNOTE}{'; '.join(noted)})",
            source_session=course.session_id,
            source_seq=course.seq,
            origin="failure",
            outcome=course.outcome,
        ),
    )
