"""`alita builds`: see and decide parked builds from any shell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alita_tui.cli.accepting import all_accepted
from alita_tui.cli.output import json_document, table
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line, reveal

if TYPE_CHECKING:
    from alita_tui.spine.values import Capabilities, Twin
    from alita_tui.state.build import Attempt, BuildState
    from alita_tui.store.desk import Desk

app = typer.Typer(help="Builds that wait for your verdict.", no_args_is_help=True, rich_markup_mode=None)

Build = Annotated[str, typer.Argument(help="Its id, or the beginning of it.")]
Digest = Annotated[
    str, typer.Option("--digest", metavar="SHA256", help="At least 12 digits of the digest that you saw.")
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without", metavar="CAPABILITY", help="Do not grant this, such as `secret:TOKEN`; repeatable."
    ),
]
Accept = Annotated[
    list[str] | None,
    typer.Option("--accept", metavar="RISK", help="A risk that you accept, by its name; one for each."),
]
Like = Annotated[
    str, typer.Option("--tool", metavar="NAME", help="The tool that gives the same answers; the nearest.")
]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is kept and read by later builds.")]


@app.command("list")
def list_builds(
    context: typer.Context, json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False
) -> None:
    """List the builds that wait, oldest first. What approving one takes is told by `show`, after the build itself."""
    import msgspec

    from alita_tui.wiring.house import House

    parked = House.open(context.obj).desk.pending()
    if json:
        # No digest here: who has not seen the build has nothing to approve it by.
        json_document([{k: v for k, v in msgspec.to_builtins(b).items() if k != "digest"} for b in parked])
    elif not parked:
        typer.echo("No build waits for a verdict.")
    else:
        rows = (
            (
                b.approval_id,
                f"{b.name} v{b.version}",
                b.verdict or "waits",
                b.session_id,
                b.task,
            )
            for b in parked
        )
        table(("ID", "TOOL", "STATE", "SESSION", "TASK"), rows)


@app.command()
def show(
    context: typer.Context,
    build: Build,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show a build whole: risks, diff, evidence, code, tests, and then how to approve it.

    Characters that cannot be seen are spelled out.
    """
    from alita_tui.spine.grants import phrases
    from alita_tui.view.risk import names_of, risks
    from alita_tui.wiring.house import House

    desk = House.open(context.obj).desk
    parked, envelopes = desk.show(build)
    if json:
        made = _folded(desk, parked.build_id)
        found = risks(made, _presented(made))
        json_document({"build": parked, "risks": found, "accept": names_of(found), "events": envelopes})
        return
    made = _folded(desk, parked.build_id)
    draft = _presented(made)
    typer.echo(f"{parked.name} v{parked.version}   session {parked.session_id}\n")
    _risks(made, draft)
    typer.echo(f"\nGoal: {reveal(made.goal)}")
    typer.echo(f"Says it does: {reveal(draft.draft.description)}")
    if made.cost:
        typer.echo(f"Cost so far: {made.cost}")
    for lesson in made.lessons:
        typer.echo(f"  past rejection  {reveal(lesson)}")
    for miss in made.near_misses:
        typer.echo(f"  near miss {miss.score:.2f}  {reveal(miss.name)}  {reveal(miss.description)}")
    for source in made.sources:
        typer.echo(f"  source {reveal(source.url)}")
    typer.echo("\nAsks for")
    asked = draft.draft.capabilities
    for item, phrase in zip(asked.items, phrases(asked), strict=True):
        typer.echo(f"  {reveal(item)}  {reveal(phrase)}")
    if asked.none:
        typer.echo("  nothing declared")
    typer.echo("\nRequirements")
    for package in draft.lock.packages if draft.lock else ():
        first = package.hashes[0][:23] if package.hashes else ""
        typer.echo(f"  {reveal(package.name)} {reveal(package.version)}  {first}")
    typer.echo("\nReview")
    for finding in draft.findings:
        typer.echo(f"  {finding.severity:6} {finding.rule} line {finding.line}: {reveal(finding.text)}")
    _gates(draft)
    typer.echo("\nSelf-tests (written by the same model as the code)")
    for case in draft.reports[-1].cases if draft.reports else ():
        typer.echo(f"  {'pass' if case.passed else 'FAIL'}  {reveal(case.name)}")
    _diff(made, draft)
    typer.echo(f"\nCode\n{reveal(draft.draft.code)}\nTests\n{reveal(draft.draft.tests)}")
    if draft.twins:
        typer.echo(f"{draft.twins[0].label} gives the same answers. Approving keeps both; otherwise:")
        typer.echo(f"  alita builds reuse {parked.approval_id}")
        typer.echo(f"  alita builds alias {parked.approval_id} --digest {parked.digest[:16]}")
    typer.echo(f"sha256 {parked.digest}")
    names = "".join(f" --accept {one}" for one in names_of(risks(made, draft)))
    typer.echo(
        f"Approve with: alita builds approve {parked.approval_id} --digest {parked.digest[:16]}{names}"
    )


