"""The ranker and its bands: what is found, that changes are as building anew, that a history corrects the prior."""

from __future__ import annotations

import random
import string

import pytest

from alita_tui.spine.ranking import Ranked, Ranker, Served, band, calibrated, prior
from alita_tui.spine.ranking.calibration import FITS, NEEDED, NONE


def ranker(texts: dict[str, str], served: dict[str, tuple[str, ...]] | None = None) -> Ranker:
    made = Ranker()
    for key, text in texts.items():
        made.put(key, [(text, 1.0)], [Served(query=query) for query in (served or {}).get(key, ())])
    return made


def test_a_lone_surrogate_is_indexed_and_found_like_any_other_text() -> None:
    made = ranker(
        {"a": "good text of fiscal years", "b": "half \ud835 fiscal pair"}, {"b": ("odd \udce9 pair",)}
    )
    assert made.rank("half of a \ud835 pair")[0].key == "b"
    assert {one.key for one in made.rank("fiscal")} == {"a", "b"}
    again = Ranker(made.saved)
    again.put("b", [("half \ud835 fiscal pair", 1.0)], [Served(query="odd \udce9 pair")])
    assert [one.key for one in again.rank("pair")] == ["b"] and again.changed == 1, (
        "`a` is gone, `b` is known"
    )


CODECS = {
    "encode_base64": "Encode bytes as base64.",
    "encode_base32": "Encode bytes as base32.",
    "hash_md5": "Hash a text with MD5.",
    "hash_sha": "Hash a text with SHA-256.",
    "parse_iso": "Parse dates written as ISO 8601.",
    "check_ipv4": "Check an IPv4 address.",
    "check_ipv6": "Check an IPv6 address.",
    "fetch_weather": "Fetch the weather of a city.",
}


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("base64", "encode_base64"), ("base32 of this", "encode_base32"), ("md5", "hash_md5"),
        ("sha256 checksum", "hash_sha"), ("SHA-256", "hash_sha"), ("iso8601", "parse_iso"),
        ("is this valid ipv6?", "check_ipv6"), ("is this valid ipv4?", "check_ipv4"),
    ],
)  # fmt: skip
def test_words_with_digits_are_words(query: str, key: str) -> None:
    assert ranker(CODECS).rank(query)[0].key == key


def test_numbers_and_identifiers_of_a_request_are_its_data() -> None:
    found = ranker(CODECS).rank("hash the text of order a1234 from 2024-05-01 with md5, 17 times")
    assert found[0].key == "hash_md5" and "a1234" not in found[0].words
    assert ranker(CODECS).rank("a1234 2024-05-01 42") == []


def test_a_served_query_finds_its_text_again() -> None:
    query = "will I need an umbrella tomorrow"
    before = ranker(CODECS).rank(query)
    assert prior(before) < NONE
    after = ranker(CODECS, {"fetch_weather": ("do I need an umbrella today",)}).rank(query)
    assert after[0].key == "fetch_weather" and after[0].served == 1 and prior(after) > prior(before)


PRODUCTS = {"compare_products": "Compare products.", "summarise_reviews": "Summarise reviews of products."}
THINGS = ("kettle", "tent", "drum", "flute", "bicycle", "lamp")
ASKED_OF_PRODUCTS = {
    "compare_products": (
        "should I buy the green kettle or the red kettle",
        "is the small tent or the large tent the right choice",
        "do I take the drum or the flute",
        "the bicycle or the lamp, which do I take",
        "which is better of the guitar and the violin",
        "should I buy a green or a red printer",
        "kettle against teapot",
        "should it be a small lamp or a large lamp",
    ),
    "summarise_reviews": (
        "do people like the new camera",
        "is the new phone liked by people that buy it",
        *(f"what do people say about the {thing}" for thing in THINGS),
    ),
}
CHOICE = "is a phone or a camera the right choice for people"


