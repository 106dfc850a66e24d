"""Finds the tool that fits a need, by its own words and by those of queries it has served.

Adding the queries that a tool answered to its text helps the next query more than a better encoder does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from alita_tui.events import Alias, Json, NearMiss, SearchHit, ToolRecord
from alita_tui.spine.ports.library import SearchResult
from alita_tui.spine.ranking import Ranking

HIT = 0.36
"""Score from which a tool is offered for use; below it, it is a near miss."""
_BESIDE = 0.6
"""Share of the best score that further hits have to reach."""
_NEAR = 0.08
"""Score below which a tool is unrelated to the need."""
_NEAR_MISSES = 3


class ToolIndex:
    """The newest runnable version of every tool, by name."""

    def __init__(self) -> None:
        self._ranking = Ranking()
        self._records: dict[str, ToolRecord] = {}
        self._texts: dict[str, tuple[object, ...]] = {}

    def update(
        self, records: Iterable[tuple[ToolRecord, tuple[str, ...]]], aliases: Iterable[Alias] = ()
    ) -> None:
        """Index exactly these tools, each with the queries it has served and its other names.

        Unchanged tools are not indexed again.
        """
        dropped = set(self._records)
        names: defaultdict[str, list[Alias]] = defaultdict(list)
        for alias in aliases:
            names[alias.target.name].append(alias)
        for record, queries in records:
            draft = record.draft
            dropped.discard(draft.name)
            self._records[draft.name] = record
            text = (
                draft.description,
                tuple(_properties(draft.input_schema)),
                queries,
                tuple(names[draft.name]),
            )
            if self._texts.get(draft.name) != text:
                self._texts[draft.name] = text
                title = draft.name.replace("_", " ")
                served = " \n".join(queries)
                fields = [(title, 2.0), (draft.description, 1.0), (" ".join(text[1]), 0.5), (served, 1.0)]
                for alias in names[draft.name]:
                    fields += [(alias.name.replace("_", " "), 2.0), (alias.description, 1.0)]
                self._ranking.put(draft.name, fields, title=title)
        for name in dropped:
            del self._records[name], self._texts[name]
            self._ranking.remove(name)

    def search(self, query: str, limit: int) -> SearchResult:
        """Return tools that fit, best first, and the nearest of those that do not."""
        hits: list[SearchHit] = []
        near: list[NearMiss] = []
        ranked = self._ranking.rank(query)
        bar = max(HIT, _BESIDE * ranked[0].score) if ranked else HIT
        for match in ranked:
            record = self._records[match.key]
            if match.score >= bar and len(hits) < limit:
                hits.append(
                    SearchHit(
                        card=record.card,
                        score=match.score,
                        input_schema=record.draft.input_schema,
                        output_schema=record.draft.output_schema,
                    )
                )
            elif _NEAR <= match.score < bar and len(near) < _NEAR_MISSES:
                near.append(
                    NearMiss(
                        name=match.key,
                        version=record.version,
                        score=match.score,
                        description=record.draft.description,
                    )
                )
        return SearchResult(hits=tuple(hits), near_misses=tuple(near))


def _properties(schema: Json) -> Iterator[str]:
    """Yield the names of a schema's properties as words, nested ones included; a schema may be anything."""
    if isinstance(schema, dict):
        properties = schema.get("properties")
        if isinstance(properties, dict):
            for name, inner in properties.items():
                yield str(name).replace("_", " ")
                yield from _properties(inner)
        yield from _properties(schema.get("items"))
