import sqlite3
from pathlib import Path

from sqlite_query import run


def made():
    Path("stock.db").unlink(missing_ok=True)
    found = sqlite3.connect("stock.db")
    found.executescript(
        "CREATE TABLE items (name TEXT, price REAL, photo BLOB);"
        "INSERT INTO items VALUES ('lamp', 12.5, x'00ff'), ('chair', 40, NULL), ('desk', 9e999, NULL);"
        "CREATE VIEW cheap AS SELECT name FROM items WHERE price < 20;"
    )
    found.close()
    return "stock.db"


def refused(**arguments):
    try:
        run(**arguments)
    except ValueError as error:
        return str(error)
    raise AssertionError("it was not refused")


def test_the_tables_are_listed():
    found = run(made())
    assert found["rows"] == [["cheap", "name"], ["items", "name, price, photo"]]
    assert found["columns"] == ["table", "columns"] and not found["more"] and found["changed"] == 0


def test_a_question_is_answered():
    found = run(made(), "SELECT name, price FROM items WHERE price > ? ORDER BY price", [20])
    assert found["columns"] == ["name", "price"] and found["rows"] == [["chair", 40.0], ["desk", "inf"]]
    assert run(made(), "SELECT photo FROM items LIMIT 1")["rows"] == [["(2 bytes)"]]


def test_long_answers_are_cut():
    found = run(made(), "SELECT name FROM items ORDER BY name", limit=2)
    assert found["rows"] == [["chair"], ["desk"]] and found["more"]
    assert not run(made(), "SELECT name FROM items", limit=3)["more"]
    cell = run(made(), "SELECT printf('%.*c', 20000, 'x')")["rows"][0][0]
    assert len(cell) == 10_001 and cell.endswith("…")


def test_a_change_goes_into_a_copy():
    assert "readonly" in refused(database=made(), sql="DELETE FROM items")
    found = run(made(), "DELETE FROM items WHERE name = 'lamp'", save_as="less.db")
    assert found["changed"] == 1 and found["file"] == "less.db" and found["rows"] == []
    assert run("less.db", "SELECT count(*) FROM items")["rows"] == [[2]]
    assert run("stock.db", "SELECT count(*) FROM items")["rows"] == [[3]]
    assert run("stock.db", save_as="whole.db")["file"] == "whole.db"


def test_what_cannot_be_done_is_refused():
    assert "no file" in refused(database="gone.db")
    Path("no.db").write_text("this is no database, whatever its name says")
    assert "not a database" in refused(database="no.db", sql="SELECT 1")
    assert "no such table" in refused(database=made(), sql="SELECT * FROM orders")
    assert "one statement" in refused(database=made(), sql="SELECT 1; SELECT 2")
    assert "authorized" in refused(database=made(), sql="ATTACH 'less.db' AS other")
    assert "limit" in refused(database=made(), limit=-1)
    assert "plain file name" in refused(database=made(), save_as="../out.db")
    assert "plain file name" in refused(database=made(), save_as=".hidden")


def test_an_endless_statement_is_ended():
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    assert "interrupted" in refused(database=made(), sql=endless)


def test_a_database_that_was_cut_off_is_refused():
    whole = Path(made()).read_bytes()
    for kept in (len(whole) - 100, 5000, 4096):
        Path("cut.db").write_bytes(whole[:kept])
        assert "cut off" in refused(database="cut.db", sql="SELECT name FROM items")
    Path("cut.db").write_bytes(b"")
    assert run("cut.db")["rows"] == []
