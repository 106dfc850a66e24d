"""`alita doctor` for the sandbox: the checks, and what `--fix` installs and configures."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
from pathlib import Path

import msgspec

from alita_tui.events import Check
from alita_tui.sandbox import gvisor, image
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.host import Host
from alita_tui.sandbox.processes import running
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.errors import SandboxUnavailable, UsageError
from alita_tui.spine.ports.sandbox import Job
from alita_tui.spine.ports.stream import Progress

_SUBIDS = 65_536
_LOCAL = "local"
_BROWSER_DAYS = 30
"""Age from which the image with a browser is reported as old: Chromium has a new version about every four weeks."""
_PROGRAMS = {"podman": "podman", "newuidmap": "uidmap", "mmdebstrap": "mmdebstrap"}
"""Programs, and the Debian packages that contain them."""


async def diagnose(settings: EngineSettings) -> tuple[Check, ...]:
    """Return every check of the sandbox; never raises."""
    checks: list[Check] = []
    if _LOCAL in settings.engines:
        checks += await _check_local(settings)
    for name in settings.engines:
        if name != _LOCAL:
            checks.append(await _check_remote(settings, name))
    return tuple(checks)


async def _check_remote(settings: EngineSettings, name: str) -> Check:
    """Return the check of an engine on another machine."""
    try:
        sandbox = PodmanSandbox(settings, "doctor", engine=name)
    except UsageError as error:
        return Check(name="engine", state="problem", detail=error.message, hint=error.hint)
    try:
        await sandbox.prepare(lambda *_: None)
        status = await sandbox.status(fresh=True)
        trial = await _trial(sandbox)
        return msgspec.structs.replace(trial, name="engine", detail=f"{status.engine}: {trial.detail}")
    except SandboxUnavailable as error:
        return Check(name="engine", state="problem", detail=f"{name}: {error.message}", hint=error.hint)
    finally:
        await sandbox.close()


async def _check_local(settings: EngineSettings) -> list[Check]:
    """Return every check of the engine on this machine."""
    host = Host(settings)
    checks = [_programs(), _account(host), _gvisor(host)]
    sandbox = PodmanSandbox(settings, "doctor")
    try:
        status = await sandbox.status(fresh=True)
        if not status.available:
            checks.append(
                Check(name="sandbox", state="problem", detail=status.problem, hint=status.hint, fixable=True)
            )
            return checks
        checks.append(Check(name="engine", state="ok", detail=status.engine))
        origin = f"{status.image} ({status.image_origin}, {status.image_digest[:19]})"
        checks.append(Check(name="base image", state="ok", detail=origin))
        checks += await _browser(host)
        checks += [
            Check(
                name=row.resource,
                state="ok" if row.strong else "warning",
                detail=row.mechanism + (f" ({row.measured})" if row.measured else ""),
            )
            for row in status.enforcement
        ]
        checks.append(await _trial(sandbox))
    except SandboxUnavailable as error:
        checks.append(Check(name="sandbox", state="problem", detail=error.message, hint=error.hint))
    finally:
        await sandbox.close()
    return checks


async def repair(settings: EngineSettings, progress: Progress) -> None:
    """Install and build what is missing; quick when nothing is.

    Raise SandboxUnavailable, whose hint is the command that a person has to type.
    """
    host = Host(settings)
    local = _LOCAL in settings.engines
    missing = [package for program, package in _PROGRAMS.items() if local and not _installed(program)]
    if local and not _installed("runc") and not _installed("crun"):
        missing.append("crun" if _cgroup_v2() else "runc")
    if local and settings.profile == "gvisor" and not _installed(gvisor.RUNTIME):
        missing.append(gvisor.PACKAGE)
    if settings.engines != (_LOCAL,) and not _installed("ssh"):
        missing.append("openssh-client")
    if missing:
        await _install(missing, progress)
    if not local:
        return
    await prepare_account(host, progress)
    await image.ensure(host, progress)


async def prepare_account(host: Host, progress: Progress) -> None:
    """Make sure that the account which runs Podman exists and can do so without root. Raise SandboxUnavailable."""
    if host.as_root:
        await _make_account(host, progress)
    elif not _has_subids(_login()):
        await _add_subids(_login(), progress, title="Giving this account its sub-ids")
    await asyncio.to_thread(_configure, host)


def _cgroup_v2() -> bool:
    return Path("/sys/fs/cgroup/cgroup.controllers").exists()


def _installed(program: str) -> bool:
    paths = os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin:/bin"
    return shutil.which(program, path=paths) is not None


def _programs() -> Check:
    missing = [program for program in _PROGRAMS if not _installed(program)]
    if missing:
        return Check(
            name="programs",
            state="problem",
            detail=f"missing: {', '.join(missing)}",
            hint=f"apt-get install {' '.join(_PROGRAMS[program] for program in missing)}",
            fixable=True,
        )
    return Check(name="programs", state="ok", detail=", ".join(_PROGRAMS))


def _gvisor(host: Host) -> Check:
    """Check whether the profile gvisor is available, which matters only where the settings ask for it."""
    requested = host.settings.profile == "gvisor"
    if _installed(gvisor.RUNTIME):
        detail = f"{gvisor.RUNTIME} is installed" + (
            ""
            if requested
            else "; `alita config set sandbox.profile gvisor` runs tools on a kernel of their own"
        )
        return Check(name="gvisor", state="ok", detail=detail)
    install = f"apt-get install {gvisor.PACKAGE}"
    if not requested:
        detail = f"not installed and not asked for; `{install}` makes the profile gvisor possible"
        return Check(name="gvisor", state="ok", detail=detail)
    missing = f"{gvisor.RUNTIME} is missing, and sandbox.profile asks for it"
    return Check(name="gvisor", state="problem", detail=missing, hint=install, fixable=True)


def _account(host: Host) -> Check:
    try:
        account = host.account or _login()
        _ = host.home
    except SandboxUnavailable as error:
        return Check(name="account", state="problem", detail=error.message, hint=error.hint, fixable=True)
    if not _has_subids(account):
        return Check(
            name="account",
            state="problem",
            detail=f"{account} has no sub-ids in /etc/subuid and /etc/subgid",
            hint=_usermod(account),
            fixable=True,
        )
    return Check(name="account", state="ok", detail=f"Podman runs as {account}, never as root")


async def _browser(host: Host) -> list[Check]:
    """Check whether the image with a browser exists, if tools may be granted a browser."""
    if not host.settings.browser:
        return []
    browser_image = await image.present(host, image.with_browser(host.settings))
    if browser_image is None:
        missing = "it is not here yet; it is made before the first run with a browser"
        hint = "`alita doctor --fix --with browser` makes it now."
        return [Check(name="browser image", state="warning", detail=missing, hint=hint)]
    detail = f"{browser_image.reference} ({browser_image.origin}, {browser_image.digest[:19]})"
    days = int((time.time() - browser_image.created) / 86_400) if browser_image.created else 0
    if days > _BROWSER_DAYS:
        outdated = f"{detail}, {days} days old: Chromium gets security updates only with a new one"
        hint = "`alita sandbox rebuild` makes it anew."
        return [Check(name="browser image", state="warning", detail=outdated, hint=hint)]
    return [Check(name="browser image", state="ok", detail=detail)]


async def _trial(sandbox: PodmanSandbox) -> Check:
    """Check one real run, attested like any other."""
    code = "def run(word: str) -> str:\n    return word[::-1]\n"
    job = Job(run_id="doctor", module="doctor_trial", code=code, arguments={"word": "alita"})
    report = await sandbox.run(job, lambda *_: None, lambda *_: None)
    if report.status == "ok" and report.result == "atila":
        return Check(
            name="trial run", state="ok", detail=f"attested and answered, {report.duration_ms:.0f} ms inside"
        )
    return Check(name="trial run", state="problem", detail=f"{report.status}: {report.error[:200]}")


async def _install(packages: list[str], progress: Progress) -> None:
    """Install Debian packages. Raise SandboxUnavailable that names all that a person has to type."""
    names = " ".join(packages)
    title = f"Installing {', '.join(packages)}"
    if shutil.which("apt-get") is None:
        raise SandboxUnavailable(
            f"{title} needs apt-get.", hint=f"Install what Debian calls {names} yourself."
        )
    install = f"apt-get install -y --no-install-recommends {names}"
    progress(title, 0, 0, "")
    # Lists that cannot be read, of another program's packages perhaps, are no reason not to try.
    script = f"export DEBIAN_FRONTEND=noninteractive; apt-get -q update; exec {install} -q -o DPkg::Lock::Timeout=300"
    await _run_as_root(
        "sh", "-c", script, progress=progress, title=title, typed=f"apt-get update && {install}"
    )


async def _run_as_root(*argv: str, progress: Progress, title: str, typed: str = "") -> None:
    """Run a command as root. Raise SandboxUnavailable that names the command to type where that fails.

    `typed` is that command where it differs.
    """
    hint = f"Run as root: {typed or ' '.join(argv)}"
    prefix: tuple[str, ...] = ()
    if os.geteuid() != 0:
        prefix = ("sudo", "-n")
        if shutil.which("sudo") is None:
            raise SandboxUnavailable(f"{title} needs root.", hint=hint)
    last_line = ""
    async with running(*prefix, *argv) as process:
        assert process.stdout is not None
        async for raw in process.stdout:
            last_line = raw.decode("utf-8", "replace").strip() or last_line
            progress(title, 0, 0, last_line[:80])
        exit_code = await process.wait()
    if exit_code:
        raise SandboxUnavailable(f"{title} failed: {last_line}", hint=hint)


async def _make_account(host: Host, progress: Progress) -> None:
    """Create the unprivileged account that runs Podman for root, with its own range of sub-ids."""
    title = f"Creating the account {host.account}"
    try:
        home = host.home
    except SandboxUnavailable:
        home = Path("/var/lib") / host.account
        await _run_as_root(
            "useradd", "--system", "--create-home", "--home-dir", str(home), "--shell", "/usr/sbin/nologin",
            "--user-group", host.account, progress=progress, title=title,
        )  # fmt: skip
    if not _has_subids(host.account):
        await _add_subids(host.account, progress, title=title)


async def _add_subids(account: str, progress: Progress, *, title: str) -> None:
    """Give an account a range of sub-ids of its own. Raise SandboxUnavailable."""
    await _run_as_root(*_usermod(account).split(), progress=progress, title=title)


def _usermod(account: str) -> str:
    return f"usermod --add-subuids {_free_range()} --add-subgids {_free_range()} {account}"


def _has_subids(account: str) -> bool:
    def listed(file: str) -> bool:
        try:
            lines = Path(file).read_text().splitlines()
        except OSError:
            return False
        return any(line.split(":")[0] in (account, str(os.geteuid())) for line in lines)

    return listed("/etc/subuid") and listed("/etc/subgid")


def _free_range() -> str:
    """Return a range of ids above all that are taken."""
    highest = 299_999
    for file in ("/etc/subuid", "/etc/subgid"):
        try:
            lines = Path(file).read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            if match := re.fullmatch(r"[^:]*:(\d+):(\d+)", line.strip()):
                highest = max(highest, int(match[1]) + int(match[2]) - 1)
    return f"{highest + 1}-{highest + _SUBIDS}"


def _configure(host: Host) -> None:
    """Write the settings that an account without a desktop session needs; a person's own files stay unchanged."""
    host.prepare()
    folder = host.home / ".config" / "containers"
    if not host.as_root:
        # Podman 4 falls back to the slow vfs driver; only where nothing is chosen or stored yet.
        storage = folder / "storage.conf"
        if not storage.exists() and not (host.home / ".local/share/containers/storage").exists():
            folder.mkdir(parents=True, exist_ok=True)
            storage.write_text('[storage]\ndriver = "overlay"\n')
        return
    runtime = "crun" if _cgroup_v2() and _installed("crun") else "runc" if _installed("runc") else "crun"
    contents = {
        "storage.conf": '[storage]\ndriver = "overlay"\n',
        "containers.conf": f'[engine]\nruntime = "{runtime}"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n',
    }
    for name, text in contents.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            host.write(path, text)


def _login() -> str:
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name
