"""Copied text takes the way that reaches the person's own clipboard, and what is said of it is true."""

from __future__ import annotations

from pathlib import Path

import pytest

from alita_tui.console.clipboard import Route, hand_over, route

ALL = {"tmux": "/usr/bin/tmux", "wl-copy": "/bin/wl-copy", "xclip": "/bin/xclip"}
SSH = {"SSH_CONNECTION": "1.2.3.4 5 6.7.8.9 22"}


@pytest.mark.parametrize(
    ("environ", "program"),
    [
        ({"TMUX": "/tmp/tmux-0/default,1,0"}, "/usr/bin/tmux"),
        ({"TMUX": "/tmp/tmux-0/default,1,0", **SSH}, "/usr/bin/tmux"),
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "/bin/wl-copy"),
        ({"DISPLAY": ":0"}, "/bin/xclip"),
        ({"DISPLAY": "localhost:10.0", **SSH}, None),
        ({}, None),
    ],
)
def test_the_environment_decides_the_copy_program(environ: dict[str, str], program: str | None) -> None:
    way = route(environ, lambda name: ALL.get(name))
    assert (way.argv[0] if way else None) == program


def test_a_copy_program_that_is_not_installed_is_not_chosen() -> None:
    assert route({"TMUX": "x"}, lambda _: None) is None


def program(folder: Path, script: str) -> Route:
    made = folder / "take"
    made.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    made.chmod(0o755)
    return Route((str(made),), "somewhere")


async def test_the_program_gets_the_whole_text_and_its_word_counts(tmp_path: Path) -> None:
    text = "\u7528\u6237 'quoted' $HOME\n" * 500
    assert await hand_over(text, program(tmp_path, f"cat > {tmp_path}/got"))
    assert (tmp_path / "got").read_text("utf-8") == text


async def test_a_failing_or_missing_copy_program_counts_as_not_copied(tmp_path: Path) -> None:
    assert not await hand_over("text", program(tmp_path, "cat > /dev/null; exit 1"))
    assert not await hand_over("text", Route((str(tmp_path / "none"),), ""))
