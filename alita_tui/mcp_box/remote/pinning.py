"""Turns the descriptors that a server lists into drafts that a person can approve; refuses unusable ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from alita_tui.events import Capabilities, ToolDraft, Value
from alita_tui.spine.levels import levels
from alita_tui.spine.reserved_names import reserved
from alita_tui.spine.servers import Pinned, ServerSpec, parts_of
from alita_tui.spine.text import one_line, reveal

MOST_TOOLS = 2_000
_NAME = re.compile(r"[A-Za-z0-9_.\-/]{1,128}")
"""The names that the protocol allows (SEP-986)."""
_LARGEST = 64 << 10
"""Largest descriptor, in bytes."""
_DEEPEST = 64
_LONGEST_NAME = 64
_LONGEST_SHOWN = 80
"""Most characters shown of the name of a refused tool."""


class RefusedTool(Value, frozen=True):
    """A tool that cannot be used, so that nobody is asked to approve it."""

    name: str
    reason: str


class Listing(Value, frozen=True):
    """The tools that a server lists."""

    calls_itself: dict[str, str]
    drafts: tuple[ToolDraft, ...] = ()
    """The tools that can be approved, by name."""
    refused: tuple[RefusedTool, ...] = ()

    @property
    def names(self) -> dict[str, str]:
        """The server's tool names by library name."""
        return {
            str(draft.name): str(msgspec.json.decode(draft.code)["tool"]["name"]) for draft in self.drafts
        }


def listing(
    spec: ServerSpec,
    calls_itself: Mapping[str, str],
    tools: Sequence[Any],
    holds_secret: Callable[[str], bool] = lambda _: False,
) -> Listing:
    """Return the drafts of a server's list; an unusable tool is refused without affecting the others.

    `holds_secret` returns True for a text with a secret value, as descriptors are stored, shown and sent to models.
    """
    refused: list[RefusedTool] = []
    drafts: list[ToolDraft] = []
    if len(tools) > MOST_TOOLS:
        refused.append(
            RefusedTool(name="", reason=f"it lists {len(tools):,} tools; {MOST_TOOLS:,} are looked at")
        )
        tools = tools[:MOST_TOOLS]
    names = [tool.get("name") for tool in tools if isinstance(tool, dict)]
    counts = Counter(name for name in names if isinstance(name, str))
    library_counts = Counter(library_name(spec.name, name) for name in counts)
    claimed = {
        key: one_line("" if holds_secret(str(value)) else str(value), 120)
        for key, value in calls_itself.items()
    }
    for tool in tools:
        name = tool.get("name") if isinstance(tool, dict) else None
        visible_name = "" if holds_secret(str(name)) else _shown(str(name))
        if (reason := _unusable(tool)) or (reason := _ambiguous(name, counts, library_counts, spec.name)):
            refused.append(RefusedTool(name=visible_name, reason=reason))
            continue
        draft = _draft(spec, {key: str(value) for key, value in claimed.items()}, tool)
        if isinstance(draft, str):
            refused.append(RefusedTool(name=visible_name, reason=draft))
        elif holds_secret(draft.code):
            refused.append(
                RefusedTool(name=visible_name, reason="its descriptor holds a secret that is kept here")
            )
        else:
            drafts.append(draft)
    return Listing(
        calls_itself={key: str(value) for key, value in claimed.items()},
        drafts=tuple(sorted(drafts, key=lambda draft: draft.name)),
        refused=tuple(refused),
    )


def _shown(name: str) -> str:
    """Return a refused tool's name on one line, shortened, with its hidden characters made visible."""
    visible = reveal(name[:_LONGEST_SHOWN]).replace("\n", "⟨U+000A⟩")
    return visible + "…" * (len(name) > _LONGEST_SHOWN)


def library_name(server: str, tool: str) -> str:
    """Return the library name of a server's tool."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", tool)
    return re.sub(r"[^a-z0-9]+", "_", f"{server}_{words}".lower()).strip("_")


def _ambiguous(name: Any, counts: Counter[str], library_counts: Counter[str], server: str) -> str:
    """Return why a tool's name cannot be used here, or is ambiguous; empty if it can be used."""
    if counts[name] > 1:
        return f"{counts[name]} tools of the server have this name"
    local_name = library_name(server, name)
    if library_counts[local_name] > 1:
        return f"{library_counts[local_name]} tools of the server would be called {local_name} here"
    if owner := reserved(local_name):
        return f"its name here would be {local_name}, which is {owner}; give the server another name"
    if len(local_name) > _LONGEST_NAME:
        return f"its name here would have {len(local_name)} characters, of at most {_LONGEST_NAME}"
    return ""


def _unusable(tool: Any) -> str:
    """Return why a descriptor is unusable; empty if it can be used."""
    if not isinstance(tool, dict):
        return "its descriptor is no object"
    name = tool.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return "its name is not one that the protocol allows: letters, digits, and _ - . / alone"
    if not isinstance(tool.get("description", ""), str) or not isinstance(tool.get("title", ""), str):
        return "its description is no text"
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "it has no input schema of an object"
    if not isinstance(tool.get("outputSchema", {}), dict):
        return "its output schema is no object"
    execution = tool.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        return "it runs only as a task of its own, which cannot be called"
    if levels(tool) > _DEEPEST:
        return f"its descriptor is nested more than {_DEEPEST} levels deep"
    return _invalid_header(schema)


def _invalid_header(schema: dict[str, Any]) -> str:
    """Return why the header name of an argument is invalid; empty if none is."""
    from mcp.shared.inbound import find_invalid_x_mcp_header

    wrong = find_invalid_x_mcp_header(schema)
    return "" if wrong is None else f"it names a header that cannot be sent: {one_line(str(wrong), 200)}"


def _draft(spec: ServerSpec, claimed: dict[str, str], tool: dict[str, Any]) -> ToolDraft | str:
    """Return the draft that a person can approve, or the reason why there is none."""
    import rfc8785

    pinned = Pinned(server=spec, calls_itself=claimed, tool=tool)
    try:
        code = rfc8785.dumps(msgspec.to_builtins(pinned)).decode()
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError, ValueError) as error:
        return f"its descriptor has no canonical form: {one_line(str(error), 200)}"
    if len(code) > _LARGEST:
        return f"its descriptor has {len(code):,} bytes, of at most {_LARGEST:,}"
    description, input_schema, output_schema = parts_of(tool)
    return ToolDraft(
        name=library_name(spec.name, tool["name"]),  # type: ignore[arg-type]  # a name by `_unclear`
        description=one_line(description, 400),
        code=code,
        tests="",
        input_schema=input_schema,
        output_schema=output_schema,
        capabilities=_capabilities(spec),
    )


def _capabilities(spec: ServerSpec) -> Capabilities:
    """Return the capabilities of a run; for a remote server these are its host and the secrets of its headers."""
    if not spec.url:
        return spec.capabilities
    from urllib.parse import urlsplit

    parts = urlsplit(spec.url)
    host = f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
    return Capabilities(
        network=(host,),
        secrets=tuple(f"{name}@{host}" for name in sorted(set(spec.headers.values()))),
        model_calls=spec.model_calls,
    )
