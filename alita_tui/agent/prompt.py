"""The prompts of agents, made from the tables that also say what holds: grants, settings, library, date."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from importlib.resources import files

from alita_tui.agent.role import Role, Roles
from alita_tui.events import Value
from alita_tui.spine.grants import REACHED
from alita_tui.spine.ports.context import BlockName
from alita_tui.spine.text import counted, one_line

_NAMED = 12
"""Names of a kind that are listed; of more only the number is said."""


class Surroundings(Value, frozen=True):
    """What is so outside the conversation when a task begins."""

    today: str = ""
    """ISO 8601, the person's own date; empty: not said."""
    place: str = ""
    """The person's time zone and locale."""
    tools_run_on: str = ""
    """Python and platform of the sandbox."""
    tools: int = 0
    """Tools in the library."""
    hosts: tuple[str, ...] = ()
    """Hosts that the person named in settings, rules or approvals, as grants are written."""
    secrets: tuple[str, ...] = ()
    """Names of secrets that are kept for tools."""
    files: tuple[str, ...] = ()
    """Names in the workspace; from outside, so they are told in the conversation."""


def orchestrator_prompt(around: Surroundings, off: Collection[str] = ()) -> str:
    """Return the whole prompt without the blocks that are off."""
    told = "\n".join(text for name, text in sections(around).items() if text and name not in off)
    return _template().replace("{surroundings}", told)


def instructions() -> str:
    """Return what of the prompt cannot be switched off."""
    return _template().replace("{surroundings}", "")


def _template() -> str:
    return _text("orchestrator").replace("{grants}", _grants())


def _grants() -> str:
    return "\n".join(f"- {field}: {how}" for field, how in REACHED.items())


def sections(around: Surroundings) -> dict[BlockName, str]:
    """Return the blocks that stand in the prompt."""
    when = f"Today is {around.today}{around.place and f' ({around.place})'}." if around.today else ""
    where = f"Tools run on {around.tools_run_on}." if around.tools_run_on else ""
    named = (
        ("Hosts that the person named", around.hosts),
        ("Secrets kept for tools", around.secrets),
    )
    return {
        "environment": " ".join(filter(None, (when, where))),
        "library": f"The library has {counted(around.tools, 'tool')}."
        if around.tools
        else "The library is empty: there is nothing to find in it yet.",
        "named": "\n".join(f"{what}: {listed(names)}." for what, names in named if names),
        "workspace": "" if around.files else "The workspace is empty.",
    }


def listed(names: Iterable[str]) -> str:
    """Return names on one line; of many the first."""
    shown = [str(one_line(name, 80)) for name in names]
    more = len(shown) - _NAMED
    return ", ".join(shown[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def specialist_prompt(role: Role, roles: Roles | None = None) -> str:
    """Return what an agent of a role is told; `roles` are those that it may hand parts to, None: none."""
    more = []
    if "build_tool" in role.actions:
        more.append(
            f"Tools run in a sandbox and reach nothing but their arguments, unless the person grants it:\n{_grants()}\n"
        )
    if roles is not None:
        more.append(director_prompt(roles))
    frame = _text("specialist")
    return frame.replace("{role}", role.prompt.strip()).replace("{more}", "\n".join(("", *more)))


def director_prompt(roles: Roles) -> str:
    """Return what an agent that may hand parts on is told of it."""
    listed = "\n".join(f"- {role.name}: {role.purpose}" for role in roles)
    return _text("director").replace("{roles}", listed)


def _text(name: str) -> str:
    return files("alita_tui.agent.prompts").joinpath(f"{name}.md").read_text("utf-8").strip()