def test_twins_are_distinguished_by_queries_that_only_one_of_them_served() -> None:
    twins = ranker(PRODUCTS, ASKED_OF_PRODUCTS)
    assert twins.rank(CHOICE)[0].key == "summarise_reviews", "the example is one that takes a contrast"
    ranked = twins.rank(CHOICE, contrasted=True)
    assert [match.key for match in ranked] == ["compare_products", "summarise_reviews"]
    assert ranked[0].contrast == pytest.approx(-ranked[1].contrast) and ranked[0].contrast > 0
    assert (
        ranked[0].margin == pytest.approx(ranked[0].score - ranked[1].score, abs=1e-3)
        and ranked[0].margin > 0
    )


def test_texts_whose_served_queries_differ_only_in_the_form_of_a_word_are_told_apart() -> None:
    """The stems of both are the same: what a person wrote decides."""
    texts = {"a_teams": "Teams of a company.", "b_desks": "Desks of a company."}
    asked = {
        "a_teams": tuple(f"organization in the company number {number}" for number in range(20)),
        "b_desks": tuple(f"organize in the company number {number}" for number in range(20)),
    }
    compared = ranker(texts, asked)
    for query, right in (("organization in the firm", "a_teams"), ("organize in the firm", "b_desks")):
        assert compared.rank(query, contrasted=True)[0].key == right


def test_after_the_first_a_text_gains_by_resembling_the_best() -> None:
    """Eight wines and one beer have served a question about their own country; the query names two countries."""
    lands = ("france", "spain", "italy", "chile", "greece", "georgia", "austria", "hungary")
    texts = {f"wine_{land}": f"Wine cellar {land}" for land in lands} | {"beer": "Beer spain lager"}
    asked = {
        key: tuple(
            f"{'malt barley keg' if key == 'beer' else 'grape vineyard cork'} {key[-5:]} {number}"
            for number in range(20)
        )
        for key in texts
    }
    plain = [match.key for match in ranker(texts, asked).rank("cellar spain france")]
    compared = [match.key for match in ranker(texts, asked).rank("cellar spain france", contrasted=True)]
    assert sorted(plain) == sorted(compared) and plain[0] == compared[0]
    assert plain.index("beer") < compared.index("beer")


def test_texts_without_served_queries_have_no_contrast() -> None:
    plain = ranker(PRODUCTS)
    assert plain.rank(CHOICE + " of products", contrasted=True) == plain.rank(CHOICE + " of products")


@pytest.mark.parametrize("long", [20, 60])
def test_a_text_with_a_short_history_is_not_outranked_for_it(long: int) -> None:
    asked = {
        key: tuple(f"{query} number {number}" for number in range(long // 5) for query in queries[:5])
        for key, queries in ASKED_OF_PRODUCTS.items()
    }
    texts = ranker({**PRODUCTS, "choose_phone": "Choose the right phone."}, asked)
    plain, contrasted = texts.rank(CHOICE), texts.rank(CHOICE, contrasted=True)
    before, after = ({match.key: match for match in ranked} for ranked in (plain, contrasted))
    assert any(match.contrast for match in contrasted)
    assert after["choose_phone"].score == before["choose_phone"].score and after["choose_phone"].contrast == 0
    assert [match.score for match in contrasted] == [match.score for match in plain], (
        "the others exchange theirs"
    )


def test_contrast_is_the_same_for_a_grown_loaded_or_rebuilt_index() -> None:
    whole = ranker({**CODECS, **PRODUCTS}, ASKED_OF_PRODUCTS)
    grown = ranker({**CODECS, **PRODUCTS}, {"summarise_reviews": ("the choice of people", "a camera")})
    grown.rank(CHOICE)
    read = Ranker(whole.saved)
    for key, text in {**CODECS, **PRODUCTS}.items():
        served = [Served(query=query) for query in ASKED_OF_PRODUCTS.get(key, ())]
        grown.put(key, [(text, 1.0)], served)
        read.put(key, [(text, 1.0)], served)
    for query in (CHOICE, "is the xylophone or the camera the right choice", "a camera", "md5 of the tent"):
        expected = {match.key: match.contrast for match in whole.rank(query, contrasted=True)}
        for other in (grown, read):
            contrasts = {match.key: match.contrast for match in other.rank(query, contrasted=True)}
            assert contrasts == pytest.approx(expected, abs=1e-4)
    assert read.changed == 0


def test_changing_texts_one_by_one_equals_rebuilding_the_index() -> None:
    rng = random.Random(7)
    vocabulary = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(3, 9))) for _ in range(90)]

    def said(most: int) -> str:
        return " ".join(rng.choices(vocabulary, k=rng.randint(1, most)))

    held: dict[str, tuple[str, tuple[str, ...]]] = {}
    changed = Ranker()
    for turn in range(600):
        key = f"k{rng.randrange(150)}"
        if rng.random() < 0.3:
            changed.remove(key)
            held.pop(key, None)
        else:
            held[key] = (said(12), tuple(said(6) for _ in range(rng.randrange(4))))
            text, served = held[key]
            changed.put(key, [(text, 1.0)], [Served(query=one) for one in served])
        if turn % 40 == 0:
            changed.rank(said(4))
    fresh = ranker(
        {key: text for key, (text, _) in held.items()}, {key: one for key, (_, one) in held.items()}
    )
    assert len(changed) == len(fresh) == len(held)
    for _ in range(60):
        query = said(5)
        ours, theirs = changed.rank(query), fresh.rank(query)
        assert {one.key for one in ours} == {one.key for one in theirs}
        scores = {one.key: one.score for one in theirs}
        assert all(one.score == pytest.approx(scores[one.key], abs=2e-3) for one in ours)
    for key in list(held):
        changed.remove(key)
    assert len(changed) == 0 and changed.rank(said(5)) == []


