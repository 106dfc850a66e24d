"""The statistics: figures, charts over the days, a sortable table, what stands out and what would help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from alita_tui.console.actions import bindings, key_of
from alita_tui.console.messages import CopyAsked, ReplayAsked, ToolAsked
from alita_tui.console.statistics import drawing
from alita_tui.console.statistics.ports import StatisticsCatalog
from alita_tui.console.widgets.choice_list import ChoiceList
from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.key_line import KeyLine
from alita_tui.console.widgets.plain import Plain
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports.statistics import Advice, By, Place, Report
from alita_tui.spine.text import counted, one_line
from alita_tui.view import statistics as words

_PERIODS: tuple[int | None, ...] = (7, 30, 90, 365, None)
_TICK = 0.2


class Rows(ChoiceList, inherit_bindings=False):
    """A list whose left and right belong to the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "cursor_up", show=False),
        Binding("down", "cursor_down", show=False),
        Binding("home", "first", show=False),
        Binding("end", "last", show=False),
        Binding("pageup", "page_up", show=False),
        Binding("pagedown", "page_down", show=False),
        Binding("enter", "select", show=False),
    ]


class StatisticsScreen(Dialog[None]):
    """Read once for each period; a row opens the events behind it, and an event opens in a replay."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("statistics")
    CSS_PATH: ClassVar[Stylesheets] = ["../widgets/dialog.tcss", "screen.tcss"]

    @dataclass
    class SettingAsked(Message):
        """Open a setting."""

        key: str

    def __init__(self, catalog: StatisticsCatalog, keys: Mapping[str, str]) -> None:
        super().__init__()
        self._catalog = catalog
        self._keys = keys
        self._days: int | None = 30
        self._by: By = "tool"
        self._sort: drawing.Sort = "count"
        self._report: Report | None = None
        self._problem = ""
        """Why nothing could be read."""
        self._read = (0, 0)
        self._opened: tuple[str, tuple[Place, ...], str] | None = None
        """The row whose events are listed, the events, and the rule or command of the row."""
        self._opened_advice: Advice | None = None
        """The advice whose events are listed."""
        self._places: dict[str, tuple[str, tuple[Place, ...]]] = {}
        """Id of each row -> its name and the events behind it."""
        self._notes: dict[str, str] = {}
        """Id of an anomaly or advice -> its rule or command."""
        self._advice: dict[str, Advice] = {}

    def compose(self) -> ComposeResult:
        """Heading, figures, charts, table, keys."""
        with Vertical(id="box"):
            yield Plain(id="head")
            yield Plain(id="totals")
            yield Plain(id="charts")
            yield Plain(id="columns")
            yield Rows(id="rows")
            yield KeyLine(id="said")

    def on_mount(self) -> None:
        """Read."""
        self.query_one(Rows).focus()
        self._load()

    def on_resize(self) -> None:
        """Draw for the new size."""
        self.call_after_refresh(self._draw)

    @work(name="statistics", group="statistics", exclusive=True, exit_on_error=False)
    async def _load(self) -> None:
        self._report, self._problem = None, ""
        self._read = (0, 0)
        self._draw()
        ticking = self.set_interval(_TICK, self._head)
        try:
            self._report = await self._catalog.statistics(self._days, self._progress)
        except AlitaError as error:
            self._problem = str(error)
        finally:
            ticking.stop()
        self._draw()

    def _progress(self, done: int, total: int) -> None:
        self._read = (done, total)  # from another thread; the next tick shows it

    # --- drawing ----------------------------------------------------------------------------

    def _head(self) -> None:
        report, (done, total) = self._report, self._read
        if self._opened is not None:
            text = f"{self._opened[0]}: {counted(len(self._opened[1]), 'event')} it rests on"
        elif report is None:
            text = f"reading sessions: {done} of {total}" if total else "reading sessions"
            text = "not available" if self._problem else text
        else:
            period = f"{self._days} days, {report.since} to {report.until}" if report.since else "everything"
            text = f"{period}, {counted(report.sessions, 'session')}"
            text += f" · {words.unreadable_words(report)}" if report.unreadable else ""
        self.query_one("#head", Plain).update(
            Content.assemble(("Statistics", "bold $accent"), f"   {one_line(text, 400)}")
        )

    def _draw(self) -> None:
        if not self.is_attached:
            return
        self._head()
        report = self._report
        below = [self.query_one(f"#{name}", Plain) for name in ("totals", "charts", "columns")]
        for part in below:
            part.display = report is not None and self._opened is None
        listed = self.query_one(Rows)
        highlighted = listed.highlighted
        listed.clear_options()
        width = max(self.query_one("#box").size.width - 4, 60)
        if report is None:
            self._keys_line()
            if self._problem:
                self.say(self._problem, bad=True)
            return
        if self._opened is not None:
            below[0].display = bool(self._opened[2])
            below[0].update(Content(f" {one_line(self._opened[2], 400)}"))
            listed.add_options(
                Option(drawing.place_row(place, width), id=f"p{number}")
                for number, place in enumerate(self._opened[1])
            )
            listed.highlighted = 0 if self._opened[1] else None
            self._keys_line()
            return
        height = self.size.height
        below[0].update(drawing.totals(report, width))
        below[1].display = drawing.has_lines(report)
        below[1].update(
            drawing.drawn_charts(
                report, width, *((3, 1) if height < 30 else (3, 2) if height < 45 else (5, 2))
            )
        )
        below[2].update(drawing.table_head(self._by, self._sort, width))
        listed.add_options(self._options(report, width))
        if listed.option_count:
            listed.highlighted = min(highlighted or 0, listed.option_count - 1)
        self._keys_line()

    def _options(self, report: Report, width: int) -> list[Option]:
        self._places, self._advice, self._notes = {}, {}, {}
        options: list[Option] = []
        for number, line in enumerate(drawing.sorted_lines(report, self._by, self._sort)):
            self._places[f"l{number}"] = (line.name, line.places)
            options.append(Option(drawing.table_row(line, width, len(report.days)), id=f"l{number}"))
        if not options:
            options.append(Option(f" {words.NOTHING[self._by]}", disabled=True))
        for title, rows in (
            (
                " What stands out",
                [
                    (anomaly.day, anomaly.places, drawing.anomaly_row(anomaly, width))
                    for anomaly in report.anomalies
                ],
            ),
            (
                " What would help",
                [
                    (advice.tool or "advice", advice.places, drawing.advice_row(advice, width))
                    for advice in report.advice
                ],
            ),
        ):
            if rows:
                options += [Option("", disabled=True), Option(Content.styled(title, "bold"), disabled=True)]
            for number, (name, places, drawn) in enumerate(rows):
                option = f"{title[-4:].strip()}{number}"
                self._places[option] = (name, places)
                if title.endswith("help"):
                    self._advice[option] = report.advice[number]
                    self._notes[option] = report.advice[number].command
                else:
                    self._notes[option] = f"Rule: {report.anomalies[number].rule}."
                options.append(Option(drawn, id=option))
        footer = words.accuracy_words(report.held)
        return [
            *options,
            Option("", disabled=True),
            Option(Content.styled(f" {footer}", "$alita-muted"), disabled=True),
        ]

    def _keys_line(self) -> None:
        line = self.query_one("#said", KeyLine)
        line.remove_class("-bad")
        if self._opened is not None:
            act = (f"{key_of('statistics.act', self._keys)} act",) if self._opened_advice else ()
            line.show([Content(item) for item in ("Enter replay there", *act, "Esc back", self._help)], "   ")
            return
        days = f"{self._days} days" if self._days else "everything"
        by = "/".join(
            key_of(f"statistics.{table}", self._keys) for table in ("tool", "model", "role", "kind", "day")
        )
        items = [
            f"{key_of('statistics.shorter', self._keys)} {key_of('statistics.longer', self._keys)} {days}",
            f"{by} tool, model, role, kind, day",
            f"{key_of('statistics.sort', self._keys)} sort",
            "Enter runs",
            "Esc close",
            f"{key_of('statistics.act', self._keys)} act",
            f"{key_of('statistics.export', self._keys)} CSV",
            self._help,
        ]
        line.show([Content(item) for item in items], "   ")

    @property
    def _help(self) -> str:
        return f"{key_of('app.help', self._keys)} all keys"

    # --- keys -------------------------------------------------------------------------------

    def action_period(self, step: int) -> None:
        """Show a shorter or longer period."""
        index = _PERIODS.index(self._days) + step
        if 0 <= index < len(_PERIODS) and self._opened is None:
            self._days = _PERIODS[index]
            self._load()

    def action_by(self, by: By) -> None:
        """Show another table."""
        if self._opened is None:
            self._by = by
            self._draw()

    def action_sort(self) -> None:
        """Sort by the next column."""
        if self._opened is None:
            self._sort = drawing.SORTS[(drawing.SORTS.index(self._sort) + 1) % len(drawing.SORTS)]
            self._draw()

    def action_back(self) -> None:
        """Close the events of a row, then the screen."""
        if self._opened is None:
            self.dismiss(None)
            return
        self._opened = None
        self._draw()

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        """Show the events behind a row, or one of these events in a replay."""
        chosen = event.option.id or ""
        if self._opened is not None:
            place = self._opened[1][event.option_index]
            self.post_message(ReplayAsked(place.session_id, place.seq or None))
            return
        name, places = self._places.get(chosen, ("", ()))
        if places:
            self._opened = (name, places, self._notes.get(chosen, ""))
            self._opened_advice = self._advice.get(chosen)
            self._draw()
        elif name:
            self.say("No single events are kept for this row: choose another table.")

    def action_act(self) -> None:
        """Act on the advice that is open, else on the one at the cursor, else on the first."""
        chosen = self.query_one(Rows).chosen_id
        advice = self._advice.get(chosen) or next(iter(self._advice.values()), None)
        if self._opened is not None:
            advice = self._opened_advice
        if advice is None:
            self.say("There is nothing to act on.")
        elif advice.tool:
            self.post_message(ToolAsked(advice.tool))
        elif advice.setting:
            self.post_message(self.SettingAsked(advice.setting))
        else:
            self.post_message(CopyAsked(advice.command))
            self.say(f"Copied: {advice.command}")

    @work(name="export", group="statistics", exit_on_error=False)
    async def action_export(self) -> None:
        """Write the table as CSV."""
        if self._report is None:
            return
        try:
            path = await self._catalog.export_statistics(self._report, self._by)
        except AlitaError as error:
            self.say(str(error), bad=True)
            return
        self.say(f"Written: {path}")
