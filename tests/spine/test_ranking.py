import pytest

from alita_tui.spine.ranking import Ranker, stem, words


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


def test_misspelt_and_related_words_resemble_each_other() -> None:
    ranker = Ranker()
    ranker.put("a", [("fibonacci sequence", 1.0)])
    ranker.put("b", [("convert currency", 1.0)])
    assert ranker.rank("fibonaci")[0].key == "a" and ranker.rank("conversion")[0].key == "b"
    assert ranker.rank("dice") == []


def test_a_match_has_the_share_of_the_query_and_the_matching_words() -> None:
    ranker = Ranker()
    ranker.put("a", [("prime factors of a number", 1.0)])
    ranker.put("b", [("weather forecast for a city", 1.0)])
    whole, half = ranker.rank("prime factors")[0], ranker.rank("prime ministers")[0]
    assert (whole.key, half.key) == ("a", "a") and 0 < half.share < whole.share == pytest.approx(1)
    assert set(whole.words) == {"prime", "factors"} and half.words == ("prime",)
    assert ranker.rank("unrelated") == ranker.rank("") == []