def _risks(made: BuildState, draft: Attempt) -> None:
    from alita_tui.view.changes import changes
    from alita_tui.view.risk import risks

    found = risks(made, draft)
    typer.echo("Risks, each with the name by which it is accepted")
    for one in found:
        typer.echo(f"  {'▲' if one.serious else '△'} {one.name}  {reveal(one.text)}")
    if not found:
        typer.echo("  none found: every check passed, nothing asked for")
    typer.echo("\nChanges")
    for said in changes(made, draft):
        typer.echo(f"  {reveal(said)}")


def _diff(made: BuildState, draft: Attempt) -> None:
    """What differs from the version that it would replace."""
    import difflib

    if made.parent is None:
        return
    old, new = (reveal(text).split("\n") for text in (made.parent.code, draft.draft.code))
    label = f"v{made.version - 1}"
    typer.echo(f"\nDiff from {label}")
    for line in difflib.unified_diff(old, new, label, f"v{made.version}", lineterm=""):
        typer.echo(line)


def _gates(draft: Attempt) -> None:
    from alita_tui.state.build import GATES

    typer.echo("\nChecks")
    for gate in draft.gates:
        typer.echo(f"  {gate.state:8} {GATES[gate.gate]}: {reveal(gate.summary)}")
        for row in gate.rows:
            if row.tone in ("bad", "warn"):
                typer.echo(f"           {reveal(row.label)}  {reveal(row.text)}")
    for name in draft.unchecked:
        typer.echo(f"  not run  {GATES[name]}")


@app.command()
def approve(
    context: typer.Context,
    build: Build,
    digest: Digest,
    task_only: Annotated[
        bool,
        typer.Option("--task-only", help="For the task that asked for it; it does not join the library."),
    ] = False,
    without: Without = None,
    accept: Accept = None,
) -> None:
    """Approve exactly the bytes with this digest; the session takes it up.

    Each risk of the build is accepted by its name, as on screen: `alita builds show` tells them.
    """
    from alita_tui.view.risk import risks
    from alita_tui.wiring.house import House

    desk = House.open(context.obj).desk
    made = _folded(desk, build)
    grants = _narrowed(made, without)
    accepted = all_accepted(
        risks(made, _presented(made), without or []),
        accept or [],
        what="The build",
        show=f"alita builds show {made.approval_id}",
    )
    lasting = "task" if task_only else "library"
    _leave(
        desk,
        build,
        digest,
        {"verdict": "approved", "lasting": lasting, "grants": grants, "accepted": accepted},
    )


def _presented(made: BuildState) -> Attempt:
    """The draft whose bytes wait. Raises UsageError."""
    draft = made.presented
    if draft is None or draft.build_digest != made.digest:
        raise UsageError(f"The record of {made.name} v{made.version} is damaged.")
    return draft


@app.command()
def reject(
    context: typer.Context,
    build: Build,
    reason: Reason,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="A common reason, such as `unsafe`; repeatable.")
    ] = None,
) -> None:
    """Reject a build with a reason; the session takes it up."""
    from alita_tui.wiring.house import House

    desk = House.open(context.obj).desk
    _leave(desk, build, None, {"verdict": "rejected", "reason": reason, "tags": tag or []})


@app.command()
def reuse(context: typer.Context, build: Build, tool: Like = "") -> None:
    """Reject a build that does what a tool does already, and tell the agent to use that one."""
    from alita_tui.view.queries import reuse_of
    from alita_tui.wiring.house import House

    desk = House.open(context.obj).desk
    reason, tags = reuse_of(_twin(_folded(desk, build), tool))
    _leave(desk, build, None, {"verdict": "rejected", "reason": reason, "tags": tags})


@app.command()
def alias(context: typer.Context, build: Build, digest: Digest, tool: Like = "") -> None:
    """Add nothing, and let its name be another one of the tool that gives the same answers."""
    from alita_tui.wiring.house import House

    desk = House.open(context.obj).desk
    twin = _twin(_folded(desk, build), tool)
    _leave(desk, build, digest, {"verdict": "aliased", "alias_of": twin})
    typer.echo(f"Take it back later with: alita tools undo {twin.name}")


