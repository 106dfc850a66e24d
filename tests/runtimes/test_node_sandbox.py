"""JavaScript and TypeScript tools in the real sandbox."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from alita_tui.events import BuildId
from alita_tui.runtimes.languages import runtime_of
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import Job, Limits
from alita_tui.toolsmith.checks.case import Case
from alita_tui.toolsmith.checks.mutation import MutationCheck
from alita_tui.toolsmith.checks.runner import run_check
from alita_tui.toolsmith.checks.workbench import Workbench
from tests.runtimes.drafts import javascript, typescript
from tests.runtimes.hostile import NODE, TYPED
from tests.runtimes.npm_tools import REQUIRED, WORDS_OF_NPM, offered
from tests.runtimes.running import quiet, ran
from tests.support.limits import ROOMY
from tests.support.servers.npm_registry import NpmRegistry, Package

pytestmark = [pytest.mark.podman, pytest.mark.slow]


@pytest.mark.parametrize("draft", [javascript(), typescript()], ids=["javascript", "typescript"])
async def test_a_right_tool_answers_passes_its_tests_and_runs_every_line(podman: PodmanSandbox, draft):
    lock = await podman.lock(runtime_of(draft.language).needs, quiet)
    case = Case(build_id=BuildId("b1"), draft=draft, lock=lock)
    bench = Workbench(podman, ROOMY)
    good = await ran(podman, draft, {"text": "b a b", "most": 1})
    assert (good.status, good.result) == ("ok", [{"word": "b", "count": 2}]), good.error
    watched = await bench.watched(case)
    assert watched.tested.good and not watched.problem
    assert watched.missed([]).lines == () == watched.missed([]).parts
    assert (await run_check(MutationCheck(bench), case)).state == "passed"


@pytest.mark.walk
async def test_packages_of_npm_are_available_to_tool_tests_coverage_and_mutants(
    podman: PodmanSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    registry = NpmRegistry(offered())
    for name, value in (("registry", registry.url), ("cache", str(tmp_path / "c")), ("noproxy", "127.0.0.1")):
        monkeypatch.setenv(f"npm_config_{name}", value)
    draft = javascript(WORDS_OF_NPM, requirements=[*REQUIRED])
    try:
        lock = await podman.lock((*draft.requirements, *runtime_of(draft.language).needs), quiet)
        folder = Path(await podman.installed(lock, quiet))
    finally:
        registry.close()
    assert not [path for path in (folder / "node_modules").rglob("ran*") if path.name != "ran.mjs"]
    assert folder.name == lock.digest[:32] and not (folder / "node_modules" / ".bin").exists()
    before = {path: path.stat().st_mtime_ns for path in (folder / "node_modules").rglob("*")}
    case, bench = Case(build_id=BuildId("b1"), draft=draft, lock=lock), Workbench(podman, ROOMY)
    watched = await bench.watched(case)
    assert watched.tested.good and not watched.problem, watched
    assert watched.missed([]).lines == ()
    assert (await run_check(MutationCheck(bench), case)).state == "passed"
    hostile = (
        'import { writeFileSync } from "node:fs";\n/** @param {{text: string, most: number}} input */\n'
        'export async function run(input) { writeFileSync("/env/node_modules/word-tally/lib/index.js", "1"); }\n'
    )
    job = Job(
        run_id="r", module="words_often", code=javascript(hostile).code, language="javascript",
        arguments={"text": "", "most": 1}, lock=lock,
    )  # fmt: skip
    report = await podman.run(job, quiet, quiet)
    assert report.status == "error" and "EROFS" in report.error + report.stderr, report
    assert before == {path: path.stat().st_mtime_ns for path in (folder / "node_modules").rglob("*")}


@pytest.mark.walk
async def test_calls_with_packages_of_npm_share_a_container_but_no_state(
    ready: EngineSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    registry = NpmRegistry([Package("counter", files={"index.js": "let n = 0; module.exports = () => ++n;"})])
    for name, value in (("registry", registry.url), ("cache", str(tmp_path / "c")), ("noproxy", "127.0.0.1")):
        monkeypatch.setenv(f"npm_config_{name}", value)
    code = """import counter from "counter";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
