"""Pictures that a task's tools made stand under its answer, in half blocks; nothing moves when they come."""

from __future__ import annotations

import asyncio
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image
from rich.cells import cell_len

from alita_tui import events as e
from alita_tui.confined.drawings import Label
from alita_tui.confined.pictures import Picture
from alita_tui.console.session.inline_pictures import MOST, ROWS, pictures_of
from alita_tui.console.session.trace import Trace
from alita_tui.console.widgets.half_blocks import half_blocks
from alita_tui.spine.envelope import Envelope
from alita_tui.view.fold import fold_all
from tests.console.screens import FILES, console, drawn
from tests.support import streams

RED, BLUE = (200, 30, 40), (20, 60, 210)


def flag() -> bytes:
    """A picture, red above blue."""
    image = Image.new("RGB", (64, 24), RED)
    image.paste(BLUE, (0, 12, 64, 24))
    body = BytesIO()
    image.save(body, "PNG")
    return body.getvalue()


def made(*files: tuple[str, str]) -> list[Envelope]:
    tape = streams.Tape()
    streams.opened(tape)
    tape.add(e.TaskSubmitted(task_id=e.TaskId("t1"), text="Draw it"))
    for number, (name, media_type) in enumerate(files):
        file = e.Artefact(
            handle=f"art_{number:010}", digest=f"{number:064}", name=name, media_type=media_type, size=999
        )
        tape.add(e.ArtefactAdded(artefact=file, origin="tool"))
    tape.add(e.TaskFinished(task_id=e.TaskId("t1"), outcome="answered", answer="It is drawn.\n\nSee below."))
    return tape.envelopes


def inks(trace: Trace) -> list[set[tuple[int, ...]]]:
    """The colours of half blocks in each line on screen."""
    found: list[set[tuple[int, ...]]] = []
    for y in range(trace.size.height):
        papers = (one.style.bgcolor for one in trace.render_line(y) if one.style is not None)
        found.append(
            {tuple(paper.triplet) for paper in papers if paper is not None and paper.triplet is not None}
        )
    return found


async def test_a_picture_is_shown_under_its_answer_without_moving_anything(tmp_path: Path) -> None:
    FILES["flag.png"] = path = tmp_path / "flag.png"
    path.write_bytes(flag())
    events = made(("flag.png", "image/png"))
    app = console(events)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, events[-1].seq)
        trace = app.main.query_one(Trace)
        before = trace.virtual_size.height
        async with asyncio.timeout(60):
            while not any(RED in line for line in inks(trace)):
                await pilot.pause(0.02)
        seen = inks(trace)
        top, bottom = (
            next(n for n, line in enumerate(seen) if RED in line),
            max(n for n, line in enumerate(seen) if BLUE in line),
        )
        assert top < bottom <= top + ROWS
        assert trace.virtual_size.height == before, "the room was kept for it"


async def test_a_chart_is_shown_under_its_answer(tmp_path: Path) -> None:
    FILES["chart.svg"] = path = tmp_path / "chart.svg"
    path.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 24">'
        '<rect width="100%" height="12" fill="rgb(200,30,40)"/>'
        '<rect y="12" width="100%" height="12" fill="rgb(20,60,210)"/></svg>',
        "utf-8",
    )
    events = made(("chart.svg", "image/svg+xml"))
    app = console(events)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, events[-1].seq)
        trace = app.main.query_one(Trace)
        async with asyncio.timeout(60):
            while not any(RED in line for line in inks(trace)):
                await pilot.pause(0.02)
        seen = inks(trace)
        assert next(n for n, line in enumerate(seen) if RED in line) < next(
            n for n, line in enumerate(seen) if BLUE in line
        )


def drawing(columns: int, rows: int, *labels: Label) -> Picture:
    return Picture(columns=columns, rows=rows, pixels=bytes((*BLUE, 255)) * columns * rows, labels=labels)


