"""The rows of the sandbox screen: engine, runs, pool, containers, environments and limits."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace
from rich.cells import cell_len

from alita_tui.console.widgets.figures import ago, parted, span
from alita_tui.console.widgets.sheet import Row, heading, say
from alita_tui.console.widgets.styled_text import Line, Piece, cut, spread
from alita_tui.spine.inventory import ContainerRow, EnvironmentRow, Inventory, PoolRow
from alita_tui.spine.text import one_line
from alita_tui.view.model import SandboxRun, SessionView

_MB = 1 << 20
_RUNS = 20
_TABLE = 86
"""Width from which a run takes one line."""
_FIGURES = 42
"""Width of outcome, times, memory and margins."""
_BAR = 24


def engine_rows(view: SessionView, look: str = "", rebuild: str = "") -> list[Row]:
    """Return the engine, or what is missing and what to do, with the keys that help."""
    status = view.sandbox
    if status is None:
        return [*heading("Engine"), *say("  Checking the sandbox …", "muted")]
    rows = heading("Engine")
    pad: Line = (("    ", ""),)
    if status.available:
        rows.append(Row(((one_line(status.engine), "strong"),), (("  ✓ ", "good"),)))
        origin = f", {one_line(status.image_origin)}, {one_line(status.image_digest)[:19]}"
        rows.append(Row(((one_line(status.image), ""), (origin, "muted")), pad))
        missing = Row(((one_line(status.problem), "warn"),), (("  ! ", "warn"),))
        return [*rows, missing] if status.problem else rows
    rows.append(Row(((one_line(status.problem), "bad"),), (("  ! ", "bad"),)))
    rows.append(Row(((one_line(status.hint), "strong"),), pad))
    if status.engine:
        rows.append(Row(((one_line(status.engine), "muted"),), pad))
    if look:
        rebuild_hint = f"{rebuild} makes it from here; " if status.engine else ""
        rows.append(Row(((f"{rebuild_hint}{look} looks again once it is done.", ""),), pad))
    note = "Until then no tool is built or run: what a model wrote runs nowhere else."
    return [*rows, Row(((note, "muted"),), pad)]


def run_rows(view: SessionView, width: int) -> list[Row]:
    """Return what runs now, then the last runs, newest first."""
    rows = heading("Runs", "newest first" if view.runs else "")
    wide = width >= _TABLE
    tools = [one_line(tool) for _call, tool in view.calls]
    live = view.live.output
    if live is not None and live.title not in tools:
        tools.append(live.title)
    longest = max((cell_len(title) for title in (*tools, *(run.title for run in view.runs))), default=0)
    room = min(longest, width - _FIGURES) if wide else width - 16
    if view.runs and wide:
        rows.append(Row(((f"{'WALL':>21}{'CPU':>9}{'PEAK':>9}", "muted"),), ((" " * (room + 5), ""),)))
    for tool in tools:
        rows.append(Row((("running", "wait"),), (("  ▸ ", "wait"), (_fitted(tool, room), "strong"))))
    for run in reversed(view.runs[-_RUNS:]):
        rows += _run(run, room, width, wide=wide)
    if len(rows) == 1:
        rows += say("  Nothing has run yet: what the agent tests or runs is listed here.", "muted")
    return rows


def _run(run: SandboxRun, room: int, width: int, *, wide: bool) -> list[Row]:
    failed = sum(not passed for _case, passed in run.cases)
    good = run.status == "ok" and not failed
    outcome = f"{failed} failed" if run.status == "ok" and failed else run.status.replace("_", " ")
    reasons: list[str] = [] if run.reason in ("", *run.limits_hit) else [run.reason]
    if run.limits_hit:
        reasons.append(f"limit hit: {', '.join(run.limits_hit)}")
    if run.truncated:
        reasons.append("output cut")
    why = ", ".join(reasons)
    wall, cpu, peak = span(run.duration_ms), span(run.cpu_ms), f"{run.peak_memory_bytes / _MB:.0f} MB"
    mark = ("  ✓ ", "good") if good else ("  ✗ ", "bad")
    head: Line = (mark, (_fitted(run.title, room), "strong"))
    result: Piece = (f"{outcome:<12}", "good" if good else "bad")
    figures: Piece = (f"{wall:>9}{cpu:>9}{peak:>9}", "")
    if not wide:
        body = ((f"{wall} wall · {cpu} cpu · {peak}", "muted"), (f" · {why}" if why else "", "warn"))
        return [Row((result,), head), Row(body, (("    ", ""),))]
    if why and room + _FIGURES + 8 + cell_len(why) > width:
        return [Row((result, figures), head), Row(((why, "warn"),), (("    ", ""),))]
    return [Row((result, figures, (f"   {why}", "warn")), head)]


def pool_rows(seen: Inventory) -> list[Row]:
    """Return the containers kept ready for this session's tools."""
    targets = f"{seen.hot} hot and {seen.warm} warm kept for each environment"
    rows = heading("Pool", targets if seen.hot + seen.warm else "")
    if not seen.hot + seen.warm:
        return rows + say(
            "  No containers kept ready (sandbox.pool_hot and sandbox.pool_warm are 0).", "muted"
        )
    for pool in _by_environment(seen.pool):
        body: list[Piece] = [
            ("●" * pool.hot + "○" * pool.warm + "◌" * pool.making or "·", "good"),
            (f" {pool.hot} hot, {pool.warm} warm", ""),
            (f", {pool.making} being made" if pool.making else "", "wait"),
        ]
        if pool.engine != "local":
            body.append((f", at {one_line(pool.engine, 40)}", "muted"))
        if pool.hot and pool.imports:
            body.append((f", with {_ahead(pool.imports)}", "muted"))
        rows.append(Row(tuple(body), ((f"  {pool.environment:<14}", "name"),)))
    if not seen.pool:
        rows += say("  Nothing waits; the first run fills it.", "muted")
    return rows


