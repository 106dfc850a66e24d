"""Sequences of input through a real pseudo-terminal to the real console, on a busy machine."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.attack.inputs.oracle import accidents
from tests.attack.inputs.people import Step, deliberate, sequence
from tests.attack.inputs.terminal import Terminal

SEQUENCES = 520
ANSWERS: tuple[float | None, ...] = (0.001, 0.04, 0.15, None)
"""Seconds until the terminal answers a query; None: never."""
CONSOLES = 2 * len(ANSWERS)
"""How many run side by side; most of the time they wait."""
CALM = 8
"""How often a person who takes ever more time tries to decide, where nothing was decided otherwise."""


@contextmanager
def load(processes: int = 2) -> Iterator[None]:
    """Processes that do nothing but take time of the processors."""
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: sum(range(9999))"]) for _ in range(processes)
    ]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


def play(terminal: Terminal, steps: list[Step]) -> None:
    """Make a script's input on a terminal. Raises TimeoutError when no review can be had."""
    for step in steps:
        terminal.rest(step.pause)
        match step.what:
            case "open":
                terminal.open()
            case "look":
                terminal.rest(0.1)
            case "stall":
                terminal.stall(step.seconds)
            case "busy" | "resize":
                terminal.resize()
            case _:
                terminal.press(step.what, step.data, held=step.held)


def run(answers: float | None, count: int, seed: int) -> tuple[int, list[str], Counter[str]]:
    """Play scripts on one console: how many, what went wrong, and the verdicts there were."""
    rng = random.Random(seed)
    missed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="alita-attack-") as folder:
        terminal = Terminal(Path(folder) / "log", answers=answers)
        try:
            terminal.start()
            for number in range(count):
                kind, steps = sequence(rng)
                try:
                    play(terminal, steps)
                    terminal.recover()
                except (TimeoutError, OSError) as error:
                    missed.append(f"{kind} {number}, answers {answers}: {str(error)[:2000]}")
                    break
            terminal.rest(0.5)
            found = accidents(terminal.made, terminal.shown, terminal.decided)
            missed += [f"pty, answers {answers}, seed {seed}: {one}" for one in found]
            if not terminal.alive:
                missed.append(f"pty, answers {answers}: the console ended")
            return count, missed, Counter(one.verdict for one in terminal.decided)
        finally:
            terminal.close()


def attack(share: float, seed: int) -> tuple[int, list[str], Counter[str]]:
    """A share of all sequences, on two consoles for each way of answering."""
    each = max(1, round(SEQUENCES * share / CONSOLES))

    def one(number: int) -> tuple[int, list[str], Counter[str]]:
        return run(ANSWERS[number % len(ANSWERS)], each, seed * 100 + number)

    with load(), ThreadPoolExecutor(CONSOLES) as pool:
        ran = list(pool.map(one, range(CONSOLES)))
    if not any(verdicts for _, _, verdicts in ran):
        ran.append(_calm(seed))
    total: Counter[str] = Counter()
    for _, _, verdicts in ran:
        total += verdicts
    return sum(one[0] for one in ran), [line for one in ran for line in one[1]], total


def _calm(seed: int) -> tuple[int, list[str], Counter[str]]:
    """Decide on one console alone: on a machine too busy to tell keys apart nothing decides, as it should."""
    with tempfile.TemporaryDirectory(prefix="alita-attack-") as folder:
        terminal = Terminal(Path(folder) / "log")
        try:
            terminal.start()
            for number in range(1, CALM + 1):
                terminal.open()
                for step in deliberate(random.Random(seed + number))[1:]:
                    # Ever slower: a pause that is too short for this machine is no fault of the console.
                    terminal.rest(step.pause * number)
                    if step.data:
                        terminal.press(step.what, step.data)
                terminal.rest(1.0)
                if terminal.decided:
                    break
            missed = accidents(terminal.made, terminal.shown, terminal.decided)
            return number, missed, Counter(verdict.verdict for verdict in terminal.decided)
        finally:
            terminal.close()
