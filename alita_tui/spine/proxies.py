"""Which proxy the environment names for a host: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, in either case."""

from __future__ import annotations

from collections.abc import Mapping


class Proxies:
    """The proxies of an environment. Loopback hosts never go through one."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._by_scheme = {
            name[: -len("_proxy")].lower(): value
            for name, value in sorted(environ.items())  # lower-case names come last and win
            if name.lower().endswith("_proxy") and value
        }

    def of(self, scheme: str, host: str) -> str:
        """Return the proxy's address, or an empty string for a direct connection."""
        proxy = self._by_scheme.get(scheme) or self._by_scheme.get("all", "")
        if not proxy or host == "localhost" or host.startswith("127.") or host == "::1":
            return ""
        for entry in self._by_scheme.get("no", "").lower().split(","):
            name = entry.strip().lstrip(".")
            if name == "*" or (name and (host == name or host.endswith(f".{name}"))):
                return ""
        return proxy
