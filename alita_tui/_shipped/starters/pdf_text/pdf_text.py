# /// script
# requires-python = ">=3.11"
# dependencies = ["pypdf>=5,<8"]
# ///
"""Read the text of a PDF file, page by page, with its title and number of pages."""

from __future__ import annotations

from pypdf import PdfReader
from pypdf.errors import PyPdfError

_MOST = 200_000
"""Characters of one answer."""


def run(document: str, first: int = 1, last: int = 0, password: str = "") -> dict[str, object]:
    """Returns the text of the pages from `first` to `last` (0: the last one), and the document's title.

    A long text is cut. A page of a scan has no text: it comes empty and is counted in `without_text`.
    Raises ValueError for what is no PDF file, a wrong password and pages that there are not.
    """
    try:
        reader = PdfReader(document)
        if reader.is_encrypted and not reader.decrypt(password):
            raise ValueError(
                "the document needs another password" if password else "the document needs a password"
            )
        pages = len(reader.pages)
        if not pages:
            raise ValueError("the document has no pages")
        last = last or pages
        if not 1 <= first <= last <= pages:
            raise ValueError(f"the document has the pages 1 to {pages}")
        texts: list[dict[str, object]] = []
        left = _MOST
        for number in range(first, last + 1):
            text = reader.pages[number - 1].extract_text()
            texts.append({"page": number, "text": text[:left]})
            left -= len(text)
            if left <= 0:
                break
        title = str(reader.metadata.title or "") if reader.metadata else ""
    except (PyPdfError, OSError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"the document cannot be read: {error}") from error
    without = sum(not str(page["text"]).strip() for page in texts)
    more = left < 0 or len(texts) < last - first + 1
    return {"title": title, "pages": pages, "texts": texts, "without_text": without, "more": more}


if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(run(**json.load(sys.stdin))))
