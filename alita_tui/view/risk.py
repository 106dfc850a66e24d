"""What speaks against a build, computed from what was observed. Pure."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection

import msgspec

from alita_tui.spine.grants import phrases
from alita_tui.spine.syntax import UNPARSABLE, parse
from alita_tui.spine.text import hidden_characters
from alita_tui.view.model import GATES, Attempt, BuildView

# Distributions whose import name is not their own (PyPI; the usual cases).
_IMPORT_OF = {
    "beautifulsoup4": "bs4",
    "opencv-python": "cv2",
    "opencv-python-headless": "cv2",
    "pillow": "pil",
    "pycryptodome": "crypto",
    "pyjwt": "jwt",
    "pyyaml": "yaml",
    "scikit-image": "skimage",
    "scikit-learn": "sklearn",
}


class Risk(msgspec.Struct, frozen=True):
    """One thing to know before deciding."""

    text: str
    serious: bool = True
    """Approving takes typing the tool's name."""


def risks(build: BuildView, attempt: Attempt, withheld: Collection[str] = ()) -> tuple[Risk, ...]:
    """Everything that speaks against a build, what is serious first.

    What is withheld of its capabilities, in words of `Capabilities.items`, is none.
    """
    found = [
        *_bytes(build, attempt),
        *_tests(attempt),
        *_review(attempt),
        *(Risk(f"asks for {one}") for one in phrases(attempt.draft.capabilities.without(withheld))),
        *(Risk(f"imports {name}, which no requirement declares") for name in undeclared(attempt)),
        *_requirements(attempt),
        *_gates(attempt),
    ]
    return tuple(sorted(found, key=lambda risk: not risk.serious))


def _gates(attempt: Attempt) -> list[Risk]:
    """Gates that failed, could not run, or of which nothing is on record: none of that is a pass."""
    verbs = {"failed": "failed", "skipped": "could not run"}
    found = [
        Risk(f"{GATES[one.gate]} {verbs[one.state]}: {one.summary}")
        for one in attempt.gates
        if one.state in verbs
    ]
    if attempt.unchecked:
        found.append(Risk(f"not run, or not on record: {', '.join(GATES[one] for one in attempt.unchecked)}"))
    return found


def serious(build: BuildView, attempt: Attempt, withheld: Collection[str] = ()) -> bool:
    """Whether approving takes typing the tool's name."""
    return any(risk.serious for risk in risks(build, attempt, withheld))


def _bytes(build: BuildView, attempt: Attempt) -> list[Risk]:
    found = []
    hidden = sum(hidden_characters(text) for text in (attempt.draft.code, attempt.draft.tests))
    if hidden:
        found.append(Risk(f"{hidden} hidden characters in code or tests, shown as ⟨U+…⟩"))
    found += _names("code", attempt.draft.code)
    found += _names("tests", attempt.draft.tests)
    if attempt.build_digest != build.digest:
        found.append(Risk("these bytes are not the ones that approval is asked for"))
    return found


def _names(what: str, code: str) -> list[Risk]:
    """Names with letters outside ASCII, which can pass for others (UTS #39)."""
    try:
        tree = parse(code)
    except UNPARSABLE:
        return [Risk(f"the {what} {'is' if what == 'code' else 'are'} no valid Python")]
    if code.isascii():
        return []
    strange = {
        text
        for node in ast.walk(tree)
        for field in ("id", "attr", "arg", "name", "asname", "module")
        if isinstance(text := getattr(node, field, None), str) and not text.isascii()
    }
    spelled = [
        "".join(char if char.isascii() else f"⟨U+{ord(char):04X}⟩" for char in name)
        for name in sorted(strange)
    ]
    where = "" if what == "code" else " in the tests"
    return [Risk(f"names with letters outside ASCII{where}: {', '.join(spelled)}")] if spelled else []


def _tests(attempt: Attempt) -> list[Risk]:
    if attempt.passed is None:
        return [Risk("the self-tests have not run")]
    if not attempt.passed:
        return [Risk(f"the self-tests did not pass{': ' if attempt.problem else ''}{attempt.problem}")]
    cases = attempt.reports[-1].cases if attempt.reports else ()
    found = [] if cases else [Risk("there is no self-test case")]
    if attempt.granted_problem:
        found.append(Risk(f"with what it asks for, the self-tests did not pass: {attempt.granted_problem}"))
    return found


def _review(attempt: Attempt) -> list[Risk]:
    if attempt.reviewed is None:
        return [Risk("the static review has not run")]
    found = [
        Risk(
            f"{one.severity} finding {one.rule}{f' in line {one.line}' if one.line else ''}: {one.text}",
            serious=one.blocking or one.severity == "high",
        )
        for one in attempt.findings
        if one.blocking or one.severity in ("high", "medium")
    ]
    if not attempt.reviewed and not any(risk.serious for risk in found):
        found.append(Risk("the static review did not pass"))
    return found


def _requirements(attempt: Attempt) -> list[Risk]:
    found = []
    if attempt.lock_problem:
        found.append(Risk(f"requirements refused: {attempt.lock_problem}"))
    elif attempt.draft.requirements and attempt.lock is None:
        found.append(Risk("the requirements are not pinned to exact wheels"))
    for package in attempt.lock.packages if attempt.lock else ():
        if not package.hashes:
            found.append(Risk(f"{package.name} {package.version} has no hash"))
    return found


def declared_by(name: str, attempt: Attempt) -> str:
    """What declares an imported module: `standard library`, a requirement's name, or nothing."""
    if name in sys.stdlib_module_names or name == attempt.draft.name:
        return "standard library" if name != attempt.draft.name else "itself"
    wanted = name.lower()
    for requirement in attempt.draft.requirements:
        match = re.match(r"\s*[A-Za-z0-9._-]+", requirement)
        package = re.sub(r"[-_.]+", "-", match.group().strip().lower()) if match else ""
        plain = package.replace("-", "_")
        if wanted in (plain, plain.removeprefix("python_"), _IMPORT_OF.get(package, "")):
            return package
    return ""


def undeclared(attempt: Attempt) -> tuple[str, ...]:
    """Imported modules that neither Python nor a requirement of the draft accounts for."""
    return tuple(name for name in attempt.imports if not declared_by(name, attempt))
