"""Granted hosts, through the broker and real containers: what goes through, and what is told of it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

from alita_tui.events import Capabilities
from alita_tui.sandbox.broker.grants import Caps
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.spine.ports.sandbox import Job, Limits
from tests.sandbox.broker_bench import GET, HEAD, LIMITS, Bench, net, nothing
from tests.sandbox.loopback import ROOT, Site, serving
from tests.support.disguising import FORMS, PACKED

pytestmark = pytest.mark.podman


@pytest.fixture
async def bench(settings: EngineSettings) -> AsyncIterator[Bench]:
    made = Bench(settings)
    yield made
    if made.sandbox is not None:
        await made.sandbox.close()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def safe() -> Iterator[Site]:
    with serving("api.example") as found:
        yield found


def open_to(bench: Bench, *ports: int, **more: Any) -> None:
    bench.open({"api.example": "127.0.0.1"}, tuple(f"api.example:{port}" for port in ports), **more)


async def test_a_granted_host_is_reached_and_the_request_recorded(bench: Bench, site: Site) -> None:
    open_to(bench, site.port)
    url = f"http://api.example:{site.port}/hello?a=1"
    report = await bench.run(GET, net(f"api.example:{site.port}"), url=url)
    assert report.status == "ok", report
    status, _, body = report.result
    said = msgspec.json.decode(body)
    assert (status, said["path"], said["headers"]["host"]) == (200, "/hello?a=1", f"api.example:{site.port}")
    assert not [name for name in said["headers"] if name.startswith("proxy")]
    (told,) = bench.told
    assert (told.call_id, told.request, told.outcome, told.status, told.address) == (
        "call",
        f"GET {url}",
        "served",
        200,
        "127.0.0.1",
    )
    assert told.sent_bytes > 0 and told.received_bytes > 0


async def test_nothing_is_granted_without_an_approved_digest(bench: Bench, site: Site) -> None:
    open_to(bench, site.port)
    look = "import os\ndef run(): return [sorted(n for n in os.environ if 'proxy' in n.lower() or 'ALITA' in n), os.listdir('/tmp/tool')]\n"
    report = await bench.run(look, net(f"api.example:{site.port}"), digest="")
    assert report.result == [[], ["tool_t.py"]]
    assert (await bench.run(look, Capabilities())).result == [[], ["tool_t.py"]]
    granted = await bench.run(look, net(f"api.example:{site.port}"))
    assert "http_proxy" in granted.result[0] and "ALITA_BROKER" not in granted.result[0]


async def test_bodies_pass_unchanged_in_both_directions(bench: Bench, site: Site) -> None:
    open_to(bench, site.port)
    granted = net(f"api.example:{site.port}")
    base = f"http://api.example:{site.port}"
    posted = await bench.run(GET, granted, url=f"{base}/echo", data="y" * 300_000)
    assert msgspec.json.decode(posted.result[2])["body"] == "y" * 300_000
    big = await bench.run(
        HEAD + "def run(url): return len(urllib.request.urlopen(url).read())\n",
        granted,
        url=f"{base}/big?n=5000000",
    )
    assert big.result == 5_000_000, big
    chunked = await bench.run(GET, granted, url=f"{base}/chunked")
    assert chunked.result[2] == "one" + "two" * 30_000 + "three"


async def test_tls_is_end_to_end_if_nothing_has_to_be_read(bench: Bench, safe: Site) -> None:
    open_to(bench, safe.port)
    code = HEAD + (
        "def run(url, root):\n    context = ssl.create_default_context(cadata=root)\n"
        "    return json.load(urllib.request.urlopen(url, context=context))['path'], 'SSL_CERT_FILE' in os.environ\n"
    )
    report = await bench.run(
        code, net(f"api.example:{safe.port}"), url=f"https://api.example:{safe.port}/a", root=ROOT.certificate
    )
    assert report.result == ["/a", False], report
    (told,) = bench.told
    assert (told.request, told.outcome) == (f"CONNECT api.example:{safe.port}", "served")


async def test_granted_methods_are_enforced_inside_tls(bench: Bench, safe: Site) -> None:
    open_to(bench, safe.port)
    granted = net(f"GET,HEAD api.example:{safe.port}")
    url = f"https://api.example:{safe.port}/a"
    assert (await bench.run(GET, granted, url=url)).result[0] == 200
    refused = await bench.run(GET, granted, url=url, data="x")
    assert refused.result[0] == 403 and "POST is not granted" in refused.result[2]
    assert [(one.request, one.outcome) for one in bench.told] == [
        (f"GET {url}", "served"),
        (f"POST {url}", "refused"),
    ]
    assert [one["method"] for one in safe.seen[-1:]] == ["GET"]


async def test_a_host_with_a_wrong_certificate_gets_no_request(bench: Bench, safe: Site) -> None:
    bench.open({"other.example": "127.0.0.1"}, (f"other.example:{safe.port}",))
    seen = len(safe.seen)
    report = await bench.run(
        GET, net(f"GET other.example:{safe.port}"), url=f"https://other.example:{safe.port}/"
    )
    assert report.result[0] == 502 and "certificate" in report.result[2]
    assert len(safe.seen) == seen and bench.told[-1].outcome == "failed"


async def test_a_secret_reaches_its_host_and_nothing_else(bench: Bench, safe: Site) -> None:
    bench.open(
        {"api.example": "127.0.0.1", "b.example": "127.0.0.1"},
        (f"api.example:{safe.port}", f"b.example:{safe.port}"),
        secret={"API_KEY": "s3cr3t/value"}.get,
    )
    granted = net(
        f"api.example:{safe.port}", f"b.example:{safe.port}", secrets=(f"API_KEY@api.example:{safe.port}",)
    )
    code = HEAD + (
        "import base64\ndef run(url, other):\n    key = os.environ['API_KEY']\n    basic = base64.b64encode(('me:' + key).encode()).decode()\n"
        "    ask = lambda where, value: urllib.request.urlopen(urllib.request.Request(where, headers={'Authorization': value}))\n"
        "    with ask(url + '?key=' + key, 'Bearer ' + key) as answer: first = [answer.headers['X-Repeated'], answer.read().decode()]\n"
        "    with ask(url, 'Basic ' + basic) as answer: second = [answer.headers['X-Repeated'], answer.read().decode()]\n"
        "    try: ask(other, 'Bearer ' + key)\n    except urllib.error.HTTPError as error: return [first, second, error.read().decode(), key, open('/proc/self/environ').read()]\n"
    )
    start = len(safe.seen)
    report = await bench.run(
        code, granted, url=f"https://api.example:{safe.port}/k", other=f"https://b.example:{safe.port}/k"
    )
    assert report.status == "ok", report
    first, second = safe.seen[start:]
    assert (
        first["headers"]["authorization"] == "Bearer s3cr3t/value"
        and first["path"] == "/k?key=s3cr3t%2Fvalue"
    )
    assert second["headers"]["authorization"] == "Basic bWU6czNjcjN0L3ZhbHVl"
    everything = msgspec.json.encode(report).decode() + msgspec.json.encode(bench.told).decode()
    for value in ("s3cr3t", "czNjcjN0", "bWU6czNjcjN0L3ZhbHVl"):
        assert value not in everything
    assert report.result[0][0] == "Bearer ************" and "is not granted for b.example" in report.result[2]
    assert [one.secrets for one in bench.told] == [("API_KEY",), ("API_KEY",), ()]


ECHOES = HEAD + (
    "import base64, http.client\nfrom urllib.parse import quote\n"
    "def run(url, forms):\n    key, found = os.environ['API_KEY'], {}\n"
    "    def ask(path, value):\n"
    "        try:\n"
    "            with urllib.request.urlopen(urllib.request.Request(url + path, headers={'Authorization': value} if value else {})) as answer:\n"
    "                data = answer.read()\n"
    "        except urllib.error.HTTPError as error: data = error.read()\n"
    "        except http.client.IncompleteRead as error: data = b'cut: ' + error.partial\n"
    "        except Exception as error: data = repr(error).encode()\n"
    "        return base64.b64encode(data).decode()\n"
    "    for form in forms:\n"
    "        found[form] = ask('/form?form=' + quote(form), 'Bearer ' + key)\n"
    "        found[form + ', asked later'] = ask('/form?form=' + quote(form), '')\n"
    "    found['no http'] = ask('/no-http', 'Bearer ' + key)\n"
    "    found['no header'] = ask('/k', 'Bearer ' + key + ' \\x01')\n"
    "    return found\n"
)


async def test_a_host_cannot_pass_a_secret_to_the_tool_in_any_encoding(bench: Bench, safe: Site) -> None:
    value = 'k7/Zq"x9+p<0123>&ü'
    open_to(bench, safe.port, secret={"API_KEY": f"{value} \n"}.get, caps=Caps(per_second=1000, burst=500))
    granted = net(f"api.example:{safe.port}", secrets=(f"API_KEY@api.example:{safe.port}",))
    report = await bench.run(ECHOES, granted, url=f"https://api.example:{safe.port}", forms=[*FORMS, *PACKED])
    assert report.status == "ok", report
    assert safe.heard == value.encode().decode("latin-1"), "the host was told the value"
    for form, coded in report.result.items():
        data = base64.b64decode(coded)
        _, read = {**FORMS, **PACKED}.get(form.removesuffix(", asked later"), FORMS["itself"])
        if data.startswith((b"cut: ", b"alita: ")) or form.startswith("no "):
            read = FORMS["itself"][1]
        for one in (value, safe.heard):
            assert one.encode() not in read(data) and one.encode() not in data, form
    everything = msgspec.json.encode(report).decode() + msgspec.json.encode(bench.told).decode()
    assert value not in everything and "k7/Zq" not in everything and "0123>" not in everything


async def test_a_missing_secret_is_reported(bench: Bench, safe: Site) -> None:
    open_to(bench, safe.port)
    code = GET.replace("headers=more.get('headers', {})", "headers={'X-Key': os.environ['API_KEY']}")
    report = await bench.run(
        code, net(f"api.example:{safe.port}", secrets=("API_KEY",)), url=f"https://api.example:{safe.port}/"
    )
    assert report.result[0] == 403 and "API_KEY is not set" in report.result[2]


async def test_usual_clients_just_work(bench: Bench, site: Site, safe: Site) -> None:
    open_to(bench, site.port, safe.port)
    assert bench.sandbox is not None
    lock = await bench.sandbox.lock(("requests", "httpx"), nothing)
    code = (
        "import httpx, requests, urllib.request\ndef run(urls):\n    found = []\n    with requests.Session() as session, httpx.Client() as client:\n"
        "        for url in urls:\n            found += [session.get(url).status_code, session.post(url, data=b'x' * 9).json()['body'], client.get(url).status_code,\n"
        "                      client.post(url, content=iter([b'a', b'b'])).json()['body'], urllib.request.urlopen(url).status]\n    return found\n"
    )
    granted = net(f"GET,POST api.example:{site.port}", f"GET,POST api.example:{safe.port}")
    urls = [f"http://api.example:{site.port}/", f"https://api.example:{safe.port}/"]
    limits = msgspec.structs.replace(LIMITS, wall_seconds=20, memory_bytes=512 << 20)
    report = await bench.run(code, granted, lock=lock, limits=limits, urls=urls)
    assert report.result == [200, "x" * 9, 200, "ab", 200] * 2, report
    assert len(bench.told) == 10 and {one.outcome for one in bench.told} == {"served"}


async def test_each_call_of_a_session_container_has_its_grants(settings: EngineSettings, site: Site) -> None:
    bench = Bench(msgspec.structs.replace(settings, session_calls=True))
    open_to(bench, site.port)
    assert bench.sandbox is not None
    granted = net(f"api.example:{site.port}")
    try:
        for _ in range(2):
            await bench.run(GET, granted, url=f"http://api.example:{site.port}/")
        while bench.sandbox._sessions._tasks:
            await asyncio.wait(bench.sandbox._sessions._tasks)
        container = next(iter(bench.sandbox._sessions._open.values())).container
        held = "import socket, os\nheld = []\n" + GET.replace(
            "def run(url, **more):\n",
            "def run(url, **more):\n    held.append(socket.create_connection(('127.0.0.1', int(os.environ['http_proxy'].rpartition(':')[2]))))\n",
        )
        for _ in range(3):
            report = await bench.run(GET, granted, url=f"http://api.example:{site.port}/")
            assert report.result[0] == 200
        assert next(iter(bench.sandbox._sessions._open.values())).container is container
        assert len(bench.told) == 5
        assert (await bench.run(held, granted, url=f"http://api.example:{site.port}/")).result[0] == 200
    finally:
        await bench.sandbox.close()


async def test_what_cannot_be_recorded_ends_the_run(settings: EngineSettings, site: Site) -> None:
    from alita_tui.sandbox.broker.broker import Broker
    from alita_tui.spine.address import AddressPolicy
    from alita_tui.spine.errors import StoreError
    from alita_tui.web.dns import system_resolver

    heard = asyncio.Event()

    async def full(_: object) -> None:
        await heard.wait()
        raise StoreError("The disk is full.")

    sandbox = PodmanSandbox(
        settings, "broker", broker=Broker(AddressPolicy(system_resolver, (f"127.0.0.1:{site.port}",)), full)
    )
    code = (
        HEAD
        + "import time\ndef run(url):\n    urllib.request.urlopen(url).read()\n    print('read', flush=True)\n    time.sleep(600)\n"
    )
    job = Job(
        run_id="c",
        module="tool_t",
        code=code,
        digest="d",
        arguments={"url": f"http://127.0.0.1:{site.port}/"},
        capabilities=net(f"127.0.0.1:{site.port}"),
        limits=Limits(wall_seconds=600),
    )
    try:
        with pytest.raises(StoreError):
            async with asyncio.timeout(60):  # the tool has hung up, and says nothing more for ten minutes
                await sandbox.run(job, lambda *_: heard.set(), nothing)
    finally:
        await sandbox.close()


async def test_the_caps_on_requests_and_bytes_hold(bench: Bench, site: Site) -> None:
    caps = Caps(requests=6, sent_bytes=100_000, received_bytes=2_000_000)
    open_to(bench, site.port, caps=caps)
    code = GET + (
        "get = run\ndef run(base):\n    said = [get(base + '/echo', data='y' * 200_000)[0], get(base + '/big?n=1900000')[0]]\n"
        "    try: said.append(len(get(base + '/big?n=1900000')[2]) == 1900000)\n    except Exception as error: said.append(type(error).__name__)\n"
        "    return said + [get(base + '/big?n=1')[0] for _ in range(4)]\n"
    )
    report = await bench.run(code, net(f"api.example:{site.port}"), base=f"http://api.example:{site.port}")
    assert report.status == "ok", report
    assert report.result[:2] == [413, 200] and report.result[2] in ("IncompleteRead", False)
    assert report.result[3:] == [502, 502, 502, 429]
    assert any("may send" in one.reason for one in bench.told) and any(
        "may receive" in one.reason for one in bench.told
    )


async def test_tests_get_grants_of_the_person_and_scripts_never_do(bench: Bench, site: Site) -> None:
    open_to(bench, site.port)
    assert bench.sandbox is not None
    url = f"http://api.example:{site.port}/tested"
    tests = f"from tool_t import run\ndef test_it():\n    assert run({url!r})[0] == 200\n"
    job = Job(
        run_id="build",
        module="tool_t",
        code=GET,
        tests=tests,
        kind="test",
        capabilities=net(f"api.example:{site.port}"),
        limits=LIMITS,
    )
    granted = await bench.sandbox.run(job, nothing, nothing)
    assert [case.passed for case in granted.cases] == [True], granted
    draft = await bench.sandbox.run(
        msgspec.structs.replace(job, capabilities=Capabilities()), nothing, nothing
    )
    assert [case.passed for case in draft.cases] == [False]
    script = msgspec.structs.replace(
        job, kind="script", tests="", digest="d", code="import os\nprint('http_proxy' in os.environ)\n"
    )
    assert (await bench.sandbox.run(script, nothing, nothing)).stdout == "False\n"
    assert [one.call_id for one in bench.told] == ["build"]
