"""A tool of the library: versions, history, origin and code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message

from alita_tui.console.actions import action, bindings, shown_keys
from alita_tui.console.messages import CopyAsked
from alita_tui.console.review.code import code_rows
from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.key_line import KeyLine
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import BLANK, Row, Sheet, fact, heading
from alita_tui.events import Lineage, MoveKind, ToolRecord
from alita_tui.spine.grants import phrases
from alita_tui.spine.servers import shown as code_shown
from alita_tui.spine.text import counted, one_line, reveal
from alita_tui.view.statistics import dollars

_TONES = {"trusted": "good", "provisional": "", "stale": "warn", "quarantined": "bad", "revoked": "bad"}
_MOVES: tuple[MoveKind | Literal["undo"], ...] = (
    "rollback", "archive", "quarantine", "revoke", "restore", "pin", "undo",
)  # fmt: skip


class ToolScreen(Dialog[None]):
    """Shows a tool's versions first, its code last. Each change is one key, and `undo` reverts it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("tool")
    CSS_PATH: ClassVar[Stylesheets] = ["../widgets/dialog.tcss", "tool.tcss"]

    @dataclass
    class MoveAsked(Message):
        """Change the state of a version."""

        name: str
        version: int
        kind: MoveKind | Literal["undo"]

    def __init__(
        self, lineage: Lineage, *, version: int | None = None, problem: str = "", may_move: bool = True
    ) -> None:
        """Show one version, by default the current one. `problem` is why that cannot run.

        Without `may_move` the library is only looked at.
        """
        super().__init__()
        self._lineage = lineage
        self._problem = problem
        self._may_move = may_move
        self._version = version or lineage.current or lineage.versions[-1].version

    @property
    def record(self) -> ToolRecord:
        """The version on screen."""
        versions = self._lineage.versions
        return next((version for version in versions if version.version == self._version), versions[-1])

    def compose(self) -> ComposeResult:
        """Head, sheet and keys."""
        with Vertical(id="box"):
            yield Plain(id="head")
            yield Sheet(id="sheet")
            yield KeyLine(id="keys")

    def on_mount(self) -> None:
        """Draw, and focus the sheet."""
        self._draw()
        self.query_one(Sheet).focus()

    def show(self, lineage: Lineage, problem: str = "") -> None:
        """Show the changed lineage, at the same version."""
        self._lineage, self._problem = lineage, problem
        self._draw()

    def action_version(self, direction: int) -> None:
        """Show the previous or next version."""
        numbers = [version.version for version in self._lineage.versions]
        index = numbers.index(self.record.version) + direction
        if 0 <= index < len(numbers):
            self._version, self._problem = numbers[index], ""
            self._draw()

    def action_move(self, kind: MoveKind | Literal["undo"]) -> None:
        """Ask the app to change the state of the version on screen."""
        if not self._may_move:
            return
        if kind == "pin" and self._lineage.pinned == self.record.version:
            kind = "unpin"
        self.post_message(self.MoveAsked(self._lineage.name, self.record.version, kind))

    def action_yank(self) -> None:
        """Copy the code."""
        self.post_message(CopyAsked(self.record.draft.code))

    def _draw(self) -> None:
        record, lineage = self.record, self._lineage
        state = ("pinned " if lineage.pinned == record.version else "") + record.state
        self.query_one("#head", Plain).update(
            Content.assemble(
                (f"TOOL · {one_line(lineage.name)} v{record.version}", "bold $alita-approval"),
                (
                    f"  {state}",
                    f"${'alita-' + tone if (tone := _TONES.get(record.state, '')) else 'foreground'}",
                ),
                (f"\n{one_line(record.draft.description, 300)}", "$foreground"),
            )
        )
        self.query_one(Sheet).show(_rows(lineage, record, self._problem))
        keys = shown_keys(self)
        parts = [
            Content.assemble((keys.get(f"move('{kind}')", ""), "bold $alita-approval"), f" {_label(kind)}")
            for kind in (_MOVES if self._may_move else ())
        ]
        either = f"{keys.get('version(-1)', '')} {keys.get('version(1)', '')}"
        for shown, label in (
            (either, "versions"),
            (keys.get("yank", ""), "copy"),
            (keys.get("back", ""), "back"),
            (shown_keys(self.app).get("help", ""), "all keys"),
        ):
            parts.append(Content.assemble((shown, "bold"), f" {label}"))
        self.query_one("#keys", KeyLine).show(parts)


