"""How the vendors word their errors: one table from words to kinds.

If a status or a name is ambiguous (400 for everything, 500 for a long prompt), only the words decide. Collected
from the vendors' documentation, the servers' sources and reports of users; `tests/llm/test_words.py` has every
wording and its source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from alita_tui.events import ModelErrorKind

STATUSES: dict[int, ModelErrorKind] = {
    401: "auth", 402: "payment", 403: "auth", 404: "not_found", 405: "not_found", 408: "timeout",
    410: "not_found", 413: "context", 429: "rate_limit", 498: "overloaded", 503: "overloaded", 529: "overloaded",
}  # fmt: skip
# Names in the bodies of errors: Anthropic's `error.type`, OpenAI's `error.code` and `error.type`.
_NAMES: dict[str, ModelErrorKind] = {
    "authentication_error": "auth", "permission_error": "auth", "invalid_api_key": "auth",
    "billing_error": "payment", "insufficient_quota": "payment", "billing_hard_limit_reached": "payment",
    "not_found_error": "not_found", "model_not_found": "not_found",
    "rate_limit_error": "rate_limit", "rate_limit_exceeded": "rate_limit", "resource_exhausted": "rate_limit",
    "overloaded_error": "overloaded", "unavailable_error": "overloaded", "timeout_error": "timeout",
    "request_too_large": "context", "context_length_exceeded": "context", "exceed_context_size_error": "context",
    "api_error": "server", "server_error": "server", "internal_server_error": "server",
    "invalid_request_error": "bad_request", "content_filter": "refused", "content_policy_violation": "refused",
}  # fmt: skip
_WORDS: tuple[tuple[ModelErrorKind, str], ...] = (
    ("no_tools",
     r"does(n't| not) support (tools?\b|tool[ _-](use|call)|function)|tools?.{0,20} not supported"
     r"|endpoints found that support tool use|--enable-auto-tool-choice|--tool-call-parser"
     r"|tools? param(eter)? requires --jinja|tool (use|calling) is not (supported|available|enabled)"),
    ("payment",
     r"insufficient[ _](credit|balance|fund|quota)|credit balance|credits? (are|is) depleted"
     r"|requires more credits|n[o']t have any credits|used all available credits|out of credits"
     r"|monthly spending limit|specified api usage limits|billing hard limit|payment required"),
    ("rate_limit", r"resource_exhausted|resource has been exhausted"),
    ("payment", r"exceeded your current quota"),
    ("context",
     r"context[ _](length|window|size|limit)|prompt is too long|input is too long|too many (input )?tokens"
     r"|exceeds? the (available|maximum) context|request (is )?too large|longer than the maximum model length"
     r"|input token count|maximum prompt length|input_too_large|exceeds budget|too large for model with"
     r"|reduce the length of the (messages|prompt|input)|input is too large to process"
     r"|max_tokens.{0,60}too large|exceed the model's context|prompt contains \d+ tokens"),
    ("refused",
     r"content filter|content[ _]policy|blocked by .{0,40}policy|content exists risk|usage guidelines"
     r"|requires moderation|was flagged|safety_check|responsibleai|data_inspection_failed"
     r"|prohibited_content|violates? .{0,40}(policy|policies|guidelines)"),
    ("auth",
     r"api[ _]key not valid|api_key_invalid|(incorrect|invalid|no) api key|authentication fails"
     r"|no auth credentials|user location is not supported"),
    ("not_found",
     r"\bmodels?\b.{0,160}(does not exist|not found|is not available|no longer available|is not supported for"
     r"|decommissioned|is retired|has been (retired|shut down|discontinued))|not a valid model|invalid model\b"
     r"|no models? loaded|try pulling it|not have access to (the |this |it\b)|no endpoints found for"),
    ("malformed", r"tool_use_failed|failed to call a function|malformed_function_call|failed_generation"),
    ("overloaded",
     r"overloaded|over capacity|capacity exceeded|high demand|too busy|loading model|model is (currently )?loading"
     r"|no (available )?(slots?|workers?) available|at capacity"),
    ("rate_limit", r"rate[ _-]?limit|too many requests|(requests|tokens) per (second|minute|hour|day)"),
)  # fmt: skip
"""The first that fits counts. Gemini's `RESOURCE_EXHAUSTED` comes with OpenAI's words for an empty account."""
_TABLE = tuple((kind, re.compile(words, re.IGNORECASE)) for kind, words in _WORDS)
_ANY: frozenset[ModelErrorKind] = frozenset(kind for kind, _ in _TABLE)
_MAY: dict[int, frozenset[ModelErrorKind]] = {
    401: frozenset({"payment"}),
    402: frozenset(),
    403: frozenset({"payment", "refused", "rate_limit", "overloaded", "context"}),
    404: frozenset({"no_tools", "payment"}),
    408: frozenset(),
    413: frozenset(),
    429: frozenset({"payment", "context", "overloaded", "rate_limit"}),
}
"""Kinds that words may choose under a status with a meaning of its own; any kind under other statuses."""
_WINDOWS = re.compile(
    r"(?:maximum (?:context|prompt) length (?:is|of)|context (?:length|window|size) (?:is|of)(?: only)?"
    r"|available context size \(|maximum model length of|maximum number of tokens allowed \("
    r"|too large for model with|context limit: [\d ,+]*>|exceeds budget \(|\d+ tokens >|\"?n_ctx\"?:) *(\d{3,9})",
    re.IGNORECASE,
)
_MOST = re.compile(
    r"max_tokens: \d+ > (\d+), which is the maximum|at most (\d+) completion tokens|valid range of max_tokens is "
    r"\[1, ?(\d+)\]|max(?:_completion)?_tokens`? must be less than or equal to `?(\d+)",
    re.IGNORECASE,
)
_WAITS = re.compile(
    r"(?:(?:try again|retry) (?:in|after)|\"?retryDelay\"?: *\"?) *"
    r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?) ?(ms|s|seconds?\b))?",
    re.IGNORECASE,
)


def kind_of(status: int, names: Iterable[object], text: str) -> ModelErrorKind | None:
    """Return the kind of an error; None if nothing shows it.

    `status` is the HTTP status, 0 for an error in the middle of a stream; `names` are codes and types in its body.
    """
    listed = [str(name) for name in names if isinstance(name, str | int) and not isinstance(name, bool)]
    wording = " ".join((*listed, text))
    allowed = _MAY.get(status, _ANY)
    for candidate, pattern in _TABLE:
        if candidate in allowed and pattern.search(wording):
            return candidate
    if status in STATUSES:
        return STATUSES[status]
    for name in listed:
        if name.isdecimal() and 400 <= int(name) < 600:
            return STATUSES.get(int(name)) or by_range(int(name))
        if (kind := _NAMES.get(name.lower())) not in (None, "bad_request", "server"):
            return kind
    kind = next((_NAMES[name.lower()] for name in listed if name.lower() in _NAMES), None)
    return by_range(status) if status else kind


def by_range(status: int) -> ModelErrorKind:
    """Return the kind of a status without an entry of its own."""
    if status >= 500:
        return "server"
    return "bad_request" if status >= 400 else "not_found"  # a redirect: the address is another


def window_in(text: str) -> int:
    """Return the window in tokens that an error names; 0 if it names none."""
    sizes = [int(match[1]) for match in _WINDOWS.finditer(text)]
    return min(sizes, default=0)


def most_in(text: str) -> int:
    """Return the longest reply in tokens that an error names after a request for more; 0 if it names none."""
    match = _MOST.search(text)
    return int(next(filter(None, match.groups()))) if match else 0


def wait_in(text: str) -> float | None:
    """Return the seconds to wait that an error names in its words."""
    match = _WAITS.search(text)
    if match is None or not any(match.groups()):
        return None
    hours, minutes, seconds, unit = match.groups()
    last = float(seconds or 0) / (1000 if unit and unit.lower() == "ms" else 1)
    return 3600.0 * int(hours or 0) + 60.0 * int(minutes or 0) + last
