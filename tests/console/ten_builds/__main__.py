"""Make the ten builds anew, in real containers: python -m tests.console.ten_builds."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.faults import FaultDatabase
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from alita_tui.spine.envelope import encode
from alita_tui.spine.ports.web import WebSettings
from alita_tui.web.client import WebRoom
from tests.attack.drafts.adversarial import honest, read
from tests.attack.drafts.index import offers
from tests.attack.drafts.toolsmith import Workshop
from tests.console.ten_builds import BAD, FOLDER, GOOD
from tests.support.servers.package_index import asked_by_uv


async def main() -> None:
    """Record each build up to where a person is asked."""
    samples = [*read((FOLDER / "bad.txt").read_text("utf-8")), *honest()]
    with (
        tempfile.TemporaryDirectory(prefix="alita-ten-") as name,
        asked_by_uv(Path(name), *offers()) as index,
    ):
        settings = EngineSettings(cache_dir=str(Path(name) / "cache"))
        await repair(settings, lambda *_: None)
        web = WebRoom(WebSettings(pypi_url=index.url, timeout=60.0), environ={})
        sandbox = PodmanSandbox(settings, "ten-builds")
        workshop = Workshop(sandbox, Path(name), web, FaultDatabase(index.url))
        try:
            for sample in samples:
                if sample.draft.name in (GOOD if sample.honest else BAD):
                    made = await workshop.make(sample)
                    assert made.asked, (sample.label, made.outcome)
                    lines = b"".join(encode(envelope) + b"\n" for envelope in made.history)
                    (FOLDER / f"{sample.draft.name}.jsonl").write_bytes(lines)
        finally:
            await sandbox.close()
            await web.close()


if __name__ == "__main__":
    asyncio.run(main())
