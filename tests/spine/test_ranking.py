import random
import string

import pytest

from alita_tui.spine.ranking import Ranking, stem, words


@pytest.mark.parametrize(
    "family",
    [
        "valid validate validates validated validating validation validator validators",
        "address addresses", "factor factors factorise factorization", "currency currencies",
        "prime primes", "roll rolls rolled rolling", "summary summaries summarise summarize",
    ],
)  # fmt: skip
def test_forms_of_a_word_have_one_stem(family):
    assert len({stem(word) for word in family.split()}) == 1


def test_words_leave_out_data_quotes_and_filler():
    said = words(
        "Please tell me whether the e-mail addresses 'bob smith', a@b.co and /tmp/x are in CamelCase, 42 times"
    )
    assert [word for _, word in said] == ["email", "addresses", "camel", "case", "times"]
    assert [word for _, word in words('"prime numbers"')] == ["prime", "numbers"]
    assert words("to be or not to be, 42") == []


def test_a_score_is_the_share_of_the_query_that_is_covered():
    ranking = Ranking()
    ranking.put("a", [("prime factors of a number", 1.0)])
    ranking.put("b", [("weather forecast for a city", 1.0)])
    whole, half = ranking.rank("prime factors")[0], ranking.rank("prime ministers")[0]
    assert (whole.key, half.key) == ("a", "a") and 0 < half.score < whole.score <= 1
    assert set(whole.words) == {"prime", "factors"} and half.words == ("prime",)
    assert ranking.rank("unrelated") == ranking.rank("") == []


def test_misspelt_and_related_words_are_alike():
    ranking = Ranking()
    ranking.put("a", [("fibonacci sequence", 1.0)])
    ranking.put("b", [("convert currency", 1.0)])
    assert ranking.rank("fibonaci")[0].key == "a" and ranking.rank("conversion")[0].key == "b"
    assert ranking.rank("dice") == []


def test_changing_one_text_is_as_building_the_index_anew():
    rng = random.Random(7)
    vocabulary = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(3, 9))) for _ in range(60)]
    texts: dict[str, str] = {}
    ranking = Ranking()
    for _ in range(300):
        key = f"k{rng.randrange(25)}"
        if rng.random() < 0.3:
            ranking.remove(key)
            texts.pop(key, None)
        else:
            texts[key] = " ".join(rng.choices(vocabulary, k=rng.randint(1, 12)))
            ranking.put(key, [(texts[key], 1.0)], title=texts[key].split()[0])
    fresh = Ranking()
    for key, text in texts.items():
        fresh.put(key, [(text, 1.0)], title=text.split()[0])
    for _ in range(40):
        query = " ".join(rng.choices(vocabulary, k=4))
        assert [(r.key, r.score) for r in ranking.rank(query)] == [
            (r.key, r.score) for r in fresh.rank(query)
        ]
    assert len(ranking) == len(texts)
    for key in texts:
        ranking.remove(key)
    assert not ranking._postings and not ranking._grams and len(ranking) == 0
