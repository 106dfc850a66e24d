"""The base image: the one that is here, else pulled, else imported, else built from packages."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path

from alita_tui.events import Value
from alita_tui.sandbox.host import Host
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports.stream import Progress


class Base(Value, frozen=True):
    """The image that every container starts from."""

    reference: str
    digest: str
    origin: str
    """`pulled`, `imported` or `built from distribution packages`."""


async def present(host: Host) -> Base | None:
    """The base image if it is here. Raises SandboxUnavailable when Podman fails."""
    listed = await host.output(
        "podman", "images", "--format", "json", "--filter", f"reference={host.settings.tag}"
    )
    found = json.loads(listed[listed.find("[") :] if "[" in listed else "[]")
    if not found:
        return None
    digest = "sha256:" + found[0]["Id"]
    return Base(reference=host.settings.tag, digest=digest, origin=_origin_file(host, digest))


async def ensure(host: Host, progress: Progress) -> Base:
    """The base image, made if it is missing; says through `progress` what it does.

    Raises SandboxUnavailable that lists what was tried.
    """
    return await present(host) or await rebuild(host, progress)


async def rebuild(host: Host, progress: Progress) -> Base:
    """The base image, made anew; one that is there keeps its name until the new one takes it.

    Raises SandboxUnavailable that lists what was tried.
    """
    before = await present(host)
    if before is not None:
        _note_origin(host, before.digest, before.origin)
    tried: list[str] = []
    ways = [(f"pulling {reference}", "pulled", _pull(reference)) for reference in _references(host)]
    if not host.elsewhere:  # files and package sources are this machine's
        if host.settings.image_tar:
            ways.append(
                (f"importing {host.settings.image_tar}", "imported", _import(host.settings.image_tar))
            )
        ways.append(("building from distribution packages", "built from distribution packages", _build))
    for what, origin, way in ways:
        try:
            await way(host, progress)
        except SandboxUnavailable as error:
            tried.append(f"{what}: {error.message}")
            continue
        base = await present(host)
        if base is not None:
            _note_origin(host, base.digest, origin)
            await forget(host)
            return Base(reference=base.reference, digest=base.digest, origin=origin)
    raise SandboxUnavailable(
        "No base image for the sandbox could be had. " + " | ".join(tried),
        hint="Check the network, or set sandbox.image_tar to a root file system with Python in it.",
    )


async def forget(host: Host) -> None:
    """Remove base images that lost their name to a newer one, unless a container still stands on them.

    Raises SandboxUnavailable.
    """
    noted = _origins(host)
    if len(noted) < 2:
        return
    nameless = await host.output("podman", "images", "--no-trunc", "--quiet", "--filter", "dangling=true")
    for digest in set(nameless.split()) & set(noted):
        with suppress(SandboxUnavailable):
            await host.output("podman", "rmi", digest.removeprefix("sha256:"))
            del noted[digest]
            _write_origins(host, noted)


def _references(host: Host) -> tuple[str, ...]:
    return host.settings.images if host.settings.pull else ()


def _pull(reference: str):  # type: ignore[no-untyped-def]  # noqa: ANN202  # a way: (host, progress) -> awaitable
    async def pull(host: Host, progress: Progress) -> None:
        progress(f"Pulling {reference}", 0, 0, "")
        layers = 0
        async for line in host.lines("podman", "pull", reference, seconds=host.settings.pull_seconds):
            layers += line.startswith(("Copying blob", "Copying config"))
            progress(f"Pulling {reference}", layers, 0, line[:80])
        await host.output("podman", "tag", reference, host.settings.tag)

    return pull


def _import(tar: str):  # type: ignore[no-untyped-def]  # noqa: ANN202  # a way: (host, progress) -> awaitable
    async def bring(host: Host, progress: Progress) -> None:
        progress(f"Importing {Path(tar).name}", 0, 0, "")
        await host.output("podman", "import", tar, host.settings.tag, seconds=host.settings.build_seconds)

    return bring


async def _build(host: Host, progress: Progress) -> None:
    """A minimal Debian or Ubuntu with Python, from the machine's own package sources."""
    suite = _release().get("VERSION_CODENAME", "")
    if not suite:
        raise SandboxUnavailable("this is no distribution that mmdebstrap can build from")
    host.prepare()
    tar = host.runtime / "base.tar"
    steps = ("running apt-get update", "downloading", "extracting", "installing essential", "installing remaining",
             "cleaning", "creating tarball", "success")  # fmt: skip
    title = f"Building the base image from {suite} packages"
    progress(title, 0, len(steps) + 1, "starting")
    command = (
        "mmdebstrap", "--mode=unshare", "--variant=minbase", "--include=python3,ca-certificates",
        suite, str(tar), *_sources(),
    )  # fmt: skip
    try:
        async for line in host.lines(*command, seconds=host.settings.build_seconds):
            done = next((n for n, step in enumerate(steps, 1) if step in line), 0)
            if done:
                progress(title, done, len(steps) + 1, re.sub(r"^I: ", "", line)[:80])
        progress(title, len(steps), len(steps) + 1, "importing it")
        await host.output(
            "podman", "import", str(tar), host.settings.tag, seconds=host.settings.build_seconds
        )
    finally:
        tar.unlink(missing_ok=True)


def _sources() -> list[str]:
    """The machine's own package sources, so that mirrors and proxies are the ones it uses."""
    folder = Path("/etc/apt/sources.list.d")
    names = [Path("/etc/apt/sources.list"), *(folder / f"{name}.sources" for name in ("debian", "ubuntu"))]
    return [str(path) for path in names if path.is_file() and path.stat().st_size > 0]


def _release() -> dict[str, str]:
    try:
        lines = Path("/etc/os-release").read_text().splitlines()
    except OSError:
        return {}
    return {name: value.strip('"') for name, _, value in (line.partition("=") for line in lines)}


def _origin_file(host: Host, digest: str) -> str:
    return _origins(host).get(digest, "already there")


def _origins(host: Host) -> dict[str, str]:
    try:
        noted: dict[str, str] = json.loads((host.area / "image.json").read_text())
    except (OSError, ValueError):
        return {}
    return noted


def _note_origin(host: Host, digest: str, origin: str) -> None:
    host.prepare()
    _write_origins(host, {**_origins(host), digest: origin})


def _write_origins(host: Host, noted: dict[str, str]) -> None:
    (host.area / "image.json").write_text(json.dumps(noted))
