"""`make attack`: everything that the product is attacked with, as a table of what was tried and what held.

python -m tests.attack [--share 0.1] [--seed 7] [--whole] [SECTION …]; writes build/attack.json, exit code 1 when
something did not hold. Several sections run in two lanes, each section in a process of its own.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from tests.attack.commit import seed_of_commit
from tests.attack.report import Outcome

SECTIONS = {
    "inputs": ("tests.attack.inputs",),
    "drafts": ("tests.attack.drafts",),
    "records": ("tests.attack.records", "tests.attack.flips"),
    "programs": ("tests.attack.programs",),
    "kills": ("tests.attack.kills",),
    "frames": ("tests.attack.frames",),
    "packages": ("tests.attack.syscalls.prove",),
    "secrets": ("tests.attack.secrets",),
    "servers": ("tests.attack.servers", "tests.attack.hostile_servers"),
}
"""Where the attacks of each section are."""
LANES = (("drafts", "programs", "kills", "packages"), ("inputs", "records", "frames", "secrets", "servers"))
"""Sections that run one after the other; the two lanes take about the same time. Only the first starts containers."""
PART = {"drafts": 0.15, "inputs": 0.5, "packages": 0.2}
"""How much of a section is tried at most, so that all of it stays below fifteen minutes on two cores; the commit
chooses it. `--whole` tries everything, as `make bench` does."""


def main() -> int:
    """Attack, print, write."""
    parser = argparse.ArgumentParser(prog="make attack", description=__doc__)
    parser.add_argument(
        "sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)}; all of them"
    )
    parser.add_argument("--share", type=float, default=1.0, help="how much of each, from 0 to 1")
    parser.add_argument("--seed", type=int, help="chooses what belongs to a share; of the commit by default")
    parser.add_argument("--whole", action="store_true", help="everything, not the part that time allows")
    parser.add_argument(
        "--outcome", type=Path, help=argparse.SUPPRESS
    )  # of one section, for the other process
    given = parser.parse_args()
    if unknown := set(given.sections) - SECTIONS.keys():
        parser.error(f"there is no section {', '.join(sorted(unknown))}")
    seed = seed_of_commit() if given.seed is None else given.seed
    found: dict[str, list[Outcome]] = {}
    seconds: dict[str, float] = {}
    wanted = given.sections or list(SECTIONS)
    if len(wanted) == 1:
        section = wanted[0]
        share = given.share if given.whole else min(given.share, PART.get(section, 1.0))
        found[section], seconds[section] = _attack(section, share, seed)
        if given.outcome is not None:
            told = [asdict(outcome) for outcome in found[section]]
            given.outcome.write_text(json.dumps([told, seconds[section]]), "utf-8")
            return 0
    else:
        options = ["--share", str(given.share), "--seed", str(seed), *(["--whole"] if given.whole else [])]
        with ThreadPoolExecutor(len(LANES)) as pool:
            lanes = pool.map(lambda lane: [_beside(name, options) for name in lane if name in wanted], LANES)
            results = {name: (outcomes, took) for lane in lanes for name, outcomes, took in lane}
        for section in wanted:
            found[section], seconds[section] = results[section]
    broken = [line for section, outcomes in found.items() for line in _broken(section, outcomes)]
    _print(found, seconds, broken)
    _write(found, seconds, broken, given.share, seed)
    return 1 if broken else 0


def _attack(section: str, share: float, seed: int) -> tuple[list[Outcome], float]:
    """Attack one part of the product; return what it came to, and the seconds it took."""
    print(f"attack: {section} …", file=sys.stderr, flush=True)
    started = time.monotonic()
    modules = [importlib.import_module(name) for name in SECTIONS[section]]
    outcomes = [outcome for module in modules for outcome in module.attack(share, seed)]
    return outcomes, round(time.monotonic() - started, 1)


def _beside(section: str, options: list[str]) -> tuple[str, list[Outcome], float]:
    """Attack one part in a process of its own. Raise CalledProcessError when the attack itself fails."""
    with tempfile.TemporaryDirectory(prefix="alita-attack-") as folder:
        result = Path(folder) / "outcome.json"
        command = [sys.executable, "-m", "tests.attack", section, *options, "--outcome", str(result)]
        subprocess.run(command, check=True)
        told, seconds = json.loads(result.read_text("utf-8"))
    outcomes = [Outcome(**(outcome | {"missed": tuple(outcome["missed"])})) for outcome in told]
    return section, outcomes, seconds


def _broken(section: str, outcomes: list[Outcome]) -> list[str]:
    """What goes beyond the bounds: everything that was missed, but for drafts a share of them."""
    if section != "drafts":
        return [line for one in outcomes for line in one.missed]
    from tests.attack.drafts import ALWAYS, allowed

    lines = [
        line for one in outcomes if one.section.removeprefix("drafts: ") in ALWAYS for line in one.missed
    ]
    honest = [one for one in outcomes if one.section == "drafts: honest"]
    bad = [one for one in outcomes if one.section != "drafts: honest"]
    for what, ours in (("adversarial drafts were missed", bad), ("honest drafts were marked", honest)):
        tried, missed = sum(one.tried for one in ours), sum(one.tried - one.held for one in ours)
        if missed > allowed(tried):
            lines.append(f"{missed} of {tried} {what}")
    return lines


def _print(found: dict[str, list[Outcome]], seconds: dict[str, float], broken: list[str]) -> None:
    for outcomes in found.values():
        for one in outcomes:
            for line in one.missed:
                print(f"not held: {line}")
    print(f"\n{'SECTION':44} {'TRIED':>8} {'HELD':>8} {'':>7}")
    for section, outcomes in found.items():
        for one in outcomes:
            share = f"{100 * one.held / one.tried:5.1f} %" if one.tried else ""
            print(f"{one.section:44} {one.tried:>8} {one.held:>8} {share:>7}")
        tried, held = sum(one.tried for one in outcomes), sum(one.held for one in outcomes)
        print(f"{section + ' together':44} {tried:>8} {held:>8} {seconds[section]:>6.0f}s")
    print("\nEverything held within its bounds." if not broken else "\nBeyond the bounds:")
    for line in broken:
        print(f"  {line}")


def _write(
    found: dict[str, list[Outcome]], seconds: dict[str, float], broken: list[str], share: float, seed: int
) -> None:
    folder = Path(__file__).parents[2] / "build"
    folder.mkdir(exist_ok=True)
    told = {
        "share": share,
        "seed": seed,
        "seconds": seconds,
        "sections": {name: [asdict(one) for one in outcomes] for name, outcomes in found.items()},
        "beyond": broken,
    }
    (folder / "attack.json").write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
