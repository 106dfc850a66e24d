"""Each provider of the table on a loopback server that answers as the real one documents, and as it should not."""

import json
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest

from alita_tui.spine.errors import AddressRefused, WebError
from alita_tui.spine.ports.web import WebSettings
from alita_tui.web.client import WebRoom
from alita_tui.web.providers import PROVIDERS
from tests.web.conftest import Site

DUCK = """<html><body><div class="serp__results"><div id="links" class="results">
<div class="result results_links results_links_deep result--ad"><h2 class="result__title">
 <a class="result__a" href="https://ads.example/buy">Buy now</a></h2></div>
<div class="result results_links results_links_deep web-result"><div class="links_main result__body">
 <h2 class="result__title"><a rel="nofollow" class="result__a"
  href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fdocs.example%2Fa%3Fx%3D1%26y%3D2&amp;rut=abc">The <b>docs</b></a></h2>
 <a class="result__snippet" href="#">All \x1b[31mabout [red]it[/red] &amp; more</a></div></div>
<div class="result web-result"><h2><a class="result__a" href="https://plain.example/">Plain</a></h2></div>
<div class="result web-result"><h2><a class="result__a" href="https://plain.example/">Again</a></h2></div>
<div class="result web-result"><h2><a class="result__a" href="javascript:alert(1)">Script</a></h2></div>
<div class="result web-result"><h2><a class="result__a" href="https://x.example/\u202egpj">Bidi</a></h2></div>
<div class="result web-result"><h2><a class="result__a" href="http://[broken/">Broken</a></h2></div>
</div></div></body></html>"""
NOTHING = '<div class="result result--no-result"><div class="no-results">No  results.</div></div>'
CHALLENGE = '<form id="challenge-form" action="//duckduckgo.com/anomaly.js"></form>'
BRAVE = {
    "type": "search",
    "query": {"original": "q", "more_results_available": True},
    "web": {
        "type": "search",
        "results": [
            {
                "title": "Parquet &amp; Arrow",
                "url": "https://arrow.example/",
                "description": "Reads <strong>Parquet</strong>; it&#x27;s x<y fast",
                "language": "en",
            },
            {"title": None, "url": "https://none.example/"},
        ],
    },
}
TAVILY = {
    "query": "q",
    "follow_up_questions": None,
    "answer": None,
    "images": [],
    "results": [{"title": "T", "url": "https://t.example/", "content": "c " * 900, "score": 0.9}],
    "response_time": 1.2,
}
SEARXNG = {
    "query": "q",
    "number_of_results": 0,
    "results": [
        {"url": "https://s.example/", "title": "S", "content": "from s", "engine": "brave", "score": 1.0}
    ],
    "unresponsive_engines": [["google", "CAPTCHA"]],
}
GOOGLE = {
    "kind": "customsearch#search",
    "items": [{"title": "T", "link": "https://g.example", "snippet": "s\nt"}, {"title": 3}, "x"],
}
REPOSITORY = {
    "full_name": "o/r",
    "html_url": "https://github.com/o/r",
    "description": "Does \x1b]0;title\x07it",
    "stargazers_count": 12,
    "language": "Python",
    "pushed_at": "2025-03-04T05:06:07Z",
    "archived": True,
}
CODE = {
    "total_count": 1,
    "items": [
        {
            "name": "reader.py",
            "path": "src/reader.py",
            "html_url": "https://github.com/o/r/blob/1/src/reader.py",
            "repository": {"full_name": "o/r"},
            "text_matches": [{"fragment": "def read(\n    path"}, {"fragment": "read(a)"}, 5],
        }
    ],
}
PYYAML = {
    "info": {
        "name": "PyYAML",
        "version": "6.0",
        "summary": "YAML parser",
        "package_url": "https://pypi.org/p/PyYAML/",
    },
    "releases": {},
}


def page(body: str, status: int = 200, kind: str = "text/html", **headers: str):
    return (status, {"Content-Type": kind, **headers}, body.encode())


