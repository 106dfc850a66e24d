"""How well the search finds: a library of 22 tools, needs that one of them meets, needs that none does."""

from typing import Any

import pytest

from alita_tui.events import BuildDigest, Lock, ToolDraft, ToolName, ToolRecord
from alita_tui.registry.search import SHOWN, ToolIndex
from alita_tui.spine.ranking import Calibration, Served, band

LIBRARY = {
    "validate_email_addresses": (
        "Validate email addresses by syntax and say why a bad one is bad.",
        "addresses",
    ),
    "csv_join": ("Join two CSV texts on a column.", "left right column"),
    "parse_dates": ("Parse dates in many formats to ISO 8601.", "texts"),
    "roll_dice": ("Roll dice with any number of sides.", "sides count seed"),
    "convert_currency": (
        "Convert an amount of money from one currency to another at a given rate.",
        "amount source target rate",
    ),
    "convert_units": (
        "Convert a length, mass or temperature between metric and imperial units.",
        "value from_unit to_unit",
    ),
    "count_words": ("Count the words, lines and characters of a text.", "text"),
    "extract_links": ("Extract all hyperlinks from an HTML page.", "html"),
    "prime_factors": ("Factor an integer into primes.", "number"),
    "resize_image": ("Resize a PNG or JPEG image to a width and height.", "image width height"),
    "summarise_table": (
        "Summarise a table of numbers: mean, median, standard deviation of each column.",
        "rows",
    ),
    "hash_text": ("Hash a text with SHA-256, SHA-1 or MD5.", "text algorithm"),
    "levenshtein_distance": ("Edit distance between two strings.", "first second"),
    "render_markdown": ("Render Markdown as HTML.", "markdown"),
    "json_diff": ("Compare two JSON documents and list what was added, removed or changed.", "before after"),
    "loan_schedule": (
        "Amortisation schedule of a loan with monthly payments.",
        "principal annual_rate months",
    ),
    "solve_linear_system": ("Solve a system of linear equations.", "matrix vector"),
    "translate_morse": ("Translate text to Morse code and back.", "text direction"),
    "validate_iban": ("Check bank account numbers (IBAN) by their check digits.", "iban"),
    "fetch_weather": ("Current weather and forecast for a city.", "city days"),
    "pdf_to_text": ("Extract the text of a PDF file.", "pdf"),
    "sentiment_score": ("Score whether a review is positive or negative.", "text"),
}
TUNED = [
    ("Are these addresses valid: a@b.co, x@y", "validate_email_addresses"),
    ("validate email addresses", "validate_email_addresses"),
    ("check whether an e-mail address is well formed", "validate_email_addresses"),
    ("email validator", "validate_email_addresses"),
    (
        "Please check the email addresses in this list of customers and tell me which are invalid",
        "validate_email_addresses",
    ),
    ("roll two dice", "roll_dice"),
    ("throw a twenty-sided dice 3 times", "roll_dice"),
    ("merge two CSV files by a common column", "csv_join"),
    ("parse the date '3rd of May 2024'", "parse_dates"),
    ("normalise dates to ISO format", "parse_dates"),
    ("convert 100 USD to EUR currency", "convert_currency"),
    ("currency conversion", "convert_currency"),
    ("convert temperature units from Celsius to Fahrenheit", "convert_units"),
    ("how many words are in this text?", "count_words"),
    ("word count", "count_words"),
    ("get all links from a web page", "extract_links"),
    ("prime factorization of 360", "prime_factors"),
    ("factor 91 into primes", "prime_factors"),
    ("make this image smaller: resize to 200 pixels wide", "resize_image"),
    ("mean and standard deviation of a column", "summarise_table"),
    ("sha256 hash of a string", "hash_text"),
    ("edit distance between kitten and sitting", "levenshtein_distance"),
    ("turn markdown into html", "render_markdown"),
    ("compare two json files", "json_diff"),
    ("diff of JSON documents", "json_diff"),
    ("monthly payment plan of a loan of 10000", "loan_schedule"),
    ("solve linear equations", "solve_linear_system"),
    ("translate hello to morse code", "translate_morse"),
    ("is this IBAN valid: DE89 3704 0044 0532 0130 00", "validate_iban"),
    ("what is the weather in Paris", "fetch_weather"),
    ("weather forecast", "fetch_weather"),
    ("extract text from pdf", "pdf_to_text"),
    ("is this review positive or negative?", "sentiment_score"),
]
"""Needs that the thresholds were chosen with."""
HELD_OUT = [
    ("is ada@example.org a valid email address?", "validate_email_addresses"),
    ("verify syntax of emails", "validate_email_addresses"),
    ("join csv tables on the id column", "csv_join"),
    ("simulate rolling dice", "roll_dice"),
    ("parse a list of date strings", "parse_dates"),
    ("money exchange between currencies at a rate", "convert_currency"),
    ("convert miles to kilometres, metric units", "convert_units"),
    ("how many lines and characters does this have", "count_words"),
    ("collect hyperlinks of a HTML document", "extract_links"),
    ("decompose an integer into prime factors", "prime_factors"),
    ("resize a picture to a given width", "resize_image"),
    ("median of numbers in a table", "summarise_table"),
    ("md5 checksum: hash this text", "hash_text"),
    ("levenshtein", "levenshtein_distance"),
    ("markdown rendering", "render_markdown"),
    ("what changed between two json documents", "json_diff"),
    ("loan amortization", "loan_schedule"),
    ("system of equations solver", "solve_linear_system"),
    ("decode morse", "translate_morse"),
    ("check IBAN bank account", "validate_iban"),
    ("weather for tomorrow in a city", "fetch_weather"),
    ("read the text of a pdf file", "pdf_to_text"),
    ("sentiment of a customer review", "sentiment_score"),
]
"""Needs written afterwards."""
UNMET = [
    "roll out a kubernetes deployment",
    "validate credit card numbers",
    "convert celsius recipes to audio",
    "generate a QR code",
    "compress a folder into a zip archive",
    "solve a sudoku puzzle",
    "play chess",
    "find the shortest path in a graph",
    "transcribe an audio recording",
    "detect the language of a text",
    "generate a random password",
    "translate english to french",
    "draw a bar chart",
    "what is the capital of France",
    "number of days until Christmas",
    "moon phase for a date",
    "encode text as base64",
    "sort a list of names",
    "look up the price of a stock",
    "count the syllables of a haiku",
    "text to speech",
    "calculate the area of a circle",
    "check a sudoku board",
    "hex colour to rgb",
    "roman numerals to integers",
    "parse an XML document",
    "send an email to my boss",
    "resize a disk partition",
    "extract audio from a video",
    "simulate a bank queue",
    "schedule a meeting",
    "validate a phone number",
    "distance between two cities",
    "read a barcode from an image",
]
UNMET_HELD_OUT = [
    "make a calendar invitation",
    "crop a photograph",
    "generate UUIDs",
    "tokenise python source code",
    "travelling salesman tour",
    "send a message to slack",
    "find anagrams",
    "decode a JWT",
    "colour palette of a logo",
    "rename files in a folder",
    "plot a histogram",
    "monte carlo estimate of pi",
]


