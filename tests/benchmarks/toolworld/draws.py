"""What the people of Toolworld come with: values for each of their needs. The mind does not know this module."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

_WORDS = (
    "river stone lantern copper meadow winter harbour violet thunder marble candle orchard silver pepper falcon velvet"
    " cotton bridge forest island mirror anchor garden planet rocket saddle ticket walnut yellow zephyr"
).split()
_SMALL = "the of and in a for".split()
_NOTES = [
    f"{letter}{sign}{octave}" for letter in "CDEFGAB" for sign in ("", "#", "b") for octave in range(1, 8)
]
_BANDS = "brown red orange yellow green blue violet grey white".split()
_FORMULAS = (
    "H2O CO2 NaCl C6H12O6 Ca(OH)2 (NH4)2SO4 C2H5OH NaHCO3 Mg(OH)2 CH4 NH3 KCl C8H10N4O2 HNO3 H2SO4 CaCO3 Fe2O3"
).split()
_LEET = (
    "h3ll0 w0rld", "l33t h4x0r", "g00d m0rn1ng", "s33 y0u 50on", "n1c3 7ry", "w31rd 73x7", "1 4m h3r3", "b3s7 fr13nd5",
    "7h3 3nd", "r34d 7h15", "c0ff33 71m3", "f1n4l b055",
)  # fmt: skip
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()


def _number(r: Random, low: float, high: float, places: int = 1) -> float:
    return round(r.uniform(low, high), places)


def _numbers(r: Random, low: int, high: int, most: int = 7) -> list[int]:
    return [r.randint(low, high) for _ in range(r.randint(3, most))]


def _date(r: Random, first: int = 1950, last: int = 2045) -> str:
    return f"{r.randint(first, last)}-{r.randint(1, 12):02}-{r.randint(1, 28):02}"


def _clock(r: Random) -> str:
    return f"{r.randint(0, 23):02}:{r.randint(0, 59):02}"


def _phrase(r: Random, least: int = 2, most: int = 5) -> str:
    return " ".join(r.sample(_WORDS, r.randint(least, most)))


def _title(r: Random) -> str:
    words = [r.choice(_WORDS) if n % 2 == 0 else r.choice(_SMALL) for n in range(r.choice((3, 5)))]
    return " ".join(words)


def _dna(r: Random, codons: int) -> str:
    return "".join(r.choices("ACGT", k=3 * codons))


def _edited(r: Random) -> dict[str, Any]:
    word = r.choice(_WORDS)
    letters = list(word)
    letters[r.randrange(len(letters))] = r.choice("aeiou")
    return {"first": word, "second": "".join(letters)[r.randint(0, 1) :] + r.choice(("", "s", "er"))}


def _shuffled(r: Random) -> dict[str, Any]:
    phrase = _phrase(r, 1, 2)
    letters = list(phrase.replace(" ", ""))
    r.shuffle(letters)
    other = "".join(letters) if r.random() < 0.6 else _phrase(r, 1, 2)
    return {"first": phrase.title(), "second": other}


def _pattern(r: Random) -> dict[str, Any]:
    words = r.sample(_WORDS, 6)
    chosen = r.choice(words)
    return {"words": words, "pattern": "".join(one if r.random() < 0.5 else "?" for one in chosen)}


def _rising(r: Random, given: Callable[[Random], Any]) -> tuple[Any, Any]:
    first, second = sorted((given(r), given(r)))
    return first, second


def _colour(r: Random) -> list[int]:
    return [r.randint(0, 255) for _ in range(3)]


Draw = Callable[[Random], dict[str, Any]]

DRAWS: dict[str, Draw] = {
    "prime_factors": lambda r: {"number": r.randint(30, 9000)},
    "greatest_common_divisor": lambda r: {"numbers": [r.randint(2, 60) * k for k in r.sample((4, 6, 9, 12, 15), 3)]},
    "fibonacci_number": lambda r: {"n": r.randint(21, 180)},
    "to_base": lambda r: {"number": r.randint(30, 90_000), "base": r.choice((2, 3, 5, 8, 16, 36))},
    "from_base": lambda r: {"text": "".join(r.choices("1234567", k=5)), "base": r.choice((8, 9, 11, 16, 36))},
    "spell_number": lambda r: {"number": r.randint(21, 999_999)},
    "is_prime": lambda r: {"number": r.choice((r.randrange(1001, 99_999, 2), 49, 121, 169, 7919, 1369, 2209))},
    "round_half_even": lambda r: {
        "number": f"{r.randint(1, 90)}.{r.randint(10, 99)}{r.choice('2558')}{r.choice(('', '5'))}",
        "places": r.choice((0, 1, 3)),
    },
    "simplify_fraction": lambda r: {"numerator": r.randint(22, 180), "denominator": r.choice((24, 36, 40, 48, 60, 84))},
    "quadratic_roots": lambda r: {"a": r.choice((1, 2, 3)), "b": r.randint(-9, 9), "c": r.randint(-20, 5)},
    "compound_interest": lambda r: {
        "principal": r.randint(101, 9999), "percent": _number(r, 1.1, 7.9), "years": r.randint(2, 19),
        "periods": r.choice((2, 4, 6)),
    },
    "loan_payment": lambda r: {
        "amount": r.randint(1100, 250_000), "percent": _number(r, 1.1, 7.9), "months": r.randint(13, 300),
    },
    "luhn_check_digit": lambda r: {"digits": "".join(r.choices("123456789", k=r.randint(9, 15)))},
    "moving_average": lambda r: {"numbers": _numbers(r, 21, 99, 8), "window": r.randint(2, 3)},
    "describe_numbers": lambda r: {"numbers": _numbers(r, 21, 99)},
    "percentile_of": lambda r: {"numbers": _numbers(r, 21, 999, 9), "percent": r.choice((25, 50, 75, 90, 95))},
    "binomial_coefficient": lambda r: {"n": r.randint(21, 80), "k": r.randint(3, 12)},
    "collatz_steps": lambda r: {"start": r.randint(21, 99_999)},
    "dice_statistics": lambda r: {"count": r.randint(2, 4), "sides": r.choice((4, 6, 8, 20)), "target": r.randint(6, 11)},
    "matrix_determinant": lambda r: {"rows": [[r.randint(-9, 9) for _ in range(3)] for _ in range(3)]},
    "temperature_convert": lambda r: dict(
        zip(("given", "wanted"), r.sample(("celsius", "fahrenheit"), 2), strict=True),
        value=_number(r, 21, 320),
    ),
    "length_convert": lambda r: dict(
        zip(("given", "wanted"), r.sample(("cm", "m", "km", "in", "ft", "mi"), 2), strict=True),
        value=_number(r, 21, 950),
    ),
    "bytes_human": lambda r: {"count": r.randint(1100, 9_000_000_000)},
    "hex_to_rgb": lambda r: {"colour": f"#{r.randint(0, 0xFFFFFF):06x}"},
    "contrast_ratio": lambda r: {"first": _colour(r), "second": _colour(r)},
    "bmi_category": lambda r: {"kilograms": r.randint(41, 130), "metres": _number(r, 1.45, 2.05, 2)},
    "split_bill": lambda r: {"cents": r.randint(1100, 60_000), "people": r.randint(3, 9), "tip_percent": r.choice((5, 8, 12, 15))},
    "fuel_cost": lambda r: {
        "kilometres": r.randint(41, 1400), "litres_per_100": _number(r, 3.6, 11.9), "price": _number(r, 1.41, 2.29, 2),
    },
    "wind_chill": lambda r: {"celsius": r.randint(-29, 9), "kmh": r.randint(8, 95)},
    "beaufort_of": lambda r: {"kmh": r.randint(2, 140)},
    "grade_from_points": lambda r: dict(zip(("points", "most"), _rising(r, lambda r: r.randint(21, 120)), strict=True)),
    "dna_complement": lambda r: {"sequence": _dna(r, r.randint(3, 7))},
    "codon_translate": lambda r: {"sequence": _dna(r, r.randint(4, 8))},
    "molar_mass": lambda r: {"formula": r.choice(_FORMULAS)},
    "resistor_value": lambda r: {"bands": [*r.choices(_BANDS, k=2), r.choice(_BANDS[:6]), r.choice(("gold", "silver", "red"))]},
    "note_frequency": lambda r: {"note": r.choice(_NOTES)},
    "next_palindrome": lambda r: {"number": r.randint(101, 99_000)},
    "elo_rating": lambda r: {
        "first": r.randint(1100, 2400), "second": r.randint(1100, 2400), "score": r.choice((0, 0.5, 1)),
        "factor": r.choice((10, 32, 40)),
    },
    "password_strength": lambda r: {"password": f"{_phrase(r, 1, 3)}{r.choice(('', '7', '!', 'Q9'))}"},
    "crossword_matches": _pattern,
    "days_between": lambda r: dict(zip(("first", "second"), _rising(r, _date), strict=True)),
    "add_months": lambda r: {"day": f"{r.randint(1990, 2040)}-0{r.choice((1, 3, 5, 7, 8))}-31", "months": r.randint(1, 18)},
    "weekday_name": lambda r: {"day": _date(r), "language": "de"},
    "easter_sunday": lambda r: {"year": r.randint(1900, 2199)},
    "parse_duration": lambda r: {"text": f"{r.randint(1, 9)}d {r.randint(1, 23)}h {r.randint(1, 59)}m"},
    "format_duration": lambda r: {"seconds": r.randint(3700, 900_000)},
    "iso_week": lambda r: {"day": _date(r)},
    "age_in_years": lambda r: {"born": _date(r, 1930, 1990), "on": _date(r, 2000, 2040)},
    "unix_to_iso": lambda r: {"seconds": r.randint(100_000_000, 2_000_000_000)},
    "quarter_of": lambda r: {"day": _date(r)},
    "nth_weekday": lambda r: {
        "year": r.randint(1990, 2040), "month": r.randint(1, 12), "weekday": r.choice(_DAYS), "n": r.randint(1, 4),
    },
    "roman_date": lambda r: {"day": _date(r)},
    "minutes_of_shift": lambda r: {"start": _clock(r), "end": _clock(r)},
    "slug_of_title": lambda r: {"title": f"{_title(r).title()}: {_phrase(r, 1, 3)}!", "longest": r.choice((9, 14, 18))},
    "caesar_shift": lambda r: {"text": _phrase(r), "places": r.randint(4, 25)},
    "title_case": lambda r: {"title": _title(r)},
    "edit_distance": _edited,
    "reverse_words": lambda r: {"text": _phrase(r, 3, 6)},
    "morse_encode": lambda r: {"text": _phrase(r, 1, 3)},
    "acronym_of": lambda r: {"phrase": _title(r)},
    "run_length_encode": lambda r: {"text": "".join(one * r.randint(1, 5) for one in r.sample("abcdwxyz", 4))},
    "is_anagram": _shuffled,
    "nato_spelling": lambda r: {"text": f"{r.choice(_WORDS)} {r.randint(1, 9)}"},
    "pig_latin": lambda r: {"text": _phrase(r)},
    "compare_versions": lambda r: {
        name: ".".join(str(r.randint(0, 12)) for _ in range(r.randint(2, 3))) for name in ("first", "second")
    },
    "escape_html": lambda r: {"text": f"<b>{r.choice(_WORDS)} & '{r.choice(_WORDS)}'</b>", "quotes": r.choice((True, False))},
    "leet_decode": lambda r: {"text": r.choice(_LEET)},
    "common_prefix": lambda r: {"texts": [stem + end for stem in [r.choice(_WORDS)[:4]] for end in r.sample(_WORDS, 3)]},
    "word_frequencies": lambda r: {"text": " ".join(r.choices(_WORDS[:5], k=9)), "top": r.choice((2, 3))},
    "mask_card_number": lambda r: {
        "number": "-".join("".join(r.choices("0123456789", k=4)) for _ in range(4)), "mask": r.choice("#x"),
    },
    "vowel_consonant_ratio": lambda r: {"text": _phrase(r, 1, 4)},
}  # fmt: skip
"""Need -> what it comes with. Values that its tool has a default for are left out where nobody names them."""

LATER: dict[str, Draw] = {
    "temperature_convert": lambda r: {
        **DRAWS["temperature_convert"](r),
        r.choice(("given", "wanted")): "kelvin",
    },
    "length_convert": lambda r: {
        **DRAWS["length_convert"](r),
        r.choice(("given", "wanted")): r.choice(("yd", "mm")),
    },
}
"""Needs that come with units of which nobody spoke before."""

BEYOND: dict[str, Draw] = {
    "spell_number": lambda r: {"number": r.randint(1_000_000, 9_000_000)},
    "hex_to_rgb": lambda r: {"colour": "#12345"},
    "molar_mass": lambda r: {"formula": r.choice(("Xx2O", "H2Q", "Zz"))},
    "easter_sunday": lambda r: {"year": r.randint(1100, 1500)},
    "temperature_convert": lambda r: {"value": -999, "given": "celsius", "wanted": "kelvin"},
    "note_frequency": lambda r: {"note": r.choice(("H4", "X2", "C#99"))},
}
"""Needs with what no right tool takes: there is no answer."""
