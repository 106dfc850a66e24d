"""OpenTelemetry: the conventions' spans and metrics, read by the SDK itself; only to the address given, texts only when asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from typer.testing import CliRunner

from alita_tui import events as e
from alita_tui.app.context import AppContext, close_all
from alita_tui.app.telemetry import Receivers, send
from alita_tui.cli.main import cli
from alita_tui.events import BuildDigest, CallId, RunReport, ToolName, Usage
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import AlitaError, UsageError
from alita_tui.statistics.spans import spans_of
from tests.statistics.records import called, opened, record, returned
from tests.statistics.simulated import envelopes

NOW = datetime.now(UTC)
SECRET = "correct-horse-battery-staple-7741"


def home(folder: Path, **sessions: list[Envelope]) -> AppContext:
    app = AppContext.open(folder)
    for name, events in sessions.items():
        app.sessions.add(name, events)
    return app


def sent(app: AppContext, **more: Any) -> tuple[list[Any], dict[str, Any]]:
    spans, metrics = InMemorySpanExporter(), InMemoryMetricReader()
    send(app, "http://127.0.0.1:1", None, receivers=Receivers(spans, metrics), **more)
    data = metrics.get_metrics_data()
    found = {} if data is None else {
        one.name: one for resource in data.resource_metrics for scope in resource.scope_metrics for one in scope.metrics
    }  # fmt: skip
    return list(spans.get_finished_spans()), found


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    close_all()


def task() -> list[Envelope]:
    usage = Usage(input_tokens=70, output_tokens=5, cached_tokens=30)
    return record(
        opened(), e.TaskSubmitted(task_id=e.TaskId("t"), text=f"Add 2 and 3; my word is {SECRET}"),
        e.ModelReplied(call_id="m", role="orchestrator", model="openai:small", usage=usage, stop="stop", duration_ms=400),
        e.BudgetSpent(call_id="m", cost_usd=0.25, role="orchestrator", model="openai:small", tokens=75),
        e.ModelFailed(call_id="n", role="planner", model="anthropic:large", error="rate_limit", text="slow down"),
        e.ToolCalled(call_id=CallId("c"), action_id="a", name=ToolName("add"), version=2, digest=BuildDigest("0" * 64),
                     arguments={"key": SECRET}),
        e.ToolReturned(call_id=CallId("c"), report=RunReport(status="ok", result={"sum": 5})),
        e.ToolCalled(call_id=CallId("d"), action_id="a", name=ToolName("add"), version=2, digest=BuildDigest("0" * 64),
                     arguments={}),
        e.ToolFailed(call_id=CallId("d"), reason="timeout", text="too long"),
        e.TaskFinished(task_id=e.TaskId("t"), outcome="answered", answer="5"),
        session="s1",
    )  # fmt: skip


def test_a_task_is_one_trace_with_the_names_of_the_conventions(tmp_path: Path) -> None:
    spans, metrics = sent(home(tmp_path, s1=task()))
    root = next(one for one in spans if one.parent is None)
    assert root.name == "invoke_agent alita" and root.status.status_code is StatusCode.UNSET
    assert {one.context.trace_id for one in spans} == {root.context.trace_id}
    assert {one.parent.span_id for one in spans if one is not root} == {root.context.span_id}
    assert root.start_time < root.end_time and root.resource.attributes["service.name"] == "alita"
    chat, failed = (one for one in spans if one.attributes["gen_ai.operation.name"] == "chat")
    assert (chat.name, chat.kind, chat.end_time - chat.start_time) == (
        "chat small",
        SpanKind.CLIENT,
        400_000_000,
    )
    assert dict(chat.attributes) == {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "small",
        "gen_ai.conversation.id": "s1", "gen_ai.usage.input_tokens": 70,
        "gen_ai.usage.output_tokens": 5, "gen_ai.usage.cache_read.input_tokens": 30,
        "gen_ai.usage.cache_creation.input_tokens": 0,
        "gen_ai.response.finish_reasons": ("stop",), "alita.role": "orchestrator", "alita.cost_usd": 0.25,
    }  # fmt: skip
    assert failed.status.status_code is StatusCode.ERROR and failed.attributes["error.type"] == "rate_limit"
    good, bad = (one for one in spans if one.name == "execute_tool add")
    assert good.kind is SpanKind.INTERNAL and good.attributes["gen_ai.tool.call.id"] == "c"
    assert bad.attributes["error.type"] == "timeout"
    tokens = {
        point.attributes["gen_ai.token.type"]: point.sum
        for point in metrics["gen_ai.client.token.usage"].data.data_points
    }
    assert tokens == {"input": 70, "output": 5}
    counted = {name: sum(one.count for one in metrics[f"gen_ai.{name}.duration"].data.data_points)
               for name in ("client.operation", "execute_tool", "invoke_agent")}  # fmt: skip
    assert counted == {"client.operation": 2, "execute_tool": 2, "invoke_agent": 1}
    assert [one.value for one in metrics["alita.cost"].data.data_points] == [0.25]


REQUIRED = {
    "chat": {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"},
    "execute_tool": {"gen_ai.operation.name", "gen_ai.tool.name"},
    "invoke_agent": {
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.agent.name",
        "gen_ai.conversation.id",
    },
}
"""Attributes of spans that the conventions require, or where they are known (pages gen-ai-spans and gen-ai-agent-spans)."""
METRICS: dict[str, tuple[str, set[str], set[str]]] = {
    "gen_ai.client.operation.duration": ("s", {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"},
                                         {"error.type"}),
    "gen_ai.client.token.usage": ("{token}", {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model",
                                              "gen_ai.token.type"}, set()),
    "gen_ai.execute_tool.duration": ("s", {"gen_ai.tool.name", "gen_ai.agent.name", "gen_ai.tool.type"}, {"error.type"}),
    "gen_ai.invoke_agent.duration": ("s", {"gen_ai.agent.name"}, {"error.type"}),
}  # fmt: skip
"""Metrics of the conventions that belong to what is sent (page gen-ai-metrics): unit, attributes, attributes of errors."""


def test_recorded_sessions_are_sent_as_the_conventions_say(tmp_path: Path) -> None:
    """Names out of OpenTelemetry's own package; what is required, and units, off its pages."""
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as names

    from alita_tui.store.sessions import SessionFile

    known = {value for name, value in vars(names).items() if name.startswith("GEN_AI_")} | {
        "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens",
    }  # fmt: skip
    operations = {one.value for one in names.GenAiOperationNameValues}
    folder = Path(__file__).parents[2] / "sessions"
    sessions = {"s1": task()}
    for path in sorted(folder.glob("golden-*.json")):
        file = SessionFile.open(path, readonly=True)
        sessions[path.stem] = list(file.history())
        file.close()
    spans, metrics = sent(home(tmp_path, **sessions), texts=True)
    seen = set()
    for one in spans:
        told = dict(one.attributes)
        operation = told["gen_ai.operation.name"]
        seen.add(operation)
        assert operation in operations and REQUIRED[operation] <= {*told}, one.name
        assert {name for name in told if name.startswith("gen_ai.")} <= known
        assert one.name.startswith(f"{operation} ") and all(value != "" for value in told.values())
        assert (one.status.status_code is StatusCode.ERROR) == ("error.type" in told)
        assert one.kind is (SpanKind.CLIENT if operation == "chat" else SpanKind.INTERNAL)
        for message in json.loads(told.get("gen_ai.output.messages", "[]")):
            assert (
                message["role"] == "assistant" and message["finish_reason"] and message["parts"] is not None
            )
    assert seen == {*REQUIRED}
    assert {*metrics} == {*METRICS, "alita.cost"}
    for name, (unit, required, of_errors) in METRICS.items():
        assert metrics[name].unit == unit and metrics[name].description, name
        for point in metrics[name].data.data_points:
            assert required <= {*point.attributes} <= required | of_errors, name
    for operation, name in (
        ("chat", "client.operation"),
        ("execute_tool", "execute_tool"),
        ("invoke_agent",) * 2,
    ):
        lasted = [
            one.end_time - one.start_time
            for one in spans
            if one.attributes["gen_ai.operation.name"] == operation
        ]
        points = metrics[f"gen_ai.{name}.duration"].data.data_points
        assert sum(point.count for point in points) == len(lasted)
        assert sum(point.sum for point in points) == pytest.approx(sum(lasted) / 1e9), (
            "as long as the spans are"
        )


