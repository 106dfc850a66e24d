"""Turns a skill's Node program into a module with one `run`: its lines become the body of a function.

The function gets substitutes for `process` and `console`, which collect output instead of writing it. A program that
uses other members of these, or continues after its last line, would behave differently and is refused with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from alita_tui.confined.syntax import Node, syntax_tree
from alita_tui.mcp_box.skills.format import SkillRefused
from alita_tui.runtimes.node.names import FUNCTIONS, bound, imports, module_kind
from alita_tui.spine.text import one_line

_TYPES = {
    "javascript": ("input", "ofProcess, ofConsole"),
    "typescript": (
        "input: { arguments: string[]; stdin?: string }",
        "ofProcess: any, ofConsole: any",
    ),
}
_RUN = """{imports}
import {{ format as formatted }} from "node:util";
import {{ Readable as Given }} from "node:stream";

/** Runs the command line of {path}; gives what it wrote, and its exit code.
 * @param {{{{arguments: string[], stdin?: string}}}} input */
export async function run({input}) {{
  const wrote = {{ stdout: "", stderr: "" }};
  const end = Symbol("end");
  let ended = false;
  const writer = (name) => (text, ...rest) => {{
    if (!ended) wrote[name] += String(text);
    for (const done of rest) if (typeof done === "function") done();
    return true;
  }};
  const stdout = {{ write: writer("stdout") }};
  const stderr = {{ write: writer("stderr") }};
  const log = (...said) => {{ stdout.write(`${{formatted(...said)}}\n`); }};
  const warn = (...said) => {{ stderr.write(`${{formatted(...said)}}\n`); }};
  const ofProcess = {{
    argv: ["node", {script}, ...input.arguments], env: {{}}, exitCode: 0, platform: "linux", stdout, stderr,
    stdin: Given.from(input.stdin ? [Buffer.from(input.stdin)] : []),
    cwd: () => "/tmp",
    exit(code) {{
      if (!ended) ofProcess.exitCode = code ?? ofProcess.exitCode;
      ended = true;
      throw end;
    }},
  }};
  try {{
    await commandLine(ofProcess, {{ log, info: log, debug: log, error: warn, warn }});
  }} catch (error) {{
    if (!ended) {{
      warn(error instanceof Error ? `${{error.name}}: ${{error.message}}` : error);
      ofProcess.exitCode = 1;
    }}
  }}
  return {{ exit_code: Number(ofProcess.exitCode ?? 0), ...wrote }};
}}

