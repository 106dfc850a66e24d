"""A map on a cluster waits for a worker for a while, and not for ever."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("distributed", reason="Dask is an extra: pip install 'alita-tui[dask]'; `make jobs` does")

from alita_tui.mapping.cluster import client
from alita_tui.mapping.cluster.addresses import address
from alita_tui.spine.errors import SandboxUnavailable


async def test_a_batch_does_not_wait_for_a_worker_that_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client, "_PATIENCE_SECONDS", 0.1)
    nothing: Any = None
    engine = client.ClusterEngine(nothing, address("tls://127.0.0.1:1"), "digest", nothing)
    await engine._know({"tls://127.0.0.1:2": 1})
    name, worker = await engine._free()
    waiting = asyncio.create_task(engine._free())
    done, _ = await asyncio.wait((waiting,), timeout=0.5)
    assert (name, worker.running, done) == ("tls://127.0.0.1:2", 1, set()), "it waits as long as that works"
    await engine._know({})
    with pytest.raises(SandboxUnavailable, match="No worker came"):
        await asyncio.wait_for(waiting, 30)


async def test_a_worker_that_comes_in_time_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_PATIENCE_SECONDS", 60.0)
    nothing: Any = None
    engine = client.ClusterEngine(nothing, address("tls://127.0.0.1:1"), "digest", nothing)
    waiting = asyncio.create_task(engine._free())
    await asyncio.sleep(0)
    await engine._know({"tls://127.0.0.1:3": 2})
    assert (await waiting)[0] == "tls://127.0.0.1:3"
