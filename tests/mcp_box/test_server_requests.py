"""A server that asks for a model, for the person or for roots: refused unless that was granted, and never more than that.

The servers are real programs over real pipes. What is promised: nothing that a person types for the agent leaves for a
server, nothing is answered outside of a call, and no number of requests costs more than was granted.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from alita_tui import events as e
from alita_tui.mcp_box.remote.answering import Answering
from alita_tui.mcp_box.remote.forms import FormError, fields_of, value_of
from alita_tui.mcp_box.remote.pinning import listing
from alita_tui.mcp_box.remote.servers import Patience, Servers
from alita_tui.spine.errors import BudgetExceeded
from alita_tui.spine.ports.models import ModelRequest, Reply
from alita_tui.spine.servers import ServerSpec
from tests.mcp_box.remote_lab import Lab
from tests.mcp_box.request_forms import FORM, NAME


class Models:
    """A model that repeats what it is asked, unless it would cost too much or fails in a way that nobody foresaw."""

    def __init__(self) -> None:
        self.asked: list[ModelRequest] = []
        self.broke = self.faulty = False

    async def enable(self, model: str) -> None:
        raise NotImplementedError

    async def ask(self, request: ModelRequest) -> Reply:
        if self.broke:
            raise BudgetExceeded("The call could cost more than is left.")
        if self.faulty:
            raise RuntimeError("/home/ada/.config")
        self.asked.append(request)
        return Reply(model="echo", text=f"said: {request.messages[-1].text}")

    @property
    def unfinished(self) -> str:
        return ""


class Person:
    """Answers one question after another; a question beyond that is never answered."""

    def __init__(self, *answers: str, pause: float = 0.0) -> None:
        self.answers = list(answers)
        self.pause = pause
        self.asked: list[e.ServerQuestion] = []
        self.left: list[str] = []

    async def __call__(self, question: e.ServerQuestion) -> str | None:
        self.asked.append(question)
        await asyncio.sleep(self.pause)
        if self.answers:
            return self.answers.pop(0)
        try:
            await asyncio.Event().wait()
        finally:
            self.left.append(question.question_id)
        return None


class Asking(Lab):
    """Servers in use whose requests may be answered."""

    def __init__(
        self, mode: str, number: int, person: Person | None, grants: dict[str, Any], **env: str
    ) -> None:
        self.models = Models()
        super().__init__(mode, number, Patience(connect_seconds=20, call_seconds=20), env)
        self.spec = msgspec.structs.replace(self.spec, **grants)
        ids = iter(f"id{n}" for n in range(10_000)).__next__

        def answering(spec: ServerSpec) -> Answering:
            return Answering(
                spec,
                self.tell,
                ids,
                asker=self.models,
                ask_person=person,
                holds_secret=lambda text: "s3cret" in text,
            )

        self.servers = Servers(self, self, self.tell, ids, Patience(call_seconds=20), answering=answering)

    @property
    def requests(self) -> list[tuple[str, bool]]:
        return [(one.request, one.granted) for one in self.told if isinstance(one, e.ServerAsked)]


@asynccontextmanager
async def asking(
    mode: str, number: int = 3, person: Person | None = None, *, form: Any = None, **grants: Any
) -> AsyncIterator[Asking]:
    made = Asking(mode, number, person, grants, FORM=json.dumps(form or FORM))
    try:
        yield made
    finally:
        await made.servers.close()


async def answered(one: Asking) -> Any:
    report = await one.call(await one.look())
    assert report.status == "ok", report
    return json.loads(report.result)


async def test_without_a_grant_every_request_of_a_server_is_refused_unasked() -> None:
    person = Person("1")
    async with asking("asks", person=person) as one:
        replies = await answered(one)
        assert all("error" in reply for reply in replies)
        assert one.requests == [
            ("sampling/createMessage", False), ("roots/list", False), ("elicitation/create", False),
        ]  # fmt: skip
        assert not one.models.asked and not person.asked


async def test_a_model_is_asked_as_often_as_granted_and_each_request_is_recorded() -> None:
    async with asking("samples", 5, model_calls=2) as one:
        replies = await answered(one)
        texts = [reply["result"]["content"]["text"] for reply in replies if "result" in reply]
        assert len(texts) == 2 == len(one.models.asked) and all(
            text.startswith("said: say") for text in texts
        )
        refused = [reply["error"]["message"] for reply in replies if "error" in reply]
        assert len(refused) == 3 and all("2 model calls are granted" in why for why in refused)
        shown = [one.text for one in one.told if isinstance(one, e.ServerAsked) and one.granted]
        assert len(shown) == 2 and all("user: say" in text for text in shown)
        again = await answered(one)
        assert sum("result" in reply for reply in again) == 2, "the next call has its own"


async def test_a_flood_of_requests_costs_nothing_and_is_recorded_up_to_a_limit() -> None:
    async with asking("samples", 400, model_calls=3) as one:
        replies = await answered(one)
        assert sum("result" in reply for reply in replies) == 3 == len(one.models.asked)
        assert len(one.requests) <= 3 + 20


async def test_a_request_that_the_budget_does_not_allow_is_refused_with_the_reason() -> None:
    async with asking("samples", 1, model_calls=2) as one:
        one.models.broke = True
        (reply,) = await answered(one)
        assert "could cost more" in reply["error"]["message"]
        (asked,) = [event for event in one.told if isinstance(event, e.ServerAsked) and not event.granted]
        assert "could cost more" in asked.reason


async def test_an_internal_error_reveals_nothing_to_the_server() -> None:
    async with asking("samples", 1, model_calls=2) as one:
        one.models.faulty = True
        (reply,) = await answered(one)
        assert reply["error"]["message"] == "Refused: it failed here"


async def test_outside_of_a_call_no_model_is_asked() -> None:
    async with asking("samples-later", model_calls=5) as one:
        report = await one.call(await one.look())
        assert report.status == "ok"
        for _ in range(600):
            if one.requests and one.requests[-1] == ("sampling/createMessage", False):
                break
            await asyncio.sleep(0.05)
        assert one.requests == [("sampling/createMessage", False)] and not one.models.asked


async def test_roots_are_those_that_the_person_typed() -> None:
    async with asking("asks", roots=("file:///srv/data",)) as one:
        replies = await answered(one)
        assert [reply["result"]["roots"] for reply in replies if "result" in reply] == [
            [{"uri": "file:///srv/data"}]
        ]


async def test_text_typed_for_the_agent_is_not_sent_to_a_server() -> None:
    person = Person("now make it faster", "and mail it to me", "stop")
    async with asking("elicits", person=person, elicitation=True) as one:
        reply = await answered(one)
        assert reply["result"] == {"action": "decline"}
        assert [question.choices for question in person.asked] == [("answer it", "decline")] * 3
        assert (
            "The server evil asks: Tell me" in person.asked[0].text
            and "leaves for evil" in person.asked[0].text
        )


async def test_a_form_is_answered_field_by_field_and_invalid_values_are_not_sent() -> None:
    person = Person("answer it", "Ada", "old", "17", "41", "-", pause=0.02)
    async with asking("elicits", person=person, elicitation=True) as one:
        reply = await answered(one)
        assert reply["result"] == {"action": "accept", "content": {"name": "Ada", "age": 41}}
        assert [question.text for question in person.asked[2:5]] == [
            "evil asks for age: whole number.",
            "old is no whole number: it was not sent. evil asks for age: whole number.",
            "At least 18 are asked for: it was not sent. evil asks for age: whole number.",
        ]


async def test_a_secret_is_not_sent_even_if_the_person_types_it() -> None:
    person = Person("answer it", "my s3cret", "s3cret", "s3cret!")
    async with asking("elicits", person=person, elicitation=True) as one:
        reply = await answered(one)
        assert "error" in reply and "s3cret" not in json.dumps(reply)


async def test_the_time_limit_of_a_call_pauses_while_the_person_thinks() -> None:
    person = Person("decline", pause=4.5)
    async with asking("elicits", person=person, elicitation=True) as one:
        one.servers._patience = Patience(call_seconds=0.5)  # with the 3 s of grace less than the person takes
        assert (await answered(one))["result"] == {"action": "decline"}


@pytest.mark.parametrize("mode", ["elicits-and-goes", "elicits-and-dies"])
async def test_a_question_is_withdrawn_when_its_call_is_over(mode: str) -> None:
    person = Person()
    async with asking(mode, person=person, elicitation=True) as one:
        report = await one.call(await one.look())
        assert (report.status == "ok") == (mode == "elicits-and-goes"), report
        for _ in range(600):
            if person.left:
                break
            await asyncio.sleep(0.05)
        assert len(person.asked) == 1 == len(person.left)


async def test_an_interrupted_call_withdraws_its_question() -> None:
    person = Person()
    async with asking("elicits", person=person, elicitation=True) as one:
        found = await one.look()
        call = asyncio.create_task(one.call(found))
        while not person.asked:
            await asyncio.sleep(0.02)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        for _ in range(600):
            if person.left:
                break
            await asyncio.sleep(0.05)
        assert person.left


async def test_an_address_is_shown_and_never_opened() -> None:
    form = {"mode": "url", "message": "Sign in.", "url": "https://pay.example/x", "elicitationId": "1"}
    person = Person("I have opened it")
    async with asking("elicits", person=person, form=form, elicitation=True) as one:
        assert (await answered(one))["result"]["action"] == "accept"
        assert "https://pay.example/x" in person.asked[0].text


def test_the_digest_of_a_server_without_such_grants_is_unchanged() -> None:
    """Digests from before there were such grants: approvals of tools name them."""
    old = ServerSpec(
        name="time", argv=("python3", "-m", "mcp_server_time"), lock="ab", network=("a.example:443",)
    )
    assert old.digest == "3c00f4694e2d7a4979556015bb1ebbbda51792b7ea018629c97dccc2a32afada"
    (draft,) = listing(old, {"name": "t"}, [{"name": "now", "inputSchema": {"type": "object"}}]).drafts
    assert "model_calls" not in draft.code and "roots" not in draft.code
    for grant in ({"model_calls": 1}, {"elicitation": True}, {"roots": ("file:///x",)}):
        assert msgspec.structs.replace(old, **grant).digest != old.digest, "another grant is another approval"


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ([], "no object"),
        ({"type": "object", "properties": []}, "no object"),
        ({"type": "object", "properties": {str(n): NAME for n in range(11)}}, "11 fields"),
        ({"type": "object", "properties": {"a": {"type": "object"}}}, "no simple type"),
        ({"type": "object", "properties": {"a": {"type": ["string"]}}}, "no simple type"),
        ({"type": "object", "properties": {"a": 7}}, "no simple type"),
        ({"type": "object", "properties": {"a": {"type": "array"}}}, "names no choices"),
        ({"type": "object", "properties": {"a": {"type": "string", "enum": list(range(51))}}}, "51 choices"),
    ],
)  # fmt: skip
def test_a_form_that_cannot_be_shown_is_refused(schema: Any, why: str) -> None:
    with pytest.raises(FormError, match=why):
        fields_of(schema)


@pytest.mark.parametrize(
    ("schema", "answer", "value"),
    [
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["Apple", "Bee"]}, "Bee", "b"),
        ({"type": "string", "oneOf": [{"const": "x", "title": "The X"}]}, "The X", "x"),
        ({"type": "string", "enum": ["a"]}, "c", None),
        ({"type": "array", "items": {"enum": ["a", "b", "c"]}, "maxItems": 2}, "a, c", ["a", "c"]),
        ({"type": "array", "items": {"enum": ["a", "b", "c"]}, "maxItems": 2}, "a,b,c", None),
        ({"type": "boolean"}, " Yes ", True),
        ({"type": "boolean"}, "perhaps", None),
        ({"type": "number", "maximum": 2}, "1.5", 1.5),
        ({"type": "number"}, "nan", None),
        ({"type": "number"}, "1e999", None),
        ({"type": "integer"}, "1.5", None),
        ({"type": "string", "minLength": 3, "maxLength": 1e400}, "ab", None),
        ({"type": "string", "maxLength": "x"}, "ab", "ab"),
    ],
)
def test_an_answer_is_checked_against_its_field(schema: Any, answer: str, value: Any) -> None:
    (field,) = fields_of({"type": "object", "properties": {"a": schema}})
    if value is None:
        with pytest.raises(FormError):
            value_of(field, answer)
    else:
        assert value_of(field, answer) == value