def _by_environment(pool: Iterable[PoolRow]) -> Iterable[PoolRow]:
    """Return one row for what waits alike: containers of an environment may differ in their limits."""
    sums: dict[tuple[object, ...], PoolRow] = {}
    for row in pool:
        alike = (row.engine, row.environment, row.imports)
        first = sums.get(alike, PoolRow(environment=row.environment, imports=row.imports, engine=row.engine))
        sums[alike] = replace(
            first, hot=first.hot + row.hot, warm=first.warm + row.warm, making=first.making + row.making
        )
    return sums.values()


def _ahead(done: tuple[str, ...]) -> str:
    """Return what hot containers have done, in words."""
    started = [one_line(name.removeprefix("start:")) for name in done if name.startswith("start:")]
    return f"{', '.join(started)} started" if started else f"{', '.join(map(one_line, done))} imported"


def container_rows(seen: Inventory, session_id: str, reap: str) -> list[Row]:
    """Return every container; `reap` is the key that removes orphans."""
    count = len(seen.containers)
    rows = heading("Containers", f"{count} here" if count else "")
    for container in seen.containers:
        state, style = (
            ("left behind", "bad")
            if container.orphan
            else (container.state, _STATES.get(container.state, ""))
        )
        session_text = "this session" if container.session == session_id else one_line(container.session, 40)
        if container.engine != "local":
            session_text = f"at {one_line(container.engine, 40)}, {session_text}"
        if container.orphan:
            session_text = f"{reap} removes it, of {session_text}"
        age = ago(seen.at - _moment(container, seen.at))
        where: Line = ((f"{state:<12}", style), (f"{container.environment:<13}", "name"), (f"{age:>8}  ", ""))
        rows.append(Row((*where, (session_text, "muted")), ((f"  {container.container}  ", "muted"),)))
    if not count:
        rows += say("  None: each run makes its own, and removes it.", "muted")
    for engine in seen.silent:
        rows += say(f"  {one_line(engine, 60)} does not answer: what is there is not shown.", "warn")
    return rows


_STATES = {"waiting": "good", "running": "wait"}


def environment_rows(seen: Inventory, width: int) -> list[Row]:
    """Return installed environments and their sizes."""
    used = sum(environment.size for environment in seen.environments)
    note = f"{used / _MB:,.0f} of {seen.room_bytes / _MB:,.0f} MB" if seen.environments else ""
    rows = heading("Environments", note)
    largest = max((environment.size for environment in seen.environments), default=0) or 1
    for environment in seen.environments:
        rows += _environment(environment, seen.at, largest, width)
    if not seen.environments:
        rows += say("  None yet: the first tool with requirements has them installed here.", "muted")
    return rows


def _environment(environment: EnvironmentRow, at: float, largest: int, width: int) -> list[Row]:
    full, track = parted(environment.size / largest, _BAR)
    left: Line = (
        (f"  {environment.environment:<14}", "name"),
        (full, "good"),
        (f"{track} ", "line"),
        (
            f"{environment.size / _MB:>7,.1f} MB"
            if environment.size >= _MB
            else f"{environment.size / 1024:>7,.0f} kB",
            "strong",
        ),
    )
    first = Row(spread(left, (f"used {ago(at - environment.used_at)} ago", "muted"), width))
    packages = ", ".join(map(one_line, environment.packages)) or "nothing installed"
    return [first, Row(((packages, "muted"),), ((" " * 16, ""),))]


def limit_rows(view: SessionView) -> list[Row]:
    """Return which mechanism enforces each limit, and what a trial measured."""
    limits = view.sandbox.enforcement if view.sandbox is not None else ()
    weak = sum(not row.strong for row in limits)
    note = f"{len(limits) - weak} held, {weak} approximate or missing" if limits else ""
    rows = heading("Limits", note)
    for row in limits:
        mark = ("  ✓ ", "good") if row.strong else ("  ≈ ", "warn")
        name = (f"{one_line(row.resource):<16}", "strong" if row.strong else "warn")
        rows.append(Row(((one_line(row.mechanism), ""),), (mark, name)))
        if row.measured:
            rows.append(Row(((one_line(row.measured), "muted"),), ((" " * 20, ""),)))
    if not limits:
        rows += say("  What holds each limit is tried out once the sandbox is there.", "muted")
    return rows


def _moment(container: ContainerRow, fallback: float) -> float:
    try:
        return datetime.fromisoformat(container.since).timestamp()
    except ValueError:
        return fallback


def _fitted(text: str, room: int) -> str:
    """Cut or pad text to a number of cells plus a blank."""
    short = cut(text, room)
    return short + " " * (room - cell_len(short) + 1)
