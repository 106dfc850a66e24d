"""What a draft's code reaches for: network, processes, files, environment, code made at run time."""

from __future__ import annotations

import ast
import builtins
import re

from alita_tui.spine.values import ToolDraft
from alita_tui.toolsmith.reading import (
    Notes,
    Severity,
    aliases_of,
    dotted,
    imports_of,
)

_NETWORK = re.compile(
    r"(socket|socketserver|ssl|urllib|http|ftplib|imaplib|nntplib|poplib|smtplib|telnetlib|xmlrpc|requests"
    r"|httpx|aiohttp|urllib3|httplib2|websocket|websockets|paramiko|pycurl|grpc|zmq|boto3|selenium|playwright)"
    r"(\..*)?|asyncio\.(open_\w*connection|start_\w*server)"
)
_PROCESS = re.compile(
    r"(subprocess|multiprocessing|ctypes|cffi|pty|_posixsubprocess|concurrent\.futures\.process)(\..*)?"
    r"|os\.(system|popen|exec\w+|spawn\w+|posix_spawnp?|fork\w*|kill\w*)"
    r"|asyncio\.create_subprocess_\w+|concurrent\.futures\.ProcessPoolExecutor"
)
_DYNAMIC = re.compile(
    r"(importlib|pickle|_pickle|marshal|shelve|dill|cloudpickle|joblib|runpy|code|codeop|builtins)(\..*)?"
    r"|eval|exec|compile|__import__|__builtins__|(.*\.)?(__subclasses__|__globals__|__builtins__)"
)
_FILES = re.compile(
    r"os\.(open|remove|unlink|rename|renames|replace|rmdir|removedirs|mkdir|makedirs|symlink|link|chmod|chown"
    r"|truncate)|shutil\.(copy\w*|move|rmtree|chown|make_archive|unpack_archive)"
    r"|.*\.(write_text|write_bytes|unlink|rmdir|touch|symlink_to|hardlink_to)"
)
_ENVIRONMENT = re.compile(r"os\.(environb?|getenvb?|putenv|unsetenv)")
_HARMLESS = re.compile(
    r"urllib|http|(urllib\.(parse|error)|http\.(HTTPStatus|HTTPMethod|cookies)|importlib\.(metadata|resources))(\..*)?"
)
"""Parts of the modules above that only compute."""
_BROKERED = re.compile(r"urllib\.request(\.(urlopen|Request))?")
"""How a tool reaches workspace and model; without a granted host nothing else can be reached with it."""


def note_uses(notes: Notes, tree: ast.Module, draft: ToolDraft) -> None:
    """What the code reaches for beyond computing, against what it declares."""
    granted = draft.capabilities
    brokered = granted.workspace != "none" or granted.model_calls > 0
    rules: list[tuple[str, Severity, re.Pattern[str], str]] = [
        ("ast/process", "high", _PROCESS, "starts processes or native code"),
        ("ast/dynamic", "medium", _DYNAMIC, "runs or loads code that is not on this page"),
    ]
    if not granted.network:
        rules.append(("ast/network", "high", _NETWORK, "reaches for a network that is not declared"))
    if granted.workspace != "write":
        rules.append(("ast/files", "medium", _FILES, "changes files"))
    if not granted.secrets and not brokered:
        rules.append(("ast/environment", "medium", _ENVIRONMENT, "reads the environment"))
    aliases = aliases_of(tree)
    places = {(one.name, one.line) for one in imports_of(tree)}
    imported = {name for name, _ in places}
    tops = {name.split(".")[0] for name in imported}
    named = sorted(places)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            root, dot, rest = dotted(node, aliases).partition(".")
            # A local variable may be called `requests`; only what was imported counts as a module.
            named.append(((root if root in tops else "") + dot + rest, node.lineno))
        elif isinstance(node, ast.Name) and (hasattr(builtins, node.id) or node.id == "__builtins__"):
            named.append((node.id, node.lineno))
        elif isinstance(node, ast.Call) and granted.workspace != "write" and _writes(node, aliases):
            notes.add("medium", "ast/files", "opens a file for writing", node.lineno)
    for rule, severity, pattern, text in rules:
        hits = [n for n in named if pattern.fullmatch(n[0]) and not _HARMLESS.fullmatch(n[0])]
        if brokered:
            hits = [n for n in hits if not _BROKERED.fullmatch(n[0])]
        # Said once, where it is imported, not again at every use.
        known = {name for name, _ in hits if name in imported}
        prefixes = tuple(f"{name}." for name in known)
        for name, line in hits:
            if (name, line) in places or not (name in known or name.startswith(prefixes)):
                notes.add(severity, rule, f"{name}: {text}", line)


def _writes(call: ast.Call, aliases: dict[str, str]) -> bool:
    """True for an `open` whose mode writes, or is not written out."""
    name = dotted(call.func, aliases)
    if name.split(".")[-1] != "open" or name == "os.open":
        return False
    first = name in ("open", "io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open")
    modes = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "mode")]
    modes += [] if first else call.args[:1]
    for mode in modes:
        if isinstance(mode, ast.Constant):
            if isinstance(mode.value, str) and re.fullmatch(r"[rbtU]*[wax+][wax+btr]*", mode.value):
                return True
        elif first:
            return True
    return any(word.arg is None for word in call.keywords)
