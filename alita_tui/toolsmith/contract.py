"""What a tool has to be: the form that a model submits, validated field by field, and completed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from alita_tui.events import Capabilities, Json, ToolDraft, ToolName
from alita_tui.runtimes.languages import LANGUAGES, runtime_of
from alita_tui.runtimes.port import LARGEST_TEXT, ContractError, Runtime, with_line_feeds
from alita_tui.spine.grants import BROWSER_OFF, canonical, faults
from alita_tui.spine.requirements import distribution
from alita_tui.spine.reserved_names import reserved
from alita_tui.spine.text import one_line

_LARGEST_SCHEMA = 50_000
_LARGEST_DESCRIPTION = 1000
_MOST_ENTRIES = 20
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


NO_BROWSER = f"capabilities.browser: the person allows no tool a browser. {BROWSER_OFF} Do without one"


def draft_from(arguments: Json, languages: Sequence[str] = LANGUAGES, *, browser: bool = True) -> ToolDraft:
    """Return the draft in the arguments of a `submit_tool` call; `languages` and `browser` are what the person allows.

    Raises ContractError with every problem.
    """
    if not isinstance(arguments, Mapping):
        raise ContractError((f"the arguments have to be one JSON object, not {_kind(arguments)}",))
    problems: list[str] = []
    texts = {field: _text(problems, arguments, field) for field in ("name", "description", "code", "tests")}
    schemas = {field: _schema(problems, arguments, field) for field in ("input_schema", "output_schema")}
    requirements = _list(problems, arguments, "requirements")
    language = arguments.get("language") or languages[0]
    if language not in languages:
        problems.append(f"language: it has to be one of {', '.join(languages)}")
    elif requirements:
        requirements = _requirements(problems, requirements, runtime_of(str(language)))
    distribution_name = texts["name"].replace("_", "-")
    problems += [
        f"name: {texts['name']} is what the package {one_line(requirement, 80)!r} is called; choose another one"
        for requirement in requirements
        if distribution_name and distribution(requirement) == distribution_name
    ]
    capabilities = _capabilities(problems, arguments.get("capabilities"))
    if capabilities.browser and not browser:
        problems.append(NO_BROWSER)
    if problems:
        raise ContractError(tuple(problems))
    return ToolDraft(
        name=ToolName(texts["name"]),
        description=" ".join(texts["description"].split()),
        code=with_line_feeds(texts["code"]),
        tests=with_line_feeds(texts["tests"]),
        requirements=tuple(sorted({*requirements})),
        input_schema=schemas["input_schema"],
        output_schema=schemas["output_schema"],
        capabilities=capabilities,
        language=str(language),
    )


def normalise(draft: ToolDraft) -> ToolDraft:
    """Return the draft with its code in the portable form of its language; idempotent. Raises UsageError."""
    tests = with_line_feeds(draft.tests).strip("\n") + "\n"
    code = runtime_of(draft.language).completed(draft)
    return msgspec.structs.replace(draft, code=code, tests=tests)


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


def name_fault(name: str) -> str:
    """Return why no tool can have this name; empty if one can."""
    if not _NAME.fullmatch(name):
        return f"{one_line(name, 80)!r} is not snake_case of at most 64 characters, a letter first"
    owner = reserved(name)
    return f"{name} is the name of {owner}; choose one that says what the tool does" if owner else ""


def _text_fault(field: str, value: str) -> str:
    if field == "name":
        return name_fault(value)
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


def _requirements(problems: list[str], texts: list[str], runtime: Runtime) -> list[str]:
    """Return the requirements in their normal form; add a problem for each that is invalid."""
    if not runtime.packages:
        problems.append(f"requirements: a tool in {runtime.language} has none")
        return []
    parsed = [(text, runtime.requirement(text)) for text in texts]
    problems += [
        f"requirements: {one_line(text, 80)!r} is no {runtime.packages}"
        for text, requirement in parsed
        if requirement is None
    ]
    return [requirement for _, requirement in parsed if requirement is not None]


def _capabilities(problems: list[str], value: Json) -> Capabilities:
    value = {} if value is None else value
    if not isinstance(value, dict):
        problems.append(f"capabilities: it has to be an object, not {_kind(value)}")
        return Capabilities()
    fields = Capabilities.__struct_fields__
    problems += [
        f"capabilities: there is no {one_line(str(key), 40)!r}" for key in value if key not in fields
    ]
    network = _list(problems, value, "network", "capabilities.")
    secrets = _list(problems, value, "secrets", "capabilities.")
    tools = _list(problems, value, "tools", "capabilities.")
    workspace: Json = value.get("workspace") or "none"
    calls: Json = value.get("model_calls") or 0
    if workspace not in ("none", "read", "write"):
        problems.append("capabilities.workspace: it has to be none, read or write")
    if not isinstance(calls, int) or isinstance(calls, bool) or not 0 <= calls <= 1000:
        problems.append("capabilities.model_calls: it has to be a whole number from 0 to 1000")
    browser: Json = value.get("browser") or False
    if not isinstance(browser, bool):
        problems.append("capabilities.browser: it has to be true or false")
    capabilities = Capabilities(
        network=tuple(sorted(set(network))),
        workspace=workspace,
        secrets=tuple(sorted(set(secrets))),
        model_calls=calls,
        tools=tuple(tools),
        browser=browser is True,
    )
    problems += faults(capabilities)
    return canonical(capabilities)
