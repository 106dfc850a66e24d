"""Estimates the cost and duration of a task from similar tasks, and reports how often such estimates held.

Similarity is the cosine of the stems of the tasks' words, with more weight on rare ones. If a task is drawn from the
same distribution as n similar ones, it lies between their k-th smallest and k-th largest with probability
1 - 2k / (n + 1), whatever the distribution is. So from nine tasks on, the range holds at least eight times out of ten;
with fewer tasks there is no estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from alita_tui.spine.ports.statistics import Estimate, EstimateAccuracy, Place
from alita_tui.statistics.records import Column, Records
from alita_tui.statistics.rows import words_of

LEAST = 9
MOST = 60
"""Maximum number of tasks in an estimate: the most similar, and of equally similar ones the newest."""
_ALIKE = 0.4
_HEAVIEST = 3.0
"""Largest weight of a rare word: most rare words are details of a task, such as a place, and do not tell its kind."""
_LEFT_OUT = ("", "parked", "interrupted", "sandbox")
"""Outcomes of tasks that are no evidence of cost or duration."""
_CHECKED = 100
"""Number of the newest tasks for which estimates are checked."""


def task_usd(records: Records) -> Column:
    """Return the cost of each task in US dollars; NaN if a call of it has no known price."""
    calls, tasks = records.tables["calls"], records.tables["tasks"]
    owner = records.tasks_of("calls")
    of_tasks = owner >= 0
    paid = calls["paid"][of_tasks]
    prices = np.where(paid, calls["usd"][of_tasks], 0.0)
    usd: Column = np.bincount(owner[of_tasks], weights=prices, minlength=len(tasks)).astype(float)
    return usd


class Estimator:
    """Makes estimates from the records of all sessions."""

    def __init__(self, records: Records) -> None:
        tasks = records.tables["tasks"]
        self._records = records
        self._owner = records.owners("tasks")
        self._usd = task_usd(records)
        self._seconds = tasks["seconds"]
        codes = [number for number, name in enumerate(records.names) if name in _LEFT_OUT]
        self._counts = ~np.isin(tasks["outcome"], codes) & ~tasks["again"] & (tasks["end"] > 0)
        self._at = tasks["at"]
        self._ended = np.where(np.isnan(self._seconds), np.inf, self._at + np.nan_to_num(self._seconds))
        counts = tasks["words"].astype(np.int64)
        words = records.tables["words"]
        self._starts = np.concatenate(([0], np.cumsum(counts)))
        of_task = np.repeat(np.arange(len(tasks)), counts)
        order = np.argsort(words, kind="stable")
        self._posted = of_task[order]
        self._words, starts = np.unique(words[order], return_index=True)
        self._posting = np.append(starts, len(words))
        frequency = np.diff(self._posting)
        self._weights = np.minimum(np.log(1 + len(tasks) / np.maximum(frequency, 1)), _HEAVIEST)
        coded = np.searchsorted(self._words, words)
        squares = self._weights[coded] ** 2 if len(words) else np.empty(0)
        self._norms = np.sqrt(np.bincount(of_task, weights=squares, minlength=len(tasks)))

    def estimate(self, text: str) -> Estimate:
        """Return the estimate for a task with this text."""
        return self._estimate(self._similar(words_of(text), self._counts))

    def accuracy(self) -> EstimateAccuracy:
        """Return how often estimates held; each of the newest tasks is estimated from tasks that ended before it."""
        rows = np.flatnonzero(self._counts)
        newest = rows[np.argsort(self._at[rows], kind="stable")][-_CHECKED:]
        words = self._records.tables["words"]
        figures = [0, 0, 0, 0, 0]
        for row in newest.tolist():
            earlier = self._counts & (self._ended <= self._at[row])
            task_words = words[self._starts[row] : self._starts[row + 1]].tolist()
            estimate = self._estimate(self._similar(tuple(task_words), earlier), places=False)
            figures[0] += estimate.count > 0
            for index, (span, value) in enumerate(
                ((estimate.usd, self._usd[row]), (estimate.seconds, self._seconds[row]))
            ):
                if span is not None and not math.isnan(value):
                    figures[1 + 2 * index] += 1
                    figures[2 + 2 * index] += bool(span[0] <= value <= span[2])
        return EstimateAccuracy(*figures)

    def _similar(self, words: tuple[int, ...], counts: Column) -> tuple[Column, bool]:
        """Return similar tasks and True, or all tasks that count and False if too few are similar."""
        codes = np.searchsorted(self._words, np.array(words, np.uint32))
        known_codes = [
            int(code)
            for code, word in zip(codes.tolist(), words, strict=True)
            if code < len(self._words) and self._words[code] == word
        ]
        unknown = len(words) - len(known_codes)
        norm = math.sqrt(
            sum(float(self._weights[code]) ** 2 for code in known_codes) + unknown * _HEAVIEST**2
        )
        if known_codes and norm:
            posted = [self._posted[self._posting[code] : self._posting[code + 1]] for code in known_codes]
            weights = [
                np.full(len(rows_of_word), self._weights[code] ** 2)
                for code, rows_of_word in zip(known_codes, posted, strict=True)
            ]
            scores = np.bincount(
                np.concatenate(posted), weights=np.concatenate(weights), minlength=len(self._at)
            )
            rows = np.flatnonzero((scores > 0) & counts)
            likeness = scores[rows] / np.maximum(self._norms[rows] * norm, 1e-9)
            rows, likeness = rows[likeness >= _ALIKE], likeness[likeness >= _ALIKE]
            if len(rows) >= LEAST:
                return rows[np.lexsort((self._at[rows], likeness))][-MOST:], True
        rows = np.flatnonzero(counts)
        return rows[np.argsort(self._at[rows], kind="stable")][-MOST:], False

    def _estimate(self, matches: tuple[Column, bool], *, places: bool = True) -> Estimate:
        rows, alike = matches
        if len(rows) < LEAST:
            return Estimate(count=0, alike=alike)
        places_shown: tuple[Place, ...] = ()
        if places:
            newest = rows[np.argsort(self._at[rows], kind="stable")][::-1][:20]
            sessions, seqs = self._records.sessions, self._records.tables["tasks"]["seq"]
            places_shown = tuple(
                Place(sessions[int(self._owner[row])].session_id, int(seqs[row])) for row in newest.tolist()
            )
        return Estimate(
            count=len(rows),
            alike=alike,
            usd=span_of(self._usd[rows]),
            seconds=span_of(self._seconds[rows]),
            places=places_shown,
        )


def span_of(values: Column | Sequence[float]) -> tuple[float, float, float] | None:
    """Return low, median and high of a sample, with eight of ten values between low and high.

    Returns None for fewer than nine known values.
    """
    ordered = np.sort(np.asarray(values, float)[~np.isnan(np.asarray(values, float))])
    if len(ordered) < LEAST:
        return None
    rank = max(int(0.1 * (len(ordered) + 1) + 1e-9), 1)
    return float(ordered[rank - 1]), float(np.median(ordered)), float(ordered[-rank])
