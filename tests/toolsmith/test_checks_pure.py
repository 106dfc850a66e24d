"""Gates that read only, and how all of them are looked after."""

from __future__ import annotations

import ast
import asyncio
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from alita_tui.events import (
    BuildId,
    Capabilities,
    GateName,
    GateResult,
    Json,
    RunReport,
)
from alita_tui.runtimes.python.mutants import mutants
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports.sandbox import Job, Limits
from alita_tui.spine.ports.web import PackageFacts
from alita_tui.toolsmith.checks.capabilities import _strange, uses
from alita_tui.toolsmith.checks.case import Case, Check, CouldNotRun, failed, passed
from alita_tui.toolsmith.checks.hidden import Expected, _question
from alita_tui.toolsmith.checks.literals import LiteralsCheck, leaks, task_values
from alita_tui.toolsmith.checks.probes import agree, calls_in, equal, fits, made, misfit, same
from alita_tui.toolsmith.checks.requirements import RequirementsCheck, look_alike
from alita_tui.toolsmith.checks.runner import run_check, run_checks
from alita_tui.toolsmith.checks.workbench import Workbench
from tests.toolsmith.requirements import NOW, OBJECT, OLD, Book, Told, draft, needing

# --- hidden tests -------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["    ", "a  b\n\n c\t", " lead", "x" * 5_000, "a\u00a0b\u200b"])
def test_samples_are_asked_about_the_very_arguments(text: str) -> None:
    asked = _question(Expected(arguments={"text": text}, expect=1))
    assert msgspec.json.decode(asked) == {"text": text} and "\n" not in asked


# --- looking ------------------------------------------------------------------------------


class Looks:
    """A gate that does what it was told to."""

    def __init__(self, does: object = None, *, waits: asyncio.Event | None = None) -> None:
        self.name: GateName = "literals"
        self.does = does
        self.waits = waits
        self.ended = False

    async def check(self, case: Case) -> GateResult:
        try:
            if self.waits:
                await self.waits.wait()
        finally:
            self.ended = True
        if isinstance(self.does, Exception):
            raise self.does
        return self.does if isinstance(self.does, GateResult) else passed("literals", "fine")


CASE = Case(build_id=BuildId("b1"), draft=draft())


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (CouldNotRun("no model answered"), "no model answered"),
        (SandboxUnavailable("Podman is gone."), "the sandbox did not run it: Podman is gone."),
        (TypeError("odd draft"), "it broke off: TypeError: odd draft"),
    ],
)
async def test_a_check_that_could_not_run_says_so_and_does_not_pass(error: Exception, said: str) -> None:
    found = await run_check(Looks(error), CASE)
    assert (found.state, found.summary) == ("skipped", said)


async def test_a_gate_that_takes_too_long_is_ended_and_does_not_pass() -> None:
    slow = Looks(waits=asyncio.Event())
    found = await run_check(slow, CASE, longest=0.01)
    assert found.state == "skipped" and "not done" in found.summary and slow.ended


@pytest.mark.parametrize(("wall_seconds", "times"), [(5, 1), (20, 1), (60, 3), (3600, 4)])
async def test_a_longer_time_limit_for_runs_extends_that_of_checks(wall_seconds: float, times: int) -> None:
    jobs: list[Job] = []

    class Notes:
        async def run(self, job: Job, *_: object) -> RunReport:
            jobs.append(job)
            return RunReport(status="ok", result=[])

    bench = Workbench(Notes(), Limits(wall_seconds=wall_seconds))  # type: ignore[arg-type]
    with pytest.raises(CouldNotRun, match="no time"):
        await bench.outputs(CASE, [{"x": 3}], seconds=2, total=12)
    plan = jobs[0].plan
    assert plan is not None and plan.total == 12 * times and plan.pieces[0].seconds == 2 * times
    assert jobs[0].limits.wall_seconds > plan.total + plan.pieces[0].seconds


async def test_a_run_of_a_check_that_was_ended_says_why() -> None:
    class Ended:
        async def run(self, *_: object) -> RunReport:
            return RunReport(status="killed", error="The engine was restarted.\u202e")

    bench = Workbench(Ended(), Limits())  # type: ignore[arg-type]
    with pytest.raises(CouldNotRun, match=r"ended with killed: The engine was restarted\.\S*$") as ended:
        await bench.outputs(CASE, [{"x": 3}])
    assert "\u202e" not in ended.value.message


