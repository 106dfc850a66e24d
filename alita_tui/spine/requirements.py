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


def raised(requirement: str, above: str) -> str | None:
    """Return a requirement that only newer versions than `above` meet; None where `plain` does, or `above` is none.

    What pinned it to one version, or kept it below this one, is left out; upper bounds and extras stay.
    """
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    parsed = _parsed(requirement)
    try:
        public = Version(above).public  # of a local version (`2.0+cpu`) nothing is newer or older
    except InvalidVersion:
        return None
    if parsed is None:
        return None
    kept = [
        one
        for one in parsed.specifier
        if one.operator in ("<", "<=", "!=", "~=") and one.version not in (above, public)
    ]
    changed = type(parsed)(str(parsed))
    changed.specifier = SpecifierSet(",".join((*map(str, kept), f">{public}")))
    return str(changed)


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
