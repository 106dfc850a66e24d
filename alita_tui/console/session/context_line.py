"""The line of keys at the bottom: those of the focused pane, the most used first, and F1 for the rest."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content
from textual.widgets import Input

from alita_tui.console.active_keys import ActiveKey, active_keys
from alita_tui.console.session.composer import Composer
from alita_tui.console.session.suggestions import Suggestion
from alita_tui.console.session.trace import Trace
from alita_tui.console.widgets.plain import Plain
from alita_tui.view.model import SessionView
from alita_tui.view.queries import pending

Item = tuple[str, str]
"""A key, and what it does."""

_WRITING = ("composer.send", "composer.next", "/", "@", "composer.history", "composer.editor",
            "composer.newline", "app.jump", "app.palette", "app.sessions")  # fmt: skip
_ORDER: Mapping[str, tuple[str, ...]] = {
    "composer": _WRITING,
    "trace": ("pane.open", "session.escape", "trace.level", "pane.find", "trace.good", "trace.bad", "trace.should_be",
              "trace.unrate", "trace.explain", "trace.rewind", "pane.yank", "app.jump", "session.lane"),
    "library": ("pane.open", "session.escape", "pane.find", "pane.yank", "app.jump"),
    "replay": ("replay.toggle", "replay.back", "replay.forward", "replay.quit", "replay.mark_forward",
               "replay.find", "replay.faster", "replay.fork", "replay.export"),
}  # fmt: skip
"""Part of the screen → the keys its line names, most used first; for other parts, all keys they handle."""
_WORDS = {
    "composer.next": "queue",
    "composer.history": "earlier",
    "composer.editor": "editor",
    "session.escape": "back",
    "trace.rewind": "back in time",
    "trace.should_be": "should be",
    "trace.unrate": "undo",
    "app.palette": "palette",
    "app.help": "all keys",
}
_RATINGS = ("good", "not good", "should be", "undo")
"""Words of the keys that rate a row: on a narrow line these keys share one word."""
_LISTS: Mapping[str, tuple[Item, ...]] = {
    "command": (("Tab", "take"), ("↑ ↓", "choose"), ("Esc", "close")),
    "file": (("Tab", "take"), ("↑ ↓", "choose"), ("Esc", "close")),
    "earlier": (("Enter", "take"), ("↑ ↓", "choose"), ("Esc", "close")),
}
"""What the composer lists → the keys of the list."""
_SIGNS = {"/": "commands", "@": "files"}
"""Characters typed at the beginning of a word in the composer."""


class ContextLine(Plain):
    """One line. What does not fit is left out from the end; F1 stays."""

    DEFAULT_CSS = """
    ContextLine { height: 1; padding: 0 1; background: $background; color: $alita-muted; text-wrap: nowrap; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._view = SessionView()
        self._shown: tuple[Item, ...] = ()
        self._covered = False

    def cover(self, covered: bool) -> None:
        """Name F1 alone while another screen, with keys of its own, lies on top."""
        self._covered = covered
        self.draw()

    def on_mount(self) -> None:
        """Follow the focus."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _screen: self.draw())

    def advance(self, view: SessionView) -> None:
        """Draw for a newer view."""
        previous, self._view = self._view, view
        if _shown_state(previous) != _shown_state(view):
            self.draw()

    def on_resize(self) -> None:
        """Draw for the new width."""
        self._shown = ()
        self.draw()

    def draw(self) -> None:
        """Show the keys that work now."""
        if not self.size.width or not self.is_attached:
            return
        keys = active_keys(self.screen, self.screen.focused)
        candidates = [] if self._covered else items_of(keys, self._view)
        focused = self.screen.focused
        if isinstance(focused, Suggestion) and not self._covered:
            candidates = [("Enter", "start"), ("↑ ↓", "choose"), *candidates]
        elif isinstance(focused, Composer) and focused.lists and not self._covered:
            candidates = list(_LISTS[focused.lists])
        elif isinstance(focused, Input) and not self._covered:
            candidates = [("Enter", "find" if focused.id == "find" else "send"), *candidates]
        items = fitting(candidates, _right(keys), self.content_size.width)
        if items != self._shown:
            self._shown = items
            self.update(_content(items, self.content_size.width))


def items_of(keys: Mapping[str, ActiveKey], view: SessionView) -> list[Item]:
    """Return the keys for the line and their labels, the most used first."""
    owner = next((part for part in _ORDER if any(name.startswith(f"{part}.") for name in keys)), "")
    if not owner and "pane.open" in keys:
        owner = "library"
    order = _ORDER.get(owner) or (
        "session.escape",
        *(name for name in keys if not name.startswith(("app.", "session."))),
    )
    live = owner != "replay" and "replay.toggle" not in keys
    items: list[Item] = []
    for name in order:
        if name in _SIGNS:
            items.append((name, _SIGNS[name]))
        elif name in keys and (keys[name].action.live if live else keys[name].action.replay):
            items.append((keys[name].key, _word(keys[name], view)))
    if owner == "composer":
        if not _steered(view):
            items = [item for item in items if item[1] != "queue"]
        elif "session.escape" in keys and "session.interrupt" in keys:
            escape, stop = keys["session.escape"].key, keys["session.interrupt"].key
            # What was built, or is not continued yet, is not lost to Esc (see `Stopping.stop_by_escape`).
            if view.live.held or (_builds(view) and not pending(view)):
                items.insert(min(2, len(items)), (stop, "stop"))
            elif not pending(view):
                items.insert(min(2, len(items)), (f"{escape} {escape}", "stop"))
    return items


def _word(entry: ActiveKey, view: SessionView) -> str:
    if entry.action.id == "composer.send":
        return "answer" if view.question is not None else "steer" if _steered(view) else "send"
    if entry.action.id == "trace.level" and isinstance(entry.node, Trace):
        return f"detail: {entry.node.level}"
    return _WORDS.get(entry.action.id, entry.action.label.lower())


def _right(keys: Mapping[str, ActiveKey]) -> tuple[Item, ...]:
    return ((keys["app.help"].key, _WORDS["app.help"]),) if "app.help" in keys else ()


def fitting(items: list[Item], right: tuple[Item, ...], width: int) -> tuple[Item, ...]:
    """Return as many items as fit before the one at the right; keys that rate are joined if not all of these fit."""
    shown = list(items)
    last = max((place for place, item in enumerate(shown) if item[1] in _RATINGS), default=-1)
    if _length([*shown[: last + 1], *right]) > width:
        shown = _joined(shown)
    while shown and _length([*shown, *right]) > width:
        shown.pop()
    return (*shown, *right)


def _joined(items: list[Item]) -> list[Item]:
    """Return the items with those that rate a row as one: `+ - = u rate`."""
    rating = [item for item in items if item[1] in _RATINGS]
    if not rating:
        return items
    place = items.index(rating[0])
    others = [item for item in items if item not in rating]
    return [*others[:place], (" ".join(key for key, _ in rating), "rate"), *others[place:]]


def _length(items: list[Item]) -> int:
    return sum(Content(f"{key} {word}").cell_length for key, word in items) + 3 * (len(items) - 1)


def _content(items: tuple[Item, ...], width: int) -> Content:
    parts = [Content.assemble((key, "$foreground"), f" {word}") for key, word in items]
    left, right = Content("   ").join(parts[:-1]), parts[-1] if parts else Content()
    return Content.assemble(left, " " * max(width - left.cell_length - right.cell_length, 0), right)


def _shown_state(view: SessionView) -> tuple[object, ...]:
    return view.busy, bool(view.live.held), view.question is None, bool(pending(view)), _builds(view)


def _steered(view: SessionView) -> bool:
    """Return whether what is written is added to a task: one that runs, or one that is not continued yet."""
    return view.busy or bool(view.live.held)


def _builds(view: SessionView) -> bool:
    """Return whether a build is being made."""
    return any(not build.settled for build in view.builds)
