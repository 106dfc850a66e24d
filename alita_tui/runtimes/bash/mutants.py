"""Wrong versions of a script, and of the programs that it passes to jq, awk, sed and printf. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from alita_tui.confined.syntax import Node, syntax_tree
from alita_tui.runtimes.bash.form import STRICT
from alita_tui.runtimes.bash.programs import programs, sed_parts
from alita_tui.runtimes.bash.words import Command, commands, literal
from alita_tui.runtimes.port import Mutant
from alita_tui.runtimes.text_mutants import Change, mutants_of

_FLIPS = {
    "-eq": "-ne", "-ne": "-eq", "-lt": "-ge", "-ge": "-lt", "-gt": "-le", "-le": "-gt", "==": "!=", "!=": "==",
    "=": "!=", "-z": "-n", "-n": "-z", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "+": "-", "-": "+", "*": "+",
    "/": "*", "%": "*", "&&": "||", "||": "&&",
}  # fmt: skip
_EXPANDS = {"^^": ",,", ",,": "^^", "^": ",", ",": "^", "##": "%%", "%%": "##", "#": "%", "%": "#", "//": "/"}
"""Operators in expansions such as `${name^^}`; `/` and `//` differ only where a text occurs twice."""
_JQ = re.compile(
    r"""(?P<skip>[$.@]\w+|\#[^\n]*|error\("(?:[^"\\]|\\.)*"\)|"(?:[^"\\]|\\.)*"(?=\s*(?::|\])))"""
    r"""|(?P<text>"[^"\\\n]+")|(?P<open>"(?:[^"\\]|\\.)*")|(?P<op>==|!=|<=|>=|//|[<>+*/%-])"""
    r"""|(?P<number>(?<![\w.])\d+(?:\.\d+)?)"""
    r"""|\b(?P<word>and|or|min|max|min_by|max_by|first|last|any|all|add|length|keys|sort|sort_by|reverse|not|floor"""
    r"""|ceil|ascii_downcase|ascii_upcase|unique|flatten|true|false|startswith|endswith|ltrimstr|rtrimstr)\b"""
)
_JQ_FLIPS = {
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "+": "-", "-": "+", "*": "+", "/": "*",
    "%": "*", "//": "|", "and": "or", "or": "and", "min": "max", "max": "min", "min_by": "max_by", "max_by": "min_by",
    "first": "last", "last": "first", "any": "all", "all": "any", "add": "length", "length": "not", "keys": "map(.)",
    "sort": ".", "reverse": ".", "not": ".", "floor": "ceil", "ceil": "floor", "ascii_downcase": "ascii_upcase",
    "ascii_upcase": "ascii_downcase", "unique": ".", "true": "false", "false": "true", "flatten": ".",
    "sort_by": "group_by", "startswith": "endswith", "endswith": "startswith", "ltrimstr": "rtrimstr",
    "rtrimstr": "ltrimstr",
}  # fmt: skip
_AWK = re.compile(
    r"""(?P<skip>"(?:[^"\\]|\\.)*"|\#[^\n]*|(?:^|(?<=[\s(,~!{;&|]))/(?:[^/\\\n]|\\.)+/)"""
    r"""|(?P<op>==|!=|<=|>=|\+=|-=|\+\+|--|&&|\|\||!~|[<>~+*%-])"""
    r"""|(?P<number>(?<![\w.])\d+)|\b(?P<word>NF|NR|tolower|toupper)\b"""
)
_AWK_FLIPS = {
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "+": "-", "-": "+", "*": "+", "%": "*",
    "+=": "-=", "-=": "+=", "++": "--", "--": "++", "&&": "||", "||": "&&", "~": "!~", "!~": "~", "NF": "NR",
    "NR": "NF", "tolower": "toupper", "toupper": "tolower",
}  # fmt: skip
_CONVERSION = re.compile(r"%%|%(?P<flags>[-+ #0]*)(?P<width>\d*)(?P<precision>\.\d+)?(?P<kind>[a-zA-Z])|\\.")
_SAME_KIND = frozenset("sort uniq tr rev tac sed cut fold paste nl expand unexpand".split())
"""Filters whose text is of the same kind without them."""
_NUMBERED = re.compile(r"(-[a-zA-Z]+)?(\d+)(-\d*)?")


