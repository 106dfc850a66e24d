"""What a tool has to be: the form that a model submits, validated field by field, and completed."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from functools import cache

import msgspec

from alita_tui.events import Capabilities, Json, ToolDraft, ToolName
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.grants import canonical, faults
from alita_tui.spine.names import taken
from alita_tui.spine.requirements import distribution
from alita_tui.spine.syntax import parse, try_parse
from alita_tui.spine.text import one_line

LARGEST_TEXT = 200_000
"""Bytes (UTF-8) of the code, and of the tests."""
PYTHON = ">=3.11"
"""Of which every tool is."""
_LARGEST_SCHEMA = 50_000
_LARGEST_DESCRIPTION = 1000
_MOST_ENTRIES = 20
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_HEADER = re.compile(r"(?m)^# /// script[ \t]*\n(?P<toml>(?:#.*\n)*?)# ///[ \t]*(?:\n|\Z)")
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


def draft_from(arguments: Json) -> ToolDraft:
    """Return the draft in the arguments of a `submit_tool` call. Raises ContractError with every problem."""
    if not isinstance(arguments, Mapping):
        raise ContractError((f"the arguments have to be one JSON object, not {_kind(arguments)}",))
    problems: list[str] = []
    texts = {field: _text(problems, arguments, field) for field in ("name", "description", "code", "tests")}
    schemas = {field: _schema(problems, arguments, field) for field in ("input_schema", "output_schema")}
    requirements = _list(problems, arguments, "requirements")
    problems += [
        f"requirements: {one_line(requirement, 80)!r} is no plain PEP 508 requirement (no URL, path or option)"
        for requirement in requirements
        if distribution(requirement) is None
    ]
    named = texts["name"].replace("_", "-")
    problems += [
        f"name: {texts['name']} is what the package {one_line(requirement, 80)!r} is called; choose another one"
        for requirement in requirements
        if named and distribution(requirement) == named
    ]
    capabilities = _capabilities(problems, arguments.get("capabilities"))
    if problems:
        raise ContractError(tuple(problems))
    return ToolDraft(
        name=ToolName(texts["name"]),
        description=" ".join(texts["description"].split()),
        code=_newlines(texts["code"]),
        tests=_newlines(texts["tests"]),
        requirements=tuple(sorted({" ".join(requirement.split()) for requirement in requirements})),
        input_schema=schemas["input_schema"],
        output_schema=schemas["output_schema"],
        capabilities=capabilities,
    )


def header_requirements(code: str) -> tuple[str, ...] | None:
    """Return the dependencies of a PEP 723 header, sorted; None without a header. Raises ContractError."""
    import tomllib

    match = _HEADER.search(code)
    if match is None:
        return None
    lines = (line.removeprefix("#").removeprefix(" ") for line in match["toml"].split("\n"))
    try:
        dependencies = tomllib.loads("\n".join(lines)).get("dependencies", [])
    except (ValueError, RecursionError) as error:
        raise ContractError((f"the PEP 723 header is no TOML: {one_line(str(error))}",)) from error
    if not isinstance(dependencies, list) or not all(
        isinstance(requirement, str) for requirement in dependencies
    ):
        raise ContractError(("the PEP 723 header's dependencies are no list of strings",))
    return tuple(sorted({" ".join(requirement.split()) for requirement in dependencies}))


def normalise(draft: ToolDraft) -> ToolDraft:
    """Return the draft with a PEP 723 header that matches its requirements and a `__main__`; idempotent."""
    body = _newlines(draft.code).strip("\n") + "\n"
    tree = try_parse(body)
    body = _without_header(body, tree).strip("\n") + "\n"
    if tree is not None and not any(is_main_guard(node) for node in tree.body):
        body = (body + _MAIN).lstrip("\n")
    # A JSON string is also a TOML basic string; markers contain quotes of their own.
    requirements = ", ".join(json.dumps(requirement) for requirement in draft.requirements)
    header = f'# /// script\n# requires-python = "{PYTHON}"\n# dependencies = [{requirements}]\n# ///\n'
    tests = _newlines(draft.tests).strip("\n") + "\n"
    return msgspec.structs.replace(draft, code=header + body, tests=tests)


def is_main_guard(node: ast.stmt) -> bool:
    """Return True for `if __name__ == "__main__":`, either way round."""
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    sides = (node.test.left, *node.test.comparators)
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    values = [side.value for side in sides if isinstance(side, ast.Constant)]
    return names == ["__name__"] and values == ["__main__"] and isinstance(node.test.ops[0], ast.Eq)


@cache
def _standard_main() -> str:
    return ast.dump(parse(_MAIN).body[0])


def is_standard_main(node: ast.stmt) -> bool:
    """Return True for the `__main__` that `normalise` writes: JSON in, one call of run, JSON out."""
    return is_main_guard(node) and ast.dump(node) == _standard_main()


def _without_header(body: str, tree: ast.Module | None) -> str:
    """Return the code without headers that are comments; the same lines in a string belong to the tool."""
    if tree is None:
        match = _HEADER.match(body)
        return body[match.end() :] if match else body
    quoted: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno is not None:
            quoted.update(range(node.lineno + 1, node.end_lineno + 1))
    return _HEADER.sub(
        lambda match: match[0] if body.count("\n", 0, match.start()) + 1 in quoted else "", body
    )


def _newlines(text: str) -> str:
    """Return the text with line ends as Python reads them: a lone carriage return ends a line too."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _kind(value: Json) -> str:
    kinds = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")


