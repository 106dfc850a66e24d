"""The models in the status line: the state of each, how fast the serving one writes, and why, where asked."""

from __future__ import annotations

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.console.session.providers import MARKS, WORDS, model_parts
from alita_tui.console.spend.screen import rows
from alita_tui.events import ProviderState, Usage
from alita_tui.view.fold import fold_all
from alita_tui.view.model import SessionView
from tests.support import streams

STATES: tuple[ProviderState, ...] = ("closed", "half_open", "open", "disabled")


def replied(model: str, tokens: int = 300, role: e.ModelRole = "orchestrator") -> e.ModelReplied:
    usage = Usage(input_tokens=90, output_tokens=tokens)
    return e.ModelReplied(call_id=model, role=role, model=model, usage=usage, duration_ms=3500, first_ms=500)


def view_of(*events: e.SessionEvent) -> SessionView:
    tape = streams.Tape()
    streams.opened(tape)
    for event in events:
        tape.add(event)
    return fold_all(tape.envelopes)


def texts(view: SessionView) -> list[str]:
    return [text for _, text, _ in model_parts(view)]


def sheet(view: SessionView) -> str:
    return "\n".join("".join(text for text, _ in (*row.gutter, *row.body)) for row in rows(view, {}, "", 100))


@pytest.mark.parametrize("state", STATES)
def test_each_state_has_its_own_mark_and_word(state: ProviderState) -> None:
    changed = e.ProviderChanged(model="q:other", state=state, reason="q:other: it was silent.", retry_in=20)
    view = view_of(replied("p:first"), changed)
    assert texts(view) == ["● first", f"{MARKS[state]} other", "100 tok/s"]
    assert len(set(MARKS.values())) == len(set(WORDS.values())) == len(STATES)
    assert f"{MARKS[state]} q:other  {WORDS[state]}" in sheet(view)


def test_a_model_that_is_off_shows_the_reason_and_until_when() -> None:
    view = view_of(
        replied("p:first"),
        e.ProviderChanged(
            model="p:first", state="open", reason="p:first: api answered HTTP 503.", retry_in=20
        ),
    )
    shown = sheet(view)
    assert "api answered HTTP 503." in shown and "pauses until " in shown
    assert "503" not in "".join(texts(view))
    well = view_of(
        replied("p:first"),
        e.ProviderChanged(model="p:first", state="open", reason="p:first: HTTP 503.", retry_in=20),
        e.ProviderChanged(model="p:first", state="closed"),
    )
    assert "503" not in sheet(well)


def test_a_single_working_model_is_shown_by_name_only() -> None:
    view = view_of(replied("p:first"))
    assert view.model and texts(view) == [str(view.model), "100 tok/s"]


def test_a_reply_that_arrived_in_one_piece_gives_no_speed() -> None:
    at_once = msgspec.structs.replace(replied("p:first", 5_000), first_ms=1000.0, duration_ms=1090.0)
    assert not any("tok/s" in text for text in texts(view_of(at_once)))
    assert "100 tok/s" in texts(view_of(replied("p:first"), at_once)), "what was measured stays"


def test_the_model_that_answered_last_is_listed_first_with_its_speed() -> None:
    view = view_of(
        replied("p:first", 300), replied("q:second", 900), replied("r:third", 30, role="summariser")
    )
    assert texts(view) == ["● second", "● first", "● third", "300 tok/s"]


def test_a_narrow_provider_strip_keeps_what_matters() -> None:
    view = view_of(
        replied("p:first"),
        e.ProviderChanged(model="q:dead", state="open", reason="q:dead: gone.", retry_in=9),
        replied("r:well", role="summariser"),
    )
    by_weight = [text for _, text, _ in sorted(model_parts(view), key=lambda part: part[0])]
    assert by_weight[:2] == ["○ dead", "● first"]  # trouble, then who serves; the rest goes first
