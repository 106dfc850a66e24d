"""What went wrong with a call, as a `ModelError` that says what to do. Never carries a key."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from time import time
from urllib.parse import urlsplit

from alita_tui.spine.errors import ModelError, ModelErrorKind
from alita_tui.spine.text import one_line

_STATUSES: dict[int, ModelErrorKind] = {
    401: "auth", 402: "payment", 403: "auth", 404: "not_found", 405: "not_found", 408: "timeout",
    413: "context", 429: "rate_limit", 503: "overloaded", 529: "overloaded",
}  # fmt: skip
# Names in the bodies of errors: Anthropic's `error.type`, OpenAI's `error.code` and `error.type`.
_CODES: dict[str, ModelErrorKind] = {
    "authentication_error": "auth", "permission_error": "auth", "invalid_api_key": "auth",
    "billing_error": "payment", "insufficient_quota": "payment", "billing_hard_limit_reached": "payment",
    "not_found_error": "not_found", "model_not_found": "not_found",
    "rate_limit_error": "rate_limit", "rate_limit_exceeded": "rate_limit",
    "overloaded_error": "overloaded", "timeout_error": "timeout",
    "request_too_large": "context", "context_length_exceeded": "context",
    "exceed_context_size_error": "context",
    "api_error": "server", "server_error": "server", "internal_server_error": "server",
    "invalid_request_error": "bad_request", "content_filter": "refused",
}  # fmt: skip
# Where servers answer 400 or 500 for want of a better status, only the words tell.
_TOO_LONG = re.compile(
    r"context[ _](length|window|size)|prompt is too long|input is too long|too many (input )?tokens"
    r"|exceeds? the (available|maximum) context|request (is )?too large",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"credit balance|insufficient (credits|balance|funds)", re.IGNORECASE)
_NO_TOOLS = re.compile(r"does not support (tools|tool use|function)|tool.{0,20}not supported", re.IGNORECASE)
_HINTS: dict[ModelErrorKind, str] = {
    "auth": "Check the key: `alita setup` stores a new one.",
    "payment": "Add credit at the provider, or choose another model with `alita setup`.",
    "not_found": "Check the model's name and the base URL with `alita config`.",
    "rate_limit": "Wait, or choose another model.",
    "overloaded": "The provider is busy: try again later, or choose another model.",
    "server": "The fault is the server's: try again later, or choose another model.",
    "connection": "Check the network and the base URL; is a local server running?",
    "timeout": "Try again, or raise model.timeout with `alita config set model.timeout SECONDS`.",
    "truncated": "Try again; if it stays so, look at the server or at a proxy before it.",
    "malformed": "Try again; if it stays so, check that the base URL is that of the provider's API.",
    "context": "Begin a new session, or use a model with a larger window.",
    "no_tools": "Set the option tools=text for it: `alita models add`.",
    "refused": "Put the task in other words.",
}


@dataclass(frozen=True)
class Endpoint:
    """A model behind an address. Every fault names it; none repeats its key."""

    provider: str
    model: str
    base_url: str
    key: str = field(repr=False)

    @property
    def name(self) -> str:
        """`provider:model`."""
        return f"{self.provider}:{self.model}"

    @property
    def host(self) -> str:
        """Host and port, without the credentials that a URL may hold."""
        parts = urlsplit(self.base_url)
        return parts.netloc.rpartition("@")[2] or self.base_url

    def fault(
        self,
        kind: ModelErrorKind,
        what: str,
        *,
        hint: str = "",
        status: int | None = None,
        retry_after: float | None = None,
    ) -> ModelError:
        """An error of this model, with the hint that fits its kind unless another is given."""
        what = what.replace(self.key, "[key]") if self.key else what
        message = f"{self.name}: {one_line(what, 300)}"
        return ModelError(
            kind, message, hint=hint or _HINTS.get(kind, ""), status=status, retry_after=retry_after
        )

    def answered(self, status: int, code: object, text: str, headers: Mapping[str, str]) -> ModelError:
        """An HTTP error status; `code` is the error's own name in the body, if it has one."""
        kind = _STATUSES.get(status) or _by_range(status)
        named = kind_of(code, text)
        if status < 500 and kind == "bad_request" and _NO_TOOLS.search(text):
            kind = "no_tools"
        elif named in ("context", "payment") or (kind == "server" and named == "overloaded"):
            kind = named
        return self.fault(
            kind,
            f"{self.host} answered HTTP {status}. {text}",
            status=status,
            retry_after=retry_after(headers),
        )


def _by_range(status: int) -> ModelErrorKind:
    if status >= 500:
        return "server"
    return "bad_request" if status >= 400 else "not_found"  # a redirect: the address is another


def kind_of(code: object, text: str) -> ModelErrorKind | None:
    """The kind of an error by the name or number that its body gives, else by its words."""
    if isinstance(code, int) or (isinstance(code, str) and code.isdecimal()):
        return _STATUSES.get(int(code)) or _by_range(int(code))
    kind = _CODES.get(code.lower()) if isinstance(code, str) else None
    if kind not in (None, "bad_request", "server"):
        return kind
    if _TOO_LONG.search(text):
        return "context"
    return "payment" if _NO_CREDIT.search(text) else kind


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds of a Retry-After header: a number or an HTTP date (RFC 9110, 10.2.3)."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time()
        except (TypeError, ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None
