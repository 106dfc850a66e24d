"""Words that pass for others are told; ordinary text in any script is not."""

from __future__ import annotations

import pytest

from alita_tui.view.lookalikes import lookalikes


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("if name == 'p\u0430ypal':", "p\u0430ypal"),
        ("# \u0430dmin may do it", "\u0430dmin"),
        ("x = '\u0430\u0440\u0440\u04cf\u0435'", "\u0430\u0440\u0440\u04cf\u0435"),
        ("x = '\u0441\u043e\u0440\u0443'", "\u0441\u043e\u0440\u0443"),
        ("T\u03bfken", "T\u03bfken"),
        ("'\u0391dmin'", "\u0391dmin"),
        ("s\u0585me", "s\u0585me"),
        ("'\U0001d5ba\U0001d5bd\U0001d5c6in'", "\U0001d5ba\U0001d5bd\U0001d5c6in"),
        ("'ad\uff4din'", "ad\uff4din"),
    ],
)
def test_a_lookalike_word_is_reported(text: str, word: str) -> None:
    assert lookalikes(f"first\n{text}\n") == ((2, word),)


@pytest.mark.parametrize(
    "text",
    [
        "plain ASCII", "Grüße, naïve café, Łódź, İstanbul, đồng", "Привет, мир: это осёл", "рассказ о соке", "Ελληνικά και άλλα", "η τιμή του νερού",
        "x = 'сок и хлеб'", "東京タワー", "한국어", "עברית", "العربية", "µm, 25 °C, Δt, Ωm, π, αx, kΩ, m², ½", "# λ-calculus, α-helix, β",
        "a = 'ﬁ'", "Հայերեն լեզու", "'№ 5 — “quoted” …'", "x = '＋'",
    ],
)  # fmt: skip
def test_ordinary_text_has_no_lookalikes(text: str) -> None:
    assert lookalikes(text) == ()
