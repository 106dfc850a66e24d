"""Scans the text itself: hidden characters, long lines, and bandit's findings."""

from __future__ import annotations

import ast
import warnings

from alita_tui.events import Capabilities, ToolDraft
from alita_tui.runtimes.notes import Notes, Severity
from alita_tui.runtimes.python.addresses import lines_opening
from alita_tui.spine.syntax import PARSER, try_parse
from alita_tui.spine.text import hidden_characters

_NOTHING = Capabilities()

_XML = ("B313", "B314", "B315", "B316", "B317", "B318", "B319", "B320")
"""Bandit's findings about parsing XML: entities that a document declares can grow without end."""
_DEEPEST = 200
_LONG_LINE = 500
_OWN_RULES = {
    "B102": "ast/dynamic", "B307": "ast/dynamic", "B403": "ast/dynamic", "B404": "ast/process",
    "B605": "ast/process", "B606": "ast/process", "B401": "ast/network", "B402": "ast/network",
}  # fmt: skip
"""Rules of this review by bandit's ids for the same findings."""


def note_text(notes: Notes, draft: ToolDraft) -> None:
    """Report hidden characters and long lines."""
    for part, text in (("code", draft.code), ("tests", draft.tests)):
        for number, line in enumerate(text.split("\n"), 1):
            place, finding_line = ("", number) if part == "code" else (f"tests, line {number}: ", 0)
            if count := 0 if line.isascii() and line.isprintable() else hidden_characters(line):
                remark = f"{place}{count} invisible or direction-changing characters"
                notes.add("high", "ast/hidden", remark, finding_line)
            if len(line) > _LONG_LINE:
                notes.add("low", "ast/long-line", f"{place}a line of {len(line)} characters", finding_line)
    if hidden_characters(draft.name + draft.description):
        notes.add("high", "ast/hidden", "description: invisible or direction-changing characters")


def scannable(notes: Notes, tree: ast.Module | None, part: str) -> bool:
    """Return True if bandit can scan a tree: its time grows with the cube of the nesting."""
    pending: list[tuple[ast.AST, int]] = [(tree, 0)] if tree is not None else []
    while pending:
        node, depth = pending.pop()
        if depth > _DEEPEST:
            notes.add("medium", "bandit", f"{part}: nested over {_DEEPEST} levels, so it was not scanned")
            return False
        pending += [(inner, depth + 1) for inner in ast.iter_child_nodes(node)]
    return tree is not None


def note_bandit(notes: Notes, code: str, tests: str, capabilities: Capabilities = _NOTHING) -> None:
    """Add bandit's findings. It reads files only, so it gets copies in a private folder.

    A draft that requests a host or the broker opens addresses, about which the person decides anyway; literal addresses
    that were requested are not reported.
    """
    import logging
    import tempfile
    from pathlib import Path

    from bandit.core.config import BanditConfig
    from bandit.core.manager import BanditManager

    logging.getLogger("bandit").setLevel(logging.CRITICAL)
    refuses_declarations = _refuses_declarations(code)
    connects = bool(capabilities.network) or capabilities.brokered
    granted_lines = lines_opening(code, capabilities) if connects else frozenset()
    own_findings = {(finding.line, finding.rule) for finding in notes.found}
    try:
        with tempfile.TemporaryDirectory(prefix="alita-review-") as folder:
            paths = [Path(folder) / "code.py", Path(folder) / "tests.py"]
            for path, text in zip(paths, (code, tests), strict=True):
                path.write_text(text, encoding="utf-8", errors="surrogatepass")
            # A draft may not silence its own review with a `nosec` comment.
            manager = BanditManager(BanditConfig(), "file", ignore_nosec=True)
            manager.discover_files([str(path) for path in paths])
            with PARSER, warnings.catch_warnings():  # warnings would be printed over the screen
                warnings.simplefilter("ignore")
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
            if issue.test_id == "B310" and issue.lineno in granted_lines:
                continue
            if (issue.lineno, _OWN_RULES.get(issue.test_id)) not in own_findings:
                severity = severities.get(issue.severity, "info")
                severity = "low" if connects and issue.test_id == "B310" else severity
                severity = "low" if refuses_declarations and issue.test_id in _XML else severity
                notes.add(severity, issue.test_id, issue.text, issue.lineno)
        elif issue.test_id != "B101":  # asserts are what tests are made of
            # Tests only ever run confined, with nothing granted.
            notes.add("low", issue.test_id, f"tests, line {issue.lineno}: {issue.text}")


def _refuses_declarations(code: str) -> bool:
    """Return True if a text with `<!DOCTYPE` or `<!ENTITY` is refused with an error before anything else is done."""
    tree = try_parse(code)
    return tree is not None and any(
        isinstance(node, ast.If)
        and isinstance(node.body[-1], ast.Raise)
        and not (isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And))
        and any(
            isinstance(child, ast.Constant)
            and isinstance(child.value, str)
            and child.value.upper() in ("<!", "<!DOCTYPE", "<!ENTITY", "<!D", "<!E")
            for child in ast.walk(node.test)
        )
        for node in ast.walk(tree)
    )
