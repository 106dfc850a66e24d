import http.server
import json
import threading
from pathlib import Path

from browse import run

PAGES = {
    "/": "<title>Stock</title><body><p id=late></p><script>"
    "setTimeout(() => { late.textContent = 'made by a script'; console.log('done') }, 50)</script>",
    "/table": "<body><script>document.write('<table><tr><th>item<th>n</tr>"
    "<tr><td>lamp<td>3</tr></table>')</script><a href='/form'>sign in</a>",
    "/form": "<form action=/welcome><input name=user><button>go</button></form>",
    "/welcome": "<title>in</title><body>Welcome <b id=who></b><script>"
    "who.textContent = new URLSearchParams(location.search).get('user')</script>",
    "/endless": "<body><script>let n = 0; const more = () => { for (let i = 0; i < 20; i++) "
    "document.body.insertAdjacentHTML('beforeend', `<p style='height:90px'>row ${++n}</p>`) };"
    "more(); onscroll = () => { if (n < 60 && scrollY + innerHeight > document.body.scrollHeight - 50) more() }"
    "</script>",
    "/popup": "<body>one<script>open('/table'); alert('stop')</script>",
    "/get": "<a href=/file download='x.csv'>get</a>",
    "/file": "a,b\n1,2\n",
}


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        data = PAGES.get(self.path.partition("?")[0])
        body = (data or "no such page").encode()
        self.send_response(200 if data else 404)
        self.send_header("Content-Type", "text/csv" if self.path == "/file" else "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def with_site(work):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        return work(f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()


def refused(**arguments):
    try:
        run(**arguments)
    except ValueError as error:
        return str(error)
    raise AssertionError("it was not refused")


def test_pages_are_read_filled_in_and_scrolled():
    steps = [
        {"do": "wait", "text": "made by"},
        {"do": "extract"},
        {"do": "open", "url": "/table"},
        {"do": "extract", "what": "table"},
        {"do": "extract", "what": "links"},
        {"do": "click", "on": "a"},
        {"do": "fill", "on": "input", "text": "Ada"},
        {"do": "press", "on": "input"},
        {"do": "wait", "text": "Ada"},
        {"do": "extract"},
        {"do": "open", "url": "/endless"},
        {"do": "scroll", "times": 2},
        {"do": "extract"},
        {"do": "open", "url": "/popup"},
        {"do": "extract"},
    ]
    found = with_site(lambda base: run(base + "/", steps))
    script, table, links, form, endless, popup = found["extracted"]
    assert script == "made by a script" and form == "Welcome Ada"
    assert table == [[["item", "n"], ["lamp", "3"]]]
    assert [link["text"] for link in links] == ["sign in"] and links[0]["url"].endswith("/form")
    assert "row 60" in endless, "it is read as far as one says"
    assert popup == "one" and found["url"].endswith("/popup"), "what a page opens by itself changes nothing"
    assert found["status"] == 200 and found["requests"] >= 6
    said = [json.loads(line) for line in Path("console.jsonl").read_text().splitlines()]
    assert {"type": "log", "text": "done"} in said and found["console"] == len(said)
    asked = [json.loads(line) for line in Path("requests.jsonl").read_text().splitlines()]
    assert any(line["url"].endswith("/table") and line["outcome"] == 200 for line in asked)


def test_pictures_pdfs_and_downloads_are_files():
    steps = [
        {"do": "screenshot"},
        {"do": "pdf", "save_as": "it.pdf"},
        {"do": "download", "on": "a", "save_as": "t.csv"},
    ]
    found = with_site(lambda base: run(base + "/get", steps))
    assert found["files"] == ["page.png", "it.pdf", "t.csv"]
    assert (
        Path("page.png").read_bytes().startswith(b"\x89PNG") and Path("it.pdf").read_bytes()[:5] == b"%PDF-"
    )
    assert Path("t.csv").read_text() == "a,b\n1,2\n"


def test_what_cannot_be_done_names_its_step():
    for url in ("file:///etc/passwd", "example.org", "javascript:1"):
        assert "whole http" in refused(url=url)
    assert "step 1: do has to be" in refused(url="http://a.example/", steps=[{"do": "hack"}])
    assert "step 1 (open): there is no on" in refused(
        url="http://a.example/", steps=[{"do": "open", "on": "x"}]
    )
    for name in ("../x", "a/b", ".hidden"):
        assert "plain file name" in refused(url="http://a.example/", steps=[{"do": "pdf", "save_as": name}])
    secret = [{"do": "fill", "on": "input", "secret": "PIN"}]
    assert "step 1 (fill): the secret PIN is not granted" in with_site(
        lambda base: refused(url=base + "/form", steps=secret)
    )
