"""Odd jobs on real files, end to end: a model on the wire, real packages, real containers, what comes out compared."""

from __future__ import annotations

import json
import random
import sqlite3
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from alita_tui.llm.scripted import Rule, Script, ScriptReply, ScriptRequest
from tests.e2e.over_wire import SERVERS
from tests.e2e.walks import accepting

pytestmark = pytest.mark.podman

WIRES = pytest.mark.parametrize("provider", ["openai", "anthropic"])
FILE = {"type": "string", "format": "file"}


def call(action: str, **arguments: Any) -> ScriptReply:
    return ScriptReply(requests=(ScriptRequest(name=action, arguments=arguments),))


def both(*replies: ScriptReply) -> ScriptReply:
    return ScriptReply(requests=tuple(request for reply in replies for request in reply.requests))


def build(name: str, goal: str) -> ScriptReply:
    return call("build_tool", name=name, goal=goal)


def run(name: str, **arguments: Any) -> ScriptReply:
    return call("run_tool", name=name, arguments=arguments)


def tool(name: str, code: str, tests: str, takes: dict[str, Any], gives: Any, **more: Any) -> Rule:
    needed = [key for key, schema in takes.items() if "default" not in schema]
    schema = {"type": "object", "properties": takes, "required": needed, "additionalProperties": False}
    submitted = call(
        "submit_tool", name=name, description=f"It does what {name} says.", code=code, tests=tests,
        requirements=more.pop("requirements", []), input_schema=schema, output_schema=gives, **more,
    )  # fmt: skip
    return Rule(role="toolsmith", match=f"Tool name: {name}", replies=(submitted,))


def script(*replies: ScriptReply, tools: tuple[Rule, ...] = ()) -> Script:
    return Script(
        format="alita-script/1",
        name="jobs",
        rules=(Rule(role="orchestrator", match="TASK: ", replies=replies), *tools),
    )


@pytest.fixture
def do(shell: Any) -> Callable[..., list[dict[str, Any]]]:
    """Do a task with a scripted model on a wire; approve what it builds; return the events."""

    def work(provider: str, told: Script, *words: str, builds: int = 1) -> list[dict[str, Any]]:
        server_type, key_name = SERVERS[provider]
        with server_type(told) as server:
            shell.environ |= {
                "ALITA_MODEL": f"{provider}:test-model",
                "ALITA_MODEL_BASE_URL": server.base_url,
                key_name: "sk-not-a-real-key",
            }
            done = shell("run", *words)
            approved = 0
            while done.returncode == 4:
                for waiting in json.loads(shell("builds", "list", "--json").stdout):
                    shown = json.loads(shell("builds", "show", waiting["approval_id"], "--json").stdout)
                    kind = {**shown["build"], "accept": shown["accept"]}
                    said = shell(
                        "builds", "approve", kind["approval_id"], "--digest", kind["digest"], *accepting(kind)
                    )
                    assert said.returncode == 0, said.stderr
                    approved += 1
                done = shell("resume")
            assert done.returncode == 0, done.stderr
            assert approved == builds
            work.bodies = [json.dumps(request.body) for request in server.requests]  # type: ignore[attr-defined]
        events: list[dict[str, Any]] = shell.events()
        assert shell("sessions", "verify").returncode == 0
        return events

    return work


def result(events: list[dict[str, Any]]) -> Any:
    return [event for event in events if event["kind"] == "tool_returned"][-1]["report"]["result"]


def saved(shell: Any, name: str, folder: Path) -> bytes:
    done = shell("artefacts", "save", name, "--out", str(folder))
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip()).read_bytes()


PERCENTILES = '''"""Percentiles of a column of a CSV file."""

import csv


def run(table: str, column: str) -> dict[str, float]:
    """Return count, median and 99th percentile."""
    with open(table, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if column not in (reader.fieldnames or ()):
            raise ValueError(f"there is no column {column!r}")
        values = sorted(float(row[column]) for row in reader)
    if not values:
        raise ValueError("the table has no rows")
    return {"count": len(values), "median": values[len(values) // 2], "p99": values[len(values) * 99 // 100]}
'''
PERCENTILES_TESTS = """from pathlib import Path

from csv_percentiles import run

SMALL = "a,b\\n3,x\\n1,y\\n2,z\\n"


def refused(table, column):
    try:
        run(table, column)
    except ValueError as error:
        return str(error)
    return ""


def test_three_rows():
    Path("small.csv").write_text(SMALL)
    assert run("small.csv", "a") == {"count": 3, "median": 2, "p99": 3}


def test_refused():
    Path("small.csv").write_text(SMALL)
    Path("empty.csv").write_text("a,b\\n")
    assert "no column 'c'" in refused("small.csv", "c")
    assert "no rows" in refused("empty.csv", "a")
"""


