"""A command group that imports a command's module when the command is used, not before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup


class Target(NamedTuple):
    """Where a command is defined, and its line in the list of commands."""

    place: str
    """`module:name`, of a function or a `typer.Typer`."""
    summary: str


def group() -> typer.Typer:
    """Return a group of commands that prints its help when no command is given."""
    return typer.Typer(no_args_is_help=True, rich_markup_mode=None)


class LazyCommands(Mapping[str, Any]):
    """Commands by name, each imported when it is looked up."""

    def __init__(self, targets: Mapping[str, Target]) -> None:
        self._targets = targets

    def __getitem__(self, name: str) -> Any:
        place, summary = self._targets[name]
        module, _, attribute = place.partition(":")
        command = getattr(import_module(module), attribute)
        if not isinstance(command, typer.Typer):
            single = typer.Typer(add_completion=False, rich_markup_mode=None)
            single.command(name)(command)
            return typer.main.get_command(single)
        command_group = typer.main.get_group(command)
        command_group.name, command_group.help = name, summary
        return command_group

    def __iter__(self) -> Iterator[str]:
        return iter(self._targets)

    def __len__(self) -> int:
        return len(self._targets)


class LazyGroup(TyperGroup):
    """A group that prints its help from its targets' summaries, without importing them."""

    targets: Mapping[str, Target] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = LazyCommands(self.targets)  # type: ignore[assignment]  # nothing is added to it later

    def list_commands(self, ctx: object) -> list[str]:
        """Return the names in the order of the table."""
        return list(self.targets)

    def format_commands(self, ctx: object, formatter: Any) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, target.summary) for name, target in self.targets.items()])
