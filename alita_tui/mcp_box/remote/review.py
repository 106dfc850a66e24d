"""What a person should know of a remote tool before approving it: its risks, each with the name that accepts it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from alita_tui.events import ToolDraft
from alita_tui.spine.grants import phrases
from alita_tui.spine.servers import Pinned, pinned
from alita_tui.spine.text import counted, hidden_characters, one_line
from alita_tui.view.lookalikes import lookalikes, spelled
from alita_tui.view.risk import Risk

_NEAR = 0.88
"""Similarity from which one name can be mistaken for another."""
_LEAST = 5
"""Letters from which one that is wrong, missing or swapped with its neighbour is easily overlooked."""
_MOST_NEAR = 10
"""How many similar names are listed for one tool: a server may list hundreds."""
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


class Names:
    """The names of all tools, in a form in which similar ones compare as equal."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._by_form: dict[str, list[str]] = {}
        for name in sorted(set(names)):
            self._by_form.setdefault(_folded(name), []).append(name)
        self._forms = tuple(self._by_form)

    def near(self, name: str, short: str, own: str) -> Iterator[str]:
        """Yield the names that `name`, or only `short`, can be mistaken for; none that begins with `own`,
        and the nearest few.
        """
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import extract

        alike = extract(
            _folded(name), self._forms, scorer=Indel.normalized_similarity, score_cutoff=_NEAR, limit=None
        )
        forms = dict.fromkeys((_folded(short), *(form for form, _, _ in alike)))
        found = (one for form in forms for one in self._by_form.get(form, ()))
        return islice((one for one in found if one != name and not one.startswith(own)), _MOST_NEAR)


class ServerNames:
    """What servers are called here, and what each calls itself: a claim that anybody can make."""

    def __init__(self, known: Iterable[tuple[str, str]] = ()) -> None:
        """`known` has the name here and the claimed name, empty for none, of each server."""
        self._known = tuple(known)
        self._found: dict[tuple[str, str], tuple[str, ...]] = {}

    def alike(self, name: str, claim: str) -> tuple[str, ...]:
        """Return for each other server that can be taken for this one why, in words."""
        if (name, claim) not in self._found:
            self._found[name, claim] = tuple(self._alike(name, claim))
        return self._found[name, claim]

    def _alike(self, name: str, claim: str) -> Iterator[str]:
        for other, claims in self._known:
            if other == name:
                continue
            if _same(name, other):
                yield f"its server {name} can be taken for the server {other}"
            elif _same(claim, other) or _same(claim, claims):
                said = one_line(claim, 60)
                yield f"its server calls itself {said}, which can be taken for the server {other}"


NO_NAMES, NO_SERVERS = Names(), ServerNames()


def remote_risks(
    draft: ToolDraft,
    addressed: Callable[[str], str],
    others: Names = NO_NAMES,
    servers: ServerNames = NO_SERVERS,
) -> tuple[Risk, ...]:
    """Return the risks of a remote tool, most telling first.

    `addressed` returns the words by which a text speaks to its reader; `others` are all tools, `servers` all servers.
    """
    one = pinned(draft)
    claims = " ".join(one.calls_itself.values())
    texts = (*_texts(one.tool), ("what the server calls itself", claims))
    found = [
        *_place(one),
        *_requests(one),
        *spoken(texts, addressed),
        *_ordering(texts),
        *hidden(texts),
        *_alike(draft.name, one, others),
        *_servers_alike(one, servers),
        *_words(one),
    ]
    others_used = msgspec.structs.replace(draft.capabilities, model_calls=0)  # said above
    found += [Risk("network" if "host" in phrase else "secret", phrase) for phrase in phrases(others_used)]
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


def _requests(one: Pinned) -> Iterator[Risk]:
    """Yield a risk for each kind of request of the server that is answered."""
    server = one.server
    if server.model_calls:
        calls = counted(server.model_calls, "time")
        yield Risk(
            "asks-model", f"the server may ask your model, {calls} a run: it is shown, and you pay for it"
        )
    if server.elicitation:
        yield Risk("asks-you", "the server may ask you while it runs: what you answer leaves for it")
    if server.roots:
        yield Risk("told-folders", f"the server is told of {', '.join(server.roots)}", serious=False)


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
    return any(Names((other,)).near(name, name, "\0"))


def _alike(name: str, one: Pinned, others: Names) -> Iterator[Risk]:
    for other in others.near(name, one.tool_name, f"{one.server.name.replace('-', '_')}_"):
        yield Risk("like-another", f"its name can be taken for that of the tool {one_line(other, 80)}")


def _servers_alike(one: Pinned, servers: ServerNames) -> Iterator[Risk]:
    for why in islice(servers.alike(one.server.name, one.calls_itself.get("name", "")), _MOST_NEAR):
        yield Risk("like-another", why)


def _same(name: str, other: str) -> bool:
    """Return whether one server's name can be taken for another's; nothing is like a name that is empty."""
    if not name.strip() or not other.strip():
        return False
    form, theirs = _folded(name), _folded(other)
    if not form or not theirs:  # in other letters than these: only the very name
        return name.casefold() == other.casefold()
    from rapidfuzz.distance import OSA

    slip = min(len(form), len(theirs)) >= _LEAST and OSA.distance(form, theirs, score_cutoff=1) <= 1
    return form == theirs or slip or resembles(name, other)


def _folded(name: str) -> str:
    digits = str.maketrans("013457", "oleast")
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
