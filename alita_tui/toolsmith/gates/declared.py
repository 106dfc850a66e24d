"""What a draft declares, what its code reaches for, and what the sandbox saw, side by side."""

from __future__ import annotations

import ast
import asyncio
import re
from collections import defaultdict
from typing import Literal

from alita_tui.spine.grants import host_grants
from alita_tui.spine.syntax import UNPARSABLE, parse
from alita_tui.spine.text import one_line
from alita_tui.spine.values import Capabilities, GateName, GateResult, GateRow, ToolDraft
from alita_tui.toolsmith.gates.case import Case, CouldNotRun, Workbench, failed, passed
from alita_tui.toolsmith.reading import Notes
from alita_tui.toolsmith.uses import note_uses

Tone = Literal["good", "warn", "bad"]
_KINDS = ("network", "writes", "reads", "processes", "environment", "code")
_RULES = {
    "ast/network": "network",
    "ast/files": "writes",
    "ast/process": "processes",
    "ast/environment": "environment",
    "ast/dynamic": "code",
}
_URL = re.compile(r"(https?|wss?|ftp)://([A-Za-z0-9.-]+)(?::(\d+))?")
_SCRATCH = "/tmp"  # noqa: S108  # the sandbox's own, gone with it
_BROKER = "ALITA_BROKER"
"""The variable that names the broker to a tool with such a grant."""
_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443, "ftp": 21}


class Declared:
    """Capabilities: declared against used."""

    name: GateName = "capabilities"

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    async def check(self, case: Case) -> GateResult:
        """See `Gate.check`."""
        (answer,) = await self._bench.work("observe", case, total=12.0)
        if "seen" not in answer:
            raise CouldNotRun("the tests did not come to an end while they were watched")
        seen: defaultdict[str, list[str]] = defaultdict(list)
        for kind, what in answer["seen"]:
            if kind in _KINDS:
                seen[kind].append(one_line(what, 80))
        used = await asyncio.to_thread(uses, case.draft)
        _by_broker(case.draft.capabilities, used, seen)
        declared = _declared(case.draft.capabilities)
        rows, undeclared = [], []
        for kind in _KINDS:
            says = declared.get(kind, "")
            strange = _strange(case.draft.capabilities, kind, used[kind], seen[kind])
            if not (says or used[kind] or seen[kind]):
                continue
            text = " · ".join(
                (
                    f"declared: {says or 'no'}",
                    f"in the code: {_listed(used[kind])}",
                    f"seen in the sandbox: {_listed(seen[kind])}",
                )
            )
            mark = f"▲ UNDECLARED ({_listed(strange)})  " if strange else ""
            spare = bool(says) and not used[kind] and not seen[kind]
            own = not says and not strange
            tone: Tone = "bad" if strange else "warn" if spare else "good"
            end = " · asked for, not used" if spare else " · scratch files of its own" if own else ""
            rows.append(GateRow(label=kind, text=mark + text + end, tone=tone))
            undeclared += [kind] if strange else []
        if undeclared:
            return failed(self.name, f"it uses what it does not declare: {', '.join(undeclared)}", rows)
        said = (
            "what it reaches for is declared"
            if any(declared.values())
            else "it reaches for nothing outside itself"
        )
        return passed(self.name, said, rows)


def uses(draft: ToolDraft) -> dict[str, list[str]]:
    """What the code reaches for by kind, whatever is declared; hosts where they are written out."""
    import msgspec

    found: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    try:
        tree = parse(draft.code)
    except UNPARSABLE:
        return found
    notes = Notes()
    note_uses(notes, tree, msgspec.structs.replace(draft, capabilities=Capabilities()))
    for one in notes.sorted():
        if one.rule in _RULES:
            found[_RULES[one.rule]].append(one.text.split(":")[0])
    if found["network"]:
        texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        for text in texts:
            found["network"] += [
                f"{host}:{port or _PORTS[scheme]}" for scheme, host, port in _URL.findall(text)
            ]
    return {kind: list(dict.fromkeys(listed)) for kind, listed in found.items()}


def _by_broker(wants: Capabilities, used: dict[str, list[str]], seen: dict[str, list[str]]) -> None:
    """What looks like network and environment, and is how a tool asks the broker for files and models."""
    if wants.workspace == "none" and not wants.model_calls:
        return
    asks = "urllib.request" in used["network"]
    used["network"] = [one for one in used["network"] if one != "urllib.request"]
    seen["network"] = [one for one in seen["network"] if not one.startswith("127.0.0.1:")]
    seen["environment"] = [one for one in seen["environment"] if one != _BROKER]
    if not seen["environment"]:
        used["environment"] = [one for one in used["environment"] if one != "os.environ"]
    if asks and wants.workspace != "none":
        used["reads"].append("by the broker")
    if asks and wants.workspace == "write":
        used["writes"].append("by the broker")


def _declared(wants: Capabilities) -> dict[str, str]:
    found = {"network": ", ".join(wants.network)}
    if wants.workspace != "none":
        found["reads"] = "the workspace"
    if wants.workspace == "write":
        found["writes"] = "the workspace"
    return found


def _strange(wants: Capabilities, kind: str, used: list[str], seen: list[str]) -> list[str]:
    """What of it no declaration covers. Files of its own under /tmp are the tool's to use."""
    match kind:
        case "network":
            hosts = [one for one in used if re.fullmatch(r".+:\d+", one)]
            if not wants.network:
                return used + seen
            hosts_granted = host_grants(wants)
            known = {*(one.where for one in hosts_granted), *(f"{one.host}:" for one in hosts_granted)}
            return [one for one in hosts + seen if one.removesuffix("None") not in known]
        case "writes":
            outside = [one for one in seen if not _scratch(one)]
            # Where the tests made it write, the paths are known; else it may be anything.
            return [] if wants.workspace == "write" else outside if seen else used
        case "reads":
            return [] if wants.workspace != "none" else [one for one in seen if not _scratch(one)]
        case "environment":
            return [] if wants.secrets else used + seen
        case _:
            return used + seen


def _scratch(path: str) -> bool:
    return path == _SCRATCH or path.startswith(f"{_SCRATCH}/")


def _listed(items: list[str]) -> str:
    if not items:
        return "no"
    return ", ".join(items[:4]) + (f" and {len(items) - 4} more" if len(items) > 4 else "")