def mutants(code: str, most: int) -> list[Mutant]:
    """Return at most `most` mutants spread over the script, the same for the same script."""
    tree = syntax_tree(code, "bash")
    if tree is None:
        return []
    return mutants_of(code, _changes(tree), most)


def _changes(tree: Node) -> Iterator[Change]:
    for node in tree.walk():
        if node.line <= 4 and node.text in STRICT:
            continue
        parent = node.parent
        if node.kind == "test_operator" and node.text in _FLIPS:
            yield node.start, node.end, _FLIPS[node.text], ""
        elif not node.named and parent is not None:
            if node.text in _FLIPS and parent.kind in ("binary_expression", "list"):
                yield node.start, node.end, _FLIPS[node.text], ""
            elif node.text in _EXPANDS and parent.kind == "expansion" and parent.children[1] is not node:
                yield node.start, node.end, _EXPANDS[node.text], ""
        elif node.kind == "number" and not _exits(node):
            yield node.start, node.end, str(int(node.text) + 1) if node.text.isdecimal() else "0", ""
    for command in commands(tree):
        if not command.through and not _to_people(command.node):
            yield from _of_command(command)
    yield from _of_end(tree)


def _of_command(command: Command) -> Iterator[Change]:
    name_node, node = command.node.child("name"), command.node
    if name_node is None:
        return
    for program in programs(command) if command.name in ("jq", "awk", "sed") else ():
        yield from _of_program(command.name or "", program.node)
    if command.name == "printf" and command.arguments:
        yield from _of_format(command.arguments[0])
    if command.name in _SAME_KIND and command.arguments and _reads(node):
        yield name_node.start, command.arguments[-1].end, "cat", ""
    elif command.name in _SAME_KIND and _reads(node):
        yield name_node.start, name_node.end, "cat", ""
    elif command.name in ("head", "tail"):
        yield name_node.start, name_node.end, "tail" if command.name == "head" else "head", ""
    elif command.name == "grep":
        yield from _of_grep(command, name_node)
    for argument in command.arguments:
        number_match = _NUMBERED.fullmatch(argument.text) if argument.kind == "word" else None
        if number_match and command.name not in ("exit", "return", "date"):
            number = f"{number_match[1] or ''}{int(number_match[2]) + 1}{number_match[3] or ''}"
            yield argument.start, argument.end, number, ""


def _of_grep(command: Command, name_node: Node) -> Iterator[Change]:
    flags = [
        argument
        for argument in command.arguments
        if argument.kind == "word" and re.fullmatch(r"-[a-zA-Z]+", argument.text)
    ]
    for flag in flags:
        for letter in "vi":
            if letter in flag.text:
                remaining = flag.text.replace(letter, "")
                yield flag.start, flag.end, remaining if remaining != "-" else "", ""
    if not any("v" in flag.text for flag in flags):
        yield name_node.start, name_node.end, "grep -v", ""


def _of_program(name: str, node: Node) -> Iterator[Change]:
    """Yield changes of a program that is a literal in quotes."""
    text = _inside(node)
    if text is None:
        return

    def span_of(start: int, end: int) -> tuple[int, int]:
        return node.start + 1 + len(text[:start].encode()), node.start + 1 + len(text[:end].encode())

    if name == "sed":
        for start, end in sed_parts(text) or ():
            yield from (
                (*span_of(start + a, start + b), replacement, description)
                for a, b, replacement, description in _of_sed(text[start:end])
            )
        return
    pattern, flips = (_JQ, _JQ_FLIPS) if name == "jq" else (_AWK, _AWK_FLIPS)
    in_double_quotes = node.kind == "string"
    for match in pattern.finditer(text):
        groups = match.groupdict()
        word = groups["op"] or groups["word"]
        if groups["number"]:
            yield *span_of(*match.span()), str(int(float(match[0])) + 1), ""
        elif groups.get("text") and not in_double_quotes:
            yield *span_of(*match.span()), '""', ""
        elif word and word in flips:
            yield *span_of(*match.span()), flips[word], ""


