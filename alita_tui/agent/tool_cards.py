"""How the model reads a tool: signature, schemas, grants, trust and an example."""

from __future__ import annotations

from itertools import islice

import msgspec

from alita_tui import events as e
from alita_tui.events import Json, SearchHit, ToolDraft, as_json, ready
from alita_tui.spine.examples import Example, example_in_tests, signature
from alita_tui.spine.fence import fenced
from alita_tui.spine.history import History, of_kind
from alita_tui.spine.text import clip, counted

_LOOKED_AT = 100
"""Newest calls of the session that are searched for an example."""
_LONGEST = 600
"""Characters of an example's arguments, and of its result."""


def with_runs(hits: tuple[SearchHit, ...], history: History) -> tuple[SearchHit, ...]:
    """Return the hits; the example of each is its newest successful call in this session, if any."""
    digests = {hit.card.digest for hit in hits}
    newest = islice(of_kind(history.newest(e.ToolReturned), e.ToolReturned), _LOOKED_AT)
    returned = {ended.call_id: ended.report.result for ended in newest}
    examples: dict[str, Json] = {}
    for called in islice(of_kind(history.newest(e.ToolCalled), e.ToolCalled), _LOOKED_AT):
        if called.digest in digests and called.digest not in examples and called.call_id in returned:
            example = Example(arguments=called.arguments, result=returned[called.call_id], tested=False)
            examples[called.digest] = msgspec.to_builtins(example)
    return tuple(
        msgspec.structs.replace(hit, example=examples[hit.card.digest])
        if hit.card.digest in examples
        else hit
        for hit in hits
    )


def hit_text(hit: SearchHit) -> str:
    """Return a tool that a search found."""
    card = hit.card
    record = f"{counted(card.runs, 'run')}, {card.failures} failed" if card.runs else "never run"
    worked = f", last worked {hit.worked_at[:10]}" if hit.worked_at else ""
    doubt = (f"  not relied on: {hit.doubt}; repair it if it fails again",) if hit.doubt else ()
    lines = [
        f"- {signature(card.name, hit.input_schema, hit.output_schema)}",
        f"  v{card.version}, {card.state}, {record}{worked}; score {hit.score:.2f}: {card.description}",
        *doubt,
        f"  may use: {', '.join(hit.grants) or 'nothing outside its arguments'}",
        *(f"  {line}" for line in _schemas(hit.input_schema, hit.output_schema)),
    ]
    try:
        example = msgspec.convert(hit.example, ready(Example)) if hit.example is not None else None
    except msgspec.ValidationError:
        example = None
    return "\n".join([*lines, *((f"  {_example(card.name, example)}",) if example else ())])


def registered_text(draft: ToolDraft) -> str:
    """Return how a tool that was just approved is called."""
    lines = [
        f"It is called as {signature(draft.name, draft.input_schema, draft.output_schema)}",
        *_schemas(draft.input_schema, draft.output_schema),
    ]
    example = example_in_tests(draft)
    return "\n".join([*lines, *((_example(draft.name, example),) if example else ())])


def _schemas(takes: Json, gives: Json) -> tuple[str, ...]:
    return (f"input schema: {as_json(takes)}", f"output schema: {as_json(gives)}")


def _example(name: str, example: Example) -> str:
    call = f'run_tool {{"name": "{name}", "arguments": {clip(as_json(example.arguments), _LONGEST)[0]}}}'
    result = clip(as_json(example.result), _LONGEST)[0]
    if example.tested:
        return f"example from its tests: {call} gives {result}"
    return f"example, as it was run: {call} gave\n{fenced(name, result)}"
