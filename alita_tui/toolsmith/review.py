"""The static review of a draft: advice for the person, and the faults that make testing senseless.

Nothing is imported or run. The wall is the sandbox and the person; this is a reading aid.
"""

from __future__ import annotations

import ast
import re
import sys
import tempfile
from pathlib import Path
from typing import Literal

from alita_tui.spine.text import hidden_characters
from alita_tui.spine.values import Finding, Json, ToolDraft, Value

Severity = Literal["info", "low", "medium", "high"]

_NETWORK = frozenset(
    "socket ssl urllib http ftplib smtplib requests httpx aiohttp urllib3 websockets".split()
)
_PROCESS = frozenset("subprocess multiprocessing ctypes pty signal cffi".split())
_DYNAMIC = frozenset(("eval", "exec", "compile", "__import__"))
_LOADERS = frozenset("importlib pickle marshal shelve dill runpy code".split())
_OS_CALLS = re.compile(r"^os\.(system|popen|exec\w*|spawn\w*|fork\w*|kill)$")
_MODULES = {
    "beautifulsoup4": "bs4", "pillow": "PIL", "pyyaml": "yaml", "python-dateutil": "dateutil",
    "scikit-learn": "sklearn", "opencv-python-headless": "cv2", "dnspython": "dns", "pymupdf": "fitz",
    "python-docx": "docx", "attrs": "attr", "pycryptodome": "Crypto", "python-slugify": "slugify",
}  # fmt: skip
"""Distributions whose module has another name."""


class Review(Value, frozen=True):
    """What the review found."""

    findings: tuple[Finding, ...]
    passed: bool
    imports: tuple[str, ...] = ()


def review(draft: ToolDraft) -> Review:
    """Read a draft. Blocking findings are those that make testing senseless. Blocks: call in a thread."""
    notes = _Notes()
    code = _parse(notes, draft.code, "code")
    tests = _parse(notes, draft.tests, "tests")
    imports: tuple[str, ...] = ()
    if code is not None:
        imports = tuple(sorted({module for module, _ in _imports(code)}))
        _run_function(notes, code, draft.input_schema)
        _top_level(notes, code)
        _requirements(notes, code, draft)
        _uses(notes, code, draft)
        _bandit(notes, draft.code)
    if tests is not None:
        _tests(notes, tests, draft.name)
    _schemas(notes, draft)
    _text(notes, draft)
    findings = tuple(sorted(set(notes.found), key=lambda f: (f.line, f.rule, f.text)))
    return Review(findings=findings, passed=not any(f.blocking for f in findings), imports=imports)


class _Notes:
    def __init__(self) -> None:
        self.found: list[Finding] = []

    def add(self, severity: Severity, rule: str, text: str, line: int = 0, *, blocking: bool = False) -> None:
        self.found.append(Finding(severity=severity, rule=rule, text=text, line=line, blocking=blocking))


def _parse(notes: _Notes, text: str, what: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        notes.add("high", "syntax", f"{what}: {error.msg}", error.lineno or 0, blocking=True)
    except (RecursionError, MemoryError, ValueError) as error:
        notes.add(
            "high", "syntax", f"{what}: it cannot be parsed ({error or type(error).__name__})", blocking=True
        )
    return None


def _imports(tree: ast.Module) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name.split(".")[0], node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(((node.module or "").split(".")[0] if not node.level else ".", node.lineno))
    return found


def _run_function(notes: _Notes, tree: ast.Module, schema: Json) -> None:
    runs = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) and n.name == "run"]
    if len(runs) != 1:
        notes.add(
            "high",
            "contract",
            f"there has to be one top-level run(...); there are {len(runs)}",
            blocking=True,
        )
        return
    (run,) = runs
    if isinstance(run, ast.AsyncFunctionDef):
        notes.add("high", "contract", "run must not be async", run.lineno, blocking=True)
    if run.args.vararg or run.args.kwarg or run.args.posonlyargs:
        text = "run takes named parameters only: no *args, **kwargs or positional-only ones"
        notes.add("high", "contract", text, run.lineno, blocking=True)
    parameters = [*run.args.args, *run.args.kwonlyargs]
    bare = [p.arg for p in parameters if p.annotation is None]
    if bare or run.returns is None:
        missing = ", ".join([*bare, *(["the return value"] if run.returns is None else [])])
        notes.add("high", "contract", f"run is not fully annotated: {missing}", run.lineno, blocking=True)
    if not ast.get_docstring(run) and not ast.get_docstring(tree):
        notes.add("low", "contract", "neither the module nor run has a docstring", run.lineno)
    required = {p.arg for p in run.args.args[: len(run.args.args) - len(run.args.defaults)]}
    required |= {p.arg for p, d in zip(run.args.kwonlyargs, run.args.kw_defaults, strict=True) if d is None}
    _match_schema(notes, {p.arg for p in parameters}, required, schema, run.lineno)


def _match_schema(notes: _Notes, names: set[str], required: set[str], schema: Json, line: int) -> None:
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    if not isinstance(properties, dict) or schema.get("type") != "object":
        notes.add("high", "schema", "input_schema has to be an object with properties", blocking=True)
        return
    if set(properties) != names:
        odd = ", ".join(sorted(set(properties) ^ names))
        notes.add(
            "high",
            "schema",
            f"input_schema and run do not have the same parameters: {odd}",
            line,
            blocking=True,
        )
        return
    listed = schema.get("required", [])
    if isinstance(listed, list) and not required <= set(listed):
        odd = ", ".join(sorted(required - set(listed)))
        notes.add("medium", "schema", f"input_schema does not require {odd}, which has no default", line)


