"""One tool of the library, whole: what it is, where it comes from, its code."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen

from alita_tui.console.actions import bindings
from alita_tui.console.widgets.code import code_rows
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import Row, Sheet, fact
from alita_tui.spine.grants import phrases
from alita_tui.spine.text import one_line
from alita_tui.spine.values import ToolRecord


class ToolScreen(ModalScreen[None]):
    """A sheet with the facts first and the code after them."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("tool")
    CSS = """
    ToolScreen { align: center middle; background: $background 60%; }
    #box { width: 92%; max-width: 120; height: 88%; background: $surface; border: round $alita-line; padding: 0 1; }
    #box Plain { height: 1; padding: 0 1; color: $alita-muted; }
    #box Sheet { background: $surface; margin: 1 0 0 0; padding: 0 1; }
    """

    class VersionAsked(Message):
        """Another version is to be shown."""

        def __init__(self, name: str, version: int) -> None:
            super().__init__()
            self.name = name
            self.version = version

    class CopyAsked(Message):
        """The code is to be copied."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, record: ToolRecord) -> None:
        super().__init__()
        self._record = record

    def compose(self) -> ComposeResult:
        """The sheet."""
        with Vertical(id="box"):
            yield Plain(
                Content.assemble(
                    ("Tool", "bold $accent"), "   [ ] other versions · y copies the code · Esc goes back"
                )
            )
            yield Sheet(_rows(self._record), id="sheet")

    def on_mount(self) -> None:
        """Scroll with the keys at once."""
        self.query_one(Sheet).focus()

    def show(self, record: ToolRecord) -> None:
        """Show another version."""
        self._record = record
        self.query_one(Sheet).show(_rows(record))

    def action_back(self) -> None:
        """Back to the session."""
        self.dismiss()

    def action_version(self, direction: int) -> None:
        """The version before or after."""
        wanted = self._record.version + direction
        if wanted >= 1:
            self.post_message(self.VersionAsked(self._record.draft.name, wanted))

    def action_yank(self) -> None:
        """Copy the code."""
        self.post_message(self.CopyAsked(self._record.draft.code))


def _rows(record: ToolRecord) -> list[Row]:
    draft = record.draft
    asked = draft.capabilities
    rows = [
        Row(((f"{one_line(draft.name)} v{record.version}", "strong"), (f"   {record.state}", "wait"))),
        Row(((one_line(draft.description, 400), ""),)),
        Row(),
        fact("digest", f"sha256:{record.digest}"),
        fact("approved", f"{one_line(record.approval_id)} on {one_line(record.created_at)[:19]}"),
        fact("runs", f"{record.runs}, {record.failures} failed"),
        fact("may use", one_line("; ".join(phrases(asked)), 600) or "nothing but its arguments"),
        fact(
            "takes",
            ", ".join(one_line(name) for name in draft.input_schema.get("properties", {})) or "nothing",
        ),
    ]
    if record.lock.packages:
        rows.append(
            fact(
                "needs", ", ".join(f"{one_line(p.name)} {one_line(p.version)}" for p in record.lock.packages)
            )
        )
    rows += [fact("source", one_line(source.url)) for source in record.sources]
    rows += [Row(), Row((("Code", "heading"),))]
    rows += code_rows(draft.code, sources=False)
    rows += [Row(), Row((("Tests", "heading"),)), *code_rows(draft.tests, sources=False)]
    return rows
