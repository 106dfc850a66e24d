"""The static review of a draft: advice for the person, and the faults that make testing senseless.

Nothing is imported or run. The wall is the sandbox and the person; this is a reading aid.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

from alita_tui.spine.text import hidden_characters, one_line
from alita_tui.spine.values import Finding, Json, ToolDraft, Value
from alita_tui.toolsmith.contract import (
    LARGEST_TEXT,
    ContractError,
    header_requirements,
    is_main_guard,
    requirement_name,
)

Severity = Literal["info", "low", "medium", "high"]

_MOST_PER_RULE = 20
_LONG_LINE = 500
_DEEPEST = 200
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
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
_QUIET_CALLS = re.compile(
    r"re\.compile|logging\.getLogger|(decimal\.)?Decimal|(fractions\.)?Fraction|(pathlib\.)?(Pure\w*)?Path"
    r"|(collections\.)?(namedtuple|OrderedDict|defaultdict|Counter)|(typing\.)?(TypeVar|NewType|NamedTuple)"
    r"|(types\.)?MappingProxyType|(enum\.)?(auto|Enum)|(dataclasses\.)?field|(datetime\.)*(timedelta|date)"
    r"|frozenset|set|dict|list|tuple|range|zip|len|ord|chr|int|float|str|bytes|sorted|sum|min|max|enumerate"
    r"|.*\.(split|join|items|keys|values|lower|upper|strip|format|maketrans)"
)
"""Calls that a constant at the top of a module may make."""
_MODULES = {
    "attrs": "attr attrs", "beautifulsoup4": "bs4", "biopython": "bio", "dnspython": "dns",
    "gitpython": "git", "opencv-contrib-python": "cv2", "opencv-python": "cv2",
    "opencv-python-headless": "cv2", "pillow": "pil", "protobuf": "google", "pycryptodome": "crypto",
    "pycryptodomex": "cryptodome", "pymupdf": "fitz pymupdf", "scikit-image": "skimage",
    "scikit-learn": "sklearn", "setuptools": "setuptools pkg_resources",
}  # fmt: skip
"""Modules (lower case) of distributions whose name does not tell."""
_SAME = {
    "B102": "ast/dynamic", "B307": "ast/dynamic", "B403": "ast/dynamic", "B404": "ast/process",
    "B605": "ast/process", "B606": "ast/process", "B401": "ast/network", "B402": "ast/network",
}  # fmt: skip
"""Bandit's ids for what has a rule here as well."""


class Review(Value, frozen=True):
    """What the review found."""

    findings: tuple[Finding, ...]
    """By line, then rule."""
    passed: bool
    """False when the draft goes back before it is tested."""
    imports: tuple[str, ...] = ()
    """Top-level modules that the code imports, sorted."""


def review(draft: ToolDraft) -> Review:
    """Read a draft. Blocking findings are those that make testing senseless. Blocks: call in a thread."""
    notes = _Notes()
    with warnings.catch_warnings():  # what the parser warns of would be printed over the screen
        warnings.simplefilter("ignore")
        code = _parse(notes, draft.code, "code")
        tests = _parse(notes, draft.tests, "tests")
        if code is not None:
            _run_function(notes, code, draft.input_schema)
            _top_level(notes, code)
            _uses(notes, code, draft)
        if tests is not None:
            _tests(notes, tests, draft.name)
        _requirements(notes, {"code": code, "tests": tests}, draft)
        _header(notes, draft)
        _schemas(notes, draft)
        _text(notes, draft)
        _bandit(
            notes,
            draft.code if _scannable(notes, code, "code") else "",
            draft.tests if _scannable(notes, tests, "tests") else "",
        )
    imports = {one.top for one in _imports(code) if one.top} if code else set()
    return Review(
        findings=notes.sorted(),
        passed=not any(one.blocking for one in notes.found),
        imports=tuple(sorted(imports)),
    )


class _Notes:
    def __init__(self) -> None:
        self.found: set[Finding] = set()

    def add(self, severity: Severity, rule: str, text: str, line: int = 0, *, blocking: bool = False) -> None:
        said = one_line(text, 300)
        self.found.add(Finding(severity=severity, rule=rule, text=said, line=line, blocking=blocking))

    def block(self, rule: str, text: str, line: int = 0) -> None:
        self.add("high", rule, text, line, blocking=True)

    def sorted(self) -> tuple[Finding, ...]:
        """By line and rule; of one rule the first few, so that no draft can bury its reader."""
        kept: list[Finding] = []
        seen: Counter[tuple[str, bool]] = Counter()
        for one in sorted(self.found, key=lambda f: (f.line, f.rule, f.text, f.severity)):
            seen[one.rule, one.blocking] += 1
            if seen[one.rule, one.blocking] <= _MOST_PER_RULE:
                kept.append(one)
            elif seen[one.rule, one.blocking] == _MOST_PER_RULE + 1:
                kept.append(msgspec.structs.replace(one, text=f"{one.text} (and more of {one.rule} below)"))
        return tuple(kept)


