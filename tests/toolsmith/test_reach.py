"""What a draft can reach is named however it goes about it; ordinary tools are left in peace."""

from __future__ import annotations

import msgspec
import pytest

from alita_tui.config.paths import shipped
from alita_tui.events import Finding, ToolDraft
from alita_tui.registry.starters import Starters
from alita_tui.runtimes.python.stdlib_modules import attribute
from alita_tui.toolsmith.review import review
from tests.toolsmith.corpus import corpus
from tests.toolsmith.reaching import findings
from tests.toolsmith.samples import GOOD, RUN, TESTS


def rules(top: str = "", body: str = "pass", **changes: object) -> set[str]:
    return {one.rule for one in findings(top, body, **changes)}


@pytest.mark.parametrize(
    ("module", "name", "means"),
    [
        ("random", "_os", "os"),
        ("json.decoder", "scanner", "json.scanner"),
        ("asyncio", "subprocess", "asyncio.subprocess"),
        ("logging.handlers", "socket", "socket"),
        ("pathlib", "os", "os"),
        ("posixpath", "os", "os"),
        ("csv", "reader", "csv.reader"),
        ("datetime", "datetime", "datetime.datetime"),
    ],
)
def test_an_attribute_of_a_module_is_resolved_to_its_origin(module: str, name: str, means: str) -> None:
    assert attribute(module, name) == means


