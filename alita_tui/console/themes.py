"""Themes from TOML files: the built-in ones and the user's are read by the same code.

A file has a `[palette]` of semantic colours and an `[alita]` table of domain tokens; whatever is left
out follows from the palette. The file's stem is the theme's name.
"""

from __future__ import annotations

import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from textual.app import App, ReturnType
from textual.color import Color, ColorParseError
from textual.driver import Driver
from textual.filter import Monochrome
from textual.theme import Theme
from textual.widgets import Input, TextArea
from textual.widgets._toast import ToastRack

from alita_tui.console.drafts import Drafts
from alita_tui.console.input.timing import InputTiming
from alita_tui.console.ports import Graphics
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.near_names import did_you_mean
from alita_tui.spine.text import one_line
from alita_tui.system.files import read_plain

PALETTE = (
    "background",
    "surface",
    "panel",
    "foreground",
    "muted",
    "line",
    "cursor",
    "primary",
    "secondary",
    "accent",
    "success",
    "warning",
    "error",
)
"""Required in every palette, besides `dark = true` or `false`."""

TOKENS = {
    "muted": "muted",
    "line": "line",
    "cursor": "cursor",
    "good": "success",
    "warn": "warning",
    "bad": "error",
    "wait": "accent",
    "task": "foreground",
    "thought": "muted",
    "plan": "secondary",
    "action": "primary",
    "observation": "foreground",
    "build": "secondary",
    "approval": "accent",
    "run": "primary",
    "file": "secondary",
    "answer": "success",
    "question": "accent",
    "memory": "secondary",
    "notice": "muted",
    "hostile": "error",
    "recorded": "warning",
    "added": "success",
    "removed": "error",
    "keyword": "secondary",
    "string": "success",
    "number": "accent",
    "comment": "muted",
    "name": "primary",
}
"""Domain token → its default palette colour."""


class ThemeProblem(msgspec.Struct, frozen=True):
    """Why a theme file, or part of it, was not used."""

    file: str
    key: str
    value: str
    reason: str

    def __str__(self) -> str:
        where = f"{self.file}: {self.key}" if self.key else self.file
        return f"{where} = {self.value}: {self.reason}" if self.value else f"{where}: {self.reason}"


