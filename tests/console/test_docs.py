"""docs/console.md claims nothing that no test holds it to."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = [
    [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
    for line in (ROOT / "docs" / "console.md").read_text("utf-8").splitlines()
    if line.startswith("|") and not line.startswith("| ---")
]


def test_every_feature_of_ours_names_a_test_that_exists() -> None:
    head, *rows = TABLE
    assert head[1:] == [
        "Claude Code",
        "Codex",
        "vibe",
        "Toad",
        "Crush",
        "lazygit",
        "Posting",
        "alita",
        "tested by",
    ]
    ours, tested = head.index("alita"), head.index("tested by")
    features = [row for row in rows if not row[0].startswith("**")]
    assert len(features) > 40
    missing = []
    for row in features:
        assert len(row) == len(head) and set(row[1 : ours + 1]) <= set("●◐○–?"), row[0]
        if row[ours] != "●":
            continue
        file, _, test = row[tested].partition("::")
        path = ROOT / "tests" / file
        if not path.is_file() or not re.search(
            rf"^(async )?def {re.escape(test)}\(", path.read_text("utf-8"), re.M
        ):
            missing.append(row[tested])
    assert missing == []
