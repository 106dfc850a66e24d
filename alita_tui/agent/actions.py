"""The typed actions a model may choose: their schemas for the model, and the checks on its calls."""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from alita_tui.events import ActionName, Capabilities, Json, ToolRequest, Value, ready
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.grants import offered
from alita_tui.spine.ports.models import ToolSpec
from alita_tui.spine.ports.web import SearchKind
from alita_tui.spine.reserved_names import reserved

Name = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,63}$", description="snake_case")]
Text = Annotated[str, Meta(min_length=1)]


class Plan(Value, frozen=True):
    """Say how you will do a task of several steps. Call it again with all steps to tick them off or revise them."""

    steps: Annotated[
        tuple[Text, ...],
        Meta(
            min_length=1,
            max_length=12,
            description='Short steps. "|| " before a step that needs no other; later "[x] " done, "[>] " doing, '
            '"[!] " failed, "[-] " dropped.',
        ),
    ]
    recipe: Annotated[str, Meta(description="Id of the remembered recipe you follow, if any.")] = ""


class FindTool(Value, frozen=True):
    """Search the library of approved tools. Always do this before you build one."""

    query: Annotated[str, Meta(min_length=1, description="What the tool should do, in general words.")]


class SearchWeb(Value, frozen=True):
    """Search the web, GitHub (repositories, code, READMEs) or PyPI packages."""

    query: Text
    provider: SearchKind = "web"


class ReadPage(Value, frozen=True):
    """Read one public web page or PDF as text."""

    url: Annotated[str, Meta(pattern="^https?://")]
    offset: Annotated[int, Meta(ge=0, description="Characters to skip, for a long page.")] = 0
    find: Annotated[
        str, Meta(max_length=200, description="Only the text around these words, wherever they are.")
    ] = ""


class Look(Value, frozen=True):
    """Read a part of a file or of an earlier result; without `what`, list the files."""

    what: Annotated[str, Meta(description="A file's name or handle, or e41 for event 41.")] = ""
    lines: Annotated[str, Meta(description="10-40")] = ""
    rows: Annotated[str, Meta(description="Of a CSV file: 1-20")] = ""
    pointer: Annotated[str, Meta(description="Into JSON: /rows/0")] = ""
    search: Annotated[str, Meta(description="Lines that contain this.")] = ""
    offset: Annotated[int, Meta(ge=0, description="Characters to skip.")] = 0


class BuildTool(Value, frozen=True):
    """Have a new tool written, tested in the sandbox and shown to the person for approval."""

    name: Name
    goal: Annotated[str, Meta(min_length=1, description="What the tool does, for any input of its kind.")]
    details: Annotated[str, Meta(description="Inputs, outputs, edge cases, packages worth using.")] = ""
    examples: Annotated[
        tuple[dict[str, Any], ...],
        Meta(max_length=5, description='Each {"input": {ARGUMENTS}, "output": RESULT}.'),
    ] = ()
    needs: Annotated[
        Capabilities,
        Meta(description="What it must be granted; leave out for a pure computation."),
    ] = Capabilities()
    sources: Annotated[
        tuple[str, ...], Meta(max_length=10, description="Addresses of pages you read that it is based on.")
    ] = ()


class RunTool(Value, frozen=True):
    """Run a tool of the library in the sandbox."""

    name: Name
    arguments: Annotated[
        dict[str, Any],
        Meta(
            description="As its input schema says. A parameter of format `file` takes a file's name. Anywhere else "
            '{"$ref": "WHAT#/json/pointer"} refers to data: WHAT is a tool\'s name or a label (its newest result), '
            "e41 (the result in event 41) or a file."
        ),
    ]
    version: Annotated[int | None, Meta(description="Leave out for the newest.")] = None
    label: Annotated[str, Meta(max_length=64, description="Another name for its result.")] = ""


class AskUser(Value, frozen=True):
    """Ask the person something that only they can know."""

    question: Text
    choices: Annotated[
        tuple[Text, ...], Meta(max_length=8, description="Likely answers, if there are any.")
    ] = ()


class Wait(Value, frozen=True):
    """Wait for the person's verdict on builds that they put off, when there is nothing else left to do."""


class Answer(Value, frozen=True):
    """End the task with the answer."""

    text: Text


class Delegate(Value, frozen=True):
    """Give a part of the task to a specialist. Those of one reply work at the same time; each sees only this."""

    role: Annotated[str, Meta(max_length=40, description="One of the roles.")]
    goal: Annotated[
        str, Meta(min_length=1, description="All that it should find or make: it knows nothing else.")
    ]
    inputs: Annotated[
        tuple[Text, ...],
        Meta(max_length=12, description="What it gets from you: files by name or handle, e41 for event 41."),
    ] = ()
    done_when: Annotated[str, Meta(max_length=1000, description="How it knows that it is done.")] = ""
    budget_usd: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="What it may cost; by default the role's share."),
    ] = None


class Report(Value, frozen=True):
    """End your part with its result."""

    result: Annotated[str, Meta(min_length=1, description="All that you found or made.")]
    artefacts: Annotated[
        tuple[Text, ...], Meta(max_length=20, description="Your files that belong to it.")
    ] = ()
    evidence: Annotated[
        tuple[Text, ...],
        Meta(
            max_length=40,
            description="What it is based on: e41 for event 41, addresses of pages you read, files.",
        ),
    ] = ()
    missing: Annotated[str, Meta(description="What of the goal you could not do, and why.")] = ""


