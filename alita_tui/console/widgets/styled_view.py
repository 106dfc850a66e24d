"""A view whose lines are drawn in the colours of the theme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rich.style import Style
from textual.scroll_view import ScrollView

from alita_tui.console.widgets.styled_text import theme_styles


class StyledView(ScrollView):
    """Base of the views that draw line by line."""

    STYLES: ClassVar[tuple[str, ...]] = ()
    """Names of the styles that the lines use."""
    SPECS: ClassVar[Mapping[str, str]] = {}
    """Definitions of some of them, for `theme_styles`."""
    _cached_styles: dict[str, Style] | None = None

    @property
    def _styles(self) -> dict[str, Style]:
        """The styles under the current theme."""
        if self._cached_styles is None:
            self._cached_styles = theme_styles(self.app.theme_variables, self.STYLES, **self.SPECS)
        return self._cached_styles

    def notify_style_update(self) -> None:
        """Drop the cached styles: the theme may have changed."""
        super().notify_style_update()
        self._cached_styles = None
        self.refresh()
