from pathlib import Path

from pdf_text import run
from pypdf import PdfReader, PdfWriter


def made(*texts):
    """A PDF file with a page for each text, written by hand."""
    count = len(texts)
    pages = " ".join(f"{4 + 2 * at} 0 R" for at in range(count))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{pages}] /Count {count} >>"]
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for at, text in enumerate(texts):
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        font = "/Resources << /Font << /F1 3 0 R >> >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {font} /Contents {5 + 2 * at} 0 R >>"
        )
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    data, places = "%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{text}\nendobj\n"
    start = len(data)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"
    data += "".join(f"{place:010} 00000 n \n" for place in places)
    data += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    Path("letter.pdf").write_bytes(data.encode("latin-1"))
    return "letter.pdf"


def locked():
    writer = PdfWriter(clone_from=PdfReader(made("Private")))
    writer.add_metadata({"/Title": "A letter"})
    writer.encrypt("open sesame", algorithm="RC4-128")
    with open("locked.pdf", "wb") as file:
        writer.write(file)
    return "locked.pdf"


def refused(**arguments):
    try:
        run(**arguments)
    except ValueError as error:
        return str(error)
    raise AssertionError("it was not refused")


def test_the_text_of_each_page_is_read():
    found = run(made("First page", "Second page"))
    assert found["pages"] == 2 and found["title"] == "" and not found["more"] and found["without_text"] == 0
    assert found["texts"] == [{"page": 1, "text": "First page"}, {"page": 2, "text": "Second page"}]


def test_pages_are_chosen():
    assert run(made("a", "b", "c"), first=2, last=2)["texts"] == [{"page": 2, "text": "b"}]
    assert [page["page"] for page in run(made("a", "b", "c"), first=2)["texts"]] == [2, 3]
    assert "1 to 1" in refused(document=made("a"), first=2)
    assert "1 to 1" in refused(document=made("a"), first=0)
    assert "1 to 1" in refused(document=made("a"), last=5)


def test_a_page_without_text_is_counted():
    found = run(made("", "text"))
    assert found["without_text"] == 1 and found["texts"][0]["text"].strip() == ""


def test_a_long_text_is_cut():
    long = "word " * 30_000
    found = run(made(long, long, long))
    assert found["more"] and sum(len(page["text"]) for page in found["texts"]) == 200_000
    assert len(found["texts"]) == 2


def test_a_locked_document_needs_its_password():
    assert "needs a password" in refused(document=locked())
    assert "another password" in refused(document=locked(), password="wrong")
    found = run(locked(), password="open sesame")
    assert found["title"] == "A letter" and found["texts"] == [{"page": 1, "text": "Private"}]


def test_what_is_no_document_is_refused():
    Path("no.pdf").write_text("this is no document")
    assert "cannot be read" in refused(document="no.pdf")
    assert "cannot be read" in refused(document="gone.pdf")
