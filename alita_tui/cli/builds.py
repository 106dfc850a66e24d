"""`alita builds`: review and decide parked builds from any shell."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from alita_tui.app.context import AppContext
from alita_tui.app.identity import me
from alita_tui.cli.accepting import Accept, Digest, all_accepted
from alita_tui.cli.build_text import print_diff, print_evidence, print_summary
from alita_tui.cli.files import read_text
from alita_tui.cli.lazy import group
from alita_tui.cli.output import Json, json_document, print_list
from alita_tui.events import BuildDigest, Lasting, Verdict
from alita_tui.spine.commands import ResolveApproval
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.builds import ParkedBuild
from alita_tui.spine.text import one_line, reveal
from alita_tui.view.queries import build_of, merge_of, reuse_of
from alita_tui.view.risk import names_to_accept, risks

if TYPE_CHECKING:
    from alita_tui.events import Capabilities, Twin
    from alita_tui.state.build import Attempt, BuildState
    from alita_tui.store.verdict_inbox import VerdictInbox

commands = group()

Build = Annotated[str, typer.Argument(help="Its id, or the beginning of it.")]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without", metavar="CAPABILITY", help="Do not grant this, such as `secret:TOKEN`; repeatable."
    ),
]
Like = Annotated[
    str,
    typer.Option(
        "--tool", metavar="NAME", help="The tool that gives the same answers; by default the nearest."
    ),
]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is kept, and later builds read it.")]


@commands.command("list")
def list_builds(context: typer.Context, json: Json = False) -> None:
    """List the builds that wait, oldest first. `show` prints a build and then how to approve it."""
    parked = AppContext.open(context.obj).inbox.pending()
    # Without the digest, so that no build can be approved from the list without having been shown.
    document = [
        {key: value for key, value in msgspec.to_builtins(build).items() if key != "digest"}
        for build in parked
    ]
    rows = [
        (
            build.approval_id,
            f"{build.name} v{build.version}",
            build.verdict or "waits",
            build.session_id,
            build.task,
        )
        for build in parked
    ]
    head = ("ID", "TOOL", "STATE", "SESSION", "TASK")
    print_list(document, head, rows, empty="No build waits for a verdict.", json=json)


@commands.command()
def show(context: typer.Context, build: Build, json: Json = False) -> None:
    """Show a build whole: risks, changes, evidence, code, tests, and then how to approve it.

    Invisible characters are spelled out.
    """
    parked, envelopes = AppContext.open(context.obj).inbox.show(build)
    view = _view(parked, envelopes)
    draft = _presented(view)
    build_risks = risks(view, draft)
    if json:
        json_document(
            {
                "build": parked,
                "risks": build_risks,
                "accept": names_to_accept(build_risks),
                "events": envelopes,
            }
        )
        return
    typer.echo(f"{parked.name} v{parked.version}   session {parked.session_id}\n")
    print_summary(view, draft)
    print_evidence(draft)
    print_diff(view, draft)
    typer.echo(f"\nCode\n{reveal(draft.draft.code)}\nTests\n{reveal(draft.draft.tests)}")
    if draft.twins:
        typer.echo(f"{draft.twins[0].label} gives the same answers. Approving keeps both; otherwise:")
        typer.echo(f"  alita builds reuse {parked.approval_id}")
        typer.echo(f"  alita builds merge {parked.approval_id}")
        typer.echo(f"  alita builds alias {parked.approval_id} --digest {parked.digest}")
    typer.echo(f"sha256 {parked.digest}")
    accept = "".join(f" --accept {name}" for name in names_to_accept(build_risks))
    typer.echo(f"Approve with: alita builds approve {parked.approval_id} --digest {parked.digest}{accept}")


@commands.command()
def approve(
    context: typer.Context,
    build: Build,
    digest: Digest,
    task_only: Annotated[
        bool,
        typer.Option(
            "--task-only", help="Only for the task that asked for it; it does not join the library."
        ),
    ] = False,
    without: Without = None,
    accept: Accept = None,
) -> None:
    """Approve exactly the bytes with this digest; the session continues with them.

    Each risk of the build is accepted by its name, as on screen; `alita builds show` lists them.
    """
    inbox, view = _find(context, build)
    grants = _granted(view, without)
    accepted = all_accepted(
        risks(view, _presented(view), without or []),
        accept or [],
        what="The build",
        show=f"alita builds show {view.approval_id}",
    )
    lasting: Lasting = "task" if task_only else "library"
    verdict = Verdict(decision="approved", lasting=lasting, grants=grants, accepted=tuple(accepted))
    _leave(inbox, build, verdict, digest)


@commands.command()
def reject(
    context: typer.Context,
    build: Build,
    reason: Reason,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="A common reason, such as `unsafe`; repeatable.")
    ] = None,
) -> None:
    """Reject a build with a reason; the session continues without it."""
    inbox = AppContext.open(context.obj).inbox
    _leave(inbox, build, Verdict(decision="rejected", reason=reason, tags=tuple(tag or ())))


@commands.command()
def reuse(context: typer.Context, build: Build, tool: Like = "") -> None:
    """Reject a build because a tool does the same already, and have the agent use that tool."""
    inbox, view = _find(context, build)
    reason, tags = reuse_of(_twin(view, tool))
    _leave(inbox, build, Verdict(decision="rejected", reason=reason, tags=tags))


@commands.command()
def merge(context: typer.Context, build: Build, tool: Like = "") -> None:
    """Reject a build, and have the agent rebuild the tool like it so that it does the work of both."""
    inbox, view = _find(context, build)
    reason, tags = merge_of(_twin(view, tool))
    _leave(inbox, build, Verdict(decision="rejected", reason=reason, tags=tags))


@commands.command()
def alias(context: typer.Context, build: Build, digest: Digest, tool: Like = "") -> None:
    """Add nothing; make the build's name another name of the tool that gives the same answers."""
    inbox, view = _find(context, build)
    twin = _twin(view, tool)
    _leave(inbox, build, Verdict(decision="aliased", alias_of=twin), digest)
    typer.echo(f"Undo it later with: alita tools undo {twin.name}")


