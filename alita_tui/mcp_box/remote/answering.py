"""Answers a server's own requests (to a model, to the person, for roots) where a person granted them.

A request is answered only while one of the server's tools runs, and is recorded before it is answered. A model's reply
is paid from the session's budget. The person is first asked whether to answer at all, with choices that nobody types by
chance, so that text meant for the agent does not reach a server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import mcp_types as types

from alita_tui.events import ServerAsked, ServerQuestion
from alita_tui.mcp_box.remote.forms import Field, FormError, fields_of, value_of
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.origin import Origin, current, working_on
from alita_tui.spine.ports.models import Asker, Message, ModelRequest
from alita_tui.spine.servers import ServerSpec
from alita_tui.spine.text import clip, one_line

AskPerson = Callable[[ServerQuestion], Awaitable[str | None]]
"""Asks the person; returns the answer, or None if nobody is there."""
_MOST_QUESTIONS = 5
"""Most questions to the person during one call."""
_TRIES = 3
_PROMPT = 64 << 10
"""Longest prompt that a server may send to a model, in characters."""
_REPLY_TOKENS = 4_096
_SHOWN = 4_000
_SYSTEM = "Answer the request. It comes from a program."
_ANSWER, _DECLINE = "answer it", "decline"
_OPENED = "I have opened it"
_REFUSED = types.INVALID_REQUEST
_MOST_RECORDED = 20
"""Most refusals and requests for roots recorded per start of a server, so that a flood does not fill the log."""
T = TypeVar("T")


class RequestRefused(Exception):
    """A request is refused; the message is the reason."""


class Answering:
    """Answers the requests of one server."""

    def __init__(
        self,
        spec: ServerSpec,
        tell: Callable[[ServerAsked], Awaitable[object]],
        new_id: Callable[[], str],
        *,
        asker: Asker | None = None,
        ask_person: AskPerson | None = None,
        holds_secret: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Without `asker`, requests to a model are refused; without `ask_person`, requests to the person."""
        self._spec = spec
        self._tell = tell
        self._new_id = new_id
        self._asker = asker
        self._ask_person = ask_person
        self._holds_secret = holds_secret
        self._call: _Call | None = None
        self._recorded = 0

    def callbacks(self) -> dict[str, Any]:
        """Return the callbacks for the SDK's client; the SDK refuses requests without one."""
        granted = self._spec.granted_requests
        callbacks = {
            "sampling/createMessage": ("sampling_callback", self._sample),
            "elicitation/create": ("elicitation_callback", self._elicit),
            "roots/list": ("list_roots_callback", self._roots),
        }
        return dict(callbacks[method] for method in granted)

    @contextmanager
    def during(self, deadline: asyncio.Timeout, span: str) -> Iterator[None]:
        """Answer while a call runs; its time limit pauses while the person or a model answers."""
        with working_on(current().inside(span)):
            self._call = call = _Call(deadline, current())
        try:
            yield
        finally:
            self._call = None
            for task in call.answers:
                task.cancel()

    # --- requests that can be granted -----------------------------------------------------------

    async def _roots(self, _: object) -> types.ListRootsResult:
        roots = self._spec.roots
        await self._note(
            ServerAsked(server=self._spec.name, request="roots/list", granted=True, text="\n".join(roots))
        )
        return types.ListRootsResult.model_validate({"roots": [{"uri": root} for root in roots]})

    async def _sample(
        self, _: object, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        method = "sampling/createMessage"
        return await self._answered(method, lambda call: self._sampled(call, params))

    async def _elicit(
        self, _: object, params: types.ElicitRequestFormParams | types.ElicitRequestURLParams
    ) -> types.ElicitResult | types.ErrorData:
        return await self._answered("elicitation/create", lambda call: self._elicited(call, params))

    async def _answered(self, method: str, work: Callable[[_Call], Awaitable[T]]) -> T | types.ErrorData:
        """Return the answer to a request, or the error that refuses it; refusals are recorded."""
        call = self._call
        try:
            if call is None:
                raise RequestRefused("none of its tools runs")
            with call.waiting(), working_on(call.origin):
                answer = asyncio.ensure_future(work(call))
                call.answers.add(answer)
                try:
                    return await answer
                except asyncio.CancelledError:
                    if self._call is call:  # the connection is being closed
                        answer.cancel()
                        raise
                    raise RequestRefused("the call is over") from None
                finally:
                    call.answers.discard(answer)
        except RequestRefused as error:
            message = reason = str(error)
        except AlitaError as error:  # no budget, no model
            message = reason = error.message
        except Exception as error:  # noqa: BLE001  # the SDK would send its message to the server
            message, reason = "it failed here", f"it failed here: {type(error).__name__}: {error}"
        await self._note(ServerAsked(server=self._spec.name, request=method, reason=one_line(reason, 300)))
        return types.ErrorData(code=_REFUSED, message=f"Refused: {one_line(message, 300)}")

    async def _note(self, event: ServerAsked) -> None:
        self._recorded += 1
        if self._recorded <= _MOST_RECORDED:
            await self._tell(event)

    async def _sampled(
        self, call: _Call, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        if self._asker is None:
            raise RequestRefused("no model can be asked here")
        if call.model_calls >= self._spec.model_calls:
            raise RequestRefused(f"{self._spec.model_calls} model calls are granted for a run")
        request = _request(params)
        call.model_calls += 1
        prompt = "\n\n".join(
            (request.system, *(f"{message.role}: {message.text}" for message in request.messages))
        )
        await self._tell(
            ServerAsked(
                server=self._spec.name,
                request="sampling/createMessage",
                granted=True,
                text=clip(prompt, _SHOWN)[0],
            )
        )
        reply = await self._asker.ask(request)
        return types.CreateMessageResult(
            role="assistant",
            content=types.TextContent(type="text", text=reply.text),
            model=reply.model,
            stop_reason="maxTokens" if reply.stop == "length" else "endTurn",
        )

    async def _elicited(
        self, call: _Call, params: types.ElicitRequestFormParams | types.ElicitRequestURLParams
    ) -> types.ElicitResult:
        if self._ask_person is None:
            raise RequestRefused("nobody can be asked here")
        call.questions += 1
        if call.questions > _MOST_QUESTIONS:
            raise RequestRefused(f"the person was asked {_MOST_QUESTIONS} times in this call")
        async with call.turn:  # the person answers one question at a time
            return await self._ask_for_values(params)

    async def _ask_for_values(
        self, params: types.ElicitRequestFormParams | types.ElicitRequestURLParams
    ) -> types.ElicitResult:
        if isinstance(params, types.ElicitRequestURLParams):
            text = f"{_question_text(self._spec.name, params.message)}\nIt wants you to open {params.url}"
            opened = await self._choice(text, _OPENED)
            return types.ElicitResult(action="accept" if opened else "decline")
        try:
            fields = fields_of(params.requested_schema)
        except FormError as error:
            raise RequestRefused(f"its form cannot be shown: {error}") from error
        field_texts = "; ".join(field.described for field in fields) or "a yes alone"
        text = f"{_question_text(self._spec.name, params.message)}\nIt wants: {field_texts}."
        if not await self._choice(f"{text}\nWhat you answer leaves for {self._spec.name}.", _ANSWER):
            return types.ElicitResult(action="decline")
        content: dict[str, str | int | float | bool | list[str] | None] = {}
        for field in fields:
            value = await self._filled(field)
            if value is not None:
                content[field.name] = value
        return types.ElicitResult(action="accept", content=content)

    async def _choice(self, text: str, yes: str) -> bool:
        """Return True if the person chose `yes`; an answer that is none of the choices is asked for again."""
        answer = await self._put(text, (yes, _DECLINE))
        for _ in range(_TRIES - 1):
            if answer in (yes, _DECLINE):
                break
            answer = await self._put(f"Answer with 1 or 2: nothing was sent.\n{text}", (yes, _DECLINE))
        return answer == yes

    async def _filled(self, field: Field) -> str | int | float | bool | list[str] | None:
        """Return the person's value for a field; None if they leave it out."""
        problem = ""
        for _ in range(_TRIES):
            question = f"{self._spec.name} asks for {field.described}."
            if not field.required:
                question = f"{question} A single - leaves it out."
            answer = await self._put(f"{problem}{question}", field.choices if field.kind == "text" else ())
            if answer.strip() == "-" and not field.required:
                return None
            if self._holds_secret(answer):
                problem = "That holds a secret that is kept here: it was not sent. "
                continue
            try:
                return value_of(field, answer)
            except FormError as error:
                problem = f"{error}: it was not sent. "
        raise RequestRefused(f"the person gave nothing that fits {one_line(field.name, 60)}")

    async def _put(self, text: str, choices: tuple[str, ...]) -> str:
        assert self._ask_person is not None
        question = ServerQuestion(
            question_id=f"server-{self._new_id()}", server=self._spec.name, text=text, choices=choices
        )
        answer = await self._ask_person(question)
        if answer is None:
            raise RequestRefused("nobody is there to be asked")
        return answer


class _Call:
    """A running call with its counters."""

    def __init__(self, deadline: asyncio.Timeout, origin: Origin) -> None:
        self.origin = origin
        self.model_calls = 0
        self.questions = 0
        self.answers: set[asyncio.Future[Any]] = set()
        self.turn = asyncio.Lock()
        self._deadline = deadline
        self._waiting = 0
        self._remaining = 0.0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Pause the time limit of the call."""
        clock = asyncio.get_running_loop().time
        self._waiting += 1
        if self._waiting == 1 and (deadline := self._deadline.when()) is not None:
            self._remaining = deadline - clock()
            with suppress(RuntimeError):  # the deadline has just passed
                self._deadline.reschedule(None)
        try:
            yield
        finally:
            self._waiting -= 1
            if self._waiting == 0:
                with suppress(RuntimeError):
                    self._deadline.reschedule(clock() + self._remaining)


def _question_text(server: str, message: str) -> str:
    return f"The server {server} asks: {clip(message, _SHOWN)[0]}"


def _request(params: types.CreateMessageRequestParams) -> ModelRequest:
    """Return the request to a model. Raises Refused."""
    if params.tools:
        raise RequestRefused("a model is given no tools of a server")
    messages = []
    for message in params.messages:
        parts = message.content if isinstance(message.content, list) else [message.content]
        texts = [part.text for part in parts if isinstance(part, types.TextContent)]
        if len(texts) != len(parts):
            raise RequestRefused("only text is handed to a model")
        messages.append(Message(role=message.role, text="\n".join(texts)))
    if not messages or messages[-1].role != "user":
        raise RequestRefused("there is no message to answer")
    request = ModelRequest(
        role="summariser",
        system=params.system_prompt or _SYSTEM,
        messages=tuple(messages),
        max_tokens=max(1, min(params.max_tokens, _REPLY_TOKENS)),
    )
    if len(request.system) + sum(len(message.text) for message in messages) > _PROMPT:
        raise RequestRefused(f"its prompt is longer than {_PROMPT:,} characters")
    return request
