"""A program in a terminal of its own: what it paints, and what it takes."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from contextlib import suppress
from pathlib import Path


class Screen:
    """A program in a pseudo-terminal."""

    def __init__(self, arguments: list[str], environ: dict[str, str]) -> None:
        self.last_peak = 0.0
        """Megabytes that it had in memory at most, as far as it was seen while it ended."""
        self.main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            arguments,
            env={**environ, "TERM": "xterm-256color"},
            stdin=side,
            stdout=side,
            stderr=side,
            start_new_session=True,
        )
        os.close(side)

    def painted(self, text: bytes = b"Library") -> float:
        """Milliseconds until a text was painted. Answers what a terminal is asked."""
        said = b""
        while text not in said:
            if not select.select([self.main], [], [], 60)[0]:
                raise RuntimeError(said[-500:])
            piece = os.read(self.main, 65536)
            said += piece
            if b"\x1b[c" in piece:
                os.write(self.main, b"\x1b[?62;22c")
        return (time.perf_counter() - self.started) * 1000

    def drain(self, seconds: float) -> None:
        """Let it write for a while."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            if select.select([self.main], [], [], left)[0]:
                os.read(self.main, 65536)

    def cpu(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def cpu_ms(self) -> float:
        """Milliseconds of processor time so far, by the scheduler's own count."""
        return time.clock_gettime((~self.process.pid << 3) | 2) * 1000  # see clock_getcpuclockid(3)

    def family(self) -> dict[int, float]:
        """Seconds of processor time so far of it and of each process below it, by pid: sandbox and tools included."""
        children: dict[int, list[int]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                    children.setdefault(parent, []).append(int(entry.name))
        found: dict[int, float] = {}
        todo = [self.process.pid]
        while todo:
            pid = todo.pop()
            todo += children.get(pid, ())
            with suppress(OSError):
                found[pid] = time.clock_gettime((~pid << 3) | 2)
        return found

    def rss(self, which: str = "VmRSS") -> float:
        """Megabytes in memory; `VmHWM`: at most so far."""
        found = re.search(rf"{which}:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        return int(found[1]) / 1024 if found else 0.0

    def write(self, keys: bytes) -> None:
        """Type."""
        os.write(self.main, keys)

    def answered(self, key: bytes, quiet: float = 0.15) -> float:
        """Press a key; milliseconds until what it changes was written. Returns once nothing more comes."""
        pressed = time.perf_counter()
        self.write(key)
        took = 0.0
        while select.select([self.main], [], [], quiet if took else 5)[0]:
            os.read(self.main, 65536)
            took = took or (time.perf_counter() - pressed) * 1000
        return took

    def settle(self, quiet: float = 0.5, limit: float = 60) -> None:
        """Let it write until it has used next to no processor time for a while."""
        end, before = time.perf_counter() + limit, self.cpu_ms()
        while time.perf_counter() < end:
            self.drain(quiet)
            now = self.cpu_ms()
            if now - before < 20 * quiet:
                return
            before = now

    def quit(self, keys: bytes = b"\x11") -> float:
        """Press the key that quits; milliseconds until the program has ended."""
        pressed = time.perf_counter()
        self.write(keys)
        while self.process.poll() is None and time.perf_counter() < pressed + 30:
            try:
                if select.select([self.main], [], [], 0.002)[0]:
                    os.read(self.main, 65536)
            except OSError:
                break
        self.process.wait()
        return (time.perf_counter() - pressed) * 1000

    def end(self) -> None:
        """Stop it."""
        self.process.send_signal(signal.SIGTERM)
        end = time.perf_counter() + 30
        while self.process.poll() is None and time.perf_counter() < end:
            self.last_peak = self.rss("VmHWM") or self.last_peak
            if select.select([self.main], [], [], 0.1)[0]:
                try:
                    os.read(self.main, 65536)
                except OSError:
                    break
        self.process.kill()
        self.process.wait()
        os.close(self.main)
