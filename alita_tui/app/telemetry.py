"""Sends spans and metrics of the sessions, once, to an OpenTelemetry collector that the person named.

Nothing is sent automatically or anywhere else: the address comes from the command; environment variables for another
address or a proxy are ignored, and redirects are not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from alita_tui import __version__
from alita_tui.app.context import AppContext
from alita_tui.app.identity import now
from alita_tui.spine.errors import AlitaError, StoreError, UsageError
from alita_tui.spine.text import one_line
from alita_tui.statistics.spans import KINDS, Attribute, SpanRow, measures_of, spans_of

if TYPE_CHECKING:
    from alita_tui.spine.redaction import Redactor

_BATCH = 400
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SECONDS = 10.0
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
_DURATIONS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TASKS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
"""Histogram boundaries that the conventions advise: tokens, seconds of a call or run, and seconds of a task."""
_TIMED = {
    "chat": ("gen_ai.client.operation.duration", "GenAI operation duration.", _DURATIONS),
    "execute_tool": ("gen_ai.execute_tool.duration", "The duration of a single tool execution.", _DURATIONS),
    "invoke_agent": ("gen_ai.invoke_agent.duration", "The duration of a single agent invocation.", _TASKS),
}
"""Operation -> name, description and boundaries of the metric of its duration."""


class Sent(NamedTuple):
    """What was sent."""

    sessions: int
    spans: int
    metrics: int


class Receivers(NamedTuple):
    """Where spans and metrics go: the SDK's exporter of each."""

    spans: Any
    metrics: Any
    """A metric reader."""


def send(
    app: AppContext,
    url: str,
    days: int | None,
    *,
    texts: bool = False,
    progress: Callable[[int, int], object] = lambda number, of: None,
    receivers: Receivers | None = None,
) -> Sent:
    """Send the sessions of the newest days, or all for None. Blocks.

    `texts` also sends the texts of tasks, replies, arguments and results, without the secrets that are known here.
    Raises UsageError for an address that cannot be used, AlitaError if the extra is missing or no collector answers.
    """
    _imports()
    to = receivers or _over_http(_checked(url))
    since = None if days is None else now() - timedelta(days=days)
    paths = sorted(app.sessions.paths())
    redactor = app.redactor()
    metrics = _Metrics(to.metrics)
    sessions = spans = 0
    try:
        for number, path in enumerate(paths):
            progress(number, len(paths))
            rows = _spans(path, since, redactor, texts=texts)
            before = spans
            while batch := list(islice(rows, _BATCH)):
                _export(to.spans, batch, url)
                metrics.add(batch)
                spans += len(batch)
            sessions += spans > before
        return Sent(sessions, spans, metrics.flush(url))
    finally:
        to.spans.shutdown()
        if receivers is None:
            metrics.close()


def _spans(path: Path, since: datetime | None, redactor: Redactor, *, texts: bool) -> Iterator[SpanRow]:
    """Yield a session's spans without secrets; of a damaged session, those before the damage."""
    from alita_tui.spine.history import of
    from alita_tui.store.sessions import SessionFile

    with suppress(StoreError, UsageError):
        if since is not None and _older(path, since):
            return
        file = SessionFile.open(path, readonly=True)
        try:
            for span in spans_of(of(file.history(), *KINDS), since=since, texts=texts):
                clean = {name: _clean(redactor, value) for name, value in span.attributes.items()}
                yield span._replace(name=redactor.text(span.name), attributes=clean)
        finally:
            file.close()


def _older(path: Path, since: datetime) -> bool:
    """Return True if a session's files were last written more than a day before `since`."""
    stamps = [
        file.stat().st_mtime for file in (path, path.with_name(f"{path.name}.journal")) if file.exists()
    ]
    return bool(stamps) and max(stamps) < since.timestamp() - 86_400


def _clean(redactor: Redactor, value: Attribute) -> Attribute:
    if isinstance(value, str):
        return redactor.text(value)
    return tuple(redactor.text(text) for text in value) if isinstance(value, tuple) else value


def _imports() -> None:
    try:
        import opentelemetry.exporter.otlp.proto.http
        import opentelemetry.sdk.trace  # noqa: F401
    except ImportError as error:
        raise AlitaError(
            "OpenTelemetry is not installed.", hint="Install it with: pip install 'alita-tui[otel]'"
        ) from error


