"""`alita feedback`: say how good an answer, a run or a build was, from any shell."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.cli.output import Json, json_document
from alita_tui.events import FeedbackGiven, Rating, TaskFinished
from alita_tui.spine.commands import GiveFeedback
from alita_tui.spine.errors import UsageError
from alita_tui.spine.feedback import valid_ratings
from alita_tui.spine.text import one_line, reveal


def feedback(
    context: typer.Context,
    session: Annotated[str, typer.Argument(help="The session's id or its beginning.")],
    text: Annotated[str, typer.Argument(help="What was wrong, or what was good.")] = "",
    up: Annotated[bool, typer.Option("--up", help="It is good.")] = False,
    down: Annotated[bool, typer.Option("--down", help="It is not good.")] = False,
    should_be: Annotated[
        str,
        typer.Option("--should-be", help="It is not good, and this is what it should be.", metavar="TEXT"),
    ] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Take back its newest rating.")] = False,
    event: Annotated[
        int,
        typer.Option(
            "--event",
            metavar="SEQ",
            help="The answer, result or registered build to rate; 0: the newest answer.",
        ),
    ] = 0,
    json: Json = False,
) -> None:
    """Say how good an answer was; tools learn from it.

    It raises or lowers the trust in the tools that the answer was made with.
    Without an option it prints the newest answer and what was said of it.
    """
    app = AppContext.open(context.obj)
    down = down or bool(should_be)
    if sum((up, down, undo)) > 1 or (text and not (up or down)):
        raise UsageError("Say whether it is good.", hint="Add --up, --down, --should-be TEXT or --undo.")
    if not (up or down or undo):
        _show(app, session, json=json)
        return
    from alita_tui.app.closed_session import give_feedback

    rating: Rating = "up" if up else "down"
    command = GiveFeedback(rating=rating, seq=event, text=text, expected=should_be, undo=undo)
    rated = asyncio.run(give_feedback(app, session, command))
    if json:
        json_document(rated)
        return
    mark = "👍" if rated.rating == "up" else "👎"
    state = "taken back" if rated.undone else "noted"
    typer.echo(f"{state}: {mark} {_target(rated, 'the answer')}")


def _target(rated: FeedbackGiven, answer: str) -> str:
    return f"for {'a build' if rated.build_id else 'a run' if rated.call_id else answer}"


def _show(app: AppContext, session: str, *, json: bool) -> None:
    from alita_tui.app.recordings import recording

    events = [envelope.event for envelope in recording(app, session)]
    ratings = [event for event in events if isinstance(event, FeedbackGiven)]
    if json:
        json_document(ratings)
        return
    answers = [event for event in events if isinstance(event, TaskFinished)]
    typer.echo(
        f"answer: {reveal(one_line(answers[-1].answer, 400)) or answers[-1].outcome}"
        if answers
        else "No answer."
    )
    for rating in valid_ratings(ratings):
        words = f": {rating.remark}" if rating.remark else ""
        target = _target(rating, "an answer").removeprefix("for ")
        typer.echo(reveal(f"{'👍' if rating.rating == 'up' else '👎'} {target}{words}"))
    typer.echo(f"Rate it with: alita feedback {session} --up | --down [TEXT] | --should-be TEXT | --undo")
