"""Durations, ages and bars as text."""

from __future__ import annotations

from datetime import datetime


def span(milliseconds: float) -> str:
    """Write a duration as `42 ms` or `1.2 s`."""
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def clock_time(seconds: float) -> str:
    """Write seconds as `0:42`, `12:05` or `3:10:00`."""
    total = max(0, int(seconds))
    hours, rest = divmod(total, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def spoken(seconds: float) -> str:
    """Write a duration as `12 s`, `4 m 12 s` or `3 h 10 m`."""
    total = max(0, int(seconds))
    if total < 60:
        return f"{total} s"
    return f"{total // 60} m {total % 60} s" if total < 3600 else f"{total // 3600} h {total % 3600 // 60} m"


def waited(since: datetime | None, now: datetime) -> str:
    """Write how long a build waits, as `0:42`, `12:05` or `3 h 10 m`."""
    seconds = max(0, int((now - since).total_seconds())) if since else 0
    if seconds < 3600:
        return f"{seconds // 60}:{seconds % 60:02}"
    return f"{seconds // 3600} h {seconds % 3600 // 60} m"


def age(then: datetime, now: datetime) -> str:
    """Write how long ago, in at most four characters: `now`, `5 m`, `3 h`, `2 d`, `8 w`, `3 y`."""
    seconds = max(0.0, (now - then).total_seconds())
    for size, unit in ((365 * 86400, "y"), (14 * 86400, "w"), (86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            divisor = 7 * 86400 if unit == "w" else size
            return f"{seconds // divisor:.0f} {unit}"
    return "now"


def ago(seconds: float) -> str:
    """Write how long ago, as `42 s`, `5 min`, `3 h` or `4 days`."""
    for limit, unit, size in ((90, "s", 1), (5400, "min", 60), (129_600, "h", 3600)):
        if seconds < limit:
            return f"{max(seconds, 0) / size:.0f} {unit}"
    return f"{seconds / 86_400:.0f} days"


def bar(share: float, width: int) -> str:
    """Draw a share as a thin bar of `width` cells on its track, in halves."""
    halves = round(min(max(share, 0.0), 1.0) * width * 2)
    return ("━" * (halves // 2) + "╸" * (halves % 2)).ljust(width, "─")


def parted(share: float, width: int) -> tuple[str, str]:
    """Return the filled part of a bar and the rest of its track, to be drawn in a fainter style."""
    full = bar(share, width).rstrip("─")
    return full, "─" * (width - len(full))
