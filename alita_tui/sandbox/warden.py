"""PID 1 of every container. Standard library only; runs with `python3 -I -S`.

It reports what it sees of its own confinement, takes one job over its channel, runs it in a
child and reports what happened. It alone holds the channel, so a print can never look like a
result. When the channel closes, it kills everything and ends.

Frames, both ways: 4 bytes length (big endian), 1 byte type, payload.
To the host: `A` attestation, `O` stdout, `E` stderr, `D` done. From the host: `J` job.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import struct
import sys
import time
import traceback
from typing import Any, NoReturn

CHUNK = 65536
POLL = 0.02
FLOOD = 64


def send(kind: bytes, payload: bytes) -> None:
    """Write one frame to the host."""
    data = memoryview(struct.pack(">I", len(payload)) + kind + payload)
    while data:
        data = data[os.write(1, data) :]


def receive() -> tuple[bytes, bytes]:
    """Read one frame from the host, or end when the channel is closed."""
    head = _exactly(5)
    return head[4:5], _exactly(struct.unpack(">I", head[:4])[0])


def _exactly(count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = os.read(0, min(count - len(data), 1 << 20))
        if not piece:
            os._exit(0)
        data += piece
    return data


def attest() -> dict[str, Any]:
    """What is true of this process, as the kernel says it."""
    status = {}
    with open("/proc/self/status") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            status[name] = value.strip()
    mounts = {}
    with open("/proc/self/mountinfo") as lines:
        for line in lines:
            fields = line.split()
            dash = fields.index("-")
            mounts[fields[4]] = fields[5] + "," + fields[dash + 3]
    with open("/proc/net/dev") as lines:
        interfaces = sorted(line.split(":")[0].strip() for line in lines if ":" in line)
    with open("/proc/net/route") as lines:
        routes = max(len(lines.readlines()) - 1, 0)
    return {
        "pid": os.getpid(),
        "no_new_privs": int(status.get("NoNewPrivs", -1)),
        "seccomp": int(status.get("Seccomp", -1)),
        "capabilities": [int(status.get("Cap" + n, "-1"), 16) for n in ("Inh", "Prm", "Eff", "Bnd", "Amb")],
        "uid": [int(n) for n in status.get("Uid", "").split()],
        "gid": [int(n) for n in status.get("Gid", "").split()],
        "mounts": mounts,
        "interfaces": interfaces,
        "routes": routes,
        "open_files": list(resource.getrlimit(resource.RLIMIT_NOFILE)),
        "core": list(resource.getrlimit(resource.RLIMIT_CORE)),
        "namespaces": _namespaces(),
        "shared_memory": os.path.isdir("/dev/shm"),
        "environment": sorted(os.environ),
        "python": list(sys.version_info[:3]),
        "machine": os.uname().machine,
        "libc": _libc(),
    }


def _namespaces() -> str:
    """Whether the seccomp profile refuses a new user namespace; asked in a child, which may get one."""
    child = os.fork()
    if child == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        os._exit(0 if libc.unshare(0x10000000) == 0 else 1)
    return "refused" if os.waitpid(child, 0)[1] else "allowed"


def _libc() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return ""


def child(job: dict[str, Any], out: int, err: int, result: int) -> NoReturn:
    """Run the job in this process; never returns."""
    os.setsid()
    null = os.open("/dev/null", os.O_RDONLY)
    for source, target in ((null, 0), (out, 1), (err, 2)):
        os.dup2(source, target)
    os.dup2(result, 3)
    os.closerange(4, 256)
    os.chdir("/tmp")
    limits = job["limits"]
    memory = limits["memory_bytes"]
    for which, amount in (
        (resource.RLIMIT_AS, memory * 2 + (256 << 20)),
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"]),
        (resource.RLIMIT_CPU, max(int(limits["cpu_seconds"] + 0.999), 1)),
        (resource.RLIMIT_STACK, 16 << 20),
    ):
        resource.setrlimit(which, (amount, amount))
    os.nice(10)
    code = 0
    try:
        answer: dict[str, Any] | None = work(job)
    except SystemExit as leaving:
        answer = None
        code = leaving.code if isinstance(leaving.code, int) else 1 if leaving.code else 0
    except BaseException:
        answer, code = {"error": told()}, 1
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


def encode(answer: dict[str, Any]) -> bytes:
    """The answer as JSON; what is no JSON value is an error of the tool."""
    try:
        return json.dumps(answer, allow_nan=False).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, RecursionError, MemoryError) as error:
        return json.dumps({"error": "run() returned what is no JSON value: " + str(error)}).encode()


def told() -> str:
    """The traceback without the warden's own frames."""
    kind, value, trace = sys.exc_info()
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    while trace is not None and "importlib" in trace.tb_frame.f_code.co_filename:
        trace = trace.tb_next
    text = "".join(traceback.format_exception(kind, value, trace))
    return text if len(text) < 20000 else text[:10000] + "\n[...]\n" + text[-10000:]


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Import the tool and do what the job says."""
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
    os.mkdir("/tmp/tool", 0o700)
    name = job["module"]
    files = {name: job["code"]}
    if job["what"] == "test":
        files["test_" + name] = job["tests"]
    for stem, text in files.items():
        with open("/tmp/tool/" + stem + ".py", "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
    sys.dont_write_bytecode = True
    sys.path[:0] = ["/tmp/tool"] + (["/env"] if job["environment"] else [])
    sys.modules.pop("__main__", None)
    import importlib

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


class Watch:
    """Sums what all processes of the container hold; an rlimit only knows one of them."""

    def __init__(self, limits: dict[str, Any]) -> None:
        self.memory = limits["memory_bytes"]
        self.processes = limits["processes"]
        self.peak = 0
        self.page = os.sysconf("SC_PAGE_SIZE")

    def breach(self) -> str | None:
        """The limit that is passed right now, or None."""
        total = count = 0
        for entry in os.listdir("/proc"):
            if entry.isdigit() and entry != "1":
                try:
                    with open("/proc/" + entry + "/statm") as file:
                        fields = file.read().split()
                except OSError:
                    continue
                count += 1
                total += (int(fields[1]) - int(fields[2])) * self.page
        self.peak = max(self.peak, total)
        if total > self.memory:
            return "memory"
        if count >= self.processes:
            return "processes"
        files = os.statvfs("/tmp")
        if files.f_files and files.f_files - files.f_ffree > 20000:
            return "inodes"
        return None


def oversee(pid: int, job: dict[str, Any], pipes: dict[int, str]) -> dict[str, Any]:
    """Pass on what the child prints, hold it to its limits, return the report."""
    limits = job["limits"]
    watch = Watch(limits)
    started = time.monotonic()
    deadline = started + limits["wall_seconds"]
    seen = {"O": 0, "E": 0, "R": 0}
    kept = {"O": limits["output_bytes"], "E": limits["output_bytes"]}
    result: list[bytes] = []
    hits: list[str] = []
    truncated: list[str] = []
    status: int | None = None
    looked = 0.0
    names = {"O": "stdout", "E": "stderr"}
    open_pipes = dict(pipes)

    def stop(limit: str) -> None:
        if limit not in hits:
            hits.append(limit)
        end_all()

    while open_pipes or status is None:
        now = time.monotonic()
        ready, _, _ = select.select([0, *open_pipes], [], [], POLL)
        if 0 in ready and not os.read(0, 1):
            end_all()
            os._exit(0)
        for fd in [fd for fd in ready if fd != 0]:
            kind = open_pipes[fd]
            piece = os.read(fd, CHUNK)
            if not piece:
                del open_pipes[fd]
                continue
            seen[kind] += len(piece)
            if kind == "R":
                if seen[kind] > limits["result_bytes"]:
                    stop("result")
                else:
                    result.append(piece)
                continue
            room = kept[kind] - (seen[kind] - len(piece))
            if room > 0:
                send(kind.encode(), piece[:room])
            if seen[kind] > kept[kind] and names[kind] not in truncated:
                truncated.append(names[kind])
            if seen[kind] > kept[kind] * FLOOD:
                stop("output")
        if status is None:
            gone, code, _ = os.wait4(pid, os.WNOHANG)
            if gone:
                status = code
                end_all()
                deadline = now + 1.0
        if status is None and now > deadline:
            stop("wall")
        elif status is not None and now > deadline:
            break
        if status is None and now - looked > 0.05:
            looked = now
            limit = watch.breach()
            if limit:
                stop(limit)
    assert status is not None
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        hits.append("cpu")
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXFSZ:
        hits.append("files")
    return {
        "exit_code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        "limits_hit": hits,
        "truncated": truncated,
        "duration_ms": (time.monotonic() - started) * 1000,
        "peak_memory_bytes": max(watch.peak, usage.ru_maxrss * 1024),
        "answer": b"".join(result).decode("utf-8", "replace"),
    }


def end_all() -> None:
    """Kill every process of the container but this one; the kernel spares the caller."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass


def main() -> None:
    """One job, then the end of the container."""
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: nobody inside reads this process
    send(b"A", json.dumps(attest()).encode())
    kind, payload = receive()
    if kind != b"J":
        os._exit(2)
    job = json.loads(payload)
    out, err, result = os.pipe(), os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        child(job, out[1], err[1], result[1])
    for pipe in (out, err, result):
        os.close(pipe[1])
    report = oversee(pid, job, {out[0]: "O", err[0]: "E", result[0]: "R"})
    send(b"D", json.dumps(report).encode())


if __name__ == "__main__":
    main()
