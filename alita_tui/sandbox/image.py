"""The images of containers, with or without a browser: present, else pulled, imported or built from packages."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from alita_tui.events import Value
from alita_tui.sandbox.host import Host
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.ports.stream import Progress

_PYTHON = ("python3", "ca-certificates")


class Recipe(Value, frozen=True):
    """Where an image comes from."""

    title: str
    """For people."""
    tag: str
    """Its name once it is present, whatever its source."""
    references: tuple[str, ...]
    """What may be pulled, in this order."""
    tar: str
    """A root file system to import; empty for none."""
    packages: tuple[str, ...]
    """What it is built from, besides the essential ones of the distribution."""
    hint: str
    """What a person can do when none of these ways works."""


Way = Callable[[Host, Recipe, Progress], Awaitable[None]]


def base(settings: EngineSettings) -> Recipe:
    """Return the image that containers start from."""
    return Recipe(
        title="base image",
        tag=settings.tag,
        references=settings.images if settings.pull else (),
        tar=settings.image_tar,
        packages=_PYTHON,
        hint="Check the network, or set sandbox.image_tar to a root file system with Python in it.",
    )


def with_browser(settings: EngineSettings) -> Recipe:
    """Return the image that containers of tools with the capability `browser` start from."""
    return Recipe(
        title="browser image",
        tag=settings.browser_tag,
        references=settings.browser_images if settings.pull else (),
        tar=settings.browser_tar,
        packages=(*_PYTHON, "chromium", "fonts-dejavu-core", "libatomic1"),
        hint="Check the network, or set sandbox.browser_tar to a root file system with Python and Chromium in it.",
    )


class Base(Value, frozen=True):
    """An image that containers start from."""

    reference: str
    digest: str
    origin: str
    """`pulled`, `imported` or `built from distribution packages`."""
    created: float = 0.0
    """Time of its creation in seconds since 1970; 0 where Podman does not say."""


async def present(host: Host, recipe: Recipe | None = None) -> Base | None:
    """Return the image, by default the base image, if it is there. Raise SandboxUnavailable when Podman fails."""
    tag = (recipe or base(host.settings)).tag
    output = await host.output("podman", "images", "--format", "json", "--filter", f"reference={tag}")
    images = json.loads(output[output.find("[") :] if "[" in output else "[]")
    if not images:
        return None
    digest = "sha256:" + images[0]["Id"]
    origin = _origins(host).get(digest, "already there")
    return Base(reference=tag, digest=digest, origin=origin, created=float(images[0].get("Created") or 0))


async def ensure(host: Host, progress: Progress, recipe: Recipe | None = None) -> Base:
    """Return the image, built first if it is missing. Raise SandboxUnavailable that lists the attempts."""
    return await present(host, recipe) or await rebuild(host, progress, recipe)


async def rebuild(host: Host, progress: Progress, recipe: Recipe | None = None) -> Base:
    """Build the image again and return it; the present one keeps its name until then.

    Raise SandboxUnavailable that lists the attempts.
    """
    recipe = recipe or base(host.settings)
    previous = await present(host, recipe)
    if previous is not None:
        _record_origin(host, previous)
    failures: list[str] = []
    for title, origin, make_image in _ways(host, recipe):
        try:
            await make_image(host, recipe, progress)
        except SandboxUnavailable as error:
            failures.append(f"{title}: {error.message}")
            continue
        image = await present(host, recipe)
        if image is not None:
            image = msgspec.structs.replace(image, origin=origin)
            _record_origin(host, image)
            await forget(host)
            return image
    raise SandboxUnavailable(
        f"No {recipe.title} for the sandbox could be obtained. " + " | ".join(failures), hint=recipe.hint
    )


async def forget(host: Host) -> None:
    """Remove images that lost their name to a newer one and that no container uses. Raise SandboxUnavailable."""
    origins = _origins(host)
    if len(origins) < 2:
        return
    nameless = await host.output("podman", "images", "--no-trunc", "--quiet", "--filter", "dangling=true")
    for digest in set(nameless.split()) & set(origins):
        with suppress(SandboxUnavailable):
            await host.output("podman", "rmi", digest.removeprefix("sha256:"))
            del origins[digest]
            _write_origins(host, origins)


def _ways(host: Host, recipe: Recipe) -> list[tuple[str, str, Way]]:
    """Return the ways to get an image, best first: what each is, the origin that it leaves, and the function."""
    ways: list[tuple[str, str, Way]] = [
        (f"pulling {reference}", "pulled", partial(_pull, reference)) for reference in recipe.references
    ]
    if host.elsewhere:  # files and package sources are this machine's
        return ways
    if recipe.tar:
        ways.append((f"importing {recipe.tar}", "imported", _import))
    built = "built from distribution packages"
    return [*ways, (built.replace("built", "building"), built, _build)]


async def _pull(reference: str, host: Host, recipe: Recipe, progress: Progress) -> None:
    title, layers = f"Pulling {reference}", 0
    progress(title, 0, 0, "")
    async for line in host.lines("podman", "pull", reference, seconds=host.settings.pull_seconds):
        layers += line.startswith(("Copying blob", "Copying config"))
        progress(title, layers, 0, line[:80])
    await host.output("podman", "tag", reference, recipe.tag)


async def _import(host: Host, recipe: Recipe, progress: Progress) -> None:
    progress(f"Importing {Path(recipe.tar).name}", 0, 0, "")
    await host.output("podman", "import", recipe.tar, recipe.tag, seconds=host.settings.build_seconds)


async def _build(host: Host, recipe: Recipe, progress: Progress) -> None:
    """Build a minimal Debian or Ubuntu with these packages, from the machine's own package sources."""
    suite = _release().get("VERSION_CODENAME", "")
    if not suite:
        raise SandboxUnavailable("this is no distribution that mmdebstrap can build from")
    host.prepare()
    tar = host.runtime / f"{recipe.title.replace(' ', '-')}.tar"
    steps = ("running apt-get update", "downloading", "extracting", "installing essential", "installing remaining",
             "cleaning", "creating tarball", "success")  # fmt: skip
    title = f"Building the {recipe.title} from {suite} packages"
    progress(title, 0, len(steps) + 1, "starting")
    command = (
        "mmdebstrap", "--mode=unshare", "--variant=minbase", f"--include={','.join(recipe.packages)}",
        suite, str(tar), *_sources(),
    )  # fmt: skip
    try:
        async for line in host.built(tar, *command, seconds=host.settings.build_seconds):
            step_number = next((n for n, step in enumerate(steps, 1) if step in line), 0)
            if step_number:
                progress(title, step_number, len(steps) + 1, re.sub(r"^I: ", "", line)[:80])
        progress(title, len(steps), len(steps) + 1, "importing it")
        await host.output("podman", "import", str(tar), recipe.tag, seconds=host.settings.build_seconds)
    finally:
        tar.unlink(missing_ok=True)


def _sources() -> list[str]:
    """Return the machine's own package sources, with its mirrors and proxies."""
    folder = Path("/etc/apt/sources.list.d")
    names = [Path("/etc/apt/sources.list"), *(folder / f"{name}.sources" for name in ("debian", "ubuntu"))]
    return [str(path) for path in names if path.is_file() and path.stat().st_size > 0]


def _release() -> dict[str, str]:
    try:
        lines = Path("/etc/os-release").read_text().splitlines()
    except OSError:
        return {}
    return {name: value.strip('"') for name, _, value in (line.partition("=") for line in lines)}


def _origins(host: Host) -> dict[str, str]:
    """Return the recorded origin of each base image, by digest."""
    try:
        origins: dict[str, str] = json.loads((host.area / "image.json").read_text())
    except (OSError, ValueError):
        return {}
    return origins


def _record_origin(host: Host, base: Base) -> None:
    host.prepare()
    _write_origins(host, {**_origins(host), base.digest: base.origin})


def _write_origins(host: Host, origins: dict[str, str]) -> None:
    (host.area / "image.json").write_text(json.dumps(origins))
