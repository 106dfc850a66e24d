import asyncio
import json
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_tui.events import Capabilities, ToolDraft, ToolName
from alita_tui.toolsmith.contract import draft_from, normalise
from alita_tui.toolsmith.review import Review, review
from tests.toolsmith.samples import GOOD, RUN, SCHEMA, TESTS

ROOT = Path(__file__).parents[2]


def reviewed(head="", tail="", **changes) -> Review:
    """The review of the good draft with code before and after `run`, and other fields changed."""
    return review(msgspec.structs.replace(GOOD, **{"code": head + RUN + tail, **changes}))


def found(result: Review, rule: str, text: str = ""):
    """The one finding of a rule whose text holds the given one."""
    hits = [one for one in result.findings if one.rule == rule and text in one.text]
    assert len(hits) == 1, result.findings
    return hits[0]


# --- good drafts -----------------------------------------------------------------------------


def recorded_drafts():
    script = json.loads((ROOT / "sessions" / "demo.script.json").read_text("utf-8"))
    requests = [
        request
        for rule in script["rules"]
        for reply in rule["replies"]
        for request in reply.get("requests", ())
        if request["name"] == "submit_tool"
    ]
    return [normalise(draft_from(request["arguments"])) for request in requests]


def test_the_recorded_tools_pass_with_nothing_above_low():
    drafts = recorded_drafts()
    assert len(drafts) >= 2
    for draft in drafts:
        result = review(draft)
        assert result.passed
        assert [one for one in result.findings if one.severity in ("medium", "high")] == []


def test_a_good_draft_has_no_findings_and_its_imports_are_listed():
    assert reviewed() == Review(findings=(), passed=True)
    assert review(normalise(GOOD)) == Review(findings=(), passed=True, imports=("json", "sys"))


@pytest.mark.parametrize(
    "head",
    [
        "import re\n\n_WORD = re.compile(r'\\w+')\n_SET = frozenset(('a', 'b'))\n",
        "from dataclasses import dataclass, field\n\n\n@dataclass(frozen=True)\nclass A:\n"
        "    b: list[int] = field(default_factory=list)\n",
        "from functools import lru_cache\n\n\n@lru_cache(maxsize=None)\ndef helper(n: int) -> int:\n    return n\n",
        "from urllib.parse import urlparse\nimport urllib.parse\nfrom http import HTTPStatus\n",
        "import math\nfrom collections import Counter\n",
        "PATTERN = '\\d'\n",  # an invalid escape is a warning, not a fault
        "def helper(requests: list[str]) -> int:\n    return len(requests.copy())\n",
    ],
)
def test_ordinary_code_has_no_findings(head):
    assert reviewed(head) == Review(findings=(), passed=True, imports=reviewed(head).imports)


@pytest.mark.parametrize(
    ("requirement", "line", "module"),
    [
        ("beautifulsoup4>=4.12", "from bs4 import BeautifulSoup", "bs4"),
        ("Pillow", "from PIL import Image", "PIL"),
        ("PyYAML", "import yaml", "yaml"),
        ("python-dateutil", "from dateutil.parser import parse", "dateutil"),
        ("ruamel.yaml", "from ruamel.yaml import YAML", "ruamel"),
        ("scikit-learn", "import sklearn.svm", "sklearn"),
        ("email-validator", "import email_validator", "email_validator"),
        ("google-cloud-storage", "from google.cloud import storage", "google"),
        ("psycopg2-binary", "import psycopg2", "psycopg2"),
        ("pyserial", "import serial", "serial"),
    ],
)
def test_a_requirement_covers_its_module(requirement, line, module):
    result = reviewed(f"{line}\n", requirements=(requirement,))
    assert result == Review(findings=(), passed=True, imports=(module,))


