"""Which case of a run comes next, and which wait for their person."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

from alita_tui.app.context import AppContext
from alita_tui.app.eval_costs import Key, home_of
from alita_tui.app.eval_homes import CaseHomes
from alita_tui.app.eval_waiting import (
    Wait,
    held_elsewhere,
    may_go_on,
    pending_in,
    settle_for_console,
    stamps_of,
)
from alita_tui.evaluation.suite import Case

Waits = Callable[[Wait], object]
"""Told of each case that begins to wait for the person."""

_LOOK_SECONDS = 0.5
"""After which it is looked again whether the person decided."""


class CaseQueue:
    """The cases that have not ended; one is taken once no other is in its home."""

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
        """`under_way` holds the cases that run now. `freed` is set where a home may have become free.

        `stream`: the cases share homes. `stay`: cases that wait are waited for although nothing else is left to do.
        """
        self._person, self._homes, self._under_way, self._freed = person, homes, under_way, freed
        self._tell_wait, self._stream, self._stay = waits, stream, stay
        self._left = list(left)
        self._waiting: dict[Key, tuple[Case, Wait]] = {}
        self._told: set[str] = set()
        """What the person was told of as waiting."""
        self._busy: set[str] = set()
        """Homes in which a case runs, or waits for a person."""

    @property
    def keys(self) -> tuple[Key, ...]:
        """The cases that nobody has taken, in their order."""
        return tuple((case.id, model, turn) for case, model, turn in self._left)

    async def take(self) -> tuple[Case, Key] | None:
        """Take the next case whose home is free; None if none is left or will be."""
        while True:
            for place, (case, model, turn) in enumerate(self._left):
                home = self._home(key := (case.id, model, turn))
                if home not in self._busy:
                    del self._left[place]
                    self._busy.add(home)
                    return case, key
            if not (self._under_way and (self._left or self._waiting)) and not await self._stays():
                return None
            self._freed.clear()
            await self._freed.wait()

    def release(self, key: Key) -> None:
        """Free the home of a case that no longer runs."""
        self._busy.discard(self._home(key))
        self._freed.set()

    async def park(self, case: Case, key: Key) -> None:
        """Keep a case until the person decided, and tell them once; what follows in a stream waits, too."""
        self._busy.add(self._home(key))
        wait = await asyncio.to_thread(self._wait_of, key)
        self._waiting[key] = case, wait
        if new := {wait.asks} - self._told - {""}:
            self._told |= new
            self._tell_wait(wait)

    async def look_for_verdicts(self) -> None:
        """Take up again each case whose person has decided, or has closed its session; until it is cancelled."""
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

    async def _stays(self) -> bool:
        """Return whether a case is waited for although nothing else is left to do."""
        for _, wait in tuple(self._waiting.values()):
            if self._stay or await asyncio.to_thread(held_elsewhere, wait.home, wait.named):
                return True
        return False

    def _wait_of(self, key: Key) -> Wait:
        home, named = self._homes.home(key), self._homes.named(key)
        stamps = stamps_of(home, named)
        pending, console = pending_in(home, named), held_elsewhere(home, named)
        builds = tuple(build for build in pending if not build.verdict)
        settle_for_console(self._person, home)
        done = len(builds) < len(pending) or not (builds or console)  # decided, or closed, just now
        return Wait(
            key=key, home=home, named=named, builds=builds, stamps=() if done else stamps, console=console
        )
