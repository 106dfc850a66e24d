"""Ten builds with the evidence that the real toolsmith recorded: five honest tools, and five made by a hostile mind."""

from __future__ import annotations

from pathlib import Path

from alita_tui.spine.envelope import decode
from alita_tui.view.fold import fold_all
from alita_tui.view.model import SessionView

FOLDER = Path(__file__).parent
GOOD = ("business_days", "slug_of_title", "exchange_rate", "workspace_csv_total", "shout_text")
BAD = ("extract_emails", "split_bill", "days_between", "template_fill", "csv_to_records")


def waiting(name: str) -> SessionView:
    """A session in which the build of this name waits for its verdict."""
    lines = (FOLDER / f"{name}.jsonl").read_bytes().splitlines()
    return fold_all([decode(line) for line in lines if line])
