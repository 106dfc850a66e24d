"""Language models: requests, replies, routing and cost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Literal, Protocol

import msgspec

from alita_tui.events.base import Json, Value
from alita_tui.events.model import ModelRole, ProviderChanged, ToolRequest, Usage
from alita_tui.spine.errors import ModelError


class Message(Value, frozen=True):
    """One turn of a conversation, in a form that is the same for every provider."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    requests: tuple[ToolRequest, ...] = ()
    """Tool calls of an assistant turn."""
    call_id: str = ""
    """For `tool`: the request that this answers."""
    is_error: bool = False


class ToolSpec(Value, frozen=True):
    """A tool that the model may call natively."""

    name: str
    description: str
    parameters: Json
    """JSON Schema of the arguments object."""


class ModelRequest(Value, frozen=True):
    """One call of a model."""

    role: ModelRole
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    hurry: bool = False
    """Wait only briefly for a connection, because another model could be asked instead."""
    must_call: str = ""
    """Name of the tool that the model has to call; `*` for any; empty if it may reply with text alone."""
    max_tokens: int = 8192
    seat: str = ""
    """The agent role whose own models are asked, as `specialist:ROLE`; empty: the models of `role`. Not sent."""
    build: str = ""
    """Id of the build whose budget it counts toward; not sent to the model."""
    spare: bool = False
    """If the budget does not allow the call, it is not made, and the person is not asked for more. Not sent."""
    role_usd: float | None = None
    """Cap for all calls of this role in the session; None: only the budget's caps apply. Not sent."""


class Delta(Value, frozen=True):
    """A piece of a reply."""

    channel: Literal["text", "thinking", "arguments"]
    text: str


class Reply(Value, frozen=True):
    """A reply that ended properly."""

    model: str
    text: str = ""
    thinking: str = ""
    requests: tuple[ToolRequest, ...] = ()
    stop: str = ""
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    """Faults that were corrected, in words for the person."""
    call_id: str = ""
    """Id of the recorded call that it replies to; empty before that."""


Ability = Literal["tools", "vision"]
"""An ability that a role may need in a model: native tool calls, or reading images."""


class Priced(Protocol):
    """Something whose calls have a price: a model or an encoder."""

    @property
    def name(self) -> str:
        """Return `provider:model`."""

    def price(self, usage: Usage) -> float | None:
        """Return the cost of a usage in US dollars; None if no price is known."""


class Model(Protocol):
    """A language model. Implemented by `llm`."""

    @property
    def name(self) -> str:
        """Return `provider:model`."""

    @property
    def recorded(self) -> bool:
        """Return whether the replies are a recording."""

    @property
    def abilities(self) -> frozenset[Ability]:
        """Return its known abilities; a call may still show that one is missing."""

    def reply(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """Stream one reply: any number of deltas, then exactly one Reply.

        Raise ModelError. Closing the iterator closes the connection.
        """

    def price(self, usage: Usage) -> float | None:
        """Return the cost of a usage in US dollars; None if no price is known."""

    async def window(self) -> int:
        """Return its window in tokens as reported by its own server, or 0. Never raises."""


class Candidate(msgspec.Struct, frozen=True):
    """A model and the limits within which a role may use it."""

    model: Model
    context: int = 0
    """Its window in tokens; 0: unknown."""
    max_usd: float | None = None
    """A call that could cost more, or has no known price, goes to the next candidate."""
    needs: frozenset[Ability] = frozenset()
    """Abilities without which the role skips the model."""

    @property
    def name(self) -> str:
        """Return `provider:model`."""
        return self.model.name


class Route(Protocol):
    """The order in which one call tries the candidates of its role. Implemented by `llm`."""

    def next(self) -> Candidate | float:
        """Return the model to ask now, or the seconds to wait before calling this again.

        Raise the last ModelError when no model is left to ask.
        """

    @property
    def first(self) -> str:
        """Return the name of the first model in the role's order."""

    def spare(self, candidate: Candidate) -> bool:
        """Return whether another model, which has not failed yet, could be asked at once."""

    def why(self, previous: str, candidate: Candidate) -> str:
        """Return why a call goes to this model and not to the previous one."""

    def replied(self, candidate: Candidate) -> None:
        """Record a whole reply."""

    def failed(self, candidate: Candidate, error: ModelError) -> None:
        """Record a failure."""

    def released(self, candidate: Candidate) -> None:
        """Record that the call was given up without an outcome."""


class Router(Protocol):
    """Chooses the model for each call, and reacts to failures. Implemented by `llm`."""

    def route(self, role: str, tokens: Callable[[Model], int], usd: Callable[[Model], float | None]) -> Route:
        """Return the route of a call, for its role, or for its seat if that has models.

        `tokens` returns the window that the call needs with a model, `usd` what it could cost.
        """

    def learn(self, name: str, window: int) -> int:
        """Record a window that a server reported (0: none); return the valid one, or 0 if unknown."""

    def narrow(self, name: str, tokens: int) -> ModelError:
        """Return the error for a model whose window leaves no room for a reply to so many tokens."""

    def window(self, role: str) -> int:
        """Return the window in tokens of the next model of a role or seat; 0 if unknown."""

    def enable(self, name: str) -> None:
        """Ask a model again that was turned off; an unknown name is ignored."""

    def changes(self) -> tuple[ProviderChanged, ...]:
        """Return the models whose state changed since the last call."""


class ReplyCache(Protocol):
    """Replies to identical requests of earlier sessions. Implemented by `llm`; blocks on the disk."""

    def get(self, model: str, request: ModelRequest) -> Reply | None:
        """Return this model's recorded reply to this request, or None."""

    def put(self, model: str, request: ModelRequest, reply: Reply) -> None:
        """Record a reply."""


class DaySpend(Value, frozen=True):
    """What all sessions spent on a day, reservations included."""

    usd: float = 0.0
    tokens: int = 0
    estimated_tokens: int = 0
    """Those of them that are estimated, because the provider reported none, or only reserved."""


class DayBook(Protocol):
    """The spend of a day over all sessions and processes. Implemented by `store`; blocks on the disk."""

    def today(self) -> DaySpend:
        """Return what is spent and reserved today. Raise StoreError."""

    def reserve(
        self, call_id: str, usd: float, tokens: int, *, limit_usd: float | None, limit_tokens: int | None
    ) -> bool:
        """Reserve money and tokens, atomically across processes; return False if that could break a cap.

        Raise StoreError.
        """

    def settle(self, call_id: str, usd: float, tokens: int, *, estimated: bool = False) -> DaySpend:
        """Replace a reservation by the actual cost of the call; return the day's spend.

        `estimated` is True if the tokens are an estimate. Raise StoreError.
        """


class Asker(Protocol):
    """Calls a model: chooses one, records the call, retries it and pays for it. Implemented by `agent`."""

    async def enable(self, model: str) -> None:
        """Ask a model again that was turned off."""

    async def ask(self, request: ModelRequest) -> Reply:
        """Return the reply; its deltas and costs are already on the stream.

        Raise ModelError if all attempts failed, BudgetExceeded before a call that could break a cap: BuildSpent for
        the cap of the build.
        """

    @property
    def unfinished(self) -> str:
        """Return the text of the last reply if it was cancelled; empty if it was finished."""
