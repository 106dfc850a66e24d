"""One HTML file that plays a session. It loads nothing and sends nothing; only the player runs in it."""

from __future__ import annotations

import html
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.resources import files

import msgspec

from alita_tui.events import ToolCard
from alita_tui.replay.export_facts import Facts
from alita_tui.replay.recording import seconds_of
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.text import one_line
from alita_tui.state.spend import Spend
from alita_tui.view.fold import fold
from alita_tui.view.model import SandboxRun, SessionView
from alita_tui.view.queries import mark
from alita_tui.view.spend import total_of
from alita_tui.view.trace import rows_for

_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_TAIL = 4000
"""Characters of a run's output that the sandbox pane shows; the trace has all of it."""


def player(envelopes: Sequence[Envelope], facts: Facts) -> str:
    """Return the page. Its policy (CSP level 3) allows only the player's own script and style, by hash."""
    page = files("alita_tui.replay").joinpath("player.html").read_text("utf-8")
    data = {
        "title": facts.title,
        "facts": " · ".join(f"{label} {value}" for label, value in facts.lines),
        "redacted": facts.note,
        "frames": list(_frames(envelopes)),
    }
    parts = {
        "__POLICY__": f"default-src 'none'; script-src '{_hash(_SCRIPT, page)}'; "
        f"style-src '{_hash(_STYLE, page)}'; base-uri 'none'; form-action 'none'",
        "__TITLE__": html.escape(f"{facts.title} — alita"),
        "__DATA__": _embedded(data),
    }
    return re.sub("|".join(parts), lambda match: parts[match[0]], page)


def _hash(pattern: re.Pattern[str], page: str) -> str:
    match = pattern.search(page)
    assert match is not None
    return f"sha256-{b64encode(sha256(match[1].encode()).digest()).decode()}"


def _embedded(data: object) -> str:
    """Return JSON that no HTML parser can mistake for markup."""
    text = msgspec.json.encode(data).decode()
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _frames(envelopes: Sequence[Envelope]) -> Iterator[dict[str, object]]:
    """Return what each event adds; a pane is named if it changed."""
    view = SessionView()
    for at, envelope in zip(seconds_of(envelopes), envelopes, strict=True):
        previous, view = view, fold(view, envelope)
        frame: dict[str, object] = {"at": round(at, 3), "step": envelope.step}
        if (kind := mark(envelope)) is not None:
            frame["mark"] = kind
        if rows := rows_for(envelope):
            frame["rows"] = [
                {
                    "kind": row.kind,
                    "title": row.title,
                    "detail": row.detail,
                    "meta": row.meta,
                    "tone": row.tone,
                }
                for row in rows
            ]
        if view.phase != previous.phase:
            frame["phase"] = view.phase
        if view.spend != previous.spend:
            frame["spend"] = _spend(view.spend)
        if view.plan != previous.plan:
            frame["plan"] = view.plan
        if view.library != previous.library:
            frame["library"] = [_tool(card) for card in view.library]
        if view.runs and view.runs != previous.runs:
            frame["run"] = _run(view.runs[-1])
        yield frame


def _spend(spend: Spend) -> str:
    return f"${spend.total_usd:.4f} · tokens {total_of(spend)}"


def _tool(card: ToolCard) -> dict[str, object]:
    return {"name": one_line(card.name), "version": card.version, "state": card.state, "runs": card.runs}


def _run(run: SandboxRun) -> dict[str, object]:
    cases = [f"{'pass' if passed else 'FAIL'} {name}" for name, passed in run.cases]
    output = "\n".join((*cases, run.stdout, run.stderr)).strip()
    return {"title": run.title, "status": run.status, "text": output[-_TAIL:]}