def record(name: str, description: str, properties: str, version: int = 1) -> ToolRecord:
    schema = {"type": "object", "properties": {one: {"type": "string"} for one in properties.split()}}
    draft = ToolDraft(name=ToolName(name), description=description, code="", tests="", input_schema=schema)
    return ToolRecord(
        draft=draft,
        version=version,
        digest=BuildDigest(draft.digest),
        state="trusted",
        lock=Lock(),
        approval_id="p",
    )


def library(*, queries: dict[str, tuple[str, ...]] | None = None) -> ToolIndex:
    index = ToolIndex()
    met = {name: [Served(query=one) for one in asked] for name, asked in (queries or {}).items()}
    index.update((record(name, *texts), met.get(name, ())) for name, texts in LIBRARY.items())
    return index


def best(index: ToolIndex, query: str) -> str:
    """The tool that surely fits, if any."""
    found = index.search(query, 5)
    return found.hits[0].card.name if found.band == "fits" else ""


@pytest.mark.parametrize("query", ["Are these addresses valid: a@b.co, x@y", "validate email addresses"])
def test_the_right_tool_is_found_and_others_are_not(query: str) -> None:
    index = library()
    assert best(index, query) == "validate_email_addresses"
    alone = ToolIndex()
    alone.update([(record("validate_email_addresses", *LIBRARY["validate_email_addresses"]), ())])
    assert best(alone, query) == "validate_email_addresses"
    found = alone.search("roll two dice", 5)
    assert (found.hits, found.near_misses, found.band) == ((), (), "none")


