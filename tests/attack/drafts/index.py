"""The package index of the corpus: three small packages that are in order, and the wrong ones."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass

from tests.support.servers.package_index import Offer

_STRINGS = '"""Strings."""\n\n\ndef upper(text):\n    return text.replace("ß", "ss").upper()\n'
_COLUMNS = (
    '"""Columns."""\n\n\ndef pad(rows):\n'
    "    widths = [max(len(cell) for cell in column) for column in zip(*rows)]\n"
    '    return [" ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows]\n'
)
_ORDERS = (
    '"""Order statistics."""\n\n\ndef middle(ranked):\n    half = len(ranked) // 2\n'
    "    return ranked[half] if len(ranked) % 2 else (ranked[half - 1] + ranked[half]) / 2\n"
)


@dataclass
class Package(Offer):
    """An offer whose module has code of its own."""

    source: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.source:
            return
        module, packed = self.name.replace("-", "_"), io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(self.wheel)) as plain, zipfile.ZipFile(packed, "w") as wheel:
            for name in plain.namelist():
                body = (
                    f"{self.source}\n\nVERSION = {self.version!r}\n"
                    if name == f"{module}.py"
                    else plain.read(name)
                )
                wheel.writestr(name, body)
        self.wheel = packed.getvalue()


def offers() -> tuple[Offer, ...]:
    """What the index has."""
    return (
        Package("steady-strings", began="2016-05-01T00:00:00Z", source=_STRINGS),
        Package("steady-columns", began="2017-02-01T00:00:00Z", source=_COLUMNS),
        Package("steady-orders", began="2018-09-01T00:00:00Z", source=_ORDERS),
        Offer("reqeusts", began="2026-08-01T00:00:00Z"),
        Offer("numpyy", began="2026-06-01T00:00:00Z"),
        Offer("beautifulsoup", began="2026-02-01T00:00:00Z"),
        Offer("shiny-parser-kit", began="2026-11-15T00:00:00Z"),
        Offer("lantern-cursor", began="2026-11-02T00:00:00Z"),
        Offer("taken-back", yanked=True),
        Offer("known-holes", faults=("PYSEC-2024-7",)),
    )
