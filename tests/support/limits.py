"""Limits for tests that start real containers."""

from __future__ import annotations

from alita_tui.spine.ports.sandbox import Limits

ROOMY = Limits(wall_seconds=60, cpu_seconds=120)
"""Runs and checks have three times the usual time: tests run beside others on a busy machine."""
