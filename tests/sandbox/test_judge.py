"""Judge, tests and tool in real containers: three processes that share nothing but JSON values."""

from __future__ import annotations

import textwrap
from collections.abc import AsyncIterator
from typing import Any

import pytest

from alita_tui.events import RunReport, TestCase
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.judge_plan import Conditions, Piece, Plan
from alita_tui.spine.ports.sandbox import Job, Limits

pytestmark = pytest.mark.podman
LIMITS = Limits(wall_seconds=20, cpu_seconds=10, memory_bytes=256 << 20)
PLAIN = Conditions()
ECHO = "def run(x=None):\n    return x\n"


@pytest.fixture
async def sandbox(settings: EngineSettings) -> AsyncIterator[PodmanSandbox]:
    made = PodmanSandbox(settings, "judge")
    yield made
    await made.close()


async def tried(sandbox: PodmanSandbox, code: str, tests: str, **more: Any) -> RunReport:
    """How self-tests of the module `tool` end."""
    job = Job(
        run_id="r1", module="tool", code=textwrap.dedent(code), tests=textwrap.dedent(tests), kind="test",
        limits=more.pop("limits", LIMITS), **more,
    )  # fmt: skip
    return await sandbox.run(job, lambda *_: None, lambda *_: None)


async def judged(sandbox: PodmanSandbox, *pieces: Piece, code: str = "", total: float = 12.0) -> list[Any]:
    job = Job(
        run_id="r1", module="tool", code=code, kind="judge", plan=Plan(pieces=pieces, total=total), limits=LIMITS
    )  # fmt: skip
    report = await sandbox.run(job, lambda *_: None, lambda *_: None)
    assert report.status == "ok", report
    found: list[Any] = report.result
    return found


def failing(report: RunReport) -> dict[str, str]:
    return {case.name: case.message for case in report.cases if not case.passed}


# --- apart ------------------------------------------------------------------------------------

SPY = '''
import os
import signal


def run(what: str, pid: int = 0) -> object:
    """What this process can do to another, and what it is."""
    if what == "who":
        return [os.getpid(), os.getuid(), os.getgid(), sorted(os.getgroups()), len(os.listdir("/proc/self/fd"))]
    try:
        if what == "signal":
            os.kill(pid, 0)
        elif what == "memory":
            open(f"/proc/{pid}/mem", "rb").close()
        elif what == "files":
            os.listdir(f"/proc/{pid}/fd")
        elif what == "environment":
            open(f"/proc/{pid}/environ", "rb").close()
        elif what == "folder":
            os.listdir("/tmp/tests")
        elif what == "source":
            open("/tmp/tests/test_tool.py").close()
        elif what == "write":
            open("/tmp/tests/more.py", "w").close()
        elif what == "replace":
            os.rename("/tmp/tests", "/tmp/mine")
        elif what == "channel":
            os.write(5, b"x")
        elif what == "root":
            os.setuid(0)
    except OSError as error:
        return type(error).__name__
    return "it worked"
'''


async def test_neither_party_reaches_the_other_or_the_judge(sandbox: PodmanSandbox) -> None:
    tests = """
    import os
    from tool import run

    WAYS = ["signal", "memory", "files", "environment"]
    TOOL = run("who")


    def test_users():
        assert len({os.getuid(), TOOL[1], os.stat("/proc/1").st_uid}) == 3
        assert TOOL[1] == TOOL[2] and TOOL[3] == []
        assert TOOL[4] <= 6


    def test_the_tool_reaches_nobody():
        others = [int(one) for one in os.listdir("/proc") if one.isdigit() and int(one) != TOOL[0]]
        assert len(others) >= 4
        for pid in others:
            for way in WAYS:
                assert run(way, pid) in ("PermissionError", "FileNotFoundError", "ProcessLookupError"), (way, pid)
        for way in ("folder", "source", "write", "replace", "root"):
            assert run(way) == "PermissionError", way
        assert run("channel") == "OSError"


    def test_the_tests_reach_nobody():
        for way in ("kill", "mem", "fd", "tool"):
            try:
                if way == "kill":
                    os.kill(TOOL[0], 0)
                elif way == "tool":
                    open("/tmp/tool/tool.py")
                else:
                    os.listdir(f"/proc/{TOOL[0]}/{way}") if way == "fd" else open(f"/proc/{TOOL[0]}/{way}")
            except PermissionError:
                continue
            raise AssertionError(way)
    """
    report = await tried(sandbox, SPY, tests)
    assert report.status == "ok" and failing(report) == {} and len(report.cases) == 3


