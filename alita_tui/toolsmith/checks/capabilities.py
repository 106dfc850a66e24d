"""What a draft declares, what its code reaches for, and what the sandbox observed, side by side."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterator

import msgspec

from alita_tui.events import Capabilities, GateName, GateResult, ToolDraft
from alita_tui.runtimes.languages import runtime_of
from alita_tui.spine.grants import host_grants, secret_names
from alita_tui.spine.text import one_line
from alita_tui.toolsmith.checks.case import Case, Tone, evidence, failed, passed
from alita_tui.toolsmith.checks.workbench import Workbench
from alita_tui.view.changes import NEW_REACH

_KINDS = ("network", "writes", "reads", "processes", "environment", "code")
_RULES = {
    "ast/network": "network",
    "ast/files": "writes",
    "ast/reads": "reads",
    "ast/process": "processes",
    "ast/environment": "environment",
    "ast/dynamic": "code",
    "ast/introspection": "code",
}
_URL = re.compile(r"(https?|wss?|ftp)://([A-Za-z0-9.-]+)(?::(\d+))?")
_PLACE = re.compile(r"[^:]+:\d+")
_LOOPBACK = ("127.0.0.1", "localhost")
_SCRATCH = "/tmp"  # noqa: S108  # the sandbox's own, gone with it
_DRIVER = "/env/playwright/driver/"
"""Programs of the locked package that drives the browser; any other program that it starts is Chromium."""
_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443, "ftp": 21}


class CapabilitiesCheck:
    """Declared capabilities against used ones."""

    name: GateName = "capabilities"

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    async def check(self, case: Case) -> GateResult:
        """Compare declared, written and observed capabilities."""
        run = await self._bench.watched(case)
        observed: defaultdict[str, list[str]] = defaultdict(list)
        for kind, item in run.tested.seen:
            if kind in _KINDS and not (kind == "environment" and _of_a_package(item, case)):
                observed[kind].append(one_line(item, 80))
        used = await asyncio.to_thread(uses, case.draft, Capabilities())
        unclaimed = await asyncio.to_thread(uses, case.draft, case.draft.capabilities)
        places = await asyncio.to_thread(first_lines, case.draft)
        declared = _declared(case.draft.capabilities)
        if "/files/" in case.draft.code:
            for kind in {"reads", "writes"} & {*declared}:
                used[kind].append("the broker's /files")
        rows, undeclared = [], []
        for kind in _KINDS:
            declaration = declared.get(kind, "")
            strange = _strange(case.draft.capabilities, kind, used[kind], unclaimed[kind], observed[kind])
            if not (declaration or used[kind] or observed[kind]):
                continue
            text = " · ".join(
                (
                    f"declared: {declaration or 'no'}",
                    f"in the code: {_listed(used[kind])}",
                    f"seen in the sandbox: {_listed(observed[kind])}",
                )
            )
            mark = f"▲ UNDECLARED ({_listed(strange)})  " if strange else ""
            spare = bool(declaration) and not used[kind] and not observed[kind]
            own = not declaration and not strange
            tone: Tone = "bad" if strange else "warn" if spare else "good"
            end = " · asked for, not used" if spare else " · scratch files of its own" if own else ""
            line = 0 if own else places.get(kind, 0)
            rows.append(evidence(kind, mark + text + end, tone, line))
            undeclared += [kind] if strange else []
        if case.parent is not None and (more := await asyncio.to_thread(_newly, case.parent, used)):
            rows.append(evidence(NEW_REACH, more, "warn"))
        if undeclared:
            return failed(self.name, f"it uses what it does not declare: {', '.join(undeclared)}", rows)
        # The summary claims only what was observed.
        asked = ", ".join(kind for kind in _KINDS if declared.get(kind)) or "nothing"
        reached = ", ".join(kind for kind in _KINDS if observed[kind]) or "nothing"
        return passed(
            self.name, f"it asks for {asked}; its code reaches no further; its tests used {reached}", rows
        )


def _of_a_package(name: str, case: Case) -> bool:
    """Return whether a variable is a locked package's own, such as PYARROW_IGNORE_TIMEZONE of pyarrow.

    Compiled packages leave no frame, so what they read looks as if the tool had read it.
    """
    start = name.casefold()
    packages = (package.name.replace("-", "_").casefold() for package in case.lock.packages)
    return any(start.startswith(f"{package}_") for package in packages)


def _newly(parent: ToolDraft, used: dict[str, list[str]]) -> str:
    """Return what the code reaches for and its parent did not, in one line."""
    old = uses(parent, Capabilities())
    more = [use for kind in _KINDS for use in used[kind] if use not in old[kind]]
    return _listed(more) if more else ""


def uses(draft: ToolDraft, granted: Capabilities) -> dict[str, list[str]]:
    """Return what the code reaches for beyond the granted capabilities, by kind, with hosts that are written out."""
    by_kind: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    for kind, name, _ in _reached(draft, granted):
        by_kind[kind].append(name)
    if by_kind["network"]:
        for _, text, _ in runtime_of(draft.language).constants(draft.code):
            if isinstance(text, str):
                by_kind["network"] += [
                    f"{host}:{port or _PORTS[scheme]}" for scheme, host, port in _URL.findall(text)
                ]
    return {kind: list(dict.fromkeys(listed)) for kind, listed in by_kind.items()}


def _reached(draft: ToolDraft, granted: Capabilities) -> Iterator[tuple[str, str, int]]:
    """Yield kind, name and line of each thing that the code reaches for beyond the granted capabilities."""
    limited = msgspec.structs.replace(draft, capabilities=granted)
    for finding in runtime_of(draft.language).uses(limited).sorted():
        if finding.rule in _RULES:
            yield _RULES[finding.rule], finding.text.split(":")[0].split(", so it can")[0], finding.line


def first_lines(draft: ToolDraft) -> dict[str, int]:
    """Return by kind the first line that uses what the code reaches for, which the import of it is not."""
    lines = draft.code.splitlines()
    first: dict[str, int] = {}
    for kind, name, found_at in _reached(draft, Capabilities()):
        later = (number for number, text in enumerate(lines[found_at:], found_at + 1) if name in text)
        imported = 0 < found_at <= len(lines) and lines[found_at - 1].lstrip().startswith(
            ("import ", "from ")
        )
        first.setdefault(kind, next(later, found_at) if imported else found_at)
    return first


def _declared(capabilities: Capabilities) -> dict[str, str]:
    by_kind = {"network": ", ".join(capabilities.network), "environment": ", ".join(capabilities.secrets)}
    if capabilities.workspace != "none":
        by_kind["reads"] = "the workspace"
    if capabilities.workspace == "write":
        by_kind["writes"] = "the workspace"
    if capabilities.browser:
        by_kind["processes"] = "the browser"
    return by_kind


def _strange(
    capabilities: Capabilities, kind: str, used: list[str], unclaimed: list[str], observed: list[str]
) -> list[str]:
    """Return the uses of a kind that no declaration covers. Files under /tmp are the tool's own."""
    match kind:
        case "network":
            code_places = (
                [place for place in used if _PLACE.fullmatch(place)] if capabilities.network else unclaimed
            )
            return list(
                dict.fromkeys(place for place in code_places + observed if not _covered(capabilities, place))
            )
        case "writes":
            outside = [path for path in observed if not _scratch(path)]
            # If the tests made it write, the paths are known; otherwise they may be anything.
            return outside if observed else unclaimed
        case "reads":
            outside = [path for path in observed if not _scratch(path)]
            return outside if observed else unclaimed
        case "environment":
            own = {*secret_names(capabilities), *(("ALITA_BROKER",) if capabilities.brokered else ())}
            own |= {"ALITA_BROWSER"} if capabilities.browser else set()
            return unclaimed + [name for name in observed if name not in own]
        case "processes" if capabilities.browser:
            return used + [program for program in observed if not program.startswith(_DRIVER)]
        case _:
            return used + observed


def _covered(capabilities: Capabilities, place: str) -> bool:
    """Return True for a granted host and port, a look-up of its name, and the broker on the tool's loopback."""
    host, _, port = place.partition(":")
    places = [grant.where for grant in host_grants(capabilities)]
    if place in places or (host in _LOOPBACK and (places or capabilities.brokered)):
        return True  # the tests' own server replaces the granted host
    return port in ("", "None") and any(granted.startswith(f"{host}:") for granted in places)


def _scratch(path: str) -> bool:
    return path == _SCRATCH or path.startswith(f"{_SCRATCH}/")


def _listed(items: list[str]) -> str:
    if not items:
        return "no"
    return ", ".join(items[:4]) + (f" and {len(items) - 4} more" if len(items) > 4 else "")