def test_needs_are_met_by_the_right_tool_and_unmet_ones_by_none() -> None:
    index = library()
    first = {query: (index.search(query, 5).hits or [None])[0] for query, _ in TUNED + HELD_OUT}
    assert [
        query for query, name in TUNED + HELD_OUT if not (hit := first[query]) or hit.card.name != name
    ] == []
    met = [query for query, name in TUNED + HELD_OUT if best(index, query) == name]
    assert len(met) >= 0.95 * len(first), set(first) - set(met)
    unmet = [index.search(query, 5).band for query in UNMET + UNMET_HELD_OUT]
    assert unmet.count("fits") <= 0.2 * len(unmet)
    assert unmet.count("none") >= 0.5 * len(unmet)


def test_chances_lie_between_0_and_1_and_near_misses_lie_below_the_hits() -> None:
    index = library()
    bands = set()
    for query in [*UNMET, *UNMET_HELD_OUT, *(query for query, _ in TUNED + HELD_OUT)]:
        found = index.search(query, 2)
        hits, near = [one.score for one in found.hits], [one.score for one in found.near_misses]
        assert all(0 <= score <= 1 for score in hits + near) and hits + near == sorted(
            hits + near, reverse=True
        )
        assert len(hits) <= 2 and len(hits + near) <= SHOWN
        assert found.band == band(found.chance) or (found.band == "none" and not near)
        assert bool(hits) == (found.band != "none") and found.evidence
        bands.add(found.band)
    assert bands == {"fits", "perhaps", "none"}


def test_an_uncertain_search_shows_five_tools() -> None:
    found = library().search("check the text of a list for a number", 5)
    assert found.band == "perhaps" and len(found.hits) == 5 and found.near_misses == ()
    assert all(hit.input_schema for hit in found.hits)


def test_a_served_query_finds_its_tool_again() -> None:
    query = "are the people on my mailing list reachable"
    assert best(library(), query) == ""
    served: dict[str, tuple[str, ...]] = {
        "validate_email_addresses": ("check my mailing list for reachable people",)
    }
    found = library(queries=served).search(query, 5)
    assert found.hits[0].card.name == "validate_email_addresses" and found.hits[0].served == 1
    assert "met 1 such need" in found.evidence
    assert best(library(queries=served), "roll two dice") == "roll_dice"


def test_a_history_moves_the_bands() -> None:
    index = library()
    query = "verify syntax of emails"
    sceptic = Calibration(slope=1.0, shift=-4.0, outcomes=40)
    before, after = index.search(query, 5), index.search(query, 5, sceptic)
    assert before.band == "fits" and after.band != "fits" and after.prior == before.prior > after.chance
    assert "40 earlier searches" in after.evidence and "not measured here yet" in before.evidence


def test_a_removed_or_replaced_version_is_not_found():
    index = library()
    index.update([(record("roll_dice", *LIBRARY["roll_dice"], version=2), ())])
    assert index.search("roll dice", 5).hits[0].card.version == 2
    assert best(index, "validate email addresses") == ""


def test_hostile_schemas_do_not_break_the_index():
    index = ToolIndex()
    draft = record("odd", "An odd tool.", "")
    schemas: tuple[Any, ...] = (
        None,
        [],
        "x",
        {"properties": 3},
        {"properties": {"a": None}},
        {"items": {"properties": {"deep": {}}}},
    )
    for schema in schemas:
        changed = ToolDraft(
            name=ToolName("odd"), description="An odd tool.", code="", tests="", input_schema=schema
        )
        index.update(
            [
                (
                    ToolRecord(
                        draft=changed,
                        version=1,
                        digest=BuildDigest("d"),
                        state="trusted",
                        lock=draft.lock,
                        approval_id="p",
                    ),
                    (),
                )
            ]
        )
    assert index.search("deep", 5).hits[0].card.name == "odd"


def test_a_thousand_tools_rank_the_same_way():
    index = ToolIndex()
    many = [
        (
            record(
                f"tool_{n}_{chr(97 + n % 26) * 4}", f"Does the {chr(97 + n % 26) * 5} of number {n}.", "x"
            ),
            (),
        )
        for n in range(1000)
    ]
    index.update([*many, (record("validate_email_addresses", *LIBRARY["validate_email_addresses"]), ())])
    assert best(index, "Are these addresses valid: a@b.co, x@y") == "validate_email_addresses"
    assert best(index, "roll two dice") == ""