async def test_checks_run_concurrently_and_are_reported_as_they_end() -> None:
    first, told = asyncio.Event(), []
    gates: list[Check] = [Looks(waits=first), Looks(failed("mutation", "weak"))]

    async def tell(found: GateResult) -> None:
        told.append(found.state)
        first.set()  # the first can end only once the second was told

    found = await run_checks(gates, CASE, tell)
    assert told == ["failed", "passed"]
    assert [one.state for one in found] == ["passed", "failed"]


async def test_cancelling_ends_every_check() -> None:
    gates = [Looks(waits=asyncio.Event()), Looks(waits=asyncio.Event())]

    async def tell(found: GateResult) -> None:
        raise AssertionError(found)

    looking = asyncio.create_task(run_checks(gates, CASE, tell))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    looking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await looking
    assert all(gate.ended for gate in gates)


# --- literals -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "code", "leaked"),
    [
        ("Convert 4711 EUR", "def run(x):\n    return 4711\n", ["4711"]),
        ("From 73.4 to 88.08?", "def run(x):\n    return x == 73.4\n", ["73.4"]),
        ("Convert 4,711 EUR", "RATE = {4711: 1}\n", ["4711"]),
        ('Reverse "Quoth the raven"', "A = 'Quoth the Raven!'\n", ["“quoth the raven”"]),
        ("Mail ada@example.org", "TO = 'ada@example.org'\n", ["“ada@example.org”"]),
        ("Days since 2024-02-29?", "D = '2024-02-29'\n", ["“2024-02-29”"]),
        ("Convert 4711 EUR", '"""Like 4711."""\ndef run(x):\n    return x * 100\n', []),
        ("The first 10 primes", "A = 10\n", []),
        (
            "How strong is 75 km/h?",
            "B = (1, 6, 12, 20, 29, 75)\nC = ((29, 'a'), (39, 'b'), (75, 'c'), (88, 'd'), (99, 'e'))\n",
            [],
        ),
        ("How strong is 75 km/h?", "B = (1, 6, 12, 20)\nC = (5, 75)\n", ["75"]),
        ("Sort the list", "A = 'list'\n", []),
        (
            "Mean of 'unit_price' above 4711",
            "def run(column='unit_price', *, least=4711):\n    return 1\n",
            [],
        ),
        ("Mean of 'unit_price'", "C = 'unit_price'\ndef run(column=C):\n    return 1\n", []),
        ("Mean of 'unit_price'", "C = 'unit_price'\ndef run(column=C):\n    return C\n", ["“unit_price”"]),
        (
            "Mean of 'unit_price'",
            "def run(a='x'):\n    return f()\ndef f(a='unit_price'):\n    return a\n",
            ["“unit_price”"],
        ),
    ],
)
def test_values_of_the_task_inside_the_code_are_found(task: str, code: str, leaked: list[str]) -> None:
    assert [value for _, value in leaks(code, *task_values(task))] == leaked


async def test_the_check_names_line_and_value() -> None:
    found = await LiteralsCheck().check(
        Case(build_id=BuildId("b"), draft=draft("A = 1\nB = 4711\n"), task="Convert 4711")
    )
    assert found.state == "failed"
    assert (found.rows[0].label, found.rows[0].text) == ("line 2", "4711 comes from the task")


async def test_a_number_that_the_contract_names_is_no_leak() -> None:
    for more in ({"description": "Bases 2 to 36."}, {"input_schema": {"type": "integer", "maximum": 36}}):
        held = msgspec.structs.replace(draft("A = 36\n"), **more)
        assert (
            await LiteralsCheck().check(Case(build_id=BuildId("b"), draft=held, task="zz in base 36"))
        ).state == "passed"
    found = await LiteralsCheck().check(
        Case(build_id=BuildId("b"), draft=draft("A = 36\n"), task="zz in base 36")
    )
    assert found.state == "failed"


# --- mutants ------------------------------------------------------------------------------


def test_mutants_flip_operators_and_constants() -> None:
    code = (
        "def run(x: int) -> bool:\n    if x < 3 and not x == 1:\n        return x + 2 > 4\n    return False\n"
    )
    changes = {one.change for one in mutants(code, 50)}
    assert {
        "< became >=",
        "3 became 4",
        "and became or",
        "not was dropped",
        "== became !=",
        "+ became -",
    } <= changes
    assert "False became True" in changes
    for one in mutants(code, 50):
        compile(one.code, "mutant", "exec")
        assert one.code != code


