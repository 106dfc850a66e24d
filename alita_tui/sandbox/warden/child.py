"""The process that runs a tool: forked before there is a job, confined, without access to the channel."""

from __future__ import annotations

import importlib
import json
import os
import struct
import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any, NoReturn

from alita_tui.sandbox.warden.confine import ARCHIVE, allow, become, restrict, settle
from alita_tui.sandbox.warden.foreign import Failure, Foreign
from alita_tui.sandbox.warden.left_files import FOLDER

ENCODER = json.JSONEncoder(allow_nan=False)
"""Made once, by the warden: `json.dumps` would make one in each child."""


def child(pipes: tuple[int, int, int, int], uid: int) -> NoReturn:
    """Become this user, import modules ahead, run the job, end; never returns."""
    become(pipes, uid)
    settle()
    settings = json.loads(order())  # until it comes, an earlier child's files may still be there
    os.mkdir("/tmp/tool", 0o700)
    os.mkdir(FOLDER, 0o755)
    os.chdir(FOLDER)
    restrict(settings["limits"])
    program = ahead(settings)
    announce_broker(json.loads(order()))
    job = json.loads(order())
    os.close(4)
    allow(settings["limits"]["cpu_seconds"])
    code = 0
    try:
        answer: dict[str, Any] | None = work(job, program)
    except SystemExit as leaving:
        answer = None
        if isinstance(leaving.code, str):
            sys.stderr.write(leaving.code + "\n")
        code = leaving.code if isinstance(leaving.code, int) else 1 if leaving.code else 0
    except Failure as failure:
        answer, code = {"error": failure.trace, "exception": failure.kinds[0]}, 1
    except BaseException as error:
        answer, code = (
            {"error": own_traceback(), "exception": type(error).__name__, "limit": limit_of(error)},
            1,
        )
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


def order() -> bytes:
    """Return the next message of the warden or the judge; end this process when there is none."""

    def exactly(count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = os.read(4, count - len(data))
            if not piece:
                os._exit(0)
            data += piece
        return data

    return exactly(struct.unpack(">I", exactly(4))[0])


def ahead(settings: dict[str, Any]) -> Foreign | None:
    """Import modules before there is a job, or start and return the program for the job; then signal if asked to.

    A module that cannot be imported is no error here: the job reports it.
    """
    if settings["environment"]:
        sys.path.insert(0, "/env")
    for name in settings["imports"]:
        try:
            importlib.import_module(name)
        except BaseException:
            sys.modules.pop(name, None)
    program = Foreign(settings["start"], "", "", "", 0).ahead() if settings["start"] else None
    if settings["say"]:
        os.write(3, b".")
    return program


def announce_broker(settings: dict[str, Any]) -> None:
    """Set the environment variables that every HTTP client reads, and write the files, to reach the broker.

    There are none where nothing is granted.
    """
    if settings.get("files"):
        os.makedirs("/tmp/tool", 0o700, exist_ok=True)  # a judge's module may be elsewhere
    for name, text in settings.get("files", {}).items():
        with open("/tmp/tool/" + name, "w") as file:
            file.write(text)
    if settings.get("environment"):
        os.environ.update(settings["environment"])


def encode(answer: dict[str, Any]) -> bytes:
    """Return the answer as JSON; for a value that JSON cannot express, an answer with an error."""
    try:
        return ENCODER.encode(answer).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, RecursionError, MemoryError) as error:
        return json.dumps({"error": "run() returned what is no JSON value: " + str(error)}).encode()


def own_traceback() -> str:
    """Return the current traceback without frames of the warden and of Python's import."""
    kind, value, trace = sys.exc_info()
    while trace is not None and any(
        name in trace.tb_frame.f_code.co_filename for name in (ARCHIVE, "importlib", "runpy")
    ):
        trace = trace.tb_next
    exception = traceback.TracebackException(kind or Exception, value or Exception(), trace)
    frames = [frame for frame in exception.stack if not frame.filename.startswith(ARCHIVE)]
    exception.stack = traceback.StackSummary.from_list(frames)
    text = "".join(exception.format())
    return text if len(text) < 20000 else text[:10000] + "\n[...]\n" + text[-10000:]


def limit_of(error: BaseException) -> str | None:
    """Return the limit that an exception stands for."""
    if isinstance(error, MemoryError):
        return "memory"
    return "files" if isinstance(error, OSError) and error.errno in (27, 28) else None  # EFBIG, ENOSPC


def work(job: dict[str, Any], waiting_program: Foreign | None) -> dict[str, Any]:
    """Import the tool and run it, or run a script; return the answer. `waiting_program` was started ahead, if any."""
    name, path = job["module"], "/tmp/tool/" + job["module"] + job.get("suffix", ".py")
    if job.get("start"):
        program = waiting_program or Foreign(job["start"], name, path, job["code"], job["most"])
        return {"result": program.take(name, path, job["code"], job["most"]).run(**job["arguments"])}
    source = job["code"].encode("utf-8", "surrogatepass")
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        unwritten = memoryview(source)
        while unwritten:
            unwritten = unwritten[os.write(file, unwritten) :]
    finally:
        os.close(file)
    sys.path.insert(0, "/tmp/tool")
    if job["kind"] == "script":
        return script(job, path)
    return {"result": imported(name, path, source).run(**job["arguments"])}


def imported(name: str, path: str, source: bytes) -> Any:
    """Return the module as `import` would, without searching the folders of `sys.path` for it."""
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        return importlib.import_module(name)
    module = sys.modules[name] = module_from_spec(spec)
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102  # the tool itself
        return sys.modules[name]
    except BaseException:
        sys.modules.pop(name, None)
        raise


def script(job: dict[str, Any], path: str) -> dict[str, Any]:
    """Run the file as a program and return the answer; its `#!` line may name another interpreter than Python."""
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
