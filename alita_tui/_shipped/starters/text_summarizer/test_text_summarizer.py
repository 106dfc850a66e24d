import http.server
import json
import os
import threading

from text_summarizer import run

ASKED = []


class Broker(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        ASKED.append(asked)
        refused = "over budget" in asked["prompt"]
        said = (
            b"alita: the budget is spent\n"
            if refused
            else json.dumps({"text": f" summary {len(ASKED)} "}).encode()
        )
        self.send_response(402 if refused else 200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


def with_broker(work):
    server = http.server.HTTPServer(("127.0.0.1", 0), Broker)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    os.environ["ALITA_BROKER"] = f"http://127.0.0.1:{server.server_port}"
    ASKED.clear()
    try:
        return work()
    finally:
        del os.environ["ALITA_BROKER"]
        server.shutdown()
        server.server_close()


def fails(kind, **arguments):
    try:
        run(**arguments)
    except kind as error:
        return str(error)
    raise AssertionError("it went through")


def test_a_short_text_is_one_call():
    found = with_broker(lambda: run(text="Some text.", words=50, focus="dates"))
    assert found == {"summary": "summary 1", "parts": 1, "characters": 10}
    assert (
        "Some text." in ASKED[0]["prompt"] and "dates" in ASKED[0]["prompt"] and ASKED[0]["max_tokens"] == 150
    )


def test_a_long_text_goes_part_by_part():
    text = "\n\n".join(f"Paragraph {n}. " + "word " * 400 for n in range(30))
    found = with_broker(lambda: run(text=text))
    assert found["parts"] == len(ASKED) - 1 == 3 and "summary 1" in ASKED[-1]["prompt"]
    given = "".join(one["prompt"].partition("<text>")[2] for one in ASKED[:-1])
    assert all(f"Paragraph {n}." in given for n in range(30))


def test_what_cannot_be_done_is_said():
    assert "budget" in with_broker(lambda: fails(RuntimeError, text="over budget"))
    assert "no model" in fails(RuntimeError, text="x")
    assert fails(ValueError, text="  ") and fails(ValueError, text="x", words=5)
    assert "longer" in fails(ValueError, text="x" * 200_000)
