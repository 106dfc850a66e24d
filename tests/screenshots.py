"""`make screenshots`: the console as SVG pictures at three sizes, dark and light, from a golden recording."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

os.environ["TEXTUAL_ANIMATIONS"] = "none"

from tests.console.screens import SIZES, THEMES, console, drawn
from tests.support import goldens

PICTURES = {
    "session": (goldens.walkthrough, ()),
    "review": (goldens.waiting, ("f8",)),
    "help": (goldens.waiting, ("f1",)),
}


async def picture(name: str, size: tuple[int, int], theme: str) -> str:
    """One screen as SVG."""
    stream, keys = PICTURES[name]
    envelopes = stream()
    async with console(envelopes, theme).run_test(size=size) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        return pilot.app.export_screenshot()


def main() -> None:
    """Write them all into build/screenshots, and the one that the README shows."""
    folder = Path("build/screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        for size in SIZES:
            for theme in THEMES:
                path = folder / f"{name}-{size[0]}x{size[1]}-{theme}.svg"
                path.write_text(asyncio.run(picture(name, size, theme)), "utf-8")
                print(path)
    Path(".github").mkdir(exist_ok=True)
    shown = folder / "session-120x36-alita-dark.svg"
    Path(".github/console.svg").write_text(shown.read_text("utf-8"), "utf-8")


if __name__ == "__main__":
    main()
