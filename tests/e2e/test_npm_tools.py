"""The walk-through of a JavaScript tool with packages of npm: built, tested, looked at, approved, run, handed on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alita_tui.registry.packs import read
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
    assert done.returncode != 0 and "JavaScript" in done.stderr