async def test_a_single_call_has_its_own_user_id(sandbox: PodmanSandbox) -> None:
    code = "import os\n\n\ndef run():\n    return [os.getuid(), os.stat('/proc/1').st_uid, open('/proc/self/status').read()]\n"
    job = Job(run_id="r1", module="tool", code=code, arguments={}, limits=LIMITS)
    report = await sandbox.run(job, lambda *_: None, lambda *_: None)
    own, warden, status = report.result
    assert own != warden
    held = {
        line.split(":")[0]: int(line.split()[1], 16) for line in status.splitlines() if line.startswith("Cap")
    }
    assert not any(held[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"))


LEAKS = """
import gc
import re

WANTED = re.compile(rb"SECRET_[A]NSWER")


def run(text):
    for one in gc.get_objects():
        if WANTED.search(repr(one).encode()):
            return "in an object"
    with open("/proc/self/maps") as lines:
        parts = [line.split() for line in lines]
    with open("/proc/self/mem", "rb", 0) as memory:
        for part in parts:
            if part[1].startswith("rw"):
                low, high = (int(one, 16) for one in part[0].split("-"))
                try:
                    memory.seek(low)
                    if WANTED.search(memory.read(high - low)):
                        return "in memory"
                except (OSError, OverflowError):
                    pass
    return ""
"""


async def test_expected_values_of_tests_are_not_in_the_memory_of_the_tool(sandbox: PodmanSandbox) -> None:
    tests = "from tool import run\n\n\ndef test_it():\n    found = run('x')\n    assert found != 'SECRET_ANSWER'\n    assert not found, found\n"
    report = await tried(sandbox, LEAKS, tests)
    assert report.status == "ok" and failing(report) == {}
    one = Piece(kind="tests", name="tool", code=LEAKS, tests=tests)
    again = await judged(sandbox, one, one)
    assert [case["passed"] for piece in again for case in piece["cases"]] == [True, True]


# --- only JSON crosses ------------------------------------------------------------------------


async def test_values_and_errors_cross_as_json(sandbox: PodmanSandbox) -> None:
    code = """
    class BadInput(ValueError):
        pass


    class Worse(BadInput):
        pass


    def run(what, *given, **named):
        if what == "echo":
            return [given, named]
        if what == "nan":
            return float("nan")
        if what == "set":
            return {1}
        if what == "worse":
            raise Worse("no", 3)
        if what == "key":
            raise KeyError("left")
        if what == "os":
            raise FileNotFoundError(2, "gone")
        if what == "exit":
            raise SystemExit(3)
        raise AttributeError(what)
    """
    tests = """
    import tool
    from tool import BadInput, run


    def raised(kind, *given):
        try:
            run(*given)
        except kind as error:
            return error
        raise AssertionError("nothing was raised")


    def test_values():
        assert run("echo", 1, (2, "é"), x={"y": None}) == [[1, [2, "é"]], {"x": {"y": None}}]

    def test_what_is_no_json():
        for bad in (b"x", {1}, float("nan"), object()):
            assert "JSON" in str(raised(TypeError, "echo", bad))
        for bad in ("nan", "set"):
            assert "JSON" in str(raised(TypeError, bad))

    def test_errors():
        worse = raised(BadInput, "worse")
        assert type(worse).__name__ == "Worse" and isinstance(worse, ValueError) and worse.args == ("no", 3)
        assert isinstance(raised(tool.Worse, "worse"), BadInput)
        assert str(raised(KeyError, "key")) == "'left'"
        assert raised(OSError, "os").errno == 2 and type(raised(OSError, "os")) is FileNotFoundError
        assert raised(SystemExit, "exit").code == 3
        assert not isinstance(raised(Exception, "other"), ValueError)
        assert type(raised(TypeError)) is TypeError

    def test_nothing_else():
        try:
            tool.helper
        except AttributeError as error:
            assert "run and exception classes" in str(error)
        else:
            raise AssertionError
    """
    report = await tried(sandbox, code, tests)
    assert report.status == "ok" and failing(report) == {}, failing(report)


async def test_tests_set_files_environment_and_folder_of_the_tool(sandbox: PodmanSandbox) -> None:
    code = """
    import os

    def run(what, path=""):
        if what == "read":
            return open(path).read()
        if what == "write":
            with open(path, "w") as file:
                file.write("from the tool")
            os.chmod(path, 0o600)
            return None
        return os.environ.get(path)
    """
    tests = """
    import os
    import tempfile
    from pathlib import Path

    from tool import run

    def test_files():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.txt"
            path.write_text("from the tests")
            path.chmod(0o600)
            assert run("read", str(path)) == "from the tests"
            run("write", folder + "/b.txt")
            assert Path(folder, "b.txt").read_text() == "from the tool"
            os.chdir(folder)
            assert run("read", "a.txt") == "from the tests"
            os.chdir("/tmp")

    def test_environment():
        os.environ["MINE"] = "yes"
        assert run("environment", "MINE") == "yes"
        del os.environ["MINE"]
        assert run("environment", "MINE") is None
    """
    report = await tried(sandbox, code, tests)
    assert report.status == "ok" and failing(report) == {}, failing(report)


async def test_a_failed_assert_says_what_it_compared(sandbox: PodmanSandbox) -> None:
    tests = """
    from tool import run

    def test_it():
        wanted = [1, 3]
        assert run([1, 2]) == wanted, "not sorted"
    """
    report = await tried(sandbox, ECHO, tests)
    message = failing(report)["test_it"]
    assert "AssertionError: not sorted" in message
    assert "where run([1, 2]) is [1, 2]" in message and "where wanted is [1, 3]" in message
    assert "line 6, in test_it" in message and "warden" not in message


# --- parties that do not keep to it -----------------------------------------------------------

SWALLOWED = """
from tool import run


def test_first():
    try:
        run(1)
    except BaseException:
        pass


def test_second():
    assert run(2) == 2
"""


@pytest.mark.parametrize(
    ("attack", "said"),
    [
        ("os._exit(0)", "ended with exit code 0"),
        ("os.kill(os.getpid(), 9)", "ended by signal 9"),
        ("os.write(3, b'\\xff' * 9)", "cannot be read: it announces"),
        ("os.write(3, b'\\0\\0\\0\\4nope')", "cannot be read: it is no JSON"),
        ("os.write(3, b'\\0\\0\\0\\2[]')", "cannot be read: it is no JSON object"),
        ("os.write(3, b'\\0\\0\\0\\x0e{\"answer\":NaN}')", "cannot be read: it is no JSON: NaN"),
        ("data = b'{\"answer\":1,\"result\":' + b'[' * 200 + b']' * 200 + b'}'; os.write(3, len(data).to_bytes(4, 'big') + data)", "nested"),
        ("os.write(3, b'\\0\\0\\0\\x17{\"answer\":9,\"result\":3}')", "what it was not asked"),
        ("os.close(3)", "process"),
    ],
)  # fmt: skip
async def test_a_tool_that_breaks_the_line_fails_the_test_it_happened_in(
    sandbox: PodmanSandbox, attack: str, said: str
) -> None:
    code = f"import os\n\n\ndef run(x):\n    if x == 1:\n        {attack}\n    return x\n"
    report = await tried(sandbox, code, SWALLOWED)
    assert report.status == "ok"
    assert list(failing(report)) == ["test_first"] and said in failing(report)["test_first"], failing(report)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "attack",
    [
        "os._exit(0)",
        "os.kill(os.getpid(), 9)",
        "os.write(3, b'\\xff' * 9)",
        "os.write(3, b'\\0\\0\\0\\x0d{\"done\": true}')",
        "os.write(3, b'\\0\\0\\0\\x14{\"begin\":\"test_second\"}'[:24]); os._exit(0)",
        "say({'end': 'test_first', 'passed': True}); say({'end': 'test_second', 'passed': True}); say({'done': True}); os._exit(0)",
        "say({'end': 'test_first', 'passed': True}); say({'tests': ['test_first']}); say({'done': True}); os._exit(0)",
    ],
)  # fmt: skip
async def test_tests_that_break_the_line_have_failed(sandbox: PodmanSandbox, attack: str) -> None:
    tests = f"""
import json
import os


def say(one):
    data = json.dumps(one).encode()
    os.write(3, len(data).to_bytes(4, "big") + data)


def test_first():
    {attack}


def test_second():
    assert False
"""
    report = await tried(sandbox, ECHO, tests)
    assert report.status == "ok" and "test_second" in failing(report), report


async def test_a_test_counts_its_calls(sandbox: PodmanSandbox) -> None:
    tests = "from tool import run\n\n\ndef test_none():\n    assert True\n\n\ndef test_two():\n    assert run(1) == 1 and run(2) == 2\n"
    report = await tried(sandbox, ECHO, tests)
    assert [case.calls for case in report.cases] == [0, 2]


@pytest.mark.parametrize(
    ("body", "status"),
    [("x = bytearray(1 << 30)", "ok"), ("while True: os.fork()", "limit"), ("while True: pass", "timeout")],
)
async def test_limits_hold_in_a_trial(sandbox: PodmanSandbox, body: str, status: str) -> None:
    code = f"import os\n\n\ndef run(x):\n    {body}\n    return x\n"
    limits = Limits(
        wall_seconds=3, cpu_seconds=2 if "fork" in body else 20, memory_bytes=128 << 20, processes=20
    )
    report = await tried(sandbox, code, SWALLOWED, limits=limits)
    assert report.status == status or (report.status == "ok" and "test_second" in failing(report)), report
    assert not (report.status == "ok" and not failing(report))


# --- calls and conditions ---------------------------------------------------------------------

STATE = "import time\nimport datetime\n\nKEPT = []\n\n\ndef run(what='count'):\n    KEPT.append(1)\n    if what == 'clock':\n        return [time.time(), datetime.datetime.now().year, datetime.date.today().year, time.localtime().tm_hour]\n    if what == 'hash':\n        return hash('a')\n    if what == 'end':\n        raise SystemExit\n    if what == 'hang':\n        time.sleep(60)\n    return len(KEPT)\n"


def calls(*given: str, fresh: bool = False, conditions: Conditions = PLAIN, seconds: float = 5.0) -> Piece:
    return Piece(
        kind="calls", name="tool", code=STATE, calls=tuple({"what": one} for one in given), fresh=fresh,
        conditions=conditions, seconds=seconds,
    )  # fmt: skip


async def test_calls_share_a_process_or_have_one_each(sandbox: PodmanSandbox) -> None:
    together, apart = await judged(
        sandbox, calls("count", "count", "count"), calls("count", "count", fresh=True)
    )
    assert [one["result"] for one in together["answers"]] == [1, 2, 3]
    assert [one["result"] for one in apart["answers"]] == [1, 1]
    assert all(one["ms"] > 0 for one in together["answers"] + apart["answers"])


@pytest.mark.parametrize("fresh", [True, False])
async def test_a_call_that_ends_or_hangs_costs_only_itself(sandbox: PodmanSandbox, fresh: bool) -> None:
    (found,) = await judged(sandbox, calls("end", "hang", "count", fresh=fresh, seconds=1.0))
    first, second, third = found["answers"]
    assert first["error"] == "SystemExit" and second["error"] == "timeout" and third["result"] == 1


async def test_conditions_hold_before_anything_is_imported(sandbox: PodmanSandbox) -> None:
    year = 366 * 86_400.0
    pieces = [
        calls("clock"),
        calls("clock", conditions=Conditions(clock_shift_seconds=2 * year)),
        calls("clock", conditions=Conditions(time_zone="XST-5:30")),
        calls("hash", conditions=Conditions(hash_seed=1)),
        calls("hash", conditions=Conditions(hash_seed=1), fresh=True),
        calls("hash", conditions=Conditions(hash_seed=2)),
    ]
    plain, later, east, *hashes = [one["answers"][0]["result"] for one in await judged(sandbox, *pieces)]
    assert later[0] - plain[0] == pytest.approx(2 * year, abs=120)
    assert later[1] == later[2] and later[1] - plain[1] in (2, 3)
    assert (east[3] - plain[3]) % 24 in (5, 6)
    assert hashes[0] == hashes[1] != hashes[2]


async def test_an_unsupported_condition_is_reported(sandbox: PodmanSandbox) -> None:
    zone, language = await judged(
        sandbox,
        calls("clock", conditions=Conditions(time_zone="Nowhere/At_All")),
        calls("clock", conditions=Conditions(locale="xx_XX.UTF-8")),
    )
    assert "no time zone" in zone["unsupported"] and "no locale" in language["unsupported"]


async def test_tests_can_run_in_another_order(sandbox: PodmanSandbox) -> None:
    tests = "from tool import run\n" + "".join(
        f"\n\ndef test_{n}():\n    assert run({n}) == {n}\n" for n in range(9)
    )
    one = Piece(
        kind="tests", name="tool", code=ECHO, tests=tests, conditions=Conditions(shuffle_seed=3), seconds=10
    )  # fmt: skip
    (found,) = await judged(sandbox, one)
    names = [case["name"] for case in found["cases"]]
    assert sorted(names) == [f"test_{n}" for n in range(9)] != names
    assert all(case["passed"] for case in found["cases"])


async def test_pieces_of_work_share_no_state(sandbox: PodmanSandbox) -> None:
    code = '''
import os
import subprocess
import sys


def run(x):
    found = [os.listdir("/tmp"), left()]
    open("/tmp/left", "w").close()
    os.makedirs("/tmp/deep/er", exist_ok=True)
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], process_group=0)
    while left() == found[1]:  # it has begun, but the kernel does not show its words yet
        pass
    return [*found, left()]


def left():
    """How many processes there are like the one that a piece leaves; a zombie has no command line."""
    lines = []
    for one in filter(str.isdigit, os.listdir("/proc")):
        try:
            lines.append(open(f"/proc/{one}/cmdline").read())
        except OSError:  # it ended just now
            pass
    return sum("time.sleep(60)" in line for line in lines)
'''
    one = Piece(kind="calls", name="tool", code=code, calls=({"x": 1},), seconds=10)
    first, second = [piece["answers"][0]["result"] for piece in await judged(sandbox, one, one, code=code)]
    assert first == second == [["tool"], 0, 1]


# --- what it answers is never trusted ---------------------------------------------------------


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "said",
    [
        '{"cases": 5}', '{"result": 1, "error": 5}', '{"error": {"a": 1}}', '{"exception": ["x"], "error": "e"}',
        '[1, 2]', '5', '"text"', 'null', '{"limit": 7}', '{"limit": "everything"}', '{"cases": [{"name": 5}]}',
        '{"cases": [{"name": "a", "passed": true, "duration_ms": "long"}]}', '{"result": NaN}', '{"result": 1e999}',
        "{" * 5000,
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["run", "test"])
async def test_any_answer_of_a_tool_ends_in_a_report(sandbox: PodmanSandbox, said: str, kind: Any) -> None:
    code = f"import os\n\nos.write(3, {said!r}.encode())\nos._exit(0)\n\n\ndef run(x=1):\n    return 1\n"
    job = Job(
        run_id="r1", module="tool", code=code, tests=SWALLOWED, kind=kind, arguments={}, limits=LIMITS
    )  # fmt: skip
    report = await sandbox.run(job, lambda *_: None, lambda *_: None)
    assert isinstance(report, RunReport) and all(isinstance(case, TestCase) for case in report.cases)
    assert kind == "run" or report.status != "ok" or failing(report)
    assert kind == "test" or report.status != "ok"
