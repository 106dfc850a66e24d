"""The typed actions a model may choose, as it sees them and as they are checked."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from alita_tui.events import ActionName, Capabilities, ToolRequest, Value
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.names import taken
from alita_tui.spine.ports.models import ToolSpec

Name = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,63}$", description="snake_case")]
Text = Annotated[str, Meta(min_length=1)]


class Plan(Value, frozen=True):
    """Say how you will go about the task, in a few short steps. Do this first, once."""

    steps: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=12)]
    recipe: Annotated[str, Meta(description="Id of the remembered recipe you follow, if any.")] = ""


class FindTool(Value, frozen=True):
    """Search the library of approved tools. Always do this before you build one."""

    query: Annotated[str, Meta(min_length=1, description="What the tool has to do, in general words.")]


class SearchWeb(Value, frozen=True):
    """Search the web, GitHub repositories or PyPI packages."""

    query: Text
    provider: Literal["web", "github", "pypi"] = "web"


class ReadPage(Value, frozen=True):
    """Read one public web page as text."""

    url: Annotated[str, Meta(pattern="^https?://")]


class LookBack(Value, frozen=True):
    """Read again an earlier observation that is only a line by now, by the number of its event."""

    event: Annotated[int, Meta(ge=1)]
    offset: Annotated[int, Meta(ge=0, description="Characters to skip, for a long one.")] = 0


class BuildTool(Value, frozen=True):
    """Have a new tool written, tested in the sandbox and put before the person for approval."""

    name: Name
    goal: Annotated[str, Meta(min_length=1, description="What the tool does, for any input of its kind.")]
    details: Annotated[str, Meta(description="Inputs, outputs, edge cases, packages worth using.")] = ""
    examples: Annotated[
        tuple[dict[str, Any], ...],
        Meta(max_length=5, description='Each {"input": {ARGUMENTS}, "output": RESULT}.'),
    ] = ()
    needs: Annotated[
        Capabilities,
        Meta(
            description="What the tool has to ask for, with the person's agreement; leave out for a pure computation. "
            "network: hosts as `GET,HEAD name:port`; workspace: the person's files; secrets: names, as NAME@host:port; "
            "model_calls: at most, per run."
        ),
    ] = Capabilities()
    sources: Annotated[
        tuple[str, ...], Meta(max_length=10, description="Addresses of pages you read that matter for it.")
    ] = ()


class RunTool(Value, frozen=True):
    """Run a tool of the library in the sandbox."""

    name: Name
    arguments: Annotated[dict[str, Any], Meta(description="Keyword arguments, as its input schema says.")]
    version: Annotated[int | None, Meta(description="Leave out for the newest.")] = None


class AskUser(Value, frozen=True):
    """Ask the person something that only they can know."""

    question: Text


class Wait(Value, frozen=True):
    """Wait for the person's verdict on the builds that they put off, when nothing else is left to do."""


class Answer(Value, frozen=True):
    """End the task with the answer."""

    text: Text


Action = Plan | FindTool | SearchWeb | ReadPage | LookBack | BuildTool | RunTool | AskUser | Wait | Answer

ACTIONS: dict[ActionName, type[Action]] = {
    "plan": Plan,
    "find_tool": FindTool,
    "search_web": SearchWeb,
    "read_page": ReadPage,
    "look_back": LookBack,
    "build_tool": BuildTool,
    "run_tool": RunTool,
    "ask_user": AskUser,
    "wait": Wait,
    "answer": Answer,
}


class MalformedAction(AlitaError):
    """What the model wrote is no valid action; the message is for the model."""


@cache
def specs() -> tuple[ToolSpec, ...]:
    """The actions as native tools, with flat JSON schemas that every server understands."""
    _, components = msgspec.json.schema_components(tuple(ACTIONS.values()))
    found: list[ToolSpec] = []
    for name, kind in ACTIONS.items():
        schema = {
            key: value
            for key, value in components[kind.__name__].items()
            if key not in ("title", "description")
        }
        schema = _flat(schema, components)
        found.append(ToolSpec(name=name, description=(kind.__doc__ or "").strip(), parameters=schema))
    return tuple(found)


def _flat(schema: Any, components: dict[str, Any]) -> Any:
    """Return a schema with what it refers to in its place, and without what only Python's readers need."""
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


def parse(request: ToolRequest) -> Action:
    """The typed action behind a native tool call. Raises MalformedAction."""
    if request.problem and request.name not in ACTIONS:
        raise MalformedAction(f"{request.problem[:1].upper()}{request.problem[1:]}.")
    if request.problem:
        raise MalformedAction(
            f"The arguments of {request.name or 'the call'} are not valid: {request.problem}"
        )
    kind = {str(name): one for name, one in ACTIONS.items()}.get(request.name)
    if kind is None:
        raise MalformedAction(f"There is no action {request.name!r}; the actions are {', '.join(ACTIONS)}.")
    try:
        action = msgspec.convert(request.arguments, kind)
    except msgspec.ValidationError as error:
        raise MalformedAction(f"{request.name}: {error}") from error
    if isinstance(action, BuildTool) and (owner := taken(action.name)):
        raise MalformedAction(f"No tool can be called {action.name}: it is {owner}. Choose another name.")
    return action
