"""Facts: what the person stated, and what a model proposes and the record confirms.

A fact appears literally in something that the person said, or in a tool's result in a session that read nothing from
outside. What was recalled, searched, read or attached never becomes a fact, however often it is repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from alita_tui.events import (
    ArtefactAdded,
    BrokerAnswered,
    ContextGiven,
    Json,
    LookedBack,
    MemoryItem,
    MemoryOrigin,
    MemoryRecalled,
    PageLogged,
    PageRead,
    QuestionAnswered,
    QuestionAsked,
    SessionEvent,
    Steered,
    TaskSubmitted,
    ToolCalled,
    ToolReturned,
    Value,
    WebSearched,
)
from alita_tui.memory.course import Course
from alita_tui.memory.stated import (
    PRONOUN,
    SENTENCE,
    STATEMENT,
    fact,
    own_words,
    plain,
    stated,
    stems,
)
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.history import of
from alita_tui.spine.ports.memory import OWN_WORDS, ProposedFact
from alita_tui.spine.ranking import words
from alita_tui.spine.text import neutralise, one_line
from alita_tui.spine.verbatim import occurrences

_MOST = 6
"""Maximum number of facts learned from one task."""
_RESULT = 20_000
"""Characters of a result that are searched for a fact."""

_ONE_OFF = re.compile(
    r"(?:yes|no|y|n|ok(?:ay)?|sure|fine|go(?: ahead| on)?|do it|stop|cancel|skip|continue|later|maybe|thanks?|"
    r"please do|never mind|whatever|both|neither|all|none|\W*+\d{0,2}\W*+)[.! ]*",
    re.IGNORECASE,
)
"""Answers that allow something once, or name a choice by its number: no facts."""
_NEGATES = re.compile(
    r"\b(?:not|no|never|none|nothing|nobody|nor|neither|cannot|without|hardly|except|unless|until|if|whether|instead|"
    r"avoid|stop|wrong|false|untrue|nicht|kein\w*|nie|niemals|ohne|wenn|falls|ob|statt|falsch|"
    r"ne|pas|jamais|sans|si|nunca|jamás|sin|non|senza)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Words that may negate the text beside them, or make it conditional."""


class Statement(Value, frozen=True):
    """A statement that may become a fact, and the event that it is from."""

    seq: int
    subject: str
    statement: str
    origin: MemoryOrigin


def facts_of(
    envelopes: Sequence[Envelope], course: Course, proposed: Sequence[ProposedFact] = ()
) -> tuple[MemoryItem, ...]:
    """Return the facts that a task teaches: those that the person stated, then the proposals that hold."""
    facts: dict[str, MemoryItem] = {}
    for statement in (*_stated_by_person(envelopes, course), *_confirmed(envelopes, course, proposed)):
        item = fact(
            statement.subject, statement.statement, course.session_id, statement.seq, statement.origin
        )
        if item is not None:
            facts.setdefault(item.item_id, item)
    return tuple(facts.values())[:_MOST]


# --- what the person said ------------------------------------------------------------------------


def _stated_by_person(envelopes: Sequence[Envelope], course: Course) -> Iterator[Statement]:
    answers = _answers(envelopes, course)
    recalled = [  # after the task was submitted, whose own "it" may be about them
        item
        for envelope in of(envelopes, MemoryRecalled)
        if envelope.belongs_to(course.task_id) and isinstance(envelope.event, MemoryRecalled)
        for item in envelope.event.items
        if item.subject and item.origin in OWN_WORDS
    ]
    for envelope in of(envelopes, TaskSubmitted, Steered, QuestionAnswered):
        event, seq = envelope.event, envelope.seq or 0
        if not envelope.belongs_to(course.task_id):
            continue
        match event:
            case TaskSubmitted(text=text, again="") | Steered(text=text):
                for subject, statement, turn in stated(neutralise(text)):
                    about = (
                        _subject_of_correction(subject, statement, recalled)
                        if turn or PRONOUN.match(subject)
                        else subject
                    )
                    if about and words(about):
                        yield Statement(
                            seq=seq, subject=about, statement=statement,
                            origin="correction" if turn else "statement",
                        )  # fmt: skip
            case QuestionAnswered(text=text) if seq in answers:
                yield Statement(seq=seq, subject=answers[seq], statement=text.strip(), origin="answer")
            case _:
                pass


def _answers(envelopes: Sequence[Envelope], course: Course) -> dict[int, str]:
    """Return the person's answers in their own words by event, with the question.

    A model wrote the question and its choices: if anything came from outside, that may have dictated them.
    """
    questions: dict[str, QuestionAsked] = {}
    answers: dict[int, str] = {}
    for envelope in of(envelopes, QuestionAsked, QuestionAnswered):
        if not envelope.belongs_to(course.task_id):
            continue
        match envelope.event:
            # A stuck task asks how to continue with this task only.
            case QuestionAsked(question_id=question_id, about="task") if not question_id.startswith("stuck-"):
                questions[question_id] = envelope.event
            case QuestionAnswered(question_id=question_id, text=text) if question_id in questions:
                question, answer = questions[question_id], neutralise(text).strip()
                chosen = plain(answer) in map(plain, question.choices)
                if plain(answer) and not chosen and not _ONE_OFF.fullmatch(answer):
                    answers[envelope.seq or 0] = question.text
            case _:
                pass
    return answers if answers and not _reached_from_outside(envelopes) else {}


