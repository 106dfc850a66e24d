"""Ordinary tools as good models write them, read from `honest/*.txt`; `tests/attack/drafts/README.md` says how they are written."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from alita_tui.events import Capabilities, ToolDraft
from alita_tui.toolsmith.contract import normalise

FOLDER = Path(__file__).parent / "honest"
_HEAD = re.compile(r"(?m)^=== (\w+) \| ([^|\n]+) \| ([^|\n]+)$")
_REFUSED = """
def refused(*given):
    try:
        run(*given)
    except ValueError:
        return True
    return False
"""
_SERVED = """
PAGES = {pages}


class Page(BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = PAGES.get(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len((body or "").encode())))
        self.end_headers()
        self.wfile.write((body or "").encode())

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass


def served(work):
    server = HTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        return work(f"http://127.0.0.1:{{server.server_port}}")
    finally:
        server.shutdown()
        server.server_close()
"""


@dataclass(frozen=True)
class Recipe:
    """One honest tool as it is written down."""

    name: str
    purpose: str
    task: str
    code: str
    """Without the module's docstring."""
    tests: str
    """What follows the import of `run`."""
    seen: tuple[str, ...]
    """Arguments, as they stand in code, whose results its tests know."""
    others: tuple[str, ...]
    """Arguments that its own tests do not use."""
    bad: tuple[str, ...] = ()
    """Arguments that have to be refused."""
    told: tuple[str, ...] = ()
    """Arguments with their results, as `ARGUMENTS => RESULT`, where it takes a package to know them."""
    takes: dict[str, Any] = field(default_factory=dict)
    gives: dict[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    asks: dict[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The module."""
        # A blank between docstring and code, and what the annotations need.
        typing = "from typing import Any\n" if re.search(r"\bAny\b", self.code) else ""
        first = self.code.startswith(("import ", "from "))
        return f'"""{self.purpose}"""\n\n{typing}{"" if first or not typing else chr(10) * 2}{self.code}'

    def draft(self, **changed: Any) -> ToolDraft:
        """The draft as the toolsmith gets it; `changed` are fields of it that are otherwise."""
        fields: dict[str, Any] = {
            "name": self.name,
            "description": self.purpose,
            "code": self.source,
            "tests": f"from {self.name} import run\n\n{self.tests}",
            "requirements": self.needs,
            "input_schema": self.input_schema(),
            "output_schema": self.output_schema(),
            "capabilities": _capabilities(self.asks),
        }
        if any(line.startswith("import threading") for line in self.tests.splitlines()):
            imports = "import os\n" if "os.environ" in self.tests else ""
            imports += "import threading\nfrom http.server import BaseHTTPRequestHandler, HTTPServer\n"
            rest = self.tests.replace("import threading\n", "", 1)
            fields["tests"] = f"{imports}\nfrom {self.name} import run\n\n{rest}"
        return normalise(ToolDraft(**{**fields, **changed}))

    def input_schema(self) -> dict[str, Any]:
        """What `run` takes, from its annotations and what is written down besides."""
        return input_schema(self.source, self.takes)

    def output_schema(self) -> dict[str, Any]:
        """What `run` gives: its annotation, and for objects the keys that its results have."""
        if self.gives:
            return self.gives
        _, returns = signature(self.source)
        if "Any" not in ast.unparse(returns):
            return schema_of(returns)
        return shape_of([result for _, result, refused in self.known() if not refused])

    def run(self, arguments: dict[str, Any]) -> Any:
        """What the tool gives. Only for these templates, which are ours; no draft of a model runs like this."""
        return _function(self.source)(**arguments)

    def arguments(self, written: str) -> dict[str, Any]:
        """Arguments by name. They are written as in a call."""
        names, _ = signature(self.source)
        values = eval(f"[{written}]")
        return dict(zip((one.arg for one in names.args), values, strict=False))

    def reviewed(self) -> tuple[tuple[dict[str, Any], Any, bool], ...]:
        """What a reviewer who knows the contract writes down: other cases, usual ones, and bad input."""
        told = [one.split(" => ") for one in self.told]
        known = tuple((self.arguments(given), eval(result), False) for given, result in told)
        return known + self.known((*self.others, *self.seen[:4], *self.bad[:2]))

    def known(self, written: Iterable[str] | None = None) -> tuple[tuple[dict[str, Any], Any, bool], ...]:
        """Arguments with what the contract says of them: a result, or that they are refused."""
        found = []
        for one in (*self.seen, *self.others) if written is None else written:
            arguments = self.arguments(one)
            try:
                found.append((arguments, json.loads(json.dumps(self.run(arguments))), False))
            except ValueError:
                found.append((arguments, None, True))
        return tuple(found)


@cache
def recipes() -> dict[str, Recipe]:
    """All of them, by name."""
    found = [one for path in sorted(FOLDER.glob("*.txt")) for one in _read(path.read_text("utf-8"))]
    assert len({one.name for one in found}) == len(found)
    return {one.name: one for one in found}


def _read(text: str) -> Iterator[Recipe]:
    pieces = _HEAD.split(text)
    for name, purpose, task, body in zip(*(pieces[n::4] for n in (1, 2, 3, 4)), strict=True):
        code, _, rest = body.strip("\n").partition("\n--\n")
        settings: dict[str, Any] = {"takes": {}, "gives": {}, "asks": {}}
        while code.startswith("% "):
            line, _, code = code.partition("\n")
            word, _, value = line[2:].partition(" ")
            settings[word] = tuple(value.split()) if word == "needs" else json.loads(value)
        yield _recipe(name, purpose.strip(), task.strip(), code.strip("\n") + "\n", rest, settings)


def _recipe(name: str, purpose: str, task: str, code: str, rest: str, settings: dict[str, Any]) -> Recipe:
    seen, bad, others, told, own, pages = [], [], [], [], [], {}
    for line in rest.splitlines():
        mark, written = line[:2], line[2:]
        if mark == "> ":
            seen.append(written)
        elif mark == "! ":
            bad.append(written)
        elif mark == "? ":
            others.append(written)
        elif mark == "= ":
            told.append(written)
        elif line.startswith("%serve "):
            given = re.findall(r"'([^']*)'", line.replace("\\n", "\n"))
            pages = dict(zip(given[::2], given[1::2], strict=True))
        else:
            own.append(line)
    lists = (tuple(seen), tuple(others), tuple(bad), tuple(told))
    base = Recipe(name, purpose, task, code, "", *lists, **settings)
    return replace(base, tests=_tests(base, bad, own, pages))


def _tests(base: Recipe, bad: list[str], own: list[str], pages: dict[str, str]) -> str:
    """Tests of two or three cases each, with the results written out."""
    written = "\n".join(own).strip()
    text = f"import threading\n{_SERVED.format(pages=repr(pages))}" if pages else ""
    if bad or "refused(" in written:
        text += ("\n" if pages else "") + _REFUSED
    cases = []
    for one in base.seen:
        try:
            result = base.run(base.arguments(one))
        except ValueError as error:
            raise AssertionError(f"{base.name} refuses {one}: {error}") from error
        equal = f"run({one}) is {result}" if isinstance(result, bool) else f"run({one}) == {result!r}"
        cases.append(equal)
    names = ("typical", "other", "edge", "more", "last", "further")
    for number, start in enumerate(range(0, len(cases), 2)):
        body = "".join(f"    assert {one}\n" for one in cases[start : start + 2])
        text += f"\n\ndef test_{names[number]}_cases():\n{body}"
    if written:
        text += f"\n\n{written}\n"
    if bad:
        body = "".join(f"    assert refused({one})\n" for one in bad)
        text += f"\n\ndef test_bad_input_is_refused():\n{body}"
    return text.lstrip("\n")


@cache
def _function(source: str) -> Callable[..., Any]:
    space: dict[str, Any] = {"__name__": "template"}
    stand_ins = {"steady_columns": None, "steady_strings": None, "steady_orders": None}
    if any(f"import {one}" in source or f"from {one}" in source for one in stand_ins):
        return _refuse_only
    import sys
    import types

    module = types.ModuleType("template")
    sys.modules["template"] = module  # dataclasses look their module up
    space = module.__dict__
    exec(compile(source, "template.py", "exec"), space)  # the template itself, which is ours
    run: Callable[..., Any] = space["run"]
    return run


def _refuse_only(**_: Any) -> Any:
    raise ValueError("what needs a package is known by its tests only")


def signature(source: str) -> tuple[ast.arguments, ast.expr]:
    """The parameters of `run` and what it returns."""
    found = [one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef) and one.name == "run"]
    assert found[-1].returns is not None
    return found[-1].args, found[-1].returns


def input_schema(source: str, more: dict[str, Any]) -> dict[str, Any]:
    """A schema for the parameters of `run`."""
    given, _ = signature(source)
    assert all(one.annotation for one in given.args)
    properties = {one.arg: more.get(one.arg) or schema_of(one.annotation) for one in given.args}
    required = [one.arg for one in given.args[: len(given.args) - len(given.defaults)]]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def schema_of(annotation: ast.expr | None) -> dict[str, Any]:
    """The schema of a type annotation."""
    plain = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "None": "null"}
    match annotation:
        case ast.Name(name):
            return {"type": plain[name]} if name in plain else {}
        case ast.Constant(None):
            return {"type": "null"}
        case ast.Constant(str(text)):
            return schema_of(ast.parse(text, mode="eval").body)
        case ast.Subscript(ast.Name("list"), inner):
            return {"type": "array", "items": schema_of(inner)}
        case ast.Subscript(ast.Name("dict"), ast.Tuple([_, inner])):
            return {"type": "object", "additionalProperties": schema_of(inner)}
        case ast.BinOp(left, ast.BitOr(), right):
            return {"anyOf": [schema_of(left), schema_of(right)]}
        case _:
            raise ValueError(f"no schema for {annotation and ast.unparse(annotation)}")


def shape_of(values: list[Any]) -> dict[str, Any]:
    """The narrowest plain schema that all values meet, as a careful writer would say it."""
    kinds = {_kind(one) for one in values}
    if kinds == {"object"}:
        keys = list(dict.fromkeys(key for one in values for key in one))
        properties = {key: shape_of([one[key] for one in values if key in one]) for key in keys}
        required = [key for key in keys if all(key in one for one in values)]
        if len(required) == len(keys):
            return {"type": "object", "properties": properties, "required": required}
        return {
            "type": "object",
            "additionalProperties": shape_of([x for one in values for x in one.values()]),
        }
    if kinds == {"array"}:
        inner = [x for one in values for x in one]
        return {"type": "array", "items": shape_of(inner)} if inner else {"type": "array"}
    if "number" in kinds:
        kinds -= {"integer"}
    listed = sorted(kinds)
    return {"type": listed[0] if len(listed) == 1 else listed}


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    kinds = {
        str: "string",
        int: "integer",
        float: "number",
        dict: "object",
        list: "array",
        type(None): "null",
    }
    return kinds[type(value)]


def _capabilities(asks: dict[str, Any]) -> Capabilities:
    listed: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in asks.items()
    }
    return Capabilities(**listed)


def indent(text: str) -> str:
    """Text as it stands in a function's body."""
    return textwrap.indent(text, "    ")
