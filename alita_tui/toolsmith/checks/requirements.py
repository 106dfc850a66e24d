"""Checks requirements before they are fetched: look-alikes, brand-new, yanked and vulnerable packages stop here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from functools import cache
from importlib.resources import files

from alita_tui.events import GateName, GateResult, GateRow, LockedPackage
from alita_tui.spine.ports.web import FaultBook, Faults, PackageFacts, PackageIndex
from alita_tui.spine.requirements import NPM, distribution
from alita_tui.spine.text import one_line
from alita_tui.toolsmith.checks.case import Case, CouldNotRun, Tone, evidence, failed, passed

_YOUNG_DAYS = 30
"""Age in days below which hardly anyone has reviewed a project."""
_GROWN_DAYS = 730
"""Age in days above which a look-alike has a reputation of its own."""
_DROPPED = str.maketrans("", "", "-._/@")
_SWAPS = str.maketrans("0135", "oles")
_AT_ONCE = 8
_NO_DATABASE = "the known faults could not be looked up"


class RequirementsCheck:
    """Requirements that need a look before they are installed."""

    name: GateName = "requirements"

    def __init__(
        self,
        index: PackageIndex,
        book: FaultBook,
        now: Callable[[], datetime],
        accepted: Callable[[], str] = lambda: "",
    ) -> None:
        """`accepted` returns the tool that a person approved in this session though no fault database answered."""
        self._index = index
        self._book = book
        self._now = now
        self._accepted = accepted

    async def check(self, case: Case) -> GateResult:
        """Report suspicious, young, withdrawn and vulnerable packages. Raises CouldNotRun."""
        packages = case.lock.packages
        names = {name for requirement in case.draft.requirements if (name := distribution(requirement))}
        if not packages and not names:
            return passed(self.name, "none: the standard library alone")
        limit = asyncio.Semaphore(_AT_ONCE)

        async def ask(package: LockedPackage) -> PackageFacts | None:
            async with limit:
                return await self._index.package(package.name, package.version)

        all_facts = await asyncio.gather(*(ask(package) for package in packages))
        judged = await asyncio.to_thread(lambda: list(map(self._judge, packages, all_facts)))
        # The fault database is not asked about packages that are refused anyway.
        stopped = any(faults for faults, _ in judged)
        listed = Faults(problem="not asked") if stopped else await self._book.faults(packages)
        rows: list[GateRow] = []
        bad: list[str] = []
        for package, (faults, notes) in zip(packages, judged, strict=True):
            if ids := listed.known.get(package.label):
                faults.append(f"version {package.version} has known faults: {', '.join(ids[:3])}")
            elif listed.problem:
                notes.append("known faults were not looked up")
            bad += [f"{package.name}: {fault}" for fault in faults]
            text = "; ".join([*faults, *notes])
            is_namesake = package.direct and namesake(package.name)
            tone: Tone = "bad" if faults else "warn" if is_namesake else "good"
            rows.append(evidence(f"{package.name} {package.version}", text, tone))
        if bad:
            return failed(self.name, "; ".join(bad), rows)
        without_facts = [
            package.name
            for package, facts in zip(packages, all_facts, strict=True)
            if (facts is None or (package.place and self._days(facts.first_upload) is None))
            and (package.direct or package.name not in known_names(package))
        ]
        if without_facts:
            also = f"; and {_NO_DATABASE}: {listed.problem}" if listed.problem else ""
            unknown_age = f"the index did not tell of {', '.join(without_facts[:5])}: their age is open{also}"
            raise CouldNotRun(unknown_age, rows)
        if listed.problem:
            accepted_with = self._accepted()
            as_accepted = f", as was accepted with {accepted_with}" if accepted_with else ""
            return GateResult(
                gate=self.name,
                state="skipped",
                summary=one_line(f"{_NO_DATABASE}{as_accepted}: {listed.problem}", 300),
                rows=tuple(rows),
                no_fault_database=True,
                accepted_with=accepted_with,
            )
        return passed(
            self.name, f"{len(packages)} packages, none young, yanked, vulnerable or a look-alike", rows
        )

    def _judge(self, package: LockedPackage, facts: PackageFacts | None) -> tuple[list[str], list[str]]:
        """Return what is wrong with a package, for the model and the person, and what only the person should know."""
        since = (facts.first_upload if facts else "") or package.uploaded
        days = self._days(since)
        original = look_alike(package.name)
        faults, notes = [], []
        if original and (days is None or days < _GROWN_DAYS):
            age = "of unknown age" if days is None else f"{days} days old"
            faults.append(f"it looks like {original}, which is meant more often, and is {age}")
        elif original:
            notes.append(f"looks like {original}, but has its own history")
        elif popular_one := namesake(package.name):
            scope = package.name.removeprefix(NPM).partition("/")[0]
            notes.append(f"has the name of {popular_one.removeprefix(NPM)}, but is of {scope}")
        young = days is not None and days < _YOUNG_DAYS
        if young and facts and facts.first_upload:
            faults.append(f"the project first appeared {days} days ago")
        elif young and package.name not in known_names(package):
            notes.append(f"this version is {days} days old; when the project began is not known")
        elif days is not None:
            notes.append(f"there since {since[:10]}")
        if (facts and facts.yanked) or package.deprecated:
            # Many npm packages depend indirectly on a deprecated one, and no choice of versions avoids that.
            remarks = notes if package.place and not package.direct else faults
            remarks.append(f"version {package.version} was withdrawn by its authors")
        if (
            package.deprecated
        ):  # a note, because the model is shown only the faults, and this text is a stranger's
            notes.append(f"they say: {package.deprecated}")
        if facts is None:
            notes.append("the index told nothing more")
        elif package.place and days is None:
            notes.append("the index does not tell since when it is there")
        return faults, notes

    def _days(self, uploaded: str) -> int | None:
        try:
            when = datetime.fromisoformat(uploaded)
        except ValueError:
            return None
        now = self._now()
        return max(0, (now - (when if when.tzinfo else when.replace(tzinfo=now.tzinfo))).days)


def look_alike(name: str) -> str:
    """Return the popular package that a name could be mistaken for; empty if there is none, or if it is popular."""
    from rapidfuzz.distance import OSA

    popular_names, plain_of = (popular_of_npm(), _plain_npm) if name.startswith(NPM) else (popular(), _plain)
    if name in popular_names:
        return ""
    plain = plain_of(name)
    if name.startswith(NPM) and (original := _known_without_ends().get(_without_ends(plain))):
        return original
    if (original := namesake(name)) and _without_ends(_plain_npm(_scope(name))) == _without_ends(
        _plain_npm(original)
    ):
        return original  # `@lodash/lodash` seems to come from the makers of lodash, but anyone can take a free scope
    for popular_name in popular_names:
        plain_known = plain_of(popular_name)
        if plain == plain_known:
            return popular_name
        most = 1 if len(plain_known) < 9 else 2
        # Optimal string alignment: a swap of two neighbours is one edit.
        if len(plain_known) >= 4 and OSA.distance(plain, plain_known, score_cutoff=most) <= most:
            return popular_name
    return ""


def namesake(name: str) -> str:
    """Return the popular npm package that an unknown scope repeats: `lodash` for `@abp/lodash`; empty for any other."""
    if not name.startswith(f"{NPM}@") or _scope(name) in _known_scopes():
        return ""
    popular_name = _known_without_ends().get(_without_ends(_plain_npm(name.partition("/")[2])), "")
    return "" if popular_name.startswith(f"{NPM}@") else popular_name


def _scope(name: str) -> str:
    return name.partition("/")[0] if name.startswith(f"{NPM}@") else ""


@cache
def _known_scopes() -> frozenset[str]:
    """Return the scopes of the popular npm packages, as `npm:@SCOPE`; only a scope's owner can publish in it."""
    return frozenset(_scope(name) for name in popular_of_npm()) - {""}


