"""What the wizard finds around it, tries and keeps: real servers, real files, no sandbox."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backends.fail
import msgspec
import pytest

from alita_tui.app.context import AppContext
from alita_tui.app.wizard import look_around, wizard
from alita_tui.console.setup.ports import SetupChoice
from alita_tui.events import Usage
from alita_tui.llm.presets import Preset, preset
from alita_tui.llm.scripted import ScriptReply, ScriptRequest
from tests.support.servers.openai_server import OpenAIServer
from tests.support.servers.wire import Fault

PING = ScriptReply(
    requests=(ScriptRequest(name="ping", arguments={"word": "pong"}),),
    usage=Usage(input_tokens=40, output_tokens=8),
)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as serving:
        yield serving


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppContext]:
    """One whose Podman does not answer, without keyring or keys."""
    monkeypatch.setenv("ALITA_SANDBOX_SOCKET", str(tmp_path / "nobody.sock"))
    before = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.fail.Keyring())
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OLLAMA_API_KEY", "LLM_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    yield AppContext.open(tmp_path / "home")
    keyring.set_keyring(before)


def local(name: str, base_url: str) -> Preset:
    return msgspec.structs.replace(preset(name), base_url=base_url)


async def test_local_servers_are_found_with_their_models(app: AppContext, server: OpenAIServer) -> None:
    with OpenAIServer(api_key="sk-mine") as closed, OpenAIServer() as broken:
        broken.plan(Fault(body=b"<html>a router's page</html>"))
        presets = (
            local("ollama", server.base_url),
            local("vllm", closed.base_url),
            local("lmstudio", broken.base_url),
            local("llama.cpp", "http://127.0.0.1:1/v1"),
            preset("openai"),
        )
        found = await look_around(app, presets)
    assert found.servers == {"ollama": ("model-a", "model-b"), "vllm": ()}  # one asks for a key first
    assert not found.sandbox_ready
    assert found.sandbox.startswith("Sandbox: No Podman service answers at ") and ".." not in found.sandbox


async def test_looking_for_servers_stays_on_this_machine(
    app: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OpenAIServer() as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.origin)
        await look_around(app, (preset("anthropic"), preset("openai"), preset("groq")))
    assert proxy.requests == []


async def test_present_keys_are_named_by_where_they_are(app: AppContext) -> None:
    app.paths.prepare()
    app.paths.env_file.write_text("GROQ_API_KEY=gsk-1\n")
    app.environ = {"OPENAI_API_KEY": "sk-env"}
    screen = await wizard(app)
    assert screen._keys_found == {"openai": "environment", "groq": str(app.paths.env_file)}
    assert "sk-env" not in str(vars(screen)) and "gsk-1" not in str(vars(screen))


async def test_a_choice_is_tested_with_a_real_call_and_stored_privately(
    app: AppContext, server: OpenAIServer
) -> None:
    screen = await wizard(app)
    server.plan(Fault(script=PING))
    choice = SetupChoice("custom", "served-model", server.base_url, "sk-new")
    assert (await screen._check(choice)).ok
    assert server.requests[0].headers["authorization"] == "Bearer sk-new"
    assert await screen._save(choice) == str(app.paths.env_file)
    assert stat.S_IMODE(app.paths.env_file.stat().st_mode) == 0o600
    assert "sk-new" not in app.paths.config_file.read_text()
    again = AppContext.open(app.paths.config_file.parent)
    assert again.loaded.settings.model.name == "served-model" and not again.demo
    assert again.model_spec(again.candidates("orchestrator")[0]).api_key == "sk-new"
    assert (await wizard(again))._current == SetupChoice("custom", "served-model", server.base_url)
