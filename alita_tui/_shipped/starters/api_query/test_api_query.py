import http.server
import json
import os
import threading

from api_query import run


class Api(http.server.BaseHTTPRequestHandler):
    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode()
        status, said = (
            200,
            json.dumps(
                {"method": self.command, "path": self.path, "body": body, "headers": dict(self.headers)}
            ),
        )
        if self.path.startswith("/text"):
            said = "plain é"
        if self.path.startswith("/missing"):
            status, said = 404, '{"error": "not found"}'
        if self.path.startswith("/refused"):
            status, said = 403, "alita: evil.example:443 is not granted\n"
        if self.path.startswith("/long"):
            said = "x" * 500_000
        self.send_response(status)
        self.send_header("Content-Length", str(len(said.encode())))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(said.encode())

    do_GET = do_POST = do_HEAD = answer

    def log_message(self, *_):
        pass


def with_api(work):
    server = http.server.HTTPServer(("127.0.0.1", 0), Api)
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


def test_json_is_asked_and_read():
    found = with_api(lambda base: run(url=base + "/a?x=1#part", query={"y": [2, 3], "z": "é"}))
    assert found["status"] == 200 and found["json"]["path"] == "/a?x=1&y=2&y=3&z=%C3%A9"
    posted = with_api(lambda base: run(url=base, method="post", body={"k": [1]}, headers={"X-Own": "v"}))
    assert posted["json"]["method"] == "POST" and json.loads(posted["json"]["body"]) == {"k": [1]}
    assert {name.lower(): value for name, value in posted["json"]["headers"].items()}["x-own"] == "v"


def test_text_errors_and_long_answers():
    assert with_api(lambda base: run(url=base + "/text"))["text"] == "plain é"
    missing = with_api(lambda base: run(url=base + "/missing"))
    assert (missing["status"], missing["json"]) == (404, {"error": "not found"})
    long = with_api(lambda base: run(url=base + "/long"))
    assert long["truncated"] and len(long["text"]) == 400_000


def test_a_secret_is_sent_as_a_bearer_token():
    os.environ["SOME_TOKEN"] = "stand-in"
    try:
        found = with_api(lambda base: run(url=base, secret="SOME_TOKEN"))
    finally:
        del os.environ["SOME_TOKEN"]
    assert found["json"]["headers"]["Authorization"] == "Bearer stand-in"


def test_what_cannot_be_asked_is_said():
    assert "not granted" in with_api(lambda base: refused(url=base + "/refused"))
    assert "whole" in refused(url="file:///etc/passwd") and "whole" in refused(url="example.org")
    assert "one of" in refused(url="http://a.example/", method="CONNECT")
    assert "secret" in refused(url="http://a.example/", secret="OTHER_TOKEN")
    assert "cannot be asked" in refused(url="http://127.0.0.1:1/")
