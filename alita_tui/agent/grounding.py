"""Finds figures, dates and quotations of an answer that no tool, page, file or person provided. Pure.

A figure is grounded if the evidence has it, rounded as in the answer, or converted to the unit that the answer names.
A figure that the model computed itself is not grounded: a tool has to compute it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import NamedTuple

_SMALL = 12
"""Whole numbers up to this are taken as counts within a sentence and not checked."""
_MOST = 20
_FEWEST_WORDS = 4
"""Fewest words in quotation marks that count as a quotation."""
_NUMBER = re.compile(
    r"(?<![\w.,:/-])(?P<sign>[-−+]?)(?P<whole>\d{1,3}(?:[,  '’ ]\d{3})+|\d+)"
    r"(?P<rest>[.,]\d+)?(?P<power>[eE][-+]?\d{1,3})?(?![\d])(?P<unit>\s?[%‰]|\s?[A-Za-zµ€$£]+\b)?"
)
_JSON_NUMBER = re.compile(r"(?<![\w.])\d{1,300}(?:\.\d+)?(?:[eE][-+]?\d{1,3})?")
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_MONTHS = "january february march april may june july august september october november december".split()
_NAMES = "|".join(f"{month}|{month[:3]}" for month in _MONTHS)
_DAY_FIRST = re.compile(
    rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_NAMES})\.?,?\s+(\d{{4}})", re.IGNORECASE
)
_MONTH_FIRST = re.compile(rf"\b({_NAMES})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“„»]([^\"“”„«»]{8,400})[\"”“«]")
_NO_FIGURES = re.compile(
    r"https?://\S+|\bart_[0-9a-f]+\b|\b[\w-]+\.(?=[A-Za-z])\w{1,8}\b|(?m:^\s*\d{1,3}[.)]\s)|\bv?\d+(?:\.\d+){2,}\b|\be\d+\b"
)
"""Addresses, handles, file names, numbers of a list, versions."""
_SCALES: dict[str, tuple[float, ...]] = {
    "%": (100,), "percent": (100,), "‰": (1000,), "k": (1e-3,), "thousand": (1e-3,), "m": (1e-6, 1e-3, 100),
    "million": (1e-6,), "mn": (1e-6,), "bn": (1e-9,), "billion": (1e-9,), "b": (1e-9,),
    "kb": (1e-3, 2**-10), "kib": (2**-10,), "mb": (1e-6, 2**-20), "mib": (2**-20,), "gb": (1e-9, 2**-30),
    "gib": (2**-30,), "tb": (1e-12, 2**-40), "ms": (1e3, 1e-3, 1e-6), "s": (1e-3, 1e-6, 1e-9), "sec": (1e-3,),
    "seconds": (1e-3, 1e-6), "µs": (1e6, 1e3), "min": (1 / 60, 1 / 60_000), "minutes": (1 / 60, 1 / 60_000),
    "h": (1 / 3600, 1 / 60), "hours": (1 / 3600, 1 / 60), "days": (1 / 86_400, 1 / 24), "km": (1e-3,),
    "cm": (100, 0.1), "mm": (1e3,), "kg": (1e-3,), "g": (1e3,), "cents": (100,),
}  # fmt: skip
"""Factor that converts a figure of the evidence into this unit; keys in lower case."""


class _Figure(NamedTuple):
    text: str
    values: tuple[float, ...]
    """More than one if a comma may be a decimal or a thousands mark."""
    slack: tuple[float, ...]
    """Half a unit of each value's last written digit."""
    unit: str


class _Claim(NamedTuple):
    """Something in an answer that evidence has to hold."""

    start: int
    text: str
    is_in: Callable[[_Evidence], bool]


