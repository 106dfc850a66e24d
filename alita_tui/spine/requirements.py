"""Requirements of the package index (PEP 508, names as of PEP 503) and of npm (`npm:NAME@RANGE`). Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_LONGEST = 300
NPM = "npm:"
"""What a requirement and a package's name begin with where it is one of npm: names of both registries never meet."""
_NPM_NAME = r"(?:@[A-Za-z0-9~-][A-Za-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*"  # old names have capitals
_PART = r"(?:0|[1-9][0-9]*|[xX*])"
_VERSION = rf"v?{_PART}(?:\.{_PART}){{0,2}}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?"
_RANGE = rf"(?:[\^~]|[<>]=?|=)? ?{_VERSION}"
_RANGES = rf"{_RANGE}(?:(?: \|\| | - | ){_RANGE})*"
_NPM = re.compile(rf"(?P<name>{_NPM_NAME})(?:@(?P<range>{_RANGES}))?", re.ASCII)
_LONGEST_NPM_NAME = 214


def of_npm(text: str) -> str | None:
    """Return `NAME` or `NAME@RANGE` of npm as a requirement; None for a tag, URL, path, alias or anything else."""
    split = _npm_parts(text.removeprefix(NPM))
    return NPM + "@".join(filter(None, split)) if split else None


def plain(requirement: str) -> str | None:
    """Return a requirement of a registry, normalised to one line; None for a URL, path, option or anything else."""
    if requirement.startswith(NPM):
        return of_npm(requirement)
    parsed = _parsed(requirement)
    return str(parsed) if parsed else None


def distribution(requirement: str) -> str | None:
    """Return the normalised name of the distribution, or `npm:NAME`; None if `plain` returns None."""
    from packaging.utils import canonicalize_name

    if requirement.startswith(NPM):
        split = _npm_parts(requirement.removeprefix(NPM))
        return NPM + split[0] if split else None
    parsed = _parsed(requirement)
    return canonicalize_name(parsed.name) if parsed else None


def raised(requirement: str, above: str) -> str | None:
    """Return a requirement that only versions newer than `above` meet; None for what `plain` or `Version` refuses.

    Pins to one version and bounds below this one are dropped; upper bounds and extras stay. Of npm all bounds are
    dropped.
    """
    if requirement.startswith(NPM):
        name = distribution(requirement)
        return of_npm(f"{name}@>{above}") if name else None
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    parsed = _parsed(requirement)
    try:
        public = Version(above).public  # of a local version (`2.0+cpu`) nothing is newer or older
    except InvalidVersion:
        return None
    if parsed is None:
        return None
    specifiers = [
        specifier
        for specifier in parsed.specifier
        if specifier.operator in ("<", "<=", "!=", "~=") and specifier.version not in (above, public)
    ]
    changed = type(parsed)(str(parsed))
    changed.specifier = SpecifierSet(",".join((*map(str, specifiers), f">{public}")))
    return str(changed)


def _npm_parts(text: str) -> tuple[str, str] | None:
    """Return name and range (empty for any version) of a package of npm; None for what is none."""
    match = _NPM.fullmatch(" ".join(text.split())) if len(text) <= _LONGEST else None
    if match is None or len(match["name"]) > _LONGEST_NPM_NAME:
        return None
    if "node_modules" in match["name"].split("/"):  # node looks for other packages there
        return None
    return match["name"], match["range"] or ""


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
