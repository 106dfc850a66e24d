"""Reads and compares numbers as people and models write them."""

from __future__ import annotations

import re
from typing import Any
from unicodedata import normalize

_DIGITS = (
    r"(?:[1-9]\d{0,2}(?:,\d{3})+(?!\d)"
    r"|[1-9]\d?(?:,\d{2}){1,5},\d{3}(?!\d)"
    r"|\d{1,3}(?:[ _'\u2019\u00a0\u2009\u202f]\d{3})+(?!\d)"
    r"|\d+)"
)
"""Digits with a comma, space, apostrophe, underscore or nothing between thousands; or as in India, 12,34,567."""
_NUMBER = re.compile(
    rf"(?:(?<![A-Za-z0-9_.])[-+\u2212\u2013])?(?:{_DIGITS}(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+)"
)
_WHOLE = re.compile(r"[-+\u2212]?(?:(?:[1-9]\d{0,2}(?:,\d{3})+|0|[1-9]\d*)(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+)")
"""A code such as 007 is no number, because its zeros are significant."""
_INTEGER = re.compile(r"[-+]?\d+")
_POWER = re.compile(
    r"(?:(?<=\d)[ \u00a0\u2009\u202f]?(?:[x\u00d7*\u00b7\u22c5]|\\times|\\cdot)[ \u00a0\u2009\u202f]?|(?<![\w.^]))"
    r"10(?:(?:\^|\*\*)\{?([-+\u2212]?\d{1,3})\}?|([\u207a\u207b]?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,3}))"
)
_RAISED = str.maketrans(
    "\u207a\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u2212", "+-0123456789-"
)
_BETWEEN = str.maketrans("\u2212\u2013", "--", ",_' \u2019\u00a0\u2009\u202f")
_COMMA = re.compile(r"(?<![\w.,])(\d{1,3}(?:\.\d{3})+|\d+),(\d+)(?!\d|[,.]\d)")
_THOUSANDS = re.compile(r"[1-9]\d{0,2},\d{3}")
_DOTS = re.compile(r"(?<![\w.,])[1-9]\d{0,2}(?:\.\d{3}){2,}(?!\d|[,.]\d)")
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_FRACTION = re.compile(
    r"(?<![\w/.,])(?:(\d{1,3})[ \u00a0\u2009\u202f])?(\d{1,9})[ \u00a0\u2009\u202f]?[/\u2044]"
    r"[ \u00a0\u2009\u202f]?(\d{1,9})(?!\w|[/.,]\d)"
)
"""A fraction, also after a whole number. A date has two slashes and is no fraction."""
_TYPESET = re.compile(r"(\d?)\\[dt]?frac\{(\d{1,9})\}\{(\d{1,9})\}")
"""A fraction as LaTeX writes it, also after a whole number."""
_VULGAR = re.compile(r"(\d[ \u00a0\u2009\u202f]?)?([\u00bc-\u00be\u2150-\u215e\u2189])")
_SCALE = re.compile(
    r"[ \u00a0\u2009\u202f*`-]{0,6}(hundred|thousand|million|billion|trillion)s?\b", re.IGNORECASE
)
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SHORT = re.compile(r"[ \u00a0\u2009\u202f]?(k|K|M|mn?|bn|B)\b")
"""Abbreviations that count only after an amount of money: elsewhere `k` and `M` may be parts of units."""
_SHORTS = {"k": 1e3, "K": 1e3, "m": 1e6, "mn": 1e6, "M": 1e6, "bn": 1e9, "B": 1e9}
_IN_WORD = re.compile("[A-Za-z_]")
"""A letter before a number that makes it a part of a word; scripts without spaces between words are not among them."""
_POWER_OF_UNIT = re.compile(r"[A-Za-z]\^\{?$")
"""What is before the exponent of a unit, as in `m^3` or `s^{-2}`."""
_BLANK = " \t\u00a0\u2009\u202f*`$"
"""Characters that may be between a number and its unit: spaces, and marks of bold text."""
_GAP = rf"[{re.escape(_BLANK)}]{{0,6}}"
_ENDED = r"(?!\w|/[^\W\d]|\^|[\u00b7\u22c5]\w)"
"""End of a unit: `km/h` and `m^2` are other units than `km` and `m`."""
_OTHERWISE = {"%": "per ?cent"}
_SIGNED = re.compile(r"(?:^|[^A-Za-z0-9_.])[-\u2212\u2013]$")
_MICRO, _MU = "\u00b5", "\u03bc"
"""Two signs that look alike; either may begin a unit."""
_SUPERSCRIPT = str.maketrans("23", "\u00b2\u00b3")
_CURRENCY = "$\u20ac\u00a3\u00a5\u20b9"
_LONGEST = 50_000
"""Characters at the end of a text that are searched for numbers, as answers can be of any length."""
_SLACK = 1e-12
"""Rounding error of floating-point arithmetic that is allowed in addition to the tolerance, as a share of a value."""
_EXACT = 2**53
"""From here on, floating point cannot represent every whole number."""


