"""Whether the own tests of bad drafts pass where nothing judges them: a sample that fails its own tests proves nothing."""

from __future__ import annotations

from collections.abc import Sequence

from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import Job, Limits
from tests.attack.drafts import ALWAYS
from tests.attack.drafts.adversarial import Sample

LIMITS = Limits(wall_seconds=240, cpu_seconds=240, memory_bytes=400 << 20, processes=64)
_EXEMPT = ALWAYS | {"wrong-packages"}
"""Classes that forge, that cannot be imported under their name, or whose packages are wrong."""
_AT_ONCE = 40
_RUNNER = '''"""Run the tests of drafts, tool and tests in one process, as nobody judges them."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile


def run(drafts: list[list[str]]) -> list[str]:
    """What each says: nothing where its tests pass."""
    said = []
    for name, code, tests in drafts:
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, f"{name}.py").write_text(code)
            pathlib.Path(folder, "test_own.py").write_text(tests)
            script = (
                "import sys; sys.path.insert(0, sys.argv[1]); import test_own\\n"
                "for name, one in list(vars(test_own).items()):\\n"
                "    if name.startswith('test_'): one()\\n"
                "print('all of them')"
            )
            try:
                done = subprocess.run([sys.executable, "-W", "ignore", "-c", script, folder], capture_output=True, text=True, timeout=20)
            except subprocess.TimeoutExpired:
                said.append("no end")
                continue
            said.append("" if "all of them" in done.stdout else done.stderr[-400:] or "ended without a word")
    return said


if __name__ == "__main__":
    print(json.dumps(run(**json.load(sys.stdin))))
'''


async def failing(samples: Sequence[Sample], settings: EngineSettings) -> dict[str, str]:
    """The samples whose own tests do not pass, with what they said. Runs in the sandbox, without any grant."""
    ours = [one for one in samples if one.kind not in _EXEMPT and not one.draft.requirements]
    sandbox = PodmanSandbox(settings, "own")
    found: dict[str, str] = {}
    try:
        for start in range(0, len(ours), _AT_ONCE):
            batch = ours[start : start + _AT_ONCE]
            drafts = [[one.draft.name, one.draft.code, one.draft.tests] for one in batch]
            job = Job(
                run_id=f"own-{start}", module="own_tests", code=_RUNNER, limits=LIMITS, arguments={"drafts": drafts}
            )  # fmt: skip
            report = await sandbox.run(job, lambda *_: None, lambda *_: None)
            if report.status != "ok" or not isinstance(report.result, list):
                raise RuntimeError(f"the own tests could not be run: {report}")
            pairs = zip(batch, report.result, strict=True)
            found |= {one.label: str(said) for one, said in pairs if said}
    finally:
        await sandbox.close()
    return found
