"""Money, tokens and models: spend, where it went, savings, and the state of each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content

from alita_tui.console.actions import bindings, key_of
from alita_tui.console.messages import CommandAsked
from alita_tui.console.session.providers import MARKS, WORDS
from alita_tui.console.widgets.braille import braille
from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.figures import parted
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import BLANK, Row, Sheet, heading
from alita_tui.console.widgets.styled_text import cut
from alita_tui.spine.commands import EnableModel
from alita_tui.spine.ports.models import DaySpend
from alita_tui.spine.text import counted, one_line
from alita_tui.state.spend import PaidCall, Share
from alita_tui.view.agents import AgentUsage, by_agent, by_specialist
from alita_tui.view.model import ProviderView, SessionView
from alita_tui.view.spend import ESTIMATED, tokens_of, total_of, unpriced_words
from alita_tui.view.statistics import dollars

_STYLES = {"closed": "good", "half_open": "warn", "open": "bad", "disabled": "bad"}

_CHART, _SCALE = 5, 8
"""Lines of the chart, and columns of its scale."""
_DAYS = "~ is estimated, on the high side, or still reserved by a call."


class SpendScreen(Dialog[None]):
    """A sheet that is redrawn with every view."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("spend")
    CSS_PATH: ClassVar[Stylesheets] = ["../widgets/dialog.tcss", "screen.tcss"]

    def __init__(
        self,
        view: SessionView,
        keys: Mapping[str, str],
        *,
        days: Mapping[str, DaySpend] | None = None,
        prices: str = "",
    ) -> None:
        """`prices` names the price table and its date."""
        super().__init__()
        self._view = view
        self._keys = keys
        self._days = dict(days or {})
        self._prices = prices

    def compose(self) -> ComposeResult:
        """Heading and sheet."""
        with Vertical(id="box"):
            yield Plain(id="head")
            yield Sheet(id="sheet")

    def on_resize(self) -> None:
        """Draw for the new width."""
        self.advance(self._view)

    def advance(self, view: SessionView) -> None:
        """Draw a newer view."""
        self._view = view
        off = any(provider.state == "disabled" for provider in view.providers)
        enable = f" · {key_of('spend.enable', self._keys)} tries those that are off" if off else ""
        self.query_one("#head", Plain).update(
            Content.assemble(("Money and models", "bold $accent"), f"   Esc closes{enable}")
        )
        sheet = self.query_one(Sheet)
        sheet.show(rows(view, self._days, self._prices, max(sheet.size.width - 2, 40)), top=False)

    def action_enable(self) -> None:
        """Enable every model that is off."""
        for provider in self._view.providers:
            if provider.state == "disabled":
                self.post_message(CommandAsked(EnableModel(model=provider.model)))


def rows(view: SessionView, days: Mapping[str, DaySpend], prices: str, width: int) -> list[Row]:
    """Return the rows of the sheet."""
    spend = view.spend
    sheet_rows = [*heading("Spent", prices), *_caps(view, width), BLANK]
    if view.providers:
        sheet_rows += [
            *heading("Models"),
            *(row for provider in view.providers for row in _provider(provider)),
            BLANK,
        ]
    if len(spend.points) > 1 and spend.total_usd:
        sheet_rows += [*heading("Over time"), *_over_time(spend.points, width), BLANK]
    for title, about, shares in (
        ("By role", "", spend.by_role),
        ("By provider", "", by_provider(spend.by_model)),
        ("By model", "", spend.by_model),
        ("By tool", "building it, and the models it asks when it runs", spend.by_tool),
        ("By step", _steps_of(view), spend.by_step),
    ):
        if shares:
            sheet_rows += [*heading(title, about), *_shares(shares, width), BLANK]
    if view.state.agents:
        sheet_rows += [
            *heading("By agent", "of the newest task that had several"),
            *_agents(by_agent(view.state)),
            BLANK,
        ]
        sheet_rows += [
            *heading("By specialist", "of the session"),
            *_agents(by_specialist(view.state)),
            BLANK,
        ]
    if spend.last_calls:
        sheet_rows += [*heading("Calls", "the newest"), *map(_call, reversed(spend.last_calls)), BLANK]
    sheet_rows += [*heading("Saved"), *_saved(view), BLANK]
    if days:
        shown = list(days.items())[-14:]
        sheet_rows += [*heading("Days", "all sessions"), *_days(shown, width)]
        if any(spent.estimated_tokens for _day, spent in shown):
            sheet_rows.append(Row(((_DAYS, "muted"),), (("  ", ""),)))
    return sheet_rows


