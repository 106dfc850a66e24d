import asyncio
import gzip
import subprocess
import sys
import threading

import pytest

from alita_tui.confined import run
from alita_tui.spine.errors import AddressRefused, WebError

PAGE = """<!doctype html><html><head><title> A \n title </title><style>p{}</style>
<script>document.write("no")</script></head><body><nav>Home About</nav><header>Site</header>
<main><h1>Head <em>line</em></h1><p>First   para
graph with <code>x[0]</code> and [bold]markup[/bold].</p><!-- hidden words -->
<pre><code>def f():
    return "[red]"
</code></pre><ul><li>one</li><li>two</li></ul><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<p hidden>secret</p><div aria-hidden="true">ghost</div>loose words<p>Last.</p>
<p>Enough words follow here so that the main part of this page counts as its content, because
a main part that is nearly empty would be passed over for the whole body.</p></main>
<footer>Imprint</footer></body></html>"""


async def test_a_page_becomes_readable_text(site, room):
    page = await room.read(site.html("/doc", PAGE) + "?q=1#part")
    assert page.url == f"{site.url}/doc?q=1"
    assert page.title == "A title"
    assert page.text.startswith(
        "# Head *line*\n\nFirst para graph with `x[0]` and [bold]markup[/bold].\n\n"
        '```\ndef f():\n    return "[red]"\n```\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nloose words\n\nLast.'
    )
    for absent in ("Home", "Imprint", "hidden words", "secret", "ghost", "document", "p{}"):
        assert absent not in page.text
    assert not page.truncated


async def test_a_short_main_part_falls_back_to_the_body(site, room):
    page = await room.read(site.html("/x", "<body><main>tiny</main><div>The rest</div></body>"))
    assert page.text == "tiny\n\nThe rest"


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/json", "application/problem+json; charset=utf-8", "text/markdown", ""]
)
async def test_plain_text_and_json_are_returned_unchanged(site, room, kind):
    page = await room.read(site.html("/raw", '{"a": "<b>not markup</b>"}\n  two', kind))
    assert page.text == '{"a": "<b>not markup</b>"}\n  two'


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("image/png", b"\x89PNG"),
        ("text/plain", b"a\x00b"),
        ("", b"\x7fELF\x00"),
    ],
)
async def test_other_content_is_returned_as_bytes(site, room, kind, body):
    page = await room.read(site.html("/file", body, kind))
    assert (page.text, page.body) == ("", body)


async def test_an_incomplete_file_is_refused(site, room):
    with pytest.raises(WebError, match="image/png of more than") as caught:
        await room.read(site.html("/large", b"\x89PNG" + bytes(5_000_000), "image/png"))
    assert "web.max_bytes" in caught.value.hint


async def test_hostile_text_is_harmless(site, room):
    body = "<title>\x1b]0;pwned\x07t\u202eitle</title><p>a\x1b[2Jb\u200bc\x07 [link=x]d[/link]</p>"
    page = await room.read(site.html("/evil", body))
    assert page.title == "title"
    assert page.text == "abc [link=x]d[/link]"


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/html; charset=iso-8859-1", "<p>café</p>".encode("latin-1"), "café"),
        ("text/html", '<meta charset="windows-1252"><p>“q” café</p>'.encode("cp1252"), "“q” café"),
        ("text/html; charset=nonsense", "<p>café</p>".encode(), "café"),
        ("text/html; charset=zlib", "<p>café</p>".encode(), "café"),
        ("text/html; charset=utf-16", "<p>café — naïve</p>".encode(), "café — naïve"),
        ("text/plain; charset=utf-8", "café".encode("latin-1"), "café"),
        ("text/plain; charset='UTF-16'", "café".encode("utf-16"), "café"),
        ("text/plain; charset=idna", b"plain", "plain"),
        ("text/plain", "\ufeffcafé".encode(), "café"),
    ],
)
async def test_right_missing_and_wrong_charsets_are_decoded(site, room, kind, body, text):
    assert (await room.read(site.html("/c", body, kind))).text == text


async def test_a_huge_page_is_cut(site, make_room):
    room = make_room(allowed_private=(site.host,), max_bytes=5000, max_chars=50)
    page = await room.read(site.html("/huge", "word " * 10_000, "text/plain"))
    assert page.truncated and len(page.text) == 50
    page = await room.read(site.html("/fits", "word " * 5, "text/plain"))
    assert not page.truncated


async def test_an_endless_stream_ends_at_the_cap(site, make_room):
    stopped = threading.Event()

    def endless(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/plain")
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b"more and more " * 1000)
        except OSError:
            stopped.set()

    site.routes["/endless"] = endless
    room = make_room(allowed_private=(site.host,), max_bytes=100_000)
    page = await room.read(f"{site.url}/endless")
    assert page.truncated
    assert await asyncio.to_thread(stopped.wait, 10)


