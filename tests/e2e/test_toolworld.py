"""A small Toolworld: the library gets better with use, end to end. `make bench SECTIONS=flywheel` is the whole one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.benchmarks import toolworld
from tests.benchmarks.bench_flywheel import curve, figures, line, lived
from tests.benchmarks.toolworld.plans import other_plans
from tests.benchmarks.toolworld.world import stream


def test_the_scripted_mind_sees_only_its_requests() -> None:
    known = {"draws", "life", "world"}
    for name in ("mind", "craft", "language", "plans"):
        tree = ast.parse((Path(toolworld.__file__).parent / f"{name}.py").read_text("utf-8"))
        imported = {
            part
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for one in (getattr(node, "module", "") or "", *(alias.name for alias in node.names))
            for part in one.split(".")
        }
        assert not imported & known and not imported & {"registry", "memory", "app", "store"}, name


def test_a_planner_proposes_other_tools_for_the_same_and_nothing_where_there_are_none() -> None:
    prompt = (
        "The task: Sort it.\nThe agent's plan:\n1. Run sort_a\n2. Answer from what came back\nThe library:\n"
        "- sort_a: Sort a list of numbers. (relied on 0.40)\n- day_of: Tell the weekday of a date. (relied on 0.90)\n"
    )
    assert other_plans(prompt) == []
    (plan,) = other_plans(f"{prompt}- sort_b: Sort a list of numbers. (relied on 0.80)\n")
    assert (plan["tools"], plan["confidence"]) == (["sort_b"], 0.8)


@pytest.mark.walk
@pytest.mark.podman
@pytest.mark.slow
def test_a_built_tool_is_found_recalled_and_reused(sandbox_ready: None) -> None:
    done, bad = lived(stream(12, 4, seed=11), seed=11)
    told = "\n".join(line(number, one) for number, one in enumerate(done, 1))
    found = figures(done, bad)
    assert found["solved_percent"] == 100, told
    assert found["tools_built"] == found["needs"] and not bad, told
    assert found["model_calls_last_third_share"] <= 0.6, told
    assert found["drafts_repaired"] + found["builds_rejected"] >= 1, "one was written carelessly\n" + told
    met: set[str] = set()
    for one in done:
        assert one.reused == ({*one.task.needs} <= met and bool(one.task.needs)), told
        met |= {*one.task.needs}
    assert any(one.recalled and not one.bands and one.calls == 2 for one in done), told
    assert curve(done, done[:4]).count("<polyline") == 4