def _over_time(points: Sequence[tuple[datetime, float]], width: int) -> list[Row]:
    """Return what was spent, from the first call to the newest, as a line on a scale."""
    top = max(usd for _at, usd in points)
    labels = {0: dollars(top), _CHART - 1: dollars(0)}
    lines = braille([usd for _at, usd in points], width - _SCALE - 4, _CHART, 0.0, top)
    chart = [
        Row(
            tuple((text, "name") for text, _marked in line),
            ((f"  {labels.get(number, ''):>{_SCALE - 1}} ", "muted"),),
        )
        for number, line in enumerate(lines)
    ]
    first, last = (at.astimezone().strftime("%H:%M") for at in (points[0][0], points[-1][0]))
    times = first + last.rjust(width - _SCALE - 4 - len(first))
    return [*chart, Row(((times, "muted"),), ((" " * (_SCALE + 2), ""),), hard=True)]


def _steps_of(view: SessionView) -> str:
    agents = view.state.agents
    newest = view.state.tasks[-1].task_id if view.state.tasks else ""
    several = bool(agents) and agents[-1].task_id == newest
    return "of the newest task, its agents' steps among them" if several else "of the newest task"


def _caps(view: SessionView, width: int) -> list[Row]:
    spend = view.spend
    listed = [("task", spend.task_usd, spend.task_limit_usd), ("session", spend.total_usd, spend.limit_usd)]
    rows = []
    for name, usd, limit in listed:
        share = usd / limit if limit else 0.0
        style = "bad" if share >= 1 else "warn" if share >= 0.8 else "good"
        cap = f" of ${limit:.2f}" if limit else ", no cap"
        full, track = parted(share, max(width - 44, 8)) if limit else ("", "")
        rows.append(
            Row(
                (
                    (full, style),
                    (f"{track} " if limit else "", "line"),
                    (f"${usd:.2f}", "strong"),
                    (cap, "muted"),
                ),
                ((f"  {name:<10}", ""),),
            )
        )
    rows.append(Row(((f"${spend.day_usd:.2f}", "strong"),), (("  today     ", ""),)))
    rows.append(Row(((total_of(spend), ""),), (("  tokens    ", ""),)))
    if spend.estimated_tokens:
        rows.append(Row(((ESTIMATED, "muted"),), (("            ", ""),)))
    if spend.unpriced_calls:
        rows.append(Row(((unpriced_words(spend.unpriced_calls), "warn"),), (("  unpriced  ", ""),)))
    return rows


def _shares(shares: tuple[Share, ...], width: int) -> list[Row]:
    top = max((share.usd for share in shares), default=0.0) or 1.0
    room = min(max(len(share.name) for share in shares), 28)
    rows = []
    for share in sorted(shares, key=lambda share: (-share.usd, -share.tokens)):
        calls = f"  {counted(share.calls, 'call')}, {tokens_of(share)} tokens"
        full, track = parted(share.usd / top, max(width - room - 44, 6))
        body = ((full, "name"), (track, "line"), (f" {dollars(share.usd)}", "strong"), (calls, "muted"))
        rows.append(Row(body, ((f"  {cut(share.name, room):<{room}}  ", ""),)))
    return rows


