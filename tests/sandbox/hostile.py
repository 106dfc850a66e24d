"""Programs that attack the sandbox, and how each has to end.

Every program prints `ATTACK` once its attack has begun, with what shows that it did: one that could
not even start fails its test.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from alita_tui.spine.ports.sandbox import Limits

LIMITS = Limits(
    wall_seconds=6, cpu_seconds=6, memory_bytes=128 << 20, processes=24, output_bytes=16_384,
    file_bytes=8 << 20, scratch_bytes=16 << 20, result_bytes=100_000,
)  # fmt: skip
SHORT = Limits(
    wall_seconds=1.5, cpu_seconds=6, memory_bytes=128 << 20, processes=24, output_bytes=16_384,
    file_bytes=8 << 20, scratch_bytes=16 << 20, result_bytes=100_000,
)  # fmt: skip
BUSY = Limits(
    wall_seconds=30, cpu_seconds=1, memory_bytes=128 << 20, processes=24, output_bytes=16_384,
    file_bytes=8 << 20, scratch_bytes=16 << 20, result_bytes=100_000,
)  # fmt: skip

HEAD = """
import ctypes, errno, fcntl, json, mmap, os, resource, signal, socket, struct, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
ARM = os.uname().machine == "aarch64"
def attack(*said):
    print("ATTACK", *said, flush=True)
