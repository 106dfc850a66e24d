"""The contract of a module: one exported, typed `run(input)` whose properties are those of the schema."""

from __future__ import annotations

import re
from collections.abc import Iterator

from alita_tui.confined.syntax import Node
from alita_tui.events import ToolDraft
from alita_tui.runtimes.node.names import FUNCTIONS, imports, module_kind, package_of, run_function
from alita_tui.runtimes.notes import Notes
from alita_tui.runtimes.parsing import parsed_tree
from alita_tui.runtimes.signature import match_schema
from alita_tui.spine.requirements import NPM, distribution

_DOCUMENTED = re.compile(r"@param\s+\{([^}]*)\}\s+(\[?)\w+\.(\w+)")
_INLINE = re.compile(r"@param\s+\{\{(.*?)\}\}\s+\w+", re.DOTALL)
_CODE = frozenset(("call_expression", "arguments", "binary_expression", "member_expression", "array", "pair"))
_WORK = frozenset(
    "expression_statement for_statement while_statement for_in_statement throw_statement do_statement "
    "labeled_statement statement_block switch_statement try_statement".split()
)
"""Statements that do something when the module is imported."""
_PROPERTY = re.compile(r"(?:^|[,;])\s*(\w+)(\?)?\s*:")


def parsed(notes: Notes, code: str, language: str) -> Node | None:
    """Return the tree of a module; None where it cannot be parsed, which is reported."""
    return parsed_tree(notes, code, language, f"no {language} module")


def note_contract(notes: Notes, tree: Node, draft: ToolDraft) -> None:
    """Report problems of `run`, of imports, and of work at import time."""
    runs = run_function(tree)
    if len(runs) != 1:
        notes.block(
            "contract", f"there has to be one `export async function run(input)`; there are {len(runs)}"
        )
        return
    (run,) = runs
    parameters_node = run.child("parameters")
    parameters = parameters_node.parts() if parameters_node is not None else []
    if len(parameters) != 1 or "*" in [child.kind for child in run.children]:
        notes.block("contract", "run takes one parameter, the object with the arguments", run.line)
        return
    input_properties = properties(tree, run)
    if input_properties is None:
        text = "run(input) says in types, of TypeScript or of JSDoc, which properties its input has"
        notes.block("contract", text, run.line)
    else:
        required = {name for name, optional in input_properties.items() if not optional}
        match_schema(notes, set(input_properties), required, draft.input_schema, run.line)
    _note_imports(notes, tree, draft)
    for node in tree.parts():
        if node.kind in _WORK or _works_at_import(node):
            notes.add(
                "medium", "contract", f"work at import time: {node.text[:40].splitlines()[0]}", node.line
            )
    for name, line in _exported(tree):
        if name in ("then", "*"):
            notes.block(
                "contract", f"exports {name}: then whoever imports it gets another run than this one", line
            )
    for node in tree.walk():
        if node.kind in ("enum_declaration", "internal_module", "import_alias", "decorator"):
            notes.block("contract", f"{node.kind.replace('_', ' ')}: node only takes types away", node.line)
        elif node.kind == "accessibility_modifier" and any(
            ancestor.kind == "formal_parameters" for ancestor in node.above()
        ):
            notes.block("contract", "a parameter property: node only takes types away", node.line)


def _note_imports(notes: Notes, tree: Node, draft: ToolDraft) -> None:
    """Report imports that neither node nor a requirement provides, and requirements that nothing imports."""
    required = {name for requirement in draft.requirements if (name := distribution(requirement))}
    imported: set[str] = set()
    for name, line in imports(tree):
        if name is None:
            continue  # not written out, which is reported as such
        if name.startswith((".", "/", "file:", "data:", "http")):
            notes.block("ast/imports", f"imports {name[:60]}: a tool is one module", line)
        elif module_kind(name):
            continue
        elif (package := package_of(name)) and f"{NPM}{package}" in required:
            imported.add(f"{NPM}{package}")
        elif package:
            text = f"imports {name[:60]}: neither node has it nor do the requirements name {package[:60]}"
            notes.block("ast/imports", text, line)
        else:
            notes.block("ast/imports", f"imports {name[:60]}, which node does not have", line)
    if unused := sorted(required - imported):
        notes.add("low", "ast/imports", f"nothing imports what these provide: {', '.join(unused)}")


def _exported(tree: Node) -> Iterator[tuple[str, int]]:
    """Yield the names that the module exports, with their lines; `*` for all of another one."""
    for node in tree.parts():
        if node.kind != "export_statement":
            continue
        if any(child.text == "*" or child.kind == "namespace_export" for child in node.children):
            yield "*", node.line
        declaration = node.child("declaration")
        for part in (declaration or node).walk():
            if part.kind == "export_specifier":
                yield (part.child("alias") or part.child("name") or part).text.strip("\"'"), part.line
            elif (
                part.kind in ("identifier", "shorthand_property_identifier_pattern")
                and declaration is not None
            ):
                if part.parent is declaration or (part.parent is not None and part.parent.kind not in _CODE):
                    yield part.text, part.line


def _works_at_import(node: Node) -> bool:
    """Return whether a declaration calls a function of the module, or awaits, when the module is imported."""
    declaration = node.child("declaration") or node
    if declaration.kind not in ("lexical_declaration", "variable_declaration"):
        return False
    for part in declaration.walk():
        if any(ancestor.kind in FUNCTIONS for ancestor in part.above()):
            continue
        function = part.child("function") if part.kind == "call_expression" else None
        if part.kind == "await_expression" or (
            function is not None and function.kind == "parenthesized_expression"
        ):
            return True
    return False


def properties(tree: Node, run: Node) -> dict[str, bool] | None:
    """Return the properties of the input and whether each is optional; None where no type defines them."""
    parameters_node = run.child("parameters")
    parameter = (
        parameters_node.parts()[0] if parameters_node is not None and parameters_node.parts() else None
    )
    type_node = parameter.child("type") if parameter is not None else None
    if type_node is not None:
        shape = type_node.parts()[0] if type_node.parts() else None
        if shape is not None and shape.kind == "type_identifier":
            shape = _named(tree, shape.text)
        if shape is None or shape.kind not in ("object_type", "interface_body"):
            return None
        optional_by_name = {}
        for member in shape.parts():
            name = member.child("name")
            if member.kind == "property_signature" and name is not None:
                optional_by_name[name.text.strip("\"'")] = any(part.kind == "?" for part in member.children)
        return optional_by_name
    exported = run.parent
    comments = [
        child
        for child in tree.children
        if exported is not None and child.kind == "comment" and child.end <= exported.start
    ]
    if not comments or not comments[-1].text.startswith("/**"):
        return None
    comment = re.sub(r"\n\s*\*", "\n", comments[-1].text)
    if inline := _INLINE.search(comment):
        return {name: bool(optional) for name, optional in _PROPERTY.findall(inline[1])}
    documented = {
        name: bool(bracket) or "=" in type_node for type_node, bracket, name in _DOCUMENTED.findall(comment)
    }
    return documented or ({} if re.search(r"@param\s+\{\s*(object|Object|\{\})\s*\}", comment) else None)


def _named(tree: Node, name: str) -> Node | None:
    for node in tree.walk():
        name_node = (
            node.child("name") if node.kind in ("interface_declaration", "type_alias_declaration") else None
        )
        if name_node is not None and name_node.text == name:
            return node.child("body") or node.child("value")
    return None
