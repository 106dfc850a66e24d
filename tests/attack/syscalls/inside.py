"""In the container: import, test and use what is installed in /m/env under strace, and say which system calls that made."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

ENV = Path("/m/env")
TRACER = [
    "/m/strace/ld.so",
    "--library-path",
    "/m/strace",
    "/m/strace/strace",
    "-f",
    "-qq",
    "-s",
    "0",
    "-o",
    "/tmp/trace",
]
TOLD = re.compile(r"^\d+\s+(?:<\.\.\. )?(\w+)(?:\((.*))?")
DETAILED = {
    "socket": 3, "socketpair": 3, "prctl": 1, "prlimit64": 1, "setpriority": 2, "sched_setaffinity": 1, "sched_setscheduler": 2, "setsockopt": 3,
    "getsockopt": 3, "fcntl": 2, "ioctl": 2, "clone": 2, "madvise": 3, "mbind": 2, "set_mempolicy": 1,
}  # fmt: skip
"""Of these calls so many of the first arguments are kept as well."""
BARE = {"fcntl", "ioctl", "madvise", "setsockopt", "getsockopt"}
"""Their first argument, or the first two, say nothing: a descriptor, an address."""
TEST_FILES, TEST_SECONDS, SECONDS = 4, 40, 60


def modules(name: str) -> tuple[list[str], list[Path]]:
    """What a distribution brings: its own modules and the tests that it ships."""
    wanted = re.sub(r"[-_.]+", "_", name).lower()
    for info in ENV.glob("*.dist-info"):
        if re.sub(r"[-_.]+", "_", info.name.rsplit("-", 1)[0].rsplit("-", 1)[0]).lower() != wanted:
            continue
        with open(info / "RECORD", newline="") as file:
            files = [row[0] for row in csv.reader(file) if row]
        tops = {one.split("/")[0] for one in files if one.count("/") and one.endswith((".py", ".so"))}
        tops |= {one.split(".")[0] for one in files if "/" not in one and one.endswith((".py", ".so"))}
        tests = [ENV / one for one in files if re.search(r"/tests?/(.*/)?test_\w+\.py$", one)]
        tests.sort(key=lambda path: (path.stat().st_size, str(path)))
        return sorted(top for top in tops if top.isidentifier() and not top.startswith("__")), tests
    return [], []


def traced(code: str, seconds: int) -> bool:
    """Run a program under strace; whether it ended well."""
    head = "import sys\nsys.path[:0] = ['/m/env']\nsys.path.append('/m/pytest')\n"
    try:
        done = subprocess.run(
            [*TRACER, sys.executable, "-B", "-c", head + code],
            cwd="/tmp", timeout=seconds, stdin=subprocess.DEVNULL, capture_output=True,
        )  # fmt: skip
        if done.returncode:
            sys.stderr.write(done.stderr.decode("utf-8", "replace")[-600:])
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main() -> None:
    name = sys.argv[1]
    calls: set[str] = set()
    details: set[str] = set()

    def collect() -> None:
        try:
            with open("/tmp/trace", errors="replace") as lines:
                for whole in lines:
                    line = whole.replace(" <unfinished ...>", "")
                    said = TOLD.match(line)
                    if said and not line.split(None, 1)[1].startswith(("---", "+++")):
                        calls.add(said[1])
                        if said[1] in DETAILED and said[2] is not None:
                            given = [one.strip().rstrip(")") for one in said[2].split(" = ")[0].split(",")][
                                : DETAILED[said[1]]
                            ]
                            if said[1] in BARE:
                                given = (
                                    given[-1:]
                                    if said[1] != "setsockopt" and said[1] != "getsockopt"
                                    else given[1:]
                                )
                            details.add(
                                said[1]
                                + " "
                                + " ".join(re.sub(r"^\d{2,}$|^0x\w+$", "N", one) for one in given)
                            )
        except OSError:
            pass

    own, tests = modules(name)
    imported = tested = 0
    for module in own:
        imported += traced(f"import {module}", SECONDS)
        collect()
    step = max(1, len(tests) // TEST_FILES)
    for path in tests[::step][:TEST_FILES]:
        tested += traced(
            "import pytest\n"
            f"raise SystemExit(pytest.main(['-q', '-x', '-p', 'no:cacheprovider', '--rootdir=/tmp', {str(path)!r}]) in (2, 3, 4))",
            TEST_SECONDS,
        )
        collect()
    used = 0
    for code in Path("/m/use.py").read_text().split("\n#---\n"):
        if code.strip():
            used += traced(code, SECONDS)
            collect()
    print(
        json.dumps(
            {
                "imports": imported,
                "tests": tested,
                "uses": used,
                "calls": sorted(calls),
                "details": sorted(details),
            }
        )
    )


if __name__ == "__main__":
    main()
