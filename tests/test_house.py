"""What the house says of itself is true: plaques, documents, colours, keys."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer import Context
from typer.core import TyperGroup
from typer.main import get_command

import alita_tui
from alita_tui.cli.main import cli
from alita_tui.console.action_table import ACTIONS

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "alita_tui"
SOURCES = [path for path in PACKAGE.rglob("*.py") if "_shipped" not in path.parts]
ROOMS = sorted(path.parent for path in PACKAGE.glob("*/__init__.py") if path.parent.name != "events")


DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_package_s_init_holds_one_short_docstring_only(room: Path) -> None:
    tree = ast.parse((room / "__init__.py").read_text())
    said = ast.get_docstring(tree)
    assert said and len(said.splitlines()) <= 6
    assert len(tree.body) == 1


@pytest.mark.parametrize(
    "path", [ROOT / "ARCHITECTURE.md", ROOT / "SECURITY.md", *DOCUMENTS], ids=lambda path: path.name
)
def test_a_document_names_what_there_is(path: Path) -> None:
    text = re.sub(r"(?s)```.*?```", "", path.read_text())
    code = "\n".join(path.read_text() for path in SOURCES) + (ROOT / "Makefile").read_text()
    code += (ROOT / "pyproject.toml").read_text()
    named = set(re.findall(r"`([^`\s]+)`", text))
    files = {
        one
        for one in named
        if re.fullmatch(r"[\w/.]+\.(py|md|toml|json)|(tests|alita_tui)/[\w/]+", one) and "/" in one
    }
    missing = {one for one in files if not (PACKAGE / one).exists() and not (ROOT / one).exists()}
    modules = {path.name for folder in (PACKAGE, ROOT / "tests") for path in folder.rglob("*.py")}
    missing |= {one for one in named if re.fullmatch(r"\w+\.py", one) and one not in modules}
    names = {one for one in named if re.fullmatch(r"[A-Za-z]\w*[a-z]([._][a-z]|[A-Z])[\w.]*", one)} - files
    missing |= {one for one in names if not re.search(rf"\b{re.escape(one.rsplit('.')[-1])}\b", code)}
    assert missing == set()


def test_colours_come_from_themes() -> None:
    strays = {
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in (*(PACKAGE / "console").rglob("*.py"), *(PACKAGE / "console").rglob("*.tcss"))
        for found in re.finditer(r"(?<![\w&])#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b(?!;base)", path.read_text())
    }
    assert strays <= {"alita_tui/console/themes.py: #1a2b3c"}  # an example in a message


def test_every_action_says_what_it_does() -> None:
    assert {one.id for one in ACTIONS if not one.tooltip or not one.label} == set()
    assert len({one.id for one in ACTIONS}) == len(ACTIONS)


def test_the_changelog_lists_this_version() -> None:
    said = (ROOT / "CHANGELOG.md").read_text()
    released = re.findall(r"(?m)^## \[(\d[^\]]*)\]", said)
    assert released[0] == alita_tui.__version__
    assert said.index("## [Unreleased]") < said.index(f"## [{released[0]}]")


def test_no_module_is_longer_than_it_should_be() -> None:
    lengths = {path.relative_to(PACKAGE).as_posix(): len(path.read_text().splitlines()) for path in SOURCES}
    whole = {"console/action_table.py"}  # one table of all actions
    assert {path for path, lines in lengths.items() if lines > 430} <= whole


def named_commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command that a document names, with its subcommand: `alita tools list | show NAME` names two."""
    for line in re.findall(r"(?:^|`|; )alita ([a-z][^`#\n;]*)", text, re.MULTILINE):
        first, *others = re.split(r"\s*\|\s*", line.strip())
        name, *rest = first.split()
        for words in (rest, *(other.split() for other in others)):
            yield name, words[0] if words and re.fullmatch(r"[a-z][a-z-]*", words[0]) else ""


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_names_commands_that_exist(path: Path) -> None:
    root = get_command(cli)
    assert isinstance(root, TyperGroup)
    for name, subcommand in named_commands(path.read_text()):
        command = root.get_command(Context(root), name)
        assert command is not None, name
        if isinstance(command, TyperGroup) and subcommand:
            assert command.get_command(Context(command), subcommand) is not None, (name, subcommand)
