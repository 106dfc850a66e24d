"""What the toolsmith's model reads and submits: the order, the repair request, the form."""

from __future__ import annotations

import re

from alita_tui.events import ToolDraft, ToolRequest
from alita_tui.spine.ports.builds import BuildOrder
from alita_tui.spine.ports.models import Message
from alita_tui.toolsmith.contract import ContractError, header_requirements

SUBMIT_TOOL = "submit_tool"


def brief(order: BuildOrder, parent: ToolDraft | None, neighbours: str) -> str:
    """Return the order as the model reads it."""
    parts = [f"Tool name: {order.name}", f"Goal: {order.goal}"]
    if order.details:
        parts.append(f"Details: {order.details}")
    if neighbours:
        parts.append(f"Nearest tools in the library (do not repeat them):\n{neighbours}")
    if parent is not None:
        parts.append(f"It replaces this version:\n```python\n{parent.code}\n```")
    if order.past_rejections:
        listed = "\n".join(f"- {reason}" for reason in order.past_rejections)
        parts.append(f"The person rejected earlier builds of it or like it; do not repeat that:\n{listed}")
    for source in order.sources[:3]:
        parts.append(f'<untrusted source="{source.url}">\n{source.title}\n{source.excerpt}\n</untrusted>')
    return "\n\n".join(parts)


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


def repair(requests: tuple[ToolRequest, ...], problem: str) -> list[Message]:
    """Return the messages that send a draft back with its problem."""
    text = f"{problem}\n\nRepair the tool and hand in the whole of it again."
    if not requests:
        return [Message(role="user", text=text)]
    return [Message(role="tool", text=text, call_id=request.call_id, is_error=True) for request in requests]


def signature(problem: str) -> str:
    """Return an error without the parts that change between runs: numbers, addresses, quoted values."""
    return re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?", "#", problem)[:400]
