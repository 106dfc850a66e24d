"""What the toolsmith's model reads and submits: the order, passages of pages, the repair request, the form."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

import msgspec

from alita_tui.events import Source, ToolDraft, ToolRequest, as_json
from alita_tui.runtimes.port import ContractError
from alita_tui.runtimes.python.form import header_requirements
from alita_tui.spine.fence import defused, fenced
from alita_tui.spine.grants import named_tools, phrases
from alita_tui.spine.ports.builds import BuildOrder, FailedCall
from alita_tui.spine.ports.models import Message
from alita_tui.spine.ranking import Ranker
from alita_tui.spine.text import one_line

SUBMIT_TOOL = "submit_tool"
_LONGEST_EXAMPLE = 2000
_LONGEST_CALL = 4000
_LONGEST_DIFF = 6000
_MOST_CALLS = 6


def brief(order: BuildOrder, parent: ToolDraft | None, neighbours: str, tools: str = "") -> str:
    """Return the order as the model reads it. `tools` describes how to call the tools that it may use."""
    parts = [f"Tool name: {order.name}", f"Goal: {order.goal}"]
    if order.details:
        parts.append(f"Details: {order.details}")
    if order.examples:
        listed = "\n".join(
            f"- {defused(cut(written(example), _LONGEST_EXAMPLE))}" for example in order.examples
        )
        parts.append(f"Examples, which the tool has to meet:\n{listed}")
    if not order.needs.none:
        parts.append(
            f"It may ask for: {'; '.join(phrases(order.needs))}. Capabilities: {written(order.needs)}"
        )
    if tools:
        parts.append(f"Tools that it may call:\n{tools}")
    if neighbours:
        parts.append(f"Nearest tools in the library (do not repeat them):\n{neighbours}")
    if parent is not None:
        parts += replaced(parent, order.failure, order.failures)
    for merged in order.merges:
        parts.append(
            f"It also takes over the work of {merged.name}, which it makes superfluous:\n"
            f"```{merged.language}\n{merged.code}\n```\n"
            f"Input schema: {written(merged.input_schema)}\nOutput schema: {written(merged.output_schema)}\n"
            f"Its tests, of which yours have to cover each case:\n```python\n{merged.tests}\n```"
        )
    if order.past_rejections:
        listed = "\n".join(f"- {reason}" for reason in order.past_rejections)
        parts.append(f"The person rejected earlier builds of it or like it; do not repeat that:\n{listed}")
    parts += fenced_passages(order.sources, f"{order.name.replace('_', ' ')} {order.goal} {order.details}")
    return "\n\n".join(parts)


def from_earlier_sessions(order: BuildOrder) -> tuple[str, ...]:
    """Return what a proposal quotes from earlier sessions, for the record and for the check of names' origins."""
    calls = (
        f"run({cut(written(failure.arguments), 600)}): {cut(failure.error, 600)}"
        for failure in order.failures[:_MOST_CALLS]
    )
    if order.action_id:
        return ()  # the agent's order is recorded with its action
    details = (order.details,) if order.details else ()
    return (*details, *calls, *(f"{merge.name}: {merge.description}\n{merge.code}" for merge in order.merges))


def replaced(
    parent: ToolDraft, failure: FailedCall | None, failures: tuple[FailedCall, ...] = ()
) -> list[str]:
    """Return the part of the order about the version that the new one replaces."""
    parts = [
        f"It replaces this version; change what the goal asks for, and no more:\n"
        f"```{parent.language}\n{parent.code}\n```",
        f"Input schema: {written(parent.input_schema)}\nOutput schema: {written(parent.output_schema)}",
        "Its tests, which the new version has to pass as well. Keep them in yours; one whose expectation the goal "
        f"itself changes keeps its name:\n```python\n{parent.tests}\n```",
    ]
    if not parent.capabilities.none:
        capabilities = msgspec.structs.replace(parent.capabilities, tools=named_tools(parent.capabilities))
        parts.append(f"Its capabilities: {written(capabilities)}")
    calls = (*((failure,) if failure else ()), *failures)
    for failed in calls[:_MOST_CALLS]:
        most = _LONGEST_CALL // max(1, len(calls[:_MOST_CALLS]))
        called = f"run({cut(written(failed.arguments), most)})\n{cut(failed.error, most)}"
        demand = (
            f"v{failed.version} failed when it was called so; mend that, and add a test of a call like it."
        )
        parts.append(f"{demand}\n{fenced('the failed call', called)}")
    return parts


def written(value: object) -> str:
    """Return a value as JSON."""
    return as_json(value)


def cut(text: str, most: int) -> str:
    """Return a text without its middle if it is too long: the end of a traceback is the most useful part."""
    return text if len(text) <= most else f"{text[: most // 3]}\n[…]\n{text[-2 * most // 3 :]}"


