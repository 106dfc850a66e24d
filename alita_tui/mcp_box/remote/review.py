"""What a person should know of a remote tool before approving it: its risks, each with the name that accepts it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from alita_tui.events import ToolDraft
from alita_tui.spine.grants import phrases
from alita_tui.spine.servers import Pinned, pinned
from alita_tui.spine.text import counted, hidden_characters, one_line
from alita_tui.view.lookalikes import lookalikes, spelled
from alita_tui.view.risk import Risk

_NEAR = 0.88
"""How much two names may have in common before one can be taken for the other."""
_WORDS = {
    "changes things": "write|edit|update|create|delete|remove|move|rename|overwrite|drop|insert|upload|push|commit",
    "runs things": "execute|exec|eval|shell|command|script|subprocess|terminal|sudo|install",
    "sends things": "send|post|publish|email|message|notify|webhook|share|transfer|pay|payment|purchase|order",
    "touches secrets": "password|passwd|secret|token|credential|credentials|apikey|api key|private key|ssh|cookie",
}
_OTHERS = re.compile(
    r"\b(?:before|after|instead of|prior to)\b[^.]{0,60}\b(?:call|calling|use|using|run|running)\b", re.I
)
"""Words by which a description says when other tools are to be called."""


def remote_risks(
    draft: ToolDraft, addressed: Callable[[str], str], others: Iterable[str] = ()
) -> tuple[Risk, ...]:
    """Return the risks of a remote tool, most telling first.

    `addressed` returns the words by which a text speaks to its reader; `others` are the names of all other tools.
    """
    one = pinned(draft)
    texts = tuple(_texts(one.tool))
    found = [
        *_place(one),
        *spoken(texts, addressed),
        *_ordering(texts),
        *hidden(texts),
        *_alike(draft.name, one, others),
        *_words(one),
    ]
    found += [
        Risk("network" if "host" in phrase else "secret", phrase) for phrase in phrases(draft.capabilities)
    ]
    return tuple(dict.fromkeys(found))


def _place(one: Pinned) -> Iterator[Risk]:
    server = one.server
    if server.place == "host":
        yield Risk(
            "on-host", "the server runs on this machine with ALL YOUR RIGHTS: no wall stands around it"
        )
    if server.place == "url":
        yield Risk(
            "remote-code",
            f"{server.where} can change what the tool does while its description stays the same; "
            "what you give it leaves this machine",
        )


def spoken(texts: Iterable[tuple[str, str]], addressed: Callable[[str], str]) -> Iterator[Risk]:
    """Yield a risk for each text, given with where it is, that speaks to its reader."""
    for where, text in texts:
        if words := addressed(text):
            yield Risk("speaks-to-the-reader", f"{where} speaks to its reader: “{words}”")


def _ordering(texts: Iterable[tuple[str, str]]) -> Iterator[Risk]:
    for where, text in texts:
        if match := _OTHERS.search(text):
            yield Risk(
                "speaks-to-the-reader", f"{where} says when to call other tools: “{one_line(match[0], 120)}”"
            )


def hidden(texts: Iterable[tuple[str, str]]) -> Iterator[Risk]:
    """Yield a risk for each text with characters that are not seen, or with words that pass for others."""
    for where, text in texts:
        if count := hidden_characters(text):
            yield Risk(
                "hidden-characters", f"{where}: {counted(count, 'invisible or direction-changing character')}"
            )
        for _, word in lookalikes(text)[:3]:
            yield Risk("lookalikes", f"{where}: {spelled(word)} passes for another word")


def resembles(name: str, other: str) -> bool:
    """Return whether one name can be taken for the other."""
    return difflib.SequenceMatcher(None, _folded(name), _folded(other)).ratio() >= _NEAR


def _alike(name: str, one: Pinned, others: Iterable[str]) -> Iterator[Risk]:
    for other in others:
        if other == name or other.startswith(f"{one.server.name.replace('-', '_')}_"):
            continue
        short = _folded(one.tool_name)
        if short == _folded(other) or resembles(name, other):
            yield Risk("like-another", f"its name can be taken for that of the tool {one_line(other, 80)}")


def _folded(name: str) -> str:
    digits = str.maketrans("01345", "olest")
    return re.sub(r"[^a-z]", "", name.lower().translate(digits))


def _words(one: Pinned) -> Iterator[Risk]:
    said = f"{one.tool_name} {one.tool.get('title') or ''} {one.tool.get('description') or ''}"
    plain = re.sub(r"[_\-./]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", said)).lower()
    for what, words in _WORDS.items():
        if match := re.search(rf"\b(?:{words})(?:s|es|ed|ing)?\b", plain):
            yield Risk("capability-words", f"by its words it {what}: “{match[0]}”", serious=False)


def _texts(tool: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield every text of a descriptor with where it is; keys are texts too."""
    rest: list[tuple[str, Any]] = [(str(key), value) for key, value in tool.items()]
    yield "its fields", " ".join(map(str, tool))
    while rest:
        where, value = rest.pop(0)
        if isinstance(value, str):
            yield where, value
        elif isinstance(value, dict):
            if value:
                yield f"{where}: names", " ".join(str(key).replace("_", " ") for key in value)
            rest += [(where, inner) for inner in value.values()]
        elif isinstance(value, list):
            rest += [(where, inner) for inner in value]