# --- faults that make testing senseless ------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "rule", "said"),
    [
        ({"code": "def run(x: int) -> int:\n    return (x\n"}, "ast/syntax", "code: '(' was never closed"),
        ({"tests": "def test_a(:\n"}, "ast/syntax", "tests, line 1"),
        ({"code": "x = 1\0"}, "ast/syntax", "null bytes"),
        ({"code": "x = " + "-" * 90_000 + "1"}, "ast/syntax", "nested too deeply"),
        ({"code": "x" + ".y" * 50_000}, "ast/syntax", "nested too deeply"),
        ({"code": "(" * 90_000}, "ast/syntax", "too many nested parentheses"),
        ({"code": "#" * 200_001}, "ast/syntax", "longer than 200000 bytes"),
        ({"code": '"""Nothing."""\n'}, "contract", "there are 0"),
        ({"code": RUN + RUN}, "contract", "there are 2"),
        ({"code": f"class A:\n    {RUN.replace(chr(10), chr(10) + '    ')}\n"}, "contract", "there are 0"),
        ({"code": RUN + "run = print\n"}, "contract", "bound a second time"),
        ({"code": RUN + "from os import getcwd as run\n"}, "contract", "bound a second time"),
        ({"code": "async " + RUN}, "contract", "may not be async"),
        ({"code": RUN.replace("return", "yield")}, "contract", "may not be async or a generator"),
        ({"code": RUN.replace("times: int = 2", "*times: int")}, "contract", "named parameters only"),
        ({"code": RUN.replace("times: int = 2", "**times: int")}, "contract", "named parameters only"),
        ({"code": RUN.replace("x: int,", "x: int, /,")}, "contract", "named parameters only"),
        ({"code": RUN.replace("x: int", "x")}, "contract", "not fully annotated: x"),
        ({"code": RUN.replace(" -> int", "")}, "contract", "not fully annotated: the result"),
        ({"input_schema": {}}, "schema", "type object"),
        ({"input_schema": {"type": "array"}}, "schema", "type object"),
        ({"input_schema": {**SCHEMA, "properties": []}}, "schema", "type object"),
        ({"input_schema": {"type": "object", "properties": {"x": {}}}}, "schema", "lacks these parameters of run: times"),
        (
            {"input_schema": {**SCHEMA, "properties": {**SCHEMA["properties"], "y": {}}}},
            "schema",
            "what run does not take: y",
        ),
        ({"input_schema": {**SCHEMA, "required": []}}, "schema", "has to require what has no default: x"),
        ({"input_schema": {**SCHEMA, "required": ["x", "y"]}}, "schema", "does not describe: y"),
        ({"output_schema": {"type": "number of things"}}, "schema", "output_schema is no valid JSON Schema"),
        ({"output_schema": {"$ref": "https://example.org/s.json"}}, "schema", "outside of itself"),
        ({"tests": "from multiply import run\n"}, "tests", "no top-level test_* function"),
        (
            {"tests": "import multiply\n\n\nclass TestIt:\n    def test_a(self):\n        assert multiply.run(1)\n"},
            "tests",
            "no top-level test_* function",
        ),
        ({"tests": TESTS.replace("from multiply import run", "run = max")}, "tests", "do not import multiply"),
        ({"tests": TESTS.replace("assert ", "")}, "tests", "no test asserts anything"),
        ({"tests": TESTS.replace("twice()", "twice(tmp_path)")}, "tests", "test_twice takes parameters"),
        ({"tests": TESTS.replace("twice()", "twice(*, a)")}, "tests", "test_twice takes parameters"),
        ({"tests": TESTS.replace("def test_t", "async def test_t", 1)}, "tests", "test_twice is async"),
        ({"tests": TESTS + "    yield\n"}, "tests", "test_thrice is async or a generator"),
        ({"tests": "import pytest\n" + TESTS}, "ast/imports", "tests, line 1: imports pytest"),
    ],
)  # fmt: skip
def test_a_fault_blocks_with_its_own_words(changes, rule, said):
    result = reviewed(**changes)
    one = found(result, rule, said)
    assert one.blocking
    assert one.severity == "high"
    assert not result.passed


def test_a_syntax_error_names_line_and_text():
    one = found(reviewed(code=RUN + "\nx = = 1\n"), "ast/syntax")
    assert one.line == 5
    assert "`x = = 1`" in one.text


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("import pandas.io", "imports pandas, which neither"),
        ("from . import helper", "relative import"),
        ("from .helper import a", "relative import"),
        ("from multiply import run as again", "its own name"),
        ("import multiply", "its own name"),
    ],
)
def test_an_import_that_cannot_work_blocks(line, said):
    result = reviewed(f"\n{line}\n")
    one = found(result, "ast/imports")
    assert (one.blocking, one.line) == (True, 2)
    assert said in one.text.replace("the tool's own name", "its own name")


def test_a_missing_requirement_blocks_although_others_are_used():
    result = reviewed("import attrs\nimport pandas\n", requirements=("attrs",))
    assert found(result, "ast/imports").blocking
    assert not result.passed


