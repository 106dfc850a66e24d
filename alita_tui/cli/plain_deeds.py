"""Commands of `alita --plain` besides tasks: files, the queue, ratings, and further verdicts."""

from __future__ import annotations

import re

import typer

from alita_tui.console.session.file_references import attached
from alita_tui.events import Verdict, WorkHeld
from alita_tui.spine.commands import CancelTask, Command, GiveFeedback, MoveTask, SwitchQueue
from alita_tui.spine.text import counted, one_line, reveal
from alita_tui.state.build import Attempt
from alita_tui.state.session import SessionState
from alita_tui.view.queries import merge_of, reuse_of

QUEUE_COMMANDS = ("/queue", "/cancel", "/sooner", "/pause", "/continue")
RATINGS = ("/good", "/bad", "/should-be", "/unrate")


def files_of(text: str) -> tuple[str, ...] | None:
    """Return the files that a line names with `@`; None, after printing which, if one does not exist."""
    attachments = attached(text)
    if attachments.missing:
        typer.echo(
            f"There is no file {', '.join(one_line(name, 120) for name in attachments.missing)}. Nothing was sent."
        )
        return None
    return attachments.files


def of_queue(word: str, argument: str, state: SessionState) -> Command | None:
    """Carry out a command on the queue: list it and return None, or return the command to send."""
    queue = state.queue
    if word == "/queue":
        for number, queued in enumerate(queue, 1):
            typer.echo(f"  {number} {one_line(queued.text, 200)}")
        typer.echo(
            "It is paused: /continue goes on." if state.paused else "" if queue else "The queue is empty."
        )
        return None
    if word in ("/pause", "/continue"):
        typer.echo("No further task begins until /continue." if word == "/pause" else "The queue goes on.")
        return SwitchQueue(paused=word == "/pause")
    number = int(argument) if re.fullmatch(r"\d{1,4}", argument.strip()) else 0
    if not 1 <= number <= len(queue):
        typer.echo(f"{word} takes the number of a task in the queue. /queue lists them.")
        return None
    chosen = queue[number - 1]
    if word == "/cancel":
        typer.echo(f"Cancelled: {one_line(chosen.text, 200)}")
        return CancelTask(task_id=chosen.queue_id)
    if number == 1:
        typer.echo("It is the next one already.")
        return None
    typer.echo(f"Sooner by one place: {one_line(chosen.text, 200)}")
    return MoveTask(queue_id=chosen.queue_id, before=queue[number - 2].queue_id)


def rating(word: str, argument: str, state: SessionState) -> Command | None:
    """Return the command that rates the newest answer; None, after printing why, if it cannot be rated."""
    if not any(task.outcome == "answered" for task in state.tasks):
        typer.echo("There is no answer to rate yet.")
        return None
    if word == "/unrate":
        typer.echo("Your newest rating is taken back.")
        return GiveFeedback(rating="up", undo=True)
    right = argument.strip()
    if word == "/should-be" and not right:
        typer.echo("Say what it should be: /should-be TEXT")
        return None
    typer.echo("Rated: good." if word == "/good" else "Rated: not good.")
    return GiveFeedback(
        rating="up" if word == "/good" else "down",
        text=right if word == "/bad" else "",
        expected=right if word == "/should-be" else "",
    )


def other_choices(draft: Attempt) -> str:
    """Return the choices besides approving and rejecting; with a twin in the library also those about it."""
    twin = draft.twins[0] if draft.twins else None
    ban = "10 ban: never ask again about this name and code\n"
    if twin is None:
        return ban
    like = f"11 use {one_line(twin.label)} instead, which gives the same answers"
    return f"{ban}{like}\n12 one tool for both  13 only another name of it\n"


def other_verdict(choice: str, draft: Attempt, reason: str = "") -> Verdict | None:
    """Return the verdict of such a choice; None for any other. A ban needs a reason."""
    twin = draft.twins[0] if draft.twins else None
    match choice:
        case "10" if reason:
            return Verdict(decision="banned", reason=reason, banned=("name", "digest"))
        case "11" | "12" if twin is not None:
            why, tags = reuse_of(twin) if choice == "11" else merge_of(twin)
            return Verdict(decision="rejected", reason=why, tags=tags)
        case "13" if twin is not None:
            return Verdict(decision="aliased", alias_of=twin)
        case _:
            return None


def tell_held(held: WorkHeld, state: SessionState) -> None:
    """Print which unfinished work is held and how to continue it; nothing if none is held."""
    for task in state.tasks:
        if task.task_id in held.tasks:
            typer.echo(f"\aNot finished: {one_line(task.text, 200)}")
    if held.queued:
        typer.echo(f"Not begun: {counted(held.queued, 'task')} in the queue")
    if held.tasks:
        typer.echo("Nothing runs yet. /continue resumes; what you type before that is added; /stop ends it.")
    elif held.queued:
        typer.echo("Nothing runs yet. /continue begins it.")


def numbered(choices: tuple[str, ...]) -> None:
    """Print choices with their numbers."""
    for number, choice in enumerate(choices, 1):
        typer.echo(f"  {number} {one_line(choice, 300)}")


def with_numbers(text: str) -> str:
    """Return text with line numbers and visible escapes for invisible characters."""
    return "\n".join(f"{number:4}  {reveal(line)}" for number, line in enumerate(text.splitlines(), 1))