@pytest.mark.parametrize(
    ("top", "body", "rule", "said"),
    [
        ("import random", "random._os.system('id')", "ast/process", "os.system"),
        ("import random", "o = random._os\no.system('id')", "ast/process", "os.system"),
        ("import random as r\n_X = {'a': r._os}", "_X['a'].system('id')", "ast/process", "os.system"),
        ("import random\n_L = []", "_L.append(random._os)\n_L[0].system('id')", "ast/process", "os.system"),
        ("import random\n\n\ndef _go(m: object) -> None:\n    m.system('id')", "_go(random._os)", "ast/process", "os.system"),
        ("import random\n\n\nclass A:\n    def __init__(self) -> None:\n        self.m = random._os", "A().m.system('id')", "ast/process", "os.system"),
        ("import random\n_g = lambda: random._os", "_g().system('id')", "ast/process", "os.system"),
        ("import random", "[m.system('id') for m in (random._os,)]", "ast/process", "os.system"),
        ("import random", "getattr(getattr(random, '_' + 'os'), ''.join(['sys', 'tem']))('id')", "ast/process", "os.system"),
        ("import functools\nimport random", "functools.partial(random._os.system, 'id')()", "ast/process", "os.system"),
        ("import random\n\n\ndef _f(x: random._os.system('id')) -> None:\n    pass", "pass", "ast/process", "os.system"),
        ("import random\n\n\n@random._os.system\ndef _f() -> None:\n    pass", "pass", "ast/process", "os.system"),
        ("from os import *", "system('id')", "ast/process", "os.system"),
        ("import posix", "posix.system('id')", "ast/process", "os.system"),
        ("import glob", "glob.os.popen('id')", "ast/process", "os.popen"),
        ("import asyncio", "asyncio.run(asyncio.subprocess.create_subprocess_shell('id'))", "ast/process", "asyncio.subprocess"),
        ("import asyncio", "asyncio.new_event_loop().subprocess_shell(object, 'id')", "ast/process", "subprocess_shell"),
        ("import webbrowser", "webbrowser.open('http://x')", "ast/process", "webbrowser"),
        ("import logging.handlers", "logging.handlers.SocketHandler('h', 1)", "ast/network", "SocketHandler"),
        ("import asyncio", "asyncio.new_event_loop().create_connection(object, 'h', 1)", "ast/network", "create_connection"),
        ("import sys", "sys.modules['os'].system('id')", "ast/dynamic", "sys.modules"),
        ("import enum", "enum.sys.modules", "ast/dynamic", "sys.modules"),
        ("import pkgutil", "pkgutil.resolve_name('os:system')('id')", "ast/dynamic", "pkgutil"),
        ("import json", "vars(json)['__builtins__']", "ast/dynamic", "can reach anything"),
        ("import json", "json.__dict__['x']", "ast/dynamic", "json.__dict__"),
        ("import json", "json.__builtins__", "ast/dynamic", "builtins"),
        ("import base64\nimport timeit", "timeit.timeit(base64.b64decode('eA==').decode(), number=1)", "ast/dynamic", "timeit"),
        ("import base64", "exec(base64.b64decode('eA=='))", "ast/dynamic", "exec"),
        ("import codecs", "codecs.builtins.exec('1')", "ast/dynamic", "builtins"),
        ("", "print.__self__.eval('1')", "ast/dynamic", "__self__"),
        ("import operator", "operator.attrgetter(str(x))(operator)", "ast/dynamic", "attrgetter"),
        ("import operator", "operator.attrgetter('a.__globals__')(run)", "ast/dynamic", "__globals__"),
        ("import json", "getattr(json, str(x))", "ast/dynamic", "getattr with a name that is not written out"),
        ("import functools\nimport random", "functools.reduce(getattr, ['_os', 'system'], random)", "ast/dynamic", "getattr is handed on"),
        ("", "'{0.__globals__}'.format(run)", "ast/dynamic", "__globals__"),
        ("import string", "string.Formatter().get_field('0.a', (run,), {})", "ast/dynamic", "Formatter"),
        ("", "type('A', (), {'x': 1})", "ast/dynamic", "three arguments"),
        ("import types", "types.FunctionType(compile('1', 'x', 'eval'), {})", "ast/dynamic", "types.FunctionType"),
        ("import time", "time.time = lambda: 0", "ast/dynamic", "time.time: changes"),
        ("import time", "setattr(time, 'time', lambda: 0)", "ast/dynamic", "time.time: changes"),
        ("import _posixsubprocess", "pass", "ast/process", "subprocess"),
        ("import _opcode", "pass", "ast/dynamic", "inner part"),
        ("", "run.__code__ = (lambda: 2).__code__", "ast/introspection", "__code__"),
        ("import sys", "sys._getframe(1).f_locals", "ast/introspection", "sys._getframe"),
        ("", "try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame.f_back", "ast/introspection", "f_back"),
        ("import gc", "gc.get_objects()", "ast/introspection", "gc"),
        ("import inspect", "inspect.stack()", "ast/introspection", "inspect.stack"),
        ("import sys", "sys.settrace(None)", "ast/introspection", "sys.settrace"),
        ("import os", "os.write(4, b'x')", "ast/introspection", "os.write"),
        ("import os", "os.dup2(1, 9)", "ast/introspection", "os.dup2"),
        ("", "open(4, 'wb').write(b'x')", "ast/introspection", "by its number"),
        ("", "open('/proc/self/mem')", "ast/introspection", "/proc/self/mem"),
        ("", "open('/pr' + 'oc/self/mem')", "ast/introspection", "/proc/self/mem"),
        ("import atexit", "atexit.register(print)", "ast/later", "atexit"),
        ("import threading", "threading.Thread(target=print).start()", "ast/later", "threading.Thread"),
        ("class M(type):\n    pass\n\n\nclass A(metaclass=M):\n    pass", "pass", "ast/later", "metaclass"),
        ("class A:\n    def __init_subclass__(cls) -> None:\n        print(1)", "pass", "ast/later", "__init_subclass__"),
        ("class E:\n    def __reduce__(self) -> object:\n        return (print, ())", "pass", "ast/later", "__reduce__"),
        ("import sys", "if 'x' in sys.argv[0]:\n    return 1", "ast/test-detection", "sys.argv"),
        ("", "if __name__ == 'multiply':\n    return 1", "ast/test-detection", "__name__"),
        ("import platform", "if platform.node():\n    return 1", "ast/test-detection", "platform"),
        ("import os", "if os.path.exists('/.dockerenv'):\n    return 1", "ast/test-detection", "dockerenv"),
        ("", "if 'pytest' in str(x):\n    return 1", "ast/test-detection", "pytest"),
        ("_N = 0", "global _N\n_N += 1", "ast/state", "_N"),
        ("_S = []", "_S.append(x)", "ast/state", "_S"),
        ("_S = {'n': 0}", "_S['n'] += 1", "ast/state", "_S"),
        ("if True:\n    _S = set()", "_S.add(x)", "ast/state", "_S"),
        ("", "run.n = getattr(run, 'n', 0) + 1", "ast/state", "run"),
        ("def _h(x: int, seen: list[int] = []) -> int:\n    seen.append(x)\n    return x", "_h(x)", "ast/state", "seen"),
        ("import itertools\n\n_C = itertools.count()", "next(_C)", "ast/state", "_C"),
        ("class A:\n    n = 0", "A.n += 1", "ast/state", "A"),
        ("def _m() -> object:\n    n = 0\n\n    def f() -> int:\n        nonlocal n\n        n += 1\n        return n\n\n    return f\n\n\n_F = _m()", "_F()", "ast/state", "n"),
        ("import datetime", "if datetime.date.today().year > 2030:\n    return 1", "ast/clock", "datetime.date.today"),
        ("from time import time as _now", "if _now() > 2e9:\n    return 1", "ast/clock", "time.time"),
        ("import random", "if random.random() < 0.1:\n    return 1", "ast/random", "random.random"),
        ("", "if hash('a') % 2:\n    return 1", "ast/random", "hash"),
        ("import time", "time.localtime(x).tm_hour", "ast/time-zone", "time.localtime"),
        ("import datetime", "datetime.datetime.fromtimestamp(x).hour", "ast/time-zone", "fromtimestamp"),
        ("import locale", "locale.setlocale(locale.LC_ALL, '')", "ast/locale", "locale"),
        ("import re", "re.match(r'(a+)+$', str(x))", "ast/pattern", "(a+)+$"),
        ("import re\n\n_P = re.compile(r'(\\w+\\s?)*!')", "_P.match(str(x))", "ast/pattern", "s?)*!"),
    ],
)  # fmt: skip
def test_dangerous_access_is_reported_by_whatever_path(top: str, body: str, rule: str, said: str) -> None:
    found = [one for one in findings(top, body) if one.rule == rule]
    assert found, findings(top, body)
    assert any(said in one.text for one in found), found
    assert all(
        one.severity == "high" for one in found if rule in ("ast/introspection", "ast/dynamic", "ast/process")
    )


