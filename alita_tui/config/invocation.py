"""The command that starts this alita again, as a person would have to type it."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from alita_tui.config.paths import home_options

if TYPE_CHECKING:
    from alita_tui.config.paths import Paths


def program() -> tuple[str, ...]:
    """Return the words that start this alita: `alita` if the shell finds it, otherwise how this process was started."""
    on_path = shutil.which("alita")
    if on_path and Path(on_path).resolve().parent == Path(sys.executable).parent.resolve():
        return ("alita",)
    started = Path(sys.argv[0])
    if started.name == "alita" and started.is_file():
        return (sys.argv[0],)
    if started.parts[-2:] == ("alita_tui", "__main__.py"):
        return (sys.executable, "-m", "alita_tui")
    return ("alita",)


def command_line(paths: Paths, *words: str) -> str:
    """Return a command of alita, with the options that lead any shell to these paths, quoted for a shell."""
    return shlex.join((*program(), *home_options(paths), *words))
