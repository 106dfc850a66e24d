"""Provides what a container needs besides its image: the warden, the seccomp profile, installed requirements.

On this machine they are files and folders, mounted read-only. On another machine they are volumes, named by their
content and filled once through Podman's API.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import IO, Protocol
from urllib.parse import quote

from alita_tui.sandbox import gvisor
from alita_tui.sandbox.host import Host
from alita_tui.sandbox.owner import orphaned
from alita_tui.sandbox.podman_http import RestError
from alita_tui.sandbox.podman_service import PodmanService
from alita_tui.spine.errors import SandboxUnavailable

_COMPLETE = ".alita-complete"


class Supplies(Protocol):
    """Where the engine finds what it mounts."""

    async def warden(self) -> tuple[str, str]:
        """Return what is mounted as the warden, and the path of the seccomp profile on the engine's machine."""

    async def environment(self, folder: str) -> str:
        """Return what is mounted as the environment that is installed in a folder of this machine."""

    async def inputs(self, folder: str) -> str:
        """Return what is mounted as the files of one call, which are in a folder of this machine."""

    async def browser(self) -> tuple[str, ...]:
        """Return what is mounted as the browser's launcher, and as its policy. Raise SandboxUnavailable."""

    async def forget(self, folder: str) -> None:
        """Remove the copy that `inputs` made of a folder, once its container is gone."""


class Files:
    """The warden and the seccomp profile as they are shipped."""

    def __init__(self, profile: str = "draft") -> None:
        self._profile = profile

    @cached_property
    def warden(self) -> bytes:
        """Return the warden as an archive that Python runs; the same bytes for the same files."""
        folder = Path(__file__).parent / "warden"
        files = {"alita_tui/__init__.py": b"", "alita_tui/sandbox/__init__.py": b""}
        for path in sorted(folder.glob("*.py")):
            files[f"alita_tui/sandbox/warden/{path.name}"] = path.read_bytes()
        files["__main__.py"] = files.pop("alita_tui/sandbox/warden/__main__.py")
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as packing:
            for name, data in files.items():
                packing.writestr(zipfile.ZipInfo(name), data)
        return archive.getvalue()

    @cached_property
    def seccomp(self) -> bytes:
        """Return the seccomp profile."""
        shipped = (Path(__file__).parent / "seccomp.json").read_bytes()
        return gvisor.filtered(shipped) if self._profile == "gvisor" else shipped

    @cached_property
    def browser(self) -> dict[str, bytes]:
        """Return launcher, policy and page log of the browser, by names that change with their content."""
        folder = Path(__file__).parent / "browser"
        contents = {
            name: (folder / name).read_bytes() for name in ("launch.sh", "policy.json", "page_log.py")
        }
        return {_named(name, data): data for name, data in contents.items()}

    @property
    def versions(self) -> tuple[str, str]:
        """Return names of the warden and the profile that change with their content."""
        return _named("warden.pyz", self.warden), _named("seccomp.json", self.seccomp)


class Folders:
    """The supplies of an engine on this machine, in a folder that its account may read."""

    def __init__(self, host: Host, files: Files) -> None:
        self._host = host
        self._files = files
        self._copies: tuple[str, str] | None = None

    async def warden(self) -> tuple[str, str]:
        """Return the paths of the warden and the profile. Raise SandboxUnavailable."""
        if self._copies is None:
            self._host.prepare()
            warden, seccomp = self._files.versions
            self._copies = self._copy(warden, self._files.warden), self._copy(seccomp, self._files.seccomp)
        return self._copies

    async def environment(self, folder: str) -> str:
        """Return the folder itself."""
        return folder

    async def inputs(self, folder: str) -> str:
        """Return the folder itself."""
        return folder

    async def browser(self) -> tuple[str, ...]:
        """Return the paths of launcher, policy and page log. Raise SandboxUnavailable."""
        self._host.prepare()
        return tuple(self._copy(name, data, 0o755) for name, data in self._files.browser.items())

    async def forget(self, folder: str) -> None:
        """Do nothing: whoever made the folder removes it."""

    def _copy(self, name: str, data: bytes, mode: int = 0o644) -> str:
        copy = self._host.area / name
        if not copy.exists():
            draft = copy.with_suffix(f".{os.urandom(4).hex()}")
            draft.write_bytes(data)
            draft.chmod(mode)
            draft.replace(copy)
        return str(copy)


def _named(name: str, data: bytes) -> str:
    stem, _, suffix = name.partition(".")
    return f"{stem}-{sha256(data).hexdigest()[:12]}.{suffix}"


_NO_LABELS: Mapping[str, str] = MappingProxyType({})


