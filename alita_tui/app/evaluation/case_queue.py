"""Decides which case of a run comes next, and holds the cases that wait for the person."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

from alita_tui.app.context import AppContext
from alita_tui.app.evaluation.costs import Key, home_of
from alita_tui.app.evaluation.homes import CaseHomes
from alita_tui.app.evaluation.waiting import (
    Wait,
    held_elsewhere,
    may_go_on,
    pending_in,
    prepare_for_console,
    stamps_of,
)
from alita_tui.evaluation.suite import Case

Waits = Callable[[Wait], object]
"""Called with each case that begins to wait for the person."""

_LOOK_SECONDS = 0.5
"""Seconds between two looks for verdicts."""


class CaseQueue:
    """The cases that have not ended. Only one case at a time runs in a home."""

    def __init__(
        self,
        person: AppContext,
        homes: CaseHomes,
        left: Sequence[tuple[Case, str, int]],
        under_way: Collection[Key],
        freed: asyncio.Event,
        waits: Waits,
        *,
        stream: bool,
        stay: bool,
    ) -> None:
        """`left` are the cases to run, `under_way` those that run now. `freed` is set when a home may be free.

        `stream`: the cases share homes. `stay`: `take` waits for parked cases even if no other case is left.
        """
        self._person, self._homes, self._under_way, self._freed = person, homes, under_way, freed
        self._report_wait, self._stream, self._stay = waits, stream, stay
        self._left = list(left)
        self._waiting: dict[Key, tuple[Case, Wait]] = {}
        self._reported: set[str] = set()
        """`Wait.asks` of every wait that was reported, so that none is reported twice."""
        self._busy: set[str] = set()
        """Homes in which a case runs or waits for the person."""

    @property
    def keys(self) -> tuple[Key, ...]:
        """The cases that were not taken yet, in order."""
        return tuple((case.id, model, turn) for case, model, turn in self._left)

    async def take(self) -> tuple[Case, Key] | None:
        """Take the next case whose home is free, waiting for one if necessary; None when none is left."""
        while True:
            for place, (case, model, turn) in enumerate(self._left):
                home = self._home(key := (case.id, model, turn))
                if home not in self._busy:
                    del self._left[place]
                    self._busy.add(home)
                    return case, key
            if not (self._under_way and (self._left or self._waiting)) and not await self._awaits_person():
                return None
            self._freed.clear()
            await self._freed.wait()

    def release(self, key: Key) -> None:
        """Free the home of a case that no longer runs."""
        self._busy.discard(self._home(key))
        self._freed.set()

    async def park(self, case: Case, key: Key) -> None:
        """Hold a case until the person has decided, and report that once. Later cases of its stream wait, too."""
        self._busy.add(self._home(key))
        wait = await asyncio.to_thread(self._wait_of, key)
        self._waiting[key] = case, wait
        if wait.asks and wait.asks not in self._reported:
            self._reported.add(wait.asks)
            self._report_wait(wait)

    async def look_for_verdicts(self) -> None:
        """Queue each parked case again once its verdict was given or its console was closed. Runs until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            for key, (case, wait) in tuple(self._waiting.items()):
                if await asyncio.to_thread(may_go_on, wait):
                    del self._waiting[key]
                    self._left.insert(0, (case, key[1], key[2]))
                    self._busy.discard(self._home(key))
            self._freed.set()  # a console may have been closed, too

    def _home(self, key: Key) -> str:
        return home_of(key, stream=self._stream)

    async def _awaits_person(self) -> bool:
        """Return whether to wait for a parked case although no other case is left."""
        for _, wait in tuple(self._waiting.values()):
            if self._stay or await asyncio.to_thread(held_elsewhere, wait.home, wait.session_id):
                return True
        return False

    def _wait_of(self, key: Key) -> Wait:
        """Return what a parked case waits for. Blocks on the disk. Raises StoreError."""
        home, session_id = self._homes.home(key), self._homes.session_id(key)
        stamps = stamps_of(home, session_id)
        pending, console = pending_in(home, session_id), held_elsewhere(home, session_id)
        builds = tuple(build for build in pending if not build.verdict)
        prepare_for_console(self._person, home)
        done = len(builds) < len(pending) or not (builds or console)  # decided, or closed, just now
        return Wait(
            key=key,
            home=home,
            session_id=session_id,
            builds=builds,
            stamps=() if done else stamps,
            console=console,
        )
