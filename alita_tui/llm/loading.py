"""SDKs are slow to import: once each, in a thread, awaited by whoever needs them."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any


async def load(name: str) -> Any:
    """A module, imported off the event loop; Python's import lock makes a second caller wait for it."""
    return await asyncio.to_thread(importlib.import_module, name)
