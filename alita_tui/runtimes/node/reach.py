"""Finds what a module could access. A name that is not a literal counts as able to touch anything."""

from __future__ import annotations

import re
from collections.abc import Iterator

from alita_tui.confined.syntax import Node
from alita_tui.events import ToolDraft
from alita_tui.runtimes.file_parameters import leaves_files, takes_files
from alita_tui.runtimes.node.computed_lookups import ComputedLookups, plain_index
from alita_tui.runtimes.node.global_changes import global_changes
from alita_tui.runtimes.node.names import FUNCTIONS, bound, imports, is_main, known, module_kind
from alita_tui.runtimes.notes import Notes

ANYTHING = "so it can do anything that node can"
_CONSOLE = frozenset("log error warn info debug table dir group groupEnd assert".split())
_NAMES = frozenset(
    "identifier shorthand_property_identifier property_identifier private_property_identifier".split()
)
_COMPUTED = frozenset("subscript_expression sequence_expression ternary_expression binary_expression".split())
_MADE_HERE = frozenset("function_expression arrow_function import".split())
_OWN_PROCESS = frozenset(("stdout", "stderr", "cwd", "versions", "version", "hrtime", "memoryUsage"))


_INSIDE = re.compile(r"/proc/|/dev/(fd|mem|stdin)\b|/sys/")
"""Paths that expose the process itself: its memory holds its code, with the secret sign of its marks."""


def note_uses(notes: Notes, tree: Node, draft: ToolDraft) -> None:
    """Report what the module accesses beyond its declaration."""
    capabilities = draft.capabilities
    _note_imports(notes, tree, draft)
    own_names = bound(tree)
    functions = {
        name_node.text
        for node in tree.walk()
        if node.kind in FUNCTIONS and (name_node := node.child("name")) is not None
    }
    lookups = ComputedLookups(tree)
    _note_places(notes, tree)
    for node in _walk(tree):
        if node.kind in _NAMES and "\\" in node.text:
            notes.dynamic(f"{node.text[:40]}: a name written in escapes, {ANYTHING}", node.line)
        _note_key(notes, node)
        if node.kind in ("identifier", "shorthand_property_identifier"):
            _note_name(notes, node, draft, own_names)
        elif node.kind == "member_expression":
            _note_member(notes, node, functions)
        elif node.kind == "subscript_expression":
            _note_subscript(notes, node)
        elif node.kind == "class_heritage":
            _note_heritage(notes, node)
        elif (
            node.kind == "computed_property_name"
            and node.parent is not None
            and node.parent.kind == "pair_pattern"
        ):
            notes.dynamic(
                f"{node.text[:40]}: takes a property by a name that is not written out, {ANYTHING}", node.line
            )
        elif node.kind == "meta_property" and "import" in node.text:
            notes.introspection(f"{node.text[:40]}: looks at its own file", node.line)
        elif node.kind == "call_expression":
            _note_call(notes, node, lookups, functions)
        elif node.kind == "new_expression":
            _note_new(notes, node)
        elif node.kind == "import" and node.parent is not None and node.parent.kind == "member_expression":
            notes.introspection(f"{node.parent.text[:40]}: looks at its own file", node.line)
    _note_whole(notes, tree, own_names, lookups)
    if capabilities.none and "ALITA_BROKER" in draft.code:
        notes.add("medium", "ast/environment", "ALITA_BROKER: the broker, of which nothing is asked", 0)


def _note_whole(notes: Notes, tree: Node, own_names: set[str], lookups: ComputedLookups) -> None:
    """Report what only an analysis of the whole module shows."""
    for callee in lookups.called(tree):
        text = f"{callee.text[:40]}(): calls what is not written out, {ANYTHING}"
        notes.dynamic(text, callee.line)
    for name, line in global_changes(tree, own_names):
        text = f"{name[:40]}: changes a part of node for all that runs with it, {ANYTHING}"
        notes.dynamic(text, line)


def _note_key(notes: Notes, node: Node) -> None:
    """Report a property that is read from or put into an object by a name that leads to code or objects."""
    parent = node.parent
    if parent is None:
        return
    is_key = node.field == "key" and parent.kind in ("pair_pattern", "pair")
    if not is_key and node.kind != "shorthand_property_identifier_pattern":
        return
    name = node.text.strip("\"'")
    if name in known("members") or name == "prototype":
        text = f"{parent.text[:40]}: leads to what makes code and objects, {ANYTHING}"
        notes.dynamic(text, node.line)
    elif name in known("inside") and parent.kind != "pair":
        notes.introspection(f"{name}: looks at where it runs", node.line)


