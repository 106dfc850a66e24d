"""A draft that reads or writes files is tried on files that its tests make, and never on the person's."""

from __future__ import annotations

import textwrap
from base64 import b64encode
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from alita_tui.events import BrokerAnswered, BuildId, Capabilities, PageLogged, ToolDraft, ToolName
from alita_tui.registry.library import ToolLibrary
from alita_tui.registry.task_library import TaskLibrary
from alita_tui.runtimes.scratch_files import carried, granted, written_out
from alita_tui.sandbox.broker.broker import Broker
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.address import AddressPolicy
from alita_tui.spine.ports.sandbox import Job
from alita_tui.toolsmith.checks.case import Case
from alita_tui.toolsmith.contract import normalise
from tests.support.limits import ROOMY
from tests.toolsmith.trial import Reviewer, Trial

LINES = '''
"""Counts lines of a file in the workspace."""

import os
import urllib.error
import urllib.parse
import urllib.request


def run(path: str) -> int:
    """Return how many lines the file has."""
    url = os.environ["ALITA_BROKER"] + "/files/" + urllib.parse.quote(path)
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            text = answer.read().decode("utf-8")
    except urllib.error.HTTPError as error:
        raise ValueError(f"{path} cannot be read: {error.read().decode()}") from error
    return len(text.splitlines())
'''
TESTS = """
import workspace
from line_count import run

workspace.write("two.txt", "a\\nb\\n")


def test_lines():
    assert run("two.txt") == 2


def test_more():
    workspace.write("three.txt", "a\\nb\\nc")
    assert run("three.txt") == 3
    assert workspace.names() == ["three.txt", "two.txt"]


def test_none():
    workspace.write("none.txt", b"")
    assert run("none.txt") == 0


def test_missing():
    assert workspace.names() == ["two.txt"]
    try:
        run("three.txt")
    except ValueError as error:
        assert "there is no three.txt" in str(error)
    else:
        raise AssertionError("it was there")
"""


def lines(
    tests: str = TESTS, workspace: Literal["none", "read", "write"] = "read", code: str = LINES
) -> ToolDraft:
    return normalise(
        ToolDraft(
            name=ToolName("line_count"),
            description="How many lines a text file of the workspace has.",
            code=code.lstrip(),
            tests=tests.lstrip(),
            input_schema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": False},
            output_schema={"type": "integer", "minimum": 0},
            capabilities=Capabilities(workspace=workspace),
        )
    )  # fmt: skip


def test_files_written_out_by_tests_are_found() -> None:
    found = written_out(lines())
    assert found == {"two.txt": b"a\nb\n", "three.txt": b"a\nb\nc", "none.txt": b""}
    constant = "import workspace\nA = 'x'\nworkspace.write('a.txt', A)\nworkspace.write('../b', A)\nworkspace.write(A, [])\n"
    assert written_out(lines(constant)) == {"a.txt": b"x"}
    assert written_out(lines("workspace.write('a', 'b')\n")) == {}


def test_answers_written_out_by_tests_are_found() -> None:
    tests = (
        "import hosts\nNOW = 'GET https://a.example/now'\nhosts.answer(NOW + '?q=1', {'x': [1.5]})\n"
        "hosts.answer(NOW, 'no', status=404, headers={'A': 'b'})\nhosts.answer(NOW, 'later')\nhosts.answer(str(object()), 1)\n"
    )
    answers = msgspec.json.decode(written_out(lines(tests))[".hosts"])["answers"]
    assert answers == {
        "GET https://a.example/now?q=1": {
            "status": 200,
            "headers": {},
            "body": b64encode(b'{"x":[1.5]}').decode(),
        },
        "GET https://a.example/now": {
            "status": 404,
            "headers": {"A": "b"},
            "body": b64encode(b"no").decode(),
        },
    }
    assert set(granted(lines(tests), {"a.txt": b"1"})["scratch"]) == {".hosts", "a.txt"}