def answer(value: object, status: int = 200, **headers: str):
    return page(json.dumps(value), status, "application/json", **headers)


def query_of(site, index: int = -1) -> dict[str, list[str]]:
    return parse_qs(urlsplit(site.requests[index][0]).query)


def paths(site) -> list[str]:
    return [urlsplit(path).path for path, _ in site.requests]


@pytest.fixture
def rooms(site: Site, make_room: Callable[..., WebRoom]) -> Callable[..., WebRoom]:
    """Rooms whose providers are all on the site; nothing private is listed."""

    def make(**values) -> WebRoom:
        return make_room(
            brave_url=f"{site.url}/brave",
            tavily_url=f"{site.url}/tavily",
            duckduckgo_url=f"{site.url}/html/",
            google_url=f"{site.url}/customsearch/v1",
            github_url=site.url,
            pypi_url=f"{site.url}/",
            timeout=60.0,
            **values,
        )

    return make


# --- each provider ------------------------------------------------------------------------------


async def test_duckduckgo_results_are_unwrapped_and_harmless(site, rooms):
    site.routes["/html/"] = page(DUCK)
    found = await rooms().search("  how to\n\x1b[1mparse ")
    assert found.provider == "duckduckgo" and found.failed == ()
    assert [(r.title, r.url) for r in found.results] == [
        ("The docs", "https://docs.example/a?x=1&y=2"),
        ("Plain", "https://plain.example/"),
    ]
    assert found.results[0].snippet == "All about [red]it[/red] & more"
    assert query_of(site) == {"q": ["how to parse"]}


async def test_duckduckgo_without_results_is_an_answer_and_a_challenge_is_none(site, rooms):
    room = rooms()
    site.routes["/html/"] = page(NOTHING)
    assert (await room.search("x")).results == ()
    site.routes["/html/"] = page("<h1>Welcome to the hotel's network. Please log in.</h1>")
    with pytest.raises(WebError, match="none of results"):
        await room.search("x")
    site.routes["/html/"] = page(CHALLENGE, 202)
    with pytest.raises(WebError, match="prove") as caught:
        await room.search("x")
    assert "brave_key_name" in caught.value.hint


async def test_brave_results_are_parsed(site, rooms):
    site.routes["/brave"] = answer(BRAVE)
    found = await rooms(keys={"BRAVE_API_KEY": "BRAVE-SECRET"}).search("q")
    assert found.provider == "brave"
    assert [(r.title, r.url, r.snippet) for r in found.results] == [
        ("Parquet & Arrow", "https://arrow.example/", "Reads Parquet; it's x<y fast")
    ]
    assert query_of(site) == {"q": ["q"], "count": ["8"]}
    assert site.requests[0][1]["x-subscription-token"] == "BRAVE-SECRET"


async def test_tavily_is_asked_by_post(site, rooms):
    posted = []

    def take(handler):
        posted.append(json.loads(handler.rfile.read(int(handler.headers["Content-Length"]))))
        return answer(TAVILY)

    site.routes["/tavily"] = take
    room = rooms(keys={"TAVILY_API_KEY": "tvly-SECRET"})
    found = await room.search("q")
    assert found.provider == "tavily" and found.results[0].url == "https://t.example/"
    assert len(found.results[0].snippet) <= 400
    assert site.requests[0][1]["authorization"] == "Bearer tvly-SECRET"
    await room.search("two words", provider="pypi")
    assert posted == [
        {"query": "q", "max_results": 8},
        {"query": "two words", "max_results": 8, "include_domains": ["pypi.org"]},
    ]


async def test_searxng_results_are_parsed(site, rooms):
    site.routes["/sub/search"] = answer(SEARXNG)
    found = await rooms(searxng_url=f"{site.url}/sub/").search("q")
    assert found.provider == "searxng" and found.results[0].snippet == "from s"
    assert query_of(site) == {"q": ["q"], "format": ["json"]}


