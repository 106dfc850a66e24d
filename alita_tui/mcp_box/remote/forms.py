"""Forms that a server asks the person to fill in: fields of simple types, each one line. Pure."""

from __future__ import annotations

import math
from typing import Any, Literal

from alita_tui.events import Value
from alita_tui.spine.text import one_line

_MOST_FIELDS = 10
_MOST_CHOICES = 50
_LONGEST = 10_000
Kind = Literal["text", "number", "whole number", "yes or no", "some of a list"]
_KINDS: dict[str, Kind] = {
    "string": "text",
    "number": "number",
    "integer": "whole number",
    "boolean": "yes or no",
    "array": "some of a list",
}
_YES, _NO = ("yes", "y", "true"), ("no", "n", "false")


class FormError(ValueError):
    """A form cannot be shown, or an answer does not fit its field; the message is the reason."""


class Field(Value, frozen=True):
    """One field of a form."""

    name: str
    kind: Kind
    label: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    """The text shown for each choice."""
    values: tuple[str, ...] = ()
    """The value sent for each choice."""
    least: float | None = None
    most: float | None = None
    """Bounds of a number, of the length of a text, or of the number of choices."""

    @property
    def described(self) -> str:
        """The field in words, for the person."""
        label = f"{self.name} ({self.label})" if self.label and self.label != self.name else self.name
        expected = f"one of {', '.join(self.choices)}" if self.choices and self.kind == "text" else self.kind
        if self.kind == "some of a list":
            expected = f"some of {', '.join(self.choices)}, with commas between"
        return f"{one_line(label, 200)}: {one_line(expected, 400)}"


def fields_of(schema: Any) -> tuple[Field, ...]:
    """Return the fields of a form's schema. Raises FormError."""
    properties = schema.get("properties", {}) if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or schema.get("type") != "object":
        raise FormError("it is no object with properties")
    if len(properties) > _MOST_FIELDS:
        raise FormError(f"it has {len(properties)} fields, of at most {_MOST_FIELDS}")
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return tuple(_field(str(name), details, name in needed) for name, details in properties.items())


def _field(name: str, schema: Any, required: bool) -> Field:
    kind = _KINDS.get(str(schema.get("type"))) if isinstance(schema, dict) else None
    if kind is None or not isinstance(schema, dict):
        raise FormError(f"the field {one_line(name, 60)} is of no simple type")
    choices, values = _choices(schema.get("items") if kind == "some of a list" else schema)
    if kind == "some of a list" and not values:
        raise FormError(f"the field {one_line(name, 60)} names no choices")
    low, high = {
        "text": ("minLength", "maxLength"),
        "some of a list": ("minItems", "maxItems"),
    }.get(kind, ("minimum", "maximum"))
    label = schema.get("description") or schema.get("title") or ""
    return Field(
        name=name, kind=kind, label=one_line(str(label), 200), required=required, choices=choices, values=values,
        least=_number(schema.get(low)), most=_number(schema.get(high)),
    )  # fmt: skip


def _choices(schema: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the titles and the values of the choices."""
    if not isinstance(schema, dict):
        return (), ()
    options = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(options, list):
        pairs = [
            (str(option.get("title") or option["const"]), str(option["const"]))
            for option in options
            if isinstance(option, dict) and "const" in option
        ]
    else:
        enum = schema.get("enum")
        values = [str(value) for value in enum] if isinstance(enum, list) else []
        names = schema.get("enumNames")
        titles = (
            [str(name) for name in names] if isinstance(names, list) and len(names) == len(values) else values
        )
        pairs = list(zip(titles, values, strict=True))
    if len(pairs) > _MOST_CHOICES:
        raise FormError(f"it offers {len(pairs)} choices, of at most {_MOST_CHOICES}")
    return tuple(one_line(titles, 100) for titles, _ in pairs), tuple(value for _, value in pairs)


def value_of(field: Field, answer: str) -> str | int | float | bool | list[str]:
    """Return the field's value for an answer. Raises FormError."""
    text = answer.strip()
    if field.kind == "yes or no":
        if text.lower() not in (*_YES, *_NO):
            raise FormError("Answer yes or no")
        return text.lower() in _YES
    if field.kind in ("number", "whole number"):
        return _figure(field, text)
    if field.kind == "some of a list":
        choices = [_choice_value(field, word.strip()) for word in text.split(",") if word.strip()]
        _check_bounds(field, len(choices), "choices")
        return choices
    if field.values:
        return _choice_value(field, text)
    _check_bounds(field, len(text), "characters")
    if len(text) > _LONGEST:
        raise FormError(f"That is longer than {_LONGEST:,} characters")
    return text


def _figure(field: Field, text: str) -> int | float:
    try:
        value = int(text) if field.kind == "whole number" else float(text)
    except ValueError:
        raise FormError(f"{one_line(text, 40)} is no {field.kind}") from None
    if not math.isfinite(value):
        raise FormError(f"{one_line(text, 40)} is no {field.kind}")
    _check_bounds(field, value, "")
    return value


def _choice_value(field: Field, text: str) -> str:
    for title, value in zip(field.choices, field.values, strict=True):
        if text in (title, value):
            return value
    raise FormError(f"{one_line(text, 40)} is none of {one_line(', '.join(field.choices), 300)}")


def _check_bounds(field: Field, value: float, unit: str) -> None:
    if field.least is not None and value < field.least:
        raise FormError(f"At least {field.least:g} {unit} are asked for".replace("  ", " "))
    if field.most is not None and value > field.most:
        raise FormError(f"At most {field.most:g} {unit} are asked for".replace("  ", " "))


def _number(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and abs(value) < 1e300 else None
