"""Checks of what a shell verdict must name: the risks it accepts, and the digest that was shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line, reveal
from alita_tui.view.risk import Risk, current_names, names_to_accept

Accept = Annotated[
    list[str] | None,
    typer.Option("--accept", metavar="RISK", help="Accept a risk by its name; repeat it for each risk."),
]
Digest = Annotated[str, typer.Option("--digest", metavar="SHA256", help="The digest that you saw, whole.")]


def all_accepted(risks: Sequence[Risk], accept: Sequence[str], *, what: str, show: str) -> tuple[str, ...]:
    """Return the names of the risks. Raise UsageError unless `--accept` named exactly these.

    `what` is the subject of the error ("The build"), and `show` the command that describes each risk.
    """
    accepted = current_names(list(accept))
    names = names_to_accept(tuple(risks))
    hint = f"`{show}` describes each of them."
    if unknown := [name for name in accepted if name not in names]:
        listed = ", ".join(names) or "none"
        raise UsageError(f"{what} has no risk {one_line(unknown[0], 60)!r}; it has: {listed}.", hint=hint)
    if missing := [name for name in names if name not in accepted]:
        options = " ".join(f"--accept {name}" for name in missing)
        raise UsageError(
            f"These risks are not accepted yet: {', '.join(missing)}.", hint=f"{hint} Then add: {options}"
        )
    return names


def list_risks(risks: Sequence[Risk], *, none: str) -> None:
    """Print each risk with the name by which it is accepted."""
    typer.echo("Risks, each with the name that accepts it")
    for risk in risks:
        note = " (accepted before in this session)" if risk.accepted else ""
        typer.echo(f"  {'▲' if risk.serious else '△'} {risk.name}{note}  {reveal(risk.text)}")
    if not risks:
        typer.echo(f"  {none}")


def check_digest(named_digest: str, digest: str, *, what: str, show: str) -> None:
    """Raise UsageError unless the two digests are equal; `show` is the command to look again.

    A prefix is not enough, because anyone can make two files whose digests begin alike.
    """
    typed = named_digest.lower().removeprefix("sha256:")
    if typed != digest:
        needs = f" All {len(digest)} digits are asked for." if digest.startswith(typed) else ""
        raise UsageError(
            f"{what} is {digest[:8]}…, not {reveal(named_digest[:70])!r}.{needs}",
            hint=f"Look at it first: {show}",
        )
