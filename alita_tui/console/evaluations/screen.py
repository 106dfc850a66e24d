"""Runs of suites: the list, and one run case by case, drawn again while it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from alita_tui.console.actions import bindings, key_of
from alita_tui.console.evaluations import drawing
from alita_tui.console.evaluations.ports import CaseLine, EvaluationsCatalog, RunLine, RunSheet
from alita_tui.console.messages import CopyAsked
from alita_tui.console.widgets.choice_list import ChoiceList
from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.key_line import KeyLine
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.styled_text import at_words
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports.stream import Clock
from alita_tui.spine.text import counted, one_line

_TICK = 1.0
"""Seconds between two reads of what is shown."""


class EvaluationsScreen(Dialog[None]):
    """The list of runs; a run opens to its cases, and a case to a replay."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("evaluations")
    CSS_PATH: ClassVar[Stylesheets] = ["../widgets/dialog.tcss", "screen.tcss"]

    @dataclass
    class CaseAsked(Message):
        """Replay a case."""

        case: CaseLine

    def __init__(
        self, catalog: EvaluationsCatalog, keys: Mapping[str, str], clock: Clock, *, may_begin: bool
    ) -> None:
        """`may_begin`: runs can be begun from here; False in a replay."""
        super().__init__()
        self._catalog = catalog
        self._keys = keys
        self._clock = clock
        self._may_begin = may_begin
        self._runs: tuple[RunLine, ...] | None = None
        self._opened = ""
        """The run whose cases are listed."""
        self._sheet: RunSheet | None = None
        self._shown_message = ""
        """The message shown in place of the keys, until the cursor moves."""

    def compose(self) -> ComposeResult:
        """Heading, what the run is, columns, rows, an input line, keys."""
        with Vertical(id="box"):
            yield Plain(id="head")
            yield Plain(id="about")
            yield Plain(id="columns")
            yield ChoiceList(id="rows")
            yield Plain(id="why")
            yield Input(id="line", placeholder="SUITE, and options as of `alita eval run`; Esc leaves it")
            yield KeyLine(id="said")

    def on_mount(self) -> None:
        """Read, and read again from time to time."""
        self.query_one(ChoiceList).focus()
        self._draw()
        self._load()
        self.set_interval(_TICK, self._again)

    def on_resize(self) -> None:
        """Draw for the new size."""
        self.call_after_refresh(self._draw)

    def _again(self) -> None:
        if not any(worker.group == "evaluations" and worker.is_running for worker in self.workers):
            self._load()

    @work(name="evaluations", group="evaluations", exclusive=True, exit_on_error=False)
    async def _load(self) -> None:
        opened = self._opened
        try:
            if opened:
                sheet = await self._catalog.evaluation(opened)
                changed = sheet != self._sheet
                self._sheet = sheet if opened == self._opened else self._sheet
            else:
                runs = await self._catalog.evaluations()
                changed = runs != self._runs
                self._runs = runs
        except AlitaError as error:
            self.say(str(error), bad=True)
            return
        if changed and opened == self._opened:
            self._draw()

    # --- drawing ----------------------------------------------------------------------------

    def _draw(self) -> None:
        if not self.is_attached:
            return
        width = max(self.query_one("#box").size.width - 4, 60)
        listed, chosen = self.query_one(ChoiceList), self.query_one(ChoiceList).chosen_id
        head, about, columns = (self.query_one(f"#{name}", Plain) for name in ("head", "about", "columns"))
        about.display = bool(self._opened)
        if self._opened:
            options = self._draw_cases(head, about, columns, width)
        else:
            options = self._draw_runs(head, columns, width)
        listed.clear_options()
        listed.add_options(options)
        ids = [option.id for option in options if not option.disabled]
        listed.highlighted = ids.index(chosen) if chosen in ids else (0 if ids else None)
        self._why()
        if not self._shown_message:
            self._keys_line()

    def _why(self) -> None:
        """Show the full result of the case at the cursor; its row may cut it."""
        case, why = self._case, self.query_one("#why", Plain)
        why.display = bool(case and case.why)
        lines: list[str] = [one_line(case.why, 600)] if case else []
        if case and case.state == "waiting" and case.command:
            lines.append(f"{one_line(case.command, 600)}   ({self._key('copy')} copies it)")
        why.update(Content("\n").join(Content(line) for line in lines))

    def _draw_runs(self, head: Plain, columns: Plain, width: int) -> list[Option]:
        runs = self._runs
        text = "reading" if runs is None else counted(len(runs), "run")
        head.update(Content.assemble(("Evaluations", "bold $accent"), f"   {text}"))
        columns.update(drawing.run_head(width))
        if not runs:
            message = "" if runs is None else " No run yet. Make a suite: alita eval new FOLDER"
            return [Option(message, disabled=True)]
        now = self._clock()
        return [Option(drawing.run_row(run, width, now), id=run.run) for run in runs]

    def _draw_cases(self, head: Plain, about: Plain, columns: Plain, width: int) -> list[Option]:
        sheet = self._sheet
        text = f"{self._opened}   " + (f"{sheet.line.state}, {drawing.totals(sheet)}" if sheet else "reading")
        title = "Evaluation"
        shown = at_words(one_line(text, 300), width - len(title) - 3)
        head.update(Content.assemble((title, "bold $accent"), f"   {shown}"))
        if sheet is None:
            about.update("")
            columns.update("")
            return []
        lines = [drawing.about(sheet), *sheet.judges]
        about.update(Content("\n").join(Content(one_line(line, 300)) for line in lines))
        columns.update(drawing.case_head(sheet, width))
        return [
            Option(drawing.case_row(case, sheet, width), id=f"case{number}")
            for number, case in enumerate(sheet.cases)
        ]

    def _keys_line(self) -> None:
        key_line = self.query_one("#said", KeyLine)
        key_line.remove_class("-bad")
        if self._opened:
            words = ["Enter replay where it went wrong", f"{self._key('failure')} next failure"]
            words += [f"{self._key('copy')} copy its command", "Esc back"]
        else:
            words = ["Enter open", "Esc close"]
            words += [f"{self._key('begin')} new run"] if self._may_begin else []
        if self._may_begin and (line := self._line) is not None and line.state in ("stopped", "waiting"):
            words.append(f"{self._key('go_on')} go on with the run")
        words.append(f"{key_of('app.help', self._keys)} all keys")
        key_line.show([Content(word) for word in words], "   ")

    def _key(self, name: str) -> str:
        return key_of(f"evaluations.{name}", self._keys)

    def say(self, text: str, *, bad: bool = False) -> None:
        """Show a message in place of the keys, until the cursor moves."""
        super().say(text, bad=bad)
        self._shown_message = text

    @property
    def _line(self) -> RunLine | None:
        """Return the run that is open, or the one at the cursor."""
        if self._opened:
            return self._sheet.line if self._sheet else None
        return next(
            (run for run in self._runs or () if run.run == self.query_one(ChoiceList).chosen_id), None
        )

    @property
    def _case(self) -> CaseLine | None:
        chosen = self.query_one(ChoiceList).chosen_id
        return (
            self._sheet.cases[int(chosen[4:])]
            if self._sheet and chosen.startswith("case") and self._opened
            else None
        )

    # --- keys -------------------------------------------------------------------------------

    @on(OptionList.OptionHighlighted)
    def _moved(self) -> None:
        self._shown_message = ""
        self._why()
        self._keys_line()

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        """Open a run, or the session of a case."""
        if not self._opened:
            self._opened, self._sheet = event.option.id or "", None
            self._draw()
            self._load()
        elif (case := self._case) is not None and case.session_id:
            self.post_message(self.CaseAsked(case))
        else:
            self.say("This case has no session yet.")

    def action_back(self) -> None:
        """Close the input line, then the run, then the screen."""
        if self.query_one("#box").has_class("-asking"):
            self._close_line()
        elif self._opened:
            self._opened, self._sheet, self._shown_message = "", None, ""
            self._draw()
            self._load()
        else:
            self.dismiss(None)

    def action_failure(self) -> None:
        """Go to the next case that was not solved."""
        if self._sheet is None:
            return
        failed = [number for number, case in enumerate(self._sheet.cases) if case.state == "failed"]
        highlighted = self.query_one(ChoiceList).highlighted or 0
        if failed:
            self.query_one(ChoiceList).highlighted = next(
                (number for number in failed if number > highlighted), failed[0]
            )
        else:
            self.say("No case failed.")

    def action_copy(self) -> None:
        """Copy the command that replays the case, or shows the build that waits in it."""
        if (case := self._case) is not None and case.command:
            self.post_message(CopyAsked(case.command))
            self.say(f"Copied: {case.command}")
        else:
            self.say("There is no command for it.")

    def action_begin(self) -> None:
        """Ask which suite to run, and how."""
        if self._may_begin:
            self.query_one("#box").add_class("-asking")
            self.query_one("#line", Input).focus()
        else:
            self.say("A replay runs nothing.")

    @on(Input.Submitted, "#line")
    def _answered(self, event: Input.Submitted) -> None:
        words = event.value.strip()
        self._close_line()
        if words:
            self._begin(words)

    def _close_line(self) -> None:
        line = self.query_one("#line", Input)
        line.value = ""
        self.query_one("#box").remove_class("-asking")
        self.query_one(ChoiceList).focus()

    def action_go_on(self) -> None:
        """Go on with a run that ended early."""
        line = self._line
        if not self._may_begin:
            self.say("A replay runs nothing.")
        elif line is not None and line.state in ("stopped", "waiting"):
            self._begin(f"--resume {line.run}")
        else:
            self.say(
                "It is going on."
                if line is not None and line.state == "running"
                else "There is nothing left of it."
            )

    @work(name="begin", group="begin", exit_on_error=False)
    async def _begin(self, words: str) -> None:
        self.say("Starting …")
        try:
            run = await self._catalog.begin_evaluation(words)
        except AlitaError as error:
            self.say(str(error), bad=True)
            return
        self.say(f"{run} runs in a process of its own: it goes on when you leave.")
        self._load()
