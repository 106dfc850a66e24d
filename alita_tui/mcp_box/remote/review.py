"""Finds the risks of a remote tool. A person must accept each by its name to approve the tool."""

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
_SHORTEST = 5
"""Shortest name in which one wrong, missing or swapped letter is easily overlooked."""
_MOST_NEAR = 10
"""Most similar names listed for one tool, as a server may list hundreds."""
_EFFECTS = {
    "changes things": "write|edit|update|create|delete|remove|move|rename|overwrite|drop|insert|upload|push|commit",
    "runs things": "execute|exec|eval|shell|command|script|subprocess|terminal|sudo|install",
    "sends things": "send|post|publish|email|message|notify|webhook|share|transfer|pay|payment|purchase|order",
    "touches secrets": "password|passwd|secret|token|credential|credentials|apikey|api key|private key|ssh|cookie",
}
_CALL_ORDER = re.compile(
    r"\b(?:before|after|instead of|prior to)\b[^.]{0,60}\b(?:call|calling|use|using|run|running)\b", re.I
)
"""Matches descriptions that say when to call other tools."""


class Names:
    """The names of all tools, indexed to find similar ones."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._by_form: dict[str, list[str]] = {}
        for name in sorted(set(names)):
            self._by_form.setdefault(_folded(name), []).append(name)
        self._forms = tuple(self._by_form)

    def near(self, name: str, tool_name: str, own_prefix: str) -> Iterator[str]:
        """Yield a few names that can be mistaken for `name` or `tool_name`, nearest first.

        Names that begin with `own_prefix` are left out.
        """
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import extract

        similar_forms = extract(
            _folded(name), self._forms, scorer=Indel.normalized_similarity, score_cutoff=_NEAR, limit=None
        )
        forms = dict.fromkeys((_folded(tool_name), *(form for form, _, _ in similar_forms)))
        names = (candidate for form in forms for candidate in self._by_form.get(form, ()))
        return islice(
            (candidate for candidate in names if candidate != name and not candidate.startswith(own_prefix)),
            _MOST_NEAR,
        )


class ServerNames:
    """The names of all servers in alita, and the names that they claim, which anybody can choose."""

    def __init__(self, known: Iterable[tuple[str, str]] = ()) -> None:
        """`known` holds each server's name in alita and the name that it claims, empty for none."""
        self._known = tuple(known)
        self._cache: dict[tuple[str, str], tuple[str, ...]] = {}

    def alike(self, name: str, claim: str) -> tuple[str, ...]:
        """Return one sentence for each other server that can be mistaken for this one."""
        if (name, claim) not in self._cache:
            self._cache[name, claim] = tuple(self._alike(name, claim))
        return self._cache[name, claim]

    def _alike(self, name: str, claim: str) -> Iterator[str]:
        for server, claims in self._known:
            if server == name:
                continue
            if _same(name, server):
                yield f"its server {name} can be taken for the server {server}"
            elif _same(claim, server) or _same(claim, claims):
                claimed = one_line(claim, 60)
                yield f"its server calls itself {claimed}, which can be taken for the server {server}"


NO_NAMES, NO_SERVERS = Names(), ServerNames()


def remote_risks(
    draft: ToolDraft,
    addressed: Callable[[str], str],
    others: Names = NO_NAMES,
    servers: ServerNames = NO_SERVERS,
) -> tuple[Risk, ...]:
    """Return the risks of a remote tool, most telling first.

    `addressed` returns the words that a text addresses to its reader. `others` are the names of all tools, `servers`
    those of all servers.
    """
    descriptor = pinned(draft)
    claims = " ".join(descriptor.calls_itself.values())
    texts = (*_texts(descriptor.tool), ("what the server calls itself", claims))
    risks = [
        *_place_risks(descriptor),
        *_request_risks(descriptor),
        *addressing_risks(texts, addressed),
        *_ordering_risks(texts),
        *hidden_text_risks(texts),
        *_alike_risks(draft.name, descriptor, others),
        *_server_name_risks(descriptor, servers),
        *_effect_risks(descriptor),
    ]
    others_used = msgspec.structs.replace(draft.capabilities, model_calls=0)  # these are in `_request_risks`
    risks += [
        Risk("network" if item.startswith("network:") else "secret", phrase)
        for item, phrase in zip(others_used.items, phrases(others_used), strict=True)
    ]
    return tuple(dict.fromkeys(risks))


def _place_risks(descriptor: Pinned) -> Iterator[Risk]:
    server = descriptor.server
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