def test_mutants_are_independent_of_data_that_a_linter_attaches_to_shared_nodes() -> None:
    shared = ast.parse("x", mode="eval").body.ctx  # type: ignore[attr-defined]
    code = "def run(x: int) -> int:\n    return x + 2\n"
    before = mutants(code, 50)
    deep: object = None
    for _ in range(5000):
        deep = [deep]
    shared._a_parent = deep
    try:
        assert before and mutants(code, 50) == before
    finally:
        del shared._a_parent


def test_a_call_is_left_out_where_the_code_still_runs() -> None:
    code = "def run(x: str) -> list:\n    found = []\n    found.append(x.lower())\n    return sorted(found, key=len)\n"
    assert {one.change for one in mutants(code, 50)} == {
        "found.append(x.lower()) became found", "x.lower() became x", "sorted(found, key=len) became found",
        "key= was dropped", "returns an empty list",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("promise", "said"),
    [
        ("int", "one more"),
        ("bool", "the opposite"),
        ("str", "an empty text"),
        ("dict[str, int]", "an empty dict"),
        ("list[int]", "an empty list"),
        ("Odd", "None"),
    ],
)
def test_a_mutant_returns_another_result_of_the_annotated_type(promise: str, said: str) -> None:
    (one,) = mutants(f"def helper(x):\n    pass\n\ndef run(x) -> {promise}:\n    return x\n", 5)
    assert one.change == f"returns {said}" and one.line == 5


def test_text_for_people_and_annotations_are_not_mutated() -> None:
    code = 'def run(x: "int | 3") -> int:\n    """Docs 5."""\n    assert x, 7\n    raise ValueError(f"{x + 1} is more than {9}")\n'
    assert mutants(code, 50) == []
    assert mutants("def helper(x):\n    print(x[:40], x + 1)\n", 50) == []


def test_mutants_are_few_spread_and_reproducible() -> None:
    code = "def run(x: int) -> int:\n" + "".join(f"    x = x + {n}\n" for n in range(100)) + "    return x\n"
    chosen = mutants(code, 12)
    assert len(chosen) == 12 and chosen == mutants(code, 12)
    assert chosen[0].line < 10 and chosen[-1].line > 90


@pytest.mark.parametrize("code", ["def run(:", "\x00", "(" * 5000])
def test_invalid_python_has_no_mutants_and_no_uses(code: str) -> None:
    assert mutants(code, 5) == []
    assert not any(uses(draft(code), Capabilities()).values())


# --- probes -------------------------------------------------------------------------------


def test_probes_fit_the_schema() -> None:
    assert all(fits(one, OBJECT) for one in made(OBJECT))
    calls = list(
        calls_in(draft(tests="import a_tool\ndef test_a():\n    assert a_tool.run(x=5) == a_tool.run(9)\n"))
    )
    assert calls == [{"x": 5}, {"x": 9}]


def test_a_schema_s_regular_expressions_never_run_here() -> None:
    evil = {"type": "string", "pattern": "(a+)+$"}
    assert fits("a" * 60 + "!", evil)
    assert misfit(
        {"pattern": 1}, {"type": "object", "properties": {"pattern": {"type": "string"}}}
    ).startswith("$.pattern")


def test_common_parts_of_two_samples_are_found() -> None:
    assert agree({"a": 1, "b": 2}, {"a": 1.0, "c": 3}) == ({"a": 1},)
    assert agree({"a": 1}, {"a": 2}) is None
    assert agree([1, 2], [1]) is None
    assert agree(True, 1) is None
    assert agree(0.1 + 0.2, 0.3) is not None
    assert same({"a": 1}, {"a": 1, "more": 2}) and not same({"a": 1}, {"b": 1})
    assert equal([1, {"a": 0.3}], [1, {"a": 0.1 + 0.2}]) and not equal([{"a": 1}], [{"a": 1, "b": 2}])


