"""fold(view, envelope) → view: the next state, with neutralised texts, and the rows of the trace.

Pure. A durable envelope that is already in the view changes nothing, so a recording and a live stream may overlap.
Output that is still growing is in `view.live` only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import assert_never

from msgspec.structs import replace

from alita_tui import events as e
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.gc_pause import gc_paused
from alita_tui.spine.text import SafeText, neutralise, one_line
from alita_tui.state.reduce import reduce
from alita_tui.state.rows import follow
from alita_tui.state.session import SessionState
from alita_tui.view.lanes import mark_lane
from alita_tui.view.model import (
    Live,
    LiveOutput,
    ProviderView,
    QuestionView,
    SandboxRun,
    SessionView,
    TaskView,
    TraceRow,
    safe_spend,
)
from alita_tui.view.plan import ticked
from alita_tui.view.trace import rows_for

_LIVE_LIMIT = 16_384
_TITLE = 80
_STILL = Live()
"""Nothing is growing."""

RowMaker = Callable[[Envelope], tuple[TraceRow, ...]]


def fold_all(
    envelopes: Iterable[Envelope], view: SessionView | None = None, rows_of: RowMaker = rows_for
) -> SessionView:
    """Return the view after all envelopes of a stream."""
    view = view or SessionView()
    with gc_paused():
        for envelope in envelopes:
            view = fold(view, envelope, rows_of)
    return view


def fold(view: SessionView, envelope: Envelope, rows_of: RowMaker = rows_for) -> SessionView:
    """Return the view after one more envelope. `rows_of` returns its rows of the trace."""
    event = envelope.event
    ours = not view.state.lanes or envelope.task_id in ("", view.state.focus)
    if isinstance(event, e.ModelDelta | e.OutputChunk | e.Progressed | e.SavingStalled | e.WorkHeld):
        return replace(view, live=_grow(view.live, event)) if ours else view
    if envelope.seq is None or envelope.seq <= view.state.seq:
        return view
    state = reduce(view.state, envelope)
    changed = _changed_texts(view, state)
    if rows := rows_of(envelope):
        rows = _with_names(rows, event, state)
        changed["trace"] = view.trace.append(*mark_lane(rows, envelope, view.state, state))
    if state.lanes and state.focus != view.state.focus:
        live = view.live.lasting()  # what grew belongs to another task
    else:
        live = _settle(view.live, event) if ours else view.live
    return replace(view, state=state, live=live, **changed)


def _with_names(
    rows: tuple[TraceRow, ...], event: e.SessionEvent, state: SessionState
) -> tuple[TraceRow, ...]:
    """Return the rows of looking at a file with its name in place of its handle."""
    match event:
        case e.LookedBack(handle=handle) if handle:
            wanted = handle
        case e.ActionChosen(action="look", arguments={"what": str(what)}):
            wanted = what.strip()
        case _:
            return rows
    name = next((file.name for file in reversed(state.artefacts) if file.handle == wanted), "")
    if not name:
        return rows
    return tuple(replace(row, title=one_line(row.title.replace(wanted, name), 400)) for row in rows)


def _changed_texts(view: SessionView, state: SessionState) -> dict[str, object]:
    """Return the fields of the view that differ, with neutralised texts. Unchanged parts of the state are skipped."""
    earlier = view.state
    changed: dict[str, object] = {}
    if state.title is not earlier.title:
        changed["title"] = one_line(state.title, _TITLE)
    if state.model is not earlier.model:
        changed["model"] = one_line(state.model)
    if state.tasks is not earlier.tasks:
        changed["tasks"] = follow(view.tasks, earlier.tasks, state.tasks, TaskView.of)
    if state.plan is not earlier.plan or state.ticks != earlier.ticks:
        changed["plan"] = tuple(map(one_line, ticked(state.plan, state.ticks)))
    if state.runs is not earlier.runs:
        views = dict(zip(map(id, earlier.runs), view.runs, strict=True))
        changed["runs"] = tuple(views.get(id(run)) or SandboxRun.of(run) for run in state.runs)
    if state.providers is not earlier.providers:
        changed["providers"] = tuple(map(ProviderView.of, state.providers))
    if state.asked is not earlier.asked:
        changed["question"] = QuestionView.of(state.asked) if state.asked else None
    if state.spend is not earlier.spend:
        changed["spend"] = safe_spend(state.spend)
    return changed


def _grow(
    live: Live, event: e.ModelDelta | e.OutputChunk | e.Progressed | e.SavingStalled | e.WorkHeld
) -> Live:
    match event:
        case e.ModelDelta(role=role, channel=channel, text=text):
            grown = SafeText((getattr(live, channel) + neutralise(text))[-_LIVE_LIMIT:])
            match channel:
                case "text":
                    return replace(live, role=role, text=grown)
                case "thinking":
                    return replace(live, role=role, thinking=grown)
                case _:
                    return replace(live, role=role, arguments=grown)
        case e.OutputChunk(run_id=run_id, title=title, text=text):
            earlier = live.output.text if live.output and live.output.run_id == run_id else ""
            text_shown = SafeText((earlier + neutralise(text))[-_LIVE_LIMIT:])
            return replace(live, output=LiveOutput(run_id, one_line(title), text_shown), work=SafeText(""))
        case e.Progressed(work=work, done=done, total=total, detail=detail):
            return replace(
                live, work=one_line(work), work_detail=one_line(detail), work_done=done, work_total=total
            )
        case e.SavingStalled(text=text, hint=hint):
            return replace(live, unsaved=one_line(f"{text} {hint}", 400))
        case e.WorkHeld(tasks=tasks, queued=queued):
            return replace(live, held=tasks, held_queue=queued)
        case _:
            assert_never(event)


def _settle(live: Live, event: e.SessionEvent) -> Live:
    """Return the live output without the parts that a durable event supersedes."""
    if live == _STILL:  # as everywhere in a recording
        return live
    if live.unsaved:
        live = replace(live, unsaved=SafeText(""))  # it has just been recorded
    match event:
        case e.ModelReplied() | e.ModelFailed() | e.Interrupted():
            return replace(live, role="", thinking=SafeText(""), text=SafeText(""), arguments=SafeText(""))
        case e.BuildTested() | e.ToolReturned() | e.ToolFailed() | e.BuildFailed():
            return replace(live, output=None, work=SafeText(""), work_detail=SafeText(""))
        case e.TaskFinished() | e.SessionClosed() | e.SessionResumed():
            return replace(live.lasting(), unsaved=SafeText(""))
        case e.Steered() | e.NoticeRaised():
            return live
        case _:
            return replace(live, work=SafeText(""), work_detail=SafeText("")) if live.work else live
