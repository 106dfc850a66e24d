"""Known faults from a database on loopback that speaks OSV, through uv as it is."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from alita_tui.events import LockedPackage
from alita_tui.sandbox.faults import FaultDatabase
from alita_tui.spine.ports.web import Faults
from tests.support.servers.package_index import Offer, PackageIndex

SOUND, HOLEY, GONE = (LockedPackage(name=name, version="1.0") for name in ("sound", "holey-thing", "gone"))


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No index in reach, no retries, and a place of our own for what would be left behind."""
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))


@pytest.fixture
def database() -> Iterator[PackageIndex]:
    made = PackageIndex(Offer("sound"), Offer("holey-thing", faults=("PYSEC-2020-1", "PYSEC-2021-2")))
    yield made
    made.close()


async def test_faults_by_package_all_pages(database: PackageIndex, tmp_path: Path) -> None:
    told = await FaultDatabase(f"{database.url}/").faults([SOUND, HOLEY])
    holes = ("PYSEC-2020-1 = CVE-2020-1", "PYSEC-2021-2 = CVE-2021-2")
    assert told == Faults(known={"sound": (), "holey-thing": holes})
    assert {path for path in database.asked if not path.startswith("/v1/")} == set()
    assert list((tmp_path / "tmp").iterdir()) == [] and not (tmp_path / "cache").exists()


async def test_a_version_without_faults_has_an_empty_list(database: PackageIndex) -> None:
    newer = LockedPackage(name="holey-thing", version="2.0")
    assert await FaultDatabase(database.url).faults([newer]) == Faults(known={"holey-thing": ()})


async def test_the_proxy_of_the_environment_is_used(
    database: PackageIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", database.url)
    monkeypatch.setenv("http_proxy", database.url)
    told = await FaultDatabase("http://osv.example").faults([SOUND])
    assert told == Faults(known={"sound": ()})
    assert database.asked == ["http://osv.example/v1/querybatch"]


async def test_no_packages_are_no_question(database: PackageIndex) -> None:
    assert await FaultDatabase(database.url).faults([]) == Faults()
    assert database.asked == []


async def test_an_unreachable_database_is_reported_in_one_sentence() -> None:
    told = await FaultDatabase("http://127.0.0.1:9").faults([SOUND])
    assert told == Faults(problem="http://127.0.0.1:9 is not reachable"), "one sentence, no chain of causes"


async def test_an_offline_fault_database_is_reported(
    database: PackageIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    told = await FaultDatabase(database.url).faults([SOUND])
    assert told.known == {} and "offline" in told.problem
    assert database.asked == []


async def test_a_silent_database_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        told = await FaultDatabase(url, seconds=1.0).faults([SOUND])
    assert told == Faults(problem=f"{url} did not answer in 1 s")


@pytest.mark.parametrize("body", [b"<html>", b'{"results": 5}', b"[" * 5000])
async def test_an_invalid_answer_of_the_database_is_reported(body: bytes) -> None:
    class Odd(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Odd)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    told = await FaultDatabase(f"http://127.0.0.1:{server.server_port}").faults([SOUND, GONE])
    server.shutdown()
    thread.join()
    server.server_close()
    assert told.problem and told.known == {}
