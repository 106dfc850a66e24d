"""Signing in by a browser in the sandbox: the password goes to its own host, and neither page nor record has it."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest

from alita_tui.events import RunReport
from alita_tui.sandbox.settings import EngineSettings
from tests.sandbox.browser_lab import Browsing
from tests.sandbox.sign_in_site import PASSWORD, Site, serving

pytestmark = [pytest.mark.podman, pytest.mark.walk]


@pytest.fixture
def evil() -> Iterator[Site]:
    with serving("evil.example") as found:
        yield found


@pytest.fixture
def site(evil: Site) -> Iterator[Site]:
    with serving("site.example", evil.base) as found:
        yield found


@pytest.fixture
async def browse(settings: EngineSettings, site: Site, evil: Site) -> AsyncIterator[Browsing]:
    """Both sites are granted; the password is the first one's alone."""
    browsing = Browsing(settings, site.base, evil.base, PIN=f"{PASSWORD}\n")
    yield browsing
    await browsing.sandbox.close()


FILL = {"do": "fill", "on": "#password", "secret": "PIN"}
IN = {"do": "click", "on": "button"}
SENT = {"do": "wait", "text": "You sent"}
WAYS = ("/", "/parts", "/json", "/query")


def spoken(report: RunReport, browse: Browsing, folder: Path) -> str:
    """All that the model, the person and the record get."""
    files = [file.read_bytes().decode("latin-1") for file in folder.iterdir()]
    return " ".join(
        (msgspec.json.encode([report, browse.told]).decode(), str(report), str(browse.told), *files)
    )


def without_password(text: str) -> bool:
    ways = (PASSWORD, json.dumps(PASSWORD)[1:-1], base64.b64encode(PASSWORD.encode()).decode()[:16])
    return not any(way in text for way in (*ways, PASSWORD.encode().hex(), PASSWORD[:6], "p%2F4"))


@pytest.mark.parametrize("page", WAYS)
async def test_a_stand_in_signs_in_without_revealing_the_password(
    browse: Browsing, site: Site, evil: Site, tmp_path: Path, page: str
) -> None:
    steps = (FILL, IN, SENT, {"do": "extract"}, {"do": "extract", "what": "links"}, {"do": "screenshot"},
             {"do": "open", "url": "/home"}, {"do": "extract"})  # fmt: skip
    done = await browse(page, *steps, out=str(tmp_path))
    assert done.status == "ok", (done.error, browse.told)
    assert site.passwords == [PASSWORD] and done.result["extracted"][2] == "Welcome, ada"
    assert "You sent ***" in done.result["extracted"][0]
    assert without_password(spoken(done, browse, tmp_path))
    assert {one.secrets for one in browse.told if one.secrets} == {("PIN",)}
    assert not evil.heard


@pytest.mark.parametrize("page", ["/elsewhere", "/elsewhere-query", "/stolen"])
async def test_a_form_to_another_granted_host_does_not_get_the_password(
    browse: Browsing, site: Site, evil: Site, tmp_path: Path, page: str
) -> None:
    sent = {"do": "wait", "text": "tried" if page == "/stolen" else "not granted"}
    done = await browse(page, FILL, IN, sent, {"do": "extract"}, out=str(tmp_path))
    refused = [one for one in browse.told if one.outcome == "refused" and "evil.example" in one.request]
    assert refused and all("the secret PIN is not granted for evil.example" in one.reason for one in refused)
    assert PASSWORD.encode() not in evil.heard and b"PIN-" not in evil.heard and not site.passwords
    assert without_password(spoken(done, browse, tmp_path))


async def test_a_body_that_is_no_form_contains_the_stand_in(
    browse: Browsing, site: Site, tmp_path: Path
) -> None:
    done = await browse("/plain", FILL, IN, SENT, {"do": "extract"}, out=str(tmp_path))
    assert done.status == "ok", done.error
    assert b"password=PIN-" in site.heard and PASSWORD not in site.passwords
    assert without_password(spoken(done, browse, tmp_path))