def number(text: str) -> float | None:
    """Return the number of a text that is a number, with or without commas between thousands; else None."""
    text = text.strip()
    return _value(text) if _WHOLE.fullmatch(text) else None


def integer(value: Any) -> int | None:
    """Return a whole number, given as a number or as text; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) < 1000 and _INTEGER.fullmatch(value.strip()):
        return int(value)
    return None


def numbers_in(text: str, unit: str = "") -> list[float]:
    """Return the numbers of a text in order; with a unit, only those next to it.

    Digits within a word, as in CO2, count only if the text has no other number. `3,5` is 3.5, except in brackets, where
    it is two numbers (`[3,5]`); `1,234` is 1234 and `1/2` is 0.5.
    """
    text = _written_plainly(text[-_LONGEST:]).replace(_MICRO, _MU)
    unit = unit.replace(_MICRO, _MU)
    raised = re.sub(r"\^([23])(?!\d)", lambda power: power[1].translate(_SUPERSCRIPT), unit)
    lowered = re.sub("[\u00b2\u00b3]", lambda power: f"^{power[0].translate(_RAISED)}", unit)
    forms = dict.fromkeys((unit, raised, lowered))
    unit_forms = "|".join(filter(None, (*map(re.escape, forms), _OTHERWISE.get(unit))))
    unit_after = re.compile(rf"{_GAP}(?:{unit_forms}){_ENDED}")
    numbers, within_words = [], []
    for match in _NUMBER.finditer(text):
        value, before = _value(match[0]), text[max(match.start() - 40, 0) : match.start()]
        end = match.end()
        if (scale := _scaled(text, end, before)) and not (unit and unit_after.match(text, end)):
            value, end = value * scale[0], scale[1]
        preceding = before.rstrip(_BLANK.replace("$", "")) if unit else before
        sign = before.rstrip()
        if unit:
            with_unit = preceding.endswith(unit)
            if not unit_after.match(text, end) and not with_unit:
                continue
            sign = preceding.removesuffix(unit) if with_unit else preceding
        elif _IN_WORD.match(text, max(match.start() - 1, 0)) or _POWER_OF_UNIT.search(before):
            within_words.append(value)
            continue
        if not unit and sign[-1:] and sign[-1] in _CURRENCY:
            sign = sign[:-1]
        elif not unit:
            sign = ""
        numbers.append(-value if value > 0 and sign != before and _SIGNED.search(sign) else value)
    return numbers or within_words


def near(made: float, expected: float, tolerance: float) -> bool:
    """Return True if two numbers are equal within the tolerance; whole numbers get no allowance for rounding."""
    difference = abs(made - expected)
    both_whole = abs(expected) < _EXACT and made == made // 1 and expected == expected // 1
    return made == expected or difference <= tolerance + (0 if both_whole else _SLACK * abs(expected))


def _written_plainly(text: str) -> str:
    """Return a text with fractions, powers of ten, decimal commas and dots between thousands as plain numbers."""
    text = _POWER.sub(_as_exponent, text)
    text = _TYPESET.sub(
        lambda match: f"{match[1]} {match[2]}/{match[3]}" if match[1] else f"{match[2]}/{match[3]}", text
    )
    text = _FRACTION.sub(_as_decimal, _VULGAR.sub(_as_fraction, text))
    return _DOTS.sub(lambda match: match[0].replace(".", ""), _COMMA.sub(_with_point, text))


def _as_fraction(vulgar: re.Match[str]) -> str:
    parts = normalize("NFKC", vulgar[2])
    return f"{vulgar[1].strip()} {parts}" if vulgar[1] else parts


def _as_decimal(fraction: re.Match[str]) -> str:
    whole, numerator, denominator = fraction[1], int(fraction[2]), int(fraction[3])
    if not denominator or whole and numerator >= denominator:
        return fraction[0]
    return repr(int(whole or 0) + numerator / denominator)


def _with_point(number: re.Match[str]) -> str:
    neighbours = (
        number.string[number.start() - 1 : number.start()],
        number.string[number.end() : number.end() + 1],
    )
    if _THOUSANDS.fullmatch(number[0]) or neighbours[0] and _PAIRS.get(neighbours[0]) == neighbours[1]:
        return number[0]
    return f"{number[1].replace('.', '')}.{number[2]}"


def _scaled(text: str, end: int, before: str) -> tuple[float, int] | None:
    """Return the factor of a word such as `million` after a number, and where the word ends; None for no such word."""
    if word := _SCALE.match(text, end):
        return _SCALES[word[1].lower()], word.end()
    if before.rstrip()[-1:] in {*_CURRENCY} and (short := _SHORT.match(text, end)):
        return _SHORTS[short[1]], short.end()
    return None


def _as_exponent(power: re.Match[str]) -> str:
    exponent = (power[1] or power[2]).translate(_RAISED)
    return f"e{exponent}" if power[0][0] != "1" else f"1e{exponent}"


def _value(figure: str) -> float:
    return float(figure.translate(_BETWEEN))
