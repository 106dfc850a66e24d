"""`alita serve --web`, as a person starts it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit


class Served:
    """A server of the console, and where it is."""

    def __init__(self, home: Path, *, environ: Mapping[str, str] = os.environ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "alita_tui", "--home", str(home), "serve", "--web"],
            stdout=subprocess.PIPE,
            text=True,
            env={name: value for name, value in environ.items() if name != "ALITA_HOME"},
            # Tests that were started in the background inherit that Ctrl+C is ignored.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        assert self.process.stdout is not None
        told = self.process.stdout.readline() + self.process.stdout.readline()
        found = re.search(r"http://\S+", told)
        assert found, told
        self.link = found[0]
        self.host = urlsplit(self.link).netloc

    def consoles(self) -> list[str]:
        """Return the processes that it has started."""
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True
        )
        return listed.stdout.split()

    def end(self, seconds: float = 90) -> None:
        """End it as Ctrl+C does."""
        self.process.send_signal(signal.SIGINT)
        try:
            assert self.process.wait(seconds) in (0, 130)
        finally:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
