# /// script
# requires-python = ">=3.11"
# dependencies = ["openpyxl>=3.1,<4"]
# ///
"""Read a sheet of an Excel workbook (.xlsx) as rows, or save it as a CSV file."""

from __future__ import annotations

import csv
import datetime
import zipfile
import zlib
from pathlib import Path

from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

_UNREADABLE = (zipfile.BadZipFile, zlib.error, OSError, KeyError, SyntaxError)
"""What a broken archive, a missing part of it, or a part that is no XML raises."""


def run(
    workbook: str, sheet: str = "", start: int = 1, limit: int = 200, save_as: str = ""
) -> dict[str, object]:
    """Returns the sheets, and the rows of one from row `start` on, at most `limit`.

    Where no sheet is named it is the first. Formulas come as the values that were stored with them, dates in
    ISO 8601. With `save_as` the whole sheet is left as a CSV file of that name, too. Raises ValueError for
    what is no workbook and a sheet that there is not.
    """
    if start < 1 or limit < 0:
        raise ValueError("start has to be 1 or more, and limit 0 or more")
    if save_as and (Path(save_as).name != save_as or save_as.startswith(".")):
        raise ValueError("save_as is a plain file name")
    try:
        book = load_workbook(workbook, read_only=True, data_only=True)
    except (*_UNREADABLE, InvalidFileException, ValueError) as error:
        raise ValueError(f"this is no workbook that can be read: {error}") from error
    names = list(book.sheetnames)
    try:
        if not names or (sheet and sheet not in names):
            raise ValueError(f"there is no sheet {sheet!r}; there are {', '.join(names)}")
        sheet = sheet or names[0]
        chosen = book[sheet]
        rows: list[list[object]] = []
        count = 0
        for row in chosen.iter_rows(values_only=True):
            count += 1
            if start <= count < start + limit:
                rows.append([_cell(value) for value in row])
        if save_as:
            with open(save_as, "w", newline="", encoding="utf-8") as file:
                # csv writes nothing for None
                csv.writer(file).writerows(
                    [_cell(value) for value in row] for row in chosen.iter_rows(values_only=True)
                )
    except _UNREADABLE as error:
        raise ValueError(f"the sheet {sheet!r} cannot be read: {error}") from error
    finally:
        book.close()
    found: dict[str, object] = {"sheets": names, "sheet": sheet, "rows": rows, "count": count}
    return {**found, "file": save_as} if save_as else found


def _cell(value: object) -> object:
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    return value if value is None or isinstance(value, str | int | float) else str(value)


if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(run(**json.load(sys.stdin))))
