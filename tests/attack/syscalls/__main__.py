"""Which system calls the most used packages make: imported, tested and used in a container under strace.

python -m tests.attack.syscalls [--only NAME …] [--keep FOLDER]; writes `alita_tui/sandbox/seccomp.measured.json`. It needs
strace on this machine (`apt-get install strace`) and the package index, and takes about a quarter of an hour.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.host import Host
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from alita_tui.sandbox.uv import uv
from tests.attack.syscalls import uses

RESULT = Path(__file__).parents[3] / "alita_tui" / "sandbox" / "seccomp.measured.json"
HERE = Path(__file__).parent
SECONDS, INSTALL_SECONDS = 480, 240


def names() -> list[str]:
    """The distributions to measure."""
    lines = (HERE / "packages.txt").read_text("utf-8").splitlines()
    return [name for line in lines if not line.startswith("#") for name in line.split()]


def tracer(folder: Path) -> None:
    """strace and what it needs of this machine, as a folder of its own."""
    found = shutil.which("strace")
    if found is None:
        sys.exit("There is no strace on this machine: apt-get install strace")
    folder.mkdir(parents=True)
    shutil.copy(found, folder / "strace")
    linked = subprocess.run(["ldd", found], capture_output=True, text=True, check=True).stdout
    for path in {word for word in linked.split() if word.startswith("/")}:
        shutil.copy(path, folder / ("ld.so" if "/ld-" in path else Path(path).name))


def install(name: str, folder: Path, python: str) -> str:
    """Install one distribution with what it needs, as wheels; why that did not work, or nothing."""
    where = ("--target", str(folder), "--python-version", python)
    asked = (
        "pip",
        "install",
        "-q",
        *where,
        "--only-binary",
        ":all:",
        "--link-mode",
        "copy",
        "--no-config",
        name,
    )
    try:
        code, _, said = asyncio.run(uv(*asked, seconds=INSTALL_SECONDS))
    except TimeoutError:
        return "it took too long to install"
    return said[-200:] if code else ""


class Measured:
    """What was seen of all packages so far."""

    def __init__(self) -> None:
        self.packages: dict[str, dict[str, int]] = {}
        self.failed: dict[str, str] = {}
        self.calls: Counter[str] = Counter()
        self.first: dict[str, str] = {}
        self.details: Counter[str] = Counter()

    def take(self, name: str, seen: dict[str, object]) -> None:
        """One answer of `inside.py`."""
        done = {key: seen[key] for key in ("imports", "tests", "uses") if seen.get(key)}
        self.packages[name] = done  # type: ignore[assignment]
        for key, total in (("calls", self.calls), ("details", self.details)):
            found = seen[key]
            assert isinstance(found, list)
            for one in found:
                total[one] += 1
                if key == "calls":
                    self.first.setdefault(one, name)

    def write(self, python: str) -> None:
        """As one file, sorted, so that two measurements can be compared."""
        told = {
            "about": "System calls of the most used packages: imported, tested with what they ship, used. "
            "Made by python -m tests.attack.syscalls.",
            "python": python,
            "packages": len(self.packages),
            "measured": dict(sorted(self.packages.items())),
            "not measured": dict(sorted(self.failed.items())),
            "calls": {name: [self.calls[name], self.first[name]] for name in sorted(self.calls)},
            "details": dict(sorted(self.details.items())),
        }
        RESULT.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")


def measure(host: Host, image: str, folder: Path, only: list[str]) -> None:
    """Install, trace, forget, one package after the other."""
    measured = Measured()
    tracer(folder / "strace")
    python = _inside(
        host, image, folder, ["python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    )
    for one in ("pytest", "hypothesis"):
        install(one, folder / "pytest", python)
    for name in ("the standard library", *(only or names())):
        place = folder / "env"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        why = "" if " " in name else install(name, place, python)
        if not why:
            use = uses.USES.get(name, "")
            (folder / "use.py").write_text(use)
            try:
                answer = _inside(host, image, folder, ["python3", "/m/inside.py", name])
                measured.take(name, json.loads(answer.splitlines()[-1]))
            except (subprocess.SubprocessError, ValueError, IndexError) as error:
                why = str(error)[-200:]
        if why:
            measured.failed[name] = why
        print(f"{name}: {why or measured.packages[name]}; {len(measured.calls)} calls", flush=True)
    measured.write(python)


def _inside(host: Host, image: str, folder: Path, command: list[str]) -> str:
    mounts = [f"--volume={folder}:/m:ro"]
    hard = (
        "--rm",
        "--network=none",
        "--read-only",
        "--tmpfs=/tmp:size=256m",
        "--memory-swappiness=-1",
        "--http-proxy=false",
    )
    loose = (
        "--security-opt=seccomp=unconfined",
        "--cap-drop=all",
        "--cap-add=SYS_PTRACE",
        "--user=20001:20001",
    )
    done = subprocess.run(
        host.command("podman", "run", *hard, *loose, *mounts, "--env=HOME=/tmp", image, *command),
        env=host.environ, cwd="/", capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    if done.returncode:
        raise ValueError(done.stderr[-300:])
    return done.stdout.strip()


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack.syscalls", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="alita-calls-") as name:
        base = Path(name)
        settings = EngineSettings(cache_dir=str(base / "cache"))
        asyncio.run(repair(settings, lambda *_: None))
        sandbox = PodmanSandbox(settings, "calls")
        asyncio.run(_prepared(sandbox))
        host = sandbox._host
        folder = Path(tempfile.mkdtemp(prefix="alita-calls-", dir=host.area))
        folder.chmod(0o755)
        try:
            shutil.copy(HERE / "inside.py", folder)
            measure(host, settings.tag, folder, given.only)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


async def _prepared(sandbox: PodmanSandbox) -> None:
    await sandbox.prepare(lambda *_: None)
    await sandbox.close()


if __name__ == "__main__":
    main()
