"""The program that the gates run in the sandbox, its text handed over as a job's code. Standard library only.

Each piece of work is done in a forked child with a time of its own, so that one that hangs, floods or ends
its process says nothing of the others. The host imports this for its text alone.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import select
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator, MutableMapping
from functools import partial
from typing import Any

ANSWER = 200_000
"""Bytes of one answer; more counts as none."""
MOST_SEEN = 200
MOST_EXAMPLES = 40
LARGEST_EXAMPLE = 4000
"""Characters of the arguments, and of the result."""
OWN = (
    sys.prefix,
    sys.base_prefix,
    "/env",
    "/usr/lib",
    "/usr/share",
    "/tmp/tool",
    "/proc/self",
    "/dev/null",
    "/etc/localtime",
)
"""Paths that Python and the standard library open by themselves."""
PROCESSES = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
    "os.forkpty",
)
CHANGES = (
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.mkdir",
    "os.truncate",
    "os.chmod",
    "os.link",
    "os.symlink",
)


def run(
    what: str,
    name: str,
    code: str,
    tests: str = "",
    pieces: list[Any] | None = None,
    seconds: float = 2.0,
    total: float = 15.0,
) -> list[Any]:
    """`mutants`: which of these codes pass the tests. `outputs`: what `run` gives for these arguments.

    `observe`: what the tests make the tool reach for. `examples`: calls of `run` in the tests that returned.
    Pieces that the total time was too short for are left out of the answer.
    """
    until = time.monotonic() + total
    if what in ("observe", "examples"):
        work = _observe if what == "observe" else _examples
        return [_apart(partial(work, name, code, tests), total)]
    found: list[Any] = []
    for piece in pieces or ():
        if time.monotonic() > until:
            break
        if what == "mutants":
            found.append(_apart(partial(_survives, name, piece, tests), seconds))
        else:
            found.append(_apart(partial(_output, name, code, piece), seconds))
    return found


def _load(name: str, code: str) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__file__ = f"/tmp/tool/{name}.py"
    sys.modules[name] = module
    exec(compile(code, module.__file__, "exec"), module.__dict__)
    return module


def _test(name: str, tests: str) -> bool:
    module = _load(f"test_{name}", tests)
    for label, test in list(vars(module).items()):
        if label.startswith("test_") and callable(test):
            try:
                test()
            except BaseException:
                return False
    return True


def _survives(name: str, code: str, tests: str) -> Any:
    try:
        _load(name, code)
    except BaseException:
        return {"survived": False}
    return {"survived": _test(name, tests)}


def _output(name: str, code: str, arguments: dict[str, Any]) -> Any:
    module = _load(name, code)
    try:
        return {"result": module.run(**arguments)}
    except BaseException as error:
        return {"error": type(error).__name__, "text": str(error)[:500]}


def _examples(name: str, code: str, tests: str) -> Any:
    module = _load(name, code)
    run = module.run
    found: list[dict[str, Any]] = []

    @functools.wraps(run)
    def watched(*given: Any, **named: Any) -> Any:
        bound = json.dumps(inspect.signature(run).bind(*given, **named).arguments)  # before it changes them
        result = run(*given, **named)
        try:
            said = json.dumps(result, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            said = json.dumps(None)
            problem = str(error)[:200]
        else:
            problem = ""
        if len(found) < MOST_EXAMPLES and max(len(bound), len(said)) <= LARGEST_EXAMPLE:
            found.append({"arguments": json.loads(bound), "result": json.loads(said), "problem": problem})
        return result

    module.__dict__["run"] = watched
    _test(name, tests)
    return {"examples": found}


def _observe(name: str, code: str, tests: str) -> Any:
    seen: list[list[str]] = []

    def note(kind: str, what: object) -> None:
        if len(seen) < MOST_SEEN:
            seen.append([kind, os.fsdecode(what) if isinstance(what, bytes) else str(what)])

    def hear(event: str, given: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(given[0], (str, bytes)):
            path = os.path.abspath(os.fsdecode(given[0]))
            flags = given[2] if isinstance(given[2], int) else 0
            if not path.startswith(OWN):
                note("writes" if flags & (os.O_WRONLY | os.O_RDWR) else "reads", path)
        elif event in ("socket.connect", "socket.sendto"):
            note("network", _place(given[1]))
        elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
            note("network", _place(given))
        elif event in PROCESSES:
            note("processes", given[0] if given else event)
        elif event in CHANGES:
            note("writes", given[0])
        elif event in ("os.putenv", "os.unsetenv"):
            note("environment", given[0])

    os.environ = Watched(os.environ, f"/tmp/tool/{name}.py", note)  # type: ignore[assignment]  # noqa: B003  # a view, nothing is cleared
    sys.addaudithook(hear)
    try:
        _load(name, code)
        passed = _test(name, tests)
    except BaseException:
        passed = False
    return {"passed": passed, "seen": [list(one) for one in dict.fromkeys(map(tuple, seen))]}


def _place(address: Any) -> str:
    return ":".join(str(one) for one in address[:2]) if isinstance(address, tuple) else str(address)


class Watched(MutableMapping[str, str]):
    """The environment; what the tool's own code asks of it is noted."""

    def __init__(
        self, real: MutableMapping[str, str], tool: str, note: Callable[[str, object], None]
    ) -> None:
        self._real = real
        self._tool = tool
        self._note = note

    def _asked(self, name: str) -> None:
        frame = sys._getframe(2)
        while frame.f_back and frame.f_code.co_filename.endswith(
            ("/os.py", "<frozen os>", "_collections_abc>")
        ):
            frame = frame.f_back
        if frame.f_code.co_filename == self._tool:
            self._note("environment", name)

    def __getitem__(self, name: str) -> str:
        self._asked(name)
        return self._real[name]

    def __setitem__(self, name: str, value: str) -> None:
        self._real[name] = value

    def __delitem__(self, name: str) -> None:
        del self._real[name]

    def __iter__(self) -> Iterator[str]:
        self._asked("all of it")
        return iter(self._real)

    def __len__(self) -> int:
        return len(self._real)

    def copy(self) -> dict[str, str]:
        """As `os.environ` has it."""
        return dict(self)


def _apart(work: Callable[[], Any], seconds: float) -> Any:
    """The answer of a piece of work done in a child, or why there is none."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        try:
            answer = json.dumps(work(), allow_nan=False).encode()
        except BaseException as error:
            answer = json.dumps({"error": type(error).__name__, "text": "no JSON value"}).encode()
        while answer:
            answer = answer[os.write(writing, answer) :]
        os._exit(0)
    os.close(writing)
    said, until = b"", time.monotonic() + seconds
    while len(said) <= ANSWER:
        if not select.select([reading], [], [], max(0.0, until - time.monotonic()))[0]:
            break
        piece = os.read(reading, 65536)
        if not piece:
            break
        said += piece
    os.close(reading)
    late = time.monotonic() >= until
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try:
        return json.loads(said)
    except ValueError:
        return {"error": "timeout" if late else "ended"}
