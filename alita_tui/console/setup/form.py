"""The wizard's fields: model, address and key, with a note on where data goes."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from alita_tui.console.setup.ports import Preset, SetupChoice
from alita_tui.console.widgets.plain import Plain
from alita_tui.spine.text import one_line


class SetupForm(Vertical):
    """One provider's fields. `keys_found` names, for each provider whose key is there already, where it is."""

    DEFAULT_CSS = """
    SetupForm {
        width: 1fr; height: 100%; padding-left: 2;
        Plain { height: 1; color: $alita-muted; }
        #model, #base-url, #key { height: 1; border: none; padding: 0 1; margin-bottom: 1; background: $surface; }
        #model:focus, #base-url:focus, #key:focus {
            border: none; background: $alita-cursor; background-tint: transparent;
        }
        #key-note { height: 1; }
        #where { height: 2; color: $foreground; }
    }
    """

    def __init__(self, preset: Preset, keys_found: Mapping[str, str]) -> None:
        super().__init__(id="fields")
        self.preset = preset
        self._keys_found = keys_found

    def compose(self) -> ComposeResult:
        """Three fields, a note under the key, and a line on where data goes."""
        yield Plain("Model")
        yield Input(compact=True, id="model")
        yield Plain("Address")
        yield Input(compact=True, id="base-url")
        yield Plain("Key", id="key-label")
        yield Input(compact=True, password=True, id="key")
        yield Plain(id="key-note")
        yield Plain(id="where")

    def show(self, preset: Preset, choice: SetupChoice | None = None) -> None:
        """Show a provider's defaults, or an earlier choice."""
        self.preset = preset
        model, address, key = (self.query_one(name, Input) for name in ("#model", "#base-url", "#key"))
        model.value = choice.model if choice else preset.model
        model.placeholder = "the model's name, as the server knows it"
        address.value = choice.base_url if choice and choice.base_url else preset.base_url
        address.placeholder = "https://host/v1"
        key.value = ""
        key_source = self._keys_found.get(preset.name, "")
        key.placeholder = (
            "leave empty to keep it" if key_source else "" if preset.needs_key else "only if it asks for one"
        )
        note = f"Found: {one_line(key_source)}." if key_source else f"Or export {preset.key_name}=…"
        self.query_one("#key-note", Plain).update(note)

    def propose(self, model: str) -> bool:
        """Fill in a model; return False if one is there already."""
        field = self.query_one("#model", Input)
        if field.value:
            return False
        field.value = model
        return True

    @property
    def choice(self) -> SetupChoice:
        """The content of the fields."""
        model, address, key = (
            self.query_one(name, Input).value.strip() for name in ("#model", "#base-url", "#key")
        )
        return SetupChoice(self.preset.name, model, "" if address == self.preset.base_url else address, key)

    def missing(self) -> str:
        """Return what is wrong with the first invalid field, and focus it; empty if all are valid."""
        choice, address = self.choice, self.query_one("#base-url", Input).value.strip()
        parts = _parts(address)
        name, problem = "", ""
        if not choice.model:
            name, problem = "#model", "Which model? Write the name that the server knows it by."
        elif parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            name, problem = "#base-url", "The address begins with https:// or http:// and names a host."
        elif self.preset.needs_key and not choice.api_key and self.preset.name not in self._keys_found:
            name, problem = "#key", f"{one_line(self.preset.label)} needs a key."
        if name:
            self.query_one(name, Input).focus()
        return problem

    @on(Input.Changed, "#base-url")
    def _tell_where(self, event: Input.Changed) -> None:
        """Show where data goes."""
        parts = _parts(event.value.strip())
        host = (parts.hostname if parts else "") or ""
        local = host in ("localhost", "::1") or host.startswith("127.")
        text = (
            "Everything stays on this machine."
            if local
            else f"Your tasks, tool code and what is read for them go to {one_line(host, 60)}."
            if host
            else ""
        )
        self.query_one("#where", Plain).update(text)


def _parts(address: str) -> SplitResult | None:
    """Split an address; return None if it is invalid."""
    try:
        parts = urlsplit(address)
        return parts if parts.port != 0 else None
    except ValueError:
        return None
