"""Grants of files and models for tests."""

from __future__ import annotations

from alita_tui.events import Usage
from alita_tui.spine.ports.models import ModelRequest, Reply

FILES = (
    "import json, os, urllib.error, urllib.parse, urllib.request\n"
    "def call(path, data=None, method=None):\n"
    "    request = urllib.request.Request(os.environ['ALITA_BROKER'] + path, data=data, method=method)\n"
    "    try:\n        with urllib.request.urlopen(request) as answer: return [answer.status, answer.read().decode('latin-1')]\n"
    "    except urllib.error.HTTPError as error: return [error.code, error.read().decode()]\n"
)


class Models:
    """Meets `Asker`: says what it was asked, or raises."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.asked: list[ModelRequest] = []
        self.fault = fault

    async def ask(self, request: ModelRequest) -> Reply:
        self.asked.append(request)
        if self.fault:
            raise self.fault
        return Reply(
            model="p:m", text=request.messages[0].text.upper(), usage=Usage(input_tokens=3, output_tokens=4)
        )

    async def enable(self, model: str) -> None:
        raise AssertionError

    @property
    def unfinished(self) -> str:
        return ""
