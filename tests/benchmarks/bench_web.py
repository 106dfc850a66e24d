"""Reading a page of a megabyte, in its process and all, against BeautifulSoup's bare parse of it in another."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from alita_tui.web.parsing import parsed

_ROUNDS = 5
_BARE = "import sys, bs4; bs4.BeautifulSoup(sys.stdin.buffer.read(), 'html.parser').get_text()"
Row = Callable[..., dict[str, float | str | None]]


def page(sections: int) -> bytes:
    """A reference page of prose, lists, code and tables, with what is around it on a site."""
    menu = "".join(f'<li><a href="/topic/{n}">Topic {n}</a></li>' for n in range(80))
    parts = []
    for n in range(sections):
        rows = "".join(
            f"<tr><td>option_{n}_{m}</td><td>{m * n}</td><td>what it does</td></tr>" for m in range(8)
        )
        parts.append(
            f'<section id="s{n}"><h2>Section {n}</h2><p>The value <code>x[{n}]</code> is read <b>before</b> the'
            f' stream is opened, and kept until it <a href="#s{n}">closes</a>. '
            + "A sentence stands here. "
            * 20
            + "</p>"
            f"<ul><li>first {n}</li><li>second</li></ul><pre><code>run({n})\n    done()</code></pre>"
            f"<table><tr><th>option</th><th>default</th><th>meaning</th></tr>{rows}</table></section>"
        )
    body = f"<nav><ul>{menu}</ul></nav><main>{''.join(parts)}</main><footer>Imprint</footer>"
    return f"<!doctype html><html><head><title>Reference</title></head><body>{body}</body></html>".encode()


def web(results: dict[str, dict[str, float | str | None]], row: Row) -> None:
    """Milliseconds of reading."""
    body = page(700)

    def ours() -> float:
        started = time.perf_counter()
        lines, ended = asyncio.run(parsed("article", body))
        assert ended
        assert "| option_699_7 | 4893 | what it does |" in lines[0]["text"]
        return (time.perf_counter() - started) * 1000

    def theirs() -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-c", _BARE], input=body, check=True)
        return (time.perf_counter() - started) * 1000

    ours(), theirs()
    pairs = [(ours(), theirs()) for _ in range(_ROUNDS)]
    results["web.read_1mb_vs_bare_parse"] = row(
        statistics.median(a for a, _ in pairs), "ms", statistics.median(b for _, b in pairs)
    )
