"""What a scripted planner proposes: decided from its prompt alone."""

from __future__ import annotations

import re
from typing import Any

from tests.benchmarks.toolworld import craft


def other_plans(text: str) -> list[dict[str, Any]]:
    """Return plans for a task that use other tools of the library than the agent's, as far as the prompt tells of any."""
    library = re.findall(r"(?m)^- (\w+): (.*) \(relied on ([\d.]+)\)$", text)
    own = re.findall(r"(?m)^\d+\. Run (\w+)$", text)
    purposes = dict((name, purpose) for name, purpose, _ in library)
    if not own or not all(name in purposes for name in own):
        return []
    tools, trust = [], 1.0
    for name in own:
        others = [
            (float(relied), other)
            for other, purpose, relied in library
            if other not in own and craft.same_purpose(purpose, purposes[name])
        ]
        relied, best = max(others, default=(0.9, name))
        tools.append(best)
        trust = min(trust, relied)
    if tools == own:
        return []
    steps = [*(f"Run {name}" for name in tools), "Answer from what came back"]
    return [{"steps": steps, "tools": tools, "confidence": trust}]