@pytest.mark.parametrize(
    ("files", "read"),
    [
        (None, {}),
        ({"a.csv": "é"}, {"a.csv": "é".encode()}),
        ({"d/a.bin": {"base64": "AAE="}}, {"d/a.bin": b"\0\1"}),
        ({"../a": "x"}, None), ({".a": "x"}, None), ({"/a": "x"}, None), ({"": "x"}, None), ({"a\n": "x"}, None),
        ({"a": 1}, None), ({"a": {"base64": "%"}}, None), ({"a": "\ud800"}, None), ([], None),
        ({str(n): "" for n in range(6)}, None), ({"a": "x" * 100_001}, None),
    ],
)  # fmt: skip
def test_files_of_a_case_are_read(files: object, read: object) -> None:
    assert carried(files) == read


@pytest.mark.podman
async def test_a_tool_that_reads_files_passes_everything(podman: PodmanSandbox, shelf: ToolLibrary) -> None:
    known = tuple(
        ({"path": "a.txt", "@files": {"a.txt": text}}, count, False)
        for text, count in (("x", 1), ("x\ny", 2), ("é\nö\n", 2), ("", 0))
    )
    reviewer = Reviewer({"line_count": (*known, ({"path": "missing.txt"}, None, True))})
    verdict = await Trial(podman, TaskLibrary(shelf), reviewer, limits=ROOMY).judge(lines(), "")
    assert verdict.problem == "", verdict.problem
    failed = [result for result in verdict.gates if result.state == "failed"]
    assert failed == []
    hidden = next(result for result in verdict.gates if result.gate == "hidden")
    assert hidden.state == "passed" and hidden.summary.startswith("5 of 5"), hidden
    asked = reviewer.requests[0].messages[0].text
    assert "read access to the files in the workspace" in asked and "files" in asked


@pytest.mark.podman
async def test_a_wrong_answer_about_a_file_is_found(podman: PodmanSandbox, shelf: ToolLibrary) -> None:
    known = tuple(({"path": "a.txt", "@files": {"a.txt": "x\n" * n}}, n + 1, False) for n in range(1, 4))
    reviewer = Reviewer({"line_count": known})
    verdict = await Trial(podman, TaskLibrary(shelf), reviewer, limits=ROOMY).judge(lines(), "")
    hidden = next(result for result in verdict.gates if result.gate == "hidden")
    assert hidden.state == "failed" and "a.txt" in hidden.rows[0].label, hidden


@pytest.mark.podman
async def test_a_case_without_its_file_counts_against_nobody(
    podman: PodmanSandbox, shelf: ToolLibrary
) -> None:
    reviewer = Reviewer({"line_count": tuple(({"path": f"{n}.txt"}, 3, False) for n in range(4))})
    verdict = await Trial(podman, TaskLibrary(shelf), reviewer, limits=ROOMY).judge(lines(), "")
    hidden = next(result for result in verdict.gates if result.gate == "hidden")
    assert hidden.state == "skipped", hidden


async def tried(podman: PodmanSandbox, code: str, tests: str, **more: object) -> dict[str, str]:
    job = Job(
        run_id="r1", module="tool", code=textwrap.dedent(code), tests=textwrap.dedent(tests), kind="test",
        limits=ROOMY, **more,  # type: ignore[arg-type]
    )  # fmt: skip
    report = await podman.run(job, lambda *_: None, lambda *_: None)
    assert report.status == "ok", report
    return {case.name: case.message for case in report.cases if not case.passed}


WRITES = """
import os, urllib.request, urllib.error

def run(name, text, where="/files/"):
    url = os.environ["ALITA_BROKER"] + where + name
    request = urllib.request.Request(url, data=text.encode(), method="PUT")
    try:
        return urllib.request.urlopen(request).status
    except urllib.error.HTTPError as error:
        return error.code
"""