@commands.command()
def edit(
    context: typer.Context,
    build: Build,
    code: Annotated[
        Path | None, typer.Option("--code", help="Read the new code from this file instead of $EDITOR.")
    ] = None,
    tests: Annotated[
        Path | None, typer.Option("--tests", help="Read new tests from this file; by default they stay.")
    ] = None,
) -> None:
    """Replace the draft with one of your own; it is tested, and you are asked again."""
    inbox, view = _find(context, build)
    draft = view.attempts[-1].draft
    new_code = read_text(code) if code else _in_editor(draft.name, draft.code, draft.language)
    new_tests = read_text(tests) if tests else ""
    if new_code == draft.code and new_tests in ("", draft.tests):
        raise UsageError("No changes. The build is still waiting.")
    _leave(inbox, build, Verdict(decision="edited"), code=new_code, tests=new_tests)


@commands.command()
def test(context: typer.Context, build: Build, digest: Digest, without: Without = None) -> None:
    """Run the self-tests again with what the build asks for, then ask again. This approves nothing."""
    inbox, view = _find(context, build)
    _leave(inbox, build, Verdict(decision="retested", grants=_granted(view, without)), digest)


@commands.command()
def stop(context: typer.Context, build: Build, reason: Reason = "") -> None:
    """Reject a build and end the run that asked for it."""
    inbox = AppContext.open(context.obj).inbox
    _leave(inbox, build, Verdict(decision="stopped", reason=reason))