async def test_searxng_without_working_engines_is_no_answer(site, rooms):
    site.routes["/search"] = answer({**SEARXNG, "results": []})
    site.routes["/html/"] = page(DUCK)
    found = await rooms(searxng_url=site.url).search("q")
    assert found.provider == "duckduckgo" and "engines" in found.failed[0].reason


async def test_google_needs_key_and_engine_and_keeps_the_key_out_of_the_address(site, rooms):
    site.routes["/customsearch/v1"] = answer(GOOGLE)
    site.routes["/html/"] = page(DUCK)
    keys = {"GOOGLE_API_KEY": "SECRET"}
    assert (await rooms(keys=keys).search("q")).provider == "duckduckgo"
    found = await rooms(keys=keys, google_cx="CX", results=3).search("q")
    assert found.provider == "google"
    assert [(r.title, r.url, r.snippet) for r in found.results] == [("T", "https://g.example", "s t")]
    assert query_of(site) == {"q": ["q"], "cx": ["CX"], "num": ["3"]}
    assert site.requests[-1][1]["x-goog-api-key"] == "SECRET"


async def test_github_repositories(site, rooms):
    bare = {"full_name": "o/bare", "html_url": "https://github.com/o/bare", "description": None}
    site.routes["/search/repositories"] = answer({"items": [REPOSITORY, bare]})
    found = await rooms(keys={"GITHUB_TOKEN": "TOKEN"}).search("a tool", provider="github")
    assert found.provider == "github"
    assert found.results[0].snippet == "Does it · 12 stars · Python · last push 2025-03-04 · archived"
    assert found.results[1].title == "o/bare" and found.results[1].snippet == ""
    assert site.requests[0][1]["authorization"] == "Bearer TOKEN"
    assert query_of(site) == {"q": ["a tool"], "per_page": ["8"]}


async def test_github_code_shows_the_lines_and_needs_a_token(site, rooms):
    site.routes["/search/code"] = answer(CODE)
    found = await rooms(keys={"GITHUB_TOKEN": "TOKEN"}).search("read", provider="github_code")
    (result,) = found.results
    assert (result.title, result.snippet) == ("o/r: src/reader.py", "def read( path … read(a)")
    site.routes["/html/"] = page(DUCK.replace("plain.example", "github.com/o/r"))
    found = await rooms().search("read", provider="github_code")
    assert found.provider == "duckduckgo" and "GITHUB_TOKEN" in found.failed[0].reason
    assert [r.url for r in found.results] == ["https://github.com/o/r/"]
    assert query_of(site) == {"q": ["site:github.com read"]}


async def test_github_readmes_with_and_without_a_token(site, rooms):
    site.routes["/search/code"] = answer(CODE)
    site.routes["/search/repositories"] = answer({"items": [REPOSITORY]})
    with_token = await rooms(keys={"GITHUB_TOKEN": "TOKEN"}).search("parse it", provider="github_readmes")
    assert query_of(site)["q"] == ["parse it filename:README"] and with_token.results[0].title.startswith(
        "o/r:"
    )
    without = await rooms().search("parse it", provider="github_readmes")
    assert query_of(site)["q"] == ["parse it in:readme"] and without.results[0].title == "o/r"


async def test_a_known_package_comes_first_and_others_from_the_web_follow(site, rooms):
    site.routes["/pypi/pyyaml/json"] = answer(PYYAML)
    site.routes["/html/"] = page(DUCK.replace("plain.example", "pypi.org/project/ruamel.yaml"))
    found = await rooms().search("pyyaml", provider="pypi")
    assert found.provider == "pypi, duckduckgo"
    assert [(r.title, r.url) for r in found.results] == [
        ("PyYAML 6.0", "https://pypi.org/p/PyYAML/"),
        ("Plain", "https://pypi.org/project/ruamel.yaml/"),
    ]
    assert query_of(site)["q"] == ["site:pypi.org pyyaml"]


