"""The five answers of a review in words, for the full screen, `--plain` and the shell alike. Pure; raw text.

What will it be able to touch, what does it do, how sure are we, what is unusual, what changes in the library.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

from alita_tui.events import Capabilities, GateResult
from alita_tui.spine.grants import host_grants, phrases
from alita_tui.spine.text import counted
from alita_tui.state.build import Attempt, BuildState
from alita_tui.view.changes import changes
from alita_tui.view.purpose import purpose
from alita_tui.view.risk import Risk, risks

Words = tuple[str, str]
"""A piece of text and its tone: empty, `good`, `warn`, `bad` or `muted`."""
_COUNTED = re.compile(r"(?:the tests (?:caught|catch) )?(\d+) of (\d+) (?:cases|planted bugs|mutants)\b")
_REPEATED = re.compile(r"\ball (\d+) recorded calls come out as before")
_OTHERWISE = re.compile(r"\b(\d+) of (\d+) recorded calls come out otherwise")
_OUT_OF_TIME = re.compile(r"there was time for (\d+) of (\d+) ")


class FiveAnswers(msgspec.Struct, frozen=True):
    """What a person needs to know before deciding, in the order in which it is shown."""

    touches: tuple[Words, ...]
    """What it will be able to touch, a line each; at the end what it will not."""
    does: str
    """Computed from its schemas and checks."""
    claim: str
    """What its author says that it does."""
    why_language: str
    """The author's reason for another language than Python, as the end of a sentence; may be empty."""
    how_sure: tuple[Words, ...]
    """The results of the tests, pieces of one line."""
    unusual: tuple[Risk, ...]
    """The most serious first."""
    changes: tuple[str, ...]
    """What changes in the library, a sentence each."""


def five_answers(build: BuildState, attempt: Attempt, withheld: Collection[str] = ()) -> FiveAnswers:
    """Return the five answers about a draft, if the `withheld` capabilities are not granted."""
    draft = attempt.draft
    reason = f"; its author says why: {attempt.language_reason}" if attempt.language_reason else ""
    return FiveAnswers(
        touches=touches(attempt, withheld),
        does=purpose(attempt),
        claim=draft.description,
        why_language=reason,
        how_sure=how_sure(attempt),
        unusual=risks(build, attempt, withheld),
        changes=changes(build, attempt),
    )


def touches(attempt: Attempt, withheld: Collection[str] = ()) -> tuple[Words, ...]:
    """Return in plain words what a draft will be able to touch, then what it will not."""
    requested = attempt.draft.capabilities.without(withheld)
    if not requested.none:
        touched = tuple((text, "warn") for text in _requested_lines(requested))
        not_requested = _not_requested(requested)
        return (*touched, (not_requested, "muted")) if not_requested else touched
    if not attempt.draft.capabilities.none:
        return (("nothing, since all that it asks for is withheld", "good"),)
    check = next((gate for gate in attempt.gates if gate.gate == "capabilities"), None)
    if check is not None and check.state == "failed":
        tried = [_TRIED.get(row.label, row.label) for row in check.rows if row.tone == "bad"]
        what = ", ".join(tried) or "to reach more; see unusual"
        return ((f"asks for nothing, but its code tries {what}", "bad"),)
    if check is None or check.state == "skipped":
        return (("asks for nothing; whether it tries to reach more was not checked", "warn"),)
    return ((f"nothing: {_not_requested(requested)}", ""),)


_TRIED = {
    "network": "to use the internet",
    "writes": "to change files",
    "reads": "to read files",
    "processes": "to start programs",
    "environment": "to read environment variables",
    "code": "to run code that is not on the page",
}
"""Kind of access in the rows of the check of permissions → words."""


def _requested_lines(requested: Capabilities) -> list[str]:
    """Return a line for each thing that is requested."""
    lines = []
    hosts = {grant.text: grant for grant in host_grants(requested)}
    for entry in requested.network:
        host = next((grant for text, grant in hosts.items() if text.lower() == entry.lower()), None)
        if host is None:
            lines.append(f"nothing for {entry!r}, which is not a host")
            continue
        methods = f"{' and '.join(host.methods)} requests only" if host.methods else ""
        lines.append(f"the internet: {host.where}, {methods or 'may also send data'}")
    if requested.workspace != "none":
        verb = "reads" if requested.workspace == "read" else "reads and changes"
        lines.append(f"your files: {verb} those in your workspace folder")
    for phrase in phrases(msgspec.structs.replace(requested, workspace="none", model_calls=0, tools=())):
        if phrase.startswith("the secret "):
            lines.append(f"your {phrase.removeprefix('the ').removesuffix(' alone')} only")
        elif phrase.startswith("a browser "):
            lines.append(phrase)
    if requested.model_calls:
        lines.append(f"models: up to {counted(requested.model_calls, 'call')} a run, on your account")
    lines += phrases(Capabilities(tools=requested.tools))
    return lines


