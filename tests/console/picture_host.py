"""The console on a session with one picture, as a program in a terminal. Run: python -m tests.console.picture_host FILE"""

from __future__ import annotations

import sys
from pathlib import Path

from alita_tui import events as e
from alita_tui.artefacts.media import HEAD_BYTES, media_type
from alita_tui.console.terminal import ask_terminal
from tests.console.screens import FILES, console
from tests.support import streams


def main(path: Path) -> None:
    data = path.read_bytes()
    FILES[path.name] = path
    tape = streams.Tape()
    streams.opened(tape)
    file = e.Artefact(
        handle="art_aaaaaaaaaa",
        digest="a" * 64,
        name=path.name,
        media_type=media_type(path.name, data[:HEAD_BYTES]),
        size=len(data),
    )
    tape.add(e.ArtefactAdded(artefact=file, origin="tool"))
    _, graphics = ask_terminal()
    console(tape.envelopes, graphics=graphics).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