async def test_package_names_are_not_guessed_from_words(site, rooms):
    site.routes["/html/"] = page(DUCK)
    found = await rooms().search("a yaml library", provider="pypi")
    assert paths(site) == ["/html/"]
    assert found.results == ()  # what is not on pypi.org is no package


async def test_a_huge_pypi_answer_is_understood_from_its_start(site, rooms):
    text = '{"info": {"name": "big", "version": "1", "summary": "s"}, "releases": "' + "x" * 5_000_000 + '"}'
    site.routes["/pypi/big/json"] = page(text, kind="application/json")
    found = await rooms().search("big", provider="pypi")
    assert [r.title for r in found.results] == ["big 1"]
    assert [failure.provider for failure in found.failed] == ["duckduckgo"]


# --- one stands in for another ------------------------------------------------------------------

_FAILURES = {
    "an error": page("down", 503),
    "a refusal": answer({"error": {"code": 403}}, 403),
    "no JSON": page("<html>", kind="application/json"),
    "a list": page("[]", kind="application/json"),
    "a tower": page("[" * 100_000, kind="application/json"),
    "nothing": page("", kind="application/json"),
    "a word of error": answer({"error": {"message": "no such plan"}}),
    "half of it": page('{"web": {"results": [{"ti', kind="application/json"),
    "too much of it": page('{"web": "' + "x" * 3_000_000 + '"}', kind="application/json"),
    "not UTF-8": (200, {"Content-Type": "application/json"}, b'\xff\xfe{"web"\x00'),
    "packed as nobody reads": (200, {"Content-Encoding": "br"}, b"x"),
}


@pytest.mark.parametrize("failure", _FAILURES.values(), ids=_FAILURES)
async def test_a_failing_provider_is_named_and_the_next_one_asked(site, rooms, failure):
    site.routes["/brave"], site.routes["/html/"] = failure, page(DUCK)
    found = await rooms(keys={"BRAVE_API_KEY": "BRAVE-SECRET"}).search("q")
    assert found.provider == "duckduckgo" and len(found.results) == 2
    (failed,) = found.failed
    assert failed.provider == "brave" and failed.reason and "SECRET" not in failed.reason


async def test_a_silent_provider_is_followed_by_the_next(site, rooms, make_room):
    site.routes["/brave"] = lambda handler: handler.rfile.read(1) and None
    site.routes["/html/"] = page(DUCK)
    room = make_room(
        brave_url=f"{site.url}/brave",
        duckduckgo_url=f"{site.url}/html/",
        timeout=2.0,
        keys={"BRAVE_API_KEY": "K"},
    )
    found = await room.search("q")
    assert found.provider == "duckduckgo" and "did not answer" in found.failed[0].reason


async def test_the_settings_determine_providers_and_their_order(site, rooms):
    site.routes["/html/"] = page("down", 500)
    site.routes["/brave"] = answer(BRAVE)
    keys = {"BRAVE_API_KEY": "K", "TAVILY_API_KEY": "K"}
    found = await rooms(keys=keys, search_order=("duckduckgo", "brave")).search("q")
    assert found.provider == "brave" and paths(site) == ["/html/", "/brave"]
    with pytest.raises(WebError, match="brave needs a key under the name BRAVE_API_KEY"):
        await rooms(search_order=("brave",)).search("q")
    assert len(site.requests) == 2, "whom the person did not list is not asked"


async def test_when_none_answers_each_is_named_without_a_key(site, rooms):
    keys = {"BRAVE_API_KEY": "BRAVE-SECRET", "GOOGLE_API_KEY": "GOOGLE-SECRET", "TAVILY_API_KEY": "T-SECRET"}
    for status in (400, 401, 403, 429, 432, 500):
        for path in ("/brave", "/tavily", "/customsearch/v1", "/html/"):
            site.routes[path] = answer({"error": {"code": status}}, status)
        with pytest.raises(WebError, match="No search provider answered") as caught:
            await rooms(keys=keys, google_cx="CX").search("q")
        told = str(caught.value)
        assert all(name in told for name in ("brave", "tavily", "google", "duckduckgo", str(status)))
        assert "SECRET" not in told
    assert not any("SECRET" in path for path, _ in site.requests)