def test_a_model_name_with_a_colon_and_estimated_counts_are_exported() -> None:
    usage = Usage(input_tokens=70, output_tokens=5, reported=False)
    reply = e.ModelReplied(
        call_id="m", role="orchestrator", model="ollama:qwen3:8b", usage=usage, stop="tool_use"
    )
    events = (
        opened(), e.TaskSubmitted(task_id=e.TaskId("t"), text="x"), reply,
        e.TaskFinished(task_id=e.TaskId("t"), outcome="answered"),
    )  # fmt: skip
    chat, root = spans_of(record(*events))
    assert (chat.name, chat.attributes["gen_ai.request.model"]) == ("chat qwen3:8b", "qwen3:8b")
    assert chat.attributes["gen_ai.provider.name"] == root.attributes["gen_ai.provider.name"] == "ollama"
    assert chat.attributes["gen_ai.response.finish_reasons"] == ("tool_call",)
    assert not any("usage" in name for name in chat.attributes), (
        "counts that nobody reported must not be sent"
    )


def test_texts_go_only_when_asked_and_secrets_never(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = home(tmp_path, s1=task())
    spans, _ = sent(app)
    told = str([(one.name, dict(one.attributes)) for one in spans])
    assert "Add 2 and 3" not in told and SECRET not in told and "sum" not in told
    redactor = app.redactor()
    redactor.learn("WORD", SECRET)
    monkeypatch.setattr(app, "redactor", lambda: redactor)
    spans, _ = sent(app, texts=True)
    told = str([(one.name, dict(one.attributes)) for one in spans])
    assert "Add 2 and 3" in told and '{"sum":5}' in told and "[redacted" in told and SECRET not in told


def test_the_same_session_gives_the_same_ids_and_no_two_spans_share_one(tmp_path: Path) -> None:
    app = home(tmp_path, s1=list(envelopes("s1", NOW, tasks=9)), s2=list(envelopes("s2", NOW, tasks=9)))
    first, again = (sent(app)[0] for _ in range(2))
    ids = [(one.context.trace_id, one.context.span_id) for one in first]
    assert ids == [(one.context.trace_id, one.context.span_id) for one in again] and len(set(ids)) == len(ids)
    assert len({trace for trace, _ in ids}) == 18


def test_a_fork_sends_its_own_events_and_a_session_from_elsewhere_none() -> None:
    events = [one.event for one in task()][1:]
    assert list(spans_of(record(opened(imported=True), *events))) == []
    more = (
        e.TaskSubmitted(task_id=e.TaskId("t2"), text="x"),
        called("z"),
        returned("z"),
        e.TaskFinished(task_id=e.TaskId("t2"), outcome="stuck"),
    )
    fork = list(spans_of(record(opened(parent="s0", parent_seq=len(events) + 1), *events, *more)))
    assert [one.name for one in fork] == ["execute_tool csv_join", "invoke_agent alita"]
    assert fork[1].error == "stuck"


def test_since_leaves_out_tasks_that_ended_before(tmp_path: Path) -> None:
    app = home(
        tmp_path,
        old=list(envelopes("old", NOW - timedelta(days=40))),
        new=list(envelopes("new", NOW - timedelta(hours=2))),
    )
    spans = InMemorySpanExporter()
    send(app, "http://127.0.0.1:1", 7, receivers=Receivers(spans, InMemoryMetricReader()))
    assert {one.attributes["gen_ai.conversation.id"] for one in spans.get_finished_spans()} == {"new"}


@pytest.mark.parametrize(
    "url",
    ["", "collector", "ftp://127.0.0.1", "http://", "http://[::1", "http://collector.example", "https://u:p@collector.example",
     "http://127.0.0.1:99999", "https://collector.example/?to=elsewhere"],
)  # fmt: skip
def test_a_forbidden_collector_address_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageError):
        send(home(tmp_path), url, None)


