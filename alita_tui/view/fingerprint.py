"""A view as one short word: two that differ in anything shown have different ones."""

from __future__ import annotations

import json
from hashlib import sha256

import msgspec

from alita_tui.view.model import SessionView


def fingerprint(view: SessionView) -> str:
    """SHA-256 of all durable parts of a view, in hex. What is still growing takes no part."""
    durable = {name: getattr(view, name) for name in view.__struct_fields__ if name != "live"}
    try:
        raw = msgspec.json.encode(durable)
    except UnicodeEncodeError:  # a lone surrogate in a draft's bytes
        raw = json.dumps(msgspec.to_builtins(durable)).encode()
    return sha256(raw).hexdigest()