def known_names(package: LockedPackage) -> tuple[str, ...]:
    """Return the popular packages of the registry that a package comes from."""
    return popular_of_npm() if package.place else popular()


@cache
def popular() -> tuple[str, ...]:
    """Return the names (PEP 503) of the most used packages of the index, sorted."""
    return tuple(files("alita_tui.toolsmith").joinpath("popular.txt").read_text("utf-8").split())


@cache
def popular_of_npm() -> tuple[str, ...]:
    """Return the names of the most used packages of npm, sorted, as `npm:NAME`."""
    listed = files("alita_tui.toolsmith").joinpath("popular_npm.txt").read_text("utf-8").split()
    return tuple(f"{NPM}{name}" for name in listed)


def _plain(name: str) -> str:
    return name.replace("-", "").removeprefix("python").translate(_SWAPS)


@cache
def _plain_npm(name: str) -> str:
    plain = name.removeprefix(NPM).lower().translate(_DROPPED).translate(_SWAPS)
    return plain.replace("rn", "m").replace("vv", "w")


def _without_ends(plain: str) -> str:
    """Return a plain npm name without `node` or `js` at its ends, so that `node-request.js` is `request`."""
    return plain.removeprefix("node").removesuffix("js").removesuffix("node")


@cache
def _known_without_ends() -> dict[str, str]:
    """Return the popular npm packages by their plain names without these ends, if at least four letters are left."""
    names = ((_without_ends(_plain_npm(name)), name) for name in reversed(popular_of_npm()))
    return {plain: name for plain, name in names if len(plain) >= 4}
