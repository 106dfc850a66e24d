"""How both adapters fail: one kind for each fault, no part of a reply, no word of a key."""

import socket
import subprocess
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from alita_tui.llm.scripted import ScriptReply, ScriptRequest
from alita_tui.spine.errors import ModelError
from tests.support.servers.lab import CALL, KEY, REQUEST, TEXT, Lab, open_lab
from tests.support.servers.wire import Fault


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (307, "not_found"),
        (400, "bad_request"),
        (401, "auth"),
        (402, "payment"),
        (403, "auth"),
        (404, "not_found"),
        (408, "timeout"),
        (409, "bad_request"),
        (413, "context"),
        (422, "bad_request"),
        (429, "rate_limit"),
        (500, "server"),
        (502, "server"),
        (503, "overloaded"),
        (504, "server"),
        (529, "overloaded"),
    ],
)
async def test_every_status_has_its_kind(lab: Lab, status: int, kind: str) -> None:
    lab.server.plan(Fault(status=status, headers={"retry-after": "7", "location": "/elsewhere"}))
    error = await lab.fail()
    assert (error.kind, error.status, error.retry_after) == (kind, status, 7.0)
    assert lab.model.name in error.message
    assert error.hint or kind == "bad_request"
    asked = [one for one in lab.server.requests if one.method == "POST"]
    assert len(asked) == 1  # no retry and no redirect behind our back


@pytest.mark.parametrize("status", [429, 503, 529])
async def test_without_retry_after_no_wait_is_invented(lab: Lab, status: int) -> None:
    lab.server.plan(Fault(status=status))
    assert (await lab.fail()).retry_after is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", "context"),
        ("This model's maximum context length is 8192 tokens.", "context"),
        ("Your credit balance is too low to access the API.", "payment"),
        ("max_tokens: 99999 > 8192, which is the maximum allowed", "bad_request"),
    ],
)
async def test_the_words_of_a_400_decide_its_kind(lab: Lab, text: str, kind: str) -> None:
    body = msgspec.json.encode(lab.server.error_body(400, text))
    lab.server.plan(Fault(status=400, body=body))
    assert (await lab.fail()).kind == kind


@pytest.mark.parametrize("body", [b"", b"<html>Bad gateway</html>", b"[1]", b'"text"', b"\xff\xfe"])
async def test_an_error_has_its_kind_whatever_its_body(lab: Lab, body: bytes) -> None:
    lab.server.plan(Fault(status=502, body=body, headers={"content-type": "text/html"}))
    assert (await lab.fail()).kind == "server"


async def test_a_key_is_never_repeated(lab: Lab) -> None:
    body = msgspec.json.encode(lab.server.error_body(401, f"bad key {KEY}"))
    lab.server.plan(Fault(status=401, body=body))
    error = await lab.fail()
    assert KEY not in f"{error!r} {error} {lab.model!r} {vars(lab.model)['_at']!r}"
    assert error.__cause__ is None


@pytest.mark.parametrize("key", ["sk-new\nline-9", "sk-bell\x07-9", "sk-schlüssel-9", "sk-two words-9"])
async def test_a_key_that_cannot_be_sent_is_refused_unshown(lab: Lab, key: str) -> None:
    other = open_lab(lab.vendor, lab.server, api_key=key)
    error = await other.fail()
    assert error.kind == "auth"
    assert not any(part in str(error) for part in (key, key[:6], "-9"))
    assert lab.server.requests == []


