from pathlib import Path

from csv_table import run

TEXT = "name,age,city\nAnn,34,Ghent\nBo,28,Bruges\nCy,41,Ghent\nDi,,Ghent\n"


def refused(**arguments):
    try:
        run(**arguments)
    except ValueError as error:
        return str(error)
    raise AssertionError("it was not refused")


def test_a_table_is_read_with_its_numbers():
    found = run(text=TEXT)
    assert found["columns"] == ["name", "age", "city"] and found["read"] == 4
    assert found["rows"][0] == {"name": "Ann", "age": 34, "city": "Ghent"} and found["rows"][3]["age"] == ""


def test_other_delimiters_quotes_and_codes():
    assert run(text="a;b\n1,5;x\n")["rows"] == [{"a": "1,5", "b": "x"}]
    assert run(text='a\tb\n"x\ty"\t2.5\n')["rows"] == [{"a": "x\ty", "b": 2.5}]
    assert run(text="zip,n\n0123,1_000\n")["rows"] == [{"zip": "0123", "n": "1_000"}]
    assert run(text="a,b\n1\n")["rows"] == [{"a": 1, "b": ""}]


def test_rows_and_columns_are_chosen_and_sorted():
    where = [{"column": "city", "test": "=", "value": "Ghent"}, {"column": "age", "test": ">", "value": 30}]
    found = run(text=TEXT, where=where, columns=["name"], sort_by="age", descending=True)
    assert found["rows"] == [{"name": "Cy"}, {"name": "Ann"}] and found["matched"] == 2
    assert run(text=TEXT, where=[{"column": "name", "test": "contains", "value": "b"}])["matched"] == 1
    assert [row["name"] for row in run(text=TEXT, sort_by="age", limit=2)["rows"]] == ["Bo", "Ann"]


def test_groups_and_totals():
    found = run(text=TEXT, group_by="city", totals={"age": "mean"}, sort_by="city")
    assert found["rows"] == [
        {"city": "Bruges", "rows": 1, "mean of age": 28.0},
        {"city": "Ghent", "rows": 3, "mean of age": 37.5},
    ]
    assert run(text=TEXT, totals={"age": "sum"})["rows"] == [{"group": "all", "rows": 4, "sum of age": 103.0}]


def test_a_file_is_read():
    Path("table.csv").write_text("\ufeffa,b\n1,2\n")
    assert run(path="table.csv")["rows"] == [{"a": 1, "b": 2}]
    assert "cannot be read" in refused(path="gone.csv")


def test_bad_input_is_refused():
    assert refused() and refused(path="a", text="b")
    assert "no column" in refused(text=TEXT, columns=["size"])
    assert "no column" in refused(text=TEXT, sort_by="size")
    assert "none of" in refused(text=TEXT, totals={"age": "median"})
    assert refused(text=TEXT, where=[{"column": "age", "test": "~", "value": 1}])
    assert "same name" in refused(text="a,a\n1,2\n")
    assert refused(text="\n\n")
