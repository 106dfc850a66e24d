"""Checks an evaluation's answers by regular expression, JSON Schema or picture, in a filter: each may never end."""

from __future__ import annotations

import base64
import re
import sys
from io import BytesIO
from typing import Any, Literal

import msgspec

from alita_tui.confined.limits import confine
from alita_tui.confined.run import Started

_MOST_PIXELS = 64_000_000
_PICTURES = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
_TOO_MUCH = "It takes too much time or memory to be checked."


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is checked. `rule` is the expression, schema or expected picture; `made` is the answer or its picture."""

    kind: Literal["regex", "schema", "image"]
    rule: Any
    made: str
    tolerance: float = 0.0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check."""

    solved: bool
    why: str = ""
    """Why it is not solved; empty if it is."""
    fault: bool = False
    """True if the rule itself is invalid."""


def start(*kinds: str) -> Started:
    """Start a process for a question of one of these kinds, as starting takes longer than answering most of them."""
    return Started("alita_tui.confined.answers", kinds)


async def ask(question: Question, started: Started | None = None) -> Outcome:
    """Return whether an answer meets a rule; the check is limited in processor time.

    `started` is the process to use if it still waits for its input.
    """
    process = started if started is not None and started.waits else start()
    output, _ = await process.filtered(msgspec.json.encode(question))
    try:
        return msgspec.json.decode(output, type=Outcome)
    except msgspec.DecodeError:
        return Outcome(solved=False, why=_TOO_MUCH)


def as_text(picture: bytes) -> str:
    """Return a picture's bytes in the form in which a question holds them."""
    return base64.b64encode(picture).decode()


def main() -> None:
    """Filter for `ask`: arguments are CPU seconds, bytes of memory, and the kinds of questions to prepare for."""
    seconds, memory = map(int, sys.argv[1:3])
    if "schema" in sys.argv[3:]:
        _import_schema()
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=Question)
    if question.kind == "schema":
        _import_schema()
    confine(seconds, memory)
    sys.stdout.buffer.write(msgspec.json.encode(_answer(question)))


def _import_schema() -> None:
    import jsonschema  # noqa: F401  # its files cannot be read once the process is confined


def _answer(question: Question) -> Outcome:
    if question.kind == "regex":
        matches = re.search(question.rule, question.made) is not None
        return Outcome(solved=matches, why="" if matches else "the expression is not found in the answer")
    if question.kind == "schema":
        return _schema(question.rule, question.made)
    return _image(question)


def _schema(schema: Any, answer: str) -> Outcome:
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    validator = validator_for(schema)
    try:
        validator.check_schema(schema)
    except SchemaError as error:
        return Outcome(solved=False, why=f"the schema itself is wrong: {error.message[:200]}", fault=True)
    value = json_in(answer)
    if value is msgspec.UNSET:
        return Outcome(solved=False, why="there is no JSON in the answer")
    first_error = next(validator(schema).iter_errors(value), None)
    return Outcome(solved=first_error is None, why=first_error.message[:300] if first_error else "")


def json_in(answer: str) -> Any:
    """Return the JSON value of an answer, of its last fenced block, or of its text between the outermost brackets.

    Returns UNSET if none of them is JSON.
    """
    blocks = re.findall(r"```(?:json)?\s*\n(.*?)```", answer, re.DOTALL)
    starts = [at for sign in "{[" if (at := answer.find(sign)) >= 0]
    ends = max(answer.rfind("}"), answer.rfind("]")) + 1
    tail = [answer[min(starts) : ends]] if starts else []
    for text in (answer, *blocks[-1:], *tail):
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:
            continue
    return msgspec.UNSET


def _image(question: Question) -> Outcome:
    import numpy as np
    from PIL import Image, UnidentifiedImageError

    pictures = []
    for text, label in ((question.rule, "the expected picture"), (question.made, "the picture")):
        fault = text is question.rule
        try:
            image = Image.open(BytesIO(base64.b64decode(text)), formats=_PICTURES)
            if image.size[0] * image.size[1] > _MOST_PIXELS:
                return Outcome(solved=False, why=f"{label} has too many pixels to be compared", fault=fault)
            pictures.append(image.convert("RGBA"))
        except (UnidentifiedImageError, OSError, ValueError, SyntaxError):
            return Outcome(solved=False, why=f"{label} cannot be read as a picture", fault=fault)
    expected, answer = pictures
    if answer.size != expected.size:
        sizes = ["×".join(map(str, image.size)) for image in (answer, expected)]
        return Outcome(solved=False, why=f"{sizes[0]} pixels instead of {sizes[1]}")
    left, right = np.asarray(answer, np.int16), np.asarray(expected, np.int16)
    difference = float(np.abs(left - right).mean())
    within = difference <= question.tolerance
    return Outcome(
        solved=within, why="" if within else f"the pictures differ by {difference:.2f} of 255 on average"
    )
