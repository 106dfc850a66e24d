"""Opening a host that is asked for, or the broker, is no finding; any other address is."""

from __future__ import annotations

import pytest

from alita_tui.events import Capabilities
from alita_tui.runtimes.python.addresses import lines_opening

HOST = Capabilities(network=("GET api.example.org:443",))
FILES = Capabilities(workspace="read")


def opened(body: str, wants: Capabilities) -> bool:
    code = f"import os\nimport urllib.request\n{body}"
    lines = [number for number, line in enumerate(code.splitlines(), 1) if "urlopen(" in line]
    assert lines
    return set(lines) <= lines_opening(code, wants)


@pytest.mark.parametrize(
    "body",
    [
        "def run(q: str) -> str:\n    return urllib.request.urlopen('https://api.example.org/v1').read()",
        "def run(q: str) -> str:\n    return urllib.request.urlopen(f'https://api.example.org/v1?q={q}').read()",
        "BASE = 'https://api.example.org'\ndef run(q: str) -> str:\n    return urllib.request.urlopen(f'{BASE}/v1/{q}').read()",
        "URL = 'https://api.example.org/'\ndef run(q: str) -> str:\n    return urllib.request.urlopen(URL + q).read()",
        "def run(q: str) -> str:\n    request = urllib.request.Request('https://API.example.org:443/' + q)\n    return urllib.request.urlopen(request).read()",
        "def _get(url):\n    return urllib.request.urlopen(url).read()\ndef run(q: str) -> str:\n    return _get('https://api.example.org/a') + _get(f'https://api.example.org/{q}')",
    ],
)  # fmt: skip
def test_an_address_of_a_requested_host_is_allowed(body: str) -> None:
    assert opened(body, HOST)
    assert not opened(body, FILES)


@pytest.mark.parametrize(
    "body",
    [
        "def run(q: str) -> str:\n    return urllib.request.urlopen(q).read()",
        "def run(q: str) -> str:\n    return urllib.request.urlopen('https://api.example.org' + q).read()",
        "def run(q: str) -> str:\n    return urllib.request.urlopen(f'https://api.example.org{q}').read()",
        "def run(q: str) -> str:\n    return urllib.request.urlopen('https://other.example.org/').read()",
        "BASE = 'https://api.example.org'\ndef run(q: str) -> str:\n    return urllib.request.urlopen(f'{BASE}{q}').read()",
        "def run(q: str) -> str:\n    url = 'https://api.example.org'\n    url += q\n    return urllib.request.urlopen(url).read()",
        "def run(q: str) -> str:\n    return urllib.request.urlopen('https://api.example.org%s' % q).read()",
        "def run(q: str) -> str:\n    return urllib.request.urlopen('https://api.example.org{}'.format(q)).read()",
        "def run(q: str) -> str:\n    return urllib.request.urlopen('file:///etc/passwd').read()",
        "def run(q: str) -> str:\n    return urllib.request.urlopen('http://api.example.org/').read()",
        "def run(q: str) -> str:\n    url = 'https://api.example.org/'\n    if q:\n        url = q\n    return urllib.request.urlopen(url).read()",
        "def _get(url):\n    return urllib.request.urlopen(url).read()\ndef run(q: str) -> str:\n    return _get('https://api.example.org/a') + _get(q)",
        "def run(q: str) -> str:\n    for q in ['file:///x']:\n        pass\n    return urllib.request.urlopen(q).read()",
        "def run(q: str) -> str:\n    return urllib.request.urlopen('https://api.example.org@evil.example/').read()",
    ],
)  # fmt: skip
def test_any_other_address_is_reported(body: str) -> None:
    assert not opened(body, HOST)


@pytest.mark.parametrize(
    "url",
    [
        "os.environ['ALITA_BROKER'] + '/files/' + q",
        "f\"{os.environ['ALITA_BROKER']}/files/{q}\"",
        "os.environ.get('ALITA_BROKER', '') + '/files/' + q",
        "os.getenv('ALITA_BROKER') + '/files/' + q",
    ],
)
def test_the_address_of_the_broker_is_allowed(url: str) -> None:
    body = f"def run(q: str) -> str:\n    return urllib.request.urlopen({url}).read()"
    assert opened(body, FILES) and not opened(body, HOST)
    assert not opened(body.replace("ALITA_BROKER", "OTHER"), FILES)
