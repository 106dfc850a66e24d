"""The exported page in a real browser: it plays, it asks nobody for anything, and hostile text stays text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.replay.export import export
from alita_tui.replay.recording import Recording
from alita_tui.spine.envelope import Envelope
from alita_tui.view.fold import fold_all
from tests.replay.browser import Page
from tests.support.goldens import walkthrough

HOSTILE = (
    "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 2'>"
    "<!--<script>\u2028 [link](javascript:1) \x1b[31m __DATA__ __TITLE__ &lt; \u202e"
)


def hostile() -> list[Envelope]:
    """The walk through, with markup wherever a person, a model or a tool can put text."""
    changed = []
    for one in walkthrough():
        event = one.event
        match event:
            case e.TaskSubmitted():
                event = msgspec.structs.replace(event, text=HOSTILE)
            case e.ModelReplied():
                event = msgspec.structs.replace(event, text=HOSTILE, model=HOSTILE)
            case e.TaskFinished():
                event = msgspec.structs.replace(event, answer=HOSTILE)
            case e.ToolReturned(report=report):
                report = msgspec.structs.replace(report, result=HOSTILE, stdout=HOSTILE)
                event = msgspec.structs.replace(event, report=report)
            case _:
                pass
        changed.append(msgspec.structs.replace(one, event=event))
    return changed


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path = tmp_path_factory.mktemp("player") / "session.html"
    path.write_text(export(walkthrough(), "html", lambda one: one), "utf-8")
    made = Page(path)
    yield made
    made.close()


def position(page: Page) -> int:
    return int(page.value("document.getElementById('line').getAttribute('aria-valuenow')"))


def shown(page: Page) -> list[str]:
    found: list[str] = page.value("[...document.querySelectorAll('.row .said')].map(r => r.textContent)")
    return found


def test_the_player_shows_what_the_console_shows_at_every_event(page: Page) -> None:
    whole = walkthrough()
    page.press("Home")
    for count in range(1, len(whole) + 1):
        page.press("ArrowRight")
        view = fold_all(whole[:count])
        assert position(page) == count
        assert shown(page) == [row.title for row in view.trace]
        library = page.value("[...document.querySelectorAll('#library p')].map(p => p.textContent)")
        assert [one.split()[0] for one in library] == [card.name for card in view.library]
        assert page.value("document.getElementById('phase').textContent") in (view.phase, "")
    page.press("ArrowLeft")
    assert position(page) == len(whole) - 1


def test_keys_of_the_player_go_where_they_say(page: Page) -> None:
    recording = Recording(walkthrough())
    total = len(recording)
    for tenth in "0123456789":
        page.press(tenth)
        assert position(page) == round(total * int(tenth) / 10)
    page.press("0")
    for key, by in (*[("]", 1)] * 4, ("[", -1), ("[", -1)):
        before = position(page)
        page.press(key)
        assert position(page) == recording.find_mark(before, {"build", "approval", "error"}, by)
    for key, by in (("ArrowRight", 1), ("ArrowRight", 1), ("ArrowLeft", -1)):
        before = position(page)
        page.press(key, shift=True)
        assert position(page) == recording.find_step(before, by)
    page.press("+")
    assert page.value("document.getElementById('speed').textContent") == "2×"
    page.press("-")
    assert page.value("document.getElementById('speed').textContent") == "1×"


def test_search_goes_from_hit_to_hit(page: Page) -> None:
    recording = Recording(walkthrough())
    page.press("0")
    page.press("/")
    page.ask("Input.insertText", text="validate")
    page.press("Enter")
    first = recording.find_text(0, "validate", 1)
    assert position(page) == first
    page.press("n")
    assert position(page) == recording.find_text(first, "validate", 1)
    page.press("N", shift=True)
    assert position(page) == first


def test_the_exported_player_plays_to_the_end(page: Page) -> None:
    page.press("9")
    for _ in range(10):
        page.press("+")
    page.press(" ")
    page.value(
        "new Promise(done => { const look = () => document.getElementById('line').getAttribute('aria-valuenow')"
        f" === '{len(walkthrough())}' ? done(1) : requestAnimationFrame(look); look(); }})"
    )
    assert "Play" in page.value("document.getElementById('play').textContent")


def test_a_point_on_the_timeline_is_a_place_in_the_session(page: Page) -> None:
    box = page.value(
        "(r => [r.left, r.top, r.width])(document.getElementById('line').getBoundingClientRect())"
    )
    at = {"x": box[0] + box[2] / 2, "y": box[1] + 12, "button": "left", "clickCount": 1}
    page.ask("Input.dispatchMouseEvent", type="mousePressed", **at)
    page.ask("Input.dispatchMouseEvent", type="mouseReleased", **at)
    assert position(page) == pytest.approx(len(walkthrough()) / 2, abs=1)


def test_the_player_makes_no_request_and_reports_no_error(page: Page) -> None:
    assert page.requests() == []
    assert page.complaints() == []
    assert "redacted" in page.value("document.getElementById('redacted').textContent")


def test_a_long_session_is_laid_out_in_part_and_can_be_read_completely(tmp_path: Path) -> None:
    first = walkthrough()[0]
    events = [e.NoticeRaised(level="info", text=f"notice {n}") for n in range(2, 1502)]
    whole = [first] + [
        Envelope(seq=n, session_id=first.session_id, at=first.at, event=one)
        for n, one in enumerate(events, 2)
    ]
    path = tmp_path / "long.html"
    path.write_text(export(whole, "html", lambda one: one), "utf-8")
    page = Page(path)
    try:
        for key in ("End", "5", "ArrowRight", "ArrowLeft", "4", "9", "1", "2", "Home", "3", "End"):
            page.press(key)
            titles = [f"notice {n}" for n in range(2, position(page) + 1)]
            assert shown(page) == titles[-400:], key
        page.value("document.querySelector('.earlier').click()")
        assert shown(page) == [f"notice {n}" for n in range(2, 1502)]
        assert page.value("document.querySelector('.earlier')") is None
    finally:
        page.close()


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(export(hostile(), "html", lambda one: one), "utf-8")
    page = Page(path)
    try:
        page.press("End")
        page.value("document.querySelectorAll('.row').forEach(row => { row.open = true; })")
        page.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert page.value("window.broken") is None
        assert page.value("document.querySelectorAll('img, a, iframe').length") == 0
        assert page.value("document.scripts.length") == 2
        assert any("onerror=" in one for one in shown(page)), "it is all there to be read"
        assert page.requests() == []
        refused = page.value(
            "new Promise(done => { document.addEventListener('securitypolicyviolation', e => done(e.violatedDirective));"
            " const s = document.createElement('script'); s.textContent = 'window.broken = 3'; document.body.append(s); })"
        )
        assert refused.startswith("script-src")
        assert page.value("window.broken") is None
    finally:
        page.close()
