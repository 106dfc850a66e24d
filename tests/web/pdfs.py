"""PDFs written by hand, so that they can be wrong in the ways that hostile ones are."""

from __future__ import annotations

import zlib

FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"


def pdf(*pages: str, title: str = "", packed: bytes | None = None) -> bytes:
    """Return a PDF with one line of text per page; `packed` replaces the content of each."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        FONT,
    ]
    for number, text in enumerate(pages):
        shown = "\n".join(f"({line}) Tj 0 -14 Td" for line in text.split("\n"))
        content = packed or zlib.compress(f"BT /F1 12 Tf 72 720 Td\n{shown}\nET".encode("cp1252"))
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R"
            f" /Resources << /Font << /F1 3 0 R >> >> >>".encode(),
            b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        ]
    objects.append(f"<< /Title ({title}) >>".encode())
    return assembled(objects, info=len(objects))


def assembled(objects: list[bytes], *, info: int = 0) -> bytes:
    """Return a file of these objects, the first of which is the catalogue."""
    out = bytearray(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    named = b" /Info %d 0 R" % info if info else b""
    out += b"trailer\n<< /Size %d /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, named, start)
    return bytes(out)


def bomb(megabytes: int) -> bytes:
    """Return a page's content that unpacks to so much."""
    return zlib.compress(b" " * (megabytes << 20), 9)


def slow(operators: int) -> bytes:
    """Return a page's content with so many lines of text."""
    return zlib.compress(b"BT /F1 12 Tf 72 720 Td\n" + b"(word) Tj 0 -1 Td\n" * operators + b"ET")


def rings() -> bytes:
    """Return a PDF whose tree of pages contains itself."""
    return assembled(
        [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"]
    )
