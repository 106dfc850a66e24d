"""What a container is told of its one job: a call, a script, or what the judge is to do with a draft. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from alita_tui.sandbox.imports import imports_of
from alita_tui.spine.ports.sandbox import Job
from alita_tui.spine.trials import Piece, Plan


def task(job: Job) -> dict[str, Any]:
    """The job as the warden reads it."""
    if job.what not in ("test", "judge"):
        return {"module": job.module, "code": job.code, "what": job.what, "arguments": job.arguments or {}}
    plan = job.plan
    if job.what == "test" or plan is None:
        whole = Piece(kind="tests", name=job.module, code=job.code, tests=job.tests)
        plan = Plan(pieces=(whole,) if job.what == "test" else ())
    return {
        "what": job.what,
        "show": job.what == "test",
        "imports": sorted(imports_of(job.code, packages=False)),
        "total": plan.total,
        "pieces": [_told(piece) for piece in plan.pieces],
    }


def _told(piece: Piece) -> dict[str, Any]:
    told = {name: getattr(piece, name) for name in piece.__struct_fields__}
    told["conditions"] = msgspec.to_builtins(piece.conditions)
    return {**told, "module": piece.module or piece.name}