def _not_requested(requested: Capabilities) -> str:
    """Return what is not requested, as a list in words; empty if a tool that it calls may reach anything."""
    if requested.tools:
        return ""  # what those may touch is said with them
    not_requested = {
        "no internet": requested.network or requested.browser,
        "none of your files": requested.workspace != "none",
        "no secrets": requested.secrets,
        "no models": requested.model_calls,
        "no other tools": False,
    }
    return ", ".join(words for words, asked in not_requested.items() if not asked)


_SIGNS = {"passed": ("■", "good"), "failed": ("✗", "bad"), "skipped": ("○", "warn")}


def how_sure(attempt: Attempt) -> tuple[Words, ...]:
    """Return the results in one line: own tests, hidden tests, planted bugs, replayed calls, all checks."""
    cases = attempt.reports[-1].cases if attempt.reports else ()
    good = sum(case.passed for case in cases)
    own_passed = bool(cases) and good == len(cases)
    own = f"own tests {good} of {len(cases)}" if cases else "no own test ran"
    sign, tone = _SIGNS["passed" if own_passed else "failed" if cases else "skipped"]
    pieces: list[Words] = [(sign, tone), (" ", ""), (own, "" if own_passed else "bad")]
    results = {gate.gate: gate for gate in attempt.gates}
    for result, words in (
        (results.get("hidden"), hidden_words(results.get("hidden"))),
        (results.get("mutation"), mutation_words(results.get("mutation"))),
        (results.get("replay"), replay_words(results.get("replay"))),
    ):
        sign, tone = _SIGNS[result.state if result else "skipped"]
        plain = result is not None and result.state == "passed"
        without_sign = words.startswith("no ")
        pieces.append((" · ", ""))
        pieces += [] if without_sign else [(sign, tone), (" ", "")]
        pieces.append((words, "muted" if without_sign else "" if plain else tone))
    states = [gate.state for gate in attempt.gates]
    total = 1 + len(states) + len(attempt.unchecked)
    passed = states.count("passed") + own_passed
    if passed == total:
        return (*pieces, (f" · all {total} checks passed", ""))
    pieces.append((f" · {passed} of {total} checks", ""))
    failed, lapsed = states.count("failed") + (not own_passed), states.count("skipped")
    for number, words, tone in (
        (failed, "failed", "bad"),
        (lapsed, "could not run", "warn"),
        (len(attempt.unchecked), "not run", "warn"),
    ):
        pieces += [(f", {number} {words}", tone)] if number else []
    return tuple(pieces)


def hidden_words(result: GateResult | None) -> str:
    """Return the result of the hidden tests with its figures."""
    if result is None:
        return "hidden tests not run"
    if result.state == "skipped":
        return f"hidden tests could not run{_in_time(result)}"
    good, tried = _figures(result)
    if tried:
        return f"hidden tests {good} of {tried}"
    if result.state == "passed" and "none can be written" in result.summary:
        return "no hidden test can be written"
    return f"hidden tests {result.state}"


def mutation_words(result: GateResult | None) -> str:
    """Return how many planted bugs were caught."""
    if result is None:
        return "planted bugs not tried"
    if result.state == "skipped":
        return "planted bugs could not be tried"
    good, tried = _figures(result)
    if tried:
        return f"planted bugs caught {good} of {tried}"
    return "planted bugs caught" if result.state == "passed" else "planted bugs: the tests prove nothing"


def replay_words(result: GateResult | None) -> str:
    """Return how many recorded calls were replayed, and how many come out otherwise."""
    if result is None:
        return "real calls not replayed"
    if result.state == "skipped":
        return f"real calls could not be replayed{_in_time(result)}"
    same, tried = result.good, result.tried
    if not tried and (match := _OTHERWISE.search(result.summary)):
        same, tried = int(match[2]) - int(match[1]), int(match[2])
    elif not tried and (match := _REPEATED.search(result.summary)):
        same = tried = int(match[1])
    if tried and same < tried:
        return f"{tried - same} of {counted(tried, 'real call')} come out otherwise"
    if tried and result.state == "passed":
        return f"{counted(tried, 'real call')} replayed"
    if result.state == "failed":
        return (
            f"{counted(tried, 'real call')} replayed, but other findings"
            if tried
            else "real calls: it failed"
        )
    return "no real calls to replay"


def _figures(result: GateResult) -> tuple[int, int]:
    """Return how many were good of how many tried; from its summary in records of earlier versions."""
    if not result.tried and (match := _COUNTED.match(result.summary)):
        return int(match[1]), int(match[2])
    return result.good, result.tried


def _in_time(result: GateResult) -> str:
    """Return how many there was time for, if that is why a check counts as not run."""
    match = _OUT_OF_TIME.search(result.summary)
    return f" (time for {match[1]} of {match[2]})" if match else ""
