"""The sandbox's screen: as a picture at every size, while a run goes on, with nothing there, and what it does."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.config.paths import shipped
from alita_tui.console.app import AlitaApp
from alita_tui.console.ports import ConsoleOptions
from alita_tui.console.sandbox.rows import environment_rows, pool_rows
from alita_tui.console.sandbox.screen import SandboxScreen
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import Sheet
from alita_tui.events import Enforcement, RunReport, SandboxStatus, TestCase
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.inventory import ContainerRow, EnvironmentRow, Inventory, PoolRow
from tests.console.screens import SIZES, THEMES, Catalog, Sink, Source, covered, drawn
from tests.console.screens import utc as utc
from tests.support import streams

MB = 1 << 20
AT = streams.START.timestamp() + 60
SESSION = "20261120-093000-demo"
SEEN = Inventory(
    at=AT,
    containers=(
        ContainerRow("5c1d0a77be21", SESSION, "9f3ac2b104de", "running", "2026-11-20T09:30:58Z"),
        ContainerRow("e0b94f6612aa", SESSION, "9f3ac2b104de", "waiting", "2026-11-20T09:30:41Z"),
        ContainerRow("77aa19c0d3f4", SESSION, "base", "waiting", "2026-11-20T09:30:03Z"),
        ContainerRow("b2c4d6e8f001", "20261118-141500-9a3c", "base", "running", "2026-11-18T14:16:02Z", orphan=True),
    ),
    pool=(
        PoolRow("9f3ac2b104de", hot=1, making=1, imports=("email_validator", "json")),
        PoolRow("base", warm=1, hot=1, imports=("csv",)),
    ),
    environments=(
        EnvironmentRow("9f3ac2b104de", ("dnspython 2.8.0", "email_validator 2.3.0", "idna 3.11"), round(2.1 * MB), AT - 2),
        EnvironmentRow(
            "1b77e0c95a3d",
            ("numpy 2.4.1", "pandas 3.1.1", "python_dateutil 2.9.0", "pytz 2026.1", "six 1.17.0", "tzdata 2026.2"),
            round(161.4 * MB),
            AT - 3 * 86_400,
        ),
    ),
    hot=1,
    warm=1,
    room_bytes=4096 * MB,
)  # fmt: skip
LIMITS = (
    ("network", "own network namespace with loopback only, attested", "Network is unreachable; interfaces: lo", True),
    ("files", "read-only root, sized /tmp, nothing of the host mounted writable", "writable: /tmp; 8 of 8 MB taken", True),
    ("system calls", "seccomp allow-list without namespaces, attested", "10 of 10 dangerous calls refused", True),
    ("memory", "rlimits and the warden's watch over all processes", "ended at 103 MB, the limit being 96 MB", False),
    ("processes", "RLIMIT_NPROC for a uid of its own", "23 started, the limit being 24", True),
    ("time", "wall clock of the warden and of the host", "ended after 1.02 s of 1 s", True),
    ("disk bandwidth", "not limited", "", False),
)  # fmt: skip
STATUS = SandboxStatus(
    available=True,
    engine="podman 4.3.1, runc, rootless as alita-sandbox",
    image="localhost/alita-base:1",
    image_digest="sha256:" + "9f" * 32,
    image_origin="built from distribution packages",
    enforcement=tuple(
        Enforcement(resource=name, mechanism=mechanism, measured=measured, strong=strong)
        for name, mechanism, measured, strong in LIMITS
    ),
)
GONE = SandboxStatus(
    available=False, problem="Podman is not installed.", hint="`alita doctor --fix` installs it."
)
REPORTS = (
    RunReport(status="ok", duration_ms=38, cpu_ms=31, peak_memory_bytes=19 * MB),
    RunReport(status="error", exception="KeyError", error="KeyError: 'price'", duration_ms=12, cpu_ms=11, peak_memory_bytes=12 * MB),
    RunReport(status="timeout", limits_hit=("wall",), duration_ms=20_004, cpu_ms=19_840, peak_memory_bytes=61 * MB),
    RunReport(status="limit", limits_hit=("memory", "output"), exception="MemoryError", truncated=("stdout",),
              duration_ms=804, cpu_ms=790, peak_memory_bytes=530 * MB),
)  # fmt: skip


class House:
    """Meets `Upkeep`: remembers what was asked, waits where it is told to."""

    def __init__(self, seen: Inventory = SEEN) -> None:
        self.seen = seen
        self.asked: list[str] = []
        self.problem: SandboxUnavailable | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def look(self) -> Inventory:
        self.asked.append("look")
        self._fail()
        return self.seen

    async def reap(self) -> tuple[int, int]:
        self.asked.append("reap")
        self._fail()
        return 1, 0

    async def rebuild(self) -> None:
        self.asked.append("rebuild")
        await self.gate.wait()
        self._fail()

    def _fail(self) -> None:
        if self.problem is not None:
            raise self.problem


def tape(status: SandboxStatus) -> streams.Tape:
    found = streams.Tape(SESSION)
    found.add(e.SessionOpened(model="openai:small", recorded=False, version="0.1.0"))
    found.add(e.LibraryLoaded(tools=streams.LIBRARY))
    found.add(e.SandboxChecked(status=status))
    return found


def called(tape: streams.Tape, call_id: str, name: str) -> None:
    tape.add(
        e.ToolCalled(
            call_id=e.CallId(call_id),
            action_id=f"{call_id}.0",
            name=e.ToolName(name),
            version=1,
            digest=e.BuildDigest("3c" * 32),
            arguments={},
        )
    )


def busy() -> list[Envelope]:
    """Runs that ended in different ways, self-tests of a build, and a run that goes on."""
    found = tape(STATUS)
    found.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="Validate the addresses of our customers"))
    found.add(
        e.BuildStarted(
            build_id=e.BuildId("b1"), action_id="m0.0", name="validate_email_addresses", version=1, goal="…"
        )
    )
    found.add(
        e.BuildTested(
            build_id=e.BuildId("b1"), attempt=1, digest=streams.DRAFT.digest, passed=False,
            reports=(RunReport(status="ok", duration_ms=212, cpu_ms=180, peak_memory_bytes=31 * MB, cases=(
                TestCase(name="test_accepts", passed=True), TestCase(name="test_rejects", passed=False))),),
        )
    )  # fmt: skip
    for number, report in enumerate(REPORTS):
        name = ("roll_dice", "csv_join", "parse_dates", "csv_join")[number]
        called(found, f"r{number}", name)
        if report.status == "ok":
            found.add(e.ToolReturned(call_id=e.CallId(f"r{number}"), report=report))
        else:
            failed = e.ToolFailed(
                call_id=e.CallId(f"r{number}"), reason=report.status, text="…", report=report
            )
            found.add(failed)
    called(found, "r9", "validate_email_addresses")
    return found.envelopes


def none() -> list[Envelope]:
    return tape(GONE).envelopes


def console(envelopes: list[Envelope], theme: str = "alita-dark", house: House | None = None) -> AlitaApp:
    options = ConsoleOptions(builtin_themes=shipped("themes"), theme=theme, reduced_motion=True)
    return AlitaApp(Source(envelopes), Sink(), catalog=Catalog(), options=options, upkeep=house or House())


async def opened(pilot, envelopes: list[Envelope]) -> None:
    await drawn(pilot, envelopes[-1].seq)
    await pilot.press("ctrl+s")
    await covered(pilot)
    await settled(pilot)


async def settled(pilot) -> None:
    """Wait until every look and every work is done."""
    async with asyncio.timeout(180):
        while any(one.name in ("look", "sandbox") and not one.is_finished for one in pilot.app.workers):
            await pilot.pause(0.01)
    await pilot.pause()


def said(app: AlitaApp) -> str:
    return str(app.screen.query_one("#said", Plain).content)


def text(app: AlitaApp) -> str:
    return "\n".join(
        "".join(piece for piece, _ink in row.gutter + row.body)
        for sheet in app.screen.query(Sheet)
        for row in sheet.rows
    )


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", ["busy", "none"])
def test_sandbox(snap_compare, name: str, size: tuple[int, int], theme: str) -> None:
    envelopes = busy() if name == "busy" else none()
    house = House(SEEN if name == "busy" else Inventory(at=AT, hot=1, warm=1))

    async def before(pilot) -> None:
        await opened(pilot, envelopes)

    assert snap_compare(console(envelopes, theme, house), terminal_size=size, run_before=before)


def test_the_question_before_a_rebuild(snap_compare) -> None:
    async def before(pilot) -> None:
        await opened(pilot, busy())
        await pilot.press("b")
        await pilot.pause()

    assert snap_compare(console(busy()), terminal_size=(80, 24), run_before=before)


# --- behaviour ----------------------------------------------------------------------------


async def test_the_sandbox_screen_shows_current_runs_past_runs_and_environments() -> None:
    app = console(busy())
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot, busy())
        told = text(app)
        assert "▸ validate_email_addresses" in told and "running" in told
        for part in (
            "limit hit: memory, output, output cut", "20.0 s", "KeyError",
            "1 failed", "9f3ac2b104de", "1 being made", "left behind", "x removes it", "164 of 4,096 MB", "pandas 3.1.1",
            "5 held, 2 approximate or missing", "10 of 10 dangerous calls refused",
        ):  # fmt: skip
            assert part in told, part
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.main


async def test_the_sandbox_screen_reloads_when_a_run_ends() -> None:
    house, more = House(), asyncio.Event()
    ended = streams.Tape(SESSION)
    ended._seq = busy()[-1].seq or 0
    ended.add(e.ToolReturned(call_id=e.CallId("r9"), report=RunReport(status="ok", duration_ms=5)))

    class Growing(Source):
        async def __aiter__(self):
            for envelope in busy():
                yield envelope
            await more.wait()
            yield ended.envelopes[0]

    app = console(busy(), house=house)
    app._stage._source = Growing([])
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot, busy())
        assert "running" in text(app)
        house.seen, count = msgspec.structs.replace(SEEN, containers=()), len(house.asked)
        more.set()
        await drawn(pilot, ended.envelopes[0].seq)
        await settled(pilot)
        assert len(house.asked) > count
        assert "None: each run makes its own, and removes it." in text(app)


async def test_leftovers_are_removed_and_counted() -> None:
    house = House()
    app = console(busy(), house=house)
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot, busy())
        house.seen = Inventory(at=AT, hot=0, warm=0)
        await pilot.press("x")
        await settled(pilot)
        assert said(app) == "Removed 1 container and no folders."
        assert "sandbox.pool_hot and sandbox.pool_warm are 0" in text(app), "it has looked again"
        assert "None yet: the first tool with requirements" in text(app)


async def test_a_rebuild_is_asked_for_first_and_escape_is_no_answer() -> None:
    house = House()
    app = console(busy(), house=house)
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot, busy())
        await pilot.press("y", "b", "enter", "space", "escape", "y")
        await pilot.pause()
        assert "rebuild" not in house.asked
        assert app.screen is not app.main
        await pilot.press("b", "y")
        await settled(pilot)
        assert house.asked.count("rebuild") == 1
        assert said(app) == "The base image is new; runs from now on use it."


async def test_a_rebuild_shows_its_progress_and_is_not_started_twice() -> None:
    house, more = House(), asyncio.Event()
    house.gate.clear()
    hint = streams.Tape(SESSION).add(
        e.Progressed(work="Building the base image", done=3, total=9, detail="[extracting]")
    )

    class Growing(Source):
        async def __aiter__(self):
            for envelope in busy():
                yield envelope
            await more.wait()
            yield hint

    app = console(busy(), house=house)
    app._stage._source = Growing([])
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot, busy())
        await pilot.press("b", "y")
        await pilot.pause()
        more.set()
        async with asyncio.timeout(180):
            while "extracting" not in said(app):
                await pilot.pause(0.01)
        assert said(app).startswith("━━━━━━╸") and "Building the base image, [extracting]" in said(app)
        await pilot.press("b", "y", "x")
        assert house.asked.count("rebuild") == 1 and "reap" not in house.asked
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.main
        house.problem = SandboxUnavailable("No base image could be had.", hint="Check the network.")
        house.gate.set()
        await settled(pilot)
        assert ["No base image could be had" in one.message for one in app._notifications] == [True]


async def test_errors_on_the_sandbox_screen_are_shown_and_stay_visible() -> None:
    house = House()
    app = console(busy(), house=house)
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot, busy())
        house.problem = SandboxUnavailable("Podman's service [b]broke off[/b].", hint="Start it.")
        await pilot.press("x")
        await settled(pilot)
        assert "Podman's service [b]broke off[/b]." in said(app)
        assert app.screen.query_one("#said", Plain).has_class("-bad")
        house.problem = None
        await pilot.press("r")
        await settled(pilot)
        assert said(app) == ""


async def test_without_a_sandbox_the_screen_says_what_to_do_and_a_key_checks_again() -> None:
    house = House()
    app = console(none(), house=house)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, none())
        assert "Podman is not installed." in text(app) and "alita doctor --fix" in text(app)
        assert "POOL" not in text(app)
        count = len(house.asked)
        assert isinstance(app.screen, SandboxScreen)
        app.screen._again()
        await settled(pilot)
        assert len(house.asked) == count, "nothing is started again and again"
        await pilot.press("r")
        await settled(pilot)
        assert len(house.asked) == count + 1


async def test_a_missing_base_image_can_be_made_from_here() -> None:
    status = msgspec.structs.replace(
        GONE, engine="podman 4.3.1, runc, rootless", problem="The base image is not here yet."
    )
    house = House()
    app = console(tape(status).envelopes, house=house)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, tape(status).envelopes)
        assert "b makes it from here" in text(app)
        await pilot.press("b", "y")
        await settled(pilot)
        assert "rebuild" in house.asked


async def test_engines_on_other_machines_are_listed_and_a_lost_one_is_marked() -> None:
    status = msgspec.structs.replace(STATUS, problem="ssh://builder@two does not answer.")
    seen = msgspec.structs.replace(
        SEEN,
        containers=(msgspec.structs.replace(SEEN.containers[0], engine="ssh://builder@one"),),
        pool=(msgspec.structs.replace(SEEN.pool[1], engine="ssh://builder@one"),),
        silent=("ssh://builder@two",),
    )
    app = console(tape(status).envelopes, house=House(seen))
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot, tape(status).envelopes)
        assert "ssh://builder@two does not answer." in text(app)
        assert "at ssh://builder@one, this session" in text(app)
        assert "1 hot, 1 warm, at ssh://builder@one" in text(app)
        assert "ssh://builder@two does not answer: what is there is not shown." in text(app)


def test_the_size_of_a_small_environment_is_not_shown_as_zero() -> None:
    seen = msgspec.structs.replace(SEEN, environments=(EnvironmentRow("e", ("one 1.0",), 12_300, AT),))
    assert "12 kB" in "".join(text for row in environment_rows(seen, 80) for text, _ink in row.body)


def test_an_environment_has_a_size_bar_and_one_row_for_its_waiting_containers() -> None:
    sizes = [
        EnvironmentRow(environment=name, size=size) for name, size in (("a", 400 << 20), ("b", 100 << 20))
    ]
    bars = [row.text for row in environment_rows(Inventory(at=0.0, environments=tuple(sizes)), 80)[1::2]]
    assert [bar.count("━") for bar in bars] == [24, 6] and "█" not in "".join(bars)
    waiting = (
        PoolRow(environment="a", warm=2),
        PoolRow(environment="b", hot=1),
        PoolRow(environment="a", warm=1, making=1),
    )
    rows = pool_rows(Inventory(at=0.0, pool=waiting, hot=1, warm=1))[1:]
    assert [row.text for row in rows] == ["○○○◌ 0 hot, 3 warm, 1 being made", "● 1 hot, 0 warm"]


async def test_the_sandbox_screen_of_a_recording_changes_nothing() -> None:
    options = ConsoleOptions(builtin_themes=shipped("themes"), theme="alita-dark", reduced_motion=True)
    app = AlitaApp(Source(busy()), None, catalog=Catalog(), options=options)
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot, busy())
        assert "A recording: what was on its machine is not kept." in text(app)
        assert "limit hit: wall" in text(app) and "RLIMIT_NPROC" in text(app)
        await pilot.press("r", "x", "b", "y")
        await pilot.pause()
        assert said(app) == ""
        assert str(app.screen.query_one("#head", Plain).content) == "Sandbox   Esc closes"


@pytest.mark.parametrize("width", [20, 40, 90, 250])
async def test_no_text_and_no_width_breaks_the_sandbox_screen(width: int) -> None:
    nasty = "[red]x[/]" + "名" * 90 + "\x1b[2J\u202e"
    seen = msgspec.structs.replace(
        SEEN,
        containers=(ContainerRow("c", nasty, nasty[:12], nasty[:6], "never"),),
        environments=(EnvironmentRow("e", (nasty, nasty), 0, AT),),
        pool=(PoolRow("p", hot=16, warm=16, imports=(nasty,)),),
    )
    found = tape(msgspec.structs.replace(STATUS, engine=nasty))
    called(found, "n1", nasty)
    found.add(
        e.ToolFailed(
            call_id=e.CallId("n1"),
            reason="exit",
            text=nasty,
            report=RunReport(status="error", exception=nasty),
        )
    )
    called(found, "n2", nasty)
    app = console(found.envelopes, house=House(seen))
    async with app.run_test(size=(width, 24)) as pilot:
        await opened(pilot, found.envelopes)
        await pilot.resize_terminal(max(width // 2, 20), 12)
        await pilot.pause()
        assert "\x1b" not in app.export_screenshot() and "\x1b" not in text(app)
