"""`run` of a tool that is no Python, as its tests call it: it is run as the server runs it, in the current folder."""

from __future__ import annotations

import asyncio
import importlib
import json
from pathlib import Path
from typing import Any

_PACKAGE = next(Path(__file__).parents[2].glob("src/*/tools.json")).parent.name
_SERVER = importlib.import_module(f"{_PACKAGE}.server")


def run(*by_place: Any, **by_name: Any) -> Any:
    """Return what the tool returns; raise ValueError where it ends with an error."""
    facts = _SERVER.TOOLS[Path(__file__).stem]
    arguments = {**dict(zip(facts["parameters"], by_place, strict=False)), **by_name}
    try:
        return json.loads(asyncio.run(_SERVER.run_tool(facts, arguments, str(Path.cwd()))))
    except _SERVER.Ended as error:
        raise ValueError(str(error)) from None