Action = (
    Plan
    | FindTool
    | SearchWeb
    | ReadPage
    | Look
    | BuildTool
    | RunTool
    | AskUser
    | Wait
    | Answer
    | Delegate
    | Report
)

ACTIONS: dict[ActionName, type[Action]] = {
    "plan": Plan,
    "find_tool": FindTool,
    "search_web": SearchWeb,
    "read_page": ReadPage,
    "look": Look,
    "build_tool": BuildTool,
    "run_tool": RunTool,
    "ask_user": AskUser,
    "wait": Wait,
    "answer": Answer,
    "delegate": Delegate,
    "report": Report,
}
LEADS: tuple[ActionName, ...] = tuple(name for name in ACTIONS if name not in ("delegate", "report"))
"""The actions of a lead that does not direct others."""


class MalformedAction(AlitaError):
    """A reply holds no valid action; the message is for the model."""


def specs(names: Container[str] = LEADS, *, browser: bool = False) -> tuple[ToolSpec, ...]:
    """Return the named actions as native tools, with flat JSON schemas that every server understands.

    `browser`: whether a tool may be granted a browser.
    """
    return tuple(spec for spec in _every_spec(browser=browser) if spec.name in names)


@cache
def _every_spec(*, browser: bool) -> tuple[ToolSpec, ...]:
    _, components = msgspec.json.schema_components(tuple(ACTIONS.values()))
    capabilities, fields = components["Capabilities"], offered(browser=browser)
    capabilities["properties"] = {
        field: form for field, form in capabilities["properties"].items() if field in fields
    }
    specs: list[ToolSpec] = []
    for name, kind in ACTIONS.items():
        schema = {
            key: value
            for key, value in components[kind.__name__].items()
            if key not in ("title", "description")
        }
        specs.append(
            ToolSpec(
                name=name,
                description=(kind.__doc__ or "").strip(),
                parameters=_lean(_flat(schema, components)),
            )
        )
    return tuple(specs)


def _flat(schema: Any, components: dict[str, Any]) -> Any:
    """Return a schema with its references inlined, without the titles and descriptions of the referenced schemas."""
    if isinstance(schema, list):
        return [_flat(part, components) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if name := str(schema.get("$ref", "")).rpartition("/")[2]:
        referred = {
            key: value for key, value in components[name].items() if key not in ("title", "description")
        }
        schema = {**referred, **{key: value for key, value in schema.items() if key != "$ref"}}
    return {key: _flat(value, components) for key, value in schema.items()}


_LEFT_OUT = ("pattern", "minLength", "maxLength", "minItems", "maxItems", "minimum")
"""Bounds left out of the schemas to save tokens; a model that breaks one gets an error."""


def _lean(schema: Json) -> Json:
    """Return the schema without bounds, empty defaults and null, which cost tokens and say little."""
    if isinstance(schema, list):
        return [_lean(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("anyOf", [])[1:] == [{"type": "null"}]:
        schema = {**schema["anyOf"][0], **{key: value for key, value in schema.items() if key != "anyOf"}}
    empty = ("default", "required")
    return {
        key: _lean(value)
        for key, value in schema.items()
        if key not in _LEFT_OUT and not (key in empty and not value)
    }


def _shape(name: str) -> str:
    """Return the form of an action's arguments, for a model that got them wrong."""
    parameters: Json = next((spec.parameters for spec in _every_spec(browser=False) if spec.name == name), {})
    return f"Its arguments have this schema: {msgspec.json.encode(parameters).decode()}"


def parse(
    request: ToolRequest, tools: Container[str] = (), allowed: Iterable[str] = tuple(ACTIONS)
) -> Action:
    """Return the typed action of a native tool call; `tools` are the library's. Raises MalformedAction."""
    names = (*allowed, "look_back")
    if request.name in ACTIONS and request.name not in names:
        raise MalformedAction(f"You cannot {request.name!r} here; your actions are {', '.join(names[:-1])}.")
    if request.name not in ACTIONS and request.name in tools:
        raise MalformedAction(
            f"{request.name} is a tool of the library, not an action: call run_tool with the name {request.name!r} "
            "and its arguments."
        )
    if request.problem and request.name not in ACTIONS:
        raise MalformedAction(f"{request.problem[:1].upper()}{request.problem[1:]}.")
    if request.problem:
        raise MalformedAction(
            f"The arguments of {request.name or 'the call'} are not valid: {request.problem}. {_shape(request.name)}"
        )
    if request.name == "look_back":  # its name before `look` could read files
        event, offset = request.arguments.get("event"), request.arguments.get("offset", 0)
        request = msgspec.structs.replace(
            request, name="look", arguments={"what": f"e{event}", "offset": offset}
        )
    kind = {str(name): action for name, action in ACTIONS.items()}.get(request.name)
    if kind is None:
        raise MalformedAction(
            f"There is no action {request.name!r}; the actions are {', '.join(names[:-1])}."
        )
    try:
        action = msgspec.convert(request.arguments, ready(kind))
    except msgspec.ValidationError as error:
        raise MalformedAction(f"{request.name}: {error}. {_shape(request.name)}") from error
    if isinstance(action, BuildTool) and (owner := reserved(action.name)):
        raise MalformedAction(f"No tool can be called {action.name}: it is {owner}. Choose another name.")
    return action
