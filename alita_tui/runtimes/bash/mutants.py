"""Wrong versions of a script, and of the programs that it passes to jq, awk, sed and printf. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from alita_tui.confined.syntax import Node, syntax_tree
from alita_tui.runtimes.bash.form import STRICT
from alita_tui.runtimes.bash.programs import programs, sed_parts
from alita_tui.runtimes.bash.words import Command, commands, literal
from alita_tui.runtimes.planted import Change, planted
from alita_tui.runtimes.port import Mutant

_FLIPS = {
    "-eq": "-ne", "-ne": "-eq", "-lt": "-ge", "-ge": "-lt", "-gt": "-le", "-le": "-gt", "==": "!=", "!=": "==",
    "=": "!=", "-z": "-n", "-n": "-z", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "+": "-", "-": "+", "*": "+",
    "/": "*", "%": "*", "&&": "||", "||": "&&",
}  # fmt: skip
_EXPANDS = {"^^": ",,", ",,": "^^", "^": ",", ",": "^", "##": "%%", "%%": "##", "#": "%", "%": "#", "//": "/"}
"""What stands between the braces of `${name^^}`; `/` and `//` differ only where something occurs twice."""
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
    return planted(code, _changes(tree), most)


def _changes(tree: Node) -> Iterator[Change]:
    for node in tree.walk():
        if node.line <= 4 and node.text in STRICT:
            continue
        above = node.parent
        if node.kind == "test_operator" and node.text in _FLIPS:
            yield node.start, node.end, _FLIPS[node.text], ""
        elif not node.named and above is not None:
            if node.text in _FLIPS and above.kind in ("binary_expression", "list"):
                yield node.start, node.end, _FLIPS[node.text], ""
            elif node.text in _EXPANDS and above.kind == "expansion" and above.children[1] is not node:
                yield node.start, node.end, _EXPANDS[node.text], ""
        elif node.kind == "number" and not _exits(node):
            yield node.start, node.end, str(int(node.text) + 1) if node.text.isdecimal() else "0", ""
    for command in commands(tree):
        if not command.through and not _to_people(command.node):
            yield from _of_command(command)
    yield from _of_end(tree)


def _of_command(command: Command) -> Iterator[Change]:
    at, node = command.node.child("name"), command.node
    if at is None:
        return
    for program in programs(command) if command.name in ("jq", "awk", "sed") else ():
        yield from _of_program(command.name or "", program.node)
    if command.name == "printf" and command.arguments:
        yield from _of_format(command.arguments[0])
    if command.name in _SAME_KIND and command.arguments and _reads(node):
        yield at.start, command.arguments[-1].end, "cat", ""
    elif command.name in _SAME_KIND and _reads(node):
        yield at.start, at.end, "cat", ""
    elif command.name in ("head", "tail"):
        yield at.start, at.end, "tail" if command.name == "head" else "head", ""
    elif command.name == "grep":
        yield from _of_grep(command, at)
    for argument in command.arguments:
        hit = _NUMBERED.fullmatch(argument.text) if argument.kind == "word" else None
        if hit and command.name not in ("exit", "return", "date"):
            number = f"{hit[1] or ''}{int(hit[2]) + 1}{hit[3] or ''}"
            yield argument.start, argument.end, number, ""


def _of_grep(command: Command, at: Node) -> Iterator[Change]:
    flags = [
        argument
        for argument in command.arguments
        if argument.kind == "word" and re.fullmatch(r"-[a-zA-Z]+", argument.text)
    ]
    for flag in flags:
        for letter in "vi":
            if letter in flag.text:
                left = flag.text.replace(letter, "")
                yield flag.start, flag.end, left if left != "-" else "", ""
    if not any("v" in flag.text for flag in flags):
        yield at.start, at.end, "grep -v", ""


def _of_program(name: str, node: Node) -> Iterator[Change]:
    """Yield what can be wrong in a program that is written out in quotes."""
    text = _inside(node)
    if text is None:
        return

    def place(start: int, end: int) -> tuple[int, int]:
        return node.start + 1 + len(text[:start].encode()), node.start + 1 + len(text[:end].encode())

    if name == "sed":
        for start, end in sed_parts(text) or ():
            yield from (
                (*place(start + a, start + b), new, told) for a, b, new, told in _of_sed(text[start:end])
            )
        return
    shape, flips = (_JQ, _JQ_FLIPS) if name == "jq" else (_AWK, _AWK_FLIPS)
    quoted = node.kind == "string"
    for hit in shape.finditer(text):
        found = hit.groupdict()
        word = found["op"] or found["word"]
        if found["number"]:
            yield *place(*hit.span()), str(int(float(hit[0])) + 1), ""
        elif found.get("text") and not quoted:
            yield *place(*hit.span()), '""', ""
        elif word and word in flips:
            yield *place(*hit.span()), flips[word], ""


def _of_sed(part: str) -> Iterator[Change]:
    """Yield what can be wrong in an address or a command of sed."""
    if part.isdecimal():
        yield 0, len(part), str(int(part) + 1), ""
    elif part in ("d", "p"):
        yield 0, 1, "p" if part == "d" else "d", ""
    elif part[:1] == "s":
        mark = re.escape(part[1])
        whole = re.fullmatch(
            rf"(s{mark}(?:\\.|(?!{mark})[^\\])*{mark})((?:\\.|(?!{mark})[^\\])*)({mark}[^{mark}]*)",
            part,
            re.DOTALL,
        )
        if whole:
            new = "" if whole[2] else "&"
            yield whole.start(2), whole.end(2), new, f"{part} became {whole[1]}{new}{whole[3]}"
            if "g" in whole[3]:
                yield (
                    whole.start(3) + 1,
                    len(part),
                    whole[3][1:].replace("g", ""),
                    "only the first is replaced",
                )


def _of_format(node: Node) -> Iterator[Change]:
    """Yield what can be wrong in the format of printf."""
    text = _inside(node)
    if text is None or node.kind == "word":
        return
    base, after = node.start + 1, 0

    def at(place: int) -> int:
        return base + len(text[:place].encode())

    for hit in _CONVERSION.finditer(text):
        if text[after : hit.start()].strip(" \"',:[]{}"):
            yield at(after), at(hit.start()), "", ""
        after = hit.end()
        if not hit["kind"]:
            continue
        if hit["width"]:
            yield at(hit.start("width")), at(hit.end("width")), str(int(hit["width"]) + 1), ""
        if hit["precision"]:
            yield (
                at(hit.start("precision")),
                at(hit.end()),
                f".{int(hit['precision'][1:]) + 1}{hit['kind']}",
                "",
            )
        elif hit["kind"] in "sdi":
            yield at(hit.start()), at(hit.end()), "%.1s" if hit["kind"] == "s" else "%o", ""
    if text[after:].strip(" \"',:[]{}"):
        yield at(after), at(len(text)), "", ""


def _of_end(tree: Node) -> Iterator[Change]:
    """Yield the script without its result: any test of what it returns has to notice that."""
    last = next((node for node in reversed(tree.parts()) if node.kind != "function_definition"), None)
    if last is None or last.kind not in ("command", "pipeline", "redirected_statement") or _to_people(last):
        return
    if any(one.kind.startswith("heredoc") for one in last.walk()) or last.text.startswith(("exit", "return")):
        return
    yield last.start, last.end, f"{{ {last.text}; }} >/dev/null; echo null", "it answers null"


def _inside(node: Node) -> str | None:
    """Return what stands between the quotes of a text in which the shell replaces nothing."""
    if node.kind == "raw_string":
        return node.text[1:-1]
    plain = node.kind == "string" and "\\" not in node.text and literal(node) == node.text[1:-1]
    return node.text[1:-1] if plain else None


def _reads(node: Node) -> bool:
    """Return whether a command reads a text that it is given, and no file."""
    above = node.parent
    if above is not None and above.kind == "pipeline" and above.parts()[0] is not node:
        return True
    nearby = (
        *node.children,
        *(above.children if above is not None and above.kind == "redirected_statement" else ()),
    )
    return any(one.kind in ("herestring_redirect", "file_redirect") and "<" in one.text for one in nearby)


def _to_people(node: Node) -> bool:
    """Return whether what a command writes goes to stderr."""
    around = [node, *(one for one in node.above() if one.kind in ("redirected_statement", "pipeline"))]
    return any(
        redirect.kind == "file_redirect"
        and re.sub(r"\s", "", redirect.text) in (">&2", "1>&2", ">/dev/stderr")
        for one in around
        for redirect in one.children
    )


def _exits(node: Node) -> bool:
    above = next((one for one in node.above() if one.kind == "command"), None)
    name = above.child("name") if above is not None else None
    return (name is not None and name.text in ("exit", "return")) or (
        node.parent is not None and node.parent.kind == "file_redirect"
    )
