"""A package index on loopback: the simple API (PEP 691, 658, 700, 592), PyPI's JSON API and OSV's, with what was asked."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

LONG_AGO = "2019-03-01T00:00:00Z"


@dataclass
class Offer:
    """One version of one project; its wheel holds one module."""

    name: str
    version: str = "1.0"
    began: str = LONG_AGO
    """When the project's first file came."""
    yanked: bool = False
    faults: tuple[str, ...] = ()
    wheel: bytes = field(init=False)

    def __post_init__(self) -> None:
        module = self.name.replace("-", "_")
        info, made = f"{module}-{self.version}.dist-info", io.BytesIO()
        with zipfile.ZipFile(made, "w") as wheel:
            wheel.writestr(f"{module}.py", f"VERSION = {self.version!r}\n")
            wheel.writestr(f"{info}/METADATA", self.metadata)
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
        self.wheel = made.getvalue()

    @property
    def metadata(self) -> str:
        return f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {self.version}\n"

    @property
    def file(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}-py3-none-any.whl"


class PackageIndex:
    """Serves what it was offered and remembers every path that was asked for."""

    def __init__(self, *offers: Offer) -> None:
        self.offers = {one.name: one for one in offers}
        self.asked: list[str] = []
        index = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                index.asked.append(self.path)
                kind, body = index.answer(self.path)
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_HEAD = do_GET

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                index.asked.append(self.path)
                found = [index.faults(one) for one in asked["queries"]]
                body = json.dumps({"results": found}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.host}"

    @property
    def fetched(self) -> list[str]:
        """Wheels that were asked for."""
        return [path for path in self.asked if path.endswith(".whl")]

    def faults(self, query: dict[str, Any]) -> dict[str, Any]:
        """One result of OSV's `/v1/querybatch`; a second page follows where a version has more than one."""
        assert query["package"]["ecosystem"] == "PyPI"
        offer = self.offers.get(query["package"]["name"])
        known = offer.faults if offer and offer.version == query["version"] else ()
        page = int(query.get("page_token", 0))
        listed = [{"id": one, "modified": LONG_AGO} for one in known[page : page + 1]]
        more = {"next_page_token": str(page + 1)} if len(known) > page + 1 else {}
        return {"vulns": listed, **more} if listed else {}

    def answer(self, path: str) -> tuple[str, bytes]:
        kind, _, rest = path.strip("/").partition("/")
        parts = rest.split("/")
        if path.startswith("/v1/vulns/"):
            known = [one for one in self.offers.values() if parts[-1] in one.faults]
            return "application/json", json.dumps(_fault(parts[-1], known[0])).encode() if known else b""
        offer = self.offers.get(parts[0])
        if offer is None:
            return "text/plain", b""
        if kind == "pypi":
            return "application/json", json.dumps(_project(offer)).encode()
        if len(parts) == 1:
            return "application/vnd.pypi.simple.v1+json", json.dumps(_simple(offer)).encode()
        return "text/plain", offer.metadata.encode() if parts[-1].endswith(".metadata") else offer.wheel

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _simple(offer: Offer) -> dict[str, object]:
    entry = {
        "filename": offer.file,
        "url": offer.file,
        "hashes": {"sha256": sha256(offer.wheel).hexdigest()},
        "size": len(offer.wheel),
        "upload-time": offer.began,
        "core-metadata": {"sha256": sha256(offer.metadata.encode()).hexdigest()},
        "yanked": offer.yanked,
    }
    return {"meta": {"api-version": "1.1"}, "name": offer.name, "versions": [offer.version], "files": [entry]}


def _project(offer: Offer) -> dict[str, object]:
    release = [{"upload_time_iso_8601": offer.began, "yanked": offer.yanked}]
    return {
        "info": {"name": offer.name, "version": offer.version},
        "releases": {offer.version: release},
    }


def _fault(name: str, offer: Offer) -> dict[str, object]:
    """An entry in the form of OSV 1.6 (ossf.github.io/osv-schema)."""
    return {
        "schema_version": "1.6.0",
        "id": name,
        "modified": LONG_AGO,
        "published": LONG_AGO,
        "aliases": [name.replace("PYSEC", "CVE")],
        "summary": "It breaks.",
        "affected": [
            {
                "package": {"ecosystem": "PyPI", "name": offer.name},
                "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99"}]}],
            }
        ],
    }


@contextmanager
def asked_by_uv(folder: Path, *offers: Offer) -> Iterator[PackageIndex]:
    """An index with these offers, which uv asks as well while this lasts; uv's cache is in the folder."""
    index = PackageIndex(*offers)
    ours = {
        "UV_DEFAULT_INDEX": f"{index.url}/simple",
        "UV_CACHE_DIR": str(folder / "uv"),
        "UV_HTTP_RETRIES": "0",
        "UV_SYSTEM_CERTS": "false",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ours.items():
            patch.setenv(name, value)
        try:
            yield index
        finally:
            index.close()