async def test_space_around_a_key_is_not_part_of_it(lab: Lab) -> None:
    lab.server.plan(Fault(script=TEXT))
    other = open_lab(lab.vendor, lab.server, api_key=f" {KEY}\n")
    await other.ask()
    await other.model.aclose()
    assert lab.server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTPS_PROXY", "gopher://127.0.0.1"),
        ("HTTPS_PROXY", "http://me:geheim/x@127.0.0.1"),
        ("SSL_CERT_FILE", "/nowhere/certificates.pem"),
    ],
)
async def test_an_environment_that_breaks_every_connection_is_named(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    error = await lab.fail()
    assert error.kind == "unavailable"
    assert name in error.hint
    assert "geheim" not in str(error)
    monkeypatch.delenv(name)
    lab.server.plan(Fault(script=TEXT))
    await lab.ask()  # a failed opening leaves nothing behind


async def test_a_proxy_is_not_asked_for_this_machine(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", lab.server.origin)
    for host in ("localhost", "127.0.0.2", "[::1]"):
        other = open_lab(lab.vendor, lab.server, base_url=f"http://{host}:9")
        error = await other.fail()
        await other.model.aclose()
        assert (error.kind, host in error.message) == ("connection", True)
    assert lab.server.requests == []


async def test_a_proxy_is_asked_for_other_hosts(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", lab.server.origin)
    other = open_lab(lab.vendor, lab.server, base_url="http://models.example/v1")
    lab.server.plan(Fault(status=503))
    error = await other.fail()
    await other.model.aclose()
    assert error.kind == "overloaded"
    assert lab.server.requests[0].path.startswith("http://models.example/v1/")


async def test_tls_goes_through_a_proxy_as_a_tunnel_that_sees_no_key(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", lab.server.origin.replace("//", "//me:geheim@"))
    other = open_lab(lab.vendor, lab.server, base_url="https://models.example/v1")
    error = await other.fail()  # this proxy opens no tunnels
    await other.model.aclose()
    assert error.kind == "connection" and "geheim" not in str(error)
    (asked,) = lab.server.requests
    assert (asked.method, asked.path) == ("CONNECT", "models.example:443")
    assert asked.headers["proxy-authorization"].startswith("Basic ") and KEY not in str(asked)


async def test_no_proxy_is_respected(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    host = socket.gethostname()
    monkeypatch.setenv("HTTP_PROXY", lab.server.origin)
    monkeypatch.setenv("NO_PROXY", host)
    other = open_lab(lab.vendor, lab.server, base_url=f"http://{host}:1/v1")
    assert (await other.fail()).kind == "connection"
    await other.model.aclose()
    assert lab.server.requests == []


async def test_a_certificate_authority_of_ones_own_is_trusted(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pem = tmp_path / "server.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(pem), "-out", str(tmp_path / "ca.pem")],
        check=True, capture_output=True,
    )  # fmt: skip
    pem.write_text(pem.read_text() + (tmp_path / "ca.pem").read_text())
    with type(lab.server)(api_key=KEY, tls=pem) as server:
        stranger = open_lab(lab.vendor, server)
        assert (await stranger.fail()).kind == "connection"
        await stranger.model.aclose()
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        friend = open_lab(lab.vendor, server)
        server.plan(Fault(script=TEXT))
        _, reply = await friend.ask()
        await friend.model.aclose()
    assert reply.text == TEXT.text


async def test_a_refused_connection_names_the_host(lab: Lab) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
        other = open_lab(lab.vendor, lab.server, base_url=f"http://user:secret@{host}/v1")
        error = await other.fail()
        await other.model.aclose()
    assert error.kind == "connection"
    assert host in error.message
    assert "secret" not in error.message


async def test_an_unreachable_machine_is_given_up_soon_if_another_model_could_be_asked(
    lab: Lab,
) -> None:
    with socket.socket() as deaf, socket.socket() as one, socket.socket() as two:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)  # it accepts nothing, and its queue is full
        for filler in (one, two):
            filler.setblocking(False)
            filler.connect_ex(deaf.getsockname())
        other = open_lab(lab.vendor, lab.server, base_url=f"http://127.0.0.1:{deaf.getsockname()[1]}/v1")
        error = await other.fail(msgspec.structs.replace(REQUEST, hurry=True))
        await other.model.aclose()
    assert error.kind == "timeout" and "took no connection in time" in error.message
    assert "is the machine of the server on?" in error.hint
    waits = [other.model._patience(msgspec.structs.replace(REQUEST, hurry=hurry)) for hurry in (True, False)]
    assert [(wait.connect, wait.read) for wait in waits] == [(1.2, 20.0), (10.0, 20.0)]


@pytest.mark.parametrize("after", [0, 1, 4, 7])
@pytest.mark.parametrize(
    ("then", "kind"), [("end", "truncated"), ("cut", "connection"), ("reset", "connection")]
)
async def test_a_stream_that_breaks_off_is_no_reply(lab: Lab, then: Any, kind: str, after: int) -> None:
    script = ScriptReply(text="One two three.", requests=CALL.requests)
    lab.server.plan(Fault(script=script, then=then, after=after), Fault(script=TEXT))
    error = await lab.fail()
    assert error.kind == kind
    assert error.hint
    await lab.ask()  # and the model works on


async def test_a_stream_cut_anywhere_never_passes_for_a_whole_reply(lab: Lab) -> None:
    script = ScriptReply(text="Ja ö 👍.", requests=(*CALL.requests, ScriptRequest(name="list_all")))
    sent = b"".join(lab.server.stream(script, {"stream_options": {"include_usage": True}}))
    ends = [*range(1, len(sent) - 160, 11), *range(len(sent) - 160, len(sent) + 1)]
    whole = 0
    for end in ends:
        lab.server.plan(Fault(events=(sent[:end],)))
        try:
            _, reply = await lab.ask()
        except ModelError as error:
            assert error.kind in ("truncated", "malformed")
            continue
        whole += 1
        assert reply.text == script.text
        assert [(call.name, call.arguments, call.problem) for call in reply.requests] == [
            ("find_tool", CALL.requests[0].arguments, ""),
            ("list_all", {}, ""),
        ]
    assert 0 < whole < 100


async def test_a_server_may_pause_and_go_on(lab: Lab) -> None:
    lab.server.plan(Fault(script=TEXT, then="hold", after=4))
    pieces = []
    async with aclosing(lab.model.reply(REQUEST)) as stream:  # type: ignore[type-var]  # async generators
        pieces.append(await anext(stream))
        lab.server.release()
        pieces += [piece async for piece in stream]
    assert pieces[-1].text == TEXT.text


async def test_a_stall_ends_in_a_timeout(lab: Lab) -> None:
    lab.server.plan(Fault(script=TEXT, then="stall", after=3))
    quick = open_lab(lab.vendor, lab.server, timeout=0.3)
    error = await quick.fail()
    await quick.model.aclose()
    assert error.kind == "timeout"
    assert "0.3 seconds" in error.message
    assert await lab.server.client_left()


@pytest.mark.parametrize(
    "junk",
    [
        b"event: message_delta\ndata: {\"type\": \"mess\n\n",
        b"event: message_delta\ndata: 5\n\n",
        b"event: message_delta\ndata: [\"x\"]\n\n",
        b'event: content_block_delta\ndata: {"type":"content_block_delta"}\n\ndata: {"choices":5}\n\n',
        b"event: message_delta\ndata: \xff\xfe\n\n",
    ],
)  # fmt: skip
async def test_a_corrupt_event_is_malformed(lab: Lab, junk: bytes) -> None:
    lab.server.plan(Fault(script=TEXT, then="send", after=4, junk=junk))
    error = await lab.fail()
    assert error.kind == "malformed"


@pytest.mark.parametrize(
    ("kind", "body"),
    [("text/html", b"<html>\n<p>data: login</p>\n</html>"), ("application/json", b'{"ok": true}')],
)
async def test_a_200_that_is_no_stream_is_malformed(lab: Lab, kind: str, body: bytes) -> None:
    lab.server.plan(Fault(body=body, headers={"content-type": kind}))
    error = await lab.fail()
    assert error.kind == "malformed"
    assert kind in error.message
    assert "base URL" in error.hint


async def test_an_empty_stream_is_truncated(lab: Lab) -> None:
    lab.server.plan(Fault(events=()))
    assert (await lab.fail()).kind == "truncated"
