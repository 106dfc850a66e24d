"""Known vulnerabilities of locked packages in a database with OSV's API (osv.dev); `uv audit` asks about wheels."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from alita_tui.events import LockedPackage, Value, ready
from alita_tui.sandbox.npm_faults import npm_faults
from alita_tui.sandbox.uv import uv
from alita_tui.spine.ports.web import Faults
from alita_tui.spine.text import one_line

LONGEST = 30.0
"""Seconds for all packages of a draft."""
_MOST_IDS = 3
"""How many ids of one fault are shown."""


class _Dependency(Value, frozen=True):
    name: str
    version: str


class _Fault(Value, frozen=True):
    dependency: _Dependency
    id: str
    aliases: tuple[str, ...] = ()


class _Summary(Value, frozen=True):
    audited_packages: int
    vulnerabilities: int


class _Audit(Value, frozen=True):
    """The part of the output of `uv audit --output-format json` that is needed."""

    summary: _Summary
    vulnerabilities: tuple[_Fault, ...]


class FaultDatabase:
    """A `FaultBook` of a database with OSV's API. Only names and versions are sent; no package is fetched."""

    def __init__(self, url: str, *, seconds: float = LONGEST) -> None:
        """`url` is where the database's `/v1/querybatch` is."""
        self._url = url.rstrip("/")
        self._seconds = seconds

    async def faults(self, packages: Sequence[LockedPackage]) -> Faults:
        """Return the known faults of these versions by the packages' labels; the time is limited."""
        wheels = [package for package in packages if not package.place]
        npm_packages = [package for package in packages if package.place]
        if not npm_packages:
            return await self._faults(wheels)
        answers = await asyncio.gather(
            self._faults(wheels), npm_faults(self._url, npm_packages, self._seconds)
        )
        if problem := next((answer.problem for answer in answers if answer.problem), ""):
            return Faults(problem=problem)
        return Faults(known={label: ids for answer in answers for label, ids in answer.known.items()})

    async def _faults(self, packages: Sequence[LockedPackage]) -> Faults:
        if not packages:
            return Faults()
        folder = await asyncio.to_thread(_project, packages)
        try:
            code, output, complaints = await uv(
                "audit", "--directory", folder.name, "--frozen", "--no-config", "--no-cache", "--quiet",
                "--output-format", "json",
                "--preview-features", "audit-command,json-output", "--service-url", self._url,
                seconds=self._seconds,
            )  # fmt: skip
        except TimeoutError:
            return Faults(problem=f"{self._url} did not answer in {self._seconds:g} s")
        finally:
            await asyncio.to_thread(folder.cleanup)
        try:
            audit = msgspec.json.decode(output, type=ready(_Audit))
        except msgspec.DecodeError:
            return Faults(problem=self._problem(code, complaints))
        if (audit.summary.audited_packages, audit.summary.vulnerabilities) != (
            len(packages),
            len(audit.vulnerabilities),
        ):
            return Faults(
                problem=f"uv looked at {audit.summary.audited_packages} of {len(packages)} packages"
            )
        known: dict[str, tuple[str, ...]] = {package.name: () for package in packages}
        for fault in audit.vulnerabilities:
            names = " = ".join((fault.id, *fault.aliases)[:_MOST_IDS])
            known[fault.dependency.name] = (*known.get(fault.dependency.name, ()), names)
        return Faults(known=known)

    def _problem(self, code: int, complaints: str) -> str:
        """Return briefly why there is no answer; for a failed connection uv prints a long chain of causes."""
        if "error sending request" in complaints:
            return f"{self._url} is not reachable"
        return one_line(complaints, 300) or f"uv ended with {code} and no explanation"


def _project(packages: Sequence[LockedPackage]) -> tempfile.TemporaryDirectory[str]:
    """Return a folder with a project that is locked to exactly these packages.

    A path in place of an index keeps uv from sending requests to an index: only the database is queried.
    """
    import tomlkit

    root = {"name": "alita-audit", "version": "0"}
    names = [{"name": package.name, "version": package.version} for package in packages]
    project = {
        **root,
        "requires-python": ">=3.8",
        "dependencies": [f"{package.name}=={package.version}" for package in packages],
    }
    lock = {
        "version": 1,
        "requires-python": ">=3.8",
        "package": [
            {**root, "source": {"virtual": "."}, "dependencies": names},
            *({**package, "source": {"registry": "index"}} for package in names),
        ],
    }
    folder = tempfile.TemporaryDirectory(prefix="alita-audit-")
    for name, content in (("pyproject.toml", {"project": project}), ("uv.lock", lock)):
        Path(folder.name, name).write_text(tomlkit.dumps(content), "utf-8")
    return folder
