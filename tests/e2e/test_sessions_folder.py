"""Whatever lies in the folder of sessions, the console goes on; and an error nobody expected leaves a sentence behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from alita_tui.app.context import AppContext
from tests.e2e.over_wire import SERVERS
from tests.e2e.test_batch import answers
from tests.e2e.test_servers import told
from tests.e2e.test_terminal import Terminal

pytestmark = [pytest.mark.podman, pytest.mark.pty]
DOWN, ENTER, F5 = b"\x1b[B", b"\r", b"\x1b[15~"


def fill(folder: Path, original: Path) -> int:
    """Put into the folder what people and programs leave there; return how many files are sessions by their names."""
    shutil.copy(original, folder / f"{original.stem}-copy.json")
    shutil.copy(original, folder / "20260101-000000-ffff.json")
    (folder / "a-folder.json").mkdir()
    (folder / "dangling.json").symlink_to("nowhere")
    (folder / "empty.json").touch()
    (folder / "20260101-000000-dddd.json").touch()
    (folder / "20260101-000000-aaaa.json").write_text("{}")
    (folder / "20260101-000000-eeee.json").write_bytes(os.urandom(5000))
    (folder / "20260101-000000-abab.json").write_text('{"events": {"1": {"session_id": 7}}, "meta": []}')
    (folder / "bad\x1b[31mname.json").write_text("{}")
    (folder / "notes.txt").write_text("not a session")
    os.mkfifo(folder / "a-pipe.txt")
    os.mkfifo(folder / "20260101-000000-cccc.json")
    (folder / "20260101-000000-bbbb.json").symlink_to("/dev/zero")
    return 13


def test_no_content_of_the_folder_ends_the_console_or_leaves_it(shell: Any, provider: str) -> None:
    with SERVERS[provider][0](answers("alpha")) as server:
        told(shell, server, provider)
        done = shell("run", "alpha", "--json")
        assert done.returncode == 0, done.stderr
        (one,) = json.loads(shell("sessions", "list", "--json").stdout)
        folder = AppContext.open(shell.home).paths.sessions
        count = fill(folder, folder / f"{one['session_id']}.json")
        ids = [line["session_id"] for line in json.loads(shell("sessions", "list", "--json").stdout)]
        assert len(set(ids)) == len(ids) and f"{one['session_id']}-copy" in ids, (
            "each row is a file of its own"
        )
        console = Terminal(shell.environ)
        console.wait(rb"sandbox ready")
        console.type(F5, until=rb"c compare")
        for _ in range(count):
            console.type(DOWN)
            console.quiet(0.2)
        console.type(b"\x1b[H")
        console.type(2 * DOWN, until=rb"damaged")  # its row and what is said of it
        console.type(ENTER, until=rb"Nothing was opened")
        console.type(b"\x1b")
        console.quiet(1.0)
        for row in range(count + 1):  # each one: it is opened, or why not is said, and the console is there
            console.type(F5, until=rb"c compare")
            console.type(b"\x1b[H" + row * DOWN)
            console.quiet(0.3)
            console.type(ENTER)
            console.quiet(2.0)
            console.type(b"\x1b")
            console.quiet(1.0)
            assert console.process.poll() is None, console.said[-2000:]
        console.process.send_signal(signal.SIGTERM)
        assert console.end() == 143


def test_an_unexpected_error_leaves_a_sentence_and_the_path_of_the_log(shell: Any, tmp_path: Path) -> None:
    """A fault is put into the screen of sessions, as a future version might have one."""
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib\n"
        "load = importlib.import_module\n"
        "def compose(self):\n"
        "    key = 'sk-live-' + 'abcdef'\n"
        "    raise ZeroDivisionError('a fault of ours')\n"
        "def loaded(name, package=None):\n"
        "    module = load(name, package)\n"
        "    if name == 'alita_tui.console.sessions.screen':\n"
        "        module.SessionsScreen.compose = compose\n"
        "    return module\n"
        "importlib.import_module = loaded\n"
    )
    shell.environ |= {"PYTHONPATH": str(tmp_path), "ALITA_MODEL": "demo:recorded"}
    console = Terminal(shell.environ)
    console.wait(rb"sandbox ready")
    console.type(F5)
    assert console.end() == 1
    said = console.said[console.said.rindex(b"\x1b[?1049l") :].decode()
    log = AppContext.open(shell.home).paths.log
    assert "ZeroDivisionError: a fault of ours" in said and str(log) in said.replace("\r\n", ""), said
    assert "Traceback" not in said
    written = log.read_text()
    assert "ZeroDivisionError" in written and "sk-live-abcdef" not in written