@commands.command()
def ban(
    context: typer.Context,
    build: Build,
    reason: Reason,
    what: Annotated[
        list[str] | None,
        typer.Option(
            "--what",
            help="`name`, `digest` or one of its capabilities such as `secret:TOKEN`; repeatable. "
            "By default name and digest.",
        ),
    ] = None,
) -> None:
    """Reject a build and never be asked about it again; `alita tools unban` undoes it."""
    inbox, view = _find(context, build)
    banned = what or ["name", "digest"]
    _check_known(banned, ("name", "digest", *view.attempts[-1].draft.capabilities.items))
    _leave(inbox, build, Verdict(decision="banned", reason=reason, banned=tuple(banned)))


def _find(context: typer.Context, build: str) -> tuple[VerdictInbox, BuildState]:
    """Return the inbox and a waiting build. Raises UsageError, StoreError."""
    inbox = AppContext.open(context.obj).inbox
    return inbox, _view(*inbox.show(build))


def _view(parked: ParkedBuild, envelopes: tuple[Envelope, ...]) -> BuildState:
    """Return the recorded state of a waiting build. Raises UsageError."""
    view = build_of(envelopes, parked.build_id)
    if view is None or not view.attempts:
        raise UsageError(f"The record of {parked.name} v{parked.version} is damaged.")
    return view


def _presented(view: BuildState) -> Attempt:
    """Return the draft that waits for the verdict. Raises UsageError."""
    draft = view.presented
    if draft is None or draft.build_digest != view.digest:
        raise UsageError(f"The record of {view.name} v{view.version} is damaged.")
    return draft


def _twin(view: BuildState, tool: str) -> Twin:
    """Return the tool that gives the same answers: the named one, or the nearest. Raises UsageError."""
    twins = view.presented.twins if view.presented else ()
    if not twins:
        raise UsageError(
            f"No tool is known to give the same answers as {view.name} v{view.version}.",
            hint=f"`alita builds show {view.build_id}` shows its neighbours.",
        )
    for twin in twins:
        if tool in ("", twin.name):
            return twin
    raise UsageError(
        f"{one_line(tool, 60)} does not give the same answers.",
        hint=f"These do: {', '.join(twin.label for twin in twins)}.",
    )


def _granted(view: BuildState, without: list[str] | None) -> Capabilities | None:
    """Return what is granted if something is withheld, else None. Raises UsageError."""
    if not without:
        return None
    capabilities = view.attempts[-1].draft.capabilities
    _check_known(without, capabilities.items)
    return capabilities.without(without)


def _check_known(words: list[str], allowed: tuple[str, ...]) -> None:
    for word in words:
        if word not in allowed:
            listed = ", ".join(allowed) or "nothing"
            raise UsageError(
                f"The build asks for no {one_line(word, 60)!r}.",
                hint=f"It could be: {one_line(listed, 300)}.",
            )


def _in_editor(name: str, code: str, language: str) -> str:
    from alita_tui.console.review.editor import NoEditor, edit
    from alita_tui.runtimes.languages import runtime_of

    try:
        return edit(name, code, runtime_of(language).suffix, nullcontext)
    except NoEditor as error:
        raise UsageError(str(error), hint="Give the code in a file: --code FILE.") from error


def _leave(
    inbox: VerdictInbox,
    build: str,
    verdict: Verdict,
    digest: str | None = None,
    *,
    code: str = "",
    tests: str = "",
) -> None:
    """Leave a verdict on the given digest, or on the waiting one, and print how to continue."""
    parked, _ = inbox.show(build)
    command = ResolveApproval(
        approval_id=parked.approval_id,
        digest=parked.digest if digest is None else BuildDigest(digest),
        verdict=msgspec.structs.replace(verdict, by=me(), via="cli"),
        code=code,
        tests=tests,
    )
    decided = inbox.leave(parked.approval_id, command)
    typer.echo(f"{verdict.decision}: {decided.name} v{decided.version}, sha256 {decided.digest[:16]}…")
    typer.echo(f"Continue with: alita resume {decided.session_id}")