def _checked(url: str) -> str:
    """Return the address without a trailing slash. Raises UsageError for one that nothing may be sent to."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise UsageError(
            f"{one_line(url, 200)!r} is not an address of a collector.",
            hint="Write one as http://127.0.0.1:4318.",
        )
    if parts.username or parts.password:
        raise UsageError(
            "The address holds a password.", hint="Name headers in OTEL_EXPORTER_OTLP_HEADERS instead."
        )
    if parts.scheme == "http" and host not in _LOOPBACK:
        raise UsageError(
            f"{one_line(host, 200)} would get the data unencrypted.",
            hint="Use https, or a collector on this machine.",
        )
    return url.rstrip("/")


def _over_http(url: str) -> Receivers:
    import logging

    import requests
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    def no_redirect(response: requests.Response, *_: object, **__: object) -> None:
        if response.is_redirect:  # the exporter would take it for a success
            response.close()
            raise requests.TooManyRedirects("The collector sends elsewhere; redirects are not followed.")

    def session() -> requests.Session:
        http_session = requests.Session()
        http_session.trust_env = False  # no proxy, no .netrc: the host that was named and no other
        http_session.hooks["response"] = [no_redirect]
        return http_session

    logging.getLogger("opentelemetry").setLevel(
        logging.CRITICAL
    )  # the problem is reported once, as our error
    spans = OTLPSpanExporter(f"{url}/v1/traces", timeout=_SECONDS, session=session())
    metrics = OTLPMetricExporter(f"{url}/v1/metrics", timeout=_SECONDS, session=session())
    reader = PeriodicExportingMetricReader(metrics, export_interval_millis=float("inf"))
    return Receivers(spans, reader)


def _export(exporter: Any, batch: Iterable[SpanRow], url: str) -> None:
    from opentelemetry.sdk.trace.export import SpanExportResult

    if exporter.export([_readable(span) for span in batch]) is not SpanExportResult.SUCCESS:
        raise AlitaError(
            f"{one_line(url, 200)} did not take the spans.", hint="Is an OTLP/HTTP collector listening there?"
        )


def _resource() -> Any:
    from opentelemetry.sdk.resources import Resource

    return Resource({"service.name": "alita", "service.version": __version__})


def _readable(span: SpanRow) -> Any:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

    def context(span_id: int) -> Any:
        sampled = TraceFlags(TraceFlags.SAMPLED)
        return SpanContext(trace_id=span.trace_id, span_id=span_id, is_remote=False, trace_flags=sampled)

    return ReadableSpan(
        name=span.name,
        context=context(span.span_id),
        parent=context(span.parent_id) if span.parent_id else None,
        resource=_resource(),
        attributes=span.attributes,
        kind=SpanKind.CLIENT if span.kind == "client" else SpanKind.INTERNAL,
        status=Status(StatusCode.ERROR, span.error) if span.error else Status(StatusCode.UNSET),
        start_time=span.start,
        end_time=span.end,
        instrumentation_scope=InstrumentationScope("alita", __version__),
    )


class _Metrics:
    """The conventions' histograms, and what the calls cost."""

    def __init__(self, reader: Any) -> None:
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.view import ExplicitBucketHistogramAggregation, View

        def buckets(name: str, bounds: tuple[float, ...]) -> Any:
            return View(instrument_name=name, aggregation=ExplicitBucketHistogramAggregation(bounds))

        self._provider = MeterProvider(
            [reader],
            resource=_resource(),
            shutdown_on_exit=False,
            views=[
                *(buckets(name, bounds) for name, _, bounds in _TIMED.values()),
                buckets("gen_ai.client.token.usage", _TOKENS),
            ],
        )
        meter = self._provider.get_meter("alita", __version__)
        self._durations = {
            operation: meter.create_histogram(name, unit="s", description=description)
            for operation, (name, description, _) in _TIMED.items()
        }
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage", unit="{token}", description="Number of input and output tokens used."
        )
        self._cost = meter.create_counter("alita.cost", unit="USD", description="Known cost of model calls")
        self._recorded: set[str] = set()

    def add(self, spans: Iterable[SpanRow]) -> None:
        """Count spans."""
        for span in spans:
            measures = measures_of(span)
            self._durations[measures.operation].record(measures.seconds, measures.attributes)
            self._recorded.add(measures.operation)
            for kind, tokens in (("input", measures.input_tokens), ("output", measures.output_tokens)):
                if tokens:
                    used = {
                        name: value for name, value in measures.attributes.items() if name != "error.type"
                    }
                    self._tokens.record(tokens, {**used, "gen_ai.token.type": kind})
                    self._recorded.add("tokens")
            if measures.usd:
                self._cost.add(measures.usd, measures.attributes)
                self._recorded.add("cost")

    def close(self) -> None:
        """Close the connection without sending the rest."""
        self._provider.shutdown(timeout_millis=1000)

    def flush(self, url: str) -> int:
        """Send them; return how many metrics there were. Raises AlitaError."""
        if not self._recorded:
            return 0
        if not self._provider.force_flush(timeout_millis=int(_SECONDS * 1000)):
            raise AlitaError(
                f"{one_line(url, 200)} did not take the metrics.", hint="Does it take OTLP metrics?"
            )
        return len(self._recorded)
