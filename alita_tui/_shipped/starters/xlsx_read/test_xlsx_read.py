import datetime
import zipfile
from pathlib import Path

from openpyxl import Workbook
from xlsx_read import run


def made():
    book = Workbook()
    sheet = book.active
    sheet.title = "Sales"
    sheet.append(["day", "at", "amount", "paid", "took"])
    took = datetime.timedelta(minutes=3)
    sheet.append([datetime.date(2024, 2, 29), datetime.time(9, 30), 12.5, True, took])
    sheet.append([datetime.datetime.fromisoformat("2024-03-01T08:15:00"), None, 3, False, None])
    book.create_sheet("Notes").append(["a, b", 'say "x"'])
    book.save("sales.xlsx")
    return "sales.xlsx"


def refused(**arguments):
    try:
        run(**arguments)
    except ValueError as error:
        return str(error)
    raise AssertionError("it was not refused")


def test_the_first_sheet_is_read():
    found = run(made())
    assert found["sheets"] == ["Sales", "Notes"] and found["sheet"] == "Sales" and found["count"] == 3
    assert found["rows"][0] == ["day", "at", "amount", "paid", "took"]
    assert found["rows"][1] == ["2024-02-29", "09:30:00", 12.5, True, 180.0]
    assert found["rows"][2] == ["2024-03-01T08:15:00", None, 3, False, None]


def test_a_part_of_another_sheet_is_read():
    assert run(made(), sheet="Notes")["rows"] == [["a, b", 'say "x"']]
    found = run(made(), start=2, limit=1)
    assert len(found["rows"]) == 1 and found["rows"][0][2] == 12.5 and found["count"] == 3
    assert run(made(), limit=0)["rows"] == []


def test_a_sheet_is_saved_as_csv():
    found = run(made(), sheet="Notes", save_as="notes.csv")
    assert found["file"] == "notes.csv"
    assert Path("notes.csv").read_text().splitlines() == ['"a, b","say ""x"""']
    run(made(), save_as="sales.csv")
    assert Path("sales.csv").read_text().splitlines()[2] == "2024-03-01T08:15:00,,3,False,"


def test_what_cannot_be_read_is_refused():
    Path("no.xlsx").write_text("this is no workbook")
    assert "no workbook" in refused(workbook="no.xlsx")
    assert "no workbook" in refused(workbook="gone.xlsx")
    assert "Sales, Notes" in refused(workbook=made(), sheet="Costs")
    assert "start" in refused(workbook=made(), start=0)
    assert "limit" in refused(workbook=made(), limit=-1)
    assert "plain file name" in refused(workbook=made(), save_as="a/b.csv")
    assert "plain file name" in refused(workbook=made(), save_as=".csv")


def test_a_broken_sheet_is_refused():
    whole = zipfile.ZipFile(made())
    for number, text in enumerate(("<worksheet><sheetData><row>", "", "<!DOCTYPE w [<!ENTITY a 'x'>")):
        name = f"broken{number}.xlsx"
        with zipfile.ZipFile(name, "w") as book:
            for entry in whole.namelist():
                book.writestr(entry, text if entry.endswith("sheet1.xml") else whole.read(entry))
        assert "be read: " in refused(workbook=name)
