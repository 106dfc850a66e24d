"""The walk through against servers that speak the vendors' real protocols, through the real SDKs."""

from __future__ import annotations

import json

import pytest

from tests.e2e.over_wire import SCRIPT, SERVERS
from tests.e2e.walks import accepting, parked

pytestmark = pytest.mark.podman

BUILD, REUSE, DICE, *_ = SCRIPT.tasks


@pytest.mark.sampled(1)
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_walkthrough_works_over_the_wire(shell, keep, provider: str) -> None:
    server_type, key_name = SERVERS[provider]
    with server_type(SCRIPT) as server:
        shell.environ |= {
            "ALITA_MODEL": f"{provider}:test-model",
            "ALITA_MODEL_BASE_URL": server.base_url,
            key_name: "sk-not-a-real-key",
        }
        assert shell("run", BUILD).returncode == 4
        build = parked(shell)
        shell("builds", "approve", build["approval_id"], "--digest", build["digest"], *accepting(build))
        done = shell("resume")
        assert done.returncode == 0, done.stderr
        first = shell.events()
        keep(shell.home, f"golden-build-{provider}")
        reused = shell("run", REUSE)
        assert reused.returncode == 0, reused.stderr
        second = shell.events()
        keep(shell.home, f"golden-reuse-{provider}")
        assert len(server.requests) >= 9
    kinds = [event["kind"] for event in first]
    order = ["tool_searched", "web_searched", "build_started", "requirements_locked", "build_tested",
             "approval_requested", "approval_resolved", "tool_registered", "task_finished"]  # fmt: skip
    places = [kinds.index(kind) for kind in order[:-1]] + [
        len(kinds) - kinds[::-1].index("task_finished") - 1
    ]
    assert places == sorted(places)
    lock = next(event["lock"] for event in first if event["kind"] == "requirements_locked")
    assert "email-validator" in {package["name"] for package in lock["packages"]}
    assert all(
        event.get("usage", {}).get("input_tokens") for event in first if event["kind"] == "model_replied"
    )
    assert "build_started" not in {event["kind"] for event in second}
    assert first[0]["model"] == f"{provider}:test-model"
    whole = json.dumps(first + second)
    assert "sk-not-a-real-key" not in whole


@pytest.mark.sampled(1)
def test_a_tool_without_requirements_is_built_and_run_over_the_wire(shell, keep, provider: str) -> None:
    server_type, key_name = SERVERS[provider]
    with server_type(SCRIPT) as server:
        shell.environ |= {
            "ALITA_MODEL": f"{provider}:test-model",
            "ALITA_MODEL_BASE_URL": server.base_url,
            key_name: "sk-not-a-real-key",
        }
        assert shell("run", DICE).returncode == 4
        build = parked(shell)
        shell("builds", "approve", build["approval_id"], "--digest", build["digest"], *accepting(build))
        assert shell("resume").returncode == 0
        keep(shell.home, f"golden-dice-{provider}")
    rolled = shell("tools", "run", "roll_dice", "--input", '{"count": 3, "seed": 1}')
    assert len(json.loads(rolled.stdout)["rolls"]) == 3


@pytest.mark.sampled(1)
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_wrong_key_ends_in_a_clear_state(shell, keep, provider: str) -> None:
    server_type, key_name = SERVERS[provider]
    with server_type(SCRIPT, api_key="the right one") as server:
        shell.environ |= {
            "ALITA_MODEL": f"{provider}:test-model",
            "ALITA_MODEL_BASE_URL": server.base_url,
            key_name: "sk-wrong",
        }
        done = shell("run", DICE)
    assert done.returncode == 1
    keep(shell.home, f"golden-wrong-key-{provider}")
    failed = [event for event in shell.events() if event["kind"] in ("model_failed", "task_finished")]
    assert failed[0]["error"] == "auth"
    assert failed[-1]["outcome"] == "failed"
    assert "alita setup" in failed[-1]["hint"]
    assert "sk-wrong" not in done.stdout + done.stderr
