"""The open format of Agent Skills: `SKILL.md` with its frontmatter, checked strictly. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from alita_tui.events import Value
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line

INSTRUCTIONS = "SKILL.md"
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
"""Most characters of a name and of a description."""
_LONGEST_COMPATIBILITY = 500
_LARGEST_FRONTMATTER = 16 << 10
_MOST_EVENTS = 400
"""Most YAML events (scalars, starts and ends of collections) in a frontmatter."""
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_CLOSED = re.compile(
    r"\A---[ \t]*\n(?P<front>.*?)^---[ \t]*(?:\n|\Z)(?P<body>.*)\Z", re.DOTALL | re.MULTILINE
)

_Parsed = str | list["_Parsed"] | dict[str, "_Parsed"]


class SkillText(Value, frozen=True):
    """The content of a `SKILL.md`."""

    name: str
    description: str
    body: str
    """The instructions, without the frontmatter."""
    license: str = ""
    compatibility: str = ""
    allowed_tools: tuple[str, ...] = ()
    """Tools that the skill wants to use without asking; alita ignores them."""
    metadata: dict[str, str] = {}


class SkillRefused(UsageError):
    """The files are no skill, or break a rule of the format; `reason` says which."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The skill is refused: {reason}.")
        self.reason = reason


def read_skill(text: str, folder: str) -> SkillText:
    """Return the content of a `SKILL.md` in a folder of this name.

    Raises SkillRefused with the first rule that it breaks.
    """
    match = _CLOSED.match(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    if match is None:
        raise SkillRefused(f"{INSTRUCTIONS} does not begin with a frontmatter between two lines of ---")
    front = _frontmatter(match["front"])
    if unknown := sorted(set(front) - set(_FIELDS)):
        raise SkillRefused(
            f"its frontmatter has {one_line(unknown[0], 40)!r}, which the format does not know; it knows "
            f"{', '.join(_FIELDS)}"
        )
    name = _text(front, "name", needed=True)
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise SkillRefused(
            f"its name {one_line(name, 80)!r} is not of at most {LONGEST_NAME} lower-case letters, digits and "
            "single hyphens"
        )
    if name != folder:
        raise SkillRefused(
            f"it is called {name} and its folder {one_line(folder, 80)!r}; they have to be the same"
        )
    description = _text(front, "description", needed=True)
    if len(description) > LONGEST_DESCRIPTION:
        raise SkillRefused(
            f"its description has {len(description):,} characters, of at most {LONGEST_DESCRIPTION:,}"
        )
    compatibility = _text(front, "compatibility")
    if len(compatibility) > _LONGEST_COMPATIBILITY:
        raise SkillRefused(
            f"its compatibility has {len(compatibility):,} characters, of at most {_LONGEST_COMPATIBILITY}"
        )
    return SkillText(
        name=name,
        description=description,
        body=match["body"].strip("\n"),
        license=_text(front, "license"),
        compatibility=compatibility,
        allowed_tools=_list(front.get("allowed-tools", "")),
        metadata=_metadata(front.get("metadata", {})),
    )


def _text(front: dict[str, _Parsed], field: str, *, needed: bool = False) -> str:
    value = front.get(field, "")
    if not isinstance(value, str):
        raise SkillRefused(f"its {field} is no text")
    if needed and not value.strip():
        raise SkillRefused(f"it has no {field}")
    return value.strip()


def _list(value: _Parsed) -> tuple[str, ...]:
    """Return a list of names, which may be written as one string."""
    if isinstance(value, str):
        return tuple(re.split(r"[,\s]+", value.strip())) if value.strip() else ()
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(map(str, value))
    raise SkillRefused("its allowed-tools is neither a text nor a list of texts")


def _metadata(value: _Parsed) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise SkillRefused("its metadata is no mapping of texts")
    return {key: str(item) for key, item in value.items()}


def _frontmatter(text: str) -> dict[str, _Parsed]:
    """Return a frontmatter, with all scalars as strings. Raises SkillRefused for anything but plain YAML.

    Tags are refused because they choose what a loader constructs, anchors because few bytes can expand to many.
    """
    import yaml

    if len(text.encode("utf-8", "replace")) > _LARGEST_FRONTMATTER:
        raise SkillRefused(f"its frontmatter is larger than {_LARGEST_FRONTMATTER >> 10} kB")
    try:
        events = _plain(yaml.parse(text, Loader=yaml.SafeLoader))
        parsed = _value(events, next(events, None))
        if next(events, None) is not None:
            raise SkillRefused("its frontmatter holds more than one document")
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise SkillRefused(f"its frontmatter is no YAML: {one_line(str(error), 200)}") from error
    if not isinstance(parsed, dict):
        raise SkillRefused("its frontmatter is no mapping")
    return parsed


def _plain(events: Iterator[object]) -> Iterator[object]:
    """Yield the events with content. Raises SkillRefused for tags, anchors, aliases and too many events."""
    import yaml

    for number, event in enumerate(events):
        if number > _MOST_EVENTS:
            raise SkillRefused("its frontmatter holds too much")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise SkillRefused("its frontmatter has anchors or aliases")
        if getattr(event, "tag", None):
            raise SkillRefused(
                f"its frontmatter has the tag {one_line(str(getattr(event, 'tag', '')), 60)!r}"
            )
        if isinstance(
            event,
            yaml.StreamStartEvent | yaml.StreamEndEvent | yaml.DocumentStartEvent | yaml.DocumentEndEvent,
        ):
            continue
        yield event


def _value(events: Iterator[object], event: object, depth: int = 0) -> _Parsed:
    import yaml

    if depth > 4:
        raise SkillRefused("its frontmatter is nested too deeply")
    if isinstance(event, yaml.ScalarEvent):
        return str(event.value)
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[_Parsed] = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(_value(events, event, depth + 1))
        return items
    mapping: dict[str, _Parsed] = {}
    if not isinstance(event, yaml.MappingStartEvent):
        return mapping
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        if not isinstance(event, yaml.ScalarEvent):
            raise SkillRefused("its frontmatter has a key that is no text")
        if event.value in mapping:
            raise SkillRefused(f"its frontmatter has {one_line(event.value, 40)!r} twice")
        mapping[event.value] = _value(events, next(events), depth + 1)
    return mapping
