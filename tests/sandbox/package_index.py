"""A package index on this machine."""

from __future__ import annotations

import platform
import sys
import threading
import zipfile
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from alita_tui.sandbox.environment import Target

WHERE = Target(
    python=f"{sys.version_info.major}.{sys.version_info.minor}",
    platform=f"{platform.machine()}-manylinux_2_28",
)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        return


class Index:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/simple"

    def offer(self, name: str, version: str, *, megabytes: int = 0, files: int = 0) -> None:
        """One wheel with one module, and with zeros that pack to nearly nothing."""
        place = self.folder / "simple" / name
        place.mkdir(parents=True, exist_ok=True)
        info = f"{name}-{version}.dist-info"
        made = place / f"{name}-{version}-py3-none-any.whl"
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as wheel:
            wheel.writestr(f"{name}.py", f"VERSION = {version!r}\n")
            for number in range(megabytes):
                wheel.writestr(f"{name}_data/{number}.bin", bytes(1 << 20))
            for number in range(files):
                wheel.writestr(f"{name}_data/{number}.txt", b"")
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
        digest = sha256(made.read_bytes()).hexdigest()
        (place / "index.html").write_text(f'<a href="{made.name}#sha256={digest}">{made.name}</a>')

    def go_away(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()


def nothing(*_: object) -> None:
    return
