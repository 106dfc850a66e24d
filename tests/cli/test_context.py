"""`alita context`: what the next call would send."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.test_resume import alita
from tests.crash.scene import at_the_console


async def test_the_parts_and_their_tokens(tmp_path: Path) -> None:
    await at_the_console(tmp_path)
    home = tmp_path / "home"
    done = alita(home, "context")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].split() == ["PART", "TURNS", "TOKENS", "SHARE"]
    assert "prompt" in done.stdout and "observations" in done.stdout
    assert "the window has 32,000, which is assumed" in done.stdout
    told = json.loads(alita(home, "context", "--json").stdout)
    assert told["tokens"] == sum(part["tokens"] for part in told["parts"]) > 2_000
    missing = alita(home, "context", "nobody")
    assert missing.returncode == 2 and missing.stdout == ""
