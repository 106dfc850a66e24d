"""`alita models`, against a server on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
import keyring.backends.fail
import pytest
from typer.testing import CliRunner, Result

from alita_tui.app.context import AppContext
from alita_tui.cli.main import cli
from alita_tui.events import Usage
from alita_tui.llm.scripted import ScriptReply, ScriptRequest
from alita_tui.spine.errors import ConfigError, UsageError
from tests.support.servers.openai_server import OpenAIServer
from tests.support.servers.wire import Fault

PING = ScriptReply(
    requests=(ScriptRequest(name="ping", arguments={"word": "pong"}),),
    usage=Usage(input_tokens=40, output_tokens=8),
)


class Shell:
    """The commands, with a home of their own."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(cli, ["--home", str(self.home), "models", *words])

    def json(self, *words: str) -> Any:
        done = self.run(*words, "--json")
        return json.loads(done.stdout)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as serving:
        yield serving


def test_without_a_model_the_demo_is_named(shell: Shell) -> None:
    assert "recorded demo" in shell.run("list").stdout


def test_a_default_is_stored_and_listed(shell: Shell) -> None:
    assert shell.run("default", "ollama:qwen3:8b").exit_code == 0
    assert shell.json("list")["roles"]["toolsmith"] == ["ollama:qwen3:8b"]


def test_an_added_model_follows_the_default_in_its_role(shell: Shell) -> None:
    shell.run("default", "ollama:qwen3:8b")
    added = shell.run("add", "custom:big; context=9000; input_usd=1; output_usd=2", "--base-url",
                      "http://10.0.0.5:8000/v1", "--role", "orchestrator")  # fmt: skip
    assert added.exit_code == 0
    listed = shell.json("list")
    whole = "custom:big; base_url=http://10.0.0.5:8000/v1; context=9000; input_usd=1.0; output_usd=2.0"
    assert listed["known"] == [whole]
    assert listed["roles"]["orchestrator"] == listed["roles"]["reviewer"] == ["ollama:qwen3:8b", whole]
    shell.run("add", "custom:big; context=8000", "--role", "orchestrator")
    assert shell.json("list")["roles"]["orchestrator"] == ["ollama:qwen3:8b", "custom:big; context=8000"]


def test_the_models_of_a_server_are_listed(shell: Shell, server: OpenAIServer) -> None:
    assert shell.json("list", "custom", "--base-url", server.base_url) == ["model-a", "model-b"]
    server.plan(Fault(status=404))
    assert "lists no models" in shell.run("list", "custom", "--base-url", server.base_url).stdout


def test_a_test_says_what_works(shell: Shell, server: OpenAIServer) -> None:
    server.plan(Fault(script=PING), Fault(script=PING))
    shell.run("default", "custom:served-model", "--base-url", server.base_url)
    done = shell.run("test")
    assert done.exit_code == 0
    assert "streaming: yes, tool calls: yes, usage: yes, price: no" in done.stdout
    assert "tokens/s" in done.stdout
    assert shell.json("test", "custom:served-model")["custom:served-model"]["ok"]


def test_a_model_that_does_not_work_fails_the_test(shell: Shell, server: OpenAIServer) -> None:
    server.plan(Fault(status=402))
    done = shell.run("test", "custom:served-model", "--base-url", server.base_url)
    assert done.exit_code == 1
    assert "402" in done.stdout and "Add credit" in done.stdout
    done = shell.run("test", "groq:openai/gpt-oss-120b")
    assert done.exit_code == 1 and "GROQ_API_KEY" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add", "qwen3"), "provider:name"),
        (("add", "ollama:qwen3; contxt=1"), "context"),
        (("add", "ollama:qwen3; context=much"), "context cannot be"),
        (("add", "ollama:qwen3; input_usd=1"), "half a price"),
        (("add", "olama:qwen3"), "ollama"),
        (("default", "olama:qwen3"), "ollama"),
        (("add", "ollama:qwen3", "--role", "cook"), "orchestrator, planner"),
    ],
)
def test_wrong_input_is_reported_and_nothing_is_written(
    shell: Shell, words: tuple[str, ...], said: str
) -> None:
    done = shell.run(*words)
    assert isinstance(done.exception, ConfigError | UsageError)
    assert said in str(done.exception)
    assert not (shell.home / "config.toml").exists()


@pytest.fixture
def no_keyring() -> Iterator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.fail.Keyring())
    yield
    keyring.set_keyring(before)


@pytest.mark.usefixtures("no_keyring")
def test_a_key_is_removed_from_where_it_was_stored(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    file = AppContext.open(shell.home).paths.env_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("GROQ_API_KEY=k-secret\nOTHER=1\n")
    file.chmod(0o600)
    assert shell.run("forget", "groq").exit_code == 0
    assert file.read_text() == "OTHER=1\n"
    monkeypatch.setenv("GROQ_API_KEY", "k-secret")
    left = shell.run("forget", "groq")
    assert left.exit_code == 1 and "environment" in left.stderr and "k-secret" not in left.output
    assert isinstance(shell.run("forget", "qroc").exception, ConfigError)


def test_the_recording_is_named_where_no_model_is_configured(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ALITA_MODEL", raising=False)
    assert "demo:recorded: works" in shell.run("test").stdout
    assert list(shell.json("test")) == ["demo:recorded"]
