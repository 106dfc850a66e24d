"""Writes approved tools and recipes as Agent Skills: one folder each, in the open format. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

import msgspec

from alita_tui.events import Json, LockedPackage
from alita_tui.mcp_box.export.portable import PortableTool
from alita_tui.mcp_box.skills.format import LONGEST_DESCRIPTION, LONGEST_NAME
from alita_tui.runtimes.languages import runtime_of
from alita_tui.spine.requirements import NPM
from alita_tui.spine.text import neutralise, one_line

_MOST_NEEDS = 8
_LONGEST_NEED = 160


def skill_name(name: str) -> str:
    """Return a name as the format spells it: lower case, with single hyphens between words."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST_NAME].strip("-")


def tool_skill(tool: PortableTool) -> dict[str, bytes]:
    """Return the files of a skill whose script is a tool, by path."""
    name, description = skill_name(tool.name), tool.record.draft.description
    body = [
        f"# {tool.name}",
        "",
        one_line(description, 1000),
        *_needs_section(tool.needs),
        *_call_section(tool),
        *_grants_section((tool,)),
        *_provenance_section((tool,)),
    ]
    head = _head(name, _with_needs(description, tool.needs), (tool,))
    return _encoded({"SKILL.md": f"{head}\n{_joined(body)}", **_files(tool)})


def recipe_skill(
    name: str, request: str, steps: Sequence[tuple[str, str]], tools: Sequence[PortableTool]
) -> dict[str, bytes]:
    """Return the files of a skill whose steps are calls of tools.

    `request` is the text of the task that the recipe answered. Each step is a tool's name and its call in words.
    """
    by_name = {tool.name: tool for tool in tools}
    task = one_line(request, 300)
    tool_names = ", then ".join(dict.fromkeys(f"`{step}`" for step, _ in steps))
    description = f"Answers tasks like “{task}” in {len(steps)} steps, each a script."
    body = [
        f"# {name}",
        "",
        f"Steps that answered “{task}”: {tool_names}. Words in capitals are what the task gives; `s1` is the result",
        "of step 1, and `s1/rows` its field `rows`.",
        "",
        "## Steps",
        "",
        *(
            f"{number}. `{one_line(call, 600).replace('`', chr(39))}`: run `scripts/{_script_of(step, tools)}`."
            for number, (step, call) in enumerate(steps, 1)
        ),
    ]
    for tool in by_name.values():
        body += [*_call_section(tool, level="##"), *_needs_section(tool.needs[:3], level="###")]
    body += [*_grants_section(tuple(by_name.values())), *_provenance_section(tuple(by_name.values()))]
    files = {path: text for tool in by_name.values() for path, text in _files(tool).items()}
    head = _head(name, description, tuple(by_name.values()))
    return _encoded({"SKILL.md": f"{head}\n{_joined(body)}", **files})


def _files(tool: PortableTool) -> dict[str, str]:
    texts = {
        f"scripts/{_script(tool)}": tool.record.draft.code,
        f"references/{tool.name}.mcp.json": _pretty(tool.manifest) + "\n",
        f"references/test_{tool.name}.py": tool.record.draft.tests,
    }
    if tool.record.lock.packages:
        texts[f"references/{tool.name}.lock.txt"] = tool.record.lock.listing + tool.record.lock.npm_listing
    return texts


def _script(tool: PortableTool) -> str:
    return f"{tool.name}{runtime_of(tool.record.draft.language).suffix}"


def _script_of(name: str, tools: Sequence[PortableTool]) -> str:
    return next((_script(tool) for tool in tools if tool.name == name), f"{name}.py")


def _head(name: str, description: str, tools: Sequence[PortableTool]) -> str:
    compatibility = "; ".join(
        dict.fromkeys(runtime_of(tool.record.draft.language).outside_needs for tool in tools)
    )
    compatibility += "."
    uses = sorted({phrase for tool in tools for phrase in tool.may if not phrase.startswith("workspace")})
    if uses:
        compatibility = one_line(f"{compatibility} They use {'; '.join(uses)}.", 500)
    facts = {
        "generator": "alita",
        **{f"{tool.name}-version": str(tool.record.version) for tool in tools},
        **{f"{tool.name}-sha256": tool.record.digest for tool in tools},
    }
    lines = [
        "---",
        f"name: {name}",
        f"description: {_quoted(_cut(description, LONGEST_DESCRIPTION))}",
        f"compatibility: {_quoted(compatibility)}",
        "metadata:",
        *(f"  {key}: {_quoted(value)}" for key, value in facts.items()),
        "---",
    ]
    return "\n".join(lines) + "\n"