def _request_risks(descriptor: Pinned) -> Iterator[Risk]:
    """Yield a risk for each kind of request that the server may make."""
    server = descriptor.server
    if server.model_calls:
        calls = counted(server.model_calls, "time")
        yield Risk(
            "asks-model", f"the server may ask your model, {calls} a run: it is shown, and you pay for it"
        )
    if server.elicitation:
        yield Risk("asks-you", "the server may ask you while it runs: what you answer leaves for it")
    if server.roots:
        yield Risk("told-folders", f"the server is told of {', '.join(server.roots)}", serious=False)


def addressing_risks(texts: Iterable[tuple[str, str]], addressed: Callable[[str], str]) -> Iterator[Risk]:
    """Yield a risk for each text that addresses its reader; `texts` are locations and texts."""
    for location, text in texts:
        if words := addressed(text):
            yield Risk("speaks-to-the-reader", f"{location} speaks to its reader: “{words}”")


def _ordering_risks(texts: Iterable[tuple[str, str]]) -> Iterator[Risk]:
    for location, text in texts:
        if match := _CALL_ORDER.search(text):
            yield Risk(
                "speaks-to-the-reader",
                f"{location} says when to call other tools: “{one_line(match[0], 120)}”",
            )


def hidden_text_risks(texts: Iterable[tuple[str, str]]) -> Iterator[Risk]:
    """Yield a risk for each text with invisible characters or with lookalike words."""
    for location, text in texts:
        if count := hidden_characters(text):
            yield Risk(
                "hidden-characters",
                f"{location}: {counted(count, 'invisible or direction-changing character')}",
            )
        for _, word in lookalikes(text)[:3]:
            yield Risk("lookalikes", f"{location}: {spelled(word)} passes for another word")


def resembles(name: str, known_name: str) -> bool:
    """Return True if one name can be mistaken for the other."""
    return any(Names((known_name,)).near(name, name, "\0"))


def _alike_risks(name: str, descriptor: Pinned, others: Names) -> Iterator[Risk]:
    for similar in others.near(name, descriptor.tool_name, f"{descriptor.server.name.replace('-', '_')}_"):
        yield Risk("like-another", f"its name can be taken for that of the tool {one_line(similar, 80)}")


def _server_name_risks(descriptor: Pinned, servers: ServerNames) -> Iterator[Risk]:
    for sentence in islice(
        servers.alike(descriptor.server.name, descriptor.calls_itself.get("name", "")), _MOST_NEAR
    ):
        yield Risk("like-another", sentence)


def _same(name: str, known_name: str) -> bool:
    """Return True if two servers' names can be mistaken for each other; an empty name resembles none."""
    if not name.strip() or not known_name.strip():
        return False
    form, known_form = _folded(name), _folded(known_name)
    if not form or not known_form:  # no Latin letters: only an equal name counts
        return name.casefold() == known_name.casefold()
    from rapidfuzz.distance import OSA

    one_letter_off = (
        min(len(form), len(known_form)) >= _SHORTEST and OSA.distance(form, known_form, score_cutoff=1) <= 1
    )
    return form == known_form or one_letter_off or resembles(name, known_name)


def _folded(name: str) -> str:
    digits = str.maketrans("013457", "oleast")
    return re.sub(r"[^a-z]", "", name.lower().translate(digits))


def _effect_risks(descriptor: Pinned) -> Iterator[Risk]:
    text = f"{descriptor.tool_name} {descriptor.tool.get('title') or ''} {descriptor.tool.get('description') or ''}"
    spaced = re.sub(r"[_\-./]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)).lower()
    for effect, words in _EFFECTS.items():
        if match := re.search(rf"\b(?:{words})(?:s|es|ed|ing)?\b", spaced):
            yield Risk("capability-words", f"by its words it {effect}: “{match[0]}”", serious=False)


def _texts(tool: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield every text of a descriptor, keys included, with its location."""
    pending: list[tuple[str, Any]] = [(str(key), value) for key, value in tool.items()]
    yield "its fields", " ".join(map(str, tool))
    while pending:
        location, value = pending.pop(0)
        if isinstance(value, str):
            yield location, value
        elif isinstance(value, dict):
            if value:
                yield f"{location}: names", " ".join(str(key).replace("_", " ") for key in value)
            pending += [(location, inner) for inner in value.values()]
        elif isinstance(value, list):
            pending += [(location, inner) for inner in value]
