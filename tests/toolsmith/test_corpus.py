"""The seeded corpus of good and bad drafts, which `make bench` judges."""

from __future__ import annotations

from typing import get_args

from alita_tui.toolsmith.review import review
from tests.toolsmith.corpus import Kind, corpus


def test_the_corpus_is_large_and_reproducible() -> None:
    samples = list(corpus())
    assert [one.draft.digest for one in samples] == [one.draft.digest for one in corpus()]
    assert {one.kind for one in samples} == set(get_args(Kind))
    assert sum(one.good for one in samples) >= 100
    assert sum(not one.good for one in samples) >= 200
    assert len({one.label for one in samples}) == len(samples)


def test_no_review_blocks_a_draft_of_the_corpus() -> None:
    assert [one.label for one in corpus() if not review(one.draft).passed] == []
