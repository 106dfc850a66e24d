import json
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest

from alita_tui.spine.errors import AddressRefused, WebError
from alita_tui.web.client import WebRoom, WebSettings
from alita_tui.web.providers import candidate_names
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
</div></div></body></html>"""


def page(body: str, status: int = 200, kind: str = "text/html", **headers: str):
    return (status, {"Content-Type": kind, **headers}, body.encode())


def answer(value: object, status: int = 200, **headers: str):
    return page(json.dumps(value), status, "application/json", **headers)


def query_of(site, index: int = -1) -> dict[str, list[str]]:
    return parse_qs(urlsplit(site.requests[index][0]).query)


@pytest.fixture
def rooms(site: Site, make_room: Callable[..., WebRoom]) -> Callable[..., WebRoom]:
    """Rooms whose providers are all on the site; nothing private is listed."""

    def make(**values) -> WebRoom:
        return make_room(
            duckduckgo_url=f"{site.url}/html/",
            google_url=f"{site.url}/customsearch/v1",
            github_url=site.url,
            pypi_url=f"{site.url}/",
            timeout=10.0,
            **values,
        )

    return make


async def test_duckduckgo_results_are_unwrapped_and_harmless(site, rooms):
    site.routes["/html/"] = page(DUCK)
    found = await rooms().search("  how to\n\x1b[1mparse ")
    assert found.provider == "duckduckgo"
    assert [(r.title, r.url) for r in found.results] == [
        ("The docs", "https://docs.example/a?x=1&y=2"),
        ("Plain", "https://plain.example/"),
    ]
    assert found.results[0].snippet == "All about [red]it[/red] & more"
    assert query_of(site) == {"q": ["how to parse"]}


async def test_duckduckgo_without_results_and_with_a_challenge(site, rooms):
    room = rooms()
    site.routes["/html/"] = page('<div class="no-results">No results.</div>')
    assert (await room.search("x")).results == ()
    site.routes["/html/"] = page('<form id="challenge-form"></form>', 202)
    with pytest.raises(WebError, match="prove") as caught:
        await room.search("x")
    assert "google_cx" in caught.value.hint


async def test_google_is_used_when_key_and_engine_are_set(site, rooms):
    item = {"title": "T", "link": "https://g.example", "snippet": "s\nt"}
    site.routes["/customsearch/v1"] = answer({"items": [item, {"title": 3}, "x"]})
    found = await rooms(google_key="SECRET", google_cx="CX", results=3).search("q")
    assert found.provider == "google"
    assert [(r.title, r.url, r.snippet) for r in found.results] == [("T", "https://g.example", "s t")]
    assert query_of(site) == {"q": ["q"], "key": ["SECRET"], "cx": ["CX"], "num": ["3"]}


async def test_errors_never_show_the_key(site, rooms):
    room = rooms(google_key="SECRET", google_cx="CX")
    for status in (400, 403, 429, 500):
        site.routes["/customsearch/v1"] = answer({"error": {"code": status}}, status)
        with pytest.raises(WebError) as caught:
            await room.search("q")
        assert str(status) in caught.value.message and "SECRET" not in str(caught.value)


async def test_github_repositories(site, rooms):
    site.routes["/search/repositories"] = answer(
        {
            "items": [
                {
                    "full_name": "o/r",
                    "html_url": "https://github.com/o/r",
                    "description": "Does \x1b]0;title\x07it",
                    "stargazers_count": 12,
                    "language": "Python",
                    "pushed_at": "2025-03-04T05:06:07Z",
                    "archived": True,
                },
                {"full_name": "o/bare", "html_url": "https://github.com/o/bare", "description": None},
            ]
        }
    )
    found = await rooms(github_token="TOKEN").search("a tool", provider="github")
    assert found.provider == "github"
    assert found.results[0].snippet == "Does it · 12 stars · Python · last push 2025-03-04 · archived"
    assert found.results[1].title == "o/bare" and found.results[1].snippet == ""
    assert site.requests[0][1]["authorization"] == "Bearer TOKEN"
    assert query_of(site) == {"q": ["a tool"], "per_page": ["8"]}


async def test_github_rate_limit_says_how_long_and_what_helps(site, rooms):
    site.routes["/search/repositories"] = answer(
        {}, 403, **{"X-RateLimit-Remaining": "0", "Retry-After": "33"}
    )
    with pytest.raises(WebError, match="too many requests") as caught:
        await rooms().search("x", provider="github")
    assert "33 s" in caught.value.hint and "GITHUB_TOKEN" in caught.value.hint


async def test_the_token_stays_with_the_provider_on_a_redirect(site, other_site, rooms):
    site.routes["/search/repositories"] = (302, {"Location": other_site.url + "/stolen"}, b"")
    with pytest.raises(AddressRefused):
        await rooms(github_token="TOKEN").search("x", provider="github")
    assert other_site.requests == []
    other_site.routes["/stolen"] = answer({"items": []})
    await rooms(github_token="TOKEN", allowed_private=(other_site.host,)).search("x", provider="github")
    assert "authorization" not in other_site.requests[0][1]


@pytest.mark.parametrize("body", ["<html>", "[]", "[" * 100_000, ""])
async def test_what_is_not_the_documented_json_is_told(site, rooms, body):
    site.routes["/search/repositories"] = page(body, kind="application/json")
    with pytest.raises(WebError, match="not the JSON"):
        await rooms().search("x", provider="github")


async def test_pypi_names_are_tried_and_found(site, rooms):
    info = {
        "name": "PyYAML",
        "version": "6.0",
        "summary": "YAML parser",
        "package_url": "https://pypi.org/p/PyYAML/",
    }
    site.routes["/pypi/pyyaml/json"] = answer({"info": info, "releases": {}})
    found = await rooms().search("a yaml library", provider="pypi")
    assert found.provider == "pypi"
    assert [(r.title, r.url, r.snippet) for r in found.results] == [
        ("PyYAML 6.0", "https://pypi.org/p/PyYAML/", "YAML parser")
    ]


async def test_a_huge_pypi_answer_is_understood_from_its_start(site, rooms):
    text = '{"info": {"name": "big", "version": "1", "summary": "s"}, "releases": "' + "x" * 5_000_000 + '"}'
    site.routes["/pypi/big/json"] = page(text, kind="application/json")
    found = await rooms().search("big", provider="pypi")
    assert [r.title for r in found.results] == ["big 1"]


async def test_pypi_falls_back_to_the_web(site, rooms):
    site.routes["/html/"] = page(DUCK)
    found = await rooms().search("no such thing", provider="pypi")
    assert found.provider == "duckduckgo"
    assert query_of(site)["q"] == ["site:pypi.org no such thing"]


async def test_a_broken_index_is_an_error_and_not_an_empty_answer(site, rooms):
    site.routes["/pypi/thing/json"] = page("down", 503)
    with pytest.raises(WebError, match="503"):
        await rooms().search("thing", provider="pypi")


def test_candidate_names():
    assert candidate_names("requests") == ("requests", "python-requests", "pyrequests")
    names = candidate_names("Please find a library to parse BibTeX_files")
    assert names[1] == "parse-bibtex-files" and "bibtex-files" in names and "parse" in names
    assert candidate_names("ruamel.yaml")[0] == "ruamel-yaml"
    assert candidate_names("../../etc/passwd?x#y")[0] == "etc-passwd-x-y"
    assert candidate_names("日本語 ¡!") == ()
    assert len(candidate_names(" ".join(f"word{n}" for n in range(50)))) <= 10


async def test_a_search_needs_words_and_a_known_provider(rooms):
    with pytest.raises(WebError, match="empty"):
        await rooms().search(" \x1b[0m\n")
    with pytest.raises(WebError, match="no search provider") as caught:
        await rooms().search("x", provider="altavista")
    assert "github" in caught.value.hint


async def test_the_settings_name_the_default_provider(site, rooms):
    site.routes["/search/repositories"] = answer({"items": []})
    assert (await rooms(provider="github").search("x")).provider == "github"


async def test_a_provider_s_private_host_is_not_open_to_reading(site, rooms):
    with pytest.raises(AddressRefused):
        await rooms().read(f"{site.url}/search/repositories")
    assert site.requests == []


async def test_a_provider_that_is_down(rooms, site):
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


def test_the_defaults_are_public_https():
    settings = WebSettings()
    urls = [settings.duckduckgo_url, settings.google_url, settings.github_url, settings.pypi_url]
    assert all(urlsplit(url).scheme == "https" for url in urls)