def edited_requirements(code: str, before: tuple[str, ...]) -> tuple[str, ...]:
    """Return the requirements in an edited header; the earlier ones if it has none that can be read."""
    try:
        listed = header_requirements(code)
    except ContractError:
        return before
    return before if listed is None else tuple(sorted(listed))


def submitted(requests: tuple[ToolRequest, ...]) -> object:
    """Return the arguments of the model's `submit_tool` call. Raises ContractError."""
    for request in requests:
        if request.name == SUBMIT_TOOL:
            if request.problem:
                raise ContractError(
                    (f"the arguments of {SUBMIT_TOOL} are not valid JSON: {request.problem}",)
                )
            return request.arguments
    raise ContractError((f"the reply does not call {SUBMIT_TOOL}",))


def language_reason(form: object) -> str:
    """Return the model's reason for a submitted tool's language; empty if it gave none."""
    reason = form.get("language_reason") if isinstance(form, dict) else ""
    return one_line(reason, 300) if isinstance(reason, str) else ""


def repair(
    requests: tuple[ToolRequest, ...],
    problem: str,
    before: ToolDraft | None = None,
    draft: ToolDraft | None = None,
) -> list[Message]:
    """Return the messages that send a draft back with its problem, and with what changed since the one `before` it."""
    text = problem
    if before is not None and draft is not None and (changed := difference(before, draft)):
        text += f"\n\nWhat you changed last:\n```diff\n{cut(changed, _LONGEST_DIFF)}\n```"
    text += "\n\nRepair the tool and hand in the whole of it again."
    if not requests:
        return [Message(role="user", text=text)]
    return [Message(role="tool", text=text, call_id=request.call_id, is_error=True) for request in requests]


def difference(before: ToolDraft, after: ToolDraft) -> str:
    """Return the difference between two drafts' code and tests."""
    parts: list[str] = []
    for name, old, new in (("code", before.code, after.code), ("tests", before.tests, after.tests)):
        parts += difflib.unified_diff(old.splitlines(), new.splitlines(), name, name, lineterm="", n=1)
    return "\n".join(parts)


def signature(problem: str) -> str:
    """Return an error without the parts that change between runs: numbers, addresses, quoted values."""
    return re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?", "#", problem)[:400]


PASSAGE_TOKENS = 4000
"""Most tokens of the toolsmith's prompt that the passages of all sources may take."""
_CHARACTERS_EACH = 3
"""Characters of one token; code has fewer than prose."""
_PASSAGE = 700
_MOST_PASSAGES = 2000
"""Passages that are ranked."""
_GAP = "[…]"


def fenced_passages(sources: Sequence[Source], goal: str, *, tokens: int = PASSAGE_TOKENS) -> list[str]:
    """Return each source's passages that bear on the goal, fenced with its address; best source first."""
    ranker = Ranker()
    cut: dict[str, tuple[int, int, str]] = {}
    for number, source in enumerate(sources):
        for place, text in enumerate(_split(source.excerpt)):
            if len(cut) < _MOST_PASSAGES:
                key = f"{number}:{place:05}"
                cut[key] = (number, place, text)
                ranker.put(key, ((text, 1.0), (source.title, 0.3)))
    ranked = [match.key for match in ranker.rank(goal, limit=_MOST_PASSAGES)]
    ranked += [key for key in cut if key not in set(ranked)]
    room = tokens * _CHARACTERS_EACH
    chosen: dict[int, dict[int, str]] = {}
    for key in ranked:
        number, place, text = cut[key]
        if len(text) <= room:
            room -= len(text)
            chosen.setdefault(number, {})[place] = text
    return [
        fenced(sources[n].url, f"{sources[n].title}\n{_joined(parts)}".strip()) for n, parts in chosen.items()
    ]


def _joined(parts: dict[int, str]) -> str:
    lines: list[str] = []
    following = 0
    for place in sorted(parts):
        lines += [_GAP] if place > following else []
        lines.append(parts[place])
        following = place + 1
    return "\n".join(lines)


def _split(text: str) -> list[str]:
    """Split a text into passages of whole lines, unless a line is too long."""
    passages: list[str] = []
    current = ""
    for block in re.split(r"\n\s*\n", text):
        for line in block.strip("\n").split("\n"):
            for piece in [line[at : at + _PASSAGE] for at in range(0, len(line), _PASSAGE)]:
                if len(current) + len(piece) > _PASSAGE:
                    passages.append(current)
                    current = ""
                current += piece + "\n"
        if len(current) > _PASSAGE // 2:
            passages.append(current)
            current = ""
    return [passage.strip("\n") for passage in (*passages, current) if passage.strip()]
