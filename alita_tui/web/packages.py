"""The package index's facts about a package: PyPI's JSON API (docs.pypi.org/api/json)."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from alita_tui.spine.errors import WebError
from alita_tui.spine.ports.web import PackageFacts
from alita_tui.web.fetch import Fetcher

_PROJECT_BYTES = 12_000_000
"""A project with thousands of files lists all of them."""


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
    ours = _objects(releases.get(version))
    return PackageFacts(
        first_upload=min(uploads, default=""),
        yanked=bool(ours) and all(file.get("yanked") is True for file in ours),
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