class BadTheme(Exception):
    """A theme file is invalid."""

    def __init__(self, problem: ThemeProblem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def read_theme(path: Path) -> Theme:
    """Read a theme file. Raises BadTheme with file, key, value and reason."""

    def bad(key: str, value: object, reason: str) -> BadTheme:
        text = "" if value is None else str(value)
        return BadTheme(ThemeProblem(path.name, key, text, reason))

    def colour(key: str, value: object) -> str:
        try:
            parsed = Color.parse(value) if isinstance(value, str) else None
        except ColorParseError:
            parsed = None
        if parsed is None or parsed.a != 1 or parsed.ansi is not None:
            raise bad(key, value, "not a solid colour such as #1a2b3c, rgb(1, 2, 3) or teal")
        return parsed.hex

    try:
        raw = tomllib.loads(read_plain(path).decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise bad("", None, str(error)) from error
    palette, tokens = raw.get("palette"), raw.get("alita", {})
    if not isinstance(palette, dict) or not isinstance(tokens, dict):
        raise bad("[palette]", None, "the file needs a table of this name")
    for table, entries, known in (("palette", palette, (*PALETTE, "dark")), ("alita", tokens, tuple(TOKENS))):
        for key, value in entries.items():
            if key not in known:
                raise bad(f"{table}.{key}", value, f"unknown; known are {', '.join(known)}")
    if not isinstance(palette.get("dark"), bool):
        raise bad("palette.dark", palette.get("dark"), "has to be true or false")
    for key in PALETTE:
        if key not in palette:
            raise bad(f"palette.{key}", None, "is missing")
    colours = {key: colour(f"palette.{key}", palette[key]) for key in PALETTE}
    domain = {name: colours[default] for name, default in TOKENS.items()}
    domain |= {name: colour(f"alita.{name}", value) for name, value in tokens.items()}
    return _theme(path.stem, colours, domain, dark=palette["dark"])


def _theme(name: str, palette: dict[str, str], domain: dict[str, str], *, dark: bool) -> Theme:
    tokens = {f"alita-{token}": value for token, value in domain.items()}
    return Theme(
        name=name,
        primary=palette["primary"],
        secondary=palette["secondary"],
        accent=palette["accent"],
        success=palette["success"],
        warning=palette["warning"],
        error=palette["error"],
        foreground=palette["foreground"],
        background=palette["background"],
        surface=palette["surface"],
        panel=palette["panel"],
        dark=dark,
        text_alpha=1.0,
        variables=tokens | _textual(palette),
    )


def _textual(palette: dict[str, str]) -> dict[str, str]:
    """Return Textual's variables, so that its widgets match ours."""
    return {
        "border": palette["accent"],
        "border-blurred": palette["line"],
        "block-cursor-background": palette["cursor"],
        "block-cursor-foreground": palette["foreground"],
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": palette["cursor"],
        "block-cursor-blurred-foreground": palette["foreground"],
        "block-hover-background": palette["panel"],
        "input-cursor-background": palette["accent"],
        "input-cursor-foreground": palette["background"],
        "input-selection-background": palette["foreground"],
        "screen-selection-background": palette[
            "foreground"
        ],  # the other way round: any text on it is legible
        "screen-selection-foreground": palette["background"],
        "scrollbar": palette["line"],
        "scrollbar-hover": palette["muted"],
        "scrollbar-active": palette["accent"],
        "scrollbar-background": palette["background"],
        "scrollbar-background-hover": palette["background"],
        "scrollbar-background-active": palette["background"],
        "scrollbar-corner-color": palette["background"],
        "text-muted": palette["muted"],
        "text-disabled": palette["muted"],
    }


class Loaded(msgspec.Struct, frozen=True):
    """Themes and problems of some folders."""

    themes: tuple[Theme, ...]
    problems: tuple[ThemeProblem, ...]

    def pick(self, name: str, *, dark: bool) -> str:
        """Return the theme to use: for `auto` or an unknown name, one that matches the terminal."""
        names = [theme.name for theme in self.themes]
        if name in names:
            return name
        fitting = "alita-dark" if dark else "alita-light"
        return fitting if fitting in names else next(iter(names), "textual-dark")


def missing(name: str, names: tuple[str, ...]) -> str:
    """Return the message for a theme that is not among `names`."""
    return f"There is no theme {one_line(name, 60)!r}. {did_you_mean(name, names)}".strip()


def load(*folders: Path | None) -> Loaded:
    """Read the themes of some folders; a later file replaces an earlier one of the same name."""
    themes: dict[str, Theme] = {}
    problems: list[ThemeProblem] = []
    for folder in folders:
        if folder is None or not folder.is_dir():
            continue
        for path in sorted(folder.glob("*.toml")):
            try:
                themes[path.stem] = read_theme(path)
            except BadTheme as bad:
                problems.append(bad.problem)
    return Loaded(tuple(themes.values()), tuple(problems))


_MOUSE = (1000, 1003, 1015, 1006)
"""Modes of xterm that Textual sets to get mouse events."""


class ThemedApp(App[ReturnType]):
    """An app with our theme tokens under any theme, Textual's included, and with timed input."""

    CSS = """
    Input > .input--selection { color: $background; background: $foreground; }
    TextArea .text-area--selection { color: $background; background: $foreground; }
    ToastRack { max-height: 40%; }
    ToastRack.-above { dock: top; align: right top; margin-top: 1; margin-bottom: 0; }
    """
    graphics: Graphics | None = None
    """How the terminal shows pictures."""
    _still = False

    def __init__(self) -> None:
        super().__init__()
        if self.no_color:
            from alita_tui.console.colourless import Colourless

            self._filters[:] = [
                line_filter for line_filter in self._filters if not isinstance(line_filter, Monochrome)
            ]
            self._filters.append(Colourless(self._papers))

    def _papers(self) -> tuple[str, str]:
        return self.theme_variables["background"], self.theme_variables["alita-cursor"]

    def notify(self, message: str, **options: Any) -> None:
        """Show a toast, away from a field that is typed into. Its text is never read as markup."""
        super().notify(message, **options | {"markup": False})
        self.call_after_refresh(self._make_way)

    def complain(self, error: AlitaError) -> None:
        """Show an error in a toast."""
        self.notify(one_line(str(error)), severity="error")

    def keep_still(self) -> None:
        """Turn off blinking and animation: the person asks for reduced motion."""
        self._still = True
        self.animation_level = "none"

    def on_descendant_focus(self) -> None:
        """Move the toasts away from the focused field; with reduced motion stop its cursor from blinking."""
        if self._still and isinstance(field := self.focused, Input | TextArea):
            field.cursor_blink = False
        self.call_after_refresh(self._make_way)

    def _make_way(self) -> None:
        """Put the toasts into the half of the screen where nobody types."""
        field = self.focused
        if isinstance(field, Input | TextArea):
            for rack in self.screen.query(ToastRack):
                rack.set_class(field.region.bottom > self.size.height // 2, "-above")
                rack.scroll_end(animate=False)  # the newest one is seen

    def write_terminal(self, text: str) -> None:
        """Write a sequence to the terminal, in order with what is drawn."""
        if self._driver is not None:
            self._driver.write(text)

    @property
    def takes_mouse(self) -> bool:
        """Whether the console gets the mouse, not the terminal."""
        return self._driver is not None and self._driver._mouse

    def action_mouse(self) -> None:
        """Leave the mouse to the terminal, so that it selects and copies as usual, or take it back."""
        if self._driver is None:
            return
        ours = (
            self._driver._mouse
        ) = not self._driver._mouse  # Textual takes the mouse back only if this is set
        self.write_terminal("".join(f"\x1b[?{mode}{'h' if ours else 'l'}" for mode in _MOUSE))
        message = (
            "The mouse is alita's again."
            if ours
            else "The mouse is the terminal's: it selects as everywhere."
        )
        self.notify(message, timeout=3)

    def get_driver_class(self) -> type[Driver]:
        """Return Textual's driver, or ours for a Linux terminal."""
        chosen = super().get_driver_class()
        if chosen.__name__ != "LinuxDriver":
            return chosen
        from alita_tui.console.input.driver import TerminalDriver

        return TerminalDriver

    @cached_property
    def drafts(self) -> Drafts:
        """What is typed and not sent."""
        return Drafts()

    @cached_property
    def timing(self) -> InputTiming:
        """The timing of all input; without a terminal the time of an event counts as exact."""
        timing = getattr(self._driver, "timing", None)
        return timing if isinstance(timing, InputTiming) else InputTiming()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return our tokens for a foreign theme, from its semantic colours."""
        if f"alita-{next(iter(TOKENS))}" in self.current_theme.variables:
            return {}
        colours = self.current_theme.to_color_system().generate()
        stand_in = {"muted": "foreground", "line": "panel", "cursor": "panel"}
        return {
            f"alita-{token}": colours[stand_in.get(default, default)] for token, default in TOKENS.items()
        }
