"""A key appears nowhere: not in events, logs, session files, exports or tracebacks, whatever a server sends back."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from alita_tui.replay.export import Format, export
from alita_tui.spine.envelope import encode
from alita_tui.spine.errors import ModelError
from alita_tui.store.sessions import SessionFile
from tests.support.servers.lab import CALL, KEY, REQUEST, TEXT, Lab, open_lab
from tests.support.servers.wire import Fault
from tests.support.simulation import Desk

ECHO = f"Incorrect API key provided: {KEY}. Bearer {KEY}".encode()
STATUSES = (400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 529)
FAULTS = {
    **{f"status {status}": Fault(status=status, body=b"%d " % status + ECHO) for status in STATUSES},
    **{f"JSON {status}": Fault(status=status) for status in STATUSES},
    "retry after": Fault(status=429, body=ECHO, headers={"retry-after": KEY}),
    "no stream": Fault(body=b"<html>" + ECHO, headers={"content-type": "text/html"}),
    "JSON for a stream": Fault(body=b'{"ok": "' + KEY.encode() + b'"}'),
    "broken event": Fault(script=TEXT, then="send", after=2, junk=b"event: message_delta\ndata: {" + ECHO + b"\n\n"),
    "wrong event": Fault(script=TEXT, then="send", after=2, junk=b'event: message_delta\ndata: ["' + KEY.encode() + b'"]\n\n'),
    "error event": Fault(
        script=TEXT, then="send", after=2,
        junk=b'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"' + ECHO + b'"}}\n\n',
    ),
    "plain error event": Fault(script=TEXT, then="send", after=2, junk=b"event: error\ndata: " + ECHO + b"\n\n"),
    "cut": Fault(script=CALL, then="cut", after=3),
    "reset": Fault(script=CALL, then="reset", after=3),
    "end": Fault(script=CALL, then="end", after=3),
    "redirect": Fault(status=307, headers={"location": f"http://127.0.0.1:9/{KEY}"}),
}  # fmt: skip


def trace_of(error: BaseException) -> str:
    """The whole traceback with the locals of every frame that is not a test's."""
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    told.stack = traceback.StackSummary.from_list(
        frame for frame in told.stack if "/tests/" not in frame.filename
    )
    return "".join(told.format())


@pytest.mark.parametrize("kind", FAULTS)
async def test_no_failure_shows_the_key(
    lab: Lab, kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    fault = FAULTS[kind]
    if kind.startswith("JSON 4") or kind.startswith("JSON 5"):
        body = msgspec.json.encode(lab.server.error_body(fault.status, ECHO.decode()))
        fault = Fault(status=fault.status, body=body, headers=fault.headers)
    lab.server.plan(*[fault] * 4)
    desk = Desk(lab.model)
    with pytest.raises(ModelError) as caught:
        await desk.calls.ask(REQUEST)
    assert desk.bus.history, "the failure is on the stream"
    file = SessionFile.create(tmp_path / "s.json", "s")
    for envelope in desk.bus.history:
        await file.record(envelope, barrier=False)
    file.close()
    seen = {
        "events": "".join(encode(one).decode() for one in desk.bus.history),
        "error": f"{caught.value} {caught.value!r} {vars(caught.value)}",
        "traceback": trace_of(caught.value),
        "logs": caplog.text,
        "output": "".join(capfd.readouterr()),
        "session file": (tmp_path / "s.json").read_text(),
        "exports": "".join(export(desk.bus.history, wanted, lambda one: one) for wanted in get_args(Format)),
        "breaker": str([vars(desk.router.breaker(lab.model.name)), desk.router.changes()]),
    }
    if KEY in str(fault.headers):  # the HTTP library logs the headers of answers, at a level that is never on
        del seen["logs"]
    assert [place for place, text in seen.items() if KEY in text] == []
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


@pytest.mark.parametrize("key", ["sk-with\nnewline-7731", "sk-schlüssel-7731", "sk two words-7731"])
async def test_a_key_that_cannot_be_sent_is_not_shown_either(
    lab: Lab, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    error = await open_lab(lab.vendor, lab.server, api_key=key).fail()
    assert "7731" not in f"{error} {trace_of(error)} {caplog.text}"


async def test_a_successful_call_shows_the_key_nowhere(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    lab.server.plan(Fault(script=CALL))
    desk = Desk(lab.model)
    reply = await desk.calls.ask(REQUEST)
    assert lab.server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    told = "".join(encode(one).decode() for one in desk.bus.history)
    assert KEY not in told + caplog.text + repr(reply) + repr(lab.model) + repr(desk.router)
