"""A registry of npm on loopback: documents of packages, their tarballs, and OSV's answers, with what was asked."""

from __future__ import annotations

import base64
import gzip
import io
import json
import tarfile
import threading
import zlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha512
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

LONG_AGO = "2019-03-01T00:00:00.000Z"


@dataclass
class Package:
    """One version of a package; `files` are its own besides `package.json`, `entries` are put into the tarball as they are."""

    name: str
    version: str = "1.0.0"
    files: dict[str, bytes | str] = field(default_factory=dict)
    manifest: dict[str, Any] = field(default_factory=dict)
    """What its `package.json` says besides name and version, and the registry with it."""
    inside: dict[str, Any] = field(default_factory=dict)
    """What the `package.json` in the tarball says in another way than the registry does."""
    entries: tuple[tarfile.TarInfo, ...] = ()
    began: str = LONG_AGO
    deprecated: str = ""
    faults: tuple[str, ...] = ()
    integrity: str | None = None
    """What the registry says the tarball's hash is; None: what it is."""
    endless: bool = False
    """Its tarball never ends, and nothing of it but `package.json` belongs into a folder."""
    tarball: bytes = field(init=False)

    def __post_init__(self) -> None:
        said = {
            "name": self.name,
            "version": self.version,
            "main": "index.js",
            **self.manifest,
            **self.inside,
        }
        made = io.BytesIO()
        # The same bytes each time, so that an environment made of them is made once.
        with (
            gzip.GzipFile(fileobj=made, mode="wb", mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w") as tar,
        ):
            for name, data in {"package.json": json.dumps(said), **self.files}.items():
                _add(
                    tar, tarfile.TarInfo(f"package/{name}"), data.encode() if isinstance(data, str) else data
                )
            for entry in self.entries:
                _add(tar, entry, b"x" * entry.size)
        self.tarball = made.getvalue()
        if self.integrity is None:
            self.integrity = "sha512-" + base64.b64encode(sha512(self.tarball).digest()).decode()

    @property
    def file(self) -> str:
        return f"{self.name.rpartition('/')[2]}-{self.version}.tgz"


def _add(tar: tarfile.TarFile, entry: tarfile.TarInfo, data: bytes) -> None:
    entry.size = len(data) if entry.isfile() else 0
    entry.mode = entry.mode or 0o644
    tar.addfile(entry, io.BytesIO(data) if entry.isfile() else None)


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", *, size: int = 1) -> tarfile.TarInfo:
    """An entry with any name and kind."""
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, target, size
    return made


class NpmRegistry:
    """Serves packages and remembers every path that was asked for."""

    def __init__(self, packages: Iterable[Package]) -> None:
        self.packages = list(packages)
        self.asked: list[str] = []
        self.timeless = False
        """Whether the times of versions are left out, as some mirrors do."""
        registry = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                registry.asked.append(unquote(self.path))
                if any(self.path.endswith(f"/-/{one.file}") and one.endless for one in registry.packages):
                    self._send_without_end()
                else:
                    self._send(*registry.answer(unquote(self.path).strip("/")))

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                registry.asked.append(self.path)
                found = [registry.faults(one) for one in asked["queries"]]
                self._send("application/json", json.dumps({"results": found}).encode())

            def _send(self, kind: str, body: bytes) -> None:
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def _send_without_end(self) -> None:
                self.send_response(200)
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                packed = zlib.compressobj(0, wbits=31)
                skipped = tarfile.TarInfo("package/../../skipped")
                skipped.size = 1 << 40
                with suppress(OSError):  # npm was killed
                    self.wfile.write(packed.compress(skipped.tobuf(tarfile.GNU_FORMAT)))
                    while True:
                        self.wfile.write(packed.compress(bytes(1 << 20)))

            def log_message(self, format: str, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @property
    def fetched(self) -> list[str]:
        """Tarballs that were asked for."""
        return [path for path in self.asked if path.endswith(".tgz")]

    def faults(self, query: dict[str, Any]) -> dict[str, Any]:
        """One result of OSV's `/v1/querybatch`; a second page follows where a version has more than one."""
        assert query["package"]["ecosystem"] == "npm"
        named = (query["package"]["name"], query["version"])
        known = [id_ for one in self.packages if (one.name, one.version) == named for id_ in one.faults]
        page = int(query.get("page_token", 0))
        listed = [{"id": one, "modified": LONG_AGO} for one in known[page : page + 1]]
        more = {"next_page_token": str(page + 1)} if len(known) > page + 1 else {}
        return {"vulns": listed, **more} if listed else {}

    def answer(self, path: str) -> tuple[str, bytes]:
        name, _, file = path.partition("/-/")
        versions = [one for one in self.packages if one.name == name]
        if file:
            found = next((one for one in versions if one.file == file), None)
            return "application/octet-stream", found.tarball if found else b""
        if not versions:
            return "application/json", b""
        listed = {one.version: self._version(one) for one in versions}
        times = {one.version: one.began for one in versions}
        document = {
            "name": name,
            "dist-tags": {"latest": versions[-1].version},
            "versions": listed,
            "time": {"created": min(times.values()), "modified": LONG_AGO, **times},
        }
        if self.timeless:
            del document["time"]
        return "application/json", json.dumps(document).encode()

    def _version(self, one: Package) -> dict[str, Any]:
        dist = {"tarball": f"{self.url}/{one.name}/-/{one.file}", "shasum": "0" * 40}
        if one.integrity:
            dist["integrity"] = one.integrity
        withdrawn = {"deprecated": one.deprecated} if one.deprecated else {}
        scripts = {"hasInstallScript": True} if "scripts" in one.manifest else {}
        return {
            "name": one.name,
            "version": one.version,
            "dist": dist,
            **one.manifest,
            **withdrawn,
            **scripts,
        }

    def close(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
