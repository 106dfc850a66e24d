"""The walk-through of a JavaScript tool with packages of npm: built, tested, looked at, approved, run, handed on."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from uv import find_uv_bin

from alita_tui.events import Lock
from alita_tui.events.build import CHECKS
from alita_tui.registry.packs import read
from alita_tui.sandbox import seals
from alita_tui.sandbox.host import Host
from alita_tui.sandbox.settings import EngineSettings
from tests.e2e.over_wire import SERVERS
from tests.e2e.test_languages import TEXT, speak, told
from tests.e2e.walks import accepting, parked
from tests.runtimes.npm_tools import REQUIRED, WORDS_OF_NPM, offered
from tests.support.servers.npm_registry import NpmRegistry

__all__ = ["speak"]
pytestmark = [pytest.mark.podman, pytest.mark.walk]
LOCKED = {("npm:word-tally", "1.2.5"), ("npm:@in/order", "1.0.0"), ("npm:@in/order", "2.3.4")}


def test_a_tool_with_packages_of_npm(shell: Any, speak: Any, provider: str, tmp_path: Path) -> None:
    registry = NpmRegistry(offered())
    home = tmp_path / "npm"
    home.mkdir()
    shell.environ |= {
        "ALITA_WEB_NPM_URL": registry.url, "npm_config_registry": registry.url, "npm_config_cache": str(home / "cache"),
        "npm_config_noproxy": "127.0.0.1",
    }  # fmt: skip
    script = told("javascript", code=WORDS_OF_NPM, requirements=REQUIRED)
    try:
        with SERVERS[provider][0](script) as server:
            speak(server, provider, "python", "javascript")
            done = shell("run", "Which word is most frequent?")
            assert done.returncode == 4, (done.stdout, done.stderr, shell.events())
            build = parked(shell)
            shown = shell("builds", "show", build["approval_id"]).stdout
            assert not [one for one in LOCKED if " ".join(one) not in shown], shown
            accepted = accepting(build)
            done = shell("builds", "approve", build["approval_id"], "--digest", build["digest"], *accepted)
            assert done.returncode == 0, done.stderr
            assert (done := shell("resume")).returncode == 0, done.stderr
            events = shell.events()
    finally:
        registry.close()
    (locked,) = [one["lock"] for one in events if one["kind"] == "requirements_locked"]
    found = [one for one in locked["packages"] if one.get("place")]
    assert {(one["name"], one["version"]) for one in found} == LOCKED
    assert all(one["hashes"][0].startswith("sha512-") for one in found)
    gates = {one["result"]["gate"]: one["result"] for one in events if one["kind"] == "gate_checked"}
    assert gates["requirements"]["state"] == "passed", gates["requirements"]
    assert not [name for name, one in gates.items() if one["state"] == "failed"]
    assert "rests on word-tally, whose own lines are not counted" in gates["coverage"]["summary"]
    (report,) = [one["report"] for one in events if one["kind"] == "tool_returned"]
    assert (report["status"], report["result"]) == ("ok", [{"word": "the", "count": 3}])
    # The registry is gone: what was installed is there by its digest.
    arguments = json.dumps({"text": TEXT, "most": 1})
    done = shell("tools", "run", "words_often", "--input", arguments)
    assert json.loads(done.stdout) == [{"word": "the", "count": 3}], done.stderr
    assert not list(Path(shell.environ["HOME"]).glob("ran-of-npm")), "no install script ran"
    pack = tmp_path / "words.alita"
    done = shell("tools", "export", str(pack), "words_often")
    assert done.returncode == 0, done.stderr
    (packed,) = read(pack.read_bytes()).tools
    assert {(one.name, one.version) for one in packed.lock.npm} == LOCKED
    done = shell("tools", "export", "words_often", "--as", "skill", "--to", str(tmp_path))
    assert done.returncode == 0, done.stderr
    (listed,) = tmp_path.glob("*/references/words_often.lock.txt")
    assert listed.read_text().count(" sha512-") == len(LOCKED)
    assert (
        "npm install --ignore-scripts --no-save word-tally@1.2.5"
        in (listed.parents[1] / "SKILL.md").read_text()
    )
    done = shell("tools", "export", "words_often", "--as", "mcp-server", "--to", str(tmp_path))
    assert done.returncode == 0, done.stderr
    its_server_needs_no_registry(tmp_path / "words-often-mcp")
    replayed(shell, tmp_path)
    taken_to_another_home(shell, pack, packed.lock, tmp_path)


def its_server_needs_no_registry(folder: Path) -> None:
    """The exported server holds the packages, and passes its own tests and those of the tool."""
    (modules,) = folder.glob("src/*/tools/words_often/node_modules")
    assert (modules / "word-tally" / "lib" / "index.js").is_file()
    ours = ("ALITA_", "PYTHON", "VIRTUAL_ENV")
    alone = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    tested = subprocess.run(
        (find_uv_bin(), "run", "--frozen", "pytest", "-q"), cwd=folder, env=alone, capture_output=True, text=True,
        timeout=400, check=False,
    )  # fmt: skip
    assert tested.returncode == 0 and "6 passed" in tested.stdout, tested.stdout + tested.stderr


def replayed(shell: Any, tmp_path: Path) -> None:
    """The recorded session says what was locked and how it was checked, and its calls run again as they ran."""
    page = tmp_path / "session.md"
    done = shell("sessions", "export", "--format", "markdown", "--out", str(page))
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    for name, version in LOCKED:
        assert f"{name} {version}" in text, (name, version)
    for gate in ("requirements", "coverage", "mutation"):
        assert f"{CHECKS[gate].title} passed" in text, gate
    assert shell("replay", "--headless").returncode == 0
    again = shell("replay", "--rerun", "--json")
    assert again.returncode == 0, (again.stdout, again.stderr)


def taken_to_another_home(shell: Any, pack: Path, lock: Lock, tmp_path: Path) -> None:
    """What was installed here is gone; the other home resolves, fetches, checks and runs it, from a registry of its own."""
    environment = Host(EngineSettings(cache_dir=str(tmp_path))).area / "environments" / lock.digest[:32]
    if environment.exists():  # an ordinary user's homes share nothing
        seals.set_aside(environment)
    registry = NpmRegistry(offered())
    shell.environ |= {
        "ALITA_HOME": str(tmp_path / "two"), "ALITA_WEB_NPM_URL": registry.url, "npm_config_registry": registry.url,
        "npm_config_cache": str(tmp_path / "another cache"),
    }  # fmt: skip
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "config.toml").write_text('[sandbox]\nlanguages = ["python", "javascript"]\n')
    try:
        (there,) = json.loads(shell("tools", "import", str(pack), "--json").stdout)["tools"]
        refused = shell("tools", "import", str(pack), "--digest", there["digest"])
        names = refused.stderr.partition("not accepted yet: ")[2].partition(".")[0].split(", ")
        accepted = [word for name in names for word in ("--accept", name)]
        done = shell("tools", "import", str(pack), "--digest", there["digest"], *accepted)
        assert done.returncode == 0, done.stderr
    finally:
        registry.close()
    assert len({path for path in registry.asked if path.endswith(".tgz")}) == len(LOCKED), (
        "they were fetched here"
    )
    done = shell("tools", "run", "words_often", "--input", json.dumps({"text": "b a b", "most": 1}))
    assert json.loads(done.stdout) == [{"word": "b", "count": 2}], done.stderr
