"""Exports say what happened, in forms that others read; nothing secret goes with them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_tui import events as e
from alita_tui.replay.export import ENDINGS, Format, export
from alita_tui.replay.export_cast import WIDTH
from alita_tui.replay.export_jsonl import from_jsonl
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import UsageError
from alita_tui.spine.laws import check
from alita_tui.spine.text import one_line
from alita_tui.view.fold import fold_all
from alita_tui.view.trace import rows_for
from tests.support.goldens import NAMES, golden, walkthrough

_SGR = re.compile(r"\x1b\[[0-9;]+m")


def same(envelope: Envelope) -> Envelope:
    return envelope


def without(secret: str):
    def redact(envelope: Envelope) -> Envelope:
        raw = msgspec.to_builtins(envelope)
        text = json.dumps(raw)
        if secret not in text:
            return envelope
        return msgspec.convert(json.loads(text.replace(secret, "[redacted]")), Envelope)

    return redact


def saying(text: str) -> list[Envelope]:
    at = datetime(2026, 11, 21, tzinfo=UTC)
    said: list[e.SessionEvent] = [
        e.SessionOpened(title=text),
        e.TaskSubmitted(task_id=e.TaskId("t"), text=text),
        e.NoticeRaised(level="error", text=text, hint=text),
    ]
    return [Envelope(seq=n, session_id="s", at=at, event=one) for n, one in enumerate(said, 1)]


@pytest.mark.parametrize("wanted", ENDINGS)
def test_redacted_text_is_in_no_export_format_and_each_states_the_redaction(wanted: Format) -> None:
    secret = "validate email addresses"
    assert secret in export(walkthrough(), wanted, same)
    written = export(walkthrough(), wanted, without(secret))
    assert secret not in written
    assert re.search(r"Secrets are redacted: something was taken out of \d+ events", written)
    if wanted == "asciicast":
        assert "there was none to take out" in "".join(
            json.loads(line)[2] for line in export(walkthrough(), wanted, same).splitlines()[1:]
        )
    else:
        assert "there was none to take out" in export(walkthrough(), wanted, same)


@pytest.mark.parametrize("name", NAMES)
def test_an_exported_jsonl_imports_to_the_same_events(name: str) -> None:
    whole = golden(name)
    text = export(whole, "jsonl", same)
    back = from_jsonl(text, "imported")
    assert [one.event for one in back] == [one.event for one in whole]
    assert [one.at for one in back] == [one.at for one in whole]
    assert check(back, complete=True) == []
    assert {one.session_id for one in back} == {"imported"}
    # Without the head, as `alita run --json` prints it.
    assert from_jsonl(text.partition("\n")[2], "imported") == back


def test_a_damaged_line_stays_in_its_place() -> None:
    lines = export(walkthrough(), "jsonl", same).splitlines()
    lines[5] = "{not json"
    back = from_jsonl("\n".join(lines), "imported")
    assert isinstance(back[4].event, e.UnknownEvent)
    assert [one.seq for one in back] == list(range(1, len(walkthrough()) + 1))


@pytest.mark.parametrize("text", ["", "\n", "no json at all\n", '{"alita_session": 1}\n', "[]\n{}\n"])
def test_a_file_that_is_no_session_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no session"):
        from_jsonl(text, "imported")


def test_a_surrogate_alone_does_not_end_an_export() -> None:
    for wanted in ENDINGS:
        export(saying("half a pair \ud83d here"), wanted, same).encode("utf-8", "surrogatepass")
    task = from_jsonl(export(saying("half \ud83d"), "jsonl", same), "i")[1].event
    assert isinstance(task, e.TaskSubmitted) and task.text == "half \ud83d"


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_follows_the_asciicast_format(name: str) -> None:
    whole = golden(name)
    head, *lines = export(whole, "asciicast", same).splitlines()
    about = json.loads(head)
    assert (about["version"], about["width"], type(about["height"]), type(about["timestamp"])) == (
        2,
        WIDTH,
        int,
        int,
    )
    last, out = 0.0, ""
    for line in lines:
        at, code, data = json.loads(line)
        assert isinstance(at, int | float) and at >= last and code in ("o", "m") and isinstance(data, str)
        last = at
        out += data if code == "o" else ""
    assert "\x1b" not in _SGR.sub("", out)
    assert not re.search(r"(?<!\r)\n", out)
    plain = _SGR.sub("", out).replace("\r\n", " ")
    squeezed = "".join(plain.split())
    for row in (row for one in whole for row in rows_for(one)):
        assert "".join(row.title[:50].split()) in squeezed
    assert last == pytest.approx((whole[-1].at - whole[0].at).total_seconds(), abs=5)


@pytest.mark.parametrize("how", [("cat",), ("play", "--speed", "1000000")])
@pytest.mark.parametrize("name", ["golden-walkthrough", "golden-rejected"])
def test_asciinema_itself_plays_a_recording(name: str, how: tuple[str, ...], tmp_path: Path) -> None:
    whole, cast = golden(name), tmp_path / "session.cast"
    cast.write_text(export(whole, "asciicast", same), "utf-8")
    command = [sys.executable, "-m", "asciinema", *how, str(cast)]
    environ = {**os.environ, "ASCIINEMA_CONFIG_HOME": str(tmp_path), "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    squeezed = "".join(_SGR.sub("", done.stdout.decode()).split())
    for row in (row for one in whole for row in rows_for(one)):
        assert "".join(row.title[:50].split()) in squeezed


@pytest.mark.parametrize("name", NAMES)
def test_markdown_contains_everything_in_the_trace(name: str) -> None:
    written = export(golden(name), "markdown", same)
    plain = re.sub(r"\\([\\`*_{}\[\]<>#|~!&])", r"\1", written)
    for row in fold_all(golden(name)).trace:
        assert row.title in plain or row.title == one_line(row.detail, 400)
        assert row.detail in written or row.detail == row.title


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)


def _tags(page: str) -> list[str]:
    parser = _Tags()
    parser.feed(page)
    return parser.tags


@settings(max_examples=60)
@given(st.text(st.sampled_from("<>&\"'`/!-#*[]()\n\\|scriptlean\u2028\u202e\x1b\x00_~"), max_size=80))
def test_no_text_breaks_out_of_the_exported_page(text: str) -> None:
    page = export(saying(text), "html", same)
    assert _tags(page) == _tags(export(saying("plain"), "html", same))
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    frames = json.loads(data[1])["frames"]
    assert frames[1]["rows"][0]["title"] == rows_for(saying(text)[1])[0].title
    written = export(saying(text), "markdown", same)
    outside = re.sub(r"(?ms)^(`{3,})text\n.*?\n\1$", "", written)
    assert not re.search(r"(?<!\\)<[a-z/!]", outside)


def test_the_exported_page_loads_nothing() -> None:
    page = export(walkthrough(), "html", same)
    shell = re.sub(r'(?s)<script type="application/json".*?</script>', "", page)
    assert not re.search(r"[a-z]+://|url\(|@import|src=|href=", shell)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|import\(|fetch\(|\bon\w+=", shell
    )
