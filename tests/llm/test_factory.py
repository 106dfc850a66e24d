"""Presets, prices, retries, opening and probing a model."""

import json
import re
import subprocess
import sys
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from alita_tui.events import Usage
from alita_tui.llm.factory import ModelSpec, open_model, preload, probe
from alita_tui.llm.faults import retry_after
from alita_tui.llm.presets import PRESETS, preset
from alita_tui.llm.prices import OwnPrice, price, table_of, window
from alita_tui.llm.scripted import ScriptReply, ScriptRequest
from alita_tui.spine.errors import ConfigError
from tests.support.servers.lab import KEY, Lab
from tests.support.servers.openai_server import DONE, chunk
from tests.support.servers.wire import Fault

PING = ScriptReply(
    requests=(ScriptRequest(name="ping", arguments={"word": "pong"}),),
    usage=Usage(input_tokens=40, output_tokens=8),
)


# --- presets ------------------------------------------------------------------------------


def test_presets_are_complete_and_distinct() -> None:
    assert {one.name for one in PRESETS} == {
        "anthropic", "openai", "ollama", "llama.cpp", "vllm", "lmstudio", "groq", "mistral", "deepseek",
        "gemini", "xai", "openrouter", "custom",
    }  # fmt: skip
    assert len({one.key_name for one in PRESETS}) == len(PRESETS)
    for one in PRESETS:
        local = "127.0.0.1" in one.base_url
        assert one.needs_key is not (local or one.name == "custom")
        assert one.base_url.startswith("https://") or local or one.name == "custom"
        # ALITA_… variables are settings, and a key is none.
        assert one.key_name.isidentifier() and not one.key_name.startswith("ALITA_")


def test_default_models_are_known_to_the_price_table() -> None:
    for one in PRESETS:
        if one.model:
            assert price(one.name, one.model, Usage(input_tokens=1_000, output_tokens=1_000)), one.name


def test_an_unknown_provider_gets_a_near_one_proposed() -> None:
    with pytest.raises(ConfigError, match=r"Did you mean anthropic\?"):
        preset("antropic")
    with pytest.raises(ConfigError, match="The providers are anthropic, openai"):
        preset("zzz")


# --- prices -------------------------------------------------------------------------------


def test_cached_input_is_cheaper_and_counted_once() -> None:
    plain = price("anthropic", "claude-sonnet-4-5", Usage(input_tokens=1_000_000))
    cached = price("anthropic", "claude-sonnet-4-5", Usage(input_tokens=1_000_000, cached_tokens=1_000_000))
    assert plain is not None and cached is not None
    assert cached == pytest.approx(plain / 10)


def test_cache_writes_cost_more_than_plain_input() -> None:
    plain = price("anthropic", "claude-sonnet-4-5", Usage(input_tokens=1_000_000))
    written = price(
        "anthropic", "claude-sonnet-4-5", Usage(input_tokens=1_000_000, cache_write_tokens=1_000_000)
    )
    assert plain is not None and written == pytest.approx(plain * 1.25)


def test_a_configured_price_takes_precedence_over_the_table() -> None:
    own = OwnPrice(input_usd=1.0, output_usd=4.0)
    usage = Usage(input_tokens=1_000_000, output_tokens=500_000)
    assert price("openai", "gpt-5-mini", usage, own) == price("ollama", "x", usage, own) == 3.0


def test_the_price_table_shows_its_age() -> None:
    assert re.fullmatch(r"genai-prices [\d.]+, newest change 20\d\d-\d\d-\d\d", table_of(date(2027, 1, 1)))
    assert table_of(date(2000, 1, 1)).startswith("genai-prices")


def test_the_table_knows_how_much_a_model_reads() -> None:
    assert window("anthropic", "claude-sonnet-4-5") >= 200_000
    assert window("ollama", "qwen3:8b") == 0


def test_output_tokens_add_to_the_cost_of_input() -> None:
    both = price("openai", "gpt-5-mini", Usage(input_tokens=1000, output_tokens=500))
    each = [price("openai", "gpt-5-mini", u) for u in (Usage(input_tokens=1000), Usage(output_tokens=500))]
    assert both == pytest.approx(sum(one or 0 for one in each))
    assert both and both > 0


@pytest.mark.parametrize(
    ("provider", "model"),
    [("ollama", "qwen3:8b"), ("custom", "gpt-5-mini"), ("openai", "no-such-model"), ("openai", "")],
)
def test_a_model_outside_the_table_has_no_price(provider: str, model: str) -> None:
    assert price(provider, model, Usage(input_tokens=1000, output_tokens=10)) is None