class Volumes:
    """The supplies of an engine on another machine."""

    def __init__(self, service: PodmanService, files: Files, labels: dict[str, str]) -> None:
        self._service = service
        self._files = files
        self._labels = labels
        self._known: dict[str, str] = {}
        self._filling = asyncio.Lock()
        self.image = ""
        """Image of the container through which volumes are filled; it never runs."""

    async def warden(self) -> tuple[str, str]:
        """Return the volume with both, and the profile's path in it. Raise RestError, SandboxUnavailable."""
        contents = {"warden.pyz": self._files.warden, "seccomp.json": self._files.seccomp}
        name = "alita-warden-" + sha256(b"\0".join(contents.values())).hexdigest()[:12]

        def pack(tar: tarfile.TarFile) -> None:
            for file, data in contents.items():
                _add(tar, file, data)

        return name, f"{await self._volume(name, pack)}/seccomp.json"

    async def environment(self, folder: str) -> str:
        """Return a volume with the folder's content. Raise RestError, SandboxUnavailable."""
        name = f"alita-env-{Path(folder).name}"
        await self._volume(name, lambda tar: tar.add(folder, ".", filter=_anonymous))
        return name

    async def inputs(self, folder: str) -> str:
        """Return a volume with the files of one call. Raise RestError, SandboxUnavailable."""
        name = f"alita-in-{Path(folder).name}"
        await self._volume(name, lambda tar: tar.add(folder, ".", filter=_anonymous), self._labels)
        return name

    async def browser(self) -> tuple[str, ...]:
        """Raise SandboxUnavailable: other machines have no image with a browser."""
        raise SandboxUnavailable(
            "A browser runs on this machine alone, not on the engine of another one.",
            hint='Add "local" to sandbox.engines.',
        )

    async def forget(self, folder: str) -> None:
        """Remove the volume of one call; what cannot be removed yet is left to `tidy`."""
        name = f"alita-in-{Path(folder).name}"
        if self._known.pop(name, None) is not None:
            with suppress(RestError, SandboxUnavailable):
                await self._service.request("DELETE", f"/volumes/{name}?force=true")

    async def tidy(self, most_bytes: int) -> int:
        """Remove files of calls whose process is gone, and the oldest unused volumes past a size; return how many."""
        filters = quote(json.dumps({"label": ["alita.bytes"]}))
        volumes = await self._service.request("GET", f"/volumes/json?filters={filters}") or []
        total = removed = 0
        for volume in sorted(volumes, key=lambda volume: str(volume["CreatedAt"]), reverse=True):
            total += int(volume["Labels"]["alita.bytes"])
            abandoned = "alita.owner" in volume["Labels"] and orphaned(volume["Labels"])
            if abandoned or (total > most_bytes and volume["Name"] not in self._known):
                with suppress(RestError):  # in use
                    await self._service.request("DELETE", f"/volumes/{volume['Name']}")
                    removed += 1
        return removed

    async def _volume(
        self, name: str, pack: Callable[[tarfile.TarFile], None], labels: Mapping[str, str] = _NO_LABELS
    ) -> str:
        """Return the path of a volume on the engine's machine; create it with this content if it is missing."""
        async with self._filling:
            if name not in self._known:
                self._known[name] = await self._fill(name, pack, labels)
            return self._known[name]

    async def _fill(
        self, name: str, pack: Callable[[tarfile.TarFile], None], labels: Mapping[str, str]
    ) -> str:
        with tempfile.TemporaryFile() as packed:
            size = await asyncio.to_thread(_packed, packed, pack)
            try:
                volume = await self._service.request("GET", f"/volumes/{name}/json")
            except RestError:
                volume_body = {"Name": name, "Labels": {**labels, "alita.bytes": str(size)}}
                volume = await self._service.request("POST", "/volumes/create", volume_body)
            body = {
                "image": self.image,
                "command": ["true"],
                "netns": {"nsmode": "none"},
                "volumes": [{"Name": name, "Dest": "/filled"}],
                "labels": self._labels,
            }
            helper = (await self._service.request("POST", "/containers/create", body))["Id"]
            archive_path = f"/containers/{helper}/archive?path=/filled"
            try:
                try:
                    await self._service.request("HEAD", f"{archive_path}/{_COMPLETE}")
                except RestError:
                    await self._service.upload(archive_path, packed, size)
            finally:
                await asyncio.shield(self._service.request("DELETE", f"/containers/{helper}?force=true"))
        return str(volume["Mountpoint"])


def _packed(file: IO[bytes], pack: Callable[[tarfile.TarFile], None]) -> int:
    """Write the archive, with the mark of a complete volume last; return its size in bytes."""
    with tarfile.open(fileobj=file, mode="w") as tar:
        pack(tar)
        _add(tar, _COMPLETE, b"")
    size = file.tell()
    file.seek(0)
    return size


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), 0o644
    tar.addfile(entry, io.BytesIO(data))


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return the entry without an owner of this machine."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