@WIRES
def test_percentiles_of_fifty_megabytes(shell, do, tmp_path: Path, provider: str) -> None:
    numbers = random.Random(7)
    table = tmp_path / "latencies.csv"
    values: list[float] = []
    with table.open("w") as file:
        file.write("region,millis,note\n")
        for n in range(1_000_000):
            value = round(numbers.lognormvariate(3, 1), 3)
            values.append(value)
            file.write(f"r{n % 7},{value},{'x' * 36}\n")
    assert table.stat().st_size > 45_000_000
    values.sort()
    told = script(
        build("csv_percentiles", "Percentiles of a column of a CSV file."),
        run("csv_percentiles", table="latencies.csv", column="millis"),
        call("answer", text="There they are."),
        tools=(
            tool(
                "csv_percentiles", PERCENTILES, PERCENTILES_TESTS,
                {"table": FILE, "column": {"type": "string"}},
                {"type": "object", "additionalProperties": {"type": "number"}},
            ),
        ),
    )  # fmt: skip
    events = do(provider, told, "How slow are we by the column millis?", "--file", str(table))
    assert result(events) == {"count": 1_000_000, "median": values[500_000], "p99": values[990_000]}
    assert sum(len(body) for body in do.bodies) < 500_000  # the data never went through the model
    assert not any(str(values[990_000]) + "," + "x" * 36 in body for body in do.bodies)


CHART = '''"""A bar chart of labelled numbers."""

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot


def run(labels: list[str], values: list[float]) -> dict[str, str]:
    """Draw the bars to `chart.png`."""
    if len(labels) != len(values) or not labels:
        raise ValueError("there have to be as many labels as values, and at least one")
    figure, axes = pyplot.subplots(figsize=(4, 3), dpi=100)
    axes.bar(labels, values)
    figure.savefig("chart.png")
    pyplot.close(figure)
    return {"chart": "chart.png"}
'''
CHART_TESTS = """from pathlib import Path

from bar_chart import run


def test_a_chart():
    assert run(["a", "b"], [1, 2]) == {"chart": "chart.png"}
    assert Path("chart.png").read_bytes().startswith(b"\\x89PNG")


def test_refused():
    for labels, values in (([], []), (["a"], [1, 2])):
        try:
            run(labels, values)
        except ValueError:
            continue
        assert False
"""


