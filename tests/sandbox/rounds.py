"""Rounds of `alita sandbox run` in which something is killed at a random moment, and what is left afterwards.

The real command line in a process of its own. Victims are alita itself, the guard, Podman's service, a
conmon or what the runtime began, each found among the descendants of that process and never by name alone: others
of the same account are none of its business. Whatever belongs to a round carries its mark in its search path,
or the id of a container that it was seen to hold.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from alita_tui.sandbox.host import Host
from alita_tui.sandbox.settings import EngineSettings

VICTIMS = ("alita", "guard", "service", "conmon", "runtime")
FILES = {
    "one.py": "def run(): return 1\n",
    "two.py": "import json\ndef run(): return [1, 2]\n",
    "sleeps.py": "import time\ndef run():\n    time.sleep(0.3)\n    return 3\n",
    "prints.py": "for n in range(2000): print('line', n)\n",
    "loops.py": "while True: pass\n",
    "forks.py": "import os, time\ndef run():\n    for _ in range(3):\n        if os.fork() == 0:\n            os.setpgid(0, 0); time.sleep(30)\n    time.sleep(0.2)\n    return 4\n",
}
PATIENCE = 5.0
"""Seconds beyond what the rest of the files takes after which a round counts as hung."""
_FOREVER = 60.0
_ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


@dataclass
class Round:
    """What was killed when, and what came of it."""

    victim: str
    moment: float
    killed: str = ""
    """What the victim was; empty where there was none before the end."""
    killed_at: float = 0.0
    seconds: float = 0.0
    hung: bool = False
    left: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """One line each, empty when all held."""
        what = f"{self.victim} at {self.moment:.2f} s ({self.killed[:60]})"
        found = [f"hung for {self.seconds:.1f} s"] if self.hung else []
        return [f"{what}: {one}" for one in (*found, *(f"left {one}" for one in self.left), *self.wrong)]


def read(pid: int, what: str) -> bytes:
    """A file of a process in /proc, empty once it has ended."""
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""


class Scene:
    """The processes of one round."""

    def __init__(self, mark: str) -> None:
        self._mark = mark.encode()
        self.alita = 0
        self.ids: set[bytes] = set()

    def look(self) -> dict[int, bytes]:
        """Command lines of what belongs to the round and runs, alita apart."""
        found: dict[int, bytes] = {}
        others: dict[int, tuple[bytes, bytes]] = {}
        for entry in os.listdir("/proc"):
            pid = int(entry) if entry.isdigit() else 0
            if not pid or pid == self.alita:
                continue
            words, environ = read(pid, "cmdline"), read(pid, "environ")
            if self._mark in environ:
                found[pid] = words
                if b"conmon" in words.split(b"\0")[0] or b"runc" in words.split(b"\0")[0]:
                    self.ids.update(_ID.findall(words))
            elif words:
                others[pid] = (words, environ)
        for pid, (words, environ) in others.items():
            if any(one in words or one in environ for one in self.ids):
                found[pid] = words
        for pid, (words, _) in others.items():
            if b"/warden.pyz" in words and _parent(pid) in found:
                found[pid] = words
        return {pid: words for pid, words in found.items() if words and not _zombie(pid)}

    def victims(self, kind: str) -> list[int]:
        """Whom such a round may kill now."""
        if kind == "alita":
            return [self.alita] if not _zombie(self.alita) else []
        now = self.look()
        if kind == "guard":
            return [
                pid
                for pid, words in now.items()
                if b"podman_supervisor.py" in words and _parent(pid) == self.alita
            ]
        if kind == "service":
            return [
                pid
                for pid, words in now.items()
                if b"podman\0" in words
                and b"system\0service" in words
                and b"podman_supervisor.py" not in words
            ]
        first = {pid: words.split(b"\0")[0].rpartition(b"/")[2] for pid, words in now.items()}
        if kind == "conmon":
            return [pid for pid, name in first.items() if name == b"conmon"]
        return [
            pid for pid, name in first.items() if name in (b"runc", b"crun") or b"/warden.pyz" in now[pid]
        ]


def _parent(pid: int) -> int:
    fields = read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0


def _zombie(pid: int) -> bool:
    fields = read(pid, "stat").rpartition(b")")[2].split()
    return not fields or fields[0] in (b"Z", b"X")


class Ring:
    """Where the rounds of one machine take place."""

    def __init__(self, settings: EngineSettings, folder: Path, patience: float = PATIENCE) -> None:
        self._host = Host(settings)
        self._patience = patience
        self._folder = folder
        self._usual = 10.0
        for name, text in FILES.items():
            (folder / name).write_text(text)

    async def usual(self) -> float:
        """Seconds of a round in which nothing is killed; everything has to be right there."""
        one = await self.round("", 0.0)
        assert not one.problems, one.problems
        self._usual = one.seconds
        return one.seconds

    async def round(self, victim: str, moment: float) -> Round:
        """One round; `moment` is a share of the usual time."""
        told = Round(victim, moment * self._usual)
        mark = f"alita-round-{os.urandom(6).hex()}"
        scene = Scene(mark)
        environ = {**os.environ, "PATH": f"{os.environ['PATH']}:/{mark}", "ALITA_SANDBOX_WALL_SECONDS": "1"}
        home = self._folder / mark
        home.mkdir()
        files = [str(self._folder / name) for name in FILES]
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "alita_tui", "--home", str(home), "sandbox", "run", *files, "--jobs", "3", "--json",
            env=environ, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        scene.alita = process.pid
        ending = asyncio.create_task(process.communicate())
        try:
            while victim and not ending.done() and not told.killed:
                live = (
                    await asyncio.to_thread(scene.victims, victim)
                    if time.monotonic() - began >= told.moment
                    else []
                )
                if live:
                    pid = random.choice(live)
                    words = read(pid, "cmdline").replace(b"\0", b" ")
                    if words and not _zombie(pid):
                        with suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGKILL)
                            told.killed = f"{pid} {words[:50].decode(errors='replace')}"
                            told.killed_at = time.monotonic() - began
                else:
                    await asyncio.to_thread(scene.look)
                    await asyncio.sleep(0.01)
            while not ending.done() and time.monotonic() - began < _FOREVER:
                await asyncio.to_thread(scene.look)
                await asyncio.wait((ending,), timeout=0.05)
            told.seconds = time.monotonic() - began
            told.hung = not ending.done()
        finally:
            if not ending.done():
                with suppress(ProcessLookupError):
                    process.kill()
            out, err = await ending
        if victim != "alita" and not told.hung:
            told.wrong = self._rows(out, err, files, process.returncode)
        told.left = await self._left(scene)
        if victim and not told.hung and told.seconds > told.killed_at + self._usual + self._patience:
            now = await self.usual()  # others may keep the machine busier than before
            told.hung = told.seconds > told.killed_at + now + self._patience
        if not told.problems:
            shutil.rmtree(home, ignore_errors=True)
        return told

    def _rows(self, out: bytes, err: bytes, files: Iterable[str], code: int | None) -> list[str]:
        try:
            rows = json.loads(out)
        except ValueError:
            return [f"no rows, exit code {code}: {err[-300:]!r}"]
        if [row["file"] for row in rows] != list(files):
            return [f"rows of {[row['file'] for row in rows]}"]
        odd = [
            row for row in rows if row["outcome"] not in ("ok", "error", "exit", "timeout", "killed", "limit")
        ]
        odd += [row for row in rows if row["outcome"] == "error" and not row["error"]]
        return [f"{row['file']}: {row['outcome']} {row['error'][:100]}" for row in odd]

    async def _left(self, scene: Scene) -> list[str]:
        until = time.monotonic() + self._patience + PATIENCE  # Podman takes five seconds over a dead conmon
        while True:
            processes = await asyncio.to_thread(scene.look)
            containers = await asyncio.to_thread(self._containers, scene.alita) if not processes else []
            if not processes and not containers:
                return []
            if time.monotonic() > until:
                lines = [
                    f"process {pid}: {words[:90].decode(errors='replace')}".replace("\0", " ")
                    for pid, words in processes.items()
                ]
                self._clear(processes, scene.alita)
                return lines + [f"container {one}" for one in containers]
            await asyncio.sleep(0.1)

    def _containers(self, pid: int) -> list[str]:
        done = subprocess.run(
            self._host.command("podman", "ps", "-a", "--no-trunc", "--format", "{{.ID}} {{.State}} {{.Labels}}"),
            cwd="/", env=self._host.environ, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [one[:90] for one in done.stdout.splitlines() if f"alita.owner:{pid}." in one]

    def _clear(self, processes: dict[int, bytes], alita: int) -> None:
        """What a round left would disturb the next one."""
        for pid in processes:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for line in self._containers(alita):
            command = self._host.command("podman", "rm", "--force", "--time", "0", line.split()[0])
            subprocess.run(command, cwd="/", env=self._host.environ, capture_output=True)


async def rounds(
    settings: EngineSettings,
    folder: Path,
    count: int,
    seed: int,
    victims: tuple[str, ...] = VICTIMS,
    lanes: int = 1,
    patience: float = PATIENCE,
) -> list[Round]:
    """So many rounds, their victims and moments by the seed; what each came to."""
    dice = random.Random(seed)
    ring = Ring(settings, folder, patience)
    await ring.usual()
    plan = [(victims[number % len(victims)], dice.uniform(0.0, 0.8)) for number in range(count)]
    done: list[Round] = []

    async def lane() -> None:
        while plan:
            victim, moment = plan.pop(0)
            while not (one := await ring.round(victim, moment)).killed and not one.problems:
                moment *= 0.7  # it had ended before
            done.append(one)
            for line in done[-1].problems:
                print(line, flush=True)

    async with asyncio.TaskGroup() as group:
        for _ in range(lanes):
            group.create_task(lane())
    return done


def main() -> None:
    """`python tests/sandbox/rounds.py --count 20 --seed 3 --victims service,guard`."""
    from alita_tui.sandbox.settings import EngineSettings

    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--count", type=int, default=20)
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--lanes", type=int, default=1)
    reader.add_argument("--victims", default=",".join(VICTIMS))
    given = reader.parse_args()
    with tempfile.TemporaryDirectory(prefix="alita-rounds-") as name:
        folder = Path(name)
        settings = EngineSettings(cache_dir=str(folder / "cache"))
        found = asyncio.run(
            rounds(settings, folder, given.count, given.seed, tuple(given.victims.split(",")), given.lanes)
        )
    killed = [one for one in found if one.killed]
    print(
        f"{len(found)} rounds, {len(killed)} kills, {sum(one.hung for one in found)} hung, {sum(bool(one.left) for one in found)} left something, {sum(bool(one.wrong) for one in found)} without rows"
    )


if __name__ == "__main__":
    main()