def test_labels_of_a_chart_are_written_where_they_have_room() -> None:
    picture = drawing(
        20, 6,
        Label(8, 0, "end", "south"), Label(9, 1, "start", "1,284"), Label(10, 1, "start", "hidden"),
        Label(10, 2, "middle", "世界"), Label(-5_000, 5, "end", "edge"), Label(3, 99, "start", "below"),
        Label(0, 4, "start", "\u200b\x1b[31mred and much longer than the drawing is"),
    )  # fmt: skip
    lines = half_blocks(picture, (0, 0, 0))
    assert [line.cell_length for line in lines] == [20, 20, 20]
    assert lines[0].text == "   south 1,284      "
    assert lines[1].text == "        世界        "
    assert lines[2].text.startswith("edge") and "red" not in lines[2].text, "the first has the room"
    for segment in lines[0]:
        assert segment.style is not None and segment.style.color is not None
        if segment.text.strip():
            assert segment.style.color.triplet == (236, 239, 244), "light letters on dark blue"


@given(
    st.integers(1, 30),
    st.lists(
        st.builds(
            Label,
            st.integers(-9, 40), st.integers(-3, 9), st.sampled_from(["start", "middle", "end"]),
            st.text("ab 世é\u0301\u200d👩\u202e\x1b[]Ａ🇩🇪", min_size=3, max_size=50),
        ),
        min_size=1,
        max_size=6,
    ),
)  # fmt: skip
@settings(max_examples=400)
@example(9, [Label(0, 0, "start", "世界\u200d👩\u0301")])
@example(1, [Label(0, 0, "start", "\u0301\u200d世")])
def test_a_wide_character_in_a_label_moves_nothing_beside_it(columns: int, labels: list[Label]) -> None:
    for line in half_blocks(drawing(columns, 6, *labels), (0, 0, 0)):
        assert sum(cell_len(segment.text) for segment in line) == columns
        assert not {"\x1b", "\u202e", "\n"} & set(line.text)


def test_a_chart_label_is_plain_text() -> None:
    (line,) = half_blocks(drawing(60, 2, Label(0, 0, "start", "[b]\x1b[31m\u202ered")), (0, 0, 0))
    assert "\x1b" not in line.text and "\u202e" not in line.text and "[b]" in line.text and "red" in line.text


@pytest.mark.parametrize("size", [0, 20, 60])
async def test_a_file_that_is_not_a_picture_is_named_in_one_line(tmp_path: Path, size: int) -> None:
    FILES["flag.png"] = path = tmp_path / "flag.png"
    path.write_bytes(flag()[:size])
    events = made(("flag.png", "image/png"))
    app = console(events)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, events[-1].seq)
        trace = app.main.query_one(Trace)
        async with asyncio.timeout(60):
            while trace._pictures._requested or not trace._pictures._drawn:
                await pilot.pause(0.02)
        lines = [trace.render_line(y).text.rstrip() for y in range(trace.size.height)]
        assert "It is drawn." in "\n".join(lines)
        told = [number for number, line in enumerate(lines) if "flag.png: the picture cannot be read" in line]
        assert len(told) == 1, lines
        last = max(number for number, line in enumerate(lines) if line)
        assert lines[told[0] - 1] and last - told[0] <= 1, "the card ends with it, and with what it rests on"
        assert trace.virtual_size.height < trace.size.height
        assert not app._notifications


def test_only_pictures_are_shown_inline_and_only_a_few() -> None:
    rows = [
        row
        for row in fold_all(
            made(
                ("a.csv", "text/csv"), ("b: image/png, x.txt", "text/plain"), ("c.png", "image/png"),
                ("d.jpg", "image/jpeg"), ("e.gif", "image/gif"),
            )
        ).trace
        if row.kind == "file"
    ]  # fmt: skip
    assert pictures_of(rows) == ["art_0000000002", "art_0000000003"] and MOST == 2


async def test_a_picture_lower_than_its_room_leaves_no_blank_lines(tmp_path: Path) -> None:
    image, body = Image.new("RGB", (120, 20), RED), BytesIO()
    image.save(body, "PNG")
    FILES["low.png"] = path = tmp_path / "low.png"
    path.write_bytes(body.getvalue())
    events = made(("low.png", "image/png"))
    app = console(events)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, events[-1].seq)
        trace = app.main.query_one(Trace)
        async with asyncio.timeout(60):
            while not any(RED in line for line in inks(trace)):
                await pilot.pause(0.02)
        await pilot.pause()
        lines = [trace.render_line(y).text for y in range(trace.size.height)]
        drawn_lines = [number for number, line in enumerate(lines) if "▀" in line]
        assert 0 < len(drawn_lines) < ROWS
        assert trace.virtual_size.height <= drawn_lines[-1] + 4
