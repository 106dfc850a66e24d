"""Nothing of the product is left out by ruff."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_module_of_the_product_is_linted() -> None:
    ruff = Path(sys.executable).with_name("ruff")
    shown = subprocess.run(
        [ruff, "check", "--show-files", "."], cwd=ROOT, capture_output=True, text=True, check=True
    )
    linted = {Path(line) for line in shown.stdout.splitlines()}
    missing = [path for path in (ROOT / "alita_tui").rglob("*.py") if path not in linted]
    assert missing == []
