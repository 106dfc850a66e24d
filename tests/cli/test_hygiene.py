"""What a tool returns or says never steers the terminal that a command prints to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from alita_tui.app.file_runs import run_row
from alita_tui.cli.files import show_row
from alita_tui.cli.output import json_document
from alita_tui.events import RunReport
from alita_tui.spine.hidden_characters import hostile
from alita_tui.spine.text import neutralise

STEERING = [
    "\x1b[31m",
    "\x9b31m",
    "\x85",
    "\x90q\x9c",
    "\u202e",
    "\u2066x\u2069",
    "\u200b",
    "\u2028",
    "\ufeff",
    "\x07",
    "\U000e0041",
    "\x7f",
]


@pytest.mark.parametrize("text", STEERING, ids=ascii)
def test_a_result_is_printed_without_terminal_control_sequences(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    result = {"a" + text: [text + "é", {"b": text}]}
    show_row(run_row(Path("tool.py"), RunReport(status="ok", result=result)))
    said = capsys.readouterr()
    assert not [char for char in said.out + said.err if hostile(char)]
    assert json.loads(said.out[: said.out.rindex("}") + 1]) == result, (
        "and is the same to who reads it as JSON"
    )


@pytest.mark.parametrize("text", STEERING, ids=ascii)
def test_output_and_errors_of_a_tool_are_printed_with_control_characters_spelled_out(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_row(
        run_row(
            Path("tool.py"), RunReport(status="error", stdout=text, stderr=text, error=text, exception="E")
        )
    )
    said = capsys.readouterr()
    assert not [char for char in said.out + said.err if hostile(char)]


def test_ordinary_text_is_printed_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    json_document({"a": "héllo 世界 👩\u200d👧"})
    said = capsys.readouterr().out
    assert "héllo 世界 👩\u200d👧" in said and neutralise(said) == said
