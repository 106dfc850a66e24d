"""Tools that come with alita. A person approves each of them before it runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from alita_tui.events import Capabilities, Json, ToolDraft, ToolName, Value, ready
from alita_tui.spine.errors import RegistryError, UsageError
from alita_tui.spine.grants import canonical, faults
from alita_tui.spine.text import one_line


class _Facts(Value, frozen=True):
    """The file beside a starter's code."""

    description: str
    input_schema: Json
    output_schema: Json
    requirements: tuple[str, ...] = ()
    """PEP 508; the same as in the head of its code."""
    capabilities: Capabilities = Capabilities()
    hosts_at_approval: bool = False
    """True if hosts and secrets are chosen at approval; `capabilities` then holds the others."""


class Starters:
    """The folder of starters."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> tuple[str, ...]:
        """Return all names, sorted."""
        return tuple(
            sorted(path.name for path in self._folder.iterdir() if (path / f"{path.name}.py").exists())
        )

    def takes_hosts(self, name: str) -> bool:
        """Return True if hosts and secrets are chosen when it is approved. Raises RegistryError."""
        return self._facts(name).hosts_at_approval

    def draft(self, name: str, hosts: Iterable[str] = (), secrets: Iterable[str] = ()) -> ToolDraft:
        """Return the tool with the chosen hosts and secrets.

        Raises RegistryError for an unknown name, UsageError for hosts or secrets that cannot be granted.
        """
        facts = self._facts(name)
        chosen = Capabilities(network=tuple(hosts), secrets=tuple(secrets))
        if not chosen.none and not facts.hosts_at_approval:
            raise UsageError(f"{name} reaches no host.", hint="Leave --host and --secret out.")
        if problems := faults(chosen):
            raise UsageError(
                "; ".join(problems), hint="Write for example --host GET,HEAD api.example.org:443"
            )
        granted = facts.capabilities
        if facts.hosts_at_approval:
            granted = canonical(
                msgspec.structs.replace(granted, network=chosen.network, secrets=chosen.secrets)
            )
        folder = self._folder / name
        return ToolDraft(
            name=ToolName(name),
            description=facts.description,
            code=(folder / f"{name}.py").read_text("utf-8"),
            tests=(folder / f"test_{name}.py").read_text("utf-8"),
            requirements=facts.requirements,
            input_schema=facts.input_schema,
            output_schema=facts.output_schema,
            capabilities=granted,
        )

    def _facts(self, name: str) -> _Facts:
        if name not in self.names():
            raise RegistryError(
                f"There is no starter {one_line(name, 60)}.", hint="`alita tools starters` lists them."
            )
        return msgspec.json.decode((self._folder / name / f"{name}.json").read_bytes(), type=ready(_Facts))
