"""alita in a process of its own, and a home with a scripted model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.servers.openai_server import OpenAIServer


def alita(home: Path, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "alita_tui", "--home", str(home), *words]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=400, stdin=subprocess.DEVNULL, cwd=cwd
    )
    assert "Traceback" not in done.stderr
    return done


def settle(home: Path, server: OpenAIServer) -> None:
    home.mkdir(exist_ok=True)
    known = f"custom:one; base_url={server.base_url}"
    (home / "config.toml").write_text(f'[models]\nknown = ["{known}"]\n')
