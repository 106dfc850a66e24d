"""Reports what a draft's code accesses: network, processes, files, environment, interpreter, dynamic code.

`Reach` determines the possible values of its names; the rules here select what a person has to know. Code that cannot
be followed counts as able to access anything.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict

from alita_tui.events import ToolDraft
from alita_tui.runtimes.file_parameters import leaves_files, takes_files
from alita_tui.runtimes.notes import Notes
from alita_tui.runtimes.python.draft_ast import FUNCTIONS, constants, dotted
from alita_tui.runtimes.python.reach import Reach
from alita_tui.runtimes.python.values import Use
from alita_tui.runtimes.rules import rule, table

ANYTHING = "so it can reach anything"
_BROKERED = re.compile(r"urllib\.request([.(].*)?")
"""The functions by which a tool reaches workspace and model; without a granted host they reach nothing else."""
_OPENS = "open io.open codecs.open gzip.open bz2.open lzma.open tarfile.open zipfile.ZipFile".split()
_HOOKS = frozenset(
    "__init_subclass__ __set_name__ __del__ __reduce__ __reduce_ex__ __getattribute__ __prepare__".split()
)
_OWN_FD = re.compile(r"os\.open\(\)|tempfile\.mkstemp\(\)|os\.pipe2?\(\)")


def _paths(key: str) -> re.Pattern[str]:
    return rule("reach", key)


def note_uses(notes: Notes, tree: ast.Module, draft: ToolDraft) -> Reach | None:
    """Report what the code accesses beyond its declaration; return its names, as far as they can be followed."""
    reach = names_of(notes, tree)
    if reach is None:
        return None
    capabilities = draft.capabilities
    brokered = capabilities.brokered
    keys = ["introspection", "process", "dynamic", "later"]
    keys += [] if capabilities.network else ["network"]
    writes = capabilities.workspace == "write" or leaves_files(draft)
    keys += [] if writes else ["files"]
    keys += [] if capabilities.secrets or brokered or capabilities.browser else ["environment"]
    _apply(notes, keys, reach, brokered=brokered, granted=bool(capabilities.network))
    if not writes:
        _note_opens(notes, reach, databases=not takes_files(draft))
    for path, line in reach.anything:
        notes.dynamic(f"{path}, {ANYTHING}", line)
    for path, line in reach.stores:
        if _belongs_to_python(path):
            notes.dynamic(f"{path}: changes a part of Python for all that runs with it", line)
    _note_inner(notes, reach)
    _note_texts(notes, tree, reach)
    _note_descriptors(notes, reach)
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS) and node.name in _HOOKS:
            notes.add(
                "medium",
                "ast/later",
                f"{node.name}: is called by Python itself, not by this code",
                node.lineno,
            )
        elif isinstance(node, ast.ClassDef) and any(
            keyword.arg == "metaclass"
            and dotted(keyword.value).split(".")[-1] not in ("ABCMeta", "EnumMeta", "EnumType")
            for keyword in node.keywords
        ):
            notes.add(
                "medium", "ast/later", f"{node.name}: a metaclass decides what its calls do", node.lineno
            )
    return reach


def names_of(notes: Notes, tree: ast.Module, place: str = "") -> Reach | None:
    """Return the names of a module; None if it is nested too deeply, which is reported."""
    try:
        return Reach(tree)
    except RecursionError:
        notes.dynamic(f"{place}nested too deeply to be followed, {ANYTHING}")
        return None


def _apply(notes: Notes, keys: list[str], reach: Reach, *, brokered: bool, granted: bool) -> None:
    only_own_descriptors = _own_descriptors(reach)
    for key in keys:
        severity, text = table("reach")["findings"][key]
        hits = sorted(
            use
            for use in reach.uses
            if _paths(key).fullmatch(use.path)
            and not _paths("harmless").fullmatch(use.path)
            and not (brokered and _BROKERED.fullmatch(use.path))
            and not (
                only_own_descriptors
                and re.fullmatch(r"os\.(write|read|fdopen|close|pipe2?|fstat|lseek)", use.path)
            )
            and not (use.path.endswith(".fileno") and granted)
        )
        # Report a path once, where it first occurs, and not again for its attributes.
        first: dict[str, Use] = {}
        for use in sorted(hits, key=lambda use: (use.line, use.path)):
            parts = use.path.replace("()", "").split(".")
            if not any(".".join(parts[: n + 1]) in first for n in range(len(parts))):
                first[".".join(parts)] = use
        lines: defaultdict[int, list[str]] = defaultdict(list)
        for use in first.values():
            lines[use.line].append(shown(use.path))
        for line, names in lines.items():
            listed = ", ".join(dict.fromkeys(names[:4])) + (" and more" if len(names) > 4 else "")
            notes.add(severity, f"ast/{key}", f"{listed}: {text}", line)


def shown(path: str) -> str:
    """Return a path as the code would write it."""
    return path.removeprefix("builtins.").removeprefix("?.").replace("()", "").replace("[]", "") or "builtins"


def _belongs_to_python(path: str) -> bool:
    """Return True if an attribute belongs to a module or class of Python, not to the result of a call."""
    is_attribute = "()" not in path and not path.startswith("os.environ")
    return is_attribute and path.split(".")[0] in sys.stdlib_module_names


def _own_descriptors(reach: Reach) -> bool:
    """Return True if every descriptor that is read or written was opened by the draft itself."""
    descriptor_calls = [
        call for path, call in reach.calls if re.fullmatch(r"os\.(write|read|fdopen|close)", path)
    ]
    opens_own = any(_OWN_FD.fullmatch(f"{path}()") for path, _ in reach.calls)
    return opens_own and not any(
        call.args and isinstance(call.args[0], ast.Constant) for call in descriptor_calls
    )


def _note_inner(notes: Notes, reach: Reach) -> None:
    """Report Python's private modules: nothing documents what they can do."""
    for path, line in reach.uses:
        top = path.split(".")[0]
        if top.startswith("_") and top != "__future__" and top in sys.stdlib_module_names:
            notes.dynamic(f"{top}: an inner part of Python, {ANYTHING}", line)


