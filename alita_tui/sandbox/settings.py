"""The settings of the sandbox: images, account, pool, limits on installed requirements."""

from __future__ import annotations

from alita_tui.events import Value
from alita_tui.runtimes.languages import LANGUAGES
from alita_tui.sandbox.install_limits import InstallLimits

PROFILES = ("draft", "gvisor")
"""How a container can be confined. `draft`: nothing is granted, one run, thrown away. `gvisor`: the same on
a kernel of its own (see `sandbox.gvisor`)."""


class EngineSettings(Value, frozen=True):
    """How containers are created, independent of the names of the person's settings."""

    cache_dir: str
    images: tuple[str, ...] = ("docker.io/library/python:3.12-slim",)
    """References that may be pulled as base image, in this order."""
    image_tar: str = ""
    """A root file system as tar, imported as base image."""
    pull: bool = True
    tag: str = "localhost/alita-base:1"
    """Name of the base image once it is present, whatever its source."""
    browser: bool = False
    """Whether tools may be granted a browser."""
    browser_images: tuple[str, ...] = ()
    """References that may be pulled as the image with Python and Chromium, in this order."""
    browser_tar: str = ""
    """A root file system as tar with Python and Chromium, imported as that image."""
    browser_tag: str = "localhost/alita-browser:1"
    """Name of that image once it is present."""
    profile: str = "draft"
    """One of `PROFILES`."""
    account: str = "alita-sandbox"
    """Unprivileged account that runs Podman when alita itself runs as root."""
    area: str = ""
    """Folder for environments, warden and seccomp profile, which the account can read; empty: alita's own."""
    socket: str = ""
    """Path of a running Podman service; empty: alita starts its own."""
    engines: tuple[str, ...] = ("local",)
    """Where containers run: `local`, `ssh://USER@HOST[:PORT][/PATH/OF/PODMAN.SOCK]`."""
    ssh_config: str = ""
    """File to use instead of the person's own ssh configuration."""
    pool_hot: int = 0
    """Waiting containers per environment that have imported the modules of the last tool."""
    pool_warm: int = 0
    """Waiting containers per environment without imports."""
    pool_environments: int = 3
    """Environments for which containers wait; the least recently used is dropped first."""
    session_calls: bool = False
    """Whether calls of an approved build may share a container; each has its own processes and user id."""
    lanes: int = 1
    """Containers that calls of one approved build may share at the same time, each taking one call at a time."""
    many_calls: bool = False
    """Whether many calls of one build are expected: the first calls then wait for the containers that they share."""
    languages: tuple[str, ...] = LANGUAGES
    """What tools may be written in. Python always runs: the checks and the tests of every tool are written in it."""
    environments_mb: int = 4096
    """Disk space for installed requirements, in MB; the least recently used are removed first."""
    install_limits: InstallLimits = InstallLimits()
    """How much of it the requirements of one tool may take."""
    pull_seconds: float = 600.0
    build_seconds: float = 1200.0
