"""A cluster as somebody on its network meets it, and as somebody with a certificate does: whose code runs where."""

from __future__ import annotations

import asyncio
import os
import pickle
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.mapping.clusters import doubling, founded, free_port, scheduling

pytest.importorskip("distributed", reason="Dask is an extra: pip install 'alita-tui[dask]'; `make jobs` does")

from distributed import Client, Security
from distributed.comm import connect
from distributed.protocol import to_serialize
from distributed.protocol.serialize import ToPickle

from alita_tui.mapping.cluster.entry import batch
from alita_tui.mapping.cluster.orders import encoded, ordered, read_answer
from alita_tui.mapping.rows import opened, rows

pytestmark = [pytest.mark.walk, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


class Cluster(NamedTuple):
    folder: Path
    """Certificates of a machine that belongs to it."""
    scheduler: str
    worker: str
    pids: dict[str, int]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    home = tmp_path_factory.mktemp("cluster")
    founded(home / "cluster", home / "other")
    port = free_port()
    with scheduling(home, port) as scheduler, doubling(home / "other", port, home / "log") as worker:
        [address] = listening(worker.pid)
        yield Cluster(
            home / "cluster", f"tls://127.0.0.1:{port}", f"tls://{address}",
            {"scheduler": scheduler.pid, "worker": worker.pid},
        )  # fmt: skip


def listening(pid: int) -> list[str]:
    """What a process listens at, on any address."""
    from psutil import Process

    return sorted(
        f"{one.laddr.ip}:{one.laddr.port}"
        for one in Process(pid).net_connections("inet")
        if one.status == "LISTEN"
    )


def security(folder: Path) -> Security:
    roles = ("client", "scheduler", "worker")
    files = {f"tls_{role}_cert": str(folder / "machine.pem") for role in roles}
    files |= {f"tls_{role}_key": str(folder / "machine.key") for role in roles}
    return Security(require_encryption=True, tls_ca_file=str(folder / "authority.pem"), **files)


class Boom:
    """Makes a folder where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@asynccontextmanager
async def connected(cluster: Cluster) -> AsyncIterator[Client]:
    shown = security(cluster.folder)
    async with Client(cluster.scheduler, asynchronous=True, security=shown, set_as_default=False) as client:
        yield client


async def works(cluster: Cluster, tmp_path: Path) -> None:
    """A batch of three rows comes back."""
    path = tmp_path / "in.jsonl"
    path.write_text('{"x": 1}\n{"x": 2}\n{"x": 3}\n')
    given = list(rows(path, {}))
    order = encoded(ordered("d" * 64, opened(path, {}), given))
    async with connected(cluster) as client, asyncio.timeout(60):
        answer = read_answer(await client.submit(batch, order, pure=False), given)
    assert [one.result for one in answer.outcomes] == [2, 4, 6]


def test_each_part_listens_at_one_port_of_the_address_that_was_named(cluster: Cluster) -> None:
    assert [f"tls://{one}" for one in listening(cluster.pids["scheduler"])] == [cluster.scheduler]
    assert [f"tls://{one}" for one in listening(cluster.pids["worker"])] == [cluster.worker]


@pytest.mark.parametrize(
    "shows", ["nothing at all", "no certificate", "one that it signed", "one of another cluster"]
)
async def test_without_a_certificate_nobody_is_answered(cluster: Cluster, tmp_path: Path, shows: str) -> None:
    founded(tmp_path / "theirs")
    if shows == "one that it signed":  # signed by itself, and not by an authority
        sign_itself(tmp_path / "theirs")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if shows.startswith("one"):
        context.load_cert_chain(tmp_path / "theirs/machine.pem", tmp_path / "theirs/machine.key")
    for name in ("scheduler", "worker"):
        place = getattr(cluster, name)
        mark = tmp_path / name
        plain = shows == "nothing at all"
        message = {"op": "no-such", "reply": True, "x": ToPickle(Boom(mark))}
        with pytest.raises((OSError, TimeoutError)):
            args = {} if plain else {"ssl_context": context, "require_encryption": True}
            comm = await connect(place.replace("tls", "tcp") if plain else place, timeout=3, **args)
            await comm.write(message)
            async with asyncio.timeout(5):
                await comm.read()
        assert not mark.exists()
    await works(cluster, tmp_path)


def sign_itself(folder: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    from alita_tui.sandbox.broker.tls import certificate, pem

    key = ec.generate_private_key(ec.SECP256R1())
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "machine.key").write_bytes(secret)
    (folder / "machine.pem").write_text(pem(certificate("machine", key, None)))


async def test_a_certificate_does_not_allow_anyone_to_send_code(cluster: Cluster, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    args = security(cluster.folder).get_connection_args("client")
    bomb = lambda name: pickle.dumps(Boom(marks / name))  # noqa: E731
    asked: dict[str, list[dict[str, Any]]] = {
        "scheduler": [
            {"op": "run_function", "function": bomb("s1"), "wait": True},
            {"op": "no-such", "x": ToPickle(Boom(marks / "s2"))},
            {"op": "identity", "x": to_serialize(Boom(marks / "s3"))},
            {"op": "register_scheduler_plugin", "plugin": bomb("s4"), "name": "x", "idempotent": False},
            {"op": "register_worker_plugin", "comm": None, "plugin": bomb("s5"), "name": "x"},
            {"op": "broadcast", "msg": {"op": "run", "function": bomb("s6"), "args": (), "kwargs": {}}},
            {"op": "workers_to_close", "key": bomb("s7")},
            {"op": "benchmark_hardware"},
            {"op": "dump_cluster_state_to_url", "url": f"file://{marks}/s9", "exclude": [], "format": "yaml"},
            {"op": "proxy", "msg": {"op": "run", "function": bomb("s10")}, "worker": cluster.worker},
            {"op": "terminate"},
            {"op": "restart"},
        ],
        "worker": [
            {"op": "run", "function": bomb("w1"), "args": pickle.dumps(()), "kwargs": pickle.dumps({})},
            {"op": "run_coroutine", "function": bomb("w2"), "args": (), "kwargs": {}},
            {"op": "no-such", "x": ToPickle(Boom(marks / "w3"))},
            {"op": "get_data", "keys": to_serialize(Boom(marks / "w4")), "who": "x"},
            {"op": "upload_file", "filename": "attacker.py", "data": f"import os; os.mkdir({str(marks / 'w5')!r})"},
            {"op": "plugin-add", "plugin": bomb("w6"), "name": "x"},
            {"op": "update_data", "data": {"x": to_serialize(Boom(marks / "w7"))}},
            {"op": "actor_execute", "actor": "x", "function": "y", "args": (), "kwargs": {}},
        ],
    }  # fmt: skip
    for name, messages in asked.items():
        for message in messages:
            comm = await connect(getattr(cluster, name), timeout=10, **args)
            try:
                async with asyncio.timeout(10):
                    await comm.write({"reply": True, **message})
                    await comm.read()
            except (OSError, TimeoutError, pickle.UnpicklingError):
                pass
            finally:
                comm.abort()
    assert [*marks.iterdir()] == []
    await works(cluster, tmp_path)


async def test_a_client_can_run_batches_only(cluster: Cluster, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    tries: list[Any] = [
        lambda client: client.submit(os.mkdir, str(marks / "1"), pure=False),
        lambda client: client.submit(lambda: os.mkdir(marks / "2")),
        lambda client: client.submit(batch, Boom(marks / "3"), pure=False),
        lambda client: client.run(os.mkdir, str(marks / "4")),
        lambda client: client.run_on_scheduler(os.mkdir, str(marks / "5")),
        lambda client: client.submit(batch, "{}", pure=False, actor=True),
    ]
    for one in tries:
        async with connected(cluster) as client:
            with pytest.raises(BaseException):  # noqa: B017  # refused, cut off or never answered
                async with asyncio.timeout(3):
                    await one(client)
    assert [*marks.iterdir()] == []
    await works(cluster, tmp_path)


def told(code: str) -> str:
    """What a process of its own prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_in_a_part_of_a_cluster_nothing_on_the_wire_reads_any_pickle(tmp_path: Path) -> None:
    founded(tmp_path)
    code = f"""
import pickle, sys
from pathlib import Path
from alita_tui.mapping.cluster import client, machine
from alita_tui.mapping.cluster.authority import credentials
from alita_tui.mapping.cluster.wire import harden
harden(credentials(Path({str(tmp_path)!r})))
theirs = {{name: one for name, one in sys.modules.items() if name.split(".")[0] == "distributed"}}
wide = [name for name, one in theirs.items() for held in vars(one).values() if held in (pickle, pickle.loads, pickle.load)]
print(len(theirs) > 100, wide)
"""
    assert told(code) == "True []"


def test_dask_is_imported_by_what_needs_it_alone() -> None:
    code = """
import sys
import alita_tui.cli.mapping, alita_tui.cli.worker, alita_tui.app.mapping, alita_tui.app.workers
import alita_tui.mapping.coordinator, alita_tui.mapping.cluster.entry, alita_tui.mapping.cluster.authority
print([name for name in ("dask", "distributed", "tornado") if name in sys.modules])
"""
    assert told(code) == "[]"