def test_a_chart_as_png_of_what_another_tool_found(shell, do, tmp_path: Path) -> None:
    """Two tools composed by reference: the model never writes the numbers down."""
    table = tmp_path / "sales.csv"
    table.write_text("region,amount\nnorth,3\nsouth,9\nnorth,4\n")
    totals = '''"""Sums of a column by another one."""

import csv


def run(table: str, by: str, column: str) -> dict[str, list]:
    """Return labels and their sums."""
    sums: dict[str, float] = {}
    with open(table, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            sums[row[by]] = sums.get(row[by], 0) + float(row[column])
    return {"labels": list(sums), "values": list(sums.values())}
'''
    totals_tests = """from pathlib import Path

from csv_totals import run


def test_two():
    Path("t.csv").write_text("k,n\\na,1\\nb,2\\na,3\\n")
    assert run("t.csv", "k", "n") == {"labels": ["a", "b"], "values": [4, 2]}


def test_none():
    Path("none.csv").write_text("k,n\\n")
    assert run("none.csv", "k", "n") == {"labels": [], "values": []}
"""
    text = {"type": "string"}
    told = script(
        both(build("csv_totals", "Sums by a column."), build("bar_chart", "A bar chart as PNG.")),
        run("csv_totals", table="sales.csv", by="region", column="amount"),
        ScriptReply(requests=(ScriptRequest(name="run_tool", arguments={
            "name": "bar_chart",
            "arguments": {"labels": {"$ref": "csv_totals#/labels"}, "values": {"$ref": "csv_totals#/values"}},
        }),)),
        call("answer", text="The chart is there."),
        tools=(
            tool("csv_totals", totals, totals_tests, {"table": FILE, "by": text, "column": text}, {"type": "object"}),
            tool("bar_chart", CHART, CHART_TESTS,
                 {"labels": {"type": "array", "items": text, "minItems": 1}, "values": {"type": "array", "items": {"type": "number"}}},
                 {"type": "object", "properties": {"chart": FILE}, "required": ["chart"]}, requirements=["matplotlib>=3.8"]),
        ),
    )  # fmt: skip
    events = do("openai", told, "Chart the sales by region", "--file", str(table), builds=2)
    failed = [event for event in events if event["kind"] in ("tool_failed", "action_failed")]
    assert failed == []
    made = [event["artefact"] for event in events if event["kind"] == "artefact_added"][-1]
    assert (made["name"], made["media_type"]) == ("chart.png", "image/png")
    png = saved(shell, made["handle"], tmp_path / "out")
    assert (
        struct.unpack(">II", png[16:24]) == (400, 300)
        and zlib.crc32(png[12:29]) == struct.unpack(">I", png[29:33])[0]
    )
    called = [event for event in events if event["kind"] == "tool_called"][-1]
    assert called["references"][0].endswith("#/labels")


PDF_TEXT = '''"""Text of a PDF."""

from pypdf import PdfReader
from pypdf.errors import PyPdfError


def run(document: str) -> list[str]:
    """Return the text of each page."""
    try:
        return [page.extract_text() for page in PdfReader(document).pages]
    except PyPdfError as error:
        raise ValueError(f"it is no PDF: {error}") from error
'''


def a_pdf(text: str) -> bytes:
    """Return a PDF of one page, made by hand."""
    stream = f"BT /F1 24 Tf 72 700 Td ({text}) Tj ET".encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]  # fmt: skip
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj%s endobj\n" % (number, body)
    table = b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + table + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(out)


@WIRES
def test_the_text_of_a_pdf(shell, do, tmp_path: Path, provider: str) -> None:
    document = tmp_path / "letter.pdf"
    document.write_bytes(a_pdf("Dear reader, the total is 42 euros"))
    tests = f"""from pathlib import Path

from pdf_text import run

PDF = {a_pdf("Hello")!r}


def test_a_page():
    Path("a.pdf").write_bytes(PDF)
    assert run("a.pdf") == ["Hello"]


def test_refused():
    Path("bad.pdf").write_bytes(b"no pdf")
    try:
        run("bad.pdf")
    except ValueError:
        return
    assert False
"""
    told = script(
        build("pdf_text", "Text of a PDF."),
        run("pdf_text", document="letter.pdf"),
        call("answer", text="42 euros."),
        tools=(
            tool("pdf_text", PDF_TEXT, tests, {"document": FILE}, {"type": "array", "items": {"type": "string"}},
                 requirements=["pypdf>=4"]),
        ),
    )  # fmt: skip
    events = do(provider, told, "What does the letter say?", "--file", str(document))
    assert result(events) == ["Dear reader, the total is 42 euros"]


