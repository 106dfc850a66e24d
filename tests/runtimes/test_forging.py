"""A draft that tries to claim lines that it never ran: to write a mark it has to know a sign, which is in its code alone."""

from __future__ import annotations

import pytest

from alita_tui.events import BuildId, ToolDraft
from alita_tui.runtimes.languages import runtime_of
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.toolsmith.checks.case import Case
from alita_tui.toolsmith.checks.coverage import CoverageCheck, _introspects
from alita_tui.toolsmith.checks.hidden import HiddenTestsCheck
from alita_tui.toolsmith.checks.runner import run_check
from alita_tui.toolsmith.checks.workbench import Workbench
from tests.runtimes.drafts import bash, javascript
from tests.runtimes.running import quiet
from tests.support.limits import ROOMY
from tests.toolsmith.trial import Reviewer

pytestmark = [pytest.mark.podman, pytest.mark.slow]

IDLE = "from words_often import run\n\n\ndef test_runs():\n    assert run('a', 1) == 1\n    assert run('b', 1) == 1\n"
# Each looks for the sign where a program may find its own code, and writes a mark for each place that there could be.
BASH_LOOKS = {
    "its arguments": "cat /proc/$$/cmdline /proc/$BASHPID/cmdline /proc/self/cmdline",
    "its own file": "cat /tmp/tool/* /tmp/*.sh ./*.sh; for f in /proc/$$/fd/*; do timeout 0.2 cat $f; done",
    "what it wrote before": "timeout 0.2 head -c 18 /proc/$$/fd/3",
    "the channel itself": "timeout 0.2 head -c 18 <&3",
    "its descriptors": "for n in 5 10 11 255; do timeout 0.2 cat /proc/$$/fd/$n; done",
    "its environment": "cat /proc/$$/environ; declare -p",
    "the memory of what started it": """grep -aoE '__alit[a]_[0-9a-f]{16}' <(while read -r range may rest; do
  [[ $may == rw* ]] && dd if=/proc/$PPID/mem bs=64K iflag=skip_bytes,count_bytes skip=$((16#${range%-*})) """
    """count=$((16#${range#*-} - 16#${range%-*})); done </proc/$PPID/maps) | head -n 1 | cut -c 9-""",
    "the text that it is run from": 'echo "$BASH_EXECUTION_STRING $1 $* $_"',
}
NODE_LOOKS = {
    "its own text": "`${run}` + run + String(run) + [run] + util.inspect(run, { showHidden: true })",
    "a function beside it": "`${beside}`",
    "its own file": "[...fs.readdirSync('/tmp/tool'), ...fs.readdirSync('.')].map((one) => read('/tmp/tool/' + one) + read(one)).join('')",
    "the file of its name": "read(new URL(import.meta.url)) + read(process.argv[1])",
    "its descriptors": "[0, 3, 4, 5, 17, 18, 19, 20, 21, 22].map((n) => n > 4 ? read(n) : '').join('')",
    "what it wrote before": "read('/proc/self/fd/3')",
    "its arguments": "read('/proc/self/cmdline') + read('/proc/self/environ')",
    "where it fails": "(() => { try { null.x } catch (error) { return error.stack } })()",
    "what an assertion tells": "(() => { try { assert.ok(!input) } catch (error) { return error.message } })()",
    "the memory of what started it": "(() => { const own = fs.readFileSync(`/proc/${process.ppid}/maps`, 'latin1'); const file = "
    "fs.openSync(`/proc/${process.ppid}/mem`); for (const [, from, to] of own.matchAll(/^(\\w+)-(\\w+) rw/gm)) { try { const piece = "
    "Buffer.alloc(parseInt(to, 16) - parseInt(from, 16)); fs.readSync(file, piece, 0, piece.length, parseInt(from, 16)); "
    "const hit = /__alit[a]_([0-9a-f]{16})/.exec(piece.toString('latin1')); if (hit) return ' ' + hit[1]; } catch {} } return ''; })()",
    "its frames": "JSON.stringify(util.getCallSites())",
}