@pytest.mark.podman
async def test_tests_read_files_that_the_tool_writes(podman: PodmanSandbox) -> None:
    tests = """
    import workspace
    from tool import run

    def test_it():
        assert run("a.txt", "x") == 201
        assert workspace.read("a.txt") == "x" and workspace.read_bytes("a.txt") == b"x"

    def test_again():
        try:
            workspace.read("a.txt")
        except FileNotFoundError:
            return
        raise AssertionError
    """
    assert await tried(podman, WRITES, tests, capabilities=Capabilities(workspace="write"), scratch={}) == {}


@pytest.mark.podman
async def test_a_read_only_tool_cannot_write_or_use_the_endpoints_of_the_tests(
    podman: PodmanSandbox,
) -> None:
    tests = """
    import os
    import workspace
    from tool import run

    def test_it():
        assert run("a.txt", "x") == run("guess/a.txt", "x") == run("guess/.hosts", "{}") == 403
        assert workspace.names() == ["given.txt"]
        assert "ALITA_BROKER" not in os.environ
        assert run("x", "/proc/self/environ".upper()) == 403
    """
    given = {"given.txt": b"1", "given.txt/more": b"", "../x": b"", ".x": b""}
    assert await tried(podman, WRITES, tests.replace('import workspace\n', 'import workspace\n    workspace.write("given.txt", "1")\n'),
                       capabilities=Capabilities(workspace="read"), scratch=given) == {}  # fmt: skip


@pytest.mark.podman
async def test_stand_ins_without_a_grant_raise_an_explained_error(podman: PodmanSandbox) -> None:
    tests = """
    import workspace

    def test_it():
        workspace.write("a", "b")
    """
    assert "(capabilities)" in (await tried(podman, WRITES, tests))["test_it"]


ASKS = """
import json, os, urllib.request, urllib.error

def run(url, data=None, bare=False):
    headers = {} if bare else {"X-Key": os.environ["KEY"]}
    request = urllib.request.Request(url, data=data.encode() if data else None, headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return [answer.status, answer.read().decode(), dict(answer.headers).get("X-Next")]
    except urllib.error.HTTPError as error:
        return [error.code, error.read().decode(), None]
    except urllib.error.URLError as error:
        return [0, str(error.reason), None]
"""
HOSTS = Capabilities(
    network=("GET,POST api.example.org:443", "plain.example.org:80"), secrets=("KEY@api.example.org:443",)
)


@pytest.mark.podman
async def test_hosts_give_the_canned_answers_and_are_not_contacted(podman: PodmanSandbox) -> None:
    tests = """
    import hosts
    from tool import run

    hosts.answer("GET https://api.example.org/v1", {"a": [1]}, headers={"X-Next": "/v1?page=2"})
    hosts.answer("GET https://api.example.org/v1?page=2", "two")
    hosts.answer("POST https://api.example.org/v1", b"made", status=201)
    hosts.answer("GET http://plain.example.org/", "plain")

    def test_pages():
        assert run("https://api.example.org/v1?q=1") == [200, '{"a": [1]}', "/v1?page=2"]
        assert run("https://api.example.org/v1?page=2") == [200, "two", None]
        assert run("http://plain.example.org/", bare=True) == [200, "plain", None]

    def test_what_was_sent():
        assert run("https://api.example.org/v1", "body")[:2] == [201, "made"]
        (asked,) = hosts.requests()
        assert (asked["method"], asked["url"], asked["body"]) == ("POST", "https://api.example.org/v1", b"body")
        assert asked["headers"]["x-key"] == "value-of-KEY"

    def test_what_is_not_granted_or_not_said():
        assert run("https://api.example.org/other")[0] == 502
        assert run("https://other.example.org/") [0] in (0, 403)
        assert "not granted" in run("http://other.example.org/")[1]
        assert "the secret KEY is not granted for plain" in run("http://plain.example.org/")[1]
        assert "without TLS" in run("http://api.example.org:443/v1")[1]

    def test_answers_that_are_none():
        for wrong in ({"status": 99}, {"status": 100}, {"status": 1000}, {"headers": {"a b": "c"}}, {"headers": {"a": "b\\nc"}}, {"headers": {"\u00e9": "x"}}):
            hosts.answer("GET https://api.example.org/v1", "x", **wrong)
            assert run("https://api.example.org/v1")[0] == 502, wrong
        hosts.answer("GET https://api.example.org/v1", "x", status=204, headers={"Content-Length": "99", "Connection": "x"})
        assert run("https://api.example.org/v1")[:2] == [204, ""]

    def test_answers_of_one_test_are_gone_in_the_next():
        hosts.answer("GET https://api.example.org/v1", "else")
        assert run("https://api.example.org/v1")[1] == "else"

    def test_they_are():
        assert run("https://api.example.org/v1")[1] == '{"a": [1]}'
        assert hosts.requests()[0]["method"] == "GET"
    """
    assert await tried(podman, ASKS, tests, capabilities=HOSTS, scratch={}) == {}