@WIRES
def test_a_question_to_a_database(shell, do, tmp_path: Path, provider: str) -> None:
    database = tmp_path / "shop.db"
    with sqlite3.connect(database) as shop:
        shop.execute("create table sales (day text, amount real)")
        shop.executemany(
            "insert into sales values (?, ?)", [(f"2026-01-{n % 28 + 1:02}", n) for n in range(2800)]
        )
    shop.close()
    code = '''"""Rows of a query on a SQLite database."""

import sqlite3


def run(database: str, query: str) -> list[list]:
    """Return the rows; the database is only read."""
    line = sqlite3.connect(f"file:{database}?mode=ro&immutable=1", uri=True)
    try:
        return [list(row) for row in line.execute(query)]
    except sqlite3.Error as error:
        raise ValueError(str(error)) from error
    finally:
        line.close()
'''
    empty = tmp_path / "empty.db"
    with sqlite3.connect(empty) as made:
        made.execute("create table t (n)")
        made.execute("insert into t values (5)")
    made.close()
    tests = f"""import zlib
from pathlib import Path

from sqlite_rows import run

EMPTY = zlib.decompress({zlib.compress(empty.read_bytes())!r})


def test_a_row():
    Path("e.db").write_bytes(EMPTY)
    assert run("e.db", "select n from t") == [[5]]


def test_refused():
    Path("e.db").write_bytes(EMPTY)
    try:
        run("e.db", "select x from y")
    except ValueError as error:
        assert "no such table" in str(error)
        return
    assert False
"""
    told = script(
        build("sqlite_rows", "Rows of a query on a SQLite database."),
        run("sqlite_rows", database="shop.db", query="select day, sum(amount) from sales group by day order by 2 desc limit 1"),
        call("answer", text="The 28th."),
        tools=(tool("sqlite_rows", code, tests, {"database": FILE, "query": {"type": "string"}}, {"type": "array", "items": {"type": "array"}}),),
    )  # fmt: skip
    events = do(provider, told, "Best day?", "--file", str(database))
    assert result(events) == [["2026-01-28", float(sum(n for n in range(2800) if n % 28 == 27))]]


def test_an_image_is_resized_and_keeps_its_exif(shell, do, tmp_path: Path) -> None:
    code = '''"""Resize a picture, keeping its EXIF data."""

from PIL import Image, UnidentifiedImageError


def run(picture: str, width: int) -> dict[str, object]:
    """Write `small.jpg` of this width."""
    try:
        with Image.open(picture) as source:
            height = max(1, source.height * width // source.width)
            source.convert("RGB").resize((width, height)).save("small.jpg", exif=source.getexif())
    except (UnidentifiedImageError, OSError) as error:
        raise ValueError(f"it is no picture: {error}") from error
    return {"size": [width, height], "file": "small.jpg"}
'''
    pixels = zlib.compress(b"".join(b"\x00" + bytes(3 * 40) for _ in range(20)))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    exif = b"MM\x00*\x00\x00\x00\x08\x00\x01\x01\x0e\x00\x02\x00\x00\x00\x06\x00\x00\x00\x1aharbor\x00\x00"
    exif = b"MM\x00*" + struct.pack(">IHHHII", 8, 1, 0x010E, 2, 7, 26) + struct.pack(">I", 0) + b"harbor\x00"
    picture = tmp_path / "photo.png"
    picture.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 40, 20, 8, 2, 0, 0, 0))
        + chunk(b"eXIf", exif) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )  # fmt: skip
    tests = f"""from pathlib import Path

from resize_picture import run

PNG = {picture.read_bytes()!r}


def test_half():
    Path("a.png").write_bytes(PNG)
    assert run("a.png", 20) == {{"size": [20, 10], "file": "small.jpg"}}
    assert Path("small.jpg").read_bytes().startswith(b"\\xff\\xd8")


def test_refused():
    Path("bad.png").write_bytes(b"nothing")
    try:
        run("bad.png", 20)
    except ValueError:
        return
    assert False
"""
    told = script(
        build("resize_picture", "Resize a picture."),
        run("resize_picture", picture="photo.png", width=10),
        call("answer", text="Done."),
        tools=(
            tool("resize_picture", code, tests, {"picture": FILE, "width": {"type": "integer", "minimum": 1, "maximum": 4000}},
                 {"type": "object", "properties": {"size": {"type": "array"}, "file": FILE}, "required": ["size", "file"]},
                 requirements=["pillow>=10"]),
        ),
    )  # fmt: skip
    events = do("anthropic", told, "Make it ten wide", "--file", str(picture))
    assert result(events)["size"] == [10, 5]
    jpeg = saved(shell, "small.jpg", tmp_path / "out")
    assert jpeg.startswith(b"\xff\xd8") and b"Exif" in jpeg and b"harbor" in jpeg


@WIRES
def test_a_question_that_needs_no_tool(do, provider: str) -> None:
    told = script(call("answer", text="Paris."))
    events = do(provider, told, "What is the capital of France?", builds=0)
    replies = [event for event in events if event["kind"] == "model_replied"]
    assert len(replies) == 1 and events[-1]["kind"] == "session_closed"
