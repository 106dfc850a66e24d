"""Closing a session takes as long for a long one: what no longer changes was hashed before."""

import asyncio
from itertools import islice

import pytest
from msgspec.structs import replace

from alita_tui import __version__
from alita_tui import events as e
from alita_tui.app.closing import ClosingState
from alita_tui.replay.headless import play_through
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.history import History
from alita_tui.view import fingerprint as module
from alita_tui.view.fingerprint import Digests, fingerprint
from alita_tui.view.fold import fold_all
from alita_tui.view.model import SessionView
from tests.benchmarks.long_sessions import long_session

_EVENTS = 12_000


@pytest.fixture(scope="module")
def events() -> list[Envelope]:
    """A session whose rows fill many more chunks than are hashed on closing."""
    return list(islice(long_session(), _EVENTS))


async def test_closing_hashes_only_new_chunks(
    events: list[Envelope], monkeypatch: pytest.MonkeyPatch
) -> None:
    view = fold_all(events[:-5])
    chunks = len(Digests().missing(view))
    assert chunks > 16
    state = ClosingState()
    hashed: list[object] = []
    encoded = module._encoded

    def noted(value: object) -> bytes:
        hashed.append(value)
        return encoded(value)

    looks: list[int] = []

    def seen() -> SessionView:
        looks.append(len(hashed))
        return view

    monkeypatch.setattr(module, "_encoded", noted)
    preparing = asyncio.create_task(state.prepare(seen, look_seconds=0))
    while len(looks) < 2:  # the second look comes once all that the first found is hashed
        await asyncio.sleep(0.01)
    preparing.cancel()
    assert looks[1] == chunks
    hashed.clear()
    closed_with = state.fingerprint(History(events), view, attended=True)
    assert not [value for value in hashed if isinstance(value, tuple) and len(value) == 256]
    assert closed_with == fingerprint(fold_all(events))


def test_leaving_a_long_session_at_once_is_quick(events: list[Envelope]) -> None:
    history = History(events)
    assert ClosingState().fingerprint(history, fold_all(events), attended=True) == ""
    assert ClosingState().fingerprint(history, None, attended=False) == fingerprint(fold_all(events))


def test_the_cached_hash_of_a_chunk_is_dropped_with_it(events: list[Envelope]) -> None:
    digests = Digests()
    fingerprint(fold_all(events), digests)
    digests.missing(fold_all(events[:100]))
    assert not digests._known


@pytest.mark.parametrize("changed", ["nothing", "a row in a full chunk"])
def test_a_state_recorded_in_the_former_form_is_still_compared(events: list[Envelope], changed: str) -> None:
    session = list(events[:2_000])
    recorded = module._in_one_piece(fold_all(session))
    if changed != "nothing":
        place = next(n for n, one in enumerate(session) if isinstance(one.event, e.TaskSubmitted))
        task = session[place]
        session[place] = replace(task, event=replace(task.event, text="Another task."))
    closed = e.SessionClosed(state=recorded, version=__version__)
    session.append(replace(session[-1], seq=len(session) + 1, event=closed))
    assert play_through(session).same == (changed == "nothing")