class _Import(NamedTuple):
    name: str
    """Dotted, with the imported name: `os.system`. A relative one starts with a dot."""
    line: int
    optional: bool
    """True where its ImportError is caught."""

    @property
    def top(self) -> str:
        return self.name.split(".")[0]


def _parse(notes: _Notes, text: str, what: str) -> ast.Module | None:
    if len(text.encode("utf-8", "surrogatepass")) > LARGEST_TEXT:
        notes.block("ast/syntax", f"{what}: it is longer than {LARGEST_TEXT} bytes")
        return None
    try:
        return ast.parse(text)
    except SyntaxError as error:
        where = f" in `{error.text.strip()[:120]}`" if error.text and error.text.strip() else ""
        line = error.lineno or 0
        if what == "code":
            notes.block("ast/syntax", f"code: {error.msg}{where}", line)
        else:
            notes.block("ast/syntax", f"{what}, line {line}: {error.msg}{where}")
    except (ValueError, RecursionError, MemoryError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        notes.block("ast/syntax", f"{what}: it cannot be parsed ({reason})")
    return None


def _imports(tree: ast.Module) -> list[_Import]:
    optional: set[int] = set()
    found: list[_Import] = []
    for node in ast.walk(tree):  # parents come before what they hold
        if isinstance(node, ast.Try) and any(_catches_import(one) for one in node.handlers):
            optional.update(id(inner) for part in node.body for inner in ast.walk(part))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            start = "" if isinstance(node, ast.Import) else "." * node.level + f"{node.module or ''}."
            found += [_Import(start + one.name, node.lineno, id(node) in optional) for one in node.names]
    return found


def _catches_import(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or _dotted(kind) in ("ImportError", "ModuleNotFoundError") for kind in kinds)


def _dotted(node: ast.expr, aliases: dict[str, str] | None = None) -> str:
    """`a.b.c` as it is written, its first name replaced by what was imported under it."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    root = node.id if isinstance(node, ast.Name) else ""
    return ".".join([(aliases or {}).get(root, root), *reversed(parts)])


def _aliases(tree: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update({alias.asname: alias.name for alias in node.names if alias.asname})
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    return found


def _run_function(notes: _Notes, tree: ast.Module, schema: Json) -> None:
    runs = [n for n in tree.body if isinstance(n, _FUNCTIONS) and n.name == "run"]
    if len(runs) != 1:
        notes.block("contract", f"there has to be one top-level function run(...); there are {len(runs)}")
        return
    (run,) = runs
    for node in tree.body:
        if node is not run and "run" in _binds(node):
            notes.block("contract", "run is bound a second time", node.lineno)
    if isinstance(run, ast.AsyncFunctionDef) or any(
        isinstance(n, ast.Yield | ast.YieldFrom) for n in _own(run)
    ):
        notes.block(
            "contract", "run has to return its result: it may not be async or a generator", run.lineno
        )
    if run.args.vararg or run.args.kwarg or run.args.posonlyargs:
        text = "run takes named parameters only: no *args, **kwargs or positional-only ones"
        notes.block("contract", text, run.lineno)
        return
    parameters = [*run.args.args, *run.args.kwonlyargs]
    bare = [p.arg for p in parameters if p.annotation is None] + (
        ["the result"] if run.returns is None else []
    )
    if bare:
        notes.block("contract", f"run is not fully annotated: {', '.join(bare)}", run.lineno)
    if not ast.get_docstring(run) and not ast.get_docstring(tree):
        notes.add("low", "contract", "neither the module nor run has a docstring", run.lineno)
    required = {p.arg for p in run.args.args[: len(run.args.args) - len(run.args.defaults)]}
    required |= {p.arg for p, d in zip(run.args.kwonlyargs, run.args.kw_defaults, strict=True) if d is None}
    _match_schema(notes, {p.arg for p in parameters}, required, schema, run.lineno)


def _binds(node: ast.stmt) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    if isinstance(node, ast.Import | ast.ImportFrom):
        names |= {alias.asname or alias.name for alias in node.names}
    return names | ({node.name} if isinstance(node, ast.ClassDef) else set())


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when the node runs: everything inside but the bodies of functions."""
    rest: list[ast.AST] = list(ast.iter_child_nodes(node))
    while rest:
        inner = rest.pop()
        yield inner
        if not isinstance(inner, _FUNCTIONS | ast.Lambda):
            rest.extend(ast.iter_child_nodes(inner))


def _match_schema(notes: _Notes, names: set[str], required: set[str], schema: Json, line: int) -> None:
    properties = schema.get("properties", {}) if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or schema.get("type") != "object":
        notes.block("schema", "input_schema has to be of type object, with properties")
        return
    missing, extra = sorted(names - set(properties)), sorted(set(properties) - names)
    if missing:
        notes.block("schema", f"input_schema lacks these parameters of run: {', '.join(missing)}", line)
    if extra:
        notes.block("schema", f"input_schema has what run does not take: {', '.join(extra)}", line)
    listed = schema.get("required", [])
    listed = {one for one in listed if isinstance(one, str)} if isinstance(listed, list) else set()
    if unlisted := sorted((required & set(properties)) - listed):
        text = f"input_schema has to require what has no default: {', '.join(unlisted)}"
        notes.block("schema", text, line)
    if unknown := sorted(listed - set(properties)):
        notes.block("schema", f"input_schema requires what it does not describe: {', '.join(unknown)}", line)
    if optional := sorted((listed & names) - required):
        notes.add("low", "schema", f"input_schema requires what has a default: {', '.join(optional)}", line)


def _schemas(notes: _Notes, draft: ToolDraft) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    for name, schema in (("input_schema", draft.input_schema), ("output_schema", draft.output_schema)):
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            notes.block("schema", f"{name} is no valid JSON Schema: {error.message[:200]}")
        except RecursionError:
            notes.block("schema", f"{name} is nested too deeply")
        for key, value in _entries(schema):
            if key in ("$ref", "$dynamicRef") and not value.startswith("#"):
                notes.block("schema", f"{name} refers to something outside of itself: {value}")
            if hidden_characters(key + value):
                notes.add("high", "ast/hidden", f"{name}: invisible or direction-changing characters")
    if not draft.output_schema:
        notes.add("low", "schema", "output_schema says nothing of the result")


def _entries(schema: Json) -> Iterator[tuple[str, str]]:
    """Every key of a JSON value with its text, or with an empty one where the value is no text."""
    rest: list[tuple[str, Json]] = [("", schema)]
    while rest:
        key, value = rest.pop()
        yield str(key), value if isinstance(value, str) else ""
        if isinstance(value, dict):
            rest += list(value.items())
        elif isinstance(value, list):
            rest += [("", one) for one in value]


def _top_level(notes: _Notes, tree: ast.Module) -> None:
    """Work at import time would run before anything is asked for."""
    aliases = _aliases(tree)
    for node in tree.body:
        if isinstance(node, _FUNCTIONS) or is_main_guard(node):
            continue
        if isinstance(node, ast.For | ast.AsyncFor | ast.While | ast.With | ast.Raise | ast.Delete):
            kind = type(node).__name__.lower()
            notes.add("medium", "contract", f"work at import time: a {kind} statement", node.lineno)
        decorators = {id(one) for inner in ast.walk(node) for one in getattr(inner, "decorator_list", ())}
        severity: Severity = "medium" if isinstance(node, ast.Expr) else "low"
        for inner in _own(node):
            if isinstance(inner, ast.Call) and id(inner) not in decorators:
                name = _dotted(inner.func, aliases)
                if severity == "medium" or not _QUIET_CALLS.fullmatch(name):
                    notes.add(severity, "contract", f"work at import time: it calls {name}", inner.lineno)


def _requirements(notes: _Notes, trees: dict[str, ast.Module | None], draft: ToolDraft) -> None:
    names = {name for one in draft.requirements if (name := requirement_name(one))}
    provided = {module: name for name in sorted(names) for module in _modules_of(name)}
    unknown: list[tuple[str, str, int]] = []
    used: set[str] = set()
    for what, tree in trees.items():
        for one in _imports(tree) if tree else ():
            where, line = ("", one.line) if what == "code" else (f"tests, line {one.line}: ", 0)
            if not one.top:
                notes.block("ast/imports", f"{where}a relative import: a tool is one module", line)
            elif one.top == draft.name and what == "code":
                text = f"imports {one.top}, which is the tool's own name, so it finds itself"
                notes.block("ast/imports", text, line)
            elif one.top.lower() in provided:
                used.add(provided[one.top.lower()])
            elif one.optional and one.top not in sys.stdlib_module_names:
                notes.add("low", "ast/imports", f"{where}imports {one.top} if it is there; it is not", line)
            elif one.top not in sys.stdlib_module_names and one.top != draft.name:
                unknown.append((one.top, where, line))
    spare = sorted(names - used)
    hopeless = len({module for module, _, _ in unknown}) > len(spare)
    for module, where, line in unknown:
        text = f"{where}imports {module}, which neither Python nor a requirement provides"
        if hopeless:
            notes.block("ast/imports", text, line)
        else:  # A distribution's name need not tell its module's; the sandbox will.
            notes.add("medium", "ast/imports", f"{text} by name; maybe {', '.join(spare)} does", line)
    if spare and not unknown and trees["code"] is not None:
        notes.add("low", "ast/imports", f"nothing imports what these provide: {', '.join(spare)}")


def _header(notes: _Notes, draft: ToolDraft) -> None:
    try:
        listed = header_requirements(draft.code)
    except ContractError as error:
        notes.add("medium", "contract", error.message)
        return
    wanted = {" ".join(one.split()) for one in draft.requirements}
    if listed is not None and set(listed) != wanted:
        text = f"the PEP 723 header lists {', '.join(listed) or 'nothing'}; the requirements are "
        notes.add("medium", "contract", text + (", ".join(sorted(wanted)) or "none"))


def _modules_of(distribution: str) -> set[str]:
    """Module names, in lower case, that a distribution of this normalised name may provide."""
    name = distribution.replace("-", "_")
    short = re.sub(r"^(python3?_|py_?)|(_python3?|_py|_binary|_headless)$", "", name)
    return {name, short, name.split("_")[0], *_MODULES.get(distribution, "").split()}


def _uses(notes: _Notes, tree: ast.Module, draft: ToolDraft) -> None:
    """What the code reaches for beyond computing, against what it declares."""
    granted = draft.capabilities
    rules: list[tuple[str, Severity, re.Pattern[str], str]] = [
        ("ast/process", "high", _PROCESS, "starts processes or native code"),
        ("ast/dynamic", "medium", _DYNAMIC, "runs or loads code that is not on this page"),
    ]
    if not granted.network:
        rules.append(("ast/network", "high", _NETWORK, "reaches for a network that is not declared"))
    if granted.workspace != "write":
        rules.append(("ast/files", "medium", _FILES, "changes files"))
    if not granted.secrets:
        rules.append(("ast/environment", "medium", _ENVIRONMENT, "reads the environment"))
    aliases = _aliases(tree)
    places = {(one.name, one.line) for one in _imports(tree)}
    imported = {name for name, _ in places}
    tops = {name.split(".")[0] for name in imported}
    named = sorted(places)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            root, dot, rest = _dotted(node, aliases).partition(".")
            # A local variable may be called `requests`; only what was imported counts as a module.
            named.append(((root if root in tops else "") + dot + rest, node.lineno))
        elif isinstance(node, ast.Name) and (hasattr(builtins, node.id) or node.id == "__builtins__"):
            named.append((node.id, node.lineno))
        elif isinstance(node, ast.Call) and granted.workspace != "write" and _writes(node, aliases):
            notes.add("medium", "ast/files", "opens a file for writing", node.lineno)
    for rule, severity, pattern, text in rules:
        hits = [n for n in named if pattern.fullmatch(n[0]) and not _HARMLESS.fullmatch(n[0])]
        # Said once, where it is imported, not again at every use.
        known = {name for name, _ in hits if name in imported}
        prefixes = tuple(f"{name}." for name in known)
        for name, line in hits:
            if (name, line) in places or not (name in known or name.startswith(prefixes)):
                notes.add(severity, rule, f"{name}: {text}", line)


def _writes(call: ast.Call, aliases: dict[str, str]) -> bool:
    """True for an `open` whose mode writes, or is not written out."""
    name = _dotted(call.func, aliases)
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


def _tests(notes: _Notes, tree: ast.Module, name: str) -> None:
    tests = [node for node in tree.body if isinstance(node, _FUNCTIONS) and node.name.startswith("test_")]
    helpers = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and _asserts(node, set())}
    if not any(one.top == name for one in _imports(tree)):
        notes.block("tests", f"the tests do not import {name}")
    idle = [test.name for test in tests if not _asserts(test, helpers)]
    count = len({test.name for test in tests})
    if count == 0:
        notes.block("tests", "there is no top-level test_* function")
    elif len(idle) == len(tests):
        notes.block("tests", "no test asserts anything")
    else:
        for one in idle:
            notes.add("medium", "tests", f"{one} asserts nothing")
    if count == 1:
        notes.add("medium", "tests", "there is only one test")
    for test in tests:
        lazy = isinstance(test, ast.AsyncFunctionDef)
        if lazy or any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own(test)):
            notes.block("tests", f"{test.name} is async or a generator, so calling it runs nothing")
        wants = test.args.posonlyargs + test.args.args
        if len(wants) > len(test.args.defaults) or None in test.args.kw_defaults:
            notes.block("tests", f"{test.name} takes parameters, which nothing provides")


