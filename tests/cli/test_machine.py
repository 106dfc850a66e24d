"""`alita doctor` and `alita config`, with real settings files and servers, and no sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from alita_tui.cli.main import cli
from alita_tui.events import Usage
from alita_tui.llm.scripted import ScriptReply, ScriptRequest
from alita_tui.spine.errors import UsageError
from tests.support.servers.anthropic_server import AnthropicServer
from tests.support.servers.openai_server import OpenAIServer
from tests.support.servers.wire import Fault

PING = ScriptReply(
    requests=(ScriptRequest(name="ping", arguments={"word": "pong"}),),
    usage=Usage(input_tokens=40, output_tokens=8),
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALITA_SANDBOX_SOCKET", str(tmp_path / "nobody.sock"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    return tmp_path


@pytest.fixture
def servers() -> Iterator[tuple[OpenAIServer, AnthropicServer]]:
    with OpenAIServer() as one, AnthropicServer(api_key="sk-right") as two:
        yield one, two


def alita(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), *words])


def settle(home: Path, text: str) -> None:
    (home / "config.toml").write_text(text)


# --- doctor -------------------------------------------------------------------------------


def test_extras_to_install_are_checked_before_anything_is_repaired(home: Path) -> None:
    for words, message in (
        (("--fix", "--with", "bash, deno"), "no tools in 'deno'"),
        (("--with", "bash"), "--with goes with --fix"),
    ):
        refused = alita(home, "doctor", *words).exception
        assert isinstance(refused, UsageError) and message in refused.message
    assert list(home.iterdir()) == []


def test_the_doctor_asks_every_model_and_says_what_each_lacks(
    home: Path, servers: tuple[OpenAIServer, AnthropicServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = servers
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-wrong-7731")
    settle(
        home,
        f'[roles]\norchestrator = ["custom:well; base_url={one.base_url}", "anthropic:served-model; '
        f'base_url={two.base_url}"]\nplanner = ["custom:well; base_url={one.base_url}", "groq:no-key"]\n',
    )
    one.plan(Fault(script=PING))
    done = alita(home, "doctor", "--json")
    checks = [check for check in json.loads(done.stdout) if check["name"] == "model"]
    assert [check["state"] for check in checks] == ["ok", "problem", "problem"]
    assert "custom:well answers in" in checks[0]["detail"] and "without known price" in checks[0]["detail"]
    assert "HTTP 401" in checks[1]["detail"] and "alita setup" in checks[1]["hint"]
    assert "GROQ_API_KEY" in checks[2]["hint"]
    assert len(one.requests) == 1 and len(two.requests) == 1
    assert "7731" not in done.stdout
    assert done.exit_code == 6  # there is no sandbox either


def test_a_model_that_does_not_answer_is_reported_as_a_problem(home: Path) -> None:
    settle(home, '[model]\nprovider = "custom"\nname = "m"\nbase_url = "http://127.0.0.1:1/v1"\n')
    done = alita(home, "doctor")
    assert (
        "problem" in done.stdout
        and "127.0.0.1:1" in done.stdout
        and "is a local server running?" in done.stdout
    )


def test_without_a_model_the_demo_is_named(home: Path) -> None:
    checks = json.loads(alita(home, "doctor", "--json").stdout)
    (model,) = [check for check in checks if check["name"] == "model"]
    assert model["state"] == "warning" and "demo" in model["detail"]


# --- config -------------------------------------------------------------------------------


def test_explain_shows_every_place_that_gives_a_value(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(home, "[budget]\ntask_usd = 5\n")
    (home / ".env").write_text("ALITA_BUDGET_TASK_USD=4\n")
    monkeypatch.setenv("ALITA_BUDGET_TASK_USD", "1")
    shown = dict(line.split(": ", 1) for line in alita(home, "config", "--explain").stdout.splitlines())
    assert shown["budget.task_usd"] == (
        "2.0 (default) → 5.0 (config.toml line 2) → 4.0 (.env line 1) → 1.0 (environment ALITA_BUDGET_TASK_USD)"
    )
    assert shown["budget.day_usd"] == "25.0 (default)"
    told = json.loads(alita(home, "config", "--json").stdout)["budget.task_usd"]
    assert told == {"value": 1.0, "from": "environment ALITA_BUDGET_TASK_USD"}


@pytest.mark.parametrize(
    ("text", "line", "near"),
    [
        ("[budget]\n# money\ntask_ud = 5\n", "line 3", "budget.task_usd"),
        ("[budgett]\ntask_usd = 5\n", "line 1", "[budget]"),
        ('[roles]\n\n\norchestratr = ["a:b"]\n', "line 4", "roles.orchestrator"),
        ('[roles]\norchestrator = ["ollama:b; contxt=5"]\n', "line 2", "context"),
    ],
)
def test_an_unknown_setting_is_reported_with_its_line_and_the_nearest(
    home: Path, text: str, line: str, near: str
) -> None:
    settle(home, text)
    done = alita(home, "config")
    assert f"config.toml {line}" in done.stderr and f"Did you mean {near}?" in done.stderr
    assert alita(home, "models", "list").exit_code != 0  # what works with the settings refuses them