def forger_in_bash(look: str) -> ToolDraft:
    code = f"""# text most
set +e
exec 2>/dev/null
: "$(jq -r .text)"
sign=$( {{ {look}; }} | tr '\\0' '\\n' | grep -aoE '\\b[0-9a-f]{{16}}\\b' | head -n 1)
for n in {{0..60}}; do
  printf '%s %s\\n' "$sign" "$n" >&3
done
if (( 1 > 2 )); then
  echo payload
fi
echo 1
"""
    return bash(code, tests=IDLE, output_schema={"type": "integer"})


def forger_in_node(look: str) -> ToolDraft:
    code = f"""import fs from "node:fs";
import util from "node:util";
import assert from "node:assert";
const read = (one) => {{ try {{ return fs.readFileSync(one, "latin1"); }} catch {{ return ""; }} }};
function beside() {{ const one = 1; return one; }}
/** @param {{{{text: string, most: number}}}} input */
export async function run(input) {{
  beside();
  let found = "";
  try {{ found = String({look}); }} catch {{}}
  const sign = /[0-9a-f]{{16}}/.exec(found.replace(/^[0-9a-f]{{16}}$/, ""))?.[0] ?? "";
  for (let n = 0; n < 60; n++) {{ fs.writeSync(3, sign + " " + n + "\\n"); }}
  if (input.text === "never") {{
    return "payload";
  }}
  return 1;
}}
"""
    return javascript(code, tests=IDLE, output_schema={})


async def claims(podman: PodmanSandbox, draft: ToolDraft) -> bool:
    lock = await podman.lock(runtime_of(draft.language).needs, quiet)
    watched = await Workbench(podman, ROOMY).watched(Case(build_id=BuildId("b1"), draft=draft, lock=lock))
    assert not watched.problem and watched.tested.good, (watched.problem, watched.tested)
    never = next(n for n, line in enumerate(draft.code.split("\n"), 1) if "payload" in line)
    return never not in watched.missed([]).lines


@pytest.mark.sampled(1)
@pytest.mark.parametrize("look", sorted(BASH_LOOKS))
async def test_a_script_that_looks_for_the_sign_does_not_find_it(podman: PodmanSandbox, look: str):
    assert not await claims(podman, forger_in_bash(BASH_LOOKS[look]))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("look", sorted(NODE_LOOKS))
async def test_a_module_that_looks_for_the_sign_does_not_find_it(podman: PodmanSandbox, look: str):
    assert not await claims(podman, forger_in_node(NODE_LOOKS[look]))


STACKS = {
    "at the end of the stack": """const dig = () => { beside(); dig(); };
  const pad = (more) => (more ? pad(more - 1) : dig());
  for (let deep = 0; deep < 3000 && !found; deep++) {
    try { pad(deep); } catch (error) { found = /_([0-9a-f]{16})\\b/.exec(util.inspect(error))?.[1] ?? ""; }
  }""",
    "in a built-in that it replaced": """const caught = {};
  const before = [Set.prototype.has, Set.prototype.add];
  Set.prototype.has = Error.captureStackTrace.bind(null, caught);
  beside();
  Set.prototype.has = before[0];
  found = /_([0-9a-f]{16})\\b/.exec(util.inspect(caught, { showHidden: true, getters: true }))?.[1] ?? "";""",
}


def forger_by_stack(look: str) -> ToolDraft:
    """It reads no file and no stack by name: an error is shown, and a socket has the descriptor."""
    code = f"""import net from "node:net";
import util from "node:util";
function beside() {{ const one = 1; return one; }}
/** @param {{{{text: string, most: number}}}} input */
export async function run(input) {{
  let found = "";
  Error.stackTraceLimit = 50;
  {look}
  const out = new net.Socket({{ fd: 3, readable: false, writable: true }});
  for (let n = 0; n < 80; n++) {{ await new Promise((done) => out.write(found + " " + n + "\\n", done)); }}
  if (input.text === "never") {{
    return "payload";
  }}
  return 1;
}}
"""
    return javascript(code, tests=IDLE, output_schema={})


