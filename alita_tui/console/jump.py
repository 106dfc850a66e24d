"""Jump mode: the screen is dimmed, and each place that can take the cursor has a letter; typing it goes there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Offset
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from alita_tui.console.widgets.plain import Plain

LETTERS = "asdfghjklqwertyuiopzxcvbnm"


class Spot(NamedTuple):
    """A place that can be jumped to."""

    at: Offset
    go: Callable[[], object]


@runtime_checkable
class Spotted(Protocol):
    """A widget with more than one place for its cursor."""

    def spots(self) -> Iterable[tuple[int, Callable[[], object]]]:
        """Return the line in the widget and the function that moves the cursor there, for each place on screen."""


def spots(screen: Screen[Any]) -> list[Spot]:
    """Return the places of a screen that can be jumped to, from the top."""
    places: list[Spot] = []
    for part in screen.focus_chain:
        region = part.content_region.intersection(part.region)
        if not region:
            continue
        inner = list(part.spots()) if isinstance(part, Spotted) else []
        places += [Spot(Offset(region.x, region.y + line), _there(screen, part, go)) for line, go in inner]
        if not inner:
            places.append(Spot(region.offset, _there(screen, part)))
    return sorted(places, key=lambda spot: (spot.at.y, spot.at.x))


def _there(screen: Screen[Any], part: Widget, go: Callable[[], object] | None = None) -> Callable[[], None]:
    def run() -> None:
        screen.set_focus(part)
        if go is not None:
            go()

    return run


def labels(count: int) -> list[str]:
    """Return `count` labels, none of which is the beginning of another."""
    if count <= len(LETTERS):
        return list(LETTERS[:count])
    return ["".join(pair) for pair in product(LETTERS, repeat=2)][:count]


class JumpScreen(ModalScreen[None]):
    """Letters over a dimmed screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+x", "dismiss", "Back", show=False, priority=True)
    ]
    DEFAULT_CSS = """
    JumpScreen {
        background: $background 60%; layers: base over;
        & Plain { layer: over; position: absolute; width: auto; height: 1; }
        & .spot { color: $background; background: $accent; text-style: bold; }
        & .spot.-gone { display: none; }
        & #how { dock: bottom; width: 100%; background: $panel; color: $foreground; padding: 0 1; }
    }
    """

    def __init__(self, places: list[Spot]) -> None:
        super().__init__()
        self.places = dict(zip(labels(len(places)), places, strict=False))
        self._typed = ""

    def compose(self) -> ComposeResult:
        """A letter on each place."""
        for label, spot in self.places.items():
            letter = Plain(label, classes="spot")
            letter.styles.offset = (spot.at.x, spot.at.y)
            yield letter
        yield Plain("Type the letters of where to go   Esc stays here", id="how")

    def on_key(self, event: events.Key) -> None:
        """Go to the typed label; any other key closes the screen."""
        event.stop()
        typed = self._typed + (event.character or "")
        if typed in self.places:
            spot = self.places[typed]
            self.dismiss(None)
            self.app.call_later(spot.go)
        elif event.character and any(label.startswith(typed) for label in self.places):
            self._typed = typed
            for label, letter in zip(self.places, self.query(".spot"), strict=True):
                letter.set_class(not label.startswith(typed), "-gone")
        else:
            self.dismiss(None)
