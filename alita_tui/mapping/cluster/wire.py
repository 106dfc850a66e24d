"""Dask's wire as alita lets it be: mutual TLS, few operations, and an unpickler that knows a few names.

Dask sends pickles, and whoever may connect could send any. TLS decides who may connect. The rest is a second wall: what
is not needed for batches is refused, before anything that came is looked up. It replaces parts of Dask that are not
documented, so the extra pins the version.
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
"""What a pickle may name. Our entry point is the only one of these that does anything."""

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
"""Modules of Dask that use the standard library's `pickle`; all others use the first of these."""


class _Narrow(pickle.Unpickler):
    """Looks up a few names, and refuses all others."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what a pickle names. Raise UnpicklingError."""
        if (module, name) not in KNOWN_NAMES:
            raise pickle.UnpicklingError(f"{module[:60]}.{name[:60]} is not accepted here")
        return super().find_class(module, name)


def _loads(data: Any, *, buffers: Any = ()) -> Any:
    return _Narrow(io.BytesIO(data), buffers=buffers).load()


def _load(file: Any, *, buffers: Any = ()) -> Any:
    return _Narrow(file, buffers=buffers).load()


_NARROW = SimpleNamespace(**{**vars(pickle), "Unpickler": _Narrow, "loads": _loads, "load": _load})


def harden(credentials: Credentials) -> Security:
    """Change Dask in this process, and return what it shows and asks of others."""
    dask.config.set(_SETTINGS)
    for name in _UNPICKLING:
        import_module(name).pickle = _NARROW  # type: ignore[attr-defined]
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    shown = {
        f"tls_{role}_{what}": path
        for role in ("client", "scheduler", "worker")
        for what, path in (("cert", credentials.certificate), ("key", credentials.key))
    }
    return Security(require_encryption=True, tls_ca_file=credentials.authority, **shown)


def keep_only(server: Any, operations: frozenset[str], streamed: frozenset[str]) -> None:
    """Take every operation from a server that is not needed for batches."""
    for name in [name for name in server.handlers if name not in operations]:
        del server.handlers[name]
    for name in [name for name in server.stream_handlers if name not in streamed]:
        del server.stream_handlers[name]
    for name in _UNHEARD:
        server.stream_handlers[name] = _unheard


_UNHEARD = ("log-event", "subscribe-topic", "unsubscribe-topic")
"""Messages of machines about themselves, some with text for a terminal; all are ignored."""


def _unheard(**_: object) -> None:
    """Do nothing."""
