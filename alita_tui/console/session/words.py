"""The words of the session screen: welcome, titles, banners and placeholder."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote

from alita_tui.console.actions import key_of
from alita_tui.console.session.trace_lines import State
from alita_tui.events import TaskId
from alita_tui.spine.text import counted, one_line
from alita_tui.view.model import SessionView
from alita_tui.view.queries import pending, waiting_words

SHOULD_BE = "What should it be? Enter sends; Esc leaves it"
WRONG = "What is wrong with it? Enter sends, with or without words; Esc leaves it"
NOT_RATED = "Choose an answer, a run or a build to rate it."
SUGGESTED = "Recorded tasks: Tab and Enter choose one, or write your own"


TO_TRY = "To try: Tab and Enter choose one"
TRY = (
    "Make a tool that checks e-mail addresses",
    "Which of my tools failed lately, and why?",
    "Make a tool that sums a column of a CSV file",
)
"""Tasks to try, where the model suggests none."""


def welcome(keys: Mapping[str, str], *, replay: bool) -> tuple[str, ...]:
    """Return the lines of an empty trace; the first is its heading."""
    if replay:
        play, forward = key_of("replay.toggle", keys), key_of("replay.forward", keys)
        return "The recording begins here.", f"{play} plays it, {forward} goes one event on."
    help_key, palette, sessions = (
        key_of(action, keys) for action in ("app.help", "app.palette", "app.sessions")
    )
    return (
        "alita builds the tools it lacks, and runs none you did not approve.",
        "Type a task. What is missing is written for it, tested in a sandbox and shown to you before it may run.",
        f"{help_key} keys   {palette} commands   {sessions} earlier sessions",
    )


def states(view: SessionView, keys: Mapping[str, str]) -> tuple[State, ...]:
    """Return whether the model and the sandbox are available, and what to do if one is not."""
    setup = key_of("app.setup", keys)
    if view.model:
        recorded = "a recording: it costs nothing" if view.recorded else ""
        model = State("Model", str(view.model), recorded, "good")
    elif not view.seq:  # nothing was read yet
        model = State("Model", "checking …", "", "muted")
    else:
        model = State("Model", "none is set up", f"{setup} sets one up", "warn")
    box = view.sandbox
    if box is None:
        sandbox = State("Sandbox", "checking …", "", "muted")
    elif box.available:
        sandbox = State("Sandbox", one_line(box.engine, 80), "", "good")
    else:
        sandbox = State(
            "Sandbox", one_line(box.problem or "is not there", 160), one_line(box.hint, 160), "bad"
        )
    return model, sandbox


def expected(view: SessionView) -> str:
    """Return what the task that was just sent is waiting for."""
    return "Checking the sandbox …" if view.sandbox is None else "Starting …"


def titles(view: SessionView) -> dict[str, tuple[str, str]]:
    """Return the text after each pane's name: in its title, and in its tab."""
    tools = len(view.library)
    running = view.live.output is not None
    runs = counted(len(view.runs), "run") if view.runs else ""
    return {
        "trace": (str(view.title) or "New session", "◈" if pending(view) else ""),
        "library": (counted(tools, "tool") if tools else "", str(tools or "")),
        "sandbox": ("running" if running else runs, "▸" if running else ""),
    }


def banner(view: SessionView, keys: Mapping[str, str]) -> str:
    """Return the work that was unfinished when the session was left, and what continues it; empty for none."""
    if not view.live.holds:
        return ""
    key = key_of("session.retry", keys)
    texts = {task.task_id: task.text for task in view.tasks}
    unfinished = [one_line(texts[task_id], 60) for task_id in view.live.held if task_id in texts]
    others = f" and {len(unfinished) - 1} more" if unfinished[1:] else ""
    # Beside an unfinished task the lines of the queue say how many wait behind it.
    left = (
        f"Not finished: {unfinished[-1]}{others}" if unfinished else counted(len(view.queue), "queued task")
    )
    steer = " What you write first is added to it." if unfinished else ""
    decision = " or your decision on the build" if pending(view) else ""
    return f"◌ {left.rstrip('.')}. Nothing runs yet: {key}{decision} continues.{steer}"


def parting(view: SessionView, way_back: str) -> str:
    """Return the message on leaving: the builds that wait, and how to come back.

    `way_back` is the command up to the session's id. A session without a task is not worth coming back to.
    """
    back = f"Come back with: {way_back} {quote(view.session_id)}" if len(view.tasks) else "Nothing is lost."
    return f"{waiting_words(view)} {back}".strip()


def unsaved(view: SessionView) -> str:
    """Return why nothing is being saved; empty while saving works."""
    if not view.live.unsaved:
        return ""
    return f"▲ Cannot save: {view.live.unsaved} The task is paused and resumes by itself once saving works."


def one_task_title(view: SessionView, task_id: TaskId, keys: Mapping[str, str]) -> str:
    """Return the trace's title while it shows one task's rows only."""
    task = next((task for task in view.tasks if task.task_id == task_id), None)
    task_text = one_line(task.text, 60) if task else ""
    return f"only {task_text} · {key_of('session.lane', keys)} next"


def question(view: SessionView) -> str:
    """Return the agent's question, if any."""
    return f"? {view.question.text}" if view.question is not None else ""


def placeholder(view: SessionView, keys: Mapping[str, str]) -> str:
    """Return what Enter would do with the text."""
    if view.question is not None:
        return "Answer the question"
    if view.live.held:
        return "Add to the unfinished task before it continues"
    if view.busy:
        return f"Add to this task · {key_of('composer.next', keys)} queues a new one"
    return "What should alita do?"
