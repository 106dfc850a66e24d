"""Reviews a Bash script: what it could reach, what runs text as code, what it depends on.

Anything that is not a literal counts as able to touch anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from alita_tui.confined.syntax import Node
from alita_tui.events import ToolDraft
from alita_tui.runtimes.bash.arithmetic import texts_computed_with
from alita_tui.runtimes.bash.hidden_commands import hidden_commands
from alita_tui.runtimes.bash.programs import programs, safe_sed
from alita_tui.runtimes.bash.steering import (
    ANYTHING,
    READS,
    STARTING_TEXT,
    WRITES,
    note_operands,
    note_steering,
)
from alita_tui.runtimes.bash.words import (
    Command,
    assigned,
    commands,
    functions,
    literal,
    names,
    shown,
    table,
    used,
)
from alita_tui.runtimes.file_parameters import leaves_files, takes_files
from alita_tui.runtimes.notes import Notes
from alita_tui.runtimes.parsing import parsed_tree

LARGEST = 100_000
"""Bytes of a script: Linux takes no longer argument than 128 KiB, and a script has no file that it could rewrite."""
_SHOWS_THE_SHELL = frozenset(("set", "declare", "typeset", "export", "export -p", "readonly", "shopt"))
"""Whole commands that print what the shell holds."""
_SETS_VARIABLES = frozenset("read mapfile readarray getopts unset".split())
_SYSTEM_PLACE = re.compile(r"/proc\b|/dev/(fd|stdin|stdout|stderr|tcp|udp|pts|mem)|/sys\b")
_TMP = "/tmp"  # noqa: S108  # the sandbox's own
_SOCKET = re.compile(r"/dev/(tcp|udp)\b")
_OWN_PLACE = re.compile(r"(?!/)(?!.*\.\.)[^\x00]{1,200}|/tmp/[^\x00]*")


def parsed(notes: Notes, code: str) -> Node | None:
    """Return the tree of a script; None where it cannot be parsed, which is reported."""
    if "\0" in code:
        notes.block("ast/syntax", "code: it holds a null character")
        return None
    return parsed_tree(notes, code, "bash", "no Bash that can be followed", largest=LARGEST)


def note_contract(notes: Notes, tree: Node, draft: ToolDraft) -> None:
    """Report violations of the contract: strict mode off, missing programs, a schema that the script does not use."""
    own_functions = functions(tree)
    known = names("utilities") | names("builtins")
    for command in commands(tree):
        words = [literal(argument) or "" for argument in command.arguments]
        if command.name == "set" and any(re.match(r"\+[a-z]*[eu]|\+o", word) for word in words):
            notes.add("medium", "contract", "switches strict mode off", command.node.line)
        if command.name is not None and command.name not in known and command.name not in own_functions:
            available = " ".join(sorted(names("utilities")))
            text = f"{command.name[:60]} is none of the programs that a Bash tool has: {available}"
            notes.block("ast/imports", text, command.node.line)
    properties = draft.input_schema.get("properties") if isinstance(draft.input_schema, dict) else None
    if not isinstance(properties, dict) or draft.input_schema.get("type") != "object":
        notes.block("schema", "input_schema has to be of type object, with properties")
        return
    for name in properties:
        if not re.search(rf"(?<!\w){re.escape(str(name))}(?!\w)", draft.code):
            notes.block("schema", f"input_schema has what the script never names: {str(name)[:60]}")
    required = draft.input_schema.get("required", [])
    for name in required if isinstance(required, list) else ():
        if name not in properties:
            notes.block("schema", f"input_schema requires what it does not describe: {str(name)[:60]}")


def note_uses(notes: Notes, tree: Node, draft: ToolDraft) -> None:
    """Report what the script accesses beyond its declaration."""
    own_functions = functions(tree)
    for name, node in own_functions.items():
        if name in names("utilities") | names("builtins"):
            notes.dynamic(f"{name}: is defined anew, {ANYTHING}", node.line)
    for command in commands(tree):
        _note_command(notes, command, draft)
    for node in tree.walk():
        _note_node(notes, node, draft)
    _note_variables(notes, tree, draft)
    for start, line in hidden_commands(tree):
        notes.dynamic(f"{start}: may begin a command that is not seen here, {ANYTHING}", line)
    for name, line in texts_computed_with(tree, draft):
        text = (
            f"{name}: is computed with and may hold any text, which Bash then runs: check it, `=~ ^[0-9]+$`"
        )
        notes.add("medium", "bash/arithmetic", text, line)


def _note_command(notes: Notes, command: Command, draft: ToolDraft) -> None:
    line, name = command.node.line, command.name
    if name is None:
        notes.dynamic(f"a command that is not written out, {ANYTHING}", line)
        return
    words = [literal(argument) for argument in command.arguments]
    command_text = " ".join((name, *(word if word is not None else "…" for word in words)))
    if name in names("runs_code") and not (name == "hash" and not words):
        notes.dynamic(f"{name}: runs text as code, {ANYTHING}", line)
    if name in names("looks_inside") or command_text in _SHOWS_THE_SHELL:
        notes.introspection(f"{name}: looks into the shell that runs it", line)
    if name in names("elsewhere"):
        notes.add("medium", "ast/process", f"{name}: acts on processes", line)
    note_steering(notes, name, words, command_text, line)
    if name == "exec":
        notes.introspection("exec: replaces the shell or moves its descriptors", line)
    if name in ("declare", "typeset", "local", "readonly", "export"):
        _note_declaration(notes, name, command)
    if any(re.match(pattern, command_text, re.S) for pattern in table()["options"]):
        notes.dynamic(f"{name}: starts programs or files by an option, {ANYTHING}", line)
    if name == "shopt" and "expand_aliases" in command_text:
        notes.dynamic(f"shopt: lets aliases stand for commands, {ANYTHING}", line)
    if (name == "printf" and words[:1] == ["-v"]) or name in _SETS_VARIABLES:
        targets = words[1:2] if name == "printf" else words
        if None in targets or any("[" in (word or "") for word in targets):
            notes.dynamic(f"{name}: sets a variable that is not written out, {ANYTHING}", line)
    if name in ("awk", "sed", "jq"):
        _note_program(notes, name, command, words)
    if name == "curl" and not (draft.capabilities.network or draft.capabilities.brokered):
        notes.add("high", "ast/network", "curl: talks to hosts, and none is asked for", line)
    if name == "date" and not any((word or "").startswith(("-d", "--date", "-r")) for word in words):
        notes.add("medium", "ast/clock", "date: the result depends on when it runs", line)
    if name == "shuf":
        notes.add("medium", "ast/random", "shuf: the result depends on chance", line)
    _note_paths(notes, name, command, words, draft)
    note_operands(notes, name, command, draft)


def _note_declaration(notes: Notes, name: str, command: Command) -> None:
    for argument in command.arguments:
        text = literal(argument)
        if argument.kind == "variable_assignment":
            continue
        if text is None or (text.startswith("-") and "n" in text):
            notes.dynamic(f"{name}: names a variable by what another one holds, {ANYTHING}", argument.line)
        elif text.startswith("-") and set(text) & set("fFp"):
            notes.introspection(f"{name} {text}: looks into the shell that runs it", argument.line)


def _note_program(notes: Notes, name: str, command: Command, words: list[str | None]) -> None:
    """Report findings about a program in another language among the arguments."""
    line = command.node.line
    foreign = re.compile(table()[name], re.S) if name != "sed" else None
    for program in programs(command):
        if program.word is None and (foreign is None or name == "awk" or foreign.search(program.node.text)):
            notes.dynamic(f"{name}: runs a program that is not written out, {ANYTHING}", line)
        elif program.word is None:
            text = (
                f"{name}: values stand in its program, so it does what they say; `--arg` passes them safely"
            )
            notes.add("medium", "ast/dynamic", text, line)
        elif foreign is None and not safe_sed(program.word):
            text = f"sed: starts programs, opens files, or is not understood, {ANYTHING}"
            notes.dynamic(text, program.node.line)
        elif foreign is not None and foreign.search(program.word):
            if name == "jq":
                notes.add("medium", "ast/environment", "jq: reads the environment, the clock or files", line)
            else:
                text = f"{name}: its program starts programs or writes files, {ANYTHING}"
                notes.dynamic(text, program.node.line)
    if name == "jq" and any(
        word is not None and re.match(r"-\w*[fLi]|--(from-f|library-p|slurpf|rawf|in-p)", word)
        for word in words
    ):
        notes.add("medium", "ast/reads", "jq: reads or changes files", line)


def _note_paths(notes: Notes, name: str, command: Command, words: list[str | None], draft: ToolDraft) -> None:
    writes = draft.capabilities.workspace == "write" or leaves_files(draft)
    for node, word in zip(command.arguments, words, strict=True):
        if word is None:
            if name in WRITES and not writes:
                notes.add("medium", "ast/files", f"{name}: changes a file that is not written out", node.line)
            continue
        if _SOCKET.search(word):
            notes.add("high", "ast/network", f"{name}: opens a connection", node.line)
        elif _SYSTEM_PLACE.search(word) and word not in ("/dev/stdin", "/dev/stdout", "/dev/stderr"):
            notes.introspection(f"{name} {word[:60]}: looks into what runs it", node.line)
        elif re.match(r"/[^/]*[*?\[]", word) or re.search(r"(^|/)\.\.(/|$)", word):
            notes.introspection(f"{name} {word[:60]}: names a place by a pattern", node.line)
        elif (
            word.startswith(("/", "~"))
            and not word.startswith(_TMP)
            and name in READS | WRITES
            and name not in ("grep", "sed", "awk", "jq", "tr")
        ):
            notes.add("medium", "ast/reads", f"{name} {word[:60]}: a place of the machine", node.line)
        elif (
            name in WRITES and not writes and word and not word.startswith("-") and not word.startswith(_TMP)
        ):
            notes.add("medium", "ast/files", f"{name} {word[:60]}: changes files", node.line)


def _note_node(notes: Notes, node: Node, draft: ToolDraft) -> None:
    if node.kind == "expansion" and any(
        child.field == "operator" and child.text in ("!", "@") for child in node.children
    ):
        lists_keys = re.fullmatch(r"\$\{!\w+\[[@*]\]\}", node.text)
        only_quotes = re.fullmatch(r"\$\{\w+(\[[^]]*\])?@[QULuAKak]\}", node.text)
        if not lists_keys and not only_quotes:
            notes.dynamic(
                f"{node.text[:40]}: names a variable by what another one holds, {ANYTHING}", node.line
            )
    elif node.kind == "test_operator" and node.text in ("-v", "-R"):
        notes.dynamic(f"{node.text}: looks at a variable by its name, {ANYTHING}", node.line)
    elif node.kind in ("raw_string", "string_content", "ansi_c_string") and STARTING_TEXT.search(node.text):
        text = f"{node.text[:40]}: a text that would start a program, {ANYTHING}"
        notes.dynamic(text, node.line)
    elif node.kind == "&" and node.parent is not None and node.parent.kind not in ("file_redirect",):
        notes.add("medium", "ast/later", "&: goes on in the background", node.line)
    elif node.kind in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
        _note_redirect(notes, node, draft)
    elif node.kind == "variable_assignment":
        name = node.child("name")
        variable = name.text.partition("[")[0] if name is not None else ""
        if variable in names("steering") or variable.startswith(("LD_", "BASH_FUNC_", "BASH_")):
            notes.dynamic(f"{variable}: changes how commands are found and run, {ANYTHING}", node.line)
    elif node.kind in ("string_content", "raw_string", "word") and _SOCKET.search(node.text):
        notes.add("high", "ast/network", "/dev/tcp: opens a connection", node.line)
    elif node.kind == "ansi_c_string" and re.search(r"\\[0-7xuUc]", node.text):
        notes.add(
            "medium", "ast/dynamic", f"{node.text[:40]}: letters that are written as numbers", node.line
        )


def _note_redirect(notes: Notes, node: Node, draft: ToolDraft) -> None:
    descriptor = node.child("descriptor")
    descriptor_number = descriptor.text if descriptor is not None else ""
    target = node.child("destination")
    word = literal(target)
    duplicates = any(child.text in (">&", "<&") for child in node.children if not child.named)
    if descriptor_number not in ("", "0", "1", "2") or (duplicates and word not in ("0", "1", "2")):
        notes.introspection("a redirection to or from a descriptor that is not its own", node.line)
        return
    if duplicates or target is None or node.kind != "file_redirect" or target.kind == "process_substitution":
        return
    writes = any(">" in child.text for child in node.children if not child.named)
    if word is None:
        if writes:
            notes.add(
                "medium",
                "ast/files",
                f"> {shown(target)[:60]}: writes to a file that is not written out",
                node.line,
            )
        elif not takes_files(draft):
            notes.add(
                "medium",
                "ast/reads",
                f"< {shown(target)[:60]}: reads a file that is not written out",
                node.line,
            )
    elif _SOCKET.search(word):
        notes.add("high", "ast/network", f"{word[:60]}: opens a connection", node.line)
    elif word in ("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"):
        return
    elif _SYSTEM_PLACE.search(word):
        notes.introspection(f"{word[:60]}: looks into what runs it", node.line)
    elif not _OWN_PLACE.fullmatch(word):
        notes.add(
            "medium",
            "ast/files" if writes else "ast/reads",
            f"{word[:60]}: a place of the machine",
            node.line,
        )
    elif writes and not (
        leaves_files(draft) or draft.capabilities.workspace == "write" or word.startswith(_TMP)
    ):
        notes.add("medium", "ast/files", f"> {word[:60]}: leaves a file", node.line)


def _note_variables(notes: Notes, tree: Node, draft: ToolDraft) -> None:
    assigned_names = assigned(tree)
    for name in sorted(assigned_names):
        if name in names("steering") or name.startswith(("LD_", "BASH_FUNC_")):
            notes.dynamic(f"{name}: changes how commands are found and run, {ANYTHING}")
    capabilities = draft.capabilities
    for name, line in used(tree):
        if name in names("steering"):
            notes.dynamic(f"{name}: steers how commands are found and run, {ANYTHING}", line)
        elif name in names("inside"):
            notes.introspection(f"{name}: looks into the shell that runs it", line)
        elif name in names("clock"):
            notes.add("medium", "ast/clock", f"{name}: the result depends on when it runs", line)
        elif name in names("chance"):
            notes.add("medium", "ast/random", f"{name}: the result depends on chance", line)
        elif name == "0":
            notes.add("medium", "ast/introspection", "$0: looks at how it was started", line)
        elif name == "$":
            notes.add("medium", "ast/introspection", "$$: the number of its process", line)
        elif re.fullmatch(r"[A-Za-z_]\w*", name) and name not in assigned_names | names("plain"):
            if not (capabilities.brokered and name == "ALITA_BROKER") and name not in _secrets(draft):
                notes.add("medium", "ast/environment", f"{name}: is read from the environment", line)


def _secrets(draft: ToolDraft) -> set[str]:
    return {entry.partition("@")[0] for entry in draft.capabilities.secrets}


def texts(tree: Node) -> Iterator[tuple[int, str]]:
    """Yield comments, those on consecutive lines as one, and texts; names are split into words."""
    lines: list[str] = []
    first = last = 0
    for node in tree.walk():
        if node.kind == "comment":
            if lines and node.line != last + 1:
                yield first, " ".join(lines)
                lines = []
            first = first if lines else node.line
            last = node.line
            lines.append(node.text.lstrip("#! "))
        elif node.kind in ("string", "raw_string", "concatenation", "heredoc_body", "ansi_c_string"):
            yield node.line, literal(node) or node.text
        elif node.kind in ("word", "variable_name") and len(node.text) > 8:
            yield node.line, node.text.replace("_", " ")
    if lines:
        yield first, " ".join(lines)
