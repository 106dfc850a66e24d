import http.server
import os
import threading
from pathlib import Path

from file_read import run


def refused(**arguments):
    try:
        run(**arguments)
    except ValueError as error:
        return str(error)
    raise AssertionError("it was not refused")


class Broker(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        found = {"/files/": b'["a.txt", "b/c d.txt"]', "/files/b/c%20d.txt": b"from the broker"}.get(
            self.path
        )
        said = found if found is not None else b"alita: there is no such file\n"
        self.send_response(200 if found is not None else 404)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


def test_text_is_read_in_pieces():
    Path("read-me.txt").write_text("hé llo")
    assert run(path="read-me.txt") == {
        "path": "read-me.txt",
        "encoding": "utf-8",
        "bytes": 7,
        "text": "hé llo",
        "more": False,
    }
    piece = run(path="read-me.txt", start=1, limit=2)
    assert (piece["text"], piece["more"]) == ("é ", True)
    assert "read-me.txt" in run()["files"]


def test_what_is_no_text_comes_as_base64():
    Path("raw.bin").write_bytes(b"\xff\x00")
    assert run(path="raw.bin")["text"] == "/wA=" and run(path="raw.bin")["encoding"] == "base64"


def test_the_broker_is_asked_where_there_is_one():
    server = http.server.HTTPServer(("127.0.0.1", 0), Broker)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    os.environ["ALITA_BROKER"] = f"http://127.0.0.1:{server.server_port}"
    try:
        assert run(path="b/c d.txt")["text"] == "from the broker"
        assert run()["files"] == ["a.txt", "b/c d.txt"]
        assert refused(path="gone") == "alita: there is no such file"
    finally:
        del os.environ["ALITA_BROKER"]
        server.shutdown()
        server.server_close()


def test_bad_input_is_refused():
    assert "cannot be read" in refused(path="not-there.txt")
    assert refused(path="read-me.txt", start=-1)
    assert refused(path="read-me.txt", limit=0)
