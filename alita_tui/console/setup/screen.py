"""The setup wizard: provider, model, address, key and a test call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Button, Input, OptionList
from textual.widgets.option_list import Option
from textual.worker import Worker, WorkerState

from alita_tui.console.actions import bindings, shown_keys
from alita_tui.console.setup.form import SetupForm
from alita_tui.console.setup.ports import Preset, Probe, SetupChoice, SetupResult, Surroundings
from alita_tui.console.widgets.plain import Plain
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.text import one_line


class SetupScreen(Screen[SetupResult]):
    """Takes presets and two async callables: one tries a choice, one saves it and says where.

    `keys_found` names, for each provider whose key is there already, where it is.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("setup")
    CSS_PATH = "screen.tcss"

    @dataclass
    class Done(Message):
        """The wizard ended. Posted to the app before the screen is dismissed with the same result."""

        result: SetupResult

    def __init__(
        self,
        presets: Sequence[Preset],
        check: Callable[[SetupChoice], Awaitable[Probe]],
        save: Callable[[SetupChoice], Awaitable[str]],
        *,
        keys_found: Mapping[str, str] | None = None,
        current: SetupChoice | None = None,
        look: Callable[[], Awaitable[Surroundings]] | None = None,
    ) -> None:
        """`look` finds out in the background what is on this machine."""
        super().__init__()
        self._look = look
        self._around = Surroundings()
        self._touched = current is not None
        self._presets = tuple(presets)
        self._check = check
        self._save = save
        self._keys_found = dict(keys_found or {})
        self._current = current

    def compose(self) -> ComposeResult:
        """Providers, fields, buttons and result."""
        keys = shown_keys(self)
        with Vertical(id="wizard"):
            yield Plain("Which model should do the thinking?", id="title")
            yield Plain(
                "A key goes to your keyring, or to a file that only you can read. Nothing is sent before you test.",
                id="lead",
            )
            with Horizontal(id="form"):
                yield OptionList(
                    *(
                        Option(Content(f" {preset.label}"), id=str(number))
                        for number, preset in enumerate(self._presets)
                    ),
                    markup=False,
                    id="providers",
                )
                yield SetupForm(self._presets[0], self._keys_found)
            with Horizontal(id="buttons"):
                yield Button(f"Test  {keys['test']}", id="test", compact=True)
                yield Button(f"Save  {keys['save']}", id="save", compact=True, variant="primary")
                yield Button(f"Recorded demo  {keys['demo']}", id="demo", compact=True)
                yield Button(f"Skip  {keys['skip']}", id="skip", compact=True)
            yield Plain(id="result", classes="-muted")
            yield Plain(id="sandbox-state")

    def on_mount(self) -> None:
        """Select the current provider, or one with a key, or the first."""
        names = [preset.name for preset in self._presets]
        current = self._current
        keyed = next(
            (number for number, preset in enumerate(self._presets) if preset.name in self._keys_found), 0
        )
        index = names.index(current.provider) if current and current.provider in names else keyed
        self._choose(self._presets[index], current if current and current.provider in names else None)
        providers = self.query_one(OptionList)
        providers.highlighted = index
        providers.focus()
        if self._look is not None:
            self.run_worker(
                self._look_around(self._look), name="setup-look", group="look", exit_on_error=False
            )

    async def _look_around(self, look: Callable[[], Awaitable[Surroundings]]) -> None:
        """Show what was found; propose a local server if nothing was chosen yet."""
        around = self._around = await look()
        providers = self.query_one(OptionList)
        for index, preset in enumerate(self._presets):
            if preset.name in around.servers:
                label = Content.assemble(f" {preset.label}  ", ("● runs", "$alita-good"))
                providers.replace_option_prompt_at_index(index, label)
        state = self.query_one("#sandbox-state", Plain)
        state.update(one_line(around.sandbox, 200))
        state.set_class(not around.sandbox_ready, "-bad")
        running = [index for index, preset in enumerate(self._presets) if preset.name in around.servers]
        if running and not self._touched and not self._keys_found:
            providers.highlighted = running[0]
        elif self.form.preset.name in around.servers:
            self._propose()

    def _propose(self) -> None:
        """Propose a model of the local server, if the field is empty."""
        models = self._around.servers.get(self.form.preset.name, ())
        if models and self.form.propose(models[0]):
            more = f" It has {', '.join(map(one_line, models[:4]))}." if len(models) > 1 else ""
            self.say(f"A server answers here.{more}", "muted")

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        preset = self._presets[event.option_index]
        stale = event.option_index != event.option_list.highlighted
        if preset is not self.form.preset and not stale:
            self._choose(preset)

    def on_key(self) -> None:
        """Stop preselecting after the first key."""
        self._touched = True

    @on(OptionList.OptionSelected)
    def _selected(self) -> None:
        self.query_one("#model", Input).focus()

    @property
    def form(self) -> SetupForm:
        """The fields of the selected provider."""
        return self.query_one(SetupForm)

    def _choose(self, preset: Preset, choice: SetupChoice | None = None) -> None:
        self.form.show(preset, choice)
        self.say("", "muted")
        self._propose()

    def say(self, text: str | Content, tone: str) -> None:
        """Show a result; `tone` is `good`, `bad` or `muted`."""
        result = self.query_one("#result", Plain)
        result.update(text)
        result.set_classes(f"-{tone}")

    def choice(self) -> SetupChoice | None:
        """Return the form's content; None if something is missing, after showing what."""
        if problem := self.form.missing():
            self.say(problem, "bad")
            return None
        return self.form.choice

    # --- test, save, leave --------------------------------------------------------------

    @on(Button.Pressed)
    async def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        await self.run_action(event.button.id or "skip")

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.screen.focus_next()

    def action_test(self) -> None:
        """Test the choice with a small real call."""
        if choice := self.choice():
            self.say(f"Asking {choice.model} …", "muted")
            self._work(self._try(choice), "setup-test")

    def action_save(self) -> None:
        """Save the choice."""
        if choice := self.choice():
            self.say("Saving …", "muted")
            self._work(self._keep(choice), "setup-save")

    def action_demo(self) -> None:
        """Use the recorded model, which needs neither key nor network."""
        self._end(SetupResult("demo"))

    def action_skip(self) -> None:
        """Close without changes."""
        self._end(SetupResult("skipped"))

    def _work(self, job: Awaitable[None], name: str) -> None:
        self.run_worker(job, name=name, group="setup", exclusive=True, exit_on_error=False)

    async def _try(self, choice: SetupChoice) -> None:
        try:
            probe = await self._check(choice)
        except AlitaError as error:
            self.say(_two(error.message, error.hint), "bad")
            return
        if not probe.ok:
            self.say(_two(probe.text or "The call gave no usable reply.", probe.hint), "bad")
            return
        abilities = {
            "streams": probe.streams,
            "calls tools": probe.calls_tools,
            "reports usage": probe.reports_usage,
            "price known": probe.has_price,
        }
        marks = " · ".join(f"{'✔' if present else '✖'} {name}" for name, present in abilities.items())
        self.say(_two(f"It answers, in {probe.total_ms / 1000:.1f} s: {marks}", probe.text), "good")

    async def _keep(self, choice: SetupChoice) -> None:
        try:
            saved_to = await self._save(choice)
        except AlitaError as error:
            self.say(_two(error.message, error.hint), "bad")
            return
        self._end(SetupResult("model", choice, saved_to))

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Show an unexpected error of a test or save."""
        if event.state is WorkerState.ERROR:
            error = event.worker.error
            self.say(f"That broke off: {one_line(f'{type(error).__name__}: {error}')}", "bad")

    def _end(self, result: SetupResult) -> None:
        self.workers.cancel_group(self, "setup")
        self.app.post_message(self.Done(result))
        self.dismiss(result)


def _two(text: str, more: str) -> str:
    return "\n".join(one_line(part, 400) for part in (text, more) if part)