def _with_needs(description: str, needs: Sequence[str]) -> str:
    """Return a description with as many of the needs as its length allows."""
    summary, need_texts = one_line(description, 1000), ""
    for need in needs[:_MOST_NEEDS]:
        longer = (
            f"{need_texts}; {one_line(need, _LONGEST_NEED)}"
            if need_texts
            else str(one_line(need, _LONGEST_NEED))
        )
        if len(summary) + len(longer) + len(" Use it for: .") > LONGEST_DESCRIPTION:
            break
        need_texts = longer
    return f"{summary} Use it for: {need_texts}." if need_texts else summary


def _needs_section(needs: Sequence[str], level: str = "##") -> list[str]:
    if not needs:
        return []
    lines = [f"- {one_line(need, _LONGEST_NEED)}" for need in needs[:_MOST_NEEDS]]
    return ["", f"{level} When to use it", "", "It has answered needs like these:", "", *lines]


def _call_section(tool: PortableTool, level: str = "##") -> list[str]:
    """Return instructions for calling a tool: its command, an example, and both schemas."""
    draft = tool.record.draft
    script = f"scripts/{_script(tool)}"
    example = tool.example
    arguments = "{…}" if example is None else msgspec.json.encode(example.arguments).decode()
    lines = [
        "",
        f"{level} How to call {tool.name}" if level == "##" else f"{level} {tool.name}",
        "",
        "Its arguments are one JSON object on standard input; the result is JSON on standard output. An error ends",
        "it with another exit code than 0 and says why on standard error.",
        "",
        "```sh",
        f"printf '%s' {shlex.quote(arguments)} | {runtime_of(draft.language).outside} {script}",
        "```",
    ]
    if example is not None:
        lines += ["", "The result is then:", "", *_json_block(example.result)]
    lines += ["", f"{level}# Input of {tool.name}", "", *_parameters(draft.input_schema)]
    lines += [*_json_block(draft.input_schema), "", f"{level}# Output of {tool.name}", ""]
    return lines + _json_block(draft.output_schema)


def _parameters(schema: Json) -> list[str]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return []
    required = schema.get("required") or []
    lines = [
        f"- `{one_line(str(name), 80)}`{'' if name in required else ' (optional)'}: {one_line(str(description), 300)}"
        for name, details in properties.items()
        if isinstance(details, dict) and (description := details.get("description"))
    ]
    return [*lines, ""] if lines else []


def _grants_section(tools: Sequence[PortableTool]) -> list[str]:
    lines = []
    for tool in tools:
        grants = "; ".join(tool.may) or "nothing but its arguments"
        lines.append(f"- `{tool.name}` was granted {one_line(grants, 600)}.")
        if tool.record.granted.secrets:
            lines.append("  A secret is read from the environment variable of its name.")
    return [
        "",
        "## What it may use",
        "",
        *lines,
        "",
        "alita held it to that in a sandbox. Outside of alita nothing does: run it where that is right.",
    ]


def _provenance_section(tools: Sequence[PortableTool]) -> list[str]:
    lines = ["", "## Where it comes from", ""]
    for tool in tools:
        record = tool.record
        origin = {"built": "written by a model", "recipe": "written down from what worked"}.get(
            record.origin, f"{record.origin}"
        )
        date = f" on {tool.approved_at[:10]}" if tool.approved_at else ""
        lines.append(
            f"- `{tool.name}` v{record.version}, {origin}, tested, and approved by a person{date}; "
            f"relied on {one_line(tool.reliability, 200) or 'as far as its tests go'}."
        )
        lines.append(f"  SHA-256 of the approved build: `{record.digest}`.")
        if record.lock.packages:
            lines.append(
                f"  Approved with {_packages(record.lock.packages)}; hashes in `references/{tool.name}.lock.txt`."
            )
        if direct := [package for package in record.lock.npm if package.direct]:
            packages = " ".join(f"{package.name.removeprefix(NPM)}@{package.version}" for package in direct)
            lines.append(
                f"  Before its first run, in `scripts`: `npm install --ignore-scripts --no-save {packages}`."
            )
        lines += [f"  Source: {one_line(source.url, 300)}" for source in record.sources[:10]]
    return [*lines, "", "The approval holds where it was given. Read the scripts before you run them."]


def _packages(packages: Sequence[LockedPackage]) -> str:
    return ", ".join(f"{package.name} {package.version}" for package in packages)


def _json_block(value: Any) -> list[str]:
    return ["```json", _pretty(value), "```"]


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode("utf-8", "replace")


def _quoted(text: str) -> str:
    """Return text as a YAML scalar in double quotes, which a JSON string of one line is.

    It holds no three hyphens in a row, because the reference parser ends the frontmatter at any such.
    """
    return msgspec.json.encode(one_line(text, 2000)).decode().replace("--", r"-\x2d")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _joined(lines: Sequence[str]) -> str:
    return str(neutralise("\n".join(lines))) + "\n"


def _encoded(files: dict[str, str]) -> dict[str, bytes]:
    return {path: text.encode("utf-8", "replace") for path, text in files.items()}
