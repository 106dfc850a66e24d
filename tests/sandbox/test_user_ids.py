"""User ids of containers: the kernel counts processes by user id, so no two containers may share one."""

from __future__ import annotations

import pytest

from alita_tui.sandbox import sessions
from alita_tui.sandbox.policy import USER_IDS, fresh_uid
from alita_tui.spine.errors import SandboxUnavailable


def test_containers_get_distinct_user_ids_until_none_are_left() -> None:
    taken: set[int] = set()
    with pytest.raises(SandboxUnavailable, match="no user ids left"):
        while True:
            first = fresh_uid(taken, 501)
            ids = range(first, first + 501)
            assert USER_IDS.start <= ids.start and ids.stop <= USER_IDS.stop
            assert taken.isdisjoint(ids)
            taken.update(ids)
    longest = run = 0
    for uid in USER_IDS:
        run = 0 if uid in taken else run + 1
        longest = max(longest, run)
    assert longest < 501


@pytest.mark.parametrize("lanes", (1, 2, 8, 64, 500))
def test_every_lane_has_user_ids_for_a_container_and_its_successor(lanes: int) -> None:
    calls = min(sessions._CALLS, sessions.calls_per_container(lanes))
    taken: set[int] = set()
    for _ in range(2 * lanes):
        first = fresh_uid(taken, 1 + max(calls, 2))
        taken.update(range(first, first + 1 + max(calls, 2)))
    assert calls >= 16