def _schemas(notes: _Notes, draft: ToolDraft) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    for name, schema in (("input_schema", draft.input_schema), ("output_schema", draft.output_schema)):
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            notes.add(
                "high", "schema", f"{name} is no valid JSON Schema: {error.message[:200]}", blocking=True
            )
        except RecursionError:
            notes.add("high", "schema", f"{name} is nested too deeply", blocking=True)
    if not draft.output_schema:
        notes.add("low", "schema", "output_schema says nothing of the result")


def _top_level(notes: _Notes, tree: ast.Module) -> None:
    """Work at import time would run before anything is asked for."""
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            notes.add("medium", "contract", "a call at import time", node.lineno)
        elif isinstance(node, ast.For | ast.While | ast.With):
            notes.add("medium", "contract", "work at import time", node.lineno)


def _requirements(notes: _Notes, tree: ast.Module, draft: ToolDraft) -> None:
    provided = set()
    for requirement in draft.requirements:
        found = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", requirement)
        if found:
            name = re.sub(r"[-_.]+", "-", found[0]).lower()
            provided |= {name.replace("-", "_"), _MODULES.get(name, "").lower()}
            provided |= {name.removeprefix("python-").replace("-", "_"), name.split("-")[0]}
    for module, line in _imports(tree):
        if module == ".":
            notes.add("high", "contract", "a relative import: a tool is one module", line, blocking=True)
        elif module not in sys.stdlib_module_names and module.lower() not in provided:
            text = f"imports {module}, which no requirement provides"
            notes.add("high", "requirements", text, line, blocking=True)


def _uses(notes: _Notes, tree: ast.Module, draft: ToolDraft) -> None:
    """What the code reaches for beyond computing, against what it declares."""
    for module, line in _imports(tree):
        if module in _NETWORK and not draft.capabilities.network:
            notes.add("high", "undeclared/network", f"imports {module}; no network is declared", line)
        if module in _PROCESS:
            notes.add("high", "uses/process", f"imports {module}", line)
        if module in _LOADERS:
            notes.add("medium", "uses/dynamic", f"imports {module}", line)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = _dotted(node.func)
            if name in _DYNAMIC:
                notes.add("medium", "uses/dynamic", f"calls {name}", node.lineno)
            elif _OS_CALLS.match(name):
                notes.add("high", "uses/process", f"calls {name}", node.lineno)
            elif name == "open" or name.endswith((".write_text", ".write_bytes", ".unlink", ".rmdir")):
                notes.add("medium", "uses/files", f"calls {name}", node.lineno)
        elif isinstance(node, ast.Attribute) and _dotted(node) in ("os.environ", "os.getenv"):
            notes.add("medium", "uses/environment", f"reads {_dotted(node)}", node.lineno)


def _tests(notes: _Notes, tree: ast.Module, name: str) -> None:
    tests = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")]
    if not tests:
        notes.add("high", "tests", "there is no test_* function", blocking=True)
    elif len(tests) == 1:
        notes.add("medium", "tests", "there is only one test")
    if not any(module == name for module, _ in _imports(tree)):
        notes.add("high", "tests", f"the tests do not import {name}", blocking=True)
    for test in tests:
        if not any(isinstance(node, ast.Assert | ast.Raise | ast.Try) for node in ast.walk(test)):
            notes.add("medium", "tests", f"{test.name} asserts nothing")
        if test.args.args:
            notes.add("high", "tests", f"{test.name} takes parameters, which nothing provides", blocking=True)


def _text(notes: _Notes, draft: ToolDraft) -> None:
    for what, text in (("code", draft.code), ("tests", draft.tests)):
        for number, line in enumerate(text.splitlines(), 1):
            if count := hidden_characters(line):
                notes.add(
                    "high", "hidden", f"{what}: {count} invisible or direction-changing characters", number
                )
            if len(line) > 500:
                notes.add("low", "text", f"{what}: a line of {len(line)} characters", number)
    if hidden_characters(draft.description):
        notes.add("high", "hidden", "description: invisible characters")


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (
        ".".join(reversed([*parts, node.id]))
        if isinstance(node, ast.Name)
        else ".".join(reversed(["", *parts]))
    )


def _bandit(notes: _Notes, code: str) -> None:
    """Bandit's findings, with the code in a private file since it reads nothing else."""
    import logging

    logging.getLogger("bandit").setLevel(logging.CRITICAL)
    from bandit.core.config import BanditConfig
    from bandit.core.manager import BanditManager

    with tempfile.TemporaryDirectory(prefix="alita-review-") as folder:
        path = Path(folder) / "tool.py"
        path.write_text(code, encoding="utf-8", errors="surrogatepass")
        manager = BanditManager(BanditConfig(), "file")
        manager.discover_files([str(path)])
        manager.run_tests()
        for issue in manager.get_issue_list():
            severity: Severity = {"LOW": "low", "MEDIUM": "medium", "HIGH": "high"}.get(
                issue.severity, "info"
            )  # type: ignore[assignment]
            notes.add(severity, str(issue.test_id), str(issue.text), int(issue.lineno))