@pytest.mark.parametrize(
    "query", ["", " \n", "\x00\ud800", "¿?", "a" * 50_000, "🙂" * 90, "to be or not to be"]
)
def test_any_query_returns_without_an_error(query: str) -> None:
    assert all(0 <= one.cover <= 1 for one in ranker(CODECS).rank(query))
    used = ranker({**CODECS, **PRODUCTS}, ASKED_OF_PRODUCTS)
    used.put("hash_md5", [(CODECS["hash_md5"], 1.0)], [Served(query=query)])
    assert all(-2 < match.contrast < 2 for match in used.rank(query + " tent", contrasted=True))
    assert Ranker().rank(query) == []


def test_a_served_query_with_less_weight_counts_less() -> None:
    def score(weight: float) -> float:
        made = ranker(CODECS)
        made.put(
            "hash_md5", [(CODECS["hash_md5"], 1.0)], [Served(query="fingerprint of a file", weight=weight)]
        )
        return next(one.score for one in made.rank("fingerprint file") if one.key == "hash_md5")

    assert score(0.2) < score(1.0)


def outcomes(rng: random.Random, count: int, *, shift: float) -> list[tuple[float, bool]]:
    """Draw outcomes of which the prior says too little by `shift`."""
    drawn = (rng.random() for _ in range(count))
    return [(chance, rng.random() < min(1.0, max(0.0, chance + shift))) for chance in drawn]


def test_a_long_history_corrects_the_prior_and_a_short_one_does_not() -> None:
    rng = random.Random(3)
    assert calibrated(outcomes(rng, NEEDED - 1, shift=0.3)).chance(0.5) == pytest.approx(0.5)
    assert calibrated([(0.9, True)] * 99).chance(0.5) == pytest.approx(0.5)
    more = calibrated(outcomes(rng, 400, shift=0.3))
    assert more.outcomes == 400 and 0.65 < more.chance(0.5) < 0.95
    less = calibrated(outcomes(rng, 400, shift=-0.3))
    assert 0.05 < less.chance(0.5) < 0.35
    for one in (more, less):  # never turned round
        assert one.chance(0.1) < one.chance(0.5) < one.chance(0.9)


def test_bands_cover_all_probabilities_without_overlap() -> None:
    assert [band(chance) for chance in (0.0, NONE - 0.01, NONE, FITS - 0.01, FITS, 1.0)] == [
        "none", "none", "perhaps", "perhaps", "fits", "fits",
    ]  # fmt: skip
    assert prior([]) == 0 and 0 < prior([Ranked(key="x", score=0.0)]) < 1
