"""Themes: every built-in is legible, a bad file says why, no colour stands anywhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import Theme

import alita_tui
from alita_tui.config.paths import shipped
from alita_tui.console.session.trace import Trace
from alita_tui.console.themes import PALETTE, TOKENS, BadTheme, ThemedApp, load, read_theme
from alita_tui.console.widgets.styled_text import theme_styles
from tests.console.screens import console, drawn
from tests.support import goldens

BUILT_IN = sorted(shipped("themes").glob("*.toml"))
GOOD = (shipped("themes") / "alita-dark.toml").read_text("utf-8")


def contrast(theme: Theme) -> dict[tuple[str, str], float]:
    """WCAG 2.2 contrast ratios, 1 to 21, of every text token on every surface of a theme."""
    surfaces = {
        "background": theme.background,
        "surface": theme.surface,
        "panel": theme.panel,
        "cursor": theme.variables["alita-cursor"],
    }
    texts = {token: theme.variables[f"alita-{token}"] for token in TOKENS if token not in ("line", "cursor")}
    texts |= {"foreground": theme.foreground or "", "primary": theme.primary, "accent": theme.accent or ""}
    return {
        (text, surface): ratio(Color.parse(ink), Color.parse(paper or ""))
        for text, ink in texts.items()
        for surface, paper in surfaces.items()
    }


def ratio(one: Color, other: Color) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: Color) -> float:
    def linear(part: float) -> float:
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(part / 255) for part in (colour.r, colour.g, colour.b))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("path", BUILT_IN, ids=lambda path: path.stem)
def test_every_text_is_legible_on_every_surface(path: Path) -> None:
    theme = read_theme(path)
    least = 7.0 if theme.name.startswith("high-contrast") else 4.5
    poor = {pair: round(ratio, 2) for pair, ratio in contrast(theme).items() if ratio < least}
    assert poor == {}


def test_there_are_dark_and_light_themes() -> None:
    loaded = load(shipped("themes"))
    assert loaded.problems == ()
    assert {"alita-dark", "alita-light", "high-contrast", "high-contrast-light"} <= {
        theme.name for theme in loaded.themes
    }
    assert loaded.pick("auto", dark=True) == "alita-dark"
    assert loaded.pick("auto", dark=False) == "alita-light"
    assert loaded.pick("ember", dark=False) == "ember"
    assert loaded.pick("no such theme", dark=False) == "alita-light"


@pytest.mark.parametrize(
    ("change", "key", "value", "reason"),
    [
        (("primary    =", "primary    = 3 #"), "palette.primary", "3", "not a solid colour"),
        (('"#7fb4f5"', '"bluish"'), "palette.primary", "bluish", "not a solid colour"),
        (('"#7fb4f5"', '"#7fb4f580"'), "palette.primary", "#7fb4f580", "not a solid colour"),
        (('"#7fb4f5"', '"ansi_red"'), "palette.primary", "ansi_red", "not a solid colour"),
        (("dark       = true", 'dark = "yes"'), "palette.dark", "yes", "true or false"),
        (("[alita]", "[alita]\nbuilds = 'red'"), "alita.builds", "red", "unknown"),
        (("accent     =", "# accent ="), "palette.accent", "", "is missing"),
        (("[palette]", "[colours]"), "[palette]", "", "needs a table"),
    ],
)
def test_an_invalid_theme_is_reported_with_file_key_value_and_reason(
    tmp_path: Path, change: tuple[str, str], key: str, value: str, reason: str
) -> None:
    assert change[0] in GOOD
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(*change), "utf-8")
    with pytest.raises(BadTheme) as caught:
        read_theme(path)
    problem = caught.value.problem
    assert (problem.file, problem.key, problem.value) == ("mine.toml", key, value)
    assert reason in problem.reason
    assert all(part in str(problem) for part in ("mine.toml", key, value))


def test_an_invalid_theme_does_not_affect_the_others(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("[palette", "utf-8")
    (tmp_path / "mine.toml").write_text(GOOD, "utf-8")
    (tmp_path / "alita-light.toml").write_text(GOOD, "utf-8")
    loaded = load(shipped("themes"), tmp_path, None, tmp_path / "nowhere")
    assert [problem.file for problem in loaded.problems] == ["broken.toml"]
    names = [theme.name for theme in loaded.themes]
    assert "mine" in names
    assert names.count("alita-light") == 1
    assert next(theme for theme in loaded.themes if theme.name == "alita-light").dark


def test_tokens_default_from_the_palette(tmp_path: Path) -> None:
    path = tmp_path / "plain.toml"
    path.write_text(GOOD.partition("[alita]")[0], "utf-8")
    theme = read_theme(path)
    assert theme.variables["alita-hostile"] == theme.error
    assert set(TOKENS.values()) <= {*PALETTE}


async def test_every_theme_works_on_the_bare_app_and_so_do_textuals_own() -> None:
    app = ThemedApp[None]()
    async with app.run_test() as pilot:
        for theme in load(shipped("themes")).themes:
            app.register_theme(theme)
        for name in app.available_themes:
            app.theme = name
            await pilot.pause()
            assert app.theme_variables["alita-thought"]


def test_colours_are_defined_in_theme_files_only() -> None:
    package = Path(alita_tui.__file__).parent
    hex_colour = re.compile(r"""["':\s]#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})\b""")
    found = [
        f"{path.relative_to(package)}: {match[0].strip()}"
        for path in [*package.rglob("*.py"), *package.rglob("*.tcss")]
        for match in hex_colour.finditer(path.read_text("utf-8"))
        if "_shipped" not in path.parts
        and "such as #" not in path.read_text("utf-8")[match.start() - 8 : match.end()]
    ]
    assert found == []


