"""The names that a module binds and imports, as far as they are literals. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from alita_tui.confined.syntax import Node

FUNCTIONS = ("function_declaration", "function_expression", "arrow_function", "method_definition",
             "generator_function_declaration", "generator_function")  # fmt: skip


@cache
def table() -> dict[str, Any]:
    """Return the table of node's names and modules."""
    import tomllib

    return tomllib.loads(files(__package__ or "").joinpath("reach.toml").read_text("utf-8"))


@cache
def known(key: str) -> frozenset[str]:
    """Return a list of names."""
    return frozenset(table()[key].split())


@cache
def module_kind(name: str) -> str:
    """Return the kind of one of node's own modules; an empty string for any other module."""
    if name in known("prefixed"):
        return ""
    bare_name = name.removeprefix("node:")
    return next((kind for kind, names in table()["modules"].items() if bare_name in names.split()), "")


def package_of(name: str) -> str:
    """Return the package of npm that an import is from, as `@a/b` of `@a/b/c`.

    Empty for an address, for node's own modules, and for a path that may lead out of the package; node reads it as
    part of a URL.
    """
    parts = name.split("/")
    if name.startswith("#") or set(name) & set(":%\\?") or {"", ".", ".."} & set(parts):
        return ""
    return "/".join(parts[: 2 if name.startswith("@") else 1])


def text_of(node: Node | None) -> str | None:
    """Return the text of a literal; None for anything else, and for a literal with escapes."""
    if node is None or node.kind not in ("string", "template_string"):
        return None
    if any(child.kind in ("template_substitution", "escape_sequence") for child in node.children):
        return None
    return node.text[1:-1]


def imports(tree: Node) -> Iterator[tuple[str | None, int]]:
    """Yield the name of each imported module with its line; None for a name that is not a literal."""
    for node in tree.walk():
        if (
            node.kind in ("import_statement", "export_statement")
            and (source := node.child("source")) is not None
        ):
            if not re.match(r"(import|export)\s+type\b", node.text):
                yield text_of(source), node.line
        elif node.kind == "call_expression" and (function := node.child("function")) is not None:
            if function.kind == "import":
                arguments = node.child("arguments")
                first = arguments.parts()[0] if arguments is not None and arguments.parts() else None
                yield text_of(first), node.line


def bound(tree: Node) -> set[str]:
    """Return every name that the module binds."""
    own_names: set[str] = set()
    for node in tree.walk():
        parent = node.parent
        if parent is None or node.kind not in ("identifier", "shorthand_property_identifier_pattern"):
            continue
        if node.kind == "shorthand_property_identifier_pattern":
            own_names.add(node.text)
        elif node.field == "name" and parent.kind in ("variable_declarator", "class_declaration", *FUNCTIONS):
            own_names.add(node.text)
        elif node.field in ("pattern", "parameter", "alias") or parent.kind in (
            "formal_parameters", "import_clause", "import_specifier", "namespace_import", "array_pattern",
            "rest_pattern", "object_pattern", "pair_pattern", "catch_clause", "class",
        ):  # fmt: skip
            own_names.add(node.text)
        elif node.field == "left" and parent.kind in ("assignment_pattern", "for_in_statement"):
            own_names.add(node.text)
        elif node.field == "parameter" or (node.field == "name" and parent.kind == "enum_declaration"):
            own_names.add(node.text)
    return own_names


def run_function(tree: Node) -> list[Node]:
    """Return the exported functions called `run`."""
    functions = []
    for node in tree.parts():
        if node.kind == "export_statement" and (declaration := node.child("declaration")) is not None:
            name = declaration.child("name")
            if declaration.kind == "function_declaration" and name is not None and name.text == "run":
                functions.append(declaration)
    return functions


def is_main(node: Node) -> bool:
    """Return True for the part that runs when the file is a program."""
    condition = node.child("condition") if node.kind == "if_statement" else None
    return condition is not None and re.sub(r"\s", "", condition.text) == "(import.meta.main)"


def in_main(node: Node) -> bool:
    """Return True for a node in that part."""
    return is_main(node) or any(is_main(ancestor) for ancestor in node.above())
