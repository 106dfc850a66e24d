"""Numbers as people and models write them: read, and compared."""

from __future__ import annotations

import re
from typing import Any

_DIGITS = (
    r"(?:\d{1,3}(?:,\d{3})+(?!\d)"
    r"|\d{1,3}(?:[ _'\u2019\u00a0\u2009\u202f]\d{3})+(?!\d)"
    r"|\d+)"
)
"""With a comma, a space, an apostrophe or a low line between thousands, or nothing."""
_NUMBER = re.compile(
    rf"(?:(?<![A-Za-z0-9_.])[-+\u2212\u2013])?(?:{_DIGITS}(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+)"
)
_WHOLE = re.compile(r"[-+\u2212]?(?:(?:[1-9]\d{0,2}(?:,\d{3})+|0|[1-9]\d*)(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+)")
"""A code such as 007 is none: its zeros count."""
_INTEGER = re.compile(r"[-+]?\d+")
_POWER = re.compile(
    r"(?:(?<=\d)[ \u00a0\u2009\u202f]?(?:[x\u00d7*\u00b7\u22c5]|\\times|\\cdot)[ \u00a0\u2009\u202f]?|(?<![\w.^]))"
    r"10(?:(?:\^|\*\*)\{?([-+\u2212]?\d{1,3})\}?|([\u207a\u207b]?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,3}))"
)
_RAISED = str.maketrans(
    "\u207a\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u2212", "+-0123456789-"
)
_BETWEEN = str.maketrans("\u2212\u2013", "--", ",_' \u2019\u00a0\u2009\u202f")
_IN_WORD = re.compile("[A-Za-z_]")
"""Before a figure; scripts that write no spaces are left alone."""
_BLANK = " \t\u00a0\u2009\u202f*`$"
"""What may stand between a number and its unit: a space, and what makes either bold."""
_GAP = rf"[{re.escape(_BLANK)}]{{0,6}}"
_ENDED = r"(?!\w|/[^\W\d]|\^|[\u00b7\u22c5]\w)"
"""After a unit: `km/h` and `m^2` are other ones than `km` and `m`."""
_OTHERWISE = {"%": "per ?cent"}
_SIGNED = re.compile(r"(?:^|[^A-Za-z0-9_.])[-\u2212\u2013]$")
_CURRENCY = "$\u20ac\u00a3\u00a5\u20b9"
_LONGEST = 50_000
"""Characters at the end of a text in which numbers are looked for: an answer may be as long as a model likes."""
_SLACK = 1e-12
"""Share of a value by which the arithmetic of floating point may be off, beyond any tolerance."""
_EXACT = 2**53
"""From here on, not every whole number is a floating-point one."""


def number(text: str) -> float | None:
    """Return the number that a text is, with or without commas between thousands; None for any other text."""
    text = text.strip()
    return _value(text) if _WHOLE.fullmatch(text) else None


def integer(value: Any) -> int | None:
    """Return a whole number, written out or not; None for all else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) < 1000 and _INTEGER.fullmatch(value.strip()):
        return int(value)
    return None


def numbers_in(text: str, unit: str = "") -> list[float]:
    """Return the numbers of a text in order; with a unit, those that stand with it.

    Digits within a word, as in CO2, are no number, unless the text has no other.
    """
    text = _POWER.sub(_as_exponent, text[-_LONGEST:])
    written = "|".join(filter(None, (re.escape(unit), _OTHERWISE.get(unit))))
    after = re.compile(rf"{_GAP}(?:{written}){_ENDED}")
    found, within = [], []
    for one in _NUMBER.finditer(text):
        value, before = _value(one[0]), text[max(one.start() - 40, 0) : one.start()]
        named = before.rstrip(_BLANK.replace("$", "")) if unit else before
        sign = before.rstrip()
        if unit:
            with_unit = named.endswith(unit)
            if not after.match(text, one.end()) and not with_unit:
                continue
            sign = named.removesuffix(unit) if with_unit else named
        elif _IN_WORD.match(text, max(one.start() - 1, 0)):
            within.append(value)
            continue
        if not unit and sign[-1:] and sign[-1] in _CURRENCY:
            sign = sign[:-1]
        elif not unit:
            sign = ""
        found.append(-value if value > 0 and sign != before and _SIGNED.search(sign) else value)
    return found or within


def near(made: float, expected: float, tolerance: float) -> bool:
    """Return whether two numbers are alike. Whole ones that differ are so only by the tolerance."""
    off = abs(made - expected)
    whole = abs(expected) < _EXACT and made == made // 1 and expected == expected // 1
    return made == expected or off <= tolerance + (0 if whole else _SLACK * abs(expected))


def _as_exponent(power: re.Match[str]) -> str:
    exponent = (power[1] or power[2]).translate(_RAISED)
    return f"e{exponent}" if power[0][0] != "1" else f"1e{exponent}"


def _value(figure: str) -> float:
    return float(figure.translate(_BETWEEN))