@pytest.mark.parametrize("path", BUILT_IN, ids=lambda path: path.stem)
def test_what_is_selected_and_what_has_the_focus_is_legible(path: Path) -> None:
    theme = read_theme(path)
    pairs = {
        "screen selection": ("screen-selection-foreground", "screen-selection-background"),
        "block cursor": ("block-cursor-foreground", "block-cursor-background"),
        "blurred block cursor": ("block-cursor-blurred-foreground", "block-cursor-blurred-background"),
        "cursor of a field": ("input-cursor-foreground", "input-cursor-background"),
    }
    ratios = {
        name: ratio(Color.parse(theme.variables[ink]), Color.parse(theme.variables[paper]))
        for name, (ink, paper) in pairs.items()
    }
    # What shows where the selection ends, and which pane has the focus: its title in the accent, and bold.
    ratios["selection beside none"] = ratio(
        Color.parse(theme.variables["screen-selection-background"]), Color.parse(theme.background or "")
    )
    ratios["title of what has the focus"] = ratio(
        Color.parse(theme.accent or ""), Color.parse(theme.background or "")
    )
    assert {name: round(ratio, 2) for name, ratio in ratios.items() if ratio < 4.5} == {}


async def test_selected_text_is_drawn_in_the_two_colours_that_are_tested() -> None:
    app = ThemedApp[None]()
    async with app.run_test():
        styles = theme_styles(app.theme_variables, ("selected", "muted"))
        both = styles["muted"] + styles["selected"]
        assert both.color == styles["selected"].color and both.bgcolor == styles["selected"].bgcolor
        assert styles["selected"].color is not None


async def test_without_colour_there_is_no_grey_and_the_cursor_is_still_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    envelopes = goldens.waiting()
    app = console(envelopes)
    async with app.run_test(size=(100, 30)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        await pilot.press("f2", "up")
        await pilot.pause()
        segments = [
            segment
            for strip in app.screen._compositor.render_strips()
            for segment in strip.apply_filter(app._filters[-1], Color.parse("black"))
        ]
        reversed_text = "".join(one.text for one in segments if one.style is not None and one.style.reverse)
        assert " RECORDED " in reversed_text, "a badge"
        row = app.main.query_one(Trace)
        assert 0 <= row.cursor and len(reversed_text.strip()) > 20, "the row with the cursor"
        coloured = [
            segment
            for segment in segments
            if segment.style is not None
            and any(
                one is not None and not one.is_default for one in (segment.style.color, segment.style.bgcolor)
            )
        ]
        assert coloured == []
        assert not any(segment.style is not None and segment.style.dim for segment in segments)


async def test_a_mistyped_theme_gets_the_nearest_suggestion() -> None:
    envelopes = goldens.golden("golden-exit")
    app = console(envelopes, theme="alita-drak")
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, envelopes[-1].seq)
        told = [toast.message for toast in app._notifications]
    assert any("'alita-drak'. Did you mean alita-dark" in message for message in told), told
