"""The other machine: an ssh server on loopback that runs commands as an account, and forwards to sockets.

    python ssh.py HOST_KEY AUTHORIZED_KEYS COMMAND_PREFIX...

Says its port, serves until its standard input ends. What it started ends with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress

import asyncssh


class _Server(asyncssh.SSHServer):
    def unix_connection_requested(self, dest_path: str) -> bool:
        return True


async def _serve(host_key: str, authorized_keys: str, prefix: list[str]) -> None:
    async def run(process: asyncssh.SSHServerProcess[bytes]) -> None:
        command = [*prefix, "sh", "-c", process.command or "true"]
        started = await asyncio.create_subprocess_exec(
            *command, cwd="/", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        try:
            await process.redirect(started.stdin, started.stdout, started.stderr)
            process.exit(await started.wait())
        finally:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)

    server = await asyncssh.listen(
        "127.0.0.1", 0, server_factory=_Server, server_host_keys=[host_key],
        authorized_client_keys=authorized_keys, process_factory=run, encoding=None,
    )  # fmt: skip
    print(server.get_port(), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], sys.argv[2], sys.argv[3:]))