def test_a_custom_main_block_is_reported_and_the_standard_one_is_not() -> None:
    standard = '\n\nif __name__ == "__main__":\n    import json\n    import sys\n\n    print(json.dumps(run(**json.load(sys.stdin))))\n'
    assert rules(code=RUN + standard) == set()
    for other in (
        '\n\nif __name__ == "__main__":\n    print("else")\n',
        standard + "else:\n    print(1)\n",
        '\n\nif "__main__" == __name__ and True:\n    print(1)\n',
    ):
        assert "ast/main" in rules(code=RUN + other)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("assert run.__code__.co_firstlineno == 1", "ast/introspection"),
        ("import inspect; assert inspect.getsource(run)", "ast/introspection"),
        ("import sys; assert sys._getframe(1)", "ast/introspection"),
        ("assert open('/proc/self/maps')", "ast/introspection"),
        ("import time; time.time = lambda: 0; assert run(1) == 2", "tests"),
        ("import unittest.mock; assert run(1) == 2", "tests"),
        ("import sys; assert sys.modules['multiply']", "ast/dynamic"),
        ("assert eval('1')", "ast/dynamic"),
    ],
)
def test_tests_that_inspect_or_patch_the_environment_of_the_tool_are_reported(line: str, rule: str) -> None:
    found = findings(tests=f"{TESTS}\n\ndef test_more():\n    {line}\n")
    assert rule in {one.rule for one in found}
    assert all(one.text.startswith("tests") for one in found if one.rule == rule)


# --- what is left in peace --------------------------------------------------------------------

