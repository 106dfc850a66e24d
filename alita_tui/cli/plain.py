"""`alita --plain`: a session without a full screen, for screen readers, slow lines and simple terminals.

Lines are only ever added. A typed line is a task, a message to the running one, or a command that begins with `/`.
Verdicts and answers about money or for a server need a command of their own; input typed before the question was
printed is discarded, because it was not meant as the answer.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

import msgspec
import typer

from alita_tui.cli.build_text import print_diff, print_evidence, print_summary
from alita_tui.cli.output import plain
from alita_tui.cli.plain_deeds import (
    QUEUE_COMMANDS,
    RATINGS,
    files_of,
    numbered,
    of_queue,
    other_choices,
    other_verdict,
    rating,
    tell_held,
    with_numbers,
)
from alita_tui.cli.typed_lines import Lines
from alita_tui.events import (
    ApprovalRequested,
    ApprovalResolved,
    QuestionAnswered,
    QuestionAsked,
    ServerQuestion,
    ServerQuestionEnded,
    Verdict,
    WorkHeld,
)
from alita_tui.spine.commands import AnswerQuestion, Continue, Interrupt, PutOff, ResolveApproval, SubmitTask
from alita_tui.spine.ports.stream import CommandSink
from alita_tui.spine.text import counted, one_line, reveal
from alita_tui.state.reduce import reduce_all
from alita_tui.state.session import SessionState
from alita_tui.view.agents import steer_from
from alita_tui.view.risk import names_to_accept, risks

if TYPE_CHECKING:
    from alita_tui.app.live_source import LiveSource
    from alita_tui.events import Lasting
    from alita_tui.spine.envelope import Envelope
    from alita_tui.state.build import Attempt, BuildState

HELP = """\
A line is a task; while one runs it is added to it. @FILE gives it a file. Commands:
  /review    look at the build that waits, and decide
  /answer    answer a question about money or of a server
  /new TASK  queue another task; /queue lists them, /cancel N, /sooner N, /pause, /continue
  /good      rate the newest answer; /bad WHAT IS WRONG; /should-be TEXT; /unrate takes it back
  /stop      stop the running task
  /evaluations    list the runs of suites; /evaluation N shows one, /case N replays a case of it
  /evaluate SUITE begin a run, with options as after alita eval run
  /where     say what is done now
  /quit      leave; opened again, the session asks before it goes on"""


class Session(CommandSink, Protocol):
    """A session that is open here or in the background."""

    session_id: str
    source: LiveSource


Further = Callable[[str, str], Awaitable[bool]]


async def _no_further(word: str, argument: str) -> bool:
    return False


class PlainConsole:
    """Prints a session's events and carries out typed lines."""

    def __init__(self, session: Session, lines: Lines, further: Further = _no_further) -> None:
        """`further` carries out commands that do not concern the session; returns False for an unknown one."""
        self._session = session
        self._further = further
        self._lines = lines
        self._state = SessionState()
        self._questions: list[QuestionAsked | ServerQuestion] = []
        self._held = WorkHeld()
        """Unfinished work that waits until the person continues it."""

    # --- what happens -------------------------------------------------------------------------

    async def show(self, recorded: int) -> None:
        """Print each new event; the first `recorded` events are only read, not printed."""
        async for envelope in self._session.source:
            if isinstance(envelope.event, WorkHeld):
                self.holds(envelope.event)
            if envelope.seq is None:
                continue
            self._state = reduce_all((envelope,), self._state)
            self._note(envelope)
            if envelope.seq > recorded:
                plain(envelope)
                self._call(envelope)
            elif envelope.seq == recorded:
                self.where()

    def _note(self, envelope: Envelope) -> None:
        match envelope.event:
            case QuestionAsked() | ServerQuestion() as question:
                self._questions.append(question)
            case QuestionAnswered(question_id=ended) | ServerQuestionEnded(question_id=ended):
                self._questions = [question for question in self._questions if question.question_id != ended]
            case _:
                pass

    def _call(self, envelope: Envelope) -> None:
        """Print how the person can answer a request or a question, and ring the bell."""
        match envelope.event:
            case ApprovalRequested(name=name, version=version):
                typer.echo(f"\a{one_line(name)} v{version} waits for your decision. /review looks at it.")
            case QuestionAsked(choices=choices, about=about):
                numbered(choices)
                how = "/answer answers it." if about != "task" else "The next line answers it."
                typer.echo(f"\aThe agent asks you. {how}")
            case ServerQuestion(server=server, choices=choices):
                numbered(choices)
                typer.echo(
                    f"\aThe server {one_line(server)} asks you. /answer answers it; what you type goes there."
                )
            case ApprovalResolved():
                typer.echo("The verdict is recorded.")
            case _:
                pass

    def holds(self, held: WorkHeld) -> None:
        """Print which unfinished work is held, and how to continue it."""
        self._held = held
        tell_held(held, self._state)

    def where(self) -> None:
        """Print what runs and what waits."""
        state = self._state
        running = [
            task
            for task in state.tasks
            if task.task_id in state.running and task.task_id not in self._held.tasks
        ]
        for task in running:
            typer.echo(f"running: {one_line(task.text, 200)}")
        if state.queue:
            typer.echo(f"{counted(len(state.queue), 'task')} in the queue")
        for build in self._waiting:
            typer.echo(f"waits for your decision: {one_line(build.name)} v{build.version}  (/review)")
        for question in self._questions:
            typer.echo(f"waits for your answer: {one_line(_text_of(question), 300)}")
        if self._held.tasks or self._held.queued:
            self.holds(self._held)
        elif not (running or state.queue or self._waiting or self._questions):
            typer.echo("Nothing is done now. Type a task, or /help.")

    @property
    def _waiting(self) -> list[BuildState]:
        return [build for build in self._state.builds if build.status == "pending"]

    # --- what is typed ------------------------------------------------------------------------

    async def take_lines(self) -> None:
        """Carry out typed lines until the person leaves."""
        while (line := await self._lines.next()) is not None:
            match line.partition(" "):
                case ("", _, _):
                    continue
                case ("/quit" | "/exit", _, _):
                    return
                case ("/help", _, _):
                    typer.echo(HELP)
                case ("/where", _, _):
                    self.where()
                case ("/continue", _, _) if self._held.tasks or self._held.queued:
                    self._session.send(Continue())
                    typer.echo("It continues.")
                case ("/stop", _, _):
                    self.stop()
                case ("/new", _, task) if task.strip():
                    if (files := files_of(task)) is not None:
                        self._session.send(SubmitTask(text=task.strip(), attach=files))
                case (word, _, argument) if word in QUEUE_COMMANDS or word in RATINGS:
                    do = of_queue if word in QUEUE_COMMANDS else rating
                    if (command := do(word, argument, self._state)) is not None:
                        self._session.send(command)
                case ("/review", _, _):
                    await self._review()
                case ("/answer", _, _):
                    await self._answer()
                case (word, _, argument) if word.startswith("/"):
                    await self._do_further(word, argument)
                case _:
                    self._say(line)

    async def _do_further(self, word: str, argument: str) -> None:
        if not await self._further(word, argument):
            typer.echo(f"There is no command {one_line(word, 60)}. /help lists them.")

    def stop(self) -> None:
        """Stop the running task."""
        if self._state.running:
            self._session.send(Interrupt())
            typer.echo("The task is stopped.")
        else:
            typer.echo("No task runs. /quit leaves.")

    def _say(self, line: str) -> None:
        question = next(
            (question for question in self._questions if isinstance(question, QuestionAsked)), None
        )
        if question is not None and question.about == "task":
            self._session.send(AnswerQuestion(question_id=question.question_id, text=line))
        elif (files := files_of(line)) is None:
            return
        elif self._state.running:
            self._session.send(steer_from(self._state, line, files))
        else:
            self._session.send(SubmitTask(text=line, attach=files))

    async def _answer(self) -> None:
        if not self._questions:
            typer.echo("Nothing is asked.")
            return
        question = self._questions[0]
        typer.echo(reveal(_text_of(question)))
        numbered(question.choices)
        line = await self._lines.asked("Your answer, or an empty line to leave it:")
        if line and question in self._questions:
            self._session.send(AnswerQuestion(question_id=question.question_id, text=line))

    # --- reviewing ----------------------------------------------------------------------------

    async def _review(self) -> None:
        """Show a build and let the person decide, in typed steps."""
        build = next(iter(self._waiting), None)
        draft = build.presented if build else None
        if build is None or draft is None or draft.build_digest != build.digest:
            typer.echo("No build waits for a verdict.")
            return
        shown_at, read = time.monotonic(), False
        typer.echo(f"\n{one_line(build.name)} v{build.version}   sha256 {build.digest}\n")
        print_summary(build, draft)
        while True:
            prompt = (
                "\n1 the code  2 its tests  3 the evidence  4 what is new in it\n"
                "5 approve for good  6 approve for this task only  7 reject\n"
                f"{other_choices(draft)}"
                "8 decide later: the agent continues without it  9 back: the build keeps waiting\nA number:"
            )
            match await self._lines.asked(prompt):
                case "1" | "2" as part:
                    typer.echo(with_numbers(draft.draft.code if part == "1" else draft.draft.tests))
                    read = read or part == "1"
                case "3":
                    print_evidence(draft)
                case "4":
                    print_diff(build, draft)
                    if build.parent is None:
                        typer.echo("It is new as a whole.")
                case "5" | "6" as kind:
                    if await self._approve(
                        build, draft, "library" if kind == "5" else "task", shown_at, read=read
                    ):
                        return
                case "7":
                    if await self._reject(build, shown_at):
                        return
                case "8":
                    self._session.send(PutOff(approval_id=build.approval_id))
                    typer.echo("The agent continues without it. /review shows it again.")
                    return
                case "9" | None:
                    return
                case typed:
                    if await self._other_choice(typed, build, draft, shown_at):
                        return
                    typer.echo(f"{one_line(typed, 60)!r} is not one of the numbers.")
            if not any(waiting.approval_id == build.approval_id for waiting in self._waiting):
                typer.echo("It no longer waits.")
                return

    async def _approve(
        self, build: BuildState, draft: Attempt, lasting: Lasting, shown_at: float, *, read: bool
    ) -> bool:
        """Approve exactly these bytes if the person types the names of the tool and each risk; return whether."""
        accepted = names_to_accept(risks(build, draft))
        phrase = " ".join((str(build.name), *accepted))
        typer.echo(
            f"This approves sha256 {build.digest[:16]} {'for good' if lasting == 'library' else 'for this task only'}."
        )
        if not read:
            typer.echo(f"You have not read its code ({counted(len(draft.draft.code.splitlines()), 'line')}).")
        if accepted:
            typer.echo(f"It accepts {counted(len(accepted), 'risk')}, each by its name.")
        typed = await self._lines.asked(
            f"Type this to approve, or an empty line to go back: {one_line(phrase, 2_000)}"
        )
        if typed != phrase:
            if typed:
                typer.echo("Those are not the names. Nothing was approved.")
            return False
        verdict = Verdict(
            decision="approved", lasting=lasting, accepted=accepted, scrolled_to_end=read,
            seen_ms=(time.monotonic() - shown_at) * 1000,
        )  # fmt: skip
        self._decide(build, verdict)
        return True

    async def _reject(self, build: BuildState, shown_at: float) -> bool:
        reason = await self._lines.asked("Why? One line, the agent reads it; an empty line goes back:")
        if not reason:
            return False
        self._decide(
            build, Verdict(decision="rejected", reason=reason, seen_ms=(time.monotonic() - shown_at) * 1000)
        )
        return True

    async def _other_choice(self, choice: str, build: BuildState, draft: Attempt, shown_at: float) -> bool:
        """Ban, reuse, merge or alias; return whether a verdict was given."""
        reason = ""
        if choice == "10":
            prompt = "Why never? One line, later builds are told; an empty line goes back:"
            reason = await self._lines.asked(prompt) or ""
        elif other_verdict(choice, draft) is not None:
            typed = await self._lines.asked(
                f"Type {one_line(build.name)} to do it, or an empty line to go back:"
            )
            if typed != build.name:
                typer.echo("Nothing was decided.")
                return False
        verdict = other_verdict(choice, draft, reason)
        if verdict is None:
            return False
        self._decide(build, msgspec.structs.replace(verdict, seen_ms=(time.monotonic() - shown_at) * 1000))
        return True

    def _decide(self, build: BuildState, verdict: Verdict) -> None:
        self._session.send(
            ResolveApproval(approval_id=build.approval_id, digest=build.digest, verdict=verdict)
        )


def _text_of(question: QuestionAsked | ServerQuestion) -> str:
    return question.text
