import http.server
import os
import threading
from pathlib import Path

from file_write import run

FILES = {}


def refused(**arguments):
    try:
        run(**arguments)
    except ValueError as error:
        return str(error)
    raise AssertionError("it was not refused")


class Broker(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.say(200 if self.path in FILES else 404, FILES.get(self.path, b"alita: there is no such file"))

    def do_PUT(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if "secret" in self.path:
            return self.say(403, b"alita: not granted")
        FILES[self.path] = data
        return self.say(201, b"")

    def say(self, status, content):
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def test_a_file_is_made_replaced_and_added_to():
    assert run(path="made.txt", text="één") == {"path": "made.txt", "bytes": 5}
    assert run(path="made.txt", text="two")["bytes"] == 3
    assert run(path="made.txt", text=" three", append=True)["bytes"] == 9
    assert Path("made.txt").read_text() == "two three"
    assert run(path="new.txt", text="x", append=True)["bytes"] == 1


def test_the_broker_is_asked_where_there_is_one():
    server = http.server.HTTPServer(("127.0.0.1", 0), Broker)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    os.environ["ALITA_BROKER"] = f"http://127.0.0.1:{server.server_port}"
    try:
        run(path="a b/c.txt", text="one")
        run(path="a b/c.txt", text=" two", append=True)
        assert FILES == {"/files/a%20b/c.txt": b"one two"}
        assert refused(path="secret.txt", text="x") == "alita: not granted"
    finally:
        del os.environ["ALITA_BROKER"]
        server.shutdown()
        server.server_close()


def test_bad_input_is_refused():
    assert refused(path=" ", text="x")
    assert "cannot be written" in refused(path="no/such/folder.txt", text="x")
