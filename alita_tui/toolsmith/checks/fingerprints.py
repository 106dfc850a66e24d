"""A tool's answers to probes, by the probes' values: equal ones reveal a twin with other names and code. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from alita_tui.events import Json, ToolDraft
from alita_tui.toolsmith.checks.probes import equal, fits, kind_of, probes

_PROBES = 14
_LONGEST = 400
"""Longest answer that is stored as it is, in characters; of a longer one the digest is stored."""
_FEWEST = 3
"""Fewest answers to the same values that can show two tools to be twins."""
_ALIKE = 0.9


def required(draft: ToolDraft) -> list[str]:
    """Return the names of the parameters that have to be given."""
    schema = draft.input_schema
    if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
        return []
    needed = schema.get("required", [])
    return [name for name in schema["properties"] if isinstance(needed, list) and name in needed]


def shape(draft: ToolDraft) -> tuple[str, ...]:
    """Return the types of the required parameters in order."""
    names = required(draft)
    return tuple(kind_of(draft.input_schema["properties"][name]) for name in names)


def own_probes(draft: ToolDraft) -> list[str]:
    """Return values that fit a tool's required parameters, each set as a text."""
    names = required(draft)
    value_sets = [
        [arguments[name] for name in names]
        for arguments in probes(draft, _PROBES)
        if all(name in arguments for name in names)
    ]
    texts = (
        _as_text(values)
        for values in value_sets
        if fits(dict(zip(names, values, strict=True)), draft.input_schema)
    )
    return list(dict.fromkeys(text for text in texts if len(text) <= _LONGEST))


def arguments(draft: ToolDraft, probe: str) -> dict[str, Json] | None:
    """Return a probe's values under this tool's names; None if its schema does not accept them."""
    names, values = required(draft), msgspec.json.decode(probe)
    if not isinstance(values, list) or len(values) != len(names):
        return None
    named_values = dict(zip(names, values, strict=True))
    return named_values if fits(named_values, draft.input_schema) else None


def shared_probes(ours: ToolDraft, theirs: ToolDraft) -> list[tuple[Json, Json]]:
    """Return probes of either tool that both schemas accept, each with its values under either tool's names."""
    our_names, their_names = required(ours), required(theirs)
    pairs: list[tuple[Json, Json]] = []
    for sample in probes(theirs, _PROBES // 2) + probes(ours, _PROBES // 2):
        names = our_names if set(our_names) <= set(sample) else their_names
        if not set(names) <= set(sample):
            continue
        values = [sample[name] for name in names]
        pair = dict(zip(our_names, values, strict=True)), dict(zip(their_names, values, strict=True))
        if fits(pair[0], ours.input_schema) and fits(pair[1], theirs.input_schema) and pair not in pairs:
            pairs.append(pair)
    return pairs


def answered_by_both(
    ours: Iterable[Mapping[str, Any]], theirs: Iterable[Mapping[str, Any]]
) -> list[tuple[Json, Json]]:
    """Return the results of the probes that both tools answered, in pairs."""
    answers = zip(ours, theirs, strict=False)
    return [
        (our["result"], their["result"]) for our, their in answers if "result" in our and "result" in their
    ]


def fingerprint(probe_texts: Sequence[str], answers: Iterable[Mapping[str, Any]]) -> dict[str, Json]:
    """Return answers by probe in their stored form, without errors and unanswered probes."""
    return {
        probe: _storable(answer["result"])
        for probe, answer in zip(probe_texts, answers, strict=False)
        if "result" in answer
    }


def agreement(ours: Mapping[str, Json], theirs: Mapping[str, Json]) -> tuple[int, int]:
    """Return how many of the same probes two tools answer alike, and how many both answer."""
    common = [probe for probe in theirs if probe in ours]
    return sum(equal(ours[probe], theirs[probe]) for probe in common), len(common)


def suspicious(alike: int, compared: int) -> bool:
    """Return True if two tools may be twins."""
    return compared >= _FEWEST and alike >= _ALIKE * compared


def _as_text(values: list[Json]) -> str:
    return msgspec.json.encode(values).decode("utf-8", "replace")


def _storable(result: Json) -> Json:
    encoded = msgspec.json.encode(result)
    return result if len(encoded) <= _LONGEST else {"digest": blake2b(encoded, digest_size=16).hexdigest()}
