"""`alita skills`: folders of instructions by others, told to the agent once you approved them by digest."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from alita_tui.app.context import AppContext
from alita_tui.app.skills import Added, SkillBook, differences, discovered, replaced, script_draft
from alita_tui.cli.accepting import Accept, all_accepted, check_digest, list_risks
from alita_tui.cli.lazy import group
from alita_tui.cli.output import Json, json_document, table
from alita_tui.cli.proving import print_approved
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line, reveal
from alita_tui.view.risk import names_to_accept

if TYPE_CHECKING:
    from alita_tui.mcp_box.skills.reading import Skill

_MOST_LINES = 2_000
"""Longest difference that is printed."""
commands = group()
Name = Annotated[str, typer.Argument(metavar="NAME", help="The skill's name.")]
Digest = Annotated[
    str, typer.Option("--digest", metavar="SHA256", help="Approve it: the whole digest of what you saw.")
]


@commands.command()
def add(
    context: typer.Context,
    path: Annotated[
        Path, typer.Argument(metavar="FOLDER|ARCHIVE", help="A skill; or a ZIP, tar or tar.gz of one.")
    ],
    digest: Digest = "",
    accept: Accept = None,
) -> None:
    """Show a skill whole, with its risks; with --digest approve exactly that.

    From then on the agent is told its name and description, and reads its instructions when a task needs them. No
    script of it runs by that: each becomes a tool of its own (`alita skills script`).
    """
    from alita_tui.mcp_box.skills.reading import read_from

    book = SkillBook(AppContext.open(context.obj))
    skill = read_from(path)
    risks = book.risks(skill)
    look = f"alita skills add {path}"
    if not digest:
        _print_skill(skill)
        typer.echo("")
        list_risks(risks, none="none found")
        if (before := book.get(skill.text.name)) is not None and before.skill is not None:
            _print_difference(before.skill, skill)
        options = "".join(f" --accept {name}" for name in names_to_accept(risks))
        typer.echo(reveal(f"\nApprove it with: {look} --digest {skill.digest}{options}"))
        return
    check_digest(digest, skill.digest, what=f"The skill {skill.text.name}", show=look)
    approved = book.approve(skill, path, all_accepted(risks, accept or [], what="It", show=look))
    typer.echo(f"approved: the skill {approved.name}, sha256 {approved.digest[:16]}…")
    for script in skill.scripts:
        typer.echo(reveal(f"  make a tool of {script}: alita skills script {approved.name} {script}"))


def _print_skill(skill: Skill) -> None:
    text = skill.text
    typer.echo(reveal(f"{text.name}  sha256 {skill.digest}\n{text.description}"))
    for what, detail in (
        ("licence", text.license),
        ("compatibility", text.compatibility),
        *text.metadata.items(),
    ):
        if detail:
            typer.echo(reveal(f"{what}: {detail}"))
    typer.echo("\nFiles")
    for path, data in sorted(skill.files.items()):
        typer.echo(reveal(f"  {len(data):>9,}  {path}"))
    typer.echo(f"\nInstructions\n{reveal(text.body)}")
    for path, data in sorted(skill.files.items()):
        if path.endswith((".md", ".txt")) and path != "SKILL.md":
            typer.echo(f"\n{reveal(path)}\n{reveal(data.decode('utf-8', 'replace'))}")


def _print_difference(before: Skill, after: Skill) -> None:
    lines = list(differences(before, after))
    if lines:
        typer.echo("\nWhat changed since it was approved")
    for line in lines[:_MOST_LINES]:
        typer.echo(reveal(line))
    if len(lines) > _MOST_LINES:
        typer.echo(f"… and {len(lines) - _MOST_LINES:,} lines more: it is another skill, read it whole")


@commands.command("list")
def list_skills(context: typer.Context, json: Json = False) -> None:
    """List the skills that you added, and those in the folders of other agents, which are not loaded."""
    added = SkillBook(AppContext.open(context.obj)).all()
    sources = {skill.entry.source for skill in added}
    others = [skill for skill in discovered(Path.cwd()) if str(Path(skill.folder).resolve()) not in sources]
    if json:
        json_document({
            "added": [
                {**msgspec.to_builtins(skill.entry), "state": skill.state, "problem": skill.problem} for skill in added
            ],
            "found": [msgspec.structs.asdict(skill) for skill in others],
        })  # fmt: skip
        return
    rows: list[tuple[str, str, str]] = [
        (
            skill.entry.name,
            skill.state,
            skill.problem or (skill.skill.text.description if skill.skill else ""),
        )
        for skill in added
    ]
    rows += [
        (skill.name, "found", f"{skill.folder}: {skill.problem or skill.description}") for skill in others
    ]
    if rows:
        table(("NAME", "STATE", "DESCRIPTION"), rows)
    else:
        typer.echo("There are no skills. Add one: alita skills add FOLDER")


@commands.command()
def show(
    context: typer.Context,
    name: Name,
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="One of its files.")] = "",
) -> None:
    """Show a skill that you added, or one of its files; where it is suspended, what changed."""
    book = SkillBook(AppContext.open(context.obj))
    skill = _named(book, name)
    typer.echo(
        reveal(f"{skill.state}{f': {skill.problem}' if skill.problem else ''}  from {skill.entry.source}")
    )
    if skill.skill is None:
        return
    if file:
        if file not in skill.skill.files:
            raise UsageError(f"{name} has no {one_line(file, 80)!r}.", hint=f"See: alita skills show {name}")
        typer.echo(reveal(skill.skill.files[file].decode("utf-8", "replace")))
        return
    _print_skill(skill.skill)
    typer.echo("")
    list_risks(book.risks(skill.skill), none="none found")
    if skill.now is not None:
        _print_difference(skill.skill, skill.now)
        typer.echo(reveal(f"\nApprove it as it is now: alita skills add {skill.entry.source}"))


def _named(book: SkillBook, name: str) -> Added:
    if (skill := book.get(name)) is None:
        raise book.unknown(name)
    return skill


@commands.command()
def remove(context: typer.Context, name: Name) -> None:
    """Forget a skill: the agent is told nothing of it any more. Tools made of its scripts stay."""
    SkillBook(AppContext.open(context.obj)).remove(name)
    typer.echo(f"{name} is removed.")


@commands.command()
def script(
    context: typer.Context,
    name: Name,
    path: Annotated[str, typer.Argument(metavar="SCRIPT", help="Such as scripts/convert.py.")],
    digest: Digest = "",
    accept: Accept = None,
) -> None:
    """Make a tool of a script of an approved skill: show the draft, or approve it by its digest.

    It goes through the checks that any imported tool goes through, in the sandbox; each risk is accepted by name.
    """
    from alita_tui.app.packs import tested
    from alita_tui.app.tool_runs import approve_anew
    from alita_tui.cli.packs import print_checks
    from alita_tui.events import Verdict
    from alita_tui.spine.grants import phrases
    from alita_tui.toolsmith.review import review
    from alita_tui.view.risk import draft_risks
    from alita_tui.view.verdict_evidence import evidence

    app = AppContext.open(context.obj)
    skill = _named(SkillBook(app), name)
    if skill.skill is None or skill.problem:
        raise UsageError(f"{name} is suspended: {skill.problem}.", hint=f"See: alita skills show {name}")
    draft = script_draft(app, skill.skill, path)
    before = replaced(app, draft)
    look = f"alita skills script {name} {path}"
    if not digest:
        typer.echo(reveal(f"{draft.name}  sha256 {draft.digest}\n{draft.description}"))
        typer.echo(f"May use {reveal('; '.join(phrases(draft.capabilities))) or 'nothing but its arguments'}")
        typer.echo(f"Packages {reveal(', '.join(draft.requirements)) or 'none'}\n")
        read = draft_risks(draft.capabilities, review(draft).findings)
        list_risks((*before, *read), none="none found by reading it")
        typer.echo(f"\nCode\n{reveal(draft.code)}\nTests\n{reveal(draft.tests)}")
        typer.echo(reveal(f"Have it tested and approve it with: {look} --digest {draft.digest}"))
        return
    check_digest(digest, draft.digest, what=str(draft.name), show=look)
    known = [name for name in accept or [] if name in names_to_accept(before)]
    all_accepted(before, known, what=str(draft.name), show=look)
    typer.echo(f"{draft.name}: reviewed and tested here …", err=True)
    seen = asyncio.run(tested(app, draft))
    print_checks(seen)
    if seen.problem:
        typer.echo(reveal(f"{draft.name} was not approved: {seen.problem}"), err=True)
        raise typer.Exit(1)
    risks = (*before, *seen.risks)
    list_risks(risks, none="none found: every check passed, nothing asked for")
    accepted = all_accepted(risks, accept or [], what=str(draft.name), show=look)
    verdict = Verdict(decision="approved", accepted=accepted)
    build = msgspec.structs.replace(seen.build, verdict=verdict)
    reason = f"{path} of the skill {name}, {skill.entry.digest[:16]}"
    record = approve_anew(app, draft, seen.lock, origin="imported", reason=reason, evidence=evidence(build))
    print_approved(record)
