"""Evidence and code of a build: side by side, stacked, or one part at a time."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Container

from alita_tui.console.actions import shown_keys
from alita_tui.console.review.code import MARK, Base, CodeView
from alita_tui.console.review.evidence import PARTS, Evidence, Part
from alita_tui.console.review.glance import LEVELS
from alita_tui.console.review.head import PartTabs, Tab
from alita_tui.console.widgets.styled_text import Piece
from alita_tui.events import SandboxStatus
from alita_tui.state.build import Attempt, BuildState
from alita_tui.view.habits import Habits
from alita_tui.view.risk import risks

BESIDE = 130
"""Width from which evidence and code are side by side."""
_CODE_LINES, _FEW_CODE_LINES, _LOW = 10, 8, 28
"""Least lines of the code below the evidence, with its border; the same on a low screen; lines of a low screen."""
_STRIP_LINES, _LEAST_STRIP_LINES, _STRIP_FROM = 5, 3, 22
"""Lines of code below the answers where one part is shown at a time, if there is room; at least; from which height."""
_TAB_PARTS: dict[Tab, tuple[Part, ...]] = {
    "Risk": ("glance", "risk", "capabilities", "requirements", "review", "grant"),
    "Code": (),
    "Why": ("why", "contract"),
    "Tests": ("tests",),
    "Sandbox": ("sandbox",),
}


class BuildPanes(Container):
    """Shows everything known about a build."""

    DEFAULT_CSS = """
    BuildPanes {
        height: 1fr;
        PartTabs { display: none; }
        #panes { height: 1fr; }
        #evidence { height: 9fr; padding: 0 1; }
        #code { height: 11fr; border-top: solid $alita-line; border-title-color: $alita-muted; padding: 0 1 0 0; }
        #code:focus { border-top: solid $alita-approval; border-title-color: $alita-approval; }
        &.-beside #panes { layout: horizontal; }
        &.-beside #evidence { width: 5fr; height: 100%; }
        &.-beside #code { width: 6fr; height: 100%; border-left: solid $alita-line; border-top: none; }
        &.-beside #code:focus { border-left: solid $alita-approval; border-top: none; }
        &.-single PartTabs { display: block; }
        &.-single #evidence { height: 1fr; }
        &.-single #code, &.-single #code:focus { border-top: none; height: 1fr; }
        &.-single.-on-code #evidence { display: none; }
        &.-single.-on-evidence #code { display: none; }
        &.-single.-with-code #code { display: block; border-top: solid $alita-line; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        # Kept here: a callback after a refresh may come when the review is closed and they are removed.
        self.code = CodeView(id="code")
        self.evidence = Evidence(id="evidence")
        self._both = Container(self.evidence, self.code, id="panes")
        self._shown: tuple[BuildState, Attempt, SandboxStatus | None] | None = None
        self._tab: Tab = "Risk"
        self._divisions = 0
        """How often the height is yet to be divided."""

    def compose(self) -> ComposeResult:
        """Tabs, evidence, code."""
        yield PartTabs()
        yield self._both

    def present(
        self, build: BuildState, attempt: Attempt, status: SandboxStatus | None, bases: Sequence[Base]
    ) -> None:
        """Show a build, none of it read yet."""
        self._shown = (build, attempt, status)
        self.evidence.whole_log = False
        self.evidence.log_key = shown_keys(self.screen).get("log", "")
        self.evidence.brief = 0
        self.evidence.withheld = frozenset()
        self.code.load(attempt.draft.code, bases, marks_of(build, attempt))
        if build.parent is not None:
            self.code.cycle()  # of a new version show the changes first
        self.code.open_at(worst_line(build, attempt))
        self._name_code()
        self._draw_evidence()
        self.show_tab(self._tab)

    def fit(self, width: int, *, single: bool) -> None:
        """Choose the layout for a width; `single` shows one part at a time."""
        was_single = self.has_class("-single")
        self.set_class(single, "-single")
        self.set_class(not single and width >= BESIDE, "-beside")
        if was_single != single:
            self._draw_evidence()
            self._name_code()
        else:
            self._divide_soon()
        self.show_tab(self._tab)

    def focus_sheet(self) -> None:
        """Focus the code or the open part."""
        on_evidence = self.has_class("-single") and self._tab != "Code"
        (self.evidence if on_evidence else self.code).focus()

    def cycle_diff(self) -> bool:
        """Switch code → diff → code; return False if there is nothing to compare with."""
        self.show_tab("Code")
        changed = self.code.cycle()
        self._name_code()
        return changed

    def next_finding(self) -> int:
        """Show the next line of the code that a finding is about; return its number, 0 for none."""
        self.show_tab("Code")
        line = self.code.next_finding()
        self._name_code()
        return line

    def toggle_split(self) -> None:
        """Switch between unified and side-by-side diff."""
        self.code.toggle_split()
        self._name_code()

    def remind(self, habits: Habits) -> None:
        """Show how the person has been deciding."""
        self.evidence.habits = habits
        self._draw_evidence()
        self.show_tab(self._tab)

    def withhold(self, items: frozenset[str]) -> None:
        """Show what an approval without these capabilities means."""
        self.evidence.withheld = items
        self._draw_evidence()
        self.show_tab(self._tab)

    def toggle_log(self) -> None:
        """Show or hide the whole test log and the tests."""
        self.evidence.whole_log = not self.evidence.whole_log
        self._tab = "Tests"
        self._draw_evidence()
        self.show_tab("Tests")
        self.evidence.go_to("tests")
        self.evidence.focus()

    def close_log(self) -> bool:
        """Hide the whole log; return False if it was not open."""
        was_open = self.evidence.whole_log
        if was_open:
            self.evidence.whole_log = False
            self._tab = "Code"
            self._draw_evidence()
            self.show_tab("Code")
            self.code.focus()
        return was_open

    def turn_tab(self, by: int) -> None:
        """Turn to the previous or next part if one is shown at a time; else to the other pane."""
        if self.has_class("-single"):
            tabs = list(_TAB_PARTS)
            self.show_tab(tabs[(tabs.index(self._tab) + by) % len(tabs)])
        else:
            (self.evidence if self.code.has_focus else self.code).focus()

    def show_tab(self, tab: Tab) -> None:
        """Open a part."""
        changed, self._tab = tab != self._tab, tab
        shown = self._shown
        marks: dict[Tab, str] = {}
        if shown:
            marks = {"Tests": "" if shown[1].passed else "✖", "Risk": "▲" if self.evidence.serious else ""}
        self.query_one(PartTabs).mark(tab, marks)
        self.set_class(tab == "Code", "-on-code")
        self.set_class(tab != "Code", "-on-evidence")
        self.set_class(tab == "Risk" and self.app.size.height >= _STRIP_FROM, "-with-code")
        if changed and self.has_class("-single"):
            self._draw_evidence()
            self.focus_sheet()

    @on(PartTabs.Chosen)
    def _tab_chosen(self, message: PartTabs.Chosen) -> None:
        message.stop()
        self.show_tab(message.tab)

    @on(Evidence.LineAsked)
    def _line_asked(self, message: Evidence.LineAsked) -> None:
        message.stop()
        self.show_tab("Code")
        self.call_after_refresh(self._go_to, message.line)  # once the code is laid out

    def _go_to(self, line: int) -> None:
        self.code.go_to_line(line)
        self._name_code()

    def _draw_evidence(self) -> None:
        if self._shown:
            self._fill_evidence()
            self._divide_soon()

    def _fill_evidence(self) -> None:
        if self._shown:
            single = self.has_class("-single")
            self.evidence.present(*self._shown, (_TAB_PARTS[self._tab] or PARTS) if single else PARTS)

    def on_resize(self) -> None:
        """Divide the height between evidence and code again."""
        if self.evidence.brief:
            self.evidence.brief = 0
            self._draw_evidence()
        self._divide_soon()

    def _divide_soon(self) -> None:
        self._divisions += 1
        self.code.record_seen(records=False)
        self.call_after_refresh(self._divide_height)

    def _divide_height(self) -> None:
        """Fit the evidence above the code to its first part, as far as the code keeps enough lines."""
        self._divisions -= 1
        evidence, height = self.evidence, self._both.size.height
        alone = self.has_class("-single") and not self.has_class("-with-code")
        if alone or self.has_class("-beside") or not evidence.lead:
            evidence.styles.height = None
        else:
            single = self.has_class("-single")
            least = _STRIP_LINES if single else _FEW_CODE_LINES if height < _LOW else _CODE_LINES
            room = height - least
            for level in LEVELS[evidence.brief :]:
                if evidence.lead > room:
                    evidence.brief = level
                    self._fill_evidence()
            if evidence.lead > room:
                evidence.styles.height = min(evidence.lead, height - _LEAST_STRIP_LINES if single else room)
            else:
                evidence.styles.height = min(evidence.lead + 1, room)  # with the blank line, if there is room
        self.call_after_refresh(self._settle)

    def _settle(self, attempts: int = 10) -> None:
        """Go to the code's worst line once the heights are as they were set; what is on screen then counts as seen."""
        height = self.evidence.styles.height
        if attempts and height is not None and self.evidence.outer_size.height != height.value:
            self.call_after_refresh(self._settle, attempts - 1)
            return
        self.code.reach()
        self.call_after_refresh(self._record)

    def _record(self) -> None:
        if not self._divisions:
            self.code.record_seen(records=True)

    def _name_code(self) -> None:
        code = self.code
        code.border_title = f"diff from {code.base.label}" if code.base else f"code, {code.lines} lines"
        if self.has_class("-single") and (key := shown_keys(self.screen).get("tab(1)")):
            code.border_title += f" · {key} shows more of it"


def marks_of(build: BuildState, attempt: Attempt) -> dict[int, Piece]:
    """Return the mark beside each line of the code that a finding or a risk is about."""
    marks = {
        finding.line: "warn" for finding in attempt.findings if finding.line and finding.severity != "info"
    }
    marks |= {line: "warn" for line in lines_that_reach(attempt)}
    marks |= {
        risk.line: "bad" if risk.serious else "warn" for risk in reversed(risks(build, attempt)) if risk.line
    }
    return {line: (MARK, style) for line, style in marks.items()}


def lines_that_reach(attempt: Attempt) -> list[int]:
    """Return the lines of the code that first use what the draft asks for, or reaches for without asking."""
    rows = [row for gate in attempt.gates if gate.gate == "capabilities" for row in gate.rows]
    return [row.line for row in sorted(rows, key=lambda row: row.tone != "bad") if row.line]


def worst_line(build: BuildState, attempt: Attempt) -> int:
    """Return the line of the most serious risk, else where it reaches out, else of the worst finding; 0 for none."""
    lines = [risk.line for risk in risks(build, attempt) if risk.line] + lines_that_reach(attempt)
    for severity in ("high", "medium", "low"):
        lines += [
            finding.line for finding in attempt.findings if finding.line and finding.severity == severity
        ]
    return next(iter(lines), 0)


def bases_of(build: BuildState, attempt: Attempt) -> list[Base]:
    """Return what the code can be compared with: the version it replaces, the previous attempt."""
    bases = [Base(f"v{build.version - 1}", build.parent.code)] if build.parent else []
    earlier = [previous for previous in build.attempts if previous.number < attempt.number]
    return bases + ([Base(f"attempt {earlier[-1].number}", earlier[-1].draft.code)] if earlier else [])