def test_more_cached_than_sent_is_still_priced() -> None:
    assert price("openai", "gpt-5-mini", Usage(input_tokens=10, cached_tokens=99)) is not None


# --- waits ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7), ("0.5", 0.5), ("-3", 0), ("nan", None), ("inf", None), ("soon", None), ("", None),
     ("Wed, 21 Oct 2015 07:28:00 GMT", 0)],
)  # fmt: skip
def test_retry_after_is_read_as_the_standard_writes_it(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}) == seconds


# --- opening ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (ModelSpec(provider="nobody"), "no provider"),
        (ModelSpec(provider="ollama"), "No model is named"),
        (ModelSpec(provider="openai"), "OPENAI_API_KEY"),
        (ModelSpec(provider="custom", model="m"), "base URL"),
        (ModelSpec(provider="custom", model="m", base_url="ftp://host/v1"), "not an address"),
        (ModelSpec(provider="custom", model="m", base_url="localhost:8000"), "not an address"),
        (ModelSpec(provider="custom", model="m", base_url="http://host:99999/v1"), "not an address"),
        (ModelSpec(provider="demo"), "no recording"),
    ],
)
def test_a_missing_setting_is_named(spec: ModelSpec, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_model(spec)
    assert words in str(caught.value)


def test_a_spec_never_shows_its_key() -> None:
    spec = ModelSpec(provider="openai", api_key=KEY)
    assert KEY not in f"{spec} {spec!r} {open_model(spec)!r}"


def test_opening_imports_no_sdk() -> None:
    code = (
        "import sys\n"
        "from alita_tui.llm.factory import ModelSpec, open_model\n"
        "for name in ('anthropic', 'openai'):\n"
        "    open_model(ModelSpec(provider=name, api_key='k'))\n"
        "heavy = {'anthropic', 'openai', 'httpx2', 'genai_prices', 'pydantic', 'keyring'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


async def test_preloading_reaches_the_sdk_of_each_protocol() -> None:
    for provider in ("", "demo", "anthropic", "ollama"):
        await preload(provider)
    reached = {"anthropic.resources.messages", "openai.resources.chat.completions", "genai_prices"}
    assert reached <= set(sys.modules)
    with pytest.raises(ConfigError):
        await preload("nobody")


async def test_the_base_url_is_taken_with_or_without_its_tail(anthropic_lab: Lab) -> None:
    for base_url in (anthropic_lab.server.origin, f"{anthropic_lab.server.origin}/v1/"):
        anthropic_lab.server.plan(Fault(script=PING))
        model = open_model(ModelSpec(provider="anthropic", model="m", base_url=base_url, api_key=KEY))
        assert (await probe(model)).ok
        await model.aclose()


# --- probing ------------------------------------------------------------------------------


async def test_a_probe_reports_what_works(lab: Lab) -> None:
    lab.server.plan(Fault(script=PING))
    result = await probe(lab.model)
    assert (result.ok, result.streams, result.calls_tools, result.reports_usage) == (True,) * 4
    assert not result.has_price
    assert 0 < result.first_piece_ms <= result.total_ms
    assert result.tokens_per_second > 0
    assert len(lab.server.requests) == 1


async def test_a_probe_reports_that_tools_are_not_called(openai_lab: Lab) -> None:
    openai_lab.server.plan(Fault(events=(chunk({"content": "pong"}), chunk({}, "stop"), DONE)))
    result = await probe(openai_lab.model)
    assert (result.ok, result.streams, result.calls_tools, result.reports_usage) == (
        False,
        True,
        False,
        False,
    )
    assert "did not call" in result.text


async def test_a_probe_turns_an_error_into_its_result(lab: Lab) -> None:
    lab.server.plan(Fault(status=401))
    result = await probe(lab.model)
    assert (result.ok, result.error) == (False, "auth")
    assert urlsplit(lab.server.origin).netloc in result.text
    assert "alita setup" in result.hint


async def test_a_recording_is_opened_and_needs_no_probe(tmp_path: Path) -> None:
    path = tmp_path / "demo.json"
    path.write_text(json.dumps({"format": "alita-script/1", "name": "demo"}))
    model = open_model(ModelSpec(provider="demo", script=str(path)))
    await model.warm()
    assert (model.name, model.recorded, (await probe(model)).ok) == ("demo:demo", True, True)
    await model.aclose()