def test_a_requirement_of_another_name_may_provide_the_module():
    result = reviewed("import quux\n", requirements=("foo-tools",))
    assert (result.findings, result.passed, result.imports) == (
        (),
        True,
        ("quux",),
    )  # the installed wheel will tell
    result = reviewed("import quux\nimport quuz\n", requirements=("foo-tools",))
    assert [one.blocking for one in result.findings] == [True, True]


def test_an_import_whose_failure_is_caught_does_not_block():
    head = "try:\n    import orjson as json\nexcept ImportError:\n    import json\n"
    one = found(reviewed(head), "ast/imports")
    assert (one.severity, one.blocking, one.line) == ("low", False, 2)


def test_an_unused_requirement_of_python_is_reported():
    result = reviewed(requirements=("attrs",))
    assert found(result, "ast/imports").text == "nothing imports what these provide: attrs"
    assert result.passed


def test_a_deep_schema_blocks():
    schema: dict[str, object] = {}
    for _ in range(3000):
        schema = {"not": schema}
    assert found(reviewed(output_schema=schema), "schema").text == "output_schema is nested too deeply"


# --- advice ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "rule", "severity"),
    [
        ("import socket", "ast/network", "high"),
        ("from urllib.request import urlopen", "ast/network", "high"),
        ("from urllib import request", "ast/network", "high"),
        ("import http.client", "ast/network", "high"),
        ("import asyncio\n\n\nasync def f() -> None:\n    await asyncio.open_connection('h', 1)", "ast/network", "high"),
        ("import subprocess", "ast/process", "high"),
        ("import ctypes as c", "ast/process", "high"),
        ("from multiprocessing import Pool", "ast/process", "high"),
        ("from concurrent.futures import ProcessPoolExecutor", "ast/process", "high"),
        ("from os import system as s", "ast/process", "high"),
        ("import os as o\n\n\ndef f() -> None:\n    o.execvp('a', [])", "ast/process", "high"),
        ("import os\n\n\ndef f() -> object:\n    g = os.popen\n    return g", "ast/process", "high"),
        ("def f() -> None:\n    eval('1')", "ast/dynamic", "high"),
        ("def f() -> None:\n    exec('1')", "ast/dynamic", "high"),
        ("def f() -> object:\n    return __import__('os')", "ast/dynamic", "high"),
        ("def f() -> object:\n    return compile('1', '', 'eval')", "ast/dynamic", "high"),
        ("import importlib", "ast/dynamic", "high"),
        ("from pickle import loads", "ast/dynamic", "high"),
        ("import marshal", "ast/dynamic", "high"),
        ("def f(x: object) -> object:\n    return x.__class__.__base__.__subclasses__()", "ast/dynamic", "high"),
        ("import os\n\n\ndef f() -> object:\n    return os.environ['A']", "ast/environment", "medium"),
        ("import os\n\n\ndef f() -> object:\n    return os.getenv('A')", "ast/environment", "medium"),
        ("from os import environ", "ast/environment", "medium"),
        ("def f() -> object:\n    return open('a', 'w')", "ast/files", "medium"),
        ("def f() -> object:\n    return open('a', mode='ab')", "ast/files", "medium"),
        ("def f(m: str) -> object:\n    return open('a', m)", "ast/files", "medium"),
        ("def f(**m: str) -> object:\n    return open('a', **m)", "ast/files", "medium"),
        ("from pathlib import Path\n\n\ndef f() -> None:\n    Path('a').write_text('b')", "ast/files", "medium"),
        ("from pathlib import Path\n\n\ndef f() -> object:\n    return Path('a').open('w')", "ast/files", "medium"),
        ("import shutil\n\n\ndef f() -> None:\n    shutil.rmtree('a')", "ast/files", "medium"),
        ("import os\n\n\ndef f() -> None:\n    os.remove('a')", "ast/files", "medium"),
        ("print('hello')", "contract", "medium"),
        ("for i in (1, 2):\n    pass", "contract", "medium"),
        ("import random\n\nX = random.random()", "contract", "low"),
        ("class A:\n    import time\n    t = time.time()", "contract", "low"),
        ("x = 1  # \u202e", "ast/hidden", "high"),
        ("x = 'a\u200bb'", "ast/hidden", "high"),
        ("X = '" + "a" * 501 + "'", "ast/long-line", "low"),
    ],
)  # fmt: skip
def test_access_of_the_code_is_reported_without_blocking(code, rule, severity):
    one = found(reviewed(tail=f"\n\n{code}\n"), rule)
    assert (one.severity, one.blocking) == (severity, False)
    assert one.line >= 6
    assert reviewed(tail=f"\n\n{code}\n").passed


