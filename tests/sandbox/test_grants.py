"""What one run has left of its grants, counted on the host."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

import msgspec
import pytest

from alita_tui.sandbox.broker.grants import Caps, Refused
from alita_tui.spine.address import AddressPolicy
from tests.sandbox.grant_desk import desk
from tests.sandbox.loopback import Told


async def test_requests_past_the_burst_wait_for_the_rate() -> None:
    at = desk(Caps(per_second=20, burst=2))
    began = time.monotonic()
    for _ in range(6):
        await at.turn()
    assert time.monotonic() - began >= 4 / 20 * 0.9


async def test_requests_that_come_together_wait_one_after_the_other() -> None:
    at = desk(Caps(per_second=50, burst=1))
    began = time.monotonic()
    await asyncio.gather(*(at.turn() for _ in range(11)))
    assert time.monotonic() - began >= 10 / 50 * 0.9


async def test_requests_over_the_cap_are_refused() -> None:
    at = desk(Caps(requests=2, per_second=1e9))
    await at.turn()
    await at.turn()
    for _ in range(2):
        with pytest.raises(Refused, match="2 requests"):
            await at.turn()


def test_only_the_exact_host_and_port_are_granted() -> None:
    at = desk(Caps())
    assert at.grant("a.example", 443).methods == ("GET",) and at.grant("b.example", 80).methods == ()
    for host, port in (
        ("a.example", 80),
        ("b.example", 443),
        ("x.a.example", 443),
        ("a.example.evil", 443),
        ("", 443),
    ):
        with pytest.raises(Refused, match="not granted"):
            at.grant(host, port)


def test_bytes_are_counted_over_the_whole_run() -> None:
    at = desk(Caps(sent_bytes=10, received_bytes=10, files_bytes=10))
    for count in (at.sent, at.received, at.moved):
        count(6)
        with pytest.raises(Refused):
            count(6)
    at.sent(4)  # what was refused was not sent


async def test_a_name_is_resolved_once_and_refused_names_are_asked_again() -> None:
    asked: list[str] = []

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        asked.append(host)
        return (
            ("127.0.0.1",) if host == "b.example" else ("93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946")
        )

    at = desk(Caps(), guard=AddressPolicy(resolver=resolve))
    first = await asyncio.gather(*(at.pinned(at.hosts[0]) for _ in range(5)))
    assert set(first) == {("93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946")} and asked == ["a.example"]
    for _ in range(2):
        with pytest.raises(Refused, match="not a public address"):
            await at.pinned(at.hosts[1])


async def test_refusals_are_recorded_up_to_a_limit_and_other_requests_always() -> None:
    told = Told()
    at = desk(Caps(recorded_refusals=3), told)
    for _ in range(10):
        await at.record(at.answered("GET x").done(Refused(403, "no")))
    await at.record(at.answered("GET y").done())
    await at.record(at.answered("GET \x1b[31mz").done(Refused(502, "gone", failed=True)))
    assert [(one.request, one.outcome) for one in told] == [("GET x", "refused")] * 3 + [
        ("GET y", "served"),
        ("GET z", "failed"),
    ]


async def test_the_number_of_further_refusals_is_recorded_once_at_the_end_of_a_run() -> None:
    told = Told()
    at = desk(Caps(recorded_refusals=3), told)
    for _ in range(10):
        await at.record(at.answered("GET x").done(Refused(403, "no")))
    await at.record_rest()
    await at.record_rest()
    assert [one.request for one in told] == [*["GET x"] * 3, "7 more requests"]
    assert told[-1].outcome == "refused" and "first ones" in told[-1].reason and told[-1].call_id == "r"
    few = desk(Caps(recorded_refusals=3), told)
    await few.record(few.answered("GET x").done(Refused(403, "no")))
    await few.record_rest()
    assert len(told) == 5, "there is no rest"


async def test_a_page_s_flood_of_requests_is_recorded_up_to_a_count_and_counted_by_host_and_outcome() -> None:
    told = Told()
    at = desk(Caps(), told)
    at.capabilities = msgspec.structs.replace(at.capabilities, browser=True)
    for n in range(10_000):
        entry = at.answered(f"GET https://{'a' if n % 4 else 'b'}.example:8443/{n}")
        entry.received = 10
        why = Refused(403, "no") if n % 2 else Refused(502, "gone", failed=True) if n % 10 == 0 else None
        await at.record(entry.done(why))
    assert len(told) == 100
    assert Counter(event.outcome == "refused" for event in told) == {True: 50, False: 50}
    await at.record_rest()
    await at.record_rest()
    rest = told[100:]
    assert [event.outcome for event in rest] == ["served", "refused", "failed"]
    for outcome, total in (("served", 4000), ("refused", 5000), ("failed", 1000)):
        alone = [event for event in told[:100] if event.outcome == outcome]
        (number,) = (event for event in rest if event.outcome == outcome)
        assert len(alone) + sum(count.count for count in number.more) == total, outcome
        assert number.request == f"{total - len(alone)} more requests"
        assert {count.target for count in number.more} <= {"a.example:8443", "b.example:8443"}
        assert number.received_bytes == 10 * (total - len(alone))


async def test_hosts_of_a_flood_are_named_up_to_a_limit_and_all_are_counted() -> None:
    told = Told()
    at = desk(Caps(), told)
    at.capabilities = msgspec.structs.replace(at.capabilities, browser=True)
    for n in range(3000):
        await at.record(
            at.answered(f"GET http://{'x' * 500}{n}\x1b[31m\u202e.example/").done(Refused(403, "no"))
        )
    for n in range(3000):
        await at.record(at.answered(f"CONNECT h{n}.example:443").done(Refused(403, "no")))
    await at.record_rest()
    number = told[-1]
    assert len(told) == 51 and sum(count.count for count in number.more) == 5950
    assert len(number.more) <= 101 and len(msgspec.json.encode(number)) < 50_000
    assert all(count.target.isprintable() and "\x1b" not in count.target for count in number.more)


async def test_secrets_and_endpoints_used_in_a_flood_are_named() -> None:
    told = Told()
    at = desk(Caps(recorded_of_browser=1), told)
    at.capabilities = msgspec.structs.replace(at.capabilities, browser=True)
    for request in ("GET http://a.example/", "PUT /files/a", "PUT /files/b", "POST /model"):
        entry = at.answered(request)
        entry.secrets = {"KEY"} if "files" in request else set()
        await at.record(entry.done())
    await at.record_rest()
    assert [(count.target, count.count) for count in told[-1].more] == [("PUT /files", 2), ("POST /model", 1)]
    assert told[-1].secrets == ("KEY",)


async def test_requests_of_a_page_to_a_host_of_chromium_are_counted_in_a_flood() -> None:
    told = Told()
    at = desk(Caps(), told)
    at.capabilities = msgspec.structs.replace(at.capabilities, browser=True)
    for _ in range(200):
        await at.record(at.answered("CONNECT update.googleapis.com:443").done(Refused(403, "no")))
    await at.record_rest()
    (count,) = told[-1].more
    assert (count.target, count.count) == ("update.googleapis.com:443", 200 - 20 - 50)


@pytest.mark.parametrize("browser", [True, False])
async def test_own_requests_of_chromium_are_refused_silently(browser: bool) -> None:
    told = Told()
    at = desk(Caps(recorded_refusals=3), told)
    at.capabilities = msgspec.structs.replace(at.capabilities, browser=browser)
    own, others = "CONNECT update.googleapis.com:443", "CONNECT update.googleapis.com.evil.example:443"
    for request in (
        own,
        "GET http://update.googleapis.com/x",
        others,
        "GET http://x.example/?update.googleapis.com/",
    ):
        with pytest.raises(Refused):
            at.grant("update.googleapis.com", 443)
        await at.record(at.answered(request).done(Refused(403, "no")))
    assert [one.request for one in told][:1] == [others if browser else own]
    assert len(told) == (2 if browser else 3)


async def test_a_request_is_recorded_even_if_the_run_ends_meanwhile() -> None:
    release, entered = asyncio.Event(), asyncio.Event()

    class Slow(Told):
        async def __call__(self, answered) -> None:
            entered.set()
            await release.wait()
            await super().__call__(answered)

    told = Slow()
    at = desk(Caps(), told)
    telling = asyncio.create_task(at.record(at.answered("GET y").done()))
    await entered.wait()
    telling.cancel()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await telling
    assert [one.request for one in told] == ["GET y"]