def _agents(agents: Sequence[AgentUsage]) -> list[Row]:
    room = min(max(len(agent.name) for agent in agents), 34)
    rows = []
    for agent in agents:
        body = (
            (dollars(agent.usd), "strong"),
            (
                f"  {counted(agent.calls, 'call')}, {tokens_of(agent)} tokens, {counted(agent.steps, 'step')}",
                "muted",
            ),
            (f", models took {agent.model_ms / 1000:.1f} s" if agent.model_ms else "", "muted"),
            (f", {agent.unpriced} without a price" if agent.unpriced else "", "warn"),
        )
        rows.append(Row(body, ((f"  {cut(agent.name, room):<{room}}  ", ""),)))
    return rows


def by_provider(shares: Sequence[Share]) -> tuple[Share, ...]:
    """Sum the shares by provider."""
    sums: dict[str, Share] = {}
    for share in shares:
        name = share.name.partition(":")[0]
        total = sums.get(name, Share(one_line(name)))
        sums[name] = Share(
            total.name,
            total.calls + share.calls,
            total.usd + share.usd,
            total.tokens + share.tokens,
            total.estimated_tokens + share.estimated_tokens,
        )
    return tuple(sums.values())


def _call(call: PaidCall) -> Row:
    usd = dollars(call.usd) if call.usd is not None else "no price"
    tokens = f"  {'~' if call.estimated else ''}{call.tokens:,} tokens"
    where = f"  {call.at.astimezone():%H:%M:%S}  step {call.step:<3} "
    body = ((usd, "strong"), (tokens, "muted"), (f"  {call.role}, {call.model}", ""))
    return Row(body, ((where, "muted"),))


def _days(days: Sequence[tuple[str, DaySpend]], width: int) -> list[Row]:
    top = max(spent.usd for _day, spent in days) or 1.0
    rows = []
    for day, spent in days:
        full, track = parted(spent.usd / top, max(width - 44, 8))
        body = (
            (full, "name"),
            (track, "line"),
            (f" ${spent.usd:.2f}", "strong"),
            (f"  {tokens_of(spent)} tokens", "muted"),
        )
        rows.append(Row(body, ((f"  {day}  ", "muted"),)))
    return rows


def _saved(view: SessionView) -> list[Row]:
    spend = view.spend
    hits = 100 * spend.cached_tokens / spend.input_tokens if spend.input_tokens else 0.0
    calls = spend.paid_calls + spend.spared_calls
    spared = f"{spend.spared_calls} of {calls} calls answered from earlier sessions"
    reuse = f"{spend.reused_runs} runs of tools that were there already"
    reuse += f"; building them again: about ${spend.reused_usd:.2f}" if spend.reused_usd else ""
    pages = f"{spend.unchanged_pages} of {spend.pages} pages were unchanged and not sent again"
    savings = (
        ("prompt", f"{hits:.0f} % of the input came from the provider's cache"),
        ("replies", spared),
        ("pages", pages),
        ("tools", reuse),
        ("money", f"{dollars(spend.saved_usd)} by the caches"),
    )
    return [Row(((text, ""),), ((f"  {name:<10}", ""),)) for name, text in savings]


def _provider(provider: ProviderView) -> list[Row]:
    speed = f"  {provider.tokens_per_second:.0f} tokens/s" if provider.tokens_per_second else ""
    serves = "  serves now" if provider.serves else ""
    until = (
        f" until {provider.until.astimezone():%H:%M:%S}"
        if provider.until and provider.state == "open"
        else ""
    )
    state = f"  {WORDS[provider.state]}{until}"
    head = Row(
        ((provider.model, "strong"), (state, _STYLES[provider.state]), (f"{serves}{speed}", "muted")),
        ((f"  {MARKS[provider.state]} ", _STYLES[provider.state]),),
    )
    return [head, Row(((provider.reason, "muted"),), (("    ", ""),))] if provider.reason else [head]
