"""Look at single drafts of the corpus: what the toolsmith told, and the first screenful of the review.

PYTHONPATH=tests python -m attack.drafts TEXT …: every draft whose class, title or name holds one of the texts.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from tests.attack.drafts.adversarial import adversarial, honest
from tests.attack.drafts.judging import Judged, judge_all


def main(texts: list[str]) -> None:
    """Judge them and print."""
    samples = [one for one in (*adversarial(), *honest()) if any(text in one.label for text in texts)]
    with tempfile.TemporaryDirectory(prefix="alita-attack-") as folder:
        settings = EngineSettings(cache_dir=str(Path(folder) / "cache"))
        asyncio.run(repair(settings, lambda *_: None))
        asyncio.run(judge_all(samples, settings, _show))


def _show(one: Judged) -> None:
    print(f"\n=== {one.sample.label}: {one.how}")
    if one.sample.lines:
        print(f"payload in lines {', '.join(map(str, sorted(one.sample.lines)))}")
    print(one.why)
    print("\n".join(one.screen))


if __name__ == "__main__":
    main(sys.argv[1:])