def _note_heritage(notes: Notes, node: Node) -> None:
    parts = [
        inner
        for part in node.parts()
        for inner in (part.parts() if part.kind == "extends_clause" else [part])
    ]
    if parts and parts[0].kind not in ("identifier", "member_expression"):
        text = f"{node.text[:40]}: builds on what is not written out, {ANYTHING}"
        notes.dynamic(text, node.line)


def _note_new(notes: Notes, node: Node) -> None:
    maker, arguments = node.child("constructor"), node.child("arguments")
    while maker is not None and maker.kind == "parenthesized_expression" and maker.parts():
        maker = maker.parts()[-1]
    if maker is not None and maker.kind not in ("identifier", "member_expression"):
        notes.dynamic(f"new {maker.text[:40]}: makes what is not written out, {ANYTHING}", node.line)
    if maker is not None and maker.text == "Date" and (arguments is None or not arguments.parts()):
        notes.add("medium", "ast/clock", "new Date(): the result depends on when it runs", node.line)


def _walk(tree: Node) -> Iterator[Node]:
    """Yield every node except those of the main part."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if is_main(node) and node.parent is tree:
            continue
        yield node
        pending += reversed(node.children)


def _note_places(notes: Notes, tree: Node) -> None:
    for line, text in _strings(tree):
        if match := _INSIDE.search(text):
            notes.introspection(f"{match[0]}: looks into what runs it", line)


def _note_imports(notes: Notes, tree: Node, draft: ToolDraft) -> None:
    capabilities = draft.capabilities
    for name, line in imports(tree):
        if name is None:
            notes.dynamic(f"imports what is not written out, {ANYTHING}", line)
            continue
        kind = module_kind(name)
        if kind == "network" and not capabilities.network:
            notes.add("high", "ast/network", f"{name}: talks to hosts, and none is asked for", line)
        elif kind == "files" and not (
            takes_files(draft) or leaves_files(draft) or capabilities.workspace != "none"
        ):
            notes.add("high", "ast/files", f"{name}: reads and changes files", line)
        elif kind == "process":
            notes.add("high", "ast/process", f"{name}: starts processes or looks at them", line)
        elif kind == "dynamic":
            notes.dynamic(f"{name}: runs text as code, {ANYTHING}", line)
        elif kind == "introspection":
            notes.introspection(f"{name}: looks into what runs it", line)


def _note_name(notes: Notes, node: Node, draft: ToolDraft, own_names: set[str]) -> None:
    name, line, capabilities = node.text, node.line, draft.capabilities
    if name in known("dynamic"):
        notes.dynamic(f"{name}: runs text as code or reaches every name, {ANYTHING}", line)
    elif name == "process":
        parent = node.parent
        member = (
            parent.child("property") if parent is not None and parent.kind == "member_expression" else None
        )
        if member is None or node.field != "object":
            notes.dynamic(f"process: is handed on, {ANYTHING}", line)
        elif member.text == "env":
            if not (capabilities.secrets or capabilities.brokered):
                notes.add("medium", "ast/environment", "process.env: is read", line)
        elif member.text not in _OWN_PROCESS:
            notes.introspection(f"process.{member.text[:40]}: acts on what runs it", line)
    elif name in known("network"):
        if not (capabilities.network or capabilities.brokered):
            notes.add("high", "ast/network", f"{name}: talks to hosts, and none is asked for", line)
    elif name in known("later"):
        notes.add("medium", "ast/later", f"{name}: runs later", line)
    elif name not in own_names and name not in known("plain"):
        notes.dynamic(f"{name[:40]}: comes from nowhere in this file, {ANYTHING}", line)


def _note_member(notes: Notes, node: Node, functions: set[str]) -> None:
    owner, member = node.child("object"), node.child("property")
    if owner is None or member is None:
        return
    name = member.text
    if name in known("members"):
        notes.dynamic(f".{name}: leads to what makes code and objects, {ANYTHING}", node.line)
    elif name in known("inside"):
        notes.introspection(f".{name}: looks at where it runs", node.line)
    elif name == "prototype":
        notes.dynamic(f"{node.text[:40]}: changes what others use, {ANYTHING}", node.line)
    elif owner.text == "console" and name not in _CONSOLE:
        notes.introspection(f"{node.text[:40]}: acts on what runs it", node.line)
    elif owner.text in ("process.stdout", "process.stderr") and name != "write":
        notes.introspection(f"{node.text[:40]}: acts on what runs it", node.line)
    elif name == "toString" and owner.text in functions:
        notes.introspection(f"{node.text[:40]}: reads its own code", node.line)
    elif (owner.text, name) in (("Date", "now"), ("performance", name)):
        notes.add("medium", "ast/clock", f"{owner.text}.now: the result depends on when it runs", node.line)
    elif (owner.text, name) in (("Math", "random"), ("crypto", "randomUUID"), ("crypto", "getRandomValues")):
        notes.add("medium", "ast/random", f"{owner.text}.{name}: the result depends on chance", node.line)
    elif name.startswith("toLocale") or owner.text == "Intl":
        notes.add("low", "ast/locale", f"{node.text[:40]}: depends on the locale", node.line)
    elif name in ("randomBytes", "randomInt", "randomFill", "randomFillSync", "generateKeyPairSync"):
        notes.add("medium", "ast/random", f".{name}: the result depends on chance", node.line)


def _note_subscript(notes: Notes, node: Node) -> None:
    owner, index = node.child("object"), node.child("index")
    if owner is None or index is None or plain_index(index):
        return
    parent = node.parent
    is_called = parent is not None and parent.kind == "call_expression" and node.field == "function"
    if is_called:
        notes.dynamic(f"{node.text[:40]}(): calls what is not written out, {ANYTHING}", node.line)
    elif owner.text in known("plain") | {"process"} or owner.kind in _MADE_HERE:
        notes.dynamic(f"{node.text[:40]}: a member that is not written out, {ANYTHING}", node.line)
    elif index.kind in ("binary_expression", "template_string", "string") or (
        index.kind == "call_expression" and "join" in index.text
    ):
        if index.kind != "binary_expression" or '"' in index.text or "'" in index.text or "`" in index.text:
            notes.dynamic(f"{node.text[:40]}: a name that is put together, {ANYTHING}", node.line)
    elif owner.kind == "subscript_expression" and parent is not None and parent.kind == "call_expression":
        inner = owner.child("index")
        if inner is not None and not plain_index(inner) and node.field == "function":
            notes.dynamic(f"{node.text[:40]}: calls what is not written out, {ANYTHING}", node.line)


def _note_call(notes: Notes, node: Node, lookups: ComputedLookups, functions: set[str]) -> None:
    function, arguments = node.child("function"), node.child("arguments")
    parts = arguments.parts() if arguments is not None else []
    if function is None:
        return
    while function.kind == "parenthesized_expression" and function.parts():
        function = function.parts()[-1]
        if function.kind in _COMPUTED:
            notes.dynamic(f"{function.text[:40]}(): calls what is not written out, {ANYTHING}", node.line)
    member = function.child("property") if function.kind == "member_expression" else None
    if member is not None and member.text in known("calls_back"):
        for part in parts:
            index = part.child("index") if part.kind == "subscript_expression" else None
            if (index is not None and not plain_index(index)) or (
                part.kind == "identifier" and part.text in lookups.names
            ):
                notes.dynamic(f"{part.text[:40]}: is called, and not written out, {ANYTHING}", node.line)
    if (
        function.text in ("setTimeout", "setInterval")
        and parts
        and parts[0].kind in ("string", "template_string")
    ):
        notes.dynamic(f"{function.text}: runs text as code, {ANYTHING}", node.line)
    if function.text == "String" and any(part.text in functions for part in parts):
        notes.introspection("String(): reads its own code", node.line)


def _strings(tree: Node) -> Iterator[tuple[int, str]]:
    """Yield the texts of the code, concatenated where the module concatenates them."""
    for node in tree.walk():
        if node.kind in ("string", "template_string"):
            yield node.line, node.text[1:-1]
        elif node.kind == "binary_expression" and (
            node.parent is None or node.parent.kind != "binary_expression"
        ):
            parts = [part.text[1:-1] for part in node.walk() if part.kind in ("string", "template_string")]
            if len(parts) > 1:
                yield node.line, "".join(parts)


def texts(tree: Node) -> Iterator[tuple[int, str]]:
    """Yield comments and texts, concatenated where the module concatenates them; names are split into words."""
    yield from _strings(tree)
    for node in tree.walk():
        if node.kind == "comment":
            yield node.line, re.sub(r"\n\s*\*?\s?", " ", node.text.strip("/*! \n"))
        elif node.kind in ("identifier", "property_identifier") and len(node.text) > 8:
            yield node.line, re.sub(r"([a-z])([A-Z])", r"\1 \2", node.text).replace("_", " ").lower()