def _note_opens(notes: Notes, reach: Reach, *, databases: bool) -> None:
    """Report files that are opened for writing, and databases unless a parameter can be one, which is read-only."""
    for path, call in reach.calls:
        name = path.removeprefix("builtins.")
        if name == "sqlite3.connect" and databases and not _is_text(call.args[:1], ":memory:"):
            notes.add("medium", "ast/files", "opens a database file", call.lineno)
        elif name in _OPENS and _writes(call, mode_at=1):
            notes.add("medium", "ast/files", "opens a file for writing", call.lineno)
        elif (
            name.endswith(".open") and name not in ("os.open", "webbrowser.open") and _writes(call, mode_at=0)
        ):
            notes.add("medium", "ast/files", "opens a file for writing", call.lineno)
    resolved = {id(call) for _, call in reach.calls}
    for call in (example for example in reach.all_calls if id(example) not in resolved):
        if dotted(call.func).split(".")[-1] == "open" and _writes(call, mode_at=0):
            notes.add("medium", "ast/files", "opens a file for writing", call.lineno)


def _is_text(nodes: list[ast.expr], text: str) -> bool:
    return any(isinstance(node, ast.Constant) and node.value == text for node in nodes)


def _writes(call: ast.Call, *, mode_at: int) -> bool:
    """Return True for a mode that writes, or that is not a literal."""
    modes = [*call.args[mode_at : mode_at + 1], *(word.value for word in call.keywords if word.arg == "mode")]
    for mode in modes:
        if isinstance(mode, ast.Constant):
            if isinstance(mode.value, str) and re.fullmatch(r"[rbtU]*[wax+][wax+btr:gz2|]*", mode.value):
                return True
        elif mode_at:
            return True
    return any(word.arg is None for word in call.keywords)


_PLACES = re.compile(r"/(proc|sys|dev)(/.*)?|.*/(proc|dev)/(self|fd|\d).*")


def _note_texts(notes: Notes, tree: ast.Module, reach: Reach, place: str = "") -> None:
    """Report paths of the kernel's own files outside of docstrings."""
    literals = {(node.value[:200], node.lineno) for node in constants(tree) if isinstance(node.value, str)}
    for text, line in sorted(reach.texts | literals):
        if _PLACES.fullmatch(text):
            remark = f"{place}{text}: looks at the processes and descriptors of the machine"
            notes.introspection(remark, 0 if place else line)


def _note_descriptors(notes: Notes, reach: Reach) -> None:
    for path, call in reach.calls:
        first = call.args[0] if call.args else None
        is_number = isinstance(first, ast.Constant) and isinstance(first.value, int)
        is_number = is_number or (isinstance(first, ast.Call) and dotted(first.func) == "int")
        if (
            path in ("builtins.open", "io.open", "io.FileIO", "socket.socket")
            and is_number
            and path != "socket.socket"
        ):
            notes.introspection("opens a descriptor by its number", call.lineno)
        elif path == "socket.socket" and any(keyword.arg == "fileno" for keyword in call.keywords):
            notes.introspection("opens a descriptor by its number", call.lineno)


def note_test_uses(notes: Notes, tree: ast.Module) -> None:
    """Report what would invalidate tests: access to the interpreter, or changes of what the tool uses."""
    reach = names_of(notes, tree, "tests: ")
    if reach is None:
        return
    for path, line in sorted(reach.uses):
        if _paths("introspection").fullmatch(path) and not path.endswith(".fileno"):
            text = f"tests, line {line}: {shown(path)}: looks into the interpreter or at what runs it"
            notes.introspection(text)
        elif re.fullmatch(r"unittest\.mock(\..*)?", path):
            notes.add(
                "medium", "tests", f"tests, line {line}: replaces what the tool is given ({shown(path)})"
            )
        elif (
            _paths("dynamic").fullmatch(path)
            and not _paths("harmless").fullmatch(path)
            and not path.startswith("unittest")
        ):
            notes.add("medium", "ast/dynamic", f"tests, line {line}: {shown(path)}: runs or loads other code")
    for path, line in reach.anything:
        notes.add("medium", "ast/dynamic", f"tests, line {line}: {path}")
    for path, line in reach.stores:
        if "()" in path or path.startswith("os.environ"):
            continue
        notes.add("medium", "tests", f"tests, line {line}: gives {shown(path)} another value while it tests")
    _note_texts(notes, tree, reach, "tests: ")