def test_a_module_is_reported_once_where_it_is_imported():
    tail = "\n\nimport socket\n\n\ndef f() -> None:\n    socket.socket().connect(('h', 1))\n"
    assert found(reviewed(tail=tail), "ast/network").line == 6


@pytest.mark.parametrize(
    ("code", "granted", "rule"),
    [
        ("import socket", Capabilities(network=("example.org:443",)), "ast/network"),
        ("def f() -> object:\n    return open('a', 'w')", Capabilities(workspace="write"), "ast/files"),
        ("import os\n\n\ndef f() -> object:\n    return os.environ['KEY']", Capabilities(secrets=("KEY",)), "ast/environment"),
    ],
)  # fmt: skip
def test_declared_access_has_no_findings(code, granted, rule):
    assert rule in {one.rule for one in reviewed(tail=f"\n{code}\n").findings}
    assert rule not in {one.rule for one in reviewed(tail=f"\n{code}\n", capabilities=granted).findings}


@pytest.mark.parametrize(
    ("changes", "rule", "severity", "said"),
    [
        ({"code": RUN.replace('    """Multiply."""\n', "")}, "contract", "low", "docstring"),
        ({"input_schema": {**SCHEMA, "required": ["x", "times"]}}, "schema", "low", "what has a default: times"),
        ({"output_schema": {}}, "schema", "low", "says nothing"),
        ({"tests": TESTS.split("\n\n\ndef test_thrice")[0] + "\n"}, "tests", "medium", "only one test"),
        ({"tests": TESTS.replace("assert run(2, 3)", "run(2, 3)")}, "tests", "medium", "test_thrice asserts nothing"),
        ({"tests": TESTS + "    # \u202e\n"}, "ast/hidden", "high", "tests, line 10"),
        ({"description": "Multi\u200bply."}, "ast/hidden", "high", "description"),
        ({"output_schema": {"title": "\u202ex"}}, "ast/hidden", "high", "output_schema"),
        (
            {"code": f'# /// script\n# dependencies = ["attrs"]\n# ///\n{RUN}'},
            "contract",
            "medium",
            "header lists attrs; the requirements are none",
        ),
        ({"code": f"# /// script\n# dependencies = [\n# ///\n{RUN}"}, "contract", "medium", "no TOML"),
        ({"code": RUN + "\n\nx = " + "+".join("a" * 400) + "\n"}, "bandit", "medium", "not scanned"),
    ],
)  # fmt: skip
def test_a_weakness_is_reported_without_blocking(changes, rule, severity, said):
    result = reviewed(**changes)
    one = found(result, rule, said)
    assert (one.severity, one.blocking) == (severity, False)
    assert result.passed


@pytest.mark.parametrize(
    "body",
    [
        "    try:\n        run(None)\n    except TypeError:\n        return\n    raise AssertionError\n",
        "    try:\n        run(None)\n    except TypeError:\n        pass\n    else:\n        assert False\n",
        "    check(2, 4)\n",
    ],
)
def test_tests_without_pytest_count(body):
    helper = "\n\ndef check(x, y):\n    assert run(x) == y\n"
    assert reviewed(tests=f"{TESTS}{helper}\n\ndef test_more():\n{body}") == Review(findings=(), passed=True)


# --- bandit ----------------------------------------------------------------------------------

SHELL = "\n\nimport subprocess\n\n\ndef f(a: str) -> None:\n    subprocess.run(a, shell=True){}\n"


@pytest.mark.parametrize("comment", ["", "  # nosec", "  # nosec B602"])
def test_bandit_is_merged_and_no_comment_silences_it(comment):
    result = reviewed(tail=SHELL.format(comment))
    one = found(result, "B602")
    assert (one.severity, one.line) == ("high", 10)
    assert [one.rule for one in result.findings] == ["ast/process", "B602"]  # B404 says the same as ours


def test_bandit_reads_the_tests_but_not_their_asserts():
    result = reviewed(tests=TESTS + "\n\ndef test_more():\n    password = 'hunter2'\n    assert password\n")
    one = found(result, "B105")
    assert (one.severity, one.line) == ("low", 0)
    assert one.text.startswith("tests, line 13: ")
    assert "B101" not in {one.rule for one in result.findings}
    assert found(reviewed(tail="\n\ndef f(a: int) -> None:\n    assert a\n"), "B101").line == 7


