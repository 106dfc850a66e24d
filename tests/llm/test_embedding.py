"""Vectors of texts, from a server on the real wire and from a static model in a folder."""

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from alita_tui.llm.embedding import EmbeddingModel, StaticModel
from alita_tui.spine.errors import ModelError
from tests.llm.static_models import static_folder
from tests.support.servers.embedding_server import EmbeddingServer, vector
from tests.support.servers.lab import KEY
from tests.support.servers.wire import Fault


def encoder(server: EmbeddingServer, **more: object) -> EmbeddingModel:
    settings: dict[str, object] = {"api_key": KEY, "base_url": server.base_url, "timeout": 5.0, **more}
    return EmbeddingModel("custom", "embed-1", **settings)  # type: ignore[arg-type]


async def test_a_server_is_sent_the_texts_and_its_vectors_come_back_in_their_order():
    with EmbeddingServer(api_key=KEY) as server:
        model = encoder(server)
        made = await model.encode(["pay the bill", "weather in May"])
        await model.aclose()
    assert made.vectors == (tuple(vector("pay the bill")), tuple(vector("weather in May")))
    assert made.usage.input_tokens == 7
    assert server.requests[0].body["model"] == "embed-1"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param([], id="none"),
        pytest.param([{"index": 0, "embedding": [1.0]}], id="too few"),
        pytest.param([{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [2.0]}], id="one twice"),
        pytest.param([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2]}], id="lengths"),
        pytest.param([{"index": 0, "embedding": "x"}, {"index": 1, "embedding": None}], id="no numbers"),
        pytest.param([{"index": 0, "embedding": [1e999]}, {"index": 1, "embedding": [1]}], id="infinite"),
    ],
)
async def test_a_reply_without_one_vector_per_text_is_refused(data: object):
    with EmbeddingServer() as server:
        server.plan(Fault(body=json.dumps({"object": "list", "data": data, "usage": {}}).encode()))
        model = encoder(server)
        with pytest.raises(ModelError) as caught:
            await model.encode(["a", "b"])
        await model.aclose()
    assert caught.value.kind == "malformed"


async def test_a_server_that_fails_or_is_too_slow_twice_is_left_alone_for_a_while():
    with EmbeddingServer() as server:
        model, clock = encoder(server), 1000.0
        model.clock = lambda: clock
        server.plan(Fault(status=500))
        with pytest.raises(ModelError):
            await model.encode(["a"])
        server.plan(Fault(status=503))
        with pytest.raises(ModelError):
            await model.encode(["a"])
        asked = len(server.requests)
        with pytest.raises(ModelError):
            await model.encode(["a"])
        assert len(server.requests) == asked
        clock += 60
        assert (await model.encode(["a"])).vectors
        await model.aclose()


async def test_a_call_that_is_given_up_counts_as_a_failure(monkeypatch: pytest.MonkeyPatch):
    with EmbeddingServer() as server:
        model = encoder(server)
        await model.encode(["warm"])

        async def silent(*_: object) -> None:
            await asyncio.sleep(60)

        monkeypatch.setattr(model, "_encoded", silent)
        for _ in range(2):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await model.encode(["a"])
        with pytest.raises(ModelError, match="too slow"):
            await model.encode(["a"])
        await model.aclose()


async def test_a_refused_key_turns_it_off():
    with EmbeddingServer(api_key="another") as server:
        model = encoder(server)
        for _ in range(2):
            with pytest.raises(ModelError) as caught:
                await model.encode(["a"])
        await model.aclose()
    assert caught.value.kind == "auth" and len(server.requests) == 1
    assert KEY not in str(caught.value)


async def test_refusals_of_a_resting_server_do_not_retain_texts():
    with EmbeddingServer(api_key="another") as server:
        model = encoder(server)
        frames = set()
        for number in range(5):
            with pytest.raises(ModelError) as caught:
                await model.encode([f"text {number}"])
            frames.add(len(caught.traceback))
        await model.aclose()
    assert len(frames) <= 2, "each refusal adds the frames of the one before, with their texts"


async def test_a_static_model_is_read_from_its_folder(tmp_path: Path):
    model = StaticModel(static_folder(tmp_path / "m"))
    made = np.array((await model.encode(["cash money", "money", "rain"])).vectors)
    assert made[0] @ made[1] > 0.9 > 0.2 > made[1] @ made[2]
    assert not model.remote


def test_another_model_in_the_same_folder_has_another_name(tmp_path: Path):
    model = StaticModel(static_folder(tmp_path / "m"))
    before = model.name
    save_file({"embeddings": np.ones((5, 3), np.float32)}, tmp_path / "m" / "model.safetensors")
    assert model.name != before


async def test_a_missing_or_damaged_model_in_a_folder_is_reported(tmp_path: Path):
    with pytest.raises(ModelError, match="no static model"):
        StaticModel(tmp_path)
    folder = static_folder(tmp_path / "m")
    (folder / "model.safetensors").write_bytes(b"\xff" * 100)
    with pytest.raises(ModelError, match="cannot be read"):
        await StaticModel(folder).encode(["a"])