async def test_github_gives_way_to_the_web(site, rooms):
    site.routes["/search/repositories"] = answer(
        {}, 403, **{"X-RateLimit-Remaining": "0", "Retry-After": "33"}
    )
    site.routes["/html/"] = page(DUCK.replace("plain.example", "github.com/a/b"))
    found = await rooms().search("x", provider="github")
    assert found.provider == "duckduckgo" and "too many requests" in found.failed[0].reason
    assert [r.url for r in found.results] == ["https://github.com/a/b/"]


# --- limits -------------------------------------------------------------------------------------


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "33"}, 33),
        ({}, 60),
        ({"Retry-After": "soon"}, 60),
        ({"Retry-After": "999999999999"}, 3600),
        ({"Retry-After": "-5"}, 60),
        ({"Retry-After": "Sat, 21 Nov 2020 07:00:00 GMT"}, 0),
    ],
)
async def test_a_rate_limited_provider_rests_as_long_as_it_requests(site, rooms, headers, wait):
    clock = Clock()
    room = rooms(keys={"BRAVE_API_KEY": "K"}, clock=clock)
    site.routes["/brave"], site.routes["/html/"] = answer({}, 429, **headers), page(DUCK)
    for moment in (0, max(wait - 1, 0), wait + 1):
        clock.now = 1000.0 + moment
        assert (await room.search("q")).provider == "duckduckgo"
    assert paths(site).count("/brave") == (2 if wait else 3)
    site.routes["/brave"] = answer(BRAVE)
    clock.now += 4000
    assert (await room.search("q")).provider == "brave"


async def test_a_failed_provider_is_asked_last_for_a_while(site, rooms):
    clock = Clock()
    room = rooms(keys={"BRAVE_API_KEY": "K"}, clock=clock)
    site.routes["/brave"], site.routes["/html/"] = page("down", 503), page(DUCK)
    for _ in range(3):
        assert (await room.search("q")).provider == "duckduckgo"
    assert paths(site).count("/brave") == 1
    site.routes["/brave"], site.routes["/html/"] = answer(BRAVE), page("down", 503)
    assert (await room.search("q")).provider == "brave", "asked last is still asked"
    clock.now += 61
    assert (await room.search("q")).provider == "brave" and paths(site).count("/html/") == 4


async def test_a_challenge_is_not_asked_for_again_at_once(site, rooms):
    site.routes["/html/"] = page(CHALLENGE, 202)
    room = rooms()
    for _ in range(2):
        with pytest.raises(WebError):
            await room.search("q")
    assert len(site.requests) == 1


# --- walls --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "path", "keys"),
    [
        ("web", "/html/", {}),
        ("web", "/brave", {"BRAVE_API_KEY": "SECRET"}),
        ("web", "/tavily", {"TAVILY_API_KEY": "SECRET"}),
        ("web", "/customsearch/v1", {"GOOGLE_API_KEY": "SECRET"}),
        ("web", "/search", {}),
        ("github", "/search/repositories", {"GITHUB_TOKEN": "SECRET"}),
        ("github_code", "/search/code", {"GITHUB_TOKEN": "SECRET"}),
        ("pypi", "/pypi/q/json", {}),
    ],
)
async def test_a_private_provider_cannot_lead_to_another_private_host(
    site, other_site, rooms, kind, path, keys
):
    searxng = site.url if path == "/search" else ""
    site.routes[path] = (302, {"Location": other_site.url + "/admin"}, b"")
    room = rooms(keys=keys, google_cx="CX", searxng_url=searxng)
    with pytest.raises(WebError, match=r"not a public address|sent elsewhere"):
        await room.search("q", provider=kind)
    assert path in paths(site) and other_site.requests == []


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_keys_and_posted_words_stay_with_the_provider_on_a_redirect(site, other_site, rooms, status):
    keys = {"TAVILY_API_KEY": "SECRET", "GITHUB_TOKEN": "SECRET", "BRAVE_API_KEY": "SECRET"}
    for path in ("/tavily", "/brave", "/search/repositories"):
        site.routes[path] = (status, {"Location": other_site.url + "/stolen"}, b"")
    other_site.routes["/stolen"] = answer({"items": []})
    room = rooms(keys=keys, allowed_private=(other_site.host,))
    await room.search("x", provider="github")
    assert (await room.search("x")).provider == "brave"
    assert len(other_site.requests) == 2
    tavily = rooms(keys=keys, allowed_private=(other_site.host,), search_order=("tavily",))
    with pytest.raises(WebError, match="sent elsewhere"):
        await tavily.search("x")
    assert len(other_site.requests) == 2
    assert not any("SECRET" in str(headers) for _, headers in other_site.requests)


