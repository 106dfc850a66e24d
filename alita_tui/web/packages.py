"""The registries' facts about a package: PyPI's JSON API (docs.pypi.org/api/json), npm's documents of a package."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import quote

import msgspec

from alita_tui.events import Value, ready
from alita_tui.spine.errors import WebError
from alita_tui.spine.ports.web import PackageFacts
from alita_tui.spine.requirements import NPM
from alita_tui.web.fetch import Fetcher

_PROJECT_BYTES = 12_000_000
"""A project with thousands of files lists all of them."""
_DOCUMENT_BYTES = 48_000_000
"""npm's document of a package has the metadata of all its versions, which may be thousands."""


class _Version(Value, frozen=True):
    deprecated: object = ""


class _Packument(Value, frozen=True):
    """The part of npm's document of a package that is needed."""

    time: dict[str, object] = {}
    versions: dict[str, _Version] = {}


async def npm_facts(fetcher: Fetcher, base: str, name: str, version: str) -> PackageFacts | None:
    """Return facts of one version of a package of npm (`npm:NAME`); None if nothing is known of it.

    Raise WebError.
    """
    url = f"{base.rstrip('/')}/{quote(name.removeprefix(NPM), safe='@')}"
    answer = await fetcher.get(url, trusted=base, max_bytes=_DOCUMENT_BYTES)
    if answer.status == 404:
        return None
    if answer.status != 200 or answer.truncated:
        raise WebError(f"The registry gave no usable answer (HTTP {answer.status}).")
    try:
        # In a thread: a document may have tens of megabytes.
        document = await asyncio.to_thread(msgspec.json.decode, answer.body, type=ready(_Packument))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise WebError("The registry gave no usable answer.") from error
    details = document.versions.get(version)
    created = document.time.get("created")
    yanked = details is None or bool(details.deprecated)
    if not isinstance(created, str) and not yanked:
        return None  # a mirror that leaves out the times, so the package's age is unknown
    return PackageFacts(first_upload=created if isinstance(created, str) else "", yanked=yanked)


async def package_facts(fetcher: Fetcher, base: str, name: str, version: str) -> PackageFacts | None:
    """Return facts of one version; None for a project that the index does not have. Raise WebError."""
    root = f"{base.rstrip('/')}/pypi/{quote(name, safe='')}"
    project = await _document(fetcher, base, f"{root}/json")
    if project is None:
        return None
    releases = project.get("releases")
    releases = releases if isinstance(releases, dict) else {}
    uploads = [
        str(file["upload_time_iso_8601"])
        for listed in releases.values()
        for file in _objects(listed)
        if file.get("upload_time_iso_8601")
    ]
    files = _objects(releases.get(version))
    return PackageFacts(
        first_upload=min(uploads, default=""),
        yanked=bool(files) and all(file.get("yanked") is True for file in files),
    )


async def _document(fetcher: Fetcher, base: str, url: str) -> dict[str, Any] | None:
    answer = await fetcher.get(url, trusted=base, max_bytes=_PROJECT_BYTES)
    if answer.status == 404:
        return None
    try:
        parsed = json.loads(answer.body) if answer.status == 200 and not answer.truncated else None
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise WebError(f"The package index gave no usable answer (HTTP {answer.status}).")
    return parsed


def _objects(listed: object) -> list[dict[str, Any]]:
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