# --- requirements -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "facts", "state", "said"),
    [
        ("requests", OLD, "passed", "1 packages"),
        ("some-quiet-thing", OLD, "passed", "1 packages"),
        ("reqeusts", PackageFacts(first_upload="2026-05-01T00:00:00Z"), "failed", "looks like requests"),
        (
            "some-quiet-thing",
            PackageFacts(first_upload="2026-11-11T00:00:00Z"),
            "failed",
            "first appeared 10 days ago",
        ),
        (
            "requests",
            PackageFacts(first_upload="2015-01-01T00:00:00Z", yanked=True),
            "failed",
            "was withdrawn",
        ),
    ],
)
async def test_requirements_are_checked(name: str, facts: PackageFacts, state: str, said: str) -> None:
    book = Book()
    index = Told(**{name.replace("-", "_"): facts})
    found = await RequirementsCheck(index, book, lambda: NOW).check(needing(name))
    assert found.state == state and said in found.summary
    assert book.asked == (state == "passed")


async def test_known_faults_stop_a_package() -> None:
    book = Book("PYSEC-2018-28 = CVE-2018-18074")
    found = await RequirementsCheck(Told(requests=OLD), book, lambda: NOW).check(needing("requests"))
    assert found.state == "failed" and "PYSEC-2018-28 = CVE-2018-18074" in found.summary
    assert found.rows[0].tone == "bad"


async def test_a_failed_look_up_is_no_pass() -> None:
    odd = await run_check(RequirementsCheck(Told(), Book(), lambda: NOW), needing("requests"))
    assert odd.state == "skipped" and "told nothing more" in odd.rows[0].text
    assert "did not tell of requests" in odd.summary
    dark = RequirementsCheck(Told(requests=OLD), Book(problem="it is away"), lambda: NOW)
    away = await dark.check(needing("requests"))
    assert away.state == "skipped" and away.no_fault_database
    assert away.summary == "the known faults could not be looked up: it is away"


async def test_no_requirements_need_no_index() -> None:
    book = Book()
    found = await RequirementsCheck(Told(), book, lambda: NOW).check(CASE)
    assert found.state == "passed" and "standard library" in found.summary and book.asked == 0


@pytest.mark.parametrize(
    ("name", "like"),
    [
        ("reqeusts", "requests"),
        ("numpi", "numpy"),
        ("python-pandas", "pandas"),
        ("beautifulsoup", "beautifulsoup4"),
        ("djang0", "django"),
        ("requests", ""),
        ("py-hexagon-solver", ""),
    ],
)
def test_lookalike_names_are_found(name: str, like: str) -> None:
    assert look_alike(name) == like


@pytest.mark.parametrize(
    ("name", "like"),
    [
        ("flaks", "flask"),
        ("flaksy", ""),
        ("matplotlbi", "matplotlib"),
        ("matplotlbii", "matplotlib"),
        ("matplolbii", ""),
    ],
)
def test_swapping_neighbouring_letters_is_one_edit(name: str, like: str) -> None:
    assert look_alike(name) == like


@pytest.mark.parametrize(
    ("caught", "counted", "chance"),
    [
        (5, 10, True),
        (3, 6, True),
        (1, 2, True),
        (0, 3, False),
        (0, 1, False),
        (1, 8, False),
        (4, 12, False),
        (8, 24, False),
    ],
)
def test_few_mutants_give_a_verdict_only_without_chance(caught: int, counted: int, chance: bool) -> None:
    from alita_tui.toolsmith.checks.mutation import by_chance

    assert by_chance(caught, counted) is chance


def test_an_example_in_the_sentence_of_an_error_is_no_leak() -> None:
    from alita_tui.toolsmith.checks.literals import leaks

    texts, none = frozenset(("22:30",)), frozenset[float]()
    assert leaks("def run(x):\n    raise ValueError('a time is written like 22:30')\n", texts, none) == []
    assert leaks("def run(x):\n    raise ValueError('22:30')\n", texts, none)
    assert leaks("def run(x):\n    return 'a time is written like 22:30'\n", texts, none)


