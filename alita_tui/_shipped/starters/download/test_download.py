import hashlib
import http.server
import threading
from pathlib import Path

from download import run

DATA = bytes(range(256)) * 1000


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        data, status = DATA, 200
        if self.path.startswith("/gone"):
            data, status = b"no such thing", 404
        if self.path.startswith("/refused"):
            data, status = b"alita: evil.example:443 is not granted\n", 403
        if self.path.startswith("/long"):
            data = b"x" * 20_000_001
        self.send_response(status)
        self.send_header("Content-Type", "image/png; charset=x")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        try:
            self.wfile.write(data)
        except OSError:
            pass

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


def test_a_file_is_left_as_it_came():
    found = with_site(lambda base: run(base + "/pictures/a%20cat.png?size=2"))
    digest = hashlib.sha256(DATA).hexdigest()
    assert found == {"file": "a cat.png", "bytes": 256_000, "kind": "image/png", "sha256": digest}
    assert Path("a cat.png").read_bytes() == DATA


def test_it_may_have_another_name_and_has_to_have_the_digest():
    digest = hashlib.sha256(DATA).hexdigest()
    found = with_site(lambda base: run(base + "/x", save_as="b.bin", sha256=digest.upper()))
    assert found["file"] == "b.bin"
    assert with_site(lambda base: run(base + "/"))["file"] == "download"
    assert "SHA-256" in with_site(lambda base: refused(url=base + "/x", save_as="c.bin", sha256="0" * 64))
    assert not Path("c.bin").exists()


def test_what_goes_wrong_is_told():
    assert "HTTP 404" in with_site(lambda base: refused(url=base + "/gone"))
    assert "is not granted" in with_site(lambda base: refused(url=base + "/refused"))
    assert "20,000,000" in with_site(lambda base: refused(url=base + "/long"))
    assert "was not fetched" in refused(url="http://127.0.0.1:1/x")
    assert "whole http" in refused(url="file:///etc/passwd") and "whole http" in refused(url="/x")
    for name in ("../x", "a/b", ".hidden", "x" * 101, "a\nb"):
        assert "plain file name" in refused(url="http://127.0.0.1:1/x", save_as=name)
    assert "plain file name" in refused(url="http://127.0.0.1:1/%2e%2e")
