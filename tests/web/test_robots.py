"""What a site's robots.txt forbids is not read; what it does not, and what cannot be had, is."""

import threading
import time

import pytest

from alita_tui.spine.errors import WebError
from alita_tui.web.robots import Rule, allowed, rules


@pytest.fixture
def polite(site, make_room):
    return make_room(allowed_private=(site.host,), robots=True, timeout=60.0)


def robots(site, text: str) -> None:
    site.routes["/robots.txt"] = (200, {"Content-Type": "text/plain"}, text.encode())


async def test_a_forbidden_page_is_not_requested_and_robots_txt_read_once(site, polite):
    robots(site, "User-agent: *\nDisallow: /private\n")
    open_page, closed = (
        site.html("/open", "words", "text/plain"),
        site.html("/private/x", "words", "text/plain"),
    )
    for _ in range(2):
        assert (await polite.read(open_page)).text == "words"
        with pytest.raises(WebError, match=r"robots.txt") as caught:
            await polite.read(closed)
    assert "web.robots" in caught.value.hint
    assert [path for path, _ in site.requests] == ["/robots.txt", "/open", "/open"]


async def test_a_redirect_does_not_bypass_robots_txt(site, other_site, make_room):
    robots(other_site, "User-agent: alita-tui\nDisallow: /")
    there = other_site.html("/there", "words", "text/plain")
    site.routes["/here"] = (302, {"Location": there}, b"")
    room = make_room(allowed_private=(site.host, other_site.host), robots=True, timeout=60.0)
    with pytest.raises(WebError, match=r"robots.txt"):
        await room.read(f"{site.url}/here")
    assert [path for path, _ in other_site.requests] == ["/robots.txt"]


@pytest.mark.parametrize("status", [404, 403, 500, 302])
async def test_an_unavailable_robots_txt_forbids_nothing(site, polite, status):
    site.routes["/robots.txt"] = (status, {"Location": "http://10.0.0.1/"}, b"User-agent: *\nDisallow: /")
    assert (await polite.read(site.html("/p", "words", "text/plain"))).text == "words"


async def test_a_slow_robots_txt_delays_a_page_only_briefly(site, polite, monkeypatch):
    monkeypatch.setattr("alita_tui.web.robots._SECONDS", 0.3)
    release = threading.Event()
    site.routes["/robots.txt"] = lambda handler: release.wait(20) and None
    try:
        assert (await polite.read(site.html("/p", "words", "text/plain"))).text == "words"
    finally:
        release.set()


@pytest.mark.parametrize(
    ("text", "path", "may"),
    [
        ("User-agent: *\nDisallow: /", "/a", False),
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: other\nDisallow: /", "/a", True),
        ("user-agent: x\nUSER-AGENT: *\n\n# c\ndisallow: /a # no", "/ab", False),
        ("User-agent: *\nDisallow: /\nUser-agent: Alita-TUI\nAllow: /a", "/b", True),
        ("User-agent: alita-tui\nUser-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nAllow: /a\nDisallow: /a", "/a", True),
        ("User-agent: *\nDisallow: /*.php$", "/x/y.php", False),
        ("User-agent: *\nDisallow: /*.php$", "/x/y.php5", True),
        ("User-agent: *\nDisallow: /a*c*e", "/abcde", False),
        ("User-agent: *\nDisallow: /a*c*e", "/abde", True),
        ("User-agent: *\nDisallow: /a%3cd", "/a%3Cd", False),
        ("User-agent: *\nDisallow: /ab", "/%61b", False),
        ("User-agent: *\nDisallow: /\u00fc", "/%C3%BC", False),
        ("Disallow: /\nSitemap: x", "/a", True),
        ("\ufeffUser-agent: *\r\nDisallow: /a\r\n", "/a", False),
        ("\x00\ufffd: nonsense\n::::\n", "/a", True),
    ],
)
async def test_rules_are_parsed_as_in_the_rfc(site, polite, text, path, may):
    robots(site, text)
    url = site.html(path, "words", "text/plain")
    if may:
        assert (await polite.read(url)).text == "words"
    else:
        with pytest.raises(WebError, match=r"robots.txt"):
            await polite.read(url)


def test_a_hostile_robots_txt_is_parsed_quickly():
    text = "User-agent: *\n" + ("Disallow: /" + "*a" * 200 + "*b$\n") * 1200
    started = time.process_time()
    assert allowed(rules(text), "/" + "a" * 2000)
    assert time.process_time() - started < 20
    assert Rule(pattern="/*$", allows=False).matches("/anything")
    assert not Rule(pattern="/ab*ba$", allows=False).matches("/aba"), "the ends may not overlap"