def call(number, *arguments):
    number = number[ARM] if isinstance(number, tuple) else number
    attack("syscall", number)
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "went through"
"""


@dataclass(frozen=True)
class Attack:
    """One program and how it has to end."""

    name: str
    body: str
    status: str
    """Outcome of the run."""
    reason: tuple[str, ...] = ("",)
    """One of these typed reasons."""
    limits: Limits = LIMITS
    result: object = None
    """What a run that ends well has to return; None: anything."""
    proof: str = "ATTACK"
    arguments: dict[str, str] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """The tool."""
        return HEAD + self.body


def body(lines: str) -> str:
    """A `run` of these lines."""
    return "def run(**given):\n" + "".join(f"    {line}\n" for line in lines.strip("\n").split("\n"))


def refused(name: str, lines: str, *reason: str, limits: Limits = LIMITS, **arguments: str) -> Attack:
    """An attack that the kernel or the container answers with an error."""
    return Attack(name, body(lines), "error", reason or ("PermissionError",), limits, arguments=arguments)


BOMBS = (
    Attack("fork bomb", body("attack()\nwhile True:\n    try: os.fork()\n    except OSError: pass"), "limit", ("processes",)),
    Attack("fork bomb of daemons", body("attack()\nwhile True:\n    try:\n        if os.fork() == 0: os.setpgid(0, 0); time.sleep(60)\n    except OSError: pass"), "limit", ("processes",)),
    Attack("fork bomb on import", "attack()\nwhile True:\n    try: os.fork()\n    except OSError: pass\n", "limit", ("processes",)),
    Attack("fork and leave", body("attack()\nwhile True:\n    try: gone = os.fork()\n    except OSError: gone = 1\n    if gone: os._exit(0)"), "exit", ("exit 0",)),
    refused("thread bomb", "attack()\nwhile True: threading.Thread(target=time.sleep, args=(60,)).start()", "RuntimeError", "processes", "memory"),
    Attack("memory bomb", body("attack()\nheld = []\nwhile True: held.append(bytearray(4 << 20))"), "limit", ("memory",)),
    Attack("memory of many processes", body("attack()\nfor _ in range(8):\n    if os.fork() == 0:\n        held = b'x' * (60 << 20); time.sleep(60)\ntime.sleep(60)"), "limit", ("memory",)),
    Attack("memory out of sight", body("attack()\nfor _ in range(8):\n    if os.fork() == 0:\n        libc.prctl(4, 0, 0, 0, 0); held = b'x' * (60 << 20); time.sleep(60)\ntime.sleep(60)"), "limit", ("memory",)),
    Attack("shared memory mappings", body("attack()\nheld = []\nwhile True:\n    one = mmap.mmap(-1, 8 << 20); one.write(b'x' * (8 << 20)); held.append(one)"), "limit", ("memory",)),
    Attack("shared memory of many processes", body("attack()\nfor _ in range(8):\n    if os.fork() == 0:\n        one = mmap.mmap(-1, 60 << 20); one.write(b'x' * (60 << 20)); time.sleep(60)\ntime.sleep(60)"), "limit", ("memory",)),
    refused("one huge mapping", "attack()\nmmap.mmap(-1, 1 << 40)", "OSError"),
    refused("memfd", "attack()\nfd = os.memfd_create('x')"),
    refused("shmget", "call((29, 194), 0, 1 << 24, 0o1666)"),
    refused("msgget", "call((68, 186), 0, 0o1666)"),
    refused("semget", "call((64, 190), 0, 8, 0o1666)"),
    refused("message queue", "call((240, 180), b'x', 0o102, 0o600, 0)"),
    refused("file in /dev/shm", "attack()\nopen('/dev/shm/x', 'w')", "FileNotFoundError"),
    refused("file in /dev/mqueue", "attack()\nopen('/dev/mqueue/x', 'w')", "OSError", "PermissionError"),
    Attack("file too large", body("attack()\nopen('/tmp/x', 'wb').write(b'x' * (12 << 20))"), "limit", ("files",)),
    Attack("sparse file", body("attack()\nos.truncate(os.open('/tmp/x', os.O_CREAT | os.O_RDWR), 1 << 40)"), "limit", ("files",)),
    Attack("full disk", body("attack()\nfor n in range(99): open(f'/tmp/{n}', 'wb').write(b'x' * (1 << 20))"), "limit", ("files",)),
    Attack("inode bomb", body("attack()\nn = 0\nwhile True:\n    try: os.close(os.open(f'/tmp/{n}', os.O_CREAT))\n    except OSError: time.sleep(0.1)\n    n += 1"), "limit", ("inodes",)),
    Attack("directory bomb", body("attack()\nos.chdir('/tmp')\nn = 0\nwhile True:\n    try: os.mkdir(f'{n}')\n    except OSError: time.sleep(0.1)\n    n += 1"), "limit", ("inodes",)),
    Attack("symbolic link bomb", body("attack()\nn = 0\nwhile True:\n    try: os.symlink('/etc/passwd', f'/tmp/{n}')\n    except OSError: time.sleep(0.1)\n    n += 1"), "limit", ("inodes",)),
    refused("open files", "attack()\nheld = []\nwhile True: held.append(open('/dev/null'))", "OSError"),
    Attack("pipes", body("attack()\nheld = []\ntry:\n    while True:\n        r, w = os.pipe(); held.append(r); fcntl.fcntl(w, 1031, 1 << 20)\nexcept OSError: return len(held) < 200"), "ok", result=True),
    Attack("endless output", body("attack()\nwhile True: print('x' * 4000)"), "limit", ("output",)),
    Attack("endless errors", body("attack()\nwhile True: print('x' * 4000, file=sys.stderr)"), "limit", ("output",)),
    Attack("endless line", body("attack()\nwhile True: os.write(1, b'x' * 65536)"), "limit", ("output",)),
    Attack("endless output of a daemon", body("attack()\nif os.fork() == 0:\n    os.setpgid(0, 0)\n    while True: os.write(1, b'x' * 65536)\ntime.sleep(60)"), "limit", ("output",)),
    Attack("large result", body("attack()\nreturn 'x' * 1_000_000"), "limit", ("result",)),
    Attack("endless result", body("attack()\nwhile True: os.write(3, b'[' * 65536)"), "limit", ("result",)),
    Attack("processor", body("attack()\nwhile True: pass"), "limit", ("cpu",), BUSY),
    Attack("processor, signal ignored", body("signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nattack()\nwhile True: pass"), "limit", ("cpu",), BUSY),
    Attack("crash", body("attack()\nctypes.string_at(0)"), "exit", ("signal 11",)),
    Attack("deep expression", body("attack()\neval('(' * 100_000)"), "error", ("MemoryError", "SyntaxError", "RecursionError", "memory")),
    Attack("timer storm", body("signal.signal(signal.SIGALRM, lambda *_: None)\nsignal.setitimer(signal.ITIMER_REAL, 0.05, 1e-5)\nattack()\nwhile True: time.sleep(1)"), "timeout", ("wall",), SHORT),
)  # fmt: skip

STAYING = (
    Attack("sleep", body("attack()\ntime.sleep(600)"), "timeout", ("wall",), SHORT),
    Attack("every signal ignored", body("for n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nattack()\nwhile True: time.sleep(600)"), "timeout", ("wall",), SHORT),
    Attack("stopped", body("attack()\nos.kill(os.getpid(), signal.SIGSTOP)"), "timeout", ("wall",), SHORT),
    Attack("all stopped", body("attack()\nfor _ in range(4):\n    if os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)\nos.kill(os.getpid(), signal.SIGSTOP)"), "timeout", ("wall",), SHORT),
    Attack("daemon", body("if os.fork() == 0:\n    os.setpgid(0, 0)\n    if os.fork(): os._exit(0)\n    for n in range(1, 65):\n        try: signal.signal(n, signal.SIG_IGN)\n        except (OSError, ValueError): pass\n    os.closerange(0, 256)\n    time.sleep(600)\nattack()\nreturn 1"), "ok", result=1),
    Attack("daemon that holds the pipes", body("if os.fork() == 0:\n    os.setpgid(0, 0)\n    time.sleep(600)\nattack()\nreturn 1"), "ok", result=1),
    Attack("thread that stays", body("threading.Thread(target=time.sleep, args=(600,)).start()\nattack()\nreturn 1"), "ok", result=1),
    Attack("slow farewell", body("import atexit\natexit.register(time.sleep, 600)\nattack()\nreturn 1"), "ok", result=1),
    Attack("destructor that stays", body("class Slow:\n    def __del__(self): time.sleep(600)\nglobal held\nheld = Slow()\nattack()\nreturn 1"), "ok", result=1),
    Attack("orphans that end at once", body("attack()\nfor _ in range(60):\n    pid = os.fork()\n    if pid == 0:\n        if os.fork() == 0: os._exit(0)\n        os._exit(0)\n    os.waitpid(pid, 0)\n    time.sleep(0.002)\nreturn 1"), "ok", result=1),
)  # fmt: skip

WARDEN = (
    refused("kill of PID 1", "attack()\nos.kill(1, signal.SIGKILL)"),
    refused("stop of PID 1", "attack()\nos.kill(1, signal.SIGSTOP)"),
    Attack("every signal to PID 1", body("attack()\nfor n in range(1, 65):\n    try: os.kill(1, n)\n    except OSError: pass\ntime.sleep(0.2)\nreturn os.path.exists('/proc/1')"), "ok", result=True),
    Attack("kill of everybody", body("pid = os.fork()\nif pid == 0: time.sleep(600)\nattack()\nos.kill(-1, signal.SIGKILL)\nreturn os.waitpid(pid, 0)[1]"), "ok", result=9),
    Attack("kill of the own group", body("attack()\nos.killpg(0, signal.SIGKILL)"), "exit", ("signal 9",)),
    refused("ptrace of PID 1", "call((101, 117), 16, 1, 0, 0)"),
    refused("memory of PID 1, read", "local = (ctypes.c_size_t * 2)(0, 8)\ncall((310, 270), 1, ctypes.byref(local), 1, ctypes.byref(local), 1, 0)"),
    refused("memory of PID 1, written", "local = (ctypes.c_size_t * 2)(0, 8)\ncall((311, 271), 1, ctypes.byref(local), 1, ctypes.byref(local), 1, 0)"),
    refused("files of PID 1 by pidfd", "attack()\nfd = os.pidfd_open(1)\ncall(438, fd, 1, 0)"),
    refused("/proc/1/mem", "attack()\nopen('/proc/1/mem', 'r+b')"),
    refused("/proc/1/environ", "attack()\nopen('/proc/1/environ').read()"),
    refused("/proc/1/maps", "attack()\nopen('/proc/1/maps').read()"),
    refused("/proc/1/fd", "attack()\nos.listdir('/proc/1/fd')"),
    refused("/proc/1/fd/1 written", "attack()\nos.write(os.open('/proc/1/fd/1', os.O_WRONLY), b'x')"),
    refused("/proc/1/root", "attack()\nos.listdir('/proc/1/root')"),
    refused("/proc/1/cwd by a link", "os.symlink('/proc/1/cwd', '/tmp/link')\nattack()\nos.listdir('/tmp/link/')"),
    refused("limits of PID 1", "attack()\nresource.prlimit(1, resource.RLIMIT_NOFILE, (8, 8))\nlist(os.scandir('/proc/1/task/1/fd'))"),
    Attack("forged frames", body("frame = b'\\x00\\x00\\x00\\x18D' + b'{\"answer\": \"{}\", \"x\": 1}'\nattack()\nsent = 0\nfor fd in (*range(0, 3), *range(4, 256)):\n    try: sent += os.write(fd, frame) > 0\n    except OSError: pass\nreturn ['real', sent >= 2]"), "ok", result=["real", True]),
    Attack("forged frames as results", body("attack()\nos.write(3, b'\\x00\\x00\\x00\\x02D{}')\nreturn 'real'"), "bad_result", ("bad result",)),
    Attack("deep result", body("attack()\nos.write(3, b'{\"result\": ' + b'[' * 50_000)\nos._exit(0)"), "bad_result", ("bad result",)),
    Attack("result that is no JSON", body("attack()\nos.write(3, b'\\xff\\xfe{')\nos._exit(0)"), "bad_result", ("bad result",)),
    Attack("every file closed", body("attack()\nos.closerange(0, 256)\nreturn 1"), "exit", ("exit 1",)),
    Attack("escape codes", body("attack()\nprint('\\x1b]52;c;eA==\\x07\\x1b[2J\\u202e[red]x[/red]')\nreturn '\\x1b[31m'"), "ok", result="\x1b[31m"),
    Attack("error that raises", body("class Bad(Exception):\n    def __str__(self): raise ValueError\nattack()\nraise Bad"), "error", ("Bad",)),
    Attack("endless error", body("attack()\nraise ValueError('x' * 10_000_000)"), "error", ("ValueError",)),
    Attack("clean exit without a result", body("attack()\nos._exit(0)"), "exit", ("exit 0",)),
    Attack("abort", body("attack()\nos.abort()"), "exit", ("signal 6",)),
)  # fmt: skip


def answered(lines: str) -> str:
    """A tool that writes its result by itself and goes on."""
    return body("attack()\nos.write(3, b'{\"result\": 1}')\n" + lines)


def number(text: str) -> Attack:
    """A result that holds what is no number."""
    lines = f"attack()\nos.write(3, b'{{\"result\": [{text}]}}')\nos._exit(0)"
    return Attack(f"result {text[:9]}", body(lines), "bad_result", ("bad result",))


ENDINGS = (
    Attack("result, then an exit code", answered("os._exit(9)"), "exit", ("exit 9",)),
    Attack("result, then a crash", answered("ctypes.string_at(0)"), "exit", ("signal 11",)),
    Attack("result, then killed", answered("os.kill(os.getpid(), signal.SIGKILL)"), "exit", ("signal 9",)),
    Attack("result, then memory", answered("for _ in range(8):\n    if os.fork() == 0:\n        held = b'x' * (60 << 20); time.sleep(60)\ntime.sleep(60)"), "limit", ("memory",)),
    Attack("result, then forks", answered("while True:\n    try: os.fork()\n    except OSError: pass"), "limit", ("processes",)),
    Attack("result, then a flood", answered("while True: os.write(1, b'x' * 65536)"), "limit", ("output",)),
    Attack("result, then the processor", answered("while True: pass"), "limit", ("cpu",), BUSY),
    Attack("result, then sleep", answered("time.sleep(600)"), "timeout", ("wall",), SHORT),
    Attack("error, then a crash", body("attack()\nos.write(3, b'{\"error\": \"all is well\"}')\nos.kill(os.getpid(), signal.SIGSEGV)"), "exit", ("signal 11",)),
    *map(number, ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", '{"a": 1e400}', "1" + "0" * 5000)),
)  # fmt: skip

OTHERS = (
    refused("own session", "attack()\nos.setsid()"),
    refused("session of a child", "attack()\nsubprocess.run(['true'], start_new_session=True)"),
    refused("priority of the own group", "attack()\nopen('/proc/self/autogroup', 'w').write('0')", "PermissionError", "FileNotFoundError"),
    refused("limits of another process", "pid = os.fork()\nif pid == 0: time.sleep(60)\nattack()\nresource.prlimit(pid, resource.RLIMIT_NOFILE, (8, 8))"),
    refused("limits of PID 1, set", "attack()\nresource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3))"),
    refused("priority of another", "pid = os.fork()\nif pid == 0: time.sleep(60)\nattack()\nos.setpriority(os.PRIO_PROCESS, pid, 19)"),
    refused("priority of the user", "attack()\nos.setpriority(os.PRIO_USER, 0, 19)"),
    refused("priority of PID 1", "attack()\nos.setpriority(os.PRIO_PROCESS, 1, 19)"),
    refused("idle scheduling", "attack()\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))"),
    refused("idle scheduling of PID 1", "attack()\nos.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))"),
    refused("processors of PID 1", "attack()\nos.sched_setaffinity(1, {0})"),
    refused("own processors", "attack()\nos.sched_setaffinity(0, {0})"),
    refused("scheduling, the new way", "call((314, 274), 1, (ctypes.c_char * 48)(48), 0)"),
    refused("priority of disk access", "call((251, 30), 1, 0, 3 << 13)"),
    refused("signal by pidfd", "call(424, 3, 9, 0, 0)"),
    refused("memory given back by pidfd", "call(448, 3, 0)", "OSError", "PermissionError"),
    refused("asynchronous disk access", "call((206, 0), 60000, ctypes.byref(ctypes.c_ulong()))"),
    refused("watching of files", "call((294, 26), 0)"),
    refused("watching of files, the old way", "call((253, 26))"),
    refused("score when memory is short", "attack()\nopen('/proc/self/oom_score_adj', 'w').write('0')"),
    refused("MPTCP", "attack()\nsocket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)"),
    refused("MPTCP, IPv6", "attack()\nsocket.socket(socket.AF_INET6, socket.SOCK_STREAM, 262)"),
    refused("UDP-Lite", "attack()\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136)"),
    refused("SCTP", "attack()\nsocket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)"),
    refused("ping socket", "attack()\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1)"),
    refused("socket diagnosis", "attack()\nsocket.socket(16, 3, 4)"),
    refused("program for a socket", "attack()\nsocket.socket().setsockopt(socket.SOL_SOCKET, 26, b'x' * 16)"),
    refused("protocol on top of TCP", "attack()\nsocket.socket().setsockopt(6, 31, b'tls')"),
    refused("large pipe", "attack()\nfcntl.fcntl(os.pipe()[1], 1031, 1 << 20)"),
    refused("large pipe, high bits", "call((72, 25), os.pipe()[1], ctypes.c_long(1031 | 1 << 32), 1 << 20)"),
    refused("lease of a file", "attack()\nfcntl.fcntl(os.open('/tmp', os.O_RDONLY), 1026, 1)"),
    refused("filter of its own", "attack()\nif libc.prctl(22, 1, 0, 0, 0): raise OSError(1, 'refused')"),
    refused("writing of everybody's files", "call((162, 81))"),
    Attack("a call by its x32 number", body("if ARM: attack(); os.kill(os.getpid(), 31)\ncall(0x40000000 | 39)"), "exit", ("signal 31",)),
    Attack("queued signals", body("signal.pthread_sigmask(signal.SIG_BLOCK, [34])\nattack()\nn = 0\nwhile n < 5000 and libc.sigqueue(os.getpid(), 34, 0) == 0: n += 1\nreturn n <= 300"), "ok", result=True),
    Attack("socket buffers", body("attack()\nheld = []\nfor _ in range(16):\n    if os.fork() == 0:\n        while True:\n            try:\n                pair = socket.socketpair(); held.append(pair)\n                for one in pair:\n                    one.setblocking(False)\n                    try:\n                        while True: one.send(b'x' * 65536)\n                    except BlockingIOError: pass\n            except OSError: time.sleep(60)\ntime.sleep(60)"), "limit", ("memory",)),
    Attack("buffers of closed sockets", body("attack()\nheld = []\nfor _ in range(16):\n    if os.fork() == 0:\n        while True:\n            try:\n                a, b = socket.socketpair(); held.append(b); a.setblocking(False)\n                try:\n                    while True: a.send(b'x')\n                except BlockingIOError: a.close()\n            except OSError: time.sleep(60)\ntime.sleep(60)"), "limit", ("memory",)),
    Attack("buffers of connections", body("s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(200)\nattack()\nheld = []\nfor _ in range(110):\n    c = socket.create_connection(s.getsockname()); d = s.accept()[0]; held += [c, d]\n    for one in (c, d):\n        one.setblocking(False)\n        try:\n            while True: one.send(b'x' * (1 << 20))\n        except BlockingIOError: pass\ntime.sleep(60)"), "limit", ("memory",)),
)  # fmt: skip
"""What reaches beyond the tool's own processes: others' priority and limits, the account's and the host's shares."""

KERNEL = (
    refused("user namespace", "call((272, 97), 0x10000000)"),
    refused("mount namespace", "call((272, 97), 0x00020000)"),
    refused("process namespace", "call((272, 97), 0x20000000)"),
    refused("network namespace", "call((272, 97), 0x40000000)"),
    refused("user namespace by clone", "call((56, 220), 0x10000000 | 17, 0, 0, 0, 0)"),
    refused("user namespace by clone3", "call(435, 0, 0)", "OSError"),
    refused("joining a namespace", "fd = os.open('/proc/self/ns/net', os.O_RDONLY)\ncall((308, 268), fd, 0)"),
    refused("mount", "call((165, 40), b'none', b'/tmp', b'tmpfs', 0, 0)"),
    refused("mount, the new way", "call(430, b'tmpfs', 0)"),
    refused("remount of the root", "call((165, 40), b'none', b'/', b'', 0x20, 0)"),
    refused("unmount", "call((166, 39), b'/tmp', 2)"),
    refused("pivot_root", "call((155, 41), b'/tmp', b'/tmp')"),
    refused("chroot", "attack()\nos.chroot('/tmp')"),
    refused("io_uring", "call(425, 8, 0)"),
    refused("bpf", "call((321, 280), 5, 0, 0)"),
    refused("perf events", "call((298, 241), 0, 0, -1, -1, 0)"),
    refused("userfaultfd", "call((323, 282), 1)"),
    refused("keyring", "call((250, 219), 0, -3, 1)"),
    refused("key", "call((248, 217), b'user', b'x', b'y', 1, -3)"),
    refused("kernel module", "call((175, 105), 0, 0, b'')"),
    refused("kexec", "call((246, 104), 0, 0, 0, 0)"),
    refused("file handle", "call((303, 264), -100, b'/', 0, 0, 0)"),
    refused("file by handle", "call((304, 265), -100, 0, 0)"),
    refused("reboot", "call((169, 142), 0xfee1dead, 672274793, 0x1234567, 0)"),
    refused("swap", "call((167, 224), b'/tmp', 0)"),
    refused("host name", "call((170, 161), b'x', 1)"),
    refused("clock", "attack()\ntime.clock_settime(time.CLOCK_REALTIME, 0)"),
    refused("kernel log", "call((103, 116), 3, 0, 0)"),
    refused("device node", "attack()\nos.mknod('/tmp/mem', 0o600 | 0o020000, os.makedev(1, 1))"),
    refused("set user id", "attack()\nos.setuid(0)"),
    refused("set group id", "attack()\nos.setgid(0)"),
    refused("groups", "attack()\nos.setgroups([0])"),
    refused("higher priority", "attack()\nos.nice(-5)"),
    refused("real-time scheduling", "attack()\nos.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"),
    refused("higher limits", "attack()\nresource.setrlimit(resource.RLIMIT_NPROC, (999, 999))", "ValueError", "PermissionError"),
    refused("spared by the OOM killer", "attack()\nos.write(os.open('/proc/self/oom_score_adj', os.O_WRONLY), b'-1000')"),
    Attack("set-uid program", body("attack()\nfound = [p for p in ('/bin/su', '/usr/bin/passwd', '/bin/mount', '/usr/bin/chsh') if os.path.exists(p) and os.stat(p).st_mode & 0o4000]\nout = subprocess.run([found[0], '--help'], capture_output=True)\nstatus = open('/proc/self/status').read()\nreturn ['NoNewPrivs:\\t1' in status, bool(found), os.geteuid() > 0]"), "ok", result=[True, True, True]),
)  # fmt: skip

FILES = (
    refused("write to /usr", "attack()\nopen('/usr/x', 'w')", "OSError", "PermissionError"),
    refused("write to /", "attack()\nopen('/x', 'w')", "OSError", "PermissionError"),
    refused("write to /etc/passwd", "attack()\nopen('/etc/passwd', 'a')", "OSError", "PermissionError"),
    refused("write to the warden", "attack()\nopen('/warden.pyz', 'a')", "OSError", "PermissionError"),
    refused("write to /dev", "attack()\nopen('/dev/x', 'w')", "OSError", "PermissionError"),
    refused("write to /run", "attack()\nopen('/run/x', 'w')", "OSError", "PermissionError"),
    refused("write to /proc/sys", "attack()\nopen('/proc/sys/kernel/core_pattern', 'w')", "OSError", "PermissionError"),
    refused("sysrq", "attack()\nopen('/proc/sysrq-trigger', 'w')", "OSError", "PermissionError", "FileNotFoundError"),
    refused("cgroup", "attack()\nopen('/sys/fs/cgroup/cgroup.procs', 'w')", "OSError", "PermissionError", "FileNotFoundError"),
    refused("write to /sys", "attack()\nopen('/sys/x', 'w')", "OSError", "PermissionError"),
    refused("memory device", "attack()\nopen('/dev/mem')", "FileNotFoundError"),
    refused("kernel messages", "attack()\nopen('/dev/kmsg')", "FileNotFoundError"),
    refused("disk device", "attack()\nopen('/dev/sda')", "FileNotFoundError"),
    refused("kernel memory", "attack()\nopen('/proc/kcore', 'rb').read(64).strip(b'\\0') or [][0]", "IndexError", "PermissionError", "FileNotFoundError"),
    refused("program in /tmp", "open('/tmp/x', 'w').write('#!/bin/sh\\n')\nos.chmod('/tmp/x', 0o755)\nattack()\nos.execv('/tmp/x', ['x'])"),
    refused("library in /tmp", "import glob\nfound = glob.glob('/lib/*-linux-gnu/libm.so.6')[0]\nopen('/tmp/x.so', 'wb').write(open(found, 'rb').read())\nattack()\nctypes.CDLL('/tmp/x.so')", "OSError"),
    refused("file of the host", "attack()\nopen(given['canary']).read()", "FileNotFoundError"),
    refused("file of the host by a link", "os.symlink(given['canary'], '/tmp/link')\nattack()\nopen('/tmp/link').read()", "FileNotFoundError"),
    refused("file of the host by dots", "attack()\nopen('/tmp' + '/..' * 40 + given['canary']).read()", "FileNotFoundError"),
    refused("Podman's socket", "s = socket.socket(socket.AF_UNIX)\nattack()\ns.connect(given['podman'])", "FileNotFoundError"),
    refused("link into /proc/1/root", "os.symlink('/proc/1/root/etc/shadow', '/tmp/link')\nattack()\nopen('/tmp/link')"),
    Attack("file of another container", body("attack()\ntime.sleep(0.5)\nreturn os.path.exists('/tmp/victim')"), "ok", result=False),
    Attack("process of another container", body("attack()\ntime.sleep(0.5)\nreturn sorted(p for p in os.listdir('/proc') if p.isdigit())[:1] == ['1'] and len([p for p in os.listdir('/proc') if p.isdigit()]) == 2"), "ok", result=True),
    Attack("environment of the host", body("attack()\nreturn 'do-not-leak' in repr(dict(os.environ)) + open('/proc/self/environ').read()"), "ok", result=False),
)  # fmt: skip

NET = (
    refused("address on the internet", "s = socket.socket()\nattack()\ns.connect(('1.1.1.1', 53))", "OSError"),
    refused("address on the internet, IPv6", "s = socket.socket(socket.AF_INET6)\nattack()\ns.connect(('2606:4700:4700::1111', 53))", "OSError"),
    refused("datagram", "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nattack()\ns.sendto(b'x', ('1.1.1.1', 53))", "OSError"),
    refused("name", "attack()\nsocket.getaddrinfo('example.org', 80)", "gaierror", "socket.gaierror"),
    refused("metadata address", "s = socket.socket()\nattack()\ns.connect(('169.254.169.254', 80))", "OSError"),
    refused("port of the host", "s = socket.socket()\nattack()\ns.connect(('127.0.0.1', int(given['port'])))", "ConnectionRefusedError"),
    refused("abstract socket of the host", "s = socket.socket(socket.AF_UNIX)\nattack()\ns.connect('\\0' + given['abstract'])", "ConnectionRefusedError"),
    refused("abstract socket of another container", "time.sleep(0.5)\ns = socket.socket(socket.AF_UNIX)\nattack()\ns.connect('\\0alita-victim')", "ConnectionRefusedError"),
    refused("socket file of the host", "s = socket.socket(socket.AF_UNIX)\nattack()\ns.connect(given['socket'])", "FileNotFoundError"),
    refused("vsock", "attack()\nsocket.socket(40, socket.SOCK_STREAM)"),
    refused("packet socket", "attack()\nsocket.socket(17, socket.SOCK_RAW)"),
    refused("raw socket", "attack()\nsocket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
    refused("kernel crypto socket", "attack()\nsocket.socket(38, 5)"),
    refused("netlink audit", "attack()\nsocket.socket(16, 3, 9)"),
    refused("bluetooth", "attack()\nsocket.socket(31, 3, 1)"),
    Attack("every other address family", body("attack()\ngot = []\nfor family in range(46):\n    if family not in (1, 2, 10, 16):\n        try: socket.socket(family, 1); got.append(family)\n        except OSError: pass\nreturn got"), "ok", result=[]),
    refused("new route", "s = socket.socket(16, 3, 0)\ns.bind((0, 0))\nattack()\ns.send(struct.pack('=IHHII', 28, 24, 0x605, 1, 0) + struct.pack('=BBBBBBBBI', 2, 0, 0, 0, 254, 3, 0, 1, 0))\nerror = struct.unpack('=i', s.recv(4096)[16:20])[0]\nif error: raise OSError(-error, os.strerror(-error))"),
)  # fmt: skip

ATTACKS = (*BOMBS, *STAYING, *WARDEN, *ENDINGS, *OTHERS, *KERNEL, *FILES, *NET)
VICTIM = HEAD + body(
    "s = socket.socket(socket.AF_UNIX)\ns.bind('\\0alita-victim')\ns.listen()\ns.settimeout(5)\n"
    "open('/tmp/victim', 'w').close()\nprint('ready', flush=True)\n"
    "try: s.accept()\nexcept TimeoutError: return 'alone'\nreturn 'visited'"
)