export async function run(input) {
  const seen = existsSync("/tmp/seen");
  writeFileSync("/tmp/seen", "x");
  globalThis.seen = (globalThis.seen ?? 0) + 1;
  counter.kept = (counter.kept ?? 0) + 1;
  return [counter(), counter.kept, globalThis.seen, seen, process.getuid(), /upperdir=[^,]*/.exec(readFileSync("/proc/self/mountinfo", "utf-8"))[0]];
}
"""
    sandbox = PodmanSandbox(msgspec.structs.replace(ready, session_calls=True), "npm-session")
    try:
        lock = await sandbox.lock(("npm:counter@^1", *runtime_of("javascript").needs), quiet)
        await sandbox.installed(lock, quiet)
        registry.close()
        callers: list[tuple[int, str]] = []
        for digest in (*["approved"] * 4, "another"):
            job = Job(
                run_id="r",
                module="counts",
                code=code,
                language="javascript",
                arguments={},
                lock=lock,
                digest=digest,
            )
            report = await sandbox.run(job, quiet, quiet)
            assert report.status == "ok", report
            assert report.result[:4] == [1, 1, 1, False], "each call has a process and a /tmp of its own"
            callers.append((report.result[4], report.result[5]))
            while sandbox._sessions._tasks:
                await asyncio.wait(sandbox._sessions._tasks)
        # The second call of a build starts its session container, and the ones after it come there.
        assert len({uid for uid, _ in callers}) == 5, callers
        *_, third, fourth, another = [container for _, container in callers]
        assert third == fourth != another
    finally:
        await sandbox.close()


async def test_refusals_and_faults_are_distinguished_and_limits_hold(podman: PodmanSandbox):
    for line, status, exception, said in (
        ('throw new RangeError("too small")', "error", "RangeError", "too small"),
        ("return undefined", "error", "TypeError", "no JSON value"),
        ("return [NaN]", "error", "TypeError", "no JSON value"),
        ("process.exit(3)", "error", "RuntimeError", "exit code 3"),
        ("const held = []; for (;;) held.push(new Uint8Array(4 << 20).fill(1))", "limit", "", ""),
        ("for (;;) {}", "timeout", "", ""),
    ):
        draft = javascript(f"export async function run(input) {{ {line}; }}")
        report = await ran(
            podman, draft, {"text": "", "most": 1}, Limits(wall_seconds=6, memory_bytes=192 << 20)
        )
        assert report.status == status, (line, report)
        assert report.exception == exception and said in report.error
        assert report.peak_memory_bytes < 400 << 20


async def test_a_module_cannot_claim_that_its_lines_ran(podman: PodmanSandbox):
    forged = (
        'import { writeSync } from "node:fs";\nexport async function run(input) {\n'
        '  for (let n = 0; n < 40; n++) writeSync(3, "0123456789abcdef " + n + "\\n");\n'
        '  if (input.text === "never") {\n    return "payload";\n  }\n  return 1;\n}\n'
    )
    tests = "from words_often import run\n\n\ndef test_runs():\n    assert run('a', 1) == 1\n"
    draft = javascript(forged, tests=tests, output_schema={})
    lock = await podman.lock(runtime_of("javascript").needs, quiet)
    watched = await Workbench(podman, ROOMY).watched(Case(build_id=BuildId("b1"), draft=draft, lock=lock))
    hidden = next(n for n, line in enumerate(draft.code.split("\n"), 1) if "payload" in line)
    assert watched.missed([]).lines == (hidden,)
    assert any(one.rule == "ast/files" for one in runtime_of("javascript").uses(draft).sorted())
    job = Job(
        run_id="r", module="words_often", code=draft.code, language="javascript", arguments={}, lock=lock
    )
    assert (await podman.run(job, quiet, quiet)).result == 1


SMALL = Limits(wall_seconds=8, cpu_seconds=10, memory_bytes=192 << 20, processes=48)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", sorted(NODE))
async def test_a_hostile_module_stays_inside(podman: PodmanSandbox, name: str):
    draft = javascript(f"export async function run(input) {{ {NODE[name]} }}")
    report = await ran(podman, draft, {"text": "", "most": 1}, SMALL)
    assert report.result != "escaped", report
    assert report.status in (
        (TYPED[name],) if name in TYPED else ("ok", "error", "exit", "limit", "timeout")
    ), report
    assert report.peak_memory_bytes < 1.5 * SMALL.memory_bytes
    assert len(report.stdout) <= SMALL.output_bytes and len(report.stderr) <= SMALL.output_bytes
    after = await ran(podman, javascript(), {"text": "a", "most": 1})
    assert after.status == "ok", after