def _text(problems: list[str], arguments: Mapping[str, Json], field: str) -> str:
    value = arguments.get(field)
    if value is None:
        problems.append(f"{field}: it is missing")
    elif not isinstance(value, str):
        problems.append(f"{field}: it has to be a string, not {_kind(value)}")
    elif not value.strip():
        problems.append(f"{field}: it is empty")
    elif fault := _text_fault(field, value):
        problems.append(f"{field}: {fault}")
    else:
        return value
    return ""


def _text_fault(field: str, value: str) -> str:
    if field == "name":
        if not _NAME.fullmatch(value):
            return f"{one_line(value, 80)!r} is not snake_case of at most 64 characters, a letter first"
        owner = taken(value)
        return f"{value} is the name of {owner}; choose one that says what the tool does" if owner else ""
    largest = _LARGEST_DESCRIPTION if field == "description" else LARGEST_TEXT
    try:
        return f"it is longer than {largest} bytes" if len(value.encode()) > largest else ""
    except UnicodeEncodeError:
        return "it holds half a surrogate pair, which no file can hold"


def _schema(problems: list[str], arguments: Mapping[str, Json], field: str) -> dict[str, Json]:
    value = arguments.get(field)
    if value is None:
        problems.append(f"{field}: it is missing")
    elif not isinstance(value, dict):
        problems.append(f"{field}: it has to be an object, not {_kind(value)}")
    else:
        try:
            if len(msgspec.json.encode(value)) <= _LARGEST_SCHEMA:
                return value
            problems.append(f"{field}: it is longer than {_LARGEST_SCHEMA} bytes")
        except RecursionError:
            problems.append(f"{field}: it is nested too deeply")
        except (TypeError, ValueError) as error:
            problems.append(f"{field}: it cannot be written as JSON ({one_line(str(error), 80)})")
    return {}


def _list(problems: list[str], arguments: Mapping[str, Json], field: str, prefix: str = "") -> list[str]:
    value = arguments.get(field) or []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        problems.append(f"{prefix}{field}: it has to be an array of strings")
    elif len(value) > _MOST_ENTRIES:
        problems.append(f"{prefix}{field}: there are more than {_MOST_ENTRIES}")
    else:
        return value
    return []


def _capabilities(problems: list[str], value: Json) -> Capabilities:
    value = {} if value is None else value
    if not isinstance(value, dict):
        problems.append(f"capabilities: it has to be an object, not {_kind(value)}")
        return Capabilities()
    known = Capabilities.__struct_fields__
    problems += [f"capabilities: there is no {one_line(str(key), 40)!r}" for key in value if key not in known]
    network = _list(problems, value, "network", "capabilities.")
    secrets = _list(problems, value, "secrets", "capabilities.")
    tools = _list(problems, value, "tools", "capabilities.")
    workspace: Json = value.get("workspace") or "none"
    calls: Json = value.get("model_calls") or 0
    if workspace not in ("none", "read", "write"):
        problems.append("capabilities.workspace: it has to be none, read or write")
    if not isinstance(calls, int) or isinstance(calls, bool) or not 0 <= calls <= 1000:
        problems.append("capabilities.model_calls: it has to be a whole number from 0 to 1000")
    asked = Capabilities(
        network=tuple(sorted(set(network))),
        workspace=workspace,
        secrets=tuple(sorted(set(secrets))),
        model_calls=calls,
        tools=tuple(tools),
    )
    problems += faults(asked)
    return canonical(asked)