def _label(kind: MoveKind | Literal["undo"]) -> str:
    return action(f"tool.{kind}").label.lower()


def _rows(lineage: Lineage, record: ToolRecord, problem: str) -> list[Row]:
    rows = [Row(((reveal(problem), "bad"),), (("▲ ", "bad"),))] if problem else []
    rows += heading("Versions", "the newest first")
    rows += [
        _version(lineage, version, on_screen=version is record) for version in reversed(lineage.versions)
    ]
    if lineage.spent_usd:
        spent = sum(lineage.spent_usd.values())
        text = f"{dollars(spent)} to build"
        if lineage.saved_usd:
            text += f"; built anew for each run it would have been {dollars(lineage.saved_usd)} more"
        rows.append(fact("money", text))
    if lineage.aliases:
        rows.append(fact("also called", one_line(", ".join(lineage.aliases), 600)))
    rows += [BLANK, *heading(f"v{record.version}")]
    if trust := lineage.reliability.get(record.version):
        rows.append(fact("relied on", one_line(trust.words, 300)))
        rows += [fact("needs", one_line(trust.needs, 300))] if trust.needs else []
    rows += _facts(record)
    rows += [fact("calls", one_line(", ".join(lineage.calls), 600))] if lineage.calls else []
    rows += [fact("called by", one_line("; ".join(lineage.called_by), 600))] if lineage.called_by else []
    if lineage.moves:
        rows += [BLANK, *heading("What was done", "the newest first")]
    for move in reversed(lineage.moves):
        because = f": {one_line(move.reason)}" if move.reason else ""
        back = "  taken back" if move.undone else ""
        name = f" {one_line(move.before or move.after)}" if move.kind in ("alias", "unalias") else ""
        body = ((f"{move.kind}{name} v{move.version} by {one_line(move.by)}{because}", ""), (back, "muted"))
        rows.append(fact(move.at[:16].replace("T", " "), body, width=20))
    rows += [BLANK, *heading("Code")]
    rows += code_rows(code_shown(record), sources=False)
    return [*rows, BLANK, *heading("Tests"), *code_rows(record.draft.tests, sources=False)]


def _version(lineage: Lineage, version: ToolRecord, *, on_screen: bool) -> Row:
    runs = counted(version.runs, "run") + (f", {version.failures} failed" if version.failures else "")
    parts = [runs, version.created_at[:10]]
    parts += [f"from v{version.parent_version}"] if version.parent_version else []
    parts += [dollars(lineage.spent_usd[version.version])] if version.version in lineage.spent_usd else []
    current = "● runs " if version.version == lineage.current else "       "
    states: dict[int, str] = {one.version: one.state for one in lineage.versions}
    if lineage.pinned in states:
        states[lineage.pinned] += " pinned"
    room = max(map(len, states.values()))
    return Row(
        (
            (f"v{version.version:<3} ", "strong" if on_screen else ""),
            (f"{states[version.version]:<{room}}  ", _TONES.get(version.state, "muted")),
            (" · ".join(parts), "muted"),
        ),
        (("▸ " if on_screen else "  ", "heading"), (current, "good")),
    )


def _facts(record: ToolRecord) -> list[Row]:
    draft = record.draft
    rows = [
        fact("digest", f"sha256:{record.digest}"),
        fact(
            "approved",
            f"{one_line(record.approval_id)} on {one_line(record.created_at)[:16].replace('T', ' ')}",
        ),
        fact("runs", f"{record.runs}, {record.failures} failed"),
        fact("may use", one_line("; ".join(phrases(record.granted)), 600) or "nothing but its arguments"),
    ]
    withheld = [item for item in draft.capabilities.items if item not in record.granted.items]
    rows += [fact("withheld", one_line(", ".join(withheld), 400))] if withheld else []
    takes = ", ".join(one_line(name) for name in draft.input_schema.get("properties", {}))
    rows.append(fact("takes", takes or "nothing"))
    if packages := record.lock.packages:
        rows.append(
            fact("packages", ", ".join(f"{one_line(p.name)} {one_line(p.version)}" for p in packages))
        )
    rows += [
        fact("source", one_line(source.title if source.url.startswith("pack:") else source.url))
        for source in record.sources
    ]
    tests = draft.tests.count("\ndef test_") + draft.tests.startswith("def test_")
    return [*rows, fact("tests", f"{tests}, below the code")]
