"""Files of a scratch workspace: those that a draft's own tests write out, and those of cases by a model. Pure."""

from __future__ import annotations

import ast
import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from alita_tui.events import Capabilities, Json, ToolDraft
from alita_tui.runtimes.python.constant_folding import Folding
from alita_tui.spine.judge_plan import ANSWERS, stands_in
from alita_tui.spine.syntax import try_parse

MOST_FILES = 5
LARGEST_FILE = 100_000
"""Bytes of one file that a case carries."""
MOST_ANSWERS = 50
_NAME = re.compile(r"[\w][\w. -]{0,79}(?:/[\w][\w. -]{0,79}){0,3}", re.ASCII)


def granted(draft: ToolDraft, files: Mapping[str, bytes] | None = None) -> dict[str, Any]:
    """Return the fields of a job in which stand-ins replace everything that a draft requests; none if that is nothing.

    The files are `files`, otherwise those that the tests write out; the answers of hosts are from the tests. Tests
    without stand-ins have their own servers; a browser, which reaches nothing by itself, is granted even then.
    """
    if draft.capabilities.none:
        return {}
    if files is None and not stands_in(draft.tests):
        browser_only = Capabilities(browser=True)
        return {"capabilities": browser_only, "scratch": {}} if draft.capabilities.browser else {}
    scratch = written_out(draft)
    if files is not None:
        scratch = {name: data for name, data in scratch.items() if name == ANSWERS} | dict(files)
    return {"capabilities": draft.capabilities, "scratch": scratch}


def written_out(draft: ToolDraft) -> dict[str, bytes]:
    """Return the files and answers that the draft's tests write out in calls of the stand-ins, the first of each name.

    The answers, of hosts and of tools that are called, are one entry, `ANSWERS`. So calls outside of the tests find the
    files and answers to which the tests' own arguments refer.
    """
    if not stands_in(draft.tests) or (tree := try_parse(draft.tests)) is None:
        return {}
    folding = Folding(tree)
    files: dict[str, bytes] = {}
    answers: dict[str, Json] = {}
    results: dict[str, Json] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        arguments = [value_of(part, folding) for part in node.args]
        keywords = {word.arg: value_of(word.value, folding) for word in node.keywords if word.arg}
        match ast.unparse(node.func), arguments:
            case "workspace.write" | "write", [str(name), str() | bytes() as content]:
                data = _bytes(content)
                if _NAME.fullmatch(name) and len(data) <= LARGEST_FILE:
                    files.setdefault(name, data)
            case "hosts.answer" | "answer", [str(request), content] if len(answers) < MOST_ANSWERS:
                data = _bytes(content)
                status, headers = keywords.get("status", 200), keywords.get("headers", {})
                if len(data) <= LARGEST_FILE and isinstance(status, int) and isinstance(headers, dict):
                    body = base64.b64encode(data).decode()
                    answers.setdefault(request, {"status": status, "headers": headers, "body": body})
            case "hosts.tool" | "tool", [str(name), result] if len(results) < MOST_ANSWERS:
                is_plain = result is not None and not {"arguments", "error"} & {*keywords}
                if is_plain and 0 < len(_bytes(result)) <= LARGEST_FILE:
                    results.setdefault(name, {"result": result})
            case _:
                pass
    if answers or results:
        files[ANSWERS] = msgspec.json.encode({"answers": answers, "tools": results})
    return files


def safe_name(name: str) -> bool:
    """Return whether this can be the name of a file: relative, plain, at most four levels deep."""
    return _NAME.fullmatch(name) is not None


def value_of(node: ast.expr, folding: Folding) -> Any:
    """Return the value of a literal, or of what can be folded to one; None for anything else."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return folding.value(node)


def _bytes(content: object) -> bytes:
    """Return a content as the bytes that the stand-ins make of it."""
    if isinstance(content, str):
        return content.encode("utf-8", "replace")
    if isinstance(content, bytes):
        return content
    try:
        return msgspec.json.encode(content)
    except (TypeError, ValueError, RecursionError):
        return b""


def carried(files: Json) -> dict[str, bytes] | None:
    """Return the files of a case, each a text or `{"base64": TEXT}`; None if they are invalid."""
    if files is None:
        return {}
    if not isinstance(files, dict) or len(files) > MOST_FILES:
        return None
    contents: dict[str, bytes] = {}
    for name, content in files.items():
        try:
            if isinstance(content, str):
                data = content.encode("utf-8")
            elif isinstance(content, dict) and isinstance(content.get("base64"), str):
                data = base64.b64decode(str(content["base64"]), validate=True)
            else:
                return None
        except (UnicodeEncodeError, binascii.Error, ValueError):
            return None
        if not _NAME.fullmatch(name) or len(data) > LARGEST_FILE:
            return None
        contents[name] = data
    return contents