class Collector:
    """A collector on the loopback that keeps paths and bodies, or sends on to another address."""

    def __init__(self, redirect: str = "") -> None:
        got: list[tuple[str, bytes]] = []
        self.got = got

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(307 if redirect else 200)
                if redirect:
                    self.send_header("Location", redirect + self.path)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def collectors() -> Iterator[list[Collector]]:
    made = [Collector()]
    made.append(Collector(redirect=made[0].url))
    yield made
    for one in made:
        one.close()


def test_the_command_sends_to_the_collector_only(
    tmp_path: Path, collectors: list[Collector], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = collectors[1]
    for name in (
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    ):
        monkeypatch.setenv(name, other.url)
    home(tmp_path, s1=task())
    close_all()
    told = CliRunner().invoke(
        cli, ["--home", str(tmp_path), "stats", "--since", "all", "--otel", collectors[0].url]
    )
    assert told.exit_code == 0, told.output
    assert "sent 5 spans and 5 metrics of 1 session" in told.output
    assert sorted(path for path, _ in collectors[0].got) == ["/v1/metrics", "/v1/traces"] and other.got == []
    assert not any(SECRET.encode() in body for _, body in collectors[0].got)


def test_a_redirect_is_not_followed_and_is_an_error(tmp_path: Path, collectors: list[Collector]) -> None:
    with pytest.raises(AlitaError, match="did not take the spans"):
        send(home(tmp_path, s1=task()), collectors[1].url, None)
    assert collectors[0].got == []
