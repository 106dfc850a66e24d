"""Restricts Dask's protocol: mutual TLS, few operations, and an unpickler that accepts a few names.

Dask sends pickles, and anyone who can connect could send any pickle. TLS decides who can connect. The other two are a
second defence: what batches do not need is refused before any received name is looked up. They replace undocumented
parts of Dask, so the extra pins its version.
"""

from __future__ import annotations

import io
import logging
import pickle
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import dask
from distributed import Security

from alita_tui.mapping.cluster.authority import Credentials

KNOWN_NAMES = frozenset(
    {
        ("alita_tui.mapping.cluster.entry", "batch"),
        ("builtins", "KeyError"),
        ("dask._expr", "Expr._reconstruct"),
        ("dask._expr", "LLGExpr"),
        ("dask._task_spec", "Task"),
    }
)
"""The names that a pickle may contain. Only the first, alita's entry point, has an effect."""

_SETTINGS = {
    "distributed.comm.require-encryption": True,
    "distributed.comm.tls.min-version": 1.3,
    "distributed.comm.timeouts.connect": "10s",
    "distributed.comm.retry.count": 0,
    "distributed.scheduler.allowed-failures": 0,  # the coordinator decides what is run again
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.worker-ttl": "60s",
    "distributed.client.preload": [],
    "distributed.scheduler.preload": [],
    "distributed.worker.preload": [],
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.diagnostics.nvml": False,
    "distributed.diagnostics.computations.max-history": 0,
}


_UNPICKLING = (
    "distributed.protocol.pickle", "distributed.client", "distributed.scheduler", "distributed.shuffle._core",
    "distributed.shuffle._pickle",
)  # fmt: skip
"""Modules of Dask that use the standard library's `pickle`; other modules unpickle through the first of these."""


class _RestrictedUnpickler(pickle.Unpickler):
    """Accepts a few names and refuses all others."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the object that a name in a pickle refers to. Raises UnpicklingError."""
        if (module, name) not in KNOWN_NAMES:
            raise pickle.UnpicklingError(f"{module[:60]}.{name[:60]} is not accepted here")
        return super().find_class(module, name)


def _loads(data: Any, *, buffers: Any = ()) -> Any:
    return _RestrictedUnpickler(io.BytesIO(data), buffers=buffers).load()


def _load(file: Any, *, buffers: Any = ()) -> Any:
    return _RestrictedUnpickler(file, buffers=buffers).load()


_RESTRICTED_PICKLE = SimpleNamespace(
    **{**vars(pickle), "Unpickler": _RestrictedUnpickler, "loads": _loads, "load": _load}
)


def harden(credentials: Credentials) -> Security:
    """Restrict Dask in this process; return the security settings for its connections."""
    dask.config.set(_SETTINGS)
    for name in _UNPICKLING:
        import_module(name).pickle = _RESTRICTED_PICKLE  # type: ignore[attr-defined]
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    certificates = {
        f"tls_{role}_{part}": path
        for role in ("client", "scheduler", "worker")
        for part, path in (("cert", credentials.certificate), ("key", credentials.key))
    }
    return Security(require_encryption=True, tls_ca_file=credentials.authority, **certificates)


def keep_only(server: Any, operations: frozenset[str], streamed: frozenset[str]) -> None:
    """Remove all operations of a server except these."""
    for name in [name for name in server.handlers if name not in operations]:
        del server.handlers[name]
    for name in [name for name in server.stream_handlers if name not in streamed]:
        del server.stream_handlers[name]
    for name in _IGNORED:
        server.stream_handlers[name] = _ignore


_IGNORED = ("log-event", "subscribe-topic", "unsubscribe-topic")
"""Messages of machines about themselves, some with text for a terminal; they are ignored."""


def _ignore(**_: object) -> None:
    """Do nothing."""
