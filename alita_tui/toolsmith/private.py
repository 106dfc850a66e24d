"""What belongs to a person or a house and not into code: keys, passwords, home folders, shares, inner host names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from alita_tui.spine.redaction import secrets_in
from alita_tui.spine.secret_rules import library_rules
from alita_tui.spine.values import ToolDraft
from alita_tui.toolsmith.reading import FUNCTIONS, Notes

_NAMED = re.compile(
    r"(^|.*[_-])(pass(word|wd|phrase|wort)|pwd|secret|token|(api|access|private|secret"
    r"|auth)[_-]?key|credentials?)\d?",
    re.IGNORECASE,
)
"""Names of what is kept secret."""
_WORDS = re.compile(r"(^|.*_)(phrase|passphrase|seed|mnemonic|recovery)(_.*)?", re.IGNORECASE)
_PHRASE = re.compile(r"[a-z]{3,8}(?: [a-z]{3,8}){11,23}")
_SHAPED = re.compile(r"[\[\](){}*?|^\\<>\s]|%[sd(]|://|\.\.\.")
"""A pattern, a place-holder or prose rather than a value."""
_ROWS = ("abcdef", "0123456", "qwerty", "changeme", "placeholder", "xxxx", "your")
_NOBODY = (
    r"(?!(?:user|username|me|you|name|someone|somebody|nobody|runner|app|example|\{|<|\$|%|\.\.\.)"
    r"[\w}>%]*(?:[/\\]|$))"
)
"""Names that stand for anybody's."""
_PRIVATE = (
    (re.compile(r"(?<![\w.])/(?:home|Users)/" + _NOBODY + r"[A-Za-z][\w.-]*"), "a person's home folder"),
    (re.compile(r"(?<![\w.])/root/[\w.-]+"), "a person's home folder"),
    (
        re.compile(r"\b[A-Za-z]:[\\/]+(?:Users|Documents and Settings)[\\/]+" + _NOBODY + r"[\w.-]+"),
        "a person's home folder",
    ),
    (re.compile(r"(?<![\w\\])\\\\[A-Za-z][\w.-]{2,}\\[A-Za-z][\w.$ -]{1,}"), "a share of a house's network"),
    (
        re.compile(
            r"(?:://(?:[^\s/@]{1,80}@)?|^)(?:[a-z0-9-]+\.)+(?:internal|intranet|corp|lan|intern)\b[\w.-]*"
        ),
        "a host of a house's own network",
    ),
    (
        re.compile(
            r"://(?:[^\s/@]{1,80}@)?(?:10\.\d+|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d+(?:\.\d+)?(?=[:/\s]|$)"
        ),
        "an address of a house's own network",
    ),
)


def note_private(notes: Notes, draft: ToolDraft, code: ast.Module | None) -> None:
    """Note it with its line. Never the text itself of a secret: a finding is written down.

    What has the shape of an issuer's key goes back: it is taken out wherever a draft is recorded and shown, so that
    nobody could approve the bytes that would run.
    """
    for what, text in (("", draft.code), ("tests, ", draft.tests)):
        for line, called in secrets_in(text, library_rules()):
            said = (
                f"{what}line {line} holds what looks like a secret ({called}), which is never shown or kept: "
            )
            end = (
                "put an example together from parts"
                if what
                else "take it as an argument or a declared secret"
            )
            notes.block("ast/secret", said + end, 0 if what else line)
    if code is None:
        return
    for name, value, line in _given(code):
        if _NAMED.fullmatch(name) and _looks_random(value):
            notes.add(
                "high", "ast/secret", f"holds what looks like a secret: {name} is given a value here", line
            )
        elif _WORDS.fullmatch(name) and _PHRASE.fullmatch(value):
            notes.add(
                "high", "ast/secret", f"holds what looks like a secret: {name} is a list of words", line
            )
    granted = {one.split()[-1].split("@")[-1].rsplit(":", 1)[0] for one in draft.capabilities.network}
    told = {id(node.value) for node in ast.walk(code) if isinstance(node, ast.Expr)}
    for node in ast.walk(code):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in told:
            continue
        for shape, what in _PRIVATE:
            found = shape.search(node.value)
            if found and not any(host in found[0] for host in granted):
                at = node.lineno + node.value.count("\n", 0, found.start())
                place = found[0].rpartition("@")[2].removeprefix("://")[:80]  # without a name and a password
                notes.add("high", "ast/private-path", f"{place}: {what} stands in the code", at)


def _given(tree: ast.Module) -> Iterator[tuple[str, str, int]]:
    """Names and keys that are given a text, with the text and its line."""
    for node in ast.walk(tree):
        pairs: list[tuple[str, ast.expr | None]] = []
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            pairs = [(_last(one), node.value) for one in targets]
        elif isinstance(node, ast.keyword):
            pairs = [(node.arg or "", node.value)]
        elif isinstance(node, ast.Dict):
            keys = (one.value if isinstance(one, ast.Constant) else "" for one in node.keys)
            pairs = [(str(key), value) for key, value in zip(keys, node.values, strict=True)]
        elif isinstance(node, FUNCTIONS | ast.Lambda):
            plain = [*node.args.posonlyargs, *node.args.args]
            late = zip(reversed(plain), reversed(node.args.defaults), strict=False)
            named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            pairs = [(one.arg, value) for one, value in (*late, *named)]
        for name, value in pairs:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield name, value.value, value.lineno


def _last(target: ast.expr) -> str:
    """The last word of what is assigned to: `a.b["c"]` is `c`."""
    match target:
        case (
            ast.Name(id=name)
            | ast.Attribute(attr=name)
            | ast.Subscript(slice=ast.Constant(value=str() as name))
        ):
            return name
        case _:
            return ""


def _looks_random(text: str) -> bool:
    """Whether a text has the mixture of characters that a word or a label has not."""
    if not 8 <= len(text) <= 400 or _SHAPED.search(text) or any(row in text.lower() for row in _ROWS):
        return False
    kinds = (str.islower, str.isupper, str.isdigit, lambda one: not one.isalnum())
    return sum(any(kind(one) for one in text) for kind in kinds) >= 3