def _asserts(test: ast.AST, helpers: set[str]) -> bool:
    return any(
        isinstance(node, ast.Assert | ast.Raise)
        or (isinstance(node, ast.Call) and _dotted(node.func) in helpers)
        for node in _own(test)
    )


def _text(notes: _Notes, draft: ToolDraft) -> None:
    for what, text in (("code", draft.code), ("tests", draft.tests)):
        for number, line in enumerate(text.split("\n"), 1):
            where, at = ("", number) if what == "code" else (f"tests, line {number}: ", 0)
            if count := 0 if line.isascii() and line.isprintable() else hidden_characters(line):
                said = f"{where}{count} invisible or direction-changing characters"
                notes.add("high", "ast/hidden", said, at)
            if len(line) > _LONG_LINE:
                notes.add("low", "ast/long-line", f"{where}a line of {len(line)} characters", at)
    if hidden_characters(draft.name + draft.description):
        notes.add("high", "ast/hidden", "description: invisible or direction-changing characters")


def _scannable(notes: _Notes, tree: ast.Module | None, what: str) -> bool:
    """Bandit's time grows with the cube of the nesting: a few kilobytes could hold it for minutes."""
    rest: list[tuple[ast.AST, int]] = [(tree, 0)] if tree is not None else []
    while rest:
        node, depth = rest.pop()
        if depth > _DEEPEST:
            notes.add("medium", "bandit", f"{what}: nested over {_DEEPEST} levels, so it was not scanned")
            return False
        rest += [(inner, depth + 1) for inner in ast.iter_child_nodes(node)]
    return tree is not None