def _of_sed(part: str) -> Iterator[Change]:
    """Yield changes of an address or a command of sed."""
    if part.isdecimal():
        yield 0, len(part), str(int(part) + 1), ""
    elif part in ("d", "p"):
        yield 0, 1, "p" if part == "d" else "d", ""
    elif part[:1] == "s":
        delimiter = re.escape(part[1])
        substitution = re.fullmatch(
            rf"(s{delimiter}(?:\\.|(?!{delimiter})[^\\])*{delimiter})((?:\\.|(?!{delimiter})[^\\])*)({delimiter}[^{delimiter}]*)",
            part,
            re.DOTALL,
        )
        if substitution:
            replacement = "" if substitution[2] else "&"
            yield (
                substitution.start(2),
                substitution.end(2),
                replacement,
                f"{part} became {substitution[1]}{replacement}{substitution[3]}",
            )
            if "g" in substitution[3]:
                yield (
                    substitution.start(3) + 1,
                    len(part),
                    substitution[3][1:].replace("g", ""),
                    "only the first is replaced",
                )


def _of_format(node: Node) -> Iterator[Change]:
    """Yield changes of the format of printf."""
    text = _inside(node)
    if text is None or node.kind == "word":
        return
    start, position = node.start + 1, 0

    def offset(index: int) -> int:
        return start + len(text[:index].encode())

    for conversion in _CONVERSION.finditer(text):
        if text[position : conversion.start()].strip(" \"',:[]{}"):
            yield offset(position), offset(conversion.start()), "", ""
        position = conversion.end()
        if not conversion["kind"]:
            continue
        if conversion["width"]:
            yield (
                offset(conversion.start("width")),
                offset(conversion.end("width")),
                str(int(conversion["width"]) + 1),
                "",
            )
        if conversion["precision"]:
            yield (
                offset(conversion.start("precision")),
                offset(conversion.end()),
                f".{int(conversion['precision'][1:]) + 1}{conversion['kind']}",
                "",
            )
        elif conversion["kind"] in "sdi":
            yield (
                offset(conversion.start()),
                offset(conversion.end()),
                "%.1s" if conversion["kind"] == "s" else "%o",
                "",
            )
    if text[position:].strip(" \"',:[]{}"):
        yield offset(position), offset(len(text)), "", ""


def _of_end(tree: Node) -> Iterator[Change]:
    """Yield the change to a script without a result: every test of the result has to notice it."""
    last = next((node for node in reversed(tree.parts()) if node.kind != "function_definition"), None)
    if last is None or last.kind not in ("command", "pipeline", "redirected_statement") or _to_people(last):
        return
    if any(part.kind.startswith("heredoc") for part in last.walk()) or last.text.startswith(
        ("exit", "return")
    ):
        return
    yield last.start, last.end, f"{{ {last.text}; }} >/dev/null; echo null", "it answers null"


def _inside(node: Node) -> str | None:
    """Return the text between quotes if the shell expands nothing in it; None otherwise."""
    if node.kind == "raw_string":
        return node.text[1:-1]
    is_literal = node.kind == "string" and "\\" not in node.text and literal(node) == node.text[1:-1]
    return node.text[1:-1] if is_literal else None


def _reads(node: Node) -> bool:
    """Return whether a command reads its standard input."""
    parent = node.parent
    if parent is not None and parent.kind == "pipeline" and parent.parts()[0] is not node:
        return True
    candidates = (
        *node.children,
        *(parent.children if parent is not None and parent.kind == "redirected_statement" else ()),
    )
    return any(
        redirect.kind in ("herestring_redirect", "file_redirect") and "<" in redirect.text
        for redirect in candidates
    )


def _to_people(node: Node) -> bool:
    """Return whether a command's output goes to stderr."""
    outer_nodes = [
        node,
        *(outer for outer in node.above() if outer.kind in ("redirected_statement", "pipeline")),
    ]
    return any(
        redirect.kind == "file_redirect"
        and re.sub(r"\s", "", redirect.text) in (">&2", "1>&2", ">/dev/stderr")
        for outer in outer_nodes
        for redirect in outer.children
    )


def _exits(node: Node) -> bool:
    command = next((ancestor for ancestor in node.above() if ancestor.kind == "command"), None)
    name = command.child("name") if command is not None else None
    return (name is not None and name.text in ("exit", "return")) or (
        node.parent is not None and node.parent.kind == "file_redirect"
    )