def _subject_of_correction(subject: str, statement: str, recalled: Sequence[MemoryItem]) -> str:
    """Return what a correction is about: its own subject, or for "it" the one remembered fact that it refers to."""
    if not PRONOUN.match(subject) and words(subject):
        return subject
    about = {stem for stem, _ in words(statement)}
    related = [item for item in recalled if about & {stem for stem, _ in words(item.text)}]
    subjects = {item.subject for item in related}
    return subjects.pop() if len(subjects) == 1 else ""


# --- what a model proposes -------------------------------------------------------------------------


def _confirmed(
    envelopes: Sequence[Envelope], course: Course, proposed: Sequence[ProposedFact]
) -> Iterator[Statement]:
    """Yield the proposals that the record confirms; a model's own words are never stored."""
    if not proposed:
        return
    statements, results = _sources(envelopes, course)
    for proposal in proposed:
        statement = one_line(proposal.statement, STATEMENT + 1)
        if len(plain(statement)) < _PLAIN_LEAST or len(statement) > STATEMENT:
            continue
        if proposal.event in statements:
            text, about, origin = statements[proposal.event]
        elif proposal.event in results:
            text, about = results[proposal.event]
            origin = "result"
        else:
            continue
        sentence = _clause(statement, text)
        if sentence and set(stems(proposal.subject)) <= set(stems(plain(f"{sentence} {about}"))):
            yield Statement(seq=proposal.event, subject=proposal.subject, statement=statement, origin=origin)


def _clause(statement: str, text: str) -> str:
    """Return the sentence of a text that contains a statement in whole words; empty if there is none.

    A sentence that negates, asks or quotes the statement does not count: half a sentence can say the opposite.
    """
    text = neutralise(text)
    unquoted = own_words(text)
    for sentence in SENTENCE.finditer(unquoted):
        if unquoted[sentence.end() : sentence.end() + 1] == "?":
            continue
        original = text[sentence.start() : sentence.end()]
        for begin, end in occurrences(statement, original):
            remainder = f"{original[:begin]} … {original[end:]}"
            if original[begin:end] == sentence[0][begin:end] and not _NEGATES.search(remainder):
                return original
    return ""


_PLAIN_LEAST = 4
"""Minimum number of letters of a proposed fact."""


def _sources(
    envelopes: Sequence[Envelope], course: Course
) -> tuple[dict[int, tuple[str, str, MemoryOrigin]], dict[int, tuple[str, str]]]:
    """Return the texts that may contain a fact of this task, each with its origin: the person or a tool."""
    answers = _answers(envelopes, course)
    statements: dict[int, tuple[str, str, MemoryOrigin]] = {}
    called: dict[str, str] = {}
    results: dict[int, tuple[str, str]] = {}
    for envelope in of(envelopes, TaskSubmitted, Steered, QuestionAnswered, ToolCalled, ToolReturned):
        if not envelope.belongs_to(course.task_id):
            continue
        seq = envelope.seq or 0
        match envelope.event:
            case TaskSubmitted(text=text) | Steered(text=text):
                statements[seq] = text, "", "statement"
            case QuestionAnswered(text=text) if seq in answers:
                statements[seq] = text, answers[seq], "answer"
            case ToolCalled(call_id=call_id, name=name, depth=0):
                called[call_id] = name.replace("_", " ")
            case ToolReturned(call_id=call_id, report=report) if call_id in called:
                results[seq] = "\n".join(_values(report.result))[:_RESULT], called[call_id]
            case _:
                pass
    if _recalls(envelopes) or _reached_from_outside(envelopes):
        results = {}  # a result may repeat its arguments, which a model wrote
    return statements, results


def _values(result: Json, key: str = "") -> Iterator[str]:
    """Yield each single value of a result, behind its key."""
    if isinstance(result, dict):
        for name, inner in result.items():
            yield from _values(inner, f"{name}: ")
    elif isinstance(result, list):
        for inner in result:
            yield from _values(inner, key)
    else:
        yield key + (result if isinstance(result, str) else str(msgspec.json.encode(result), "ascii"))


def _reached_from_outside(envelopes: Sequence[Envelope]) -> bool:
    """Return whether the session read anything from outside, since a model's words may come from it."""
    return any(_from_outside(envelope.event) for envelope in of(envelopes, *_OUTSIDE))


_OUTSIDE = (
    PageRead, WebSearched, LookedBack, ContextGiven, ArtefactAdded, TaskSubmitted, Steered, ToolCalled,
    BrokerAnswered, PageLogged, ToolReturned,
)  # fmt: skip


def _from_outside(event: SessionEvent) -> bool:
    match event:
        case PageRead() | WebSearched() | LookedBack() | BrokerAnswered() | PageLogged():
            return True
        case ArtefactAdded(origin=origin):
            return origin in ("person", "page", "skill")
        case ContextGiven(blocks=blocks):
            # Names of files alone say nothing.
            return any(block.text and block.source and block.name != "workspace" for block in blocks)
        case TaskSubmitted(files=files) | Steered(files=files):
            return bool(files)
        case ToolCalled(files=files, references=references, server=server):
            return bool(files or references or server)
        case ToolReturned(report=report):
            return bool(report.result_handle)
        case _:
            return False


def _recalls(envelopes: Sequence[Envelope]) -> bool:
    return any(
        isinstance(envelope.event, MemoryRecalled) and envelope.event.items
        for envelope in of(envelopes, MemoryRecalled)
    )