class _Evidence:
    """A text of the evidence; what is compared with it is worked out when it is first needed."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def values(self) -> list[float]:
        """Return its numbers, in order."""
        return sorted(_values(self._text))

    @cached_property
    def dates(self) -> set[str]:
        """Return its dates as ISO 8601."""
        return {iso for iso, _ in _dates(self._text)}

    @cached_property
    def plain(self) -> str:
        """Return it in lower case with single spaces."""
        return _plain(self._text)


def ungrounded(answer: str, evidence: Iterable[str]) -> tuple[str, ...]:
    """Return the figures, dates and quotations of an answer that no text of the evidence holds, as they are written.

    No further text is read once each of them is found, so a long session costs nothing where the newest texts hold
    them.
    """
    missing = _claims(answer)
    texts = iter(evidence)
    while missing and (text := next(texts, None)) is not None:
        evidence_text = _Evidence(text)
        missing = [claim for claim in missing if not claim.is_in(evidence_text)]
    return tuple(dict.fromkeys(claim.text for claim in sorted(missing, key=lambda claim: claim.start)))[
        :_MOST
    ]


def _claims(answer: str) -> list[_Claim]:
    """Return the quotations, dates and figures of an answer."""
    claims: list[_Claim] = []
    unchecked = answer
    for match in _QUOTED.finditer(answer):
        if len(match[1].split()) >= _FEWEST_WORDS:
            unchecked = _blanked(unchecked, match.start(), match.end())
            claims.append(
                _Claim(match.start(), match[0], partial(_quoted, _plain(match[1]).strip(" .,;:!?…")))
            )
    for iso, date in _dates(answer):
        unchecked = _blanked(unchecked, date.start(), date.end())
        claims.append(_Claim(date.start(), date[0], partial(_dated, iso)))
    for unrelated in _NO_FIGURES.finditer(unchecked):
        unchecked = _blanked(unchecked, unrelated.start(), unrelated.end())
    for match in _NUMBER.finditer(unchecked):
        figure = _figure(match)
        if not _is_small_count(figure):
            claims.append(_Claim(match.start(), figure.text, partial(_in_evidence, figure)))
    return claims


def _quoted(quotation: str, evidence: _Evidence) -> bool:
    return quotation in evidence.plain


def _dated(iso: str, evidence: _Evidence) -> bool:
    return iso in evidence.dates


def _values(text: str) -> set[float]:
    """Return every number of a text, also as JSON and as people write it."""
    plain = {float(match[0]) for match in _JSON_NUMBER.finditer(text)}
    as_written = {value for match in _NUMBER.finditer(text) for value in _figure(match).values}
    return plain | {-value for value in plain} | as_written


def _figure(match: re.Match[str]) -> _Figure:
    digits = re.sub(r"\D", "", match["whole"])
    fraction, power = match["rest"] or "", match["power"] or ""
    sign = "-" if match["sign"] in ("-", "−") else ""
    readings = [f"{digits}.{fraction[1:]}" if fraction else digits]
    if len(fraction) == 4 and match["whole"] == digits and digits.strip("0") and len(digits) < 4:
        readings.append(digits + fraction[1:])  # a thousand, or three decimals
    groups = re.split(r"\D", match["whole"])
    if len(groups) == 2 and not fraction:
        readings.append(f"{groups[0]}.{groups[1]}")
    shift = max(-300, min(int(power[1:]), 300)) if power else 0  # within the range of a float
    values = tuple(float(f"{sign}{reading}{power}") for reading in readings)
    slack = tuple(0.5 * 10.0 ** (shift - len(reading.partition(".")[2])) for reading in readings)
    unit = (match["unit"] or "").strip().casefold()
    text = match[0] if unit in _SCALES else match[0].removesuffix(match["unit"] or "")
    return _Figure(text.strip(), values, slack, unit)


def _is_small_count(figure: _Figure) -> bool:
    """Return whether a figure is a small whole number, as in "two of 3 files"."""
    value = figure.values[0]
    return (
        abs(value) <= _SMALL and value.is_integer() and figure.unit not in _SCALES and "." not in figure.text
    )


def _in_evidence(figure: _Figure, evidence: _Evidence) -> bool:
    evidence_values = evidence.values
    for value, slack in zip(figure.values, figure.slack, strict=True):
        for scale in (1.0, *_SCALES.get(figure.unit, ())):
            middle, reach = value / scale, slack / scale * 1.000001 + abs(value / scale) * 1e-12
            at = bisect_left(evidence_values, middle - reach)
            if at < len(evidence_values) and evidence_values[at] <= middle + reach:
                return True
    return False


def _dates(text: str) -> Iterable[tuple[str, re.Match[str]]]:
    """Yield each date as ISO 8601 with its place."""
    for match in _ISO.finditer(text):
        yield match[0], match
    for match in _DAY_FIRST.finditer(text):
        yield _iso(match[3], match[2], match[1]), match
    for match in _MONTH_FIRST.finditer(text):
        yield _iso(match[3], match[1], match[2]), match


def _iso(year: str, month: str, day: str) -> str:
    number = next(n for n, name in enumerate(_MONTHS, 1) if name.startswith(month.casefold()[:3]))
    return f"{year}-{number:02}-{int(day):02}"


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _blanked(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]
