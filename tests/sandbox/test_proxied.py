"""Granted hosts by way of the proxy that this machine uses, and without it where the environment says so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import msgspec
import pytest

from alita_tui.sandbox.settings import EngineSettings
from tests.sandbox.broker_bench import GET, HEAD, Bench, net
from tests.sandbox.loopback import ROOT, Middle, Site, proxying, serving

pytestmark = pytest.mark.podman


@pytest.fixture
async def bench(settings: EngineSettings) -> AsyncIterator[Bench]:
    made = Bench(settings)
    yield made
    if made.sandbox is not None:
        await made.sandbox.close()


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as found:
        yield found


@pytest.fixture
def safe() -> Iterator[Site]:
    with serving("far.example") as found:
        yield found


@pytest.fixture
def middle() -> Iterator[Middle]:
    with proxying() as found:
        yield found


def by(middle: Middle) -> dict[str, str]:
    return {
        "HTTPS_PROXY": f"http://me:p%40ss@127.0.0.1:{middle.port}",
        "http_proxy": f"127.0.0.1:{middle.port}",
        "NO_PROXY": "near.example",
    }


async def test_the_proxy_leads_to_names_that_only_it_knows(
    bench: Bench, site: Site, safe: Site, middle: Middle
) -> None:
    bench.open({}, environ=by(middle), secret={"KEY": "the-value"}.get)
    plain = f"http://far.example:{site.port}/plain"
    report = await bench.run(GET, net(f"far.example:{site.port}"), url=plain)
    assert msgspec.json.decode(report.result[2])["path"] == "/plain", report
    granted = net(f"GET far.example:{safe.port}", secrets=("KEY",))
    code = (
        HEAD
        + "def run(url):\n    request = urllib.request.Request(url, headers={'X-Key': os.environ['KEY']})\n    return json.load(urllib.request.urlopen(request))['path']\n"
    )
    ended = await bench.run(code, granted, url=f"https://far.example:{safe.port}/ended")
    assert ended.result == "/ended" and safe.seen[-1]["headers"]["x-key"] == "the-value", ended
    through = (
        HEAD
        + "def run(url, root):\n    return json.load(urllib.request.urlopen(url, context=ssl.create_default_context(cadata=root)))['path']\n"
    )
    tunnel = await bench.run(
        through,
        net(f"far.example:{safe.port}"),
        url=f"https://far.example:{safe.port}/through",
        root=ROOT.certificate,
    )
    assert tunnel.result == "/through", tunnel
    assert middle.asked == [
        f"GET {plain}",
        f"CONNECT far.example:{safe.port}",
        f"CONNECT far.example:{safe.port}",
    ]
    assert middle.known == ["Basic bWU6cEBzcw=="] * 2
    assert {one.address for one in bench.told} == {f"127.0.0.1:{middle.port}, a proxy"}
    assert "p@ss" not in msgspec.json.encode(bench.told).decode()


async def test_private_names_and_unencrypted_secrets_do_not_pass_the_proxy(
    bench: Bench, site: Site, middle: Middle
) -> None:
    bench.open({"inside.example": "10.0.0.1"}, environ=by(middle), secret={"KEY": "the-value"}.get)
    inside = await bench.run(
        GET, net(f"inside.example:{site.port}"), url=f"http://inside.example:{site.port}/"
    )
    assert inside.result[0] == 403 and "not a public address" in inside.result[2]
    code = GET.replace("headers=more.get('headers', {})", "headers={'X-Key': os.environ['KEY']}")
    clear = await bench.run(
        code, net(f"far.example:{site.port}", secrets=("KEY",)), url=f"http://far.example:{site.port}/"
    )
    assert clear.result[0] == 403 and "without TLS" in clear.result[2]
    assert middle.asked == [] and site.seen == []


async def test_no_proxy_is_respected_and_a_refusing_proxy_is_reported(
    bench: Bench, site: Site, middle: Middle
) -> None:
    bench.open({"near.example": "127.0.0.1"}, (f"near.example:{site.port}",), environ=by(middle))
    near = await bench.run(GET, net(f"near.example:{site.port}"), url=f"http://near.example:{site.port}/")
    assert near.result[0] == 200 and middle.asked == []
    with proxying(407) as strict:
        other = Bench(bench.settings)
        other.open({}, environ=by(strict))
        try:
            refused = await other.run(GET, net("GET far.example:443"), url="https://far.example/")
        finally:
            assert other.sandbox is not None
            await other.sandbox.close()
    assert refused.result[0] == 502 and "407" in refused.result[2]
