"""Known faults of packages of npm, by the API of OSV (google.github.io/osv.dev/post-v1-querybatch)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from alita_tui.events import LockedPackage, Value, ready
from alita_tui.spine.ports.web import Faults
from alita_tui.spine.requirements import NPM
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    import httpx

_BATCH = 500
"""Packages in one question; the database takes 1,000."""
_MOST_PAGES = 10
_MOST_BYTES = 8 << 20


class _Entry(Value, frozen=True):
    id: str


class _Result(Value, frozen=True):
    vulns: tuple[_Entry, ...] = ()
    next_page_token: str = ""


class _Answer(Value, frozen=True):
    results: tuple[_Result, ...]


async def npm_faults(url: str, packages: Sequence[LockedPackage], seconds: float) -> Faults:
    """Return the known faults by the packages' labels, within so many seconds. Only names and versions are sent."""
    import httpx

    known: dict[str, tuple[str, ...]] = {package.label: () for package in packages}
    labels = list(known)
    queries = [_query(*label.removeprefix(NPM).rsplit("@", 1)) for label in labels]
    try:
        async with asyncio.timeout(seconds), httpx.AsyncClient(timeout=seconds) as client:
            for start in range(0, len(queries), _BATCH):
                pending = list(
                    zip(labels[start : start + _BATCH], queries[start : start + _BATCH], strict=True)
                )
                for _ in range(_MOST_PAGES):
                    batch, pending = pending, []
                    answer = await _answer(client, url, [query for _, query in batch])
                    for (label, query), result in zip(batch, answer.results, strict=True):
                        known[label] += tuple(one_line(entry.id, 60) for entry in result.vulns)
                        if result.next_page_token:
                            pending.append((label, {**query, "page_token": result.next_page_token}))
                    if not pending:
                        break
                else:
                    return Faults(problem=f"{url} has more than {_MOST_PAGES} pages of one package")
    except TimeoutError:
        return Faults(problem=f"{url} did not answer in {seconds:g} s")
    except (httpx.ConnectError, httpx.TimeoutException):
        return Faults(problem=f"{url} is not reachable")
    except (httpx.HTTPError, httpx.InvalidURL, msgspec.MsgspecError, RecursionError, ValueError) as error:
        return Faults(problem=one_line(f"{url} gave no usable answer: {error}", 300))
    return Faults(known=known)


def _query(name: str, version: str) -> dict[str, object]:
    return {"package": {"name": name, "ecosystem": "npm"}, "version": version}


async def _answer(client: httpx.AsyncClient, url: str, queries: Sequence[dict[str, object]]) -> _Answer:
    """Return the database's answer to one batch. Raise httpx.HTTPError, ValueError."""
    async with client.stream("POST", f"{url}/v1/querybatch", json={"queries": queries}) as response:
        response.raise_for_status()
        body = b""
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _MOST_BYTES:
                raise ValueError("it is too long")
    return msgspec.json.decode(body, type=ready(_Answer))
