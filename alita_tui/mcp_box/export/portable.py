"""A tool to export: what goes with its code, and whether it runs without alita. Pure."""

from __future__ import annotations

import re

from alita_tui.events import Json, ToolRecord, Value
from alita_tui.spine.errors import UsageError
from alita_tui.spine.examples import Example, example_in_tests
from alita_tui.spine.grants import BROKER, phrases

_OPTIONAL = re.compile(rf"""environ\.get\(\s*['"]{BROKER}['"]|getenv\(\s*['"]{BROKER}['"]""")
"""Matches code that looks for alita's broker and works without it."""


class PortableTool(Value, frozen=True):
    """A tool with the facts that its recipient needs. All texts are redacted."""

    record: ToolRecord
    manifest: Json
    """The content of `<name>.mcp.json`."""
    needs: tuple[str, ...] = ()
    """Needs that it has met, newest first."""
    reliability: str = ""
    approved_at: str = ""
    """ISO 8601, UTC."""

    @property
    def name(self) -> str:
        """The tool's name."""
        return str(self.record.draft.name)

    @property
    def example(self) -> Example | None:
        """A call from its own tests."""
        return example_in_tests(self.record.draft)

    @property
    def may(self) -> tuple[str, ...]:
        """What it was granted in this library, in words."""
        return phrases(self.record.granted)


def check_portable(record: ToolRecord) -> None:
    """Raise UsageError for a tool that only alita can run."""
    draft, capabilities = record.draft, record.draft.capabilities
    name = draft.name
    if record.origin == "remote":
        raise UsageError(
            f"{name} is a tool of a server, which cannot be handed on.",
            hint="Whoever wants it adds the server: alita mcp add",
        )
    if capabilities.tools:
        raise UsageError(
            f"{name} calls other tools, and only alita carries such calls.",
            hint="Hand on those tools, its recipe as a skill, or all of them as a pack for another alita.",
        )
    as_pack = f"Hand it on as a pack: alita tools export FILE {name}"
    if capabilities.model_calls:
        raise UsageError(f"{name} asks a model, and only alita carries such calls.", hint=as_pack)
    if capabilities.browser:
        raise UsageError(f"{name} drives the browser of alita's sandbox.", hint=as_pack)
    if capabilities.workspace != "none" and not _OPTIONAL.search(draft.code):
        raise UsageError(f"{name} reaches its files through alita alone.", hint=as_pack)
