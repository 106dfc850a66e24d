"""Language models: requests, replies, routing, money."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Literal, Protocol

import msgspec

from alita_tui.events.base import Json, Value
from alita_tui.events.model import ModelRole, ProviderChanged, ToolRequest, Usage
from alita_tui.spine.errors import ModelError


class Message(Value, frozen=True):
    """One turn of a conversation, in the neutral form that every provider is given."""

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
    """Another model could be asked instead: a server that takes no connection is not waited for long."""
    must_call: str = ""
    """Name of the tool the model has to call; `*` for any; empty when it may also just write."""
    max_tokens: int = 8192
    build: str = ""
    """The build that it is for and counts toward, by its id; no part of what is asked."""


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
    """What was wrong with it and could be put right, for the person."""
    call_id: str = ""
    """Of the call that it replies to, as recorded; empty before that."""


Ability = Literal["tools", "vision"]
"""What a role may need of a model: tool calling of its own, and reading images."""


class Model(Protocol):
    """A language model. Met by `llm`."""

    @property
    def name(self) -> str:
        """`provider:model`."""

    @property
    def recorded(self) -> bool:
        """True when the replies are a recording."""

    @property
    def abilities(self) -> frozenset[Ability]:
        """What it can do, as far as is known now; its first use may show that it cannot."""

    def reply(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """Stream one reply: any number of deltas, then exactly one Reply.

        Raises ModelError. Closing the iterator closes the connection.
        """

    def price(self, usage: Usage) -> float | None:
        """US dollars for a usage, or None when no price is known."""

    async def window(self) -> int:
        """Tokens that it reads and writes at most, as its own server says; 0 where none does. Never raises."""


class Candidate(msgspec.Struct, frozen=True):
    """A model and the limits within which a role may use it."""

    model: Model
    context: int = 0
    """Tokens that it reads at most; 0: not known."""
    max_usd: float | None = None
    """A call that could cost more, or whose price is not known, goes to the next candidate."""
    needs: frozenset[Ability] = frozenset()
    """Without these the role passes the model over."""

    @property
    def name(self) -> str:
        """`provider:model`."""
        return self.model.name


class Route(Protocol):
    """One call's way through the candidates of its role. Met by `llm`."""

    def next(self) -> Candidate | float:
        """The model to ask now, or the seconds to wait before asking here again.

        Raises ModelError, the last one, when there is nobody left to ask.
        """

    @property
    def first(self) -> str:
        """The model that comes first in the role's order."""

    def spare(self, one: Candidate) -> bool:
        """True where a model that did not fail yet could be asked at once instead."""

    def why(self, previous: str, one: Candidate) -> str:
        """Why a call goes to this model and not to the one before."""

    def replied(self, one: Candidate) -> None:
        """It gave a whole reply."""

    def failed(self, one: Candidate, error: ModelError) -> None:
        """It gave none."""

    def released(self, one: Candidate) -> None:
        """The call was given up before there was an outcome."""


class Router(Protocol):
    """Which model is asked, and what follows from a failure. Met by `llm`."""

    def route(
        self, role: ModelRole, tokens: Callable[[Model], int], usd: Callable[[Model], float | None]
    ) -> Route:
        """A call's way. `tokens` is what a model has to take and give at least; `usd` what it could cost there."""

    def learn(self, name: str, window: int) -> int:
        """The window of a model as its server tells it, 0 where it does not; the window that holds, 0: unknown."""

    def narrow(self, name: str, tokens: int) -> ModelError:
        """What to say where a model's window leaves no room for a reply to a call of so many tokens."""

    def window(self, role: ModelRole) -> int:
        """Tokens that the role's next model reads at most; 0 when not known."""

    def enable(self, name: str) -> None:
        """The person says that a model works again; an unknown name is passed over."""

    def changes(self) -> tuple[ProviderChanged, ...]:
        """Models whose state changed since the last time this was asked."""


class ReplyCache(Protocol):
    """Replies to the very same requests, of earlier sessions. Met by `llm`; blocks on the disk."""

    def get(self, model: str, request: ModelRequest) -> Reply | None:
        """What this model replied to this request, if it was asked before."""

    def put(self, model: str, request: ModelRequest, reply: Reply) -> None:
        """Keep a reply."""


class DaySpend(Value, frozen=True):
    """What all sessions spent on a day, with what they have reserved."""

    usd: float = 0.0
    tokens: int = 0


class DayBook(Protocol):
    """The spend of a day over all sessions and processes. Met by `store`; blocks on the disk."""

    def today(self) -> DaySpend:
        """What is spent and reserved today. Raises StoreError."""

    def reserve(
        self, call_id: str, usd: float, tokens: int, *, limit_usd: float | None, limit_tokens: int | None
    ) -> bool:
        """Set money and tokens aside, unless that could break a cap; in one step, whoever else does so.

        Raises StoreError.
        """

    def settle(self, call_id: str, usd: float, tokens: int) -> DaySpend:
        """Put what a call took in place of its reservation. Raises StoreError."""


class Asker(Protocol):
    """One model call as everyone makes it: routed, recorded, retried, paid. Met by `agent`."""

    async def enable(self, model: str) -> None:
        """Ask a model again that was turned off."""

    async def ask(self, request: ModelRequest) -> Reply:
        """The reply, its deltas and costs already on the stream.

        Raises ModelError when the attempts are used up, BudgetExceeded before a call that
        could break a cap, as BuildSpent where the cap is the build's.
        """

    @property
    def unfinished(self) -> str:
        """What the model had said when a call was cancelled; empty when the last one ended."""
