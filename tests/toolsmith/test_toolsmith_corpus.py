"""The seeded corpus of good and bad drafts: one of each kind through every gate; `make bench` judges them all."""

from __future__ import annotations

from typing import get_args

import pytest
from corpus import GOOD, Kind, corpus
from trials import judge_all, shares

from alita_tui.sandbox.policy import SandboxSettings
from alita_tui.toolsmith.review import review


def test_the_corpus_is_large_and_the_same_again() -> None:
    samples = list(corpus())
    assert [one.draft.digest for one in samples] == [one.draft.digest for one in corpus()]
    assert {one.kind for one in samples} == set(get_args(Kind))
    assert sum(one.good for one in samples) >= 100
    assert sum(not one.good for one in samples) >= 200
    assert len({one.label for one in samples}) == len(samples)


def test_none_of_it_is_so_bad_that_reading_is_enough() -> None:
    assert [one.label for one in corpus() if not review(one.draft).passed] == []


@pytest.mark.podman
async def test_one_of_each_kind_is_judged_rightly(ready: SandboxSettings) -> None:
    chosen = {one.kind: one for one in corpus() if one.number >= 40 or one.kind not in GOOD}
    judged = await judge_all(list(chosen.values()), ready)
    assert {one.kind for one, _ in judged} == set(get_args(Kind))
    strays = {one.label: verdict.reason for one, verdict in judged if verdict.trusted != one.good}
    assert strays == {}
    assert shares(judged) == (0.0, 0.0)