def _bandit(notes: _Notes, code: str, tests: str) -> None:
    """Bandit's findings. It reads files only, so it is given copies in a private folder."""
    import logging
    import tempfile
    from pathlib import Path

    from bandit.core.config import BanditConfig
    from bandit.core.manager import BanditManager

    logging.getLogger("bandit").setLevel(logging.CRITICAL)
    ours = {(one.line, one.rule) for one in notes.found}
    try:
        with tempfile.TemporaryDirectory(prefix="alita-review-") as folder:
            paths = [Path(folder) / "code.py", Path(folder) / "tests.py"]
            for path, text in zip(paths, (code, tests), strict=True):
                path.write_text(text, encoding="utf-8", errors="surrogatepass")
            # A draft may not silence its own review with a `nosec` comment.
            manager = BanditManager(BanditConfig(), "file", ignore_nosec=True)
            manager.discover_files([str(path) for path in paths])
            manager.run_tests()
            issues, skipped = manager.get_issue_list(), manager.get_skipped()
    except OSError as error:
        notes.add("medium", "bandit", f"the scan did not run: {error.strerror or error}")
        return
    for name, reason in skipped:
        notes.add("medium", "bandit", f"{Path(name).stem}: the scan did not finish: {reason}")
    severities: dict[str, Severity] = {"LOW": "low", "MEDIUM": "medium", "HIGH": "high"}
    for issue in issues:
        if Path(issue.fname).stem == "code":
            if (issue.lineno, _SAME.get(issue.test_id)) not in ours:
                severity = severities.get(issue.severity, "info")
                notes.add(severity, issue.test_id, issue.text, issue.lineno)
        elif issue.test_id != "B101":  # asserts are what tests are made of
            # Tests only ever run confined, with nothing granted.
            notes.add("low", issue.test_id, f"tests, line {issue.lineno}: {issue.text}")
