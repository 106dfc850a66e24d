"""Finds the tool that fits a need, by its own words and by the words of needs that it has met before.

Learning from the needs that a tool has met improves later searches more than a better encoder does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from alita_tui.events import Alias, Json, NearMiss, SearchHit, ToolRecord
from alita_tui.registry.index_cache import IndexCache
from alita_tui.spine.ports.library import SearchResult
from alita_tui.spine.ranking import Calibration, Ranked, Ranker, Served, band, prior
from alita_tui.spine.ranking.calibration import NEEDED
from alita_tui.spine.text import counted

SHOWN = 5
"""Number of tools that a search returns, as hits or as near misses."""
_HIT_SHARE = 0.6
"""Share of the best hit's probability that further hits need, if the verdict is that one fits."""
_CACHED_FROM = 100
"""Number of changed tools from which the index is cached again: indexing fewer is faster than reading it."""
_NEAR = 0.01
"""Share of the query's words that a tool needs to count as near."""
_CLOSE = 1.5
"""Standard deviations above other tools' cosines that its vector needs to count as near."""
_RANKED = 100
"""Number of tools that are ranked."""
_NAME, _DESCRIPTION, _PROPERTIES = 3.0, 2.0, 1.0
"""Weights of a tool's own words; words of a need that it has met weigh 1."""


class ToolIndex:
    """The newest runnable version of every tool, by name."""

    def __init__(self, cache: IndexCache | None = None) -> None:
        """With a cache a large index is read from it instead of being built."""
        self._cache = cache
        self._ranker = Ranker(cache.read if cache else bytes)
        self._records: dict[str, ToolRecord] = {}

    def update(
        self, records: Iterable[tuple[ToolRecord, Sequence[Served] | None]], aliases: Iterable[Alias] = ()
    ) -> None:
        """Index exactly these tools, each with the needs it has met and its other names.

        A tool with None instead of needs has not changed since the last update.
        """
        dropped = set(self._records)
        names: defaultdict[str, list[Alias]] = defaultdict(list)
        for alias in aliases:
            names[alias.target.name].append(alias)
        for record, served in records:
            draft = record.draft
            is_new = draft.name not in dropped
            dropped.discard(draft.name)
            self._records[draft.name] = record
            if served is not None or is_new:
                self._ranker.put(draft.name, _fields(record, names[draft.name]), served or ())
        for name in dropped:
            del self._records[name]
            self._ranker.remove(name)

    def change(self, record: ToolRecord, served: Sequence[Served], aliases: Sequence[Alias] = ()) -> None:
        """Index one tool again, immediately."""
        self._records[record.draft.name] = record
        self._ranker.put(record.draft.name, _fields(record, aliases), served)
        self._ranker.settle()

    def rank(self, query: str, cosines: Mapping[str, float] | None = None) -> list[Ranked]:
        """Return all tools that share something with a query, best first."""
        return self._ranker.rank(query, cosines=cosines, contrasted=True)

    def search(
        self,
        query: str,
        limit: int,
        calibration: Calibration | None = None,
        cosines: Mapping[str, float] | None = None,
        without: Collection[str] = (),
    ) -> SearchResult:
        """Return the tools that fit, best first, and near misses; tools named in `without` do not exist for it.

        `calibration` is from this library's history, `cosines` from the vectors of an encoder.
        """
        calibration = calibration or Calibration()
        ranked = self._ranker.rank(query, limit=_RANKED + len(without), cosines=cosines, contrasted=True)
        ranked = [match for match in ranked if match.key not in without][:_RANKED]
        if self._cache and self._ranker.changed > max(_CACHED_FROM, len(self._ranker) // 20):
            self._cache.write(self._ranker.saved())
        best_prior = prior(ranked)
        chance = calibration.chance(best_prior)
        verdict = band(chance)
        near = [
            match for match in ranked[: max(limit, SHOWN)] if match.cover >= _NEAR or match.close >= _CLOSE
        ]
        scores: list[float] = []
        for match in near:  # a lower rank never gets a higher probability
            scores.append(min([calibration.chance(prior([match])), *scores[-1:]]))
        bar = {"fits": _HIT_SHARE * chance, "perhaps": 0.0, "none": 2.0}[verdict]
        hits = sum(score >= bar for score in scores[:limit])
        if verdict == "perhaps" and not hits:
            verdict = "none"
        return SearchResult(
            hits=tuple(self._hit(match, score) for match, score in zip(near[:hits], scores, strict=False)),
            near_misses=tuple(
                self._near_miss(match, score) for match, score in zip(near[hits:], scores[hits:], strict=True)
            ),
            band=verdict,
            chance=round(chance, 4),
            prior=round(best_prior, 4),
            evidence=_evidence(ranked, calibration),
        )

    def _hit(self, match: Ranked, score: float) -> SearchHit:
        record = self._records[match.key]
        return SearchHit(
            card=record.card,
            score=round(score, 4),
            served=match.served,
            input_schema=record.draft.input_schema,
            output_schema=record.draft.output_schema,
        )

    def _near_miss(self, match: Ranked, score: float) -> NearMiss:
        record = self._records[match.key]
        return NearMiss(
            name=match.key,
            version=record.version,
            score=round(score, 4),
            description=record.draft.description,
        )


def _evidence(ranked: Sequence[Ranked], calibration: Calibration) -> str:
    """Return the explanation of a probability: what matched, and what it was calibrated on."""
    basis = (
        f"measured by {calibration.outcomes} earlier searches here"
        if calibration.outcomes
        else f"not measured here yet: fewer than {NEEDED} searches have an outcome"
    )
    if not ranked:
        return basis
    best = ranked[0]
    parts = [f"shares {', '.join(best.words[:4])}"] if best.words else []
    parts += [f"met {counted(best.served, 'such need')}"] if best.served and best.pairs > 0 else []
    parts += ["means nearly the same"] if best.close >= _CLOSE else []
    return "; ".join([*parts, basis])


def wording(record: ToolRecord) -> str:
    """Return the text of a tool for an encoder."""
    return f"{record.draft.name.replace('_', ' ')}. {record.draft.description}"


def _fields(record: ToolRecord, aliases: Sequence[Alias]) -> list[tuple[str, float]]:
    """Return the texts by which a tool is found, with their weights."""
    draft = record.draft
    fields = [(draft.name.replace("_", " "), _NAME), (draft.description, _DESCRIPTION)]
    fields.append((" ".join(_properties(draft.input_schema)), _PROPERTIES))
    for alias in aliases:
        fields += [(alias.name.replace("_", " "), _NAME), (alias.description, _DESCRIPTION)]
    return fields


def _properties(schema: Json) -> Iterator[str]:
    """Yield the names of a schema's properties as words, nested ones included; a schema may be anything."""
    if isinstance(schema, dict):
        properties = schema.get("properties")
        if isinstance(properties, dict):
            for name, inner in properties.items():
                yield str(name).replace("_", " ")
                yield from _properties(inner)
        yield from _properties(schema.get("items"))