ORDINARY = [
    ("import csv\nimport io", "rows = list(csv.DictReader(io.StringIO(str(x))))\nprint(len(rows))"),
    ("import json", "found = json.loads(json.dumps({'a': [x]}))\nfound['a'].append(times)"),
    ("from datetime import date, datetime, timedelta, timezone", "day = date.fromisoformat('2026-01-31') + timedelta(days=x)\ndatetime.fromtimestamp(x, tz=timezone.utc)\ndatetime(2026, 1, 1).strftime('%d.%m.%Y')"),
    ("from zoneinfo import ZoneInfo\nfrom datetime import datetime", "datetime(2026, 1, 1, tzinfo=ZoneInfo('Europe/Berlin')).astimezone(ZoneInfo('UTC'))"),
    ("import math\nimport statistics", "math.sqrt(statistics.fmean([x, times]))"),
    ("import re\n\n_WORD = re.compile(r\"[a-z]+(?:'[a-z]+)?\")", "seen: dict[str, int] = {}\nfor word in _WORD.findall(str(x)):\n    seen[word] = seen.get(word, 0) + 1"),
    ("from html.parser import HTMLParser\n\n\nclass _Links(HTMLParser):\n    def __init__(self) -> None:\n        super().__init__()\n        self.found: list[str] = []\n\n    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:\n        self.found += [value or '' for name, value in attrs if name == 'href']", "parser = _Links()\nparser.feed(str(x))\nprint(parser.found)"),
    ("import xml.etree.ElementTree as ET", "ET.tostring(ET.Element('a'))"),
    ("from collections import Counter, defaultdict, deque", "groups: defaultdict[int, list[int]] = defaultdict(list)\ngroups[x].append(times)\nqueue = deque([x])\nqueue.popleft()\nCounter('abc').most_common(1)"),
    ("from dataclasses import dataclass, field\n\n\n@dataclass\nclass _Row:\n    name: str\n    parts: list[int] = field(default_factory=list)\n\n    def add(self, n: int) -> None:\n        self.parts.append(n)", "row = _Row('a')\nrow.add(x)\nrow.name = 'b'"),
    ("from decimal import ROUND_HALF_UP, Decimal", "Decimal('1.005').quantize(Decimal('0.01'), rounding=ROUND_HALF_UP)"),
    ("from enum import Enum\n\n\nclass _Kind(Enum):\n    A = 'a'\n    B = 'b'", "_Kind('a').value"),
    ("from abc import ABC, abstractmethod\n\n\nclass _Shape(ABC):\n    @abstractmethod\n    def area(self) -> float: ...", "pass"),
    ("import unicodedata", "unicodedata.normalize('NFKD', 'é').encode('ascii', 'ignore')"),
    ("import hashlib\nimport base64", "base64.b64encode(hashlib.sha256(b'a').digest()).decode()"),
    ("import itertools\nimport operator\nfrom functools import lru_cache, reduce", "sorted([(2, 'b')], key=operator.itemgetter(0))\nreduce(operator.mul, [1, 2], 1)\nlist(itertools.count(1) and [])"),
    ("from functools import cache\n\n\n@cache\ndef _fib(n: int) -> int:\n    return n if n < 2 else _fib(n - 1) + _fib(n - 2)", "_fib(5)"),
    ("import random", "random.Random(42).shuffle([1, 2])"),
    ("import textwrap\nfrom string import Template", "textwrap.fill('a b')\nTemplate('$a').substitute(a=1)\n'{:>5} {name}'.format(1, name='x')"),
    ("import urllib.parse\nfrom ipaddress import ip_address", "urllib.parse.urlsplit('http://a')\nip_address('10.0.0.1').is_private"),
    ("import difflib\nimport heapq\nimport bisect", "heapq.heappush([], 1)\nbisect.bisect([1], 1)\ndifflib.get_close_matches('a', ['b'])"),
    ("from pathlib import PurePosixPath\nimport os.path", "PurePosixPath('a/b').suffix\nos.path.splitext('a.b')"),
    ("import logging\n\n_LOG = logging.getLogger('tool')", "_LOG.info('%s', x)"),
    ("import sys", "print('careful', file=sys.stderr)\nif sys.version_info >= (3, 11):\n    pass"),
    ("import ast", "ast.literal_eval('[1]')"),
    ("import tempfile\nfrom typing import NamedTuple\n\n\nclass _P(NamedTuple):\n    a: int", "_P(1)._replace(a=2)\ntempfile.gettempdir()"),
    ("import struct\nimport zlib\nimport binascii\nimport array", "zlib.compress(struct.pack('<I', 1))\nbinascii.hexlify(b'a')"),
    ("import calendar\nimport colorsys\nimport fractions\nimport cmath", "calendar.monthrange(2026, 2)\nfractions.Fraction(1, 3)"),
    ("import copy\nimport pprint\nimport shlex", "copy.deepcopy([1])\nshlex.split('a b')"),
    ("def _walk(tree: dict[str, object], depth: int = 0) -> int:\n    best = depth\n\n    def visit(n: int) -> None:\n        nonlocal best\n        best = max(best, n)\n\n    visit(depth + 1)\n    return best", "_walk({})"),
    ("import configparser\nimport tomllib\nimport email.utils\nimport mimetypes", "tomllib.loads('a = 1')\nconfigparser.ConfigParser().read_string('[a]')\nemail.utils.parseaddr('a@b')"),
    ("import sqlite3", "sqlite3.connect(':memory:').execute('select 1')"),
    ("from importlib import resources, metadata", "metadata.version('x')\nresources.files('x')"),
    ("import contextlib\n\n\n@contextlib.contextmanager\ndef _quiet() -> object:\n    yield None", "with _quiet():\n    pass"),
    ("class _Tree:\n    def __init__(self) -> None:\n        self.left: object = None\n\n    def __eq__(self, other: object) -> bool:\n        return isinstance(other, _Tree) and type(self).__name__ == other.__class__.__name__\n\n    def __hash__(self) -> int:\n        return hash(self.left)", "_Tree()"),
    ("from concurrent.futures import ThreadPoolExecutor", "with ThreadPoolExecutor(2) as pool:\n    list(pool.map(str, [x]))"),
    ("_TABLE = {'a': 1}\n_MONTHS = ('January', 'February')", "table = dict(_TABLE)\ntable['b'] = 2\ntable.update(c=3)"),
    ("", "greeting = 'Привет, мир'\nunits = ('µm', 'Δt', '25 °C', 'naïve café', '東京', 'Ωm', 'π/2')"),
]  # fmt: skip


