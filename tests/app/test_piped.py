"""What is piped into the console is read whole, and the keys come from the terminal."""

from __future__ import annotations

import os
import pty
import sys

import pytest

pytestmark = pytest.mark.pty

_CHILD = """
import os, sys
from alita_tui.app.terminal import piped
there, here = os.pipe()
os.write(here, " Roll \u00e4 dice\\nand sum it\\n".encode())
os.close(here)
os.dup2(there, 0)
print("piped", ascii(piped()), sys.stdin.isatty(), flush=True)
print("typed", ascii(os.read(0, 100)), "again", ascii(piped()), flush=True)
"""


def _said(child: str) -> str:
    """What a program says whose terminal is ours; one line is typed once it said the first."""
    process, main = pty.fork()
    if process == 0:
        os.execv(sys.executable, [sys.executable, "-c", child])
    said, typed = b"", False
    try:
        while True:
            said += os.read(main, 4096)
            if not typed and b"\n" in said:  # the whole first line
                typed = os.write(main, b"keys\n") > 0
    except OSError:  # its end
        pass
    os.waitpid(process, 0)
    os.close(main)
    return said.decode("utf-8")


def test_the_pipe_is_read_and_then_the_keyboard() -> None:
    said = _said(_CHILD)
    assert "piped 'Roll \\xe4 dice\\nand sum it' True" in said
    assert "typed b'keys" in said and "again ''" in said
