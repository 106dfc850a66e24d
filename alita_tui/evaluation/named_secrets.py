"""Texts that are named as secrets where they are written: `password: …`, `API_ISSUED=…`, `"client_secret": "…"`.

A suite is handed on, so more is taken out of it than of a record, where such a rule would hide what a model needs.
"""

from __future__ import annotations

import re

from alita_tui.spine.redaction import Rule

_THOUGHT_UP = r"pass(?:word|wd|phrase|code)|pwd"
_ISSUED = r"(?:secret|api|access|private|auth|account)[_-]?key|secret|token|credentials?"
_SEPARATOR = r"[\"']?[ \t]{0,3}[:=][ \t]{0,3}"
_BARE = r"[^\s\"'`,;(){}\[\]<>|]"
"""A character of a value without quotes; what a bracket follows is code."""
_MARK = "[redacted secret]"


def _rules(name: str, least: int) -> tuple[Rule, ...]:
    """Return the rules for values of at least so many characters behind names that end in `name`, `:` or `=`."""
    named = rf"((?:{name}){_SEPARATOR})"
    quoted = rf"{named}(?P<quote>[\"'])(?!\[redacted)[^\"'\n]{{{least},400}}(?P=quote)"
    # A word alone, such as the name of a variable or of a type, is no secret.
    bare = rf"{named}(?=[A-Za-z_.]*[^\sA-Za-z_.\"'`,;(){{}}\[\]<>|])(?>{_BARE}{{{least},400}})(?![(\[{{<])"
    return (
        ("", rf"\1\g<quote>{_MARK}\g<quote>", re.compile(quoted, re.IGNORECASE)),
        ("", rf"\1{_MARK}", re.compile(bare, re.IGNORECASE)),
    )


RULES: tuple[Rule, ...] = (
    *_rules(_THOUGHT_UP, 4),
    *_rules(_ISSUED, 16),
    (
        "",
        rf"\1{_MARK}",
        re.compile(
            rf"\b((?:{_THOUGHT_UP})[ \t]is[ \t][\"']?)(?=[A-Za-z]*[\d!#$%&*+@]){_BARE}{{4,400}}",
            re.IGNORECASE,
        ),
    ),
)
"""For a `Redactor`, in addition to what it knows."""
