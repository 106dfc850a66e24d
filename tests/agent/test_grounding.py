"""What of an answer nobody gave: judged by what a reader would check."""

from __future__ import annotations

import random
import time

import pytest

from alita_tui.agent.grounding import ungrounded

EVIDENCE = [
    'How many primes are below a million? Budget 1,500.00 EUR, until 2026-03-09.',
    '{"count": 78498, "mean": 0.123456, "bytes": 46701234, "seconds": 83.4, "share": 0.2257}',
    "The harbour opened on 3 March 1995. “A port is a gate to the sea”, its builder said.",
]  # fmt: skip


@pytest.mark.parametrize(
    "answer",
    [
        "There are 78498 primes.", "There are 78,498 primes.", "There are 78 498.", "78.498 (as Germans write it).",
        "Mean 0.1235, or 0.12.", "46.7 MB, 44.5 MiB.", "It took 83 s, about 1.39 min.", "22.6% of it, or 22.57 percent.",
        "Of 3 files 2 were read.", "It opened on 1995-03-03 and on March 3, 1995.", "Due on 9 March 2026.",
        'It says "A port is a gate to the sea".', "Budget: 1500 EUR.", "1. First\n2. Second\n3. 78498", "See https://x.example/2024/77.",
        "Python 3.12.1 and chart-2024.png are fine.", "", "No figures at all.",
    ],
)  # fmt: skip
def test_figures_found_in_the_evidence_are_not_marked(answer: str) -> None:
    assert ungrounded(answer, EVIDENCE) == ()


@pytest.mark.parametrize(
    ("answer", "marked"),
    [
        ("I ran count_primes: 78,497.", "78,497"), ("Mean 0.1234.", "0.1234"), ("47.7 MB.", "47.7 MB"),
        ("It took 84.9 s.", "84.9 s"), ("23.6%.", "23.6%"), ("It opened on 1995-03-04.", "1995-03-04"),
        ("On 4 March 1995.", "4 March 1995"), ('It says "A port is the door of a town".', '"A port is the door of a town"'),
        ("That is 1,234,567 in all.", "1,234,567"), ("Twice that: 156996.", "156996"), ("2.5e9 operations.", "2.5e9"),
    ],
)  # fmt: skip
def test_figures_without_a_source_are_marked_as_written(answer: str, marked: str) -> None:
    assert any(marked in missing or missing in marked for missing in ungrounded(answer, EVIDENCE)), (
        ungrounded(answer, EVIDENCE)
    )


def test_without_any_evidence_every_figure_is_marked() -> None:
    assert ungrounded("Paris has 2,102,650 people.", ["What is the capital of France?"]) == ("2,102,650",)


@pytest.mark.parametrize(
    ("answer", "texts"), [("Done.", 0), ("Of 3 files 2.", 0), ("78498 primes.", 2), ("78497.", 3)]
)
def test_a_long_session_is_read_only_as_far_as_the_answer_needs(answer: str, texts: int) -> None:
    rest = iter(EVIDENCE)
    ungrounded(answer, rest)
    assert len(list(rest)) == len(EVIDENCE) - texts


def test_long_pages_and_answers_are_checked_quickly() -> None:
    numbers = random.Random(3)
    page = " ".join(f"{numbers.random() * 1e6:.3f} words" for _ in range(40_000))
    answer = (
        " ".join(f"{numbers.random() * 1e6:.2f}" for _ in range(2_000)) + '"' * 500 + "," * 5000 + "1" * 5000
    )
    began = time.process_time()
    assert len(ungrounded(answer, [page])) == 20
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    "odd",
    ["1e999", "9" * 5000 + ".5", "1" * 5000 + ",123", "-", "١٢٣٤٥", "½", "1e-999", "\x00 12,3", "³ 5³", "∞"],
)
def test_odd_figures_are_no_error(odd: str) -> None:
    ungrounded(f"It is {odd}.", EVIDENCE)
    assert ungrounded("78498", [odd, "78498"]) == ()
