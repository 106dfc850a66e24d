"""What a tool has to be: the form that a model hands in, checked field by field, and completed."""

from __future__ import annotations

import builtins
import keyword
import re
import sys

import msgspec

from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports import ToolSpec
from alita_tui.spine.values import Capabilities, Json, ToolDraft

_LARGEST = 200_000
"""Characters of code or tests."""
_PEP508 = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._,\s-]*\])?\s*([<>=!~]=?=?[^;@/]*)?(;.*)?$")
_HEADER = re.compile(r"(?m)^# /// script\n(?:#.*\n)*?# ///\n?")
_MAIN = """

if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(run(**json.load(sys.stdin))))
"""


class ContractError(AlitaError):
    """A draft that does not meet the contract; every problem in words that the model can act on."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


SUBMIT_TOOL = ToolSpec(
    name="submit_tool",
    description="Hand in the whole tool: code, tests, requirements and schemas.",
    parameters={
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "snake_case, as ordered"},
            "description": {
                "type": "string",
                "description": "one sentence: what it does, for people and search",
            },
            "code": {"type": "string", "description": "the module with run(...)"},
            "tests": {"type": "string", "description": "a module of test_* functions with asserts"},
            "requirements": {
                "type": "array",
                "items": {"type": "string"},
                "description": "PEP 508, may be empty",
            },
            "input_schema": {"type": "object", "description": "JSON Schema of run's parameters"},
            "output_schema": {"type": "object", "description": "JSON Schema of what run returns"},
            "capabilities": {
                "type": "object",
                "description": "leave out unless the goal cannot be reached without",
                "properties": {
                    "network": {"type": "array", "items": {"type": "string"}},
                    "workspace": {"type": "string", "enum": ["none", "read", "write"]},
                    "secrets": {"type": "array", "items": {"type": "string"}},
                    "model_calls": {"type": "integer"},
                },
            },
        },
        "required": ["name", "description", "code", "tests", "requirements", "input_schema", "output_schema"],
    },
)


class _Form(msgspec.Struct, frozen=True):
    name: str
    description: str
    code: str
    tests: str
    requirements: tuple[str, ...] = ()
    input_schema: dict[str, Json] = {}
    output_schema: dict[str, Json] = {}
    capabilities: Capabilities = Capabilities()


def draft_from(arguments: Json) -> ToolDraft:
    """The draft behind the arguments of a `submit_tool` call. Raises ContractError."""
    try:
        form = msgspec.convert(arguments, _Form)
    except msgspec.ValidationError as error:
        raise ContractError((str(error),)) from error
    problems = [*_name(form.name), *_texts(form), *_requirements(form.requirements)]
    if problems:
        raise ContractError(tuple(problems))
    return ToolDraft(
        name=form.name,
        description=" ".join(form.description.split()),
        code=form.code.replace("\r\n", "\n"),
        tests=form.tests.replace("\r\n", "\n"),
        requirements=tuple(sorted({" ".join(one.split()) for one in form.requirements})),
        input_schema=form.input_schema,
        output_schema=form.output_schema,
        capabilities=form.capabilities,
    )


def normalise(draft: ToolDraft) -> ToolDraft:
    """The draft with its PEP 723 header true to its requirements and a `__main__`; idempotent."""
    listed = ", ".join(f'"{one}"' for one in draft.requirements)
    header = f'# /// script\n# requires-python = ">=3.11"\n# dependencies = [{listed}]\n# ///\n'
    body = _HEADER.sub("", draft.code).strip("\n")
    if not re.search(r"(?m)^if __name__ == ", body):
        body += _MAIN
    code = header + body.rstrip("\n") + "\n"
    return msgspec.structs.replace(draft, code=code, tests=draft.tests.strip("\n") + "\n")


def _name(name: str) -> list[str]:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name):
        return [f"name: {name[:80]!r} is not snake_case of at most 64 characters"]
    if keyword.iskeyword(name) or name in sys.stdlib_module_names or hasattr(builtins, name):
        return [f"name: {name} is a name of Python's own"]
    return []


def _texts(form: _Form) -> list[str]:
    found = [
        f"{field}: it is empty"
        for field in ("description", "code", "tests")
        if not getattr(form, field).strip()
    ]
    found += [
        f"{field}: it has more than {_LARGEST} characters"
        for field in ("code", "tests")
        if len(getattr(form, field)) > _LARGEST
    ]
    if len(form.description) > 1000:
        found.append("description: it has more than 1000 characters")
    return found


def _requirements(requirements: tuple[str, ...]) -> list[str]:
    if len(requirements) > 20:
        return ["requirements: there are more than 20"]
    return [
        f"requirements: {one[:80]!r} is no plain PEP 508 requirement (no URLs, no paths)"
        for one in requirements
        if not _PEP508.match(one.strip()) or "\n" in one
    ]
