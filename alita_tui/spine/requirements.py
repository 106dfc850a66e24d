"""Requirements of the package index (PEP 508) and the names of distributions (PEP 503). Pure."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_LONGEST = 300


def plain(requirement: str) -> str | None:
    """Return a requirement of the index written anew on one line; None for a URL, path, option or anything else."""
    parsed = _parsed(requirement)
    return str(parsed) if parsed else None


def distribution(requirement: str) -> str | None:
    """Return the normalised name of the distribution; None where `plain` returns None."""
    from packaging.utils import canonicalize_name

    parsed = _parsed(requirement)
    return canonicalize_name(parsed.name) if parsed else None


@lru_cache(maxsize=512)
def _parsed(requirement: str) -> Requirement | None:
    from packaging.requirements import Requirement

    if len(requirement) > _LONGEST:
        return None
    try:
        parsed = Requirement(" ".join(requirement.split()))  # a line break could begin an option for uv
    except ValueError:
        return None
    return None if parsed.url else parsed
