"""The prompts of agents, rendered from the tables that the code enforces: grants, settings, library, date."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from importlib.resources import files

from alita_tui.agent.role import Role, Roles
from alita_tui.events import Value
from alita_tui.spine.grants import offered
from alita_tui.spine.ports.context import BlockName
from alita_tui.spine.text import counted, one_line

_NAMED = 12
"""Most names of a kind that are listed; beyond that only their number is given."""


class Surroundings(Value, frozen=True):
    """Facts outside the conversation when a task begins."""

    today: str = ""
    """The person's local date, ISO 8601; if empty, the prompt has none."""
    place: str = ""
    """The person's time zone and locale."""
    tools_run_on: str = ""
    """Python and platform of the sandbox."""
    tools: int = 0
    """Tools in the library."""
    hosts: tuple[str, ...] = ()
    """Hosts that the person named in settings, rules or approvals, as grants are written."""
    secrets: tuple[str, ...] = ()
    """Names of the secrets that are stored for tools."""
    browser: bool = False
    """Whether tools may be granted a browser."""
    files: tuple[str, ...] = ()
    """Names in the workspace; they are untrusted, so they go into the conversation, not the prompt."""


def orchestrator_prompt(around: Surroundings, off: Collection[str] = ()) -> str:
    """Return the whole prompt without the blocks that are off."""
    surroundings = "\n".join(text for name, text in sections(around).items() if text and name not in off)
    return _template(browser=around.browser).replace("{surroundings}", surroundings)


def instructions() -> str:
    """Return the part of the prompt that cannot be switched off."""
    return _template(browser=False).replace("{surroundings}", "")


def _template(*, browser: bool) -> str:
    return _text("orchestrator").replace("{grants}", _grants(browser=browser))


def _grants(*, browser: bool) -> str:
    return "\n".join(f"- {field}: {usage}" for field, usage in offered(browser=browser).items())


def sections(around: Surroundings) -> dict[BlockName, str]:
    """Return the blocks that are part of the prompt."""
    when = f"Today is {around.today}{around.place and f' ({around.place})'}." if around.today else ""
    where = f"Tools run on {around.tools_run_on}." if around.tools_run_on else ""
    named_lists = (
        ("Hosts that the person named", around.hosts),
        ("Secrets kept for tools", around.secrets),
    )
    return {
        "environment": " ".join(filter(None, (when, where))),
        "library": f"The library has {counted(around.tools, 'tool')}."
        if around.tools
        else "The library is empty: there is nothing to find in it yet.",
        "named": "\n".join(f"{label}: {listed(names)}." for label, names in named_lists if names),
        "workspace": "" if around.files else "The workspace is empty.",
    }


def listed(names: Iterable[str]) -> str:
    """Return names on one line, the first ones of many."""
    short_names = [str(one_line(name, 80)) for name in names]
    more = len(short_names) - _NAMED
    return ", ".join(short_names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def specialist_prompt(role: Role, roles: Roles | None = None, *, browser: bool = False) -> str:
    """Return the prompt of an agent with a role; `roles` are those that it may delegate to, or None.

    `browser`: whether tools may be granted one.
    """
    more = []
    if "build_tool" in role.actions:
        reach = "Tools run in a sandbox and reach nothing but their arguments, unless the person grants it:"
        more.append(f"{reach}\n{_grants(browser=browser)}\n")
    if roles is not None:
        more.append(director_prompt(roles))
    frame = _text("specialist")
    return frame.replace("{role}", role.prompt.strip()).replace("{more}", "\n".join(("", *more)))


def director_prompt(roles: Roles) -> str:
    """Return the part of the prompt for an agent that may delegate."""
    listed = "\n".join(f"- {role.name}: {role.purpose}" for role in roles)
    return _text("director").replace("{roles}", listed)


def _text(name: str) -> str:
    return files("alita_tui.agent.prompts").joinpath(f"{name}.md").read_text("utf-8").strip()
