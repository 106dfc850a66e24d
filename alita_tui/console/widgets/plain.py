"""A Static without markup: text of models, tools and the web is data."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static


class Plain(Static):
    """Shows plain text, or a `Content` with its styles."""

    def __init__(
        self,
        text: str | Content = "",
        *,
        name: str | None = None,
        id: str | None = None,  # Textual's own name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(text, markup=False, name=name, id=id, classes=classes)
