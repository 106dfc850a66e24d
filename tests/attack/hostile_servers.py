"""Attacks by what answers us: web pages, package indexes and models that lie, stall, flood or redirect, on real sockets."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

from tests.attack.report import Outcome

ROOT = Path(__file__).parents[2]
ROOMS = {
    "servers: web": ("tests/web",),
    "servers: package index": ("tests/sandbox/test_index.py", "tests/sandbox/test_faults.py"),
    "servers: models": ("tests/llm/test_errors.py", "tests/llm/test_conformance.py"),
}
"""Where the servers are that the product is tested against."""


def attack(share: float, seed: int) -> list[Outcome]:
    """A share of the tests with such a server; what failed is named."""
    return [_room(section, places, share, seed) for section, places in ROOMS.items()]


def _room(section: str, places: tuple[str, ...], share: float, seed: int) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="alita-attack-") as folder:
        listed = _pytest("--collect-only", "-q", "--no-header", *places).stdout.splitlines()
        names = [line for line in listed if "::" in line]
        count = max(1, round(len(names) * min(1.0, share)))
        report = Path(folder) / "report.xml"
        some = random.Random(seed).sample(names, count) if count < len(names) else list(places)
        done = _pytest("-q", "-p", "no:cacheprovider", f"--junit-xml={report}", *some)
        if not report.exists():
            return Outcome(section, 1, 0, (f"the tests did not run: {done.stdout[-300:]}",))
        cases = list(ET.parse(report).iter("testcase"))
    tried = [one for one in cases if one.find("skipped") is None]
    bad = [one for one in tried if one.find("failure") is not None or one.find("error") is not None]
    missed = tuple(f"{one.get('classname')}::{one.get('name')}" for one in bad)
    return Outcome(section, len(tried), len(tried) - len(missed), missed)


def _pytest(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
