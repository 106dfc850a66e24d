"""The machine of the sandbox's tests, for tools in other languages."""

from tests.toolsmith.conftest import podman, ready, shelf

__all__ = ["podman", "ready", "shelf"]