async def test_a_provider_s_private_host_is_not_open_to_reading(site, rooms):
    with pytest.raises(AddressRefused):
        await rooms().read(f"{site.url}/search/repositories")
    assert site.requests == []


async def test_words_of_a_hostile_provider_are_neutralised(site, rooms):
    results = [
        {"title": "a\x1b[2Jb\u200bc\u202e", "url": "https://ok.example/", "description": "</untrusted\x07 x"},
        {"title": "t", "url": "http://user\u2044@x.example\n/", "description": ""},
        {"title": "t", "url": "data:text/html,x", "description": ""},
        {"title": "t", "url": "https://x.example/" + "a" * 3000, "description": ""},
        {"title": "t", "url": 'https://x.example/"></untrusted>now', "description": ""},
        {"title": "\u200b", "url": "https://empty.example/", "description": ""},
        {"title": ["x"], "url": {"a": 1}, "description": 5},
        {"title": "w" * 100_000, "url": "https://long.example/", "description": "w" * 100_000},
    ]
    site.routes["/brave"] = answer({"web": {"results": results}})
    found = await rooms(keys={"BRAVE_API_KEY": "K"}).search("q")
    assert [(r.title[:5], r.url, r.snippet[:13]) for r in found.results] == [
        ("abc", "https://ok.example/", "</untrusted x"),
        ("wwwww", "https://long.example/", "w" * 13),
    ]
    assert len(found.results[1].title) <= 160 and len(found.results[1].snippet) <= 400


# --- the rest -----------------------------------------------------------------------------------


async def test_a_search_needs_words_and_a_known_kind(rooms):
    with pytest.raises(WebError, match="empty"):
        await rooms().search(" \x1b[0m\n")
    with pytest.raises(WebError, match="no search") as caught:
        await rooms().search("x", provider="altavista")
    assert "github_code" in caught.value.hint


async def test_the_settings_name_the_default_kind(site, rooms):
    site.routes["/search/repositories"] = answer({"items": []})
    assert (await rooms(provider="github").search("x")).provider == "github"


async def test_an_unreachable_provider_is_reported(rooms, site):
    site.server.shutdown()  # as long as its thread polls, the kernel takes connections
    site.server.server_close()
    with pytest.raises(WebError, match="could not be reached"):
        await rooms().search("x")


async def test_after_close_nothing_is_sent(site, rooms):
    room = rooms()
    site.routes["/html/"] = page(DUCK)
    await room.search("x")
    await room.close()
    with pytest.raises(WebError, match="closed"):
        await room.search("x")
    assert len(site.requests) == 1


def test_every_provider_has_its_settings():
    chosen = WebSettings()
    for provider in PROVIDERS.values():
        for setting in filter(None, (provider.url, provider.key, *provider.needs)):
            assert hasattr(chosen, setting)
        url = getattr(chosen, provider.url)
        assert urlsplit(url).scheme == "https" or not url
        if provider.key:
            assert getattr(chosen, provider.key) in chosen.key_names
