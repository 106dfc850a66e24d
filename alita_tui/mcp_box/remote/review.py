"""Finds the risks of a remote tool that a person must accept, each by its name, to approve it."""

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
"""Shortest name in which one wrong, missing or swapped letter is easily overlooked."""
_MOST_NEAR = 10
"""How many similar names are listed for one tool: a server may list hundreds."""
_WORDS = {
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
    """The names of all tools, indexed so that similar ones are found."""

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
        names = (candidate for form in forms for candidate in self._by_form.get(form, ()))
        return islice(
            (candidate for candidate in names if candidate != name and not candidate.startswith(own)),
            _MOST_NEAR,
        )


class ServerNames:
    """The names of servers here, and the names they claim, which anybody can choose."""

    def __init__(self, known: Iterable[tuple[str, str]] = ()) -> None:
        """`known` has each server's name here and the name it claims; empty for none."""
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

    `addressed` returns the words that a text addresses to its reader; `others` are all tools, `servers` all servers.
    """
    descriptor = pinned(draft)
    claims = " ".join(descriptor.calls_itself.values())
    texts = (*_texts(descriptor.tool), ("what the server calls itself", claims))
    risks = [
        *_place(descriptor),
        *_requests(descriptor),
        *spoken(texts, addressed),
        *_ordering(texts),
        *hidden(texts),
        *_alike(draft.name, descriptor, others),
        *_servers_alike(descriptor, servers),
        *_words(descriptor),
    ]
    others_used = msgspec.structs.replace(draft.capabilities, model_calls=0)  # `_requests` reports them
    risks += [Risk("network" if "host" in phrase else "secret", phrase) for phrase in phrases(others_used)]
    return tuple(dict.fromkeys(risks))


def _place(descriptor: Pinned) -> Iterator[Risk]:
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


def _requests(descriptor: Pinned) -> Iterator[Risk]:
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


def spoken(texts: Iterable[tuple[str, str]], addressed: Callable[[str], str]) -> Iterator[Risk]:
    """Yield a risk for each text that addresses its reader; each comes with its place."""
    for place, text in texts:
        if words := addressed(text):
            yield Risk("speaks-to-the-reader", f"{place} speaks to its reader: “{words}”")


def _ordering(texts: Iterable[tuple[str, str]]) -> Iterator[Risk]:
    for place, text in texts:
        if match := _CALL_ORDER.search(text):
            yield Risk(
                "speaks-to-the-reader", f"{place} says when to call other tools: “{one_line(match[0], 120)}”"
            )


def hidden(texts: Iterable[tuple[str, str]]) -> Iterator[Risk]:
    """Yield a risk for each text with invisible characters or with lookalike words."""
    for place, text in texts:
        if count := hidden_characters(text):
            yield Risk(
                "hidden-characters", f"{place}: {counted(count, 'invisible or direction-changing character')}"
            )
        for _, word in lookalikes(text)[:3]:
            yield Risk("lookalikes", f"{place}: {spelled(word)} passes for another word")


def resembles(name: str, known_name: str) -> bool:
    """Return whether one name can be mistaken for the other."""
    return any(Names((known_name,)).near(name, name, "\0"))


def _alike(name: str, descriptor: Pinned, others: Names) -> Iterator[Risk]:
    for similar in others.near(name, descriptor.tool_name, f"{descriptor.server.name.replace('-', '_')}_"):
        yield Risk("like-another", f"its name can be taken for that of the tool {one_line(similar, 80)}")


def _servers_alike(descriptor: Pinned, servers: ServerNames) -> Iterator[Risk]:
    for why in islice(
        servers.alike(descriptor.server.name, descriptor.calls_itself.get("name", "")), _MOST_NEAR
    ):
        yield Risk("like-another", why)


def _same(name: str, known_name: str) -> bool:
    """Return whether two servers' names can be mistaken for each other; an empty name resembles none."""
    if not name.strip() or not known_name.strip():
        return False
    form, known_form = _folded(name), _folded(known_name)
    if not form or not known_form:  # no Latin letters: only an equal name counts
        return name.casefold() == known_name.casefold()
    from rapidfuzz.distance import OSA

    slip = min(len(form), len(known_form)) >= _LEAST and OSA.distance(form, known_form, score_cutoff=1) <= 1
    return form == known_form or slip or resembles(name, known_name)


def _folded(name: str) -> str:
    digits = str.maketrans("013457", "oleast")
    return re.sub(r"[^a-z]", "", name.lower().translate(digits))


def _words(descriptor: Pinned) -> Iterator[Risk]:
    text = f"{descriptor.tool_name} {descriptor.tool.get('title') or ''} {descriptor.tool.get('description') or ''}"
    plain = re.sub(r"[_\-./]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)).lower()
    for effect, words in _WORDS.items():
        if match := re.search(rf"\b(?:{words})(?:s|es|ed|ing)?\b", plain):
            yield Risk("capability-words", f"by its words it {effect}: “{match[0]}”", serious=False)


def _texts(tool: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield every text of a descriptor with its place; keys are texts too."""
    pending: list[tuple[str, Any]] = [(str(key), value) for key, value in tool.items()]
    yield "its fields", " ".join(map(str, tool))
    while pending:
        place, value = pending.pop(0)
        if isinstance(value, str):
            yield place, value
        elif isinstance(value, dict):
            if value:
                yield f"{place}: names", " ".join(str(key).replace("_", " ") for key in value)
            pending += [(place, inner) for inner in value.values()]
        elif isinstance(value, list):
            pending += [(place, inner) for inner in value]
