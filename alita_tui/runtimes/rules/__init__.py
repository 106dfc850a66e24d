"""The review's tables of regular expressions: TOML files in this folder, read when first needed."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """Return one file."""
    text = files(__name__).joinpath(f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text)


@cache
def rule(name: str, key: str, flags: int = 0) -> re.Pattern[str]:
    """Return a list of alternatives as one pattern."""
    return re.compile("|".join(table(name)[key]), flags)