@pytest.mark.podman
async def test_models_give_the_canned_replies(podman: PodmanSandbox) -> None:
    code = """
    import json, os, urllib.request, urllib.error

    def run(prompt):
        request = urllib.request.Request(os.environ["ALITA_BROKER"] + "/model", data=json.dumps({"prompt": prompt}).encode())
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)["text"]
        except urllib.error.HTTPError as error:
            return error.code
    """
    tests = """
    import hosts
    from tool import run

    def test_it():
        hosts.reply("one")
        assert [run("a"), run("b")] == ["one", 503]
    """
    assert await tried(podman, code, tests, capabilities=Capabilities(model_calls=2), scratch={}) == {}


@pytest.mark.podman
async def test_a_real_secret_never_reaches_a_test(ready: EngineSettings) -> None:
    asked: list[str] = []

    async def nowhere(host: str, port: int) -> tuple[str, ...]:
        asked.append(host)
        return ()

    async def told(answered: BrokerAnswered | PageLogged) -> None:
        asked.append(str(answered))

    def secret(name: str) -> str:
        asked.append(name)
        return "the real value"

    broker = Broker(AddressPolicy(nowhere), told, secret=secret, workspace=Path("/nonexistent/alita"))
    podman = PodmanSandbox(ready, "gates", broker=broker)
    tests = """
    import hosts, workspace
    from tool import run

    def test_it():
        hosts.answer("GET https://api.example.org/", "x")
        assert run("https://api.example.org/")[1] == "x"
        assert "real" not in str(hosts.requests())
        workspace.write("a", "b")
    """
    try:
        assert await tried(podman, ASKS, tests, capabilities=HOSTS, scratch={}) == {}
    finally:
        await podman.close()
    assert asked == []


@pytest.mark.podman
async def test_calls_of_a_draft_get_stand_ins_for_its_requested_grants(podman: PodmanSandbox) -> None:
    from alita_tui.toolsmith.checks.workbench import Workbench

    code = "import os\n\n\ndef run(path: str) -> list[str]:\n    return sorted(os.environ)\n"
    draft = lines(code=code)
    case = Case(build_id=BuildId("b1"), draft=draft)
    (answer,) = await Workbench(podman, ROOMY).outputs(case, [{"path": ""}])
    assert "ALITA_BROKER" in answer["result"] and "http_proxy" not in answer["result"]


@pytest.mark.podman
async def test_a_call_outside_of_the_tests_gets_their_canned_answers(podman: PodmanSandbox) -> None:
    from alita_tui.toolsmith.checks.workbench import Workbench
    from tests.toolsmith.examples import EXAMPLES

    case = Case(build_id=BuildId("b1"), draft=EXAMPLES["city_temperature"])
    known, unknown = await Workbench(podman, ROOMY).outputs(case, [{"city": "Oslo"}, {"city": "Rome"}])
    assert known["result"] == -3.5 and "404" in unknown["text"]