def test_a_review_leaves_no_files(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    reviewed(tail=SHELL.format(""))
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    result = reviewed()
    assert found(result, "bandit").text == "the scan did not run: No such file or directory"
    assert result.passed


# --- what the review itself promises -----------------------------------------------------------


def test_a_review_runs_no_code(tmp_path):
    mark = tmp_path / "mark"
    code = f"open({str(mark)!r}, 'w').close()\nimport multiply_evil\n"
    before = set(sys.modules)
    reviewed(code, tests=code + TESTS)
    assert not mark.exists()
    assert "multiply_evil" not in set(sys.modules) - before


def test_findings_are_in_order_and_the_same_each_time():
    tail = "\n\nimport subprocess, socket\nprint(eval('1'))\nimport pandas, zlib_ng\n" + SHELL.format("")
    first, again = reviewed(tail=tail), reviewed(tail=tail)
    assert first == again
    keys = [(one.line, one.rule, one.text) for one in first.findings]
    assert keys == sorted(keys)
    assert first.imports == ("pandas", "socket", "subprocess", "zlib_ng")


def test_a_draft_cannot_bury_its_reader():
    result = reviewed(tail="".join(f"x{i} = '\u200b'\n" for i in range(5000)))
    hidden = [one for one in result.findings if one.rule == "ast/hidden"]
    assert len(hidden) == 21
    assert hidden[-1].text.endswith("(and more of ast/hidden below)")


def test_quotes_from_a_draft_are_neutralised():
    one = found(reviewed(code=RUN + "\nx = \x1b]0;title\x07 = 1\n"), "ast/syntax")
    assert "\x1b" not in one.text
    assert len(one.text) <= 300


async def test_a_review_works_in_a_thread_without_output(capfd):
    code = "x = '\\d'\n" + RUN + "\ny = " + "+".join("a" * 400) + "\n"
    results = await asyncio.gather(*(asyncio.to_thread(reviewed, code=code) for _ in range(2)))
    assert results[0] == results[1]
    assert capfd.readouterr() == ("", "")


source = st.text(max_size=300) | st.lists(
    st.sampled_from(RUN.split() + TESTS.split() + ["\n", "\n    ", " ", "import ", "from . ", "[" * 99, "eval(", "# ///"])
).map(" ".join)  # fmt: skip
schemas = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "required", "$ref", "items", "x", "enum", "$schema"]),
            inner,
        )
    ),
    max_leaves=10,
)


@settings(max_examples=60)
@given(source, source, schemas, schemas, st.lists(st.text(max_size=10), max_size=2))
def test_any_text_can_be_reviewed(code, tests, input_schema, output_schema, requirements):
    draft = msgspec.structs.replace(
        GOOD,
        code=code,
        tests=tests,
        input_schema=input_schema,
        output_schema=output_schema,
        requirements=tuple(requirements),
    )
    result = review(draft)
    assert result.passed is not any(one.blocking for one in result.findings)
    msgspec.json.encode(result)


# --- what tests see of the tool --------------------------------------------------------------

TWO = "class BadInput(ValueError):\n    pass\n\n\nclass Worse(BadInput):\n    pass\n\n\nLIMIT = 3\n\n\ndef helper(x):\n    return x\n\n\ndef run(x: int) -> int:\n    return helper(x)\n"


@pytest.mark.parametrize(
    ("first", "refused"),
    [
        ("from double_it import run", ""),
        ("from double_it import run, BadInput, Worse", ""),
        ("import double_it as d\nrun = d.run\nBad = d.BadInput", ""),
        ("from double_it import helper, run", "helper"),
        ("from double_it import LIMIT, run", "LIMIT"),
        ("from double_it import *", "*"),
        ("import double_it\nfrom double_it import run\ndouble_it.helper = None", "helper"),
    ],
)
def test_tests_that_use_more_than_run_and_its_exceptions_are_refused(first: str, refused: str) -> None:
    tests = f"{first}\n\n\ndef test_it():\n    assert run(1) == 1\n"
    fields = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    draft = ToolDraft(
        name=ToolName("double_it"), description="d", code=TWO, tests=tests, input_schema=fields, output_schema={"type": "integer"}
    )  # fmt: skip
    blocking = [one.text for one in review(draft).findings if one.blocking]
    assert blocking == (
        [
            f"tests, line {len(first.splitlines())}: uses {refused} of double_it; tests see `run` and its exceptions only"
        ]
        if refused
        else []
    )
