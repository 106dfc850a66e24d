"""The process that runs the tool: forked by the warden, confined, with no way to the channel."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import signal
import struct
import sys
import time
import traceback
from typing import Any, NoReturn

ARCHIVE = sys.path[0]


def child(
    out: int, err: int, result: int, orders: int, uid: int | None, limits: dict[str, Any] | None
) -> NoReturn:
    """Import what is asked for, run the job, end; never returns. With a uid it first becomes that user."""
    os.setsid()
    if uid is not None and limits is not None:
        restrict(0, limits)
        renounce(uid)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # the tool may read its own /proc/self
    null = os.open("/dev/null", os.O_RDONLY)
    held = [os.dup(fd) for fd in (null, out, err, result, orders)]  # clear of the numbers they get
    for target, source in enumerate(held):
        os.dup2(source, target)
    os.closerange(5, 256)
    os.chdir("/tmp")
    os.nice(10)
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
    sys.dont_write_bytecode = True
    sys.path.remove(ARCHIVE)
    for name in [name for name in sys.modules if name == "__main__" or name.startswith("alita_tui")]:
        del sys.modules[name]
    os.mkdir("/tmp/tool", 0o700)
    ahead(json.loads(order()), say=uid is not None)
    open_door(json.loads(order()))
    job = json.loads(order())
    os.close(4)
    code = 0
    try:
        answer: dict[str, Any] | None = work(job)
    except SystemExit as leaving:
        answer = None
        if isinstance(leaving.code, str):
            sys.stderr.write(leaving.code + "\n")
        code = leaving.code if isinstance(leaving.code, int) else 1 if leaving.code else 0
    except BaseException as error:
        answer, code = {"error": told(), "exception": type(error).__name__, "limit": met(error)}, 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
        if answer is not None:
            data = memoryview(encode(answer))
            while data:
                data = data[os.write(3, data) :]
    except BaseException:
        code = code or 1
    os._exit(code & 0xFF)


def restrict(pid: int, limits: dict[str, Any]) -> None:
    """Limits of a process (0: this one); what they are cannot be raised again."""
    memory = limits["memory_bytes"]
    for which, amount in (
        (resource.RLIMIT_AS, memory * 2 + (256 << 20)),
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"]),
        (resource.RLIMIT_STACK, 16 << 20),
    ):
        resource.prlimit(pid, which, (amount, amount))
    if pid == 0:  # nobody can set it later: imports count as well
        seconds = int(limits["cpu_seconds"] + 0.999)
        resource.prlimit(pid, resource.RLIMIT_CPU, (seconds, seconds + 1))


def renounce(uid: int) -> None:
    """Become this user and give up every capability for good, or end."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    libc = ctypes.CDLL(None)
    libc.prctl(47, 4, 0, 0, 0)  # PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL
    header = struct.pack("Ii", 0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    libc.capset(header, bytes(24))
    with open("/proc/self/status") as lines:
        status = dict(line.split(":", 1) for line in lines if ":" in line)
    held = [int(status.get(name, "0"), 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")]
    if any(held) or set(map(int, (status["Uid"] + status["Gid"]).split())) != {uid}:
        os._exit(70)


def order() -> bytes:
    """The next message of the warden."""

    def exactly(count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = os.read(4, count - len(data))
            if not piece:
                os._exit(0)
            data += piece
        return data

    return exactly(struct.unpack(">I", exactly(4))[0])


def ahead(asked: dict[str, Any], *, say: bool) -> None:
    """Import modules before the job is there; what cannot be imported the job will report itself."""
    if asked["environment"]:
        sys.path.insert(0, "/env")
    for name in asked["imports"]:
        try:
            importlib.import_module(name)
        except BaseException:
            sys.modules.pop(name, None)
    if asked["imports"] or say:
        os.write(3, b".")


def open_door(told: dict[str, Any]) -> None:
    """Where the broker is, if anything is granted: by the variables that every HTTP client knows."""
    for name, text in told.get("files", {}).items():
        with open("/tmp/tool/" + name, "w") as file:
            file.write(text)
    os.environ.update(told.get("environment", {}))


def encode(answer: dict[str, Any]) -> bytes:
    """The answer as JSON; what is no JSON value is an error of the tool."""
    try:
        return json.dumps(answer, allow_nan=False).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, RecursionError, MemoryError) as error:
        return json.dumps({"error": "run() returned what is no JSON value: " + str(error)}).encode()


def told() -> str:
    """The traceback without the warden's own frames."""
    kind, value, trace = sys.exc_info()
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(ARCHIVE):
        trace = trace.tb_next
    while trace is not None and any(
        one in trace.tb_frame.f_code.co_filename for one in ("importlib", "runpy")
    ):
        trace = trace.tb_next
    text = "".join(traceback.format_exception(kind, value, trace))
    return text if len(text) < 20000 else text[:10000] + "\n[...]\n" + text[-10000:]


def met(error: BaseException) -> str | None:
    """The limit that an exception stands for."""
    if isinstance(error, MemoryError):
        return "memory"
    return "files" if isinstance(error, OSError) and error.errno in (27, 28) else None  # EFBIG, ENOSPC


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Import the tool and do what the job says."""
    name = job["module"]
    files = {name: job["code"]}
    if job["what"] == "test":
        files["test_" + name] = job["tests"]
    for stem, text in files.items():
        with open("/tmp/tool/" + stem + ".py", "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
    sys.path.insert(0, "/tmp/tool")
    if job["what"] == "script":
        return script(job, "/tmp/tool/" + name + ".py")
    if job["what"] == "run":
        return {"result": importlib.import_module(name).run(**job["arguments"])}
    tests = importlib.import_module("test_" + name)
    cases = []
    for label, test in list(vars(tests).items()):
        if label.startswith("test_") and callable(test):
            started = time.monotonic()
            message = ""
            try:
                test()
            except (SystemExit, KeyboardInterrupt, Exception):
                message = told() or "failed"
            spent = (time.monotonic() - started) * 1000
            cases.append({"name": label, "passed": not message, "message": message, "duration_ms": spent})
    return {"cases": cases}


def script(job: dict[str, Any], path: str) -> dict[str, Any]:
    """Run the file as a program of its own, by its `#!` line where it has one that is not Python's."""
    with open("/tmp/tool/.input", "w") as file:
        json.dump(job["arguments"], file)
    os.dup2(os.open("/tmp/tool/.input", os.O_RDONLY), 0)
    first = job["code"].split("\n", 1)[0].strip()
    if first.startswith("#!") and "python" not in first and first[2:].split():
        os.close(3)
        command = first[2:].split()
        os.execvp(command[0], [*command, path])
    import runpy

    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.argv[:] = [path]
    runpy.run_path(path, run_name="__main__")
    return {"result": None}