async function commandLine({handed}) {{
{body}
}}
"""
_NAMES = {"process": "ofProcess", "console": "ofConsole"}
_RESERVED = frozenset(
    ("run", "commandLine", "formatted", "Given", "process", "console", "ofProcess", "ofConsole")
)
_PROCESS = frozenset(("argv", "env", "exitCode", "platform", "stdin", "stdout", "stderr", "cwd", "exit"))
_CONSOLE = frozenset(("log", "info", "debug", "error", "warn"))
_CONTINUES = frozenset(
    ("setTimeout", "setInterval", "setImmediate", "on", "once", "addListener", "createServer")
)
"""Calls that let a program continue after its last line."""
Edit = tuple[int, int, str]
"""Start and end byte of a replaced part, and the replacement."""


def node_tool(path: str, code: str, language: str) -> tuple[str, str]:
    """Return a tool's code for a program, and the program's leading comment. Blocks on a process that parses it.

    Raises SkillRefused with the reason if it cannot become a function.
    """
    label, code = one_line(path, 80), code.replace("\r\n", "\n").removeprefix("\ufeff")
    if code.startswith("#!"):
        code = code.partition("\n")[2]
    tree = syntax_tree(code, language)
    if tree is None or any(node.kind == "ERROR" for node in tree.walk()):
        raise SkillRefused(f"{label} is no module of {language} that can be read")
    if reason := next(_refusals(tree), ""):
        raise SkillRefused(f"{label} {reason}")
    comment = next((node.text for node in tree.children if node.kind == "comment"), "")
    import_statements = [node for node in tree.parts() if node.kind == "import_statement"]
    edits = sorted([*_edits(tree), *((node.start, node.end, "") for node in import_statements)], reverse=True)
    body = code.encode("utf-8", "surrogatepass")
    for start, end, replacement in edits:
        body = body[:start] + replacement.encode() + body[end:]
    input_type, parameters = _TYPES[language]
    module = _RUN.format(
        imports="\n".join(node.text for node in import_statements),
        path=one_line(path, 120).replace("*/", ""),
        input=input_type,
        script=f'"{re.sub(r"[^A-Za-z0-9._-]", "-", PurePosixPath(path).name)}"',
        handed=parameters,
        body=body.decode("utf-8", "surrogatepass").strip("\n"),
    )
    return module.lstrip("\n"), re.sub(r"[\s/*]+", " ", comment).strip()


def _refusals(tree: Node) -> Iterator[str]:
    """Yield the reasons why a program cannot be a function."""
    for name, _ in imports(tree):
        if name is None or not module_kind(name):
            yield f"needs {one_line(name or 'what it names while it runs', 60)} beside it, and a tool is one file"
    for node in tree.walk():
        if node.kind == "import_statement" and (reserved := sorted(bound(node) & _RESERVED)):
            yield f"imports something as {reserved[0]}, which is given to it here"
        elif node.kind == "export_statement" and node.child("declaration") is None:
            yield "exports what is no declaration"
        elif node.kind == "member_expression":
            yield from _members(node)
        elif node.kind == "call_expression":
            yield from _calls(node)
        elif node.kind in ("identifier", "shorthand_property_identifier") and node.text in _NAMES:
            if node.parent is None or node.parent.kind != "member_expression" or node.field != "object":
                yield f"uses {node.text} other than by its members, or calls something so"
        elif node.kind == "identifier" and node.text in _NAMES.values():
            yield f"calls something {node.text}, which is given to it here"
        elif node.kind == "identifier" and node.text in ("globalThis", "global", "module", "exports"):
            yield f"uses {node.text}, which a tool has not"
        elif node.kind == "meta_property" and not _is_main(node):
            yield "asks for import.meta, and a tool is no file"
        elif node.kind == "return_statement" and not _in_function(node):
            yield "returns outside of a function"


def _members(node: Node) -> Iterator[str]:
    receiver, name = node.child("object"), node.child("property")
    for owner, allowed in {"process": _PROCESS, "console": _CONSOLE}.items():
        if receiver is not None and receiver.text == owner and name is not None and name.text not in allowed:
            yield f"uses {owner}.{one_line(name.text, 40)}, which is not there"


def _calls(node: Node) -> Iterator[str]:
    callee = node.child("function")
    name = callee.child("property") if callee is not None and callee.kind == "member_expression" else callee
    argument_list = node.child("arguments")
    argument_text = argument_list.text if argument_list is not None else ""
    if name is None:
        return
    if callee is not None and callee.kind == "identifier" and name.text == "require":
        yield "is no ES module: it loads by require"
    elif name.text in _CONTINUES:
        yield f"goes on by {name.text} after its last line, and a tool ends there"
    elif name.text == "parseArgs" and not re.search(r"\bargs\s*[:,}]", argument_text):
        yield "has parseArgs look at the command line by itself: give it `args`"
    elif name.text in ("readFileSync", "readFile", "createReadStream", "openSync", "open"):
        if re.match(r"\(\s*(0\b|[\"'`]/dev/(stdin|fd))", argument_text):
            yield "reads its standard input as a file; process.stdin is what there is"


def _is_main(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.kind == "member_expression" and parent.text == "import.meta.main"


def _in_function(node: Node) -> bool:
    return any(ancestor.kind in FUNCTIONS for ancestor in node.above())


def _edits(tree: Node) -> Iterator[Edit]:
    """Yield the edits: exports are removed, `import.meta.main` becomes true, and top-level calls are awaited."""
    for node in tree.walk():
        if node.kind == "export_statement" and (declaration := node.child("declaration")) is not None:
            yield node.start, declaration.start, ""
        elif node.kind == "identifier" and node.text in _NAMES:
            yield node.start, node.end, _NAMES[node.text]
        elif node.kind == "meta_property" and _is_main(node) and node.parent is not None:
            yield node.parent.start, node.parent.end, "true"
        elif node.kind == "expression_statement" and not _in_function(node):
            expression = node.parts()[0] if node.parts() else None
            if expression is not None and expression.kind == "call_expression" and not _writes(expression):
                yield expression.start, expression.start, "await "


def _writes(call: Node) -> bool:
    callee = call.child("function")
    return callee is not None and callee.text.startswith(("console.", "process."))
