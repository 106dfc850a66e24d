"""The evidence on a build, computed from the events and not from what the builder claims.

Each part is a pure function from the build to rows. Text that the digest covers is shown with `reveal`, never with
`neutralise`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import msgspec
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from alita_tui.console.review.glance import Brief, glance, needed, risk_row
from alita_tui.console.review.self_tests import tests
from alita_tui.console.widgets.sheet import BLANK, Row, Sheet, fact, flat, heading
from alita_tui.console.widgets.styled_text import Line, Piece, restyle
from alita_tui.events import Finding, GateName, LockedPackage, SandboxStatus
from alita_tui.events.build import CHECKS
from alita_tui.runtimes.languages import title_of
from alita_tui.spine.grants import phrases
from alita_tui.spine.text import one_line, reveal
from alita_tui.state.build import Attempt, BuildState
from alita_tui.view.habits import Habits
from alita_tui.view.risk import declared_by, names_to_accept, risks

Part = Literal[
    "glance", "risk", "why", "contract", "capabilities", "requirements", "review", "tests", "sandbox", "grant"
]
PARTS: tuple[Part, ...] = (
    "glance",
    "risk",
    "why",
    "capabilities",
    "requirements",
    "review",
    "tests",
    "sandbox",
    "contract",
    "grant",
)


def risk(build: BuildState, attempt: Attempt, withheld: Collection[str] = ()) -> list[Row]:
    """Return the risks, and what an approval requires."""
    found_risks = risks(build, attempt, withheld)
    rows = [*heading("Risk", needed(found_risks)), *(risk_row(found_risk) for found_risk in found_risks)]
    if not found_risks:
        message = "Nothing unusual: all checks passed, no permissions needed."
        rows.append(Row(((message, "good"),), (("  ● ", "good"),)))
    return [*rows, *gates(attempt)]


def gates(attempt: Attempt, *, columns: bool = True) -> list[Row]:
    """Return each check's result with its findings, then the checks that did not run.

    Without `columns`, for narrow panes, the summary follows the title on the same line.
    """
    marks = {"passed": ("  ● ", "good"), "failed": ("  ▲ ", "bad"), "skipped": ("  ○ ", "warn")}
    verbs = {"passed": "", "failed": "failed: ", "skipped": "could not run: "}
    width = max(len(check.title) for check in CHECKS.values())

    def check_row(mark: Piece, name: GateName, seen: Piece) -> Row:
        if not columns:
            return Row(((f"{CHECKS[name].title}  ", "strong"), seen), (mark,))
        return Row((seen,), (mark, (f"{CHECKS[name].title:<{width}}  ", "strong")))

    rows = [BLANK, *heading("Checks")]
    for gate in attempt.gates:
        seen = (verbs[gate.state] + reveal(flat(gate.summary)), "")
        rows.append(check_row(marks[gate.state], gate.gate, seen))
        for row in gate.rows:
            if row.tone in ("bad", "warn"):
                rows.append(Row(((reveal(flat(f"{row.label}  {row.text}")), row.tone),), (("      ", ""),)))
    rows += [
        check_row(("  ○ ", "warn"), name, ("not run, or not on record", "warn")) for name in attempt.unchecked
    ]
    return rows


def why(build: BuildState, attempt: Attempt) -> list[Row]:
    """Return the goal, near misses in the library, lessons and sources."""
    rows = heading("Why")
    rows.append(fact("goal", reveal(flat(build.goal))))
    if flat(attempt.draft.description) != flat(build.goal):
        rows.append(fact("says it does", reveal(flat(attempt.draft.description))))
    if attempt.language_reason:
        language = title_of(attempt.draft.language)
        rows.append(fact(f"why {language}", reveal(flat(attempt.language_reason))))
    author = "a person" if attempt.author == "person" else reveal(attempt.model) or "a model"
    rows.append(fact("asked by", f"step {build.step}; draft {attempt.number} by {author}"))
    if build.cost:
        rows.append(fact("cost so far", build.cost))
    if not build.near_misses:
        rows.append(fact("library", "has nothing like it"))
    for number, miss in enumerate(build.near_misses):
        body: Line = (
            (f"{miss.score:.2f}  ", "number"),
            (f"{one_line(miss.name)} v{miss.version}  ", "strong"),
            (one_line(miss.description), "muted"),
        )
        rows.append(fact("" if number else "near misses", body))
    if build.lessons:
        past = "past rejection" if len(build.lessons) == 1 else "past rejections"
        rows.append(fact("lessons", ((f"{len(build.lessons)} {past} shaped this build", "strong"),)))
        rows += [fact("", ((reveal(flat(lesson)), "muted"),)) for lesson in build.lessons]
    for number, source in enumerate(build.sources):
        title = one_line(source.title) or "a page"
        rows.append(fact("" if number else "read for it", ((title, ""), (" · not trusted", "muted"))))
        rows.append(fact("", ((one_line(source.url), "link"),)))
    return rows


def capabilities(attempt: Attempt) -> list[Row]:
    """Return what the code declares and what it uses."""
    rows = heading("Declared against observed")
    requested = phrases(attempt.draft.capabilities)
    rows += [
        fact("" if number else "asks for", ((reveal(flat(phrase)), "bad"),))
        for number, phrase in enumerate(requested)
    ]
    if not requested:
        rows.append(
            fact("asks for", (("nothing declared: no network, files, secrets, model or tool", "good"),))
        )
    if not attempt.imports:
        rows.append(fact("imports", "nothing" if attempt.reviewed is not None else "not reviewed yet"))
    plain = [name for name in attempt.imports if declared_by(name, attempt) == "standard library"]
    others = [name for name in attempt.imports if name not in plain]
    for number, name in enumerate(others):
        origin = declared_by(name, attempt)
        declaration = (f"  declared by {origin}", "good") if origin else ("  ▲ not declared", "bad")
        rows.append(fact("" if number else "imports", ((reveal(name), "strong"), declaration)))
    if plain:
        rows.append(
            fact("" if others else "imports", ((", ".join(plain), ""), ("  standard library", "muted")))
        )
    return rows


def requirements(attempt: Attempt) -> list[Row]:
    """Return every package that would be installed."""
    packages = attempt.lock.packages if attempt.lock else ()
    direct = sum(package.direct for package in packages)
    note = f"{len(packages)} packages, {direct} named by the draft" if packages else ""
    rows = heading("Requirements", note)
    if attempt.lock_problem:
        rows.append(fact("refused", ((reveal(flat(attempt.lock_problem)), "bad"),)))
    if attempt.draft.requirements:
        rows.append(fact("declared", reveal(", ".join(attempt.draft.requirements))))
    elif not packages:
        rows.append(fact("declared", (("none: no packages needed", "good"),)))
    width = max((len(f"{package.name} {package.version}") for package in packages), default=0)
    rows += [_package(package, width) for package in sorted(packages, key=lambda package: not package.direct)]
    return rows


def _package(package: LockedPackage, width: int) -> Row:
    name = f"{one_line(package.name)} {one_line(package.version)}"
    sha = (
        package.hashes[0].removeprefix("sha256:").removeprefix("sha512-")[:12] + "…"
        if package.hashes
        else "no hash"
    )
    parts = [f"uploaded {one_line(package.uploaded)[:10]}" if package.uploaded else "upload time unknown"]
    if package.place:
        parts = ["withdrawn by its authors"] if package.deprecated else []
    parts += [f"{package.size / 1024:,.0f} KiB"] if package.size else []
    parts.append("named" if package.direct else "pulled in")
    style = "muted" if package.hashes else "bad"
    return Row(
        ((f"{name:<{min(width, 34)}}  ", "strong" if package.direct else ""), (f"{sha}  ", style))
        + ((" · ".join(parts), "muted"),),
        (("  ", ""),),
        (("      ", ""),),
    )


def review(attempt: Attempt) -> list[Row]:
    """Return the findings of the static review."""
    if attempt.reviewed is None:
        return [*heading("Static review"), fact("", (("not done yet", "bad"),))]
    rows = heading("Static review", "passed" if attempt.reviewed else "did not pass")
    rows += [_finding(finding) for finding in attempt.findings]
    return rows if attempt.findings else [*rows, Row((("  no findings", "good"),))]


def _finding(finding: Finding) -> Row:
    styles = {"high": "bad", "medium": "warn", "low": "", "info": "muted"}
    severity = finding.severity + (" ⛔" if finding.blocking else "")
    line = f"line {finding.line}  " if finding.line else ""
    return Row(
        ((f"{one_line(finding.rule)}  ", "strong"), (line, "muted"), (reveal(flat(finding.text)), "")),
        ((f"  {severity:<11}", styles[finding.severity]),),
    )


def sandbox(attempt: Attempt, status: SandboxStatus | None) -> list[Row]:
    """Return where the tests ran and what enforces each limit."""
    rows = heading("Sandbox", "the self-tests ran under the draft profile")
    rows.append(fact("draft profile", "no network, no workspace, no secrets, no model, no tool"))
    if status is None or not status.available:
        problem = one_line(status.problem) if status else "not checked"
        return [*rows, fact("now", ((problem or "not there", "bad"),))]
    rows.append(fact("engine", one_line(status.engine)))
    image = one_line(status.image)
    origin = f", {one_line(status.image_origin)}" if status.image_origin else ""
    rows.append(fact("image", ((image + origin, ""), (f"  {one_line(status.image_digest)[:19]}…", "muted"))))
    for limit in status.enforcement:
        mark = ("● ", "good") if limit.strong else ("△ approximate: ", "warn")
        seen = ((f"  {one_line(limit.measured)}", "muted"),) if limit.measured else ()
        rows.append(fact(one_line(limit.resource), (mark, (one_line(limit.mechanism), ""), *seen)))
    if attempt.reports and all(report.status == "ok" for report in attempt.reports):
        peak = max(report.peak_memory_bytes for report in attempt.reports)
        rows.append(fact("most memory", f"{peak / 2**20:.0f} MiB in {len(attempt.reports)} runs"))
    return rows


def contract(attempt: Attempt) -> list[Row]:
    """Return the schemas, which the digest covers."""
    rows = heading("Contract")
    rows.append(fact("arguments", reveal(_json(attempt.draft.input_schema))))
    rows.append(fact("returns", reveal(_json(attempt.draft.output_schema))))
    return rows


def grant(build: BuildState, attempt: Attempt, withheld: Collection[str] = ()) -> list[Row]:
    """Return what an approval grants, and what it does not."""
    rows = heading("What approving grants")
    wants = attempt.draft.capabilities
    granted = phrases(wants.without(withheld))
    rows.append(fact("runs", f"{reveal(build.name)} v{build.version}, exactly these bytes, until revoked"))
    if build.parent:
        rows.append(fact("replaces", f"v{build.version - 1}, which stays in the history"))
    rows.append(fact("with", reveal("; ".join(granted)) if granted else "no capability: it computes"))
    for item in (item for item in wants.items if item in withheld):
        rows.append(fact("withheld", ((reveal(item), "good"), ("  a call of it is refused", "muted"))))
    rows.append(fact("not", "any other bytes: a change is tested and asked again"))
    digest_matches = attempt.build_digest == build.digest
    rows.append(fact("sha256", ((build.digest, "number" if digest_matches else "bad"),)))
    if not digest_matches:
        rows.append(fact("", ((f"the draft on screen is {attempt.build_digest}", "bad"),)))
    return rows


def you(habits: Habits) -> list[Row]:
    """Return how the person decided lately, if enough is known."""
    if not habits.summary:
        return []
    return [BLANK, *heading("You"), fact("so far", ((habits.summary, "warn" if habits.hasty else "muted"),))]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


class Evidence(Sheet):
    """Shows parts of the evidence. Rows about a line of the code can be selected and lead there."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "choose(1)", show=False),
        Binding("up", "choose(-1)", show=False),
        Binding("enter", "open_line", show=False),
    ]

    @dataclass
    class LineAsked(Message):
        """A row about a line of the code was opened."""

        line: int

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.whole_log = False
        """Whether the whole test log is shown."""
        self.log_key = ""
        """The key that shows it."""
        self.habits = Habits()
        """How the person decided lately."""
        self.brief: Brief = 0
        """How much the first part is shortened."""
        self.withheld: frozenset[str] = frozenset()
        """Capabilities that are withheld, as `Capabilities.items`."""
        self.serious = False
        """Whether risks have to be accepted by name."""
        self._starts: dict[Part, int] = {}
        self._chosen = -1
        """Index of the selected row; -1 for none."""

    def present(
        self, build: BuildState, attempt: Attempt, status: SandboxStatus | None, parts: Sequence[Part] = PARTS
    ) -> None:
        """Show some parts from the top."""
        makers: dict[Part, Callable[[], list[Row]]] = {
            "glance": lambda: glance(build, attempt, self.withheld, brief=self.brief),
            "risk": lambda: risk(build, attempt, self.withheld),
            "why": lambda: why(build, attempt),
            "contract": lambda: contract(attempt),
            "capabilities": lambda: capabilities(attempt),
            "requirements": lambda: requirements(attempt),
            "review": lambda: review(attempt),
            "tests": lambda: tests(attempt, log=self.whole_log, log_key=self.log_key),
            "sandbox": lambda: sandbox(attempt, status),
            "grant": lambda: [*grant(build, attempt, self.withheld), *you(self.habits)],
        }
        self.serious = bool(names_to_accept(risks(build, attempt, self.withheld)))
        rows: list[Row] = []
        starts: dict[Part, int] = {}
        for part in parts:
            rows += [BLANK] if rows else []
            starts[part] = len(rows)
            rows += makers[part]()
        self._starts = starts
        self._chosen = -1
        self.show(rows)

    def on_click(self, event: events.Click) -> None:
        """Report a click on a row about a line of the code."""
        if row := self.row_at(event.y + round(self.scroll_y)):
            if row.link:
                self.post_message(self.LineAsked(row.link))

    def action_choose(self, by: int) -> None:
        """Select the next row on screen that leads to the code; scroll if there is none."""
        linked = self._linked()
        candidates = [row for row in linked if (row > self._chosen if by > 0 else row < self._chosen)]
        if self._chosen not in linked:
            candidates = linked
        if candidates:
            self._chosen = candidates[0] if by > 0 else candidates[-1]
            self.refresh()
        elif by > 0:
            self.action_scroll_down()
        else:
            self.action_scroll_up()

    def action_open_line(self) -> None:
        """Open the code at the selected row's line, or at the first on screen."""
        linked = self._linked()
        if self._chosen not in linked:
            self._chosen = linked[0] if linked else -1
            self.refresh()
        if self._chosen >= 0:
            self.post_message(self.LineAsked(self.rows[self._chosen].link))

    def _linked(self) -> list[int]:
        """Return the rows on screen that lead to the code, from the top."""
        top = round(self.scroll_y)
        visible = dict.fromkeys(self._owner[top : top + self.scrollable_content_region.height])
        return [row for row in visible if self.rows[row].link]

    def render_line(self, y: int) -> Strip:
        """Render a line, with the chosen row highlighted."""
        strip = super().render_line(y)
        number = y + self.scroll_offset.y
        if self._chosen < 0 or number >= len(self._owner) or self._owner[number] != self._chosen:
            return strip
        return restyle(strip, 0, -1, self._styles["selected"])

    @property
    def lead(self) -> int:
        """Number of screen lines of the first part, which should be fully visible; 0 until it is laid out.

        The blank line below it is not counted.
        """
        starts = sorted(self._starts.values())[1:2]
        after = starts[0] - 1 if starts else len(self.rows)
        return next((line for line, row in enumerate(self._owner) if row >= after), len(self._owner))

    def go_to(self, part: Part) -> None:
        """Scroll to a part."""
        self.scroll_to_row(self._starts.get(part, 0))