def test_a_schema_that_refers_to_an_address_or_a_file_is_not_followed(tmp_path: Path) -> None:
    """Schemas are written by models and servers; this machine fetches nothing for them."""
    here = tmp_path / "schema.json"
    here.write_text('{"type": "string"}')
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(0)
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/schema.json"
        for reference in (address, here.as_uri()):
            said = misfit({"a": "text"}, {"type": "object", "properties": {"a": {"$ref": reference}}})
            assert "cannot be applied" in said
        with pytest.raises(BlockingIOError):
            silent.accept()
    local = {"$defs": {"a": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/a"}}}
    assert misfit({"a": "text"}, local) == "" and misfit({"a": 1}, local)


def test_words_of_a_table_belong_to_the_tool_unless_they_come_from_the_task() -> None:
    texts, none = task_values('Which value has a resistor with the bands "brown", "black" and "gold"?')
    colours = "'black': 0, 'brown': 1, 'red': 2, 'orange': 3, 'yellow': 4, 'gold': -1"
    assert leaks(f"def run(x):\n    return {{{colours}}}[x]\n", texts, none) == []
    tolerances = "'brown': 1.0, 'red': 2.0, 'gold': 5.0, 'silver': 10.0"
    assert leaks(f"def run(x):\n    return {{{tolerances}}}[x]\n", texts, none) == []
    split = "COLOURS = {}.split()\n\n\ndef run(x):\n    return COLOURS.index(x)\n"
    assert leaks(split.format("'black brown red orange yellow gold'"), texts, none) == []
    assert len(leaks(split.format("'black brown gold x y'"), texts, none)) == 3
    few = "'black': 0, 'brown': 1, 'gold': -1"
    assert len(leaks(f"def run(x):\n    return {{{few}}}[x]\n", texts, none)) == 3
    padded = "('black', 'brown', 'gold', 'x', 'y')"
    assert len(leaks(f"def run(x):\n    return {padded}\n", texts, none)) == 3
    addressed, none = task_values('Is "ann@example.org" valid?')
    known = "'ann@example.org': 1, 'a': 0, 'b': 0, 'c': 0, 'd': 0, 'e': 0"
    assert leaks(f"def run(x):\n    return {{{known}}}[x]\n", addressed, none)


def test_threads_that_validate_at_once_each_have_their_own_steps():
    doubling: Json = {
        "$defs": {"0": {}} | {str(n): {"allOf": [{"$ref": f"#/$defs/{n - 1}"}] * 2} for n in range(1, 40)}
    }
    endless = {**doubling, "$ref": "#/$defs/39"}
    plain = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}}
    with ThreadPoolExecutor(4) as pool:
        schemas = [endless, plain, plain, plain] * 3
        said = list(pool.map(lambda schema: misfit({"a": [1] * 2_000}, schema), schemas))
    assert [bool(why) for why in said] == [True, False, False, False] * 3, said
    assert all("too many steps" in why for why in said if why)


_NAMES: Json = {f"k{n}": 1 for n in range(80_000)}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"uniqueItems": True}, [{"k": n} for n in range(20_000)]),
        ({"uniqueItems": True}, [part for n in range(8_000) for part in (n, str(n), [n])]),
        ({"allOf": [{"uniqueItems": True}] * 2_000}, [[n] for n in range(50_000)]),
        ({"unevaluatedProperties": {}}, _NAMES),
        ({"items": {"enum": list(range(5_000))}}, list(range(20_000, 40_000))),
        ({"allOf": [{"type": "string"}] * 3_500}, _NAMES),
    ],
    ids=["objects", "mixed", "again and again", "unevaluated", "enum", "errors"],
)
def test_no_schema_of_64_kb_and_result_of_1_mb_hold_anything_up(schema: Json, value: Json) -> None:
    """Both can come from a server of the Model Context Protocol, or from a model and its tool."""
    began = time.thread_time()
    misfit(value, schema)
    assert time.thread_time() - began < 5


def test_items_are_the_same_as_json_says() -> None:
    unique: Json = {"uniqueItems": True}
    assert misfit([1, True, "1", None, 0, False, 1.5, [1], {"a": 1}, [], {}, ["list"], 10**400], unique) == ""
    pairs: tuple[Json, ...] = (
        [1, 1.0], ["x", "x"], [{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}], [[], []], [None, None]
    )  # fmt: skip
    assert all("non-unique" in misfit(pair, unique) for pair in pairs)


@pytest.mark.parametrize(
    ("browser", "started", "strange"),
    [
        (True, "/env/playwright/driver/node", []),
        (False, "/env/playwright/driver/node", ["/env/playwright/driver/node"]),
        (True, "/bin/sh", ["/bin/sh"]),
        (True, "/env/other/driver/node", ["/env/other/driver/node"]),
    ],
)
def test_the_driver_of_a_browser_that_was_asked_for_is_declared(
    browser: bool, started: str, strange: list[str]
) -> None:
    wants = Capabilities(browser=browser)
    assert _strange(wants, "processes", [], [], [started]) == strange
    assert _strange(wants, "processes", ["subprocess"], [], []) == ["subprocess"], (
        "what the code names is not"
    )