@app.command()
def edit(
    context: typer.Context,
    build: Build,
    code: Annotated[
        Path | None, typer.Option("--code", help="Take the new code from this file instead of $EDITOR.")
    ] = None,
    tests: Annotated[
        Path | None, typer.Option("--tests", help="Take new tests from this file; they stay as they are.")
    ] = None,
) -> None:
    """Hand in a draft of your own in its place; it is tested and asked again."""
    from alita_tui.wiring.house import House

    desk = House.open(context.obj).desk
    draft = _folded(desk, build).attempts[-1].draft
    written = _text(code) if code else _in_editor(draft.name, draft.code)
    tested = _text(tests) if tests else ""
    if written == draft.code and tested in ("", draft.tests):
        raise UsageError("Nothing was changed; the build keeps waiting.")
    _leave(desk, build, None, {"verdict": "edited", "code": written, "tests": tested})


@app.command()
def test(context: typer.Context, build: Build, digest: Digest, without: Without = None) -> None:
    """Run its self-tests again with what it asks for, then ask again. Nothing is approved by it."""
    from alita_tui.wiring.house import House

    desk = House.open(context.obj).desk
    grants = _narrowed(_folded(desk, build), without)
    _leave(desk, build, digest, {"verdict": "retested", "grants": grants})


@app.command()
def stop(context: typer.Context, build: Build, reason: Reason = "") -> None:
    """Decide against a build and end the run that asked for it."""
    from alita_tui.wiring.house import House

    _leave(House.open(context.obj).desk, build, None, {"verdict": "stopped", "reason": reason})


@app.command()
def ban(
    context: typer.Context,
    build: Build,
    reason: Reason,
    what: Annotated[
        list[str] | None,
        typer.Option(
            "--what",
            help="`name`, `digest` or a capability of it such as `secret:TOKEN`; repeatable. Name and digest.",
        ),
    ] = None,
) -> None:
    """Reject a build and never be asked again; `alita tools unban` takes it back."""
    from alita_tui.wiring.house import House

    desk = House.open(context.obj).desk
    known = ("name", "digest", *_folded(desk, build).attempts[-1].draft.capabilities.items)
    chosen = what or ["name", "digest"]
    _known(chosen, known)
    _leave(desk, build, None, {"verdict": "banned", "reason": reason, "banned": chosen})


def _folded(desk: Desk, build: str) -> BuildState:
    """All that is known of a build that waits."""
    from alita_tui.view.queries import build_of

    parked, envelopes = desk.show(build)
    made = build_of(envelopes, parked.build_id)
    if made is None or not made.attempts:
        raise UsageError(f"The record of {parked.name} v{parked.version} is damaged.")
    return made


def _twin(made: BuildState, tool: str) -> Twin:
    """The tool that a build is like: the one that is named, or the nearest. Raises UsageError."""
    twins = made.presented.twins if made.presented else ()
    if not twins:
        raise UsageError(
            f"No tool is known to give the same answers as {made.name} v{made.version}.",
            hint=f"`alita builds show {made.build_id}` shows its neighbours.",
        )
    for one in twins:
        if tool in ("", one.name):
            return one
    raise UsageError(
        f"{one_line(tool, 60)} does not give the same answers.",
        hint=f"These do: {', '.join(one.label for one in twins)}.",
    )


def _narrowed(made: BuildState, without: list[str] | None) -> Capabilities | None:
    if not without:
        return None
    asked = made.attempts[-1].draft.capabilities
    _known(without, asked.items)
    return asked.without(without)


def _known(words: list[str], known: tuple[str, ...]) -> None:
    for word in words:
        if word not in known:
            listed = ", ".join(known) or "nothing"
            raise UsageError(
                f"The build asks for no {one_line(word, 60)!r}.",
                hint=f"It could be: {one_line(listed, 300)}.",
            )


def _in_editor(name: str, code: str) -> str:
    from contextlib import nullcontext

    from alita_tui.console.editing import NoEditor, edit

    try:
        return edit(name, code, nullcontext)
    except NoEditor as error:
        raise UsageError(str(error), hint="Give the code in a file: --code FILE.") from error


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error


def _leave(desk: Desk, build: str, digest: str | None, verdict: dict[str, Any]) -> None:
    """Leave a verdict on the desk, on the digest that was given or the one that waits."""
    import msgspec

    from alita_tui.spine.commands import ResolveApproval
    from alita_tui.wiring.identity import me

    parked, _ = desk.show(build)
    command = msgspec.convert(
        {
            **verdict,
            "approval_id": parked.approval_id,
            "digest": parked.digest if digest is None else digest,
            "via": "cli",
        },
        ResolveApproval,
    )
    left = desk.leave(parked.approval_id, command, me())
    typer.echo(f"{command.verdict}: {left.name} v{left.version}, sha256 {left.digest[:16]}…")
    typer.echo(f"Go on with: alita resume {left.session_id}")
