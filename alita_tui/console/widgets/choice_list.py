"""A list that says which option is chosen, and keeps it chosen when it is filled again."""

from __future__ import annotations

from collections.abc import Sequence

from textual.widgets import OptionList
from textual.widgets.option_list import Option


class ChoiceList(OptionList):
    """Options with ids. Their text may come from models, tools or the web, so it is never read as markup."""

    def __init__(self, *, id: str = "list") -> None:
        super().__init__(id=id, markup=False)

    @property
    def chosen_id(self) -> str:
        """The id of the option at the cursor; empty for none."""
        option = self.highlighted_option
        return (option.id or "") if option is not None else ""

    def fill(self, options: Sequence[Option], empty: str) -> None:
        """Show these options, or the text `empty` if there are none.

        If the chosen option is no longer among them, the cursor stays at its index.
        """
        chosen, index = self.chosen_id, self.highlighted or 0
        self.clear_options()
        self.add_options(options or [Option(empty, disabled=True)])
        ids = [option.id for option in options]
        if ids:
            self.highlighted = ids.index(chosen) if chosen in ids else min(index, len(ids) - 1)
