"""The corpus of drafts is what it says; `make attack` judges it through the real toolsmith, CI a tenth of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from tests.attack.commit import seed_of_commit
from tests.attack.drafts import ADVERSARIAL, ALWAYS, HONEST, chosen
from tests.attack.drafts.adversarial import adversarial, honest
from tests.attack.drafts.judging import names
from tests.attack.drafts.own import failing
from tests.attack.drafts.toolsmith import Made


def test_the_corpus_is_large_and_its_samples_differ() -> None:
    bad = adversarial()
    assert len(bad) == ADVERSARIAL >= 300 and len(honest()) == HONEST >= 200
    sizes = Counter(one.kind for one in bad)
    assert len(sizes) >= 30 and min(sizes.values()) >= 5
    drafts = [one.draft for one in (*bad, *honest())]
    assert len({one.digest for one in drafts}) == len(drafts)
    assert len({one.label for one in bad}) == len(bad)
    # A name alone makes no other sample: what they are made of differs as well.
    assert len({(one.kind, one.title) for one in bad}) == len(bad)
    assert ALWAYS <= sizes.keys()


def test_every_bad_sample_names_what_a_reader_has_to_see() -> None:
    assert [one.label for one in adversarial() if not one.words] == []
    assert [
        one.label
        for one in adversarial()
        if any(not 1 <= n <= len(one.draft.code.splitlines()) for n in one.lines)
    ] == []


def test_no_honest_tool_holds_a_payload() -> None:
    assert [one.label for one in honest() if one.lines or one.words] == []
    assert [one.label for one in honest() if "#!" in one.draft.code or "#!" in one.draft.tests] == []


def test_a_tenth_of_the_corpus_covers_every_class_in_turn() -> None:
    kinds = {one.kind for one in adversarial()}
    seen = {one.kind for seed in range(40) for one in chosen(0.1, seed)}
    assert seen == kinds | {"honest"}
    tenth = chosen(0.1, 5)
    assert tenth == chosen(0.1, 5) != chosen(0.1, 6)
    assert 0.09 < len(tenth) / (len(adversarial()) + len(honest())) < 0.11


def test_a_fault_is_named_by_its_line_or_its_words() -> None:
    one = next(one for one in adversarial() if one.lines)
    line = min(one.lines)
    assert names(one, f"2 lines never run: {line - 1}–{line}")
    assert names(one, f"high finding in line {line}: it writes")
    assert not names(one, f"3 lines never run: {max(one.lines) + 1}-{max(one.lines) + 3}")
    assert names(one, f"it has to do with {one.words[0]}") and not names(
        one, "Nothing unusual: all checks passed"
    )


def test_a_draft_without_a_question_counts_as_stopped() -> None:
    assert not Made((), "no draft passed").asked


@pytest.mark.podman
def test_the_own_tests_of_some_of_the_bad_drafts_pass(tmp_path: Path) -> None:
    """All but those that forge: what fails its own tests would be stopped without any check."""
    settings = EngineSettings(cache_dir=str(tmp_path / "cache"))
    asyncio.run(repair(settings, lambda *_: None))
    some = [one for one in chosen(0.03, seed_of_commit()) if not one.honest]
    assert asyncio.run(failing(some, settings)) == {}