@pytest.mark.parametrize("path", ["/silent", "/drip"])
async def test_a_silent_and_a_dripping_server_run_into_the_time_limit(site, make_room, path):
    release = threading.Event()

    def silent(handler):
        release.wait(20)

    def drip(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/plain")
        handler.end_headers()
        while not release.wait(0.02):
            handler.wfile.write(b".")

    site.routes.update({"/silent": silent, "/drip": drip})
    room = make_room(allowed_private=(site.host,), timeout=0.3)
    try:
        with pytest.raises(WebError, match="did not answer") as caught:
            await room.read(site.url + path)
        assert "web.timeout" in caught.value.hint
    finally:
        release.set()


async def test_compressed_pages_are_read_and_a_bomb_is_cut_off(site, make_room):
    room = make_room(allowed_private=(site.host,), max_bytes=1000)
    site.routes["/z"] = (
        200,
        {"Content-Type": "text/plain", "Content-Encoding": "gzip"},
        gzip.compress(b"hello"),
    )
    assert (await room.read(f"{site.url}/z")).text == "hello"
    bomb = gzip.compress(b"A" * 50_000_000)
    site.routes["/z"] = (200, {"Content-Type": "text/plain", "Content-Encoding": "gzip"}, bomb)
    page = await room.read(f"{site.url}/z")
    assert page.truncated and page.text == "A" * 1000


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd"])
async def test_other_compressions_are_refused(site, room, encoding):
    site.routes["/z"] = (200, {"Content-Type": "text/plain", "Content-Encoding": encoding}, b"x")
    with pytest.raises(WebError, match="packed"):
        await room.read(f"{site.url}/z")


async def test_broken_compression_and_broken_answers_are_errors(site, room):
    site.routes["/z"] = (200, {"Content-Type": "text/plain", "Content-Encoding": "gzip"}, b"not gzip")
    with pytest.raises(WebError, match="broken answer"):
        await room.read(f"{site.url}/z")

    def garbage(handler):
        handler.wfile.write(b"\x00\x01 nonsense\r\n\r\n")

    site.routes["/g"] = garbage
    with pytest.raises(WebError, match="broken answer"):
        await room.read(f"{site.url}/g")


async def test_redirects_are_followed_up_to_five(site, room):
    site.html("/end", "arrived", "text/plain")
    for n in range(1, 7):
        site.routes[f"/r{n}"] = (302, {"Location": f"/r{n - 1}" if n > 1 else "end"}, b"")
    page = await room.read(f"{site.url}/r5")
    assert (page.text, page.url) == ("arrived", f"{site.url}/end")
    with pytest.raises(WebError, match="more than 5"):
        await room.read(f"{site.url}/r6")


async def test_a_redirect_to_a_private_host_is_refused_before_it_is_contacted(site, other_site, room):
    site.routes["/out"] = (301, {"Location": f"{other_site.url}/admin"}, b"")
    with pytest.raises(AddressRefused) as caught:
        await room.read(f"{site.url}/out")
    assert other_site.host in caught.value.hint
    assert other_site.requests == []


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://x/y", "javascript:1", "http://u:p@site.example/"]
)
async def test_a_redirect_to_another_scheme_is_refused(site, room, target):
    site.routes["/out"] = (302, {"Location": target}, b"")
    with pytest.raises(WebError):
        await room.read(f"{site.url}/out")


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://a.example/",
        "a.example/x",
        "",
        "http://",
        "http://[::1",
        "http://a:99999/",
        "http://\x00/",
    ],
)
async def test_an_invalid_web_address_is_refused(make_room, url):
    with pytest.raises(WebError, match="address"):
        await make_room().read(url)


async def test_a_user_name_in_an_address_is_refused_and_not_shown(make_room):
    with pytest.raises(WebError, match="user name") as caught:
        await make_room().read("http://me:hunter2@a.example/")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "127.1"]
)
async def test_loopback_in_every_spelling_is_refused(site, make_room, host):
    with pytest.raises(AddressRefused):
        await make_room().read(f"http://{host}:{site.port}/")
    assert site.requests == []


async def test_an_error_status_is_reported(site, room):
    with pytest.raises(WebError, match="HTTP 404 for /gone"):
        await room.read(f"{site.url}/gone?token=secret")


# Hundreds of thousands of elements: far more than can be parsed in a second.
@pytest.mark.parametrize("unit", ["<p>a", "<b>", "<a b=c>"])
async def test_a_pathological_page_is_given_up(site, room, unit, monkeypatch):
    monkeypatch.setattr(run, "SECONDS", 1)
    with pytest.raises(WebError, match="tangled"):
        await room.read(site.html("/tangle", unit * (1_900_000 // len(unit))))


async def test_a_deep_page_is_read(site, room):
    page = await room.read(site.html("/deep", "<div>" * 20_000 + "bottom"))
    assert page.text == "bottom"


async def test_cancelling_a_read_ends_its_parser(site, room, monkeypatch):
    started: asyncio.Future[subprocess.Popen[bytes]] = asyncio.get_running_loop().create_future()
    start = subprocess.Popen

    def watched(*args, **kwargs):
        process = start(*args, **kwargs)
        started.set_result(process)
        return process

    monkeypatch.setattr(subprocess, "Popen", watched)
    reading = asyncio.create_task(room.read(site.html("/tangle", "<a" * 900_000)))
    process = await started
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert process.returncode is not None


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, alita_tui.web.client; print(sorted({'httpx', 'bs4', 'lxml', 'trafilatura', 'pypdf', 'textual'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("body", "scripts"),
    [
        ("<title>T</title><div id=root></div><SCRIPT src=/app.js></script>", "needed"),
        ("<p>Loading…</p><script>1</script>", "needed"),
        ("<p>A short page, whole as it is.</p>", ""),
        (f"<p>{'Enough words. ' * 40}</p><script>1</script>", ""),
    ],
    ids=["empty", "little", "no scripts", "text"],
)
async def test_a_page_that_shows_next_to_nothing_without_scripts_is_known(site, room, body, scripts):
    page = await room.read(site.html("/app", f"<html><body>{body}</body></html>"))
    assert page.scripts == scripts