@pytest.mark.parametrize(("top", "body"), ORDINARY)
def test_an_ordinary_tool_has_no_finding_of_reach(top: str, body: str) -> None:
    assert findings(top, body) == ()


def test_time_and_chance_are_minor_findings_if_the_purpose_names_them() -> None:
    today = "import datetime"
    body = "datetime.date.today().isoformat()"
    assert rules(today, body, description="Days until a date, from today.") == set()
    assert rules(today, body) == {"ast/clock", "ast/time-zone"}  # it is another day elsewhere
    assert rules("import random", "random.randint(1, 6)", description="Roll dice.") == set()


def test_good_drafts_and_starters_have_no_finding_of_reach() -> None:
    drafts = [one.draft for one in corpus() if one.good]
    starters = Starters(shipped("starters"))
    for name in starters.names():
        hosts = ("api.example.org:443",) if starters.takes_hosts(name) else ()
        drafts.append(starters.draft(name, hosts, ("TOKEN",) if hosts else ()))
    assert len(drafts) > 100
    marked = {str(one.name): found for one in drafts if (found := _heavy(one))}
    starts_processes = marked.pop("shell")  # it is what that starter is for, and who approves it is told
    assert {one.rule for one in starts_processes} == {"ast/process", "B602"}
    assert marked == {}


def _heavy(draft: ToolDraft) -> list[Finding]:
    return [one for one in review(draft).findings if one.severity in ("medium", "high")]


def test_a_large_draft_is_analysed_quickly() -> None:
    import time

    lines = "".join(
        f"def f{n}(a: int) -> int:\n    b = [a, {n}]\n    return f{max(n - 1, 0)}(b[0]) + len(b)\n\n\n"
        for n in range(600)
    )
    before = time.process_time()
    review(msgspec.structs.replace(GOOD, code=lines + RUN))
    assert time.process_time() - before < 6


@pytest.mark.parametrize("depth", [100, 900, 2000])
def test_deep_nesting_hides_nothing(depth: int) -> None:
    deep = "+".join(["random._os.system('id')", *("x" * depth)])
    code = f"import random\n\n\n{RUN}\n\ny = {deep}\n"
    found = {one.rule for one in review(msgspec.structs.replace(GOOD, code=code)).findings}
    assert found & {"ast/process", "ast/dynamic", "ast/syntax"}


def test_a_long_chain_of_calls_is_analysed_in_linear_time() -> None:
    chain = "x" + ".a()" * 60
    assert rules("", f"y = {chain}") == set()
