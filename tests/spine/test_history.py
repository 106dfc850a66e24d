"""The events of a session of which only the newest are in memory: as the list of all of them would be."""

import random
from datetime import UTC, datetime

from alita_tui import events as e
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.history import _KEPT, History, between, newest, of
from tests.support import streams

DURABLE = [one for one in streams.walkthrough() if one.durable]


class Kept(list[Envelope]):
    """Meets `Stored`; tells what was read."""

    def __init__(self, *envelopes):
        super().__init__(envelopes)
        self.looked = []

    def reader(self, *, ahead=True):
        def read(place):
            self.looked.append(place)
            return self[place]

        return read

    def kind(self, place):
        return str(self[place].event.__struct_config__.tag)


def notice(seq: int) -> Envelope:
    return Envelope(
        seq=seq,
        session_id="s",
        at=datetime(2026, 1, 1, tzinfo=UTC),
        event=e.NoticeRaised(level="info", text=f"{seq}"),
    )


def test_a_history_equals_the_list_of_all_appended_events():
    stored = Kept(*DURABLE)
    history, whole = History(stored=stored), list(DURABLE)
    chance = random.Random(1)
    for number in range(5 * _KEPT):
        one = notice(len(whole) + 1)
        stored.append(one)
        history.append(one)
        whole.append(one)
        if number % 97 == 0:
            low, high = sorted((chance.randrange(len(whole)), chance.randrange(len(whole))))
            assert (len(history), history[low], history[-low - 1]) == (
                len(whole),
                whole[low],
                whole[-low - 1],
            )
            assert history[low:high] == whole[low:high]
            assert between(history, low, high) == [one for one in whole if low < (one.seq or 0) <= high]
    assert list(history) == whole and list(reversed(history)) == whole[::-1]
    assert len(history._newest[1]) <= 2 * _KEPT, "the others are read again"


def test_looking_for_some_kinds_reads_only_these_events():
    stored = Kept(*DURABLE)
    history, kinds = History(stored=stored), (e.TaskSubmitted, e.ApprovalResolved)
    wanted = [one for one in DURABLE if isinstance(one.event, kinds)]
    assert list(of(history, *kinds)) == list(of(DURABLE, *kinds)) == wanted
    assert list(newest(history, *kinds)) == list(newest(DURABLE, *kinds)) == wanted[::-1]
    assert sorted({*stored.looked}) == [DURABLE.index(one) for one in wanted]


def test_an_iteration_includes_events_that_arrive_meanwhile():
    history, seen = History(DURABLE[:3]), []
    for one in history:
        seen.append(one)
        if len(history) < 6:
            history.append(DURABLE[len(history)])
    assert seen == DURABLE[:6]