@pytest.mark.parametrize("look", sorted(STACKS))
async def test_no_stack_trace_reveals_the_sign(podman: PodmanSandbox, look: str):
    assert not await claims(podman, forger_by_stack(STACKS[look]))


STARTS = {
    "a program": 'import { spawnSync } from "node:child_process";|spawnSync("sh", ["-c", "p=oc; cat /pr$p/$PPID/mem"]);',
    "a thread": 'import { Worker } from "node:worker_threads";|new Worker("postMessage(1)", { eval: true });',
    "node anew": 'import cluster from "node:cluster";|cluster.fork();',
}


@pytest.mark.parametrize("what", sorted(STARTS))
async def test_coverage_of_a_module_that_starts_others_is_not_counted(podman: PodmanSandbox, what: str):
    first, _, body = STARTS[what].partition("|")
    code = (
        f"{first}\n/** @param {{{{text: string, most: number}}}} input */\n"
        f"export async function run(input) {{\n  if (input.most > 99) {body}\n  return 1;\n}}\n"
    )
    draft = javascript(code, tests=IDLE, output_schema={})
    lock = await podman.lock(runtime_of(draft.language).needs, quiet)
    bench = Workbench(podman, ROOMY)
    check = CoverageCheck(bench, HiddenTestsCheck(bench, Reviewer({"words_often": ()})))
    found = await run_check(check, Case(build_id=BuildId("b1"), draft=draft, lock=lock))
    assert found.state == "skipped", found.summary


ITSELF = {
    "text as code": forger_in_bash("eval \"$(printf 'de%s -f' clare)\""),
    "its own memory": forger_in_node("read('/pr' + 'oc/self/mem')"),
    "a file that its input names": forger_in_node("read(input.text)"),
}


@pytest.mark.parametrize("draft", ITSELF.values(), ids=list(ITSELF))
async def test_coverage_of_code_that_could_look_at_itself_is_not_counted(
    podman: PodmanSandbox, draft: ToolDraft
):
    lock = await podman.lock(runtime_of(draft.language).needs, quiet)
    case = Case(build_id=BuildId("b1"), draft=draft, lock=lock)
    bench = Workbench(podman, ROOMY)
    found = await run_check(
        CoverageCheck(bench, HiddenTestsCheck(bench, Reviewer({"words_often": ()}))), case
    )
    assert found.state == "skipped", found.summary


def test_a_split_path_of_process_files_is_reported():
    found = runtime_of("javascript").uses(ITSELF["its own memory"]).found
    assert [one.text for one in found if one.rule == "ast/introspection"] == [
        "/proc/: looks into what runs it"
    ]


async def test_forged_marks_with_the_right_sign_count(podman: PodmanSandbox):
    """The forgers above would be seen: the same programs, told the sign, claim the line."""
    assert await claims(podman, forger_in_bash("declare -f"))


LOOKS_INSIDE = {
    "the inspector": "import { Session } from 'node:inspector';|new Session();",
    "a snapshot of its memory": "import v8 from 'node:v8';|v8.writeHeapSnapshot();",
    "another realm": "import vm from 'node:vm';|vm.runInNewContext('1');",
    "hooks of modules": "import { registerHooks } from 'node:module';|registerHooks({});",
    "node's exports replaced": "import { syncBuiltinESMExports } from 'node:module';|syncBuiltinESMExports();",
    "node's bindings": "|process.binding('fs');",
    "a module by another way": "|process.getBuiltinModule('node:inspector');",
    "the end of the process": "|process.exit = () => 0;",
    "a built-in replaced": "|Set.prototype.has = () => true;",
    "a report of the process": "|process.report.getReport();",
}


@pytest.mark.parametrize("what", sorted(LOOKS_INSIDE))
def test_a_module_that_could_look_inside_of_node_is_not_counted(what: str):
    first, _, body = LOOKS_INSIDE[what].partition("|")
    code = f"{first}\n/** @param {{{{text: string, most: number}}}} input */\nexport async function run(input) {{\n  {body}\n  return 1;\n}}\n"
    assert _introspects(javascript(code, tests=IDLE, output_schema={}))
