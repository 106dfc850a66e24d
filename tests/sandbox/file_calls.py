"""A call that reads a private file and leaves another one, for every kind of engine."""

from __future__ import annotations

from pathlib import Path

from alita_tui.events import LeftFile
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.spine.ports.sandbox import InputFile, Job, Limits

_CODE = """
def run():
    data = open("/in/0/given.bin", "rb").read()
    try:
        open("/in/0/given.bin", "wb")
    except OSError:
        open("made.bin", "wb").write(data[::-1])
    return len(data)
"""


async def read_and_leave(sandbox: PodmanSandbox, folder: Path) -> None:
    """Assert that one call reads what it was given and that what it made comes out whole."""
    given, out = folder / "given.bin", folder / "out"
    data = bytes(range(256)) * 2000
    given.write_bytes(data)
    given.chmod(0o600)
    out.mkdir()
    job = Job(
        run_id="f", module="tool_f", code=_CODE, inputs=(InputFile(path=str(given), name=given.name),),
        outputs=str(out), limits=Limits(wall_seconds=20, scratch_bytes=8 << 20),
    )  # fmt: skip
    report = await sandbox.run(job, lambda *_: None, lambda *_: None)
    assert (report.status, report.result, report.files_lost) == ("ok", len(data), ""), report
    assert report.files == (LeftFile(name="made.bin", size=len(data)),)
    assert (out / "0").read_bytes() == data[::-1]
