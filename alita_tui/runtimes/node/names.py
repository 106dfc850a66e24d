"""What a module says, as far as it is written out: names that it binds, imports and uses. Pure."""

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
    """Return what is known of node's names and modules."""
    import tomllib

    return tomllib.loads(files(__package__ or "").joinpath("reach.toml").read_text("utf-8"))


@cache
def known(key: str) -> frozenset[str]:
    """Return a list of names."""
    return frozenset(table()[key].split())


@cache
def module_kind(name: str) -> str:
    """Return the kind of one of node's own modules; empty for another one."""
    if name in known("prefixed"):
        return ""
    plain = name.removeprefix("node:")
    return next((kind for kind, listed in table()["modules"].items() if plain in listed.split()), "")


def package_of(name: str) -> str:
    """Return the package of npm that an import is from, as `@a/b` of `@a/b/c`.

    Empty for an address, for node's own, and for what may lead out of the package: a path is read as that of a URL.
    """
    parts = name.split("/")
    if name.startswith("#") or set(name) & set(":%\\?") or {"", ".", ".."} & set(parts):
        return ""
    return "/".join(parts[: 2 if name.startswith("@") else 1])


def text_of(node: Node | None) -> str | None:
    """Return the text that a literal stands for; None for what is none, or is written in escapes."""
    if node is None or node.kind not in ("string", "template_string"):
        return None
    if any(child.kind in ("template_substitution", "escape_sequence") for child in node.children):
        return None
    return node.text[1:-1]


def imports(tree: Node) -> Iterator[tuple[str | None, int]]:
    """Yield what is imported, with its line; None for what is not written out."""
    for node in tree.walk():
        if (
            node.kind in ("import_statement", "export_statement")
            and (source := node.child("source")) is not None
        ):
            if not re.match(r"(import|export)\s+type\b", node.text):
                yield text_of(source), node.line
        elif node.kind == "call_expression" and (called := node.child("function")) is not None:
            if called.kind == "import":
                given = node.child("arguments")
                first = given.parts()[0] if given is not None and given.parts() else None
                yield text_of(first), node.line


def bound(tree: Node) -> set[str]:
    """Return every name that the module gives to something of its own."""
    found: set[str] = set()
    for node in tree.walk():
        above = node.parent
        if above is None or node.kind not in ("identifier", "shorthand_property_identifier_pattern"):
            continue
        if node.kind == "shorthand_property_identifier_pattern":
            found.add(node.text)
        elif node.field == "name" and above.kind in ("variable_declarator", "class_declaration", *FUNCTIONS):
            found.add(node.text)
        elif node.field in ("pattern", "parameter", "alias") or above.kind in (
            "formal_parameters", "import_clause", "import_specifier", "namespace_import", "array_pattern",
            "rest_pattern", "object_pattern", "pair_pattern", "catch_clause", "class",
        ):  # fmt: skip
            found.add(node.text)
        elif node.field == "left" and above.kind in ("assignment_pattern", "for_in_statement"):
            found.add(node.text)
        elif node.field == "parameter" or (node.field == "name" and above.kind == "enum_declaration"):
            found.add(node.text)
    return found


def run_function(tree: Node) -> list[Node]:
    """Return the exported functions called `run`."""
    found = []
    for node in tree.parts():
        if node.kind == "export_statement" and (made := node.child("declaration")) is not None:
            name = made.child("name")
            if made.kind == "function_declaration" and name is not None and name.text == "run":
                found.append(made)
    return found


def is_main(node: Node) -> bool:
    """Return True for the part that runs when the file is a program."""
    condition = node.child("condition") if node.kind == "if_statement" else None
    return condition is not None and re.sub(r"\s", "", condition.text) == "(import.meta.main)"


def in_main(node: Node) -> bool:
    """Return True for what stands in that part."""
    return is_main(node) or any(is_main(one) for one in node.above())
