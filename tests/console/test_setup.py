from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Button, Input, OptionList

from alita_tui.config.paths import shipped
from alita_tui.console.action_table import ACTIONS
from alita_tui.console.app import AlitaApp
from alita_tui.console.help import HelpScreen
from alita_tui.console.ports import ConsoleOptions, SettingLine
from alita_tui.console.setup.app import SetupApp
from alita_tui.console.setup.ports import SetupChoice, SetupResult, Surroundings
from alita_tui.console.setup.screen import SetupScreen
from alita_tui.console.themes import ThemedApp
from alita_tui.console.widgets.plain import Plain
from alita_tui.spine.errors import ConfigError, StoreError
from tests.console.navigating import until
from tests.console.screens import Catalog, Sink, Source, at_main, covered, drawn
from tests.console.setup_lab import PROVIDERS, Seen
from tests.support import goldens


class Host(ThemedApp[None]):
    def __init__(self, **wizard: object) -> None:
        super().__init__()
        self.checked: list[SetupChoice] = []
        self.saved: list[SetupChoice] = []
        self.results: list[SetupResult | None] = []
        self.done: list[SetupResult] = []
        self.outcome: object = Seen()
        self.hold: asyncio.Event | None = None
        self.wizard = wizard

    def on_mount(self) -> None:
        self.push_screen(SetupScreen(PROVIDERS, self.check, self.save, **self.wizard), self.results.append)  # type: ignore[arg-type]

    async def check(self, choice: SetupChoice) -> Seen:
        self.checked.append(choice)
        if self.hold:
            await self.hold.wait()
        if isinstance(self.outcome, Exception):
            raise self.outcome
        assert isinstance(self.outcome, Seen)
        return self.outcome

    async def save(self, choice: SetupChoice) -> str:
        self.saved.append(choice)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return "keyring"

    def on_setup_screen_done(self, message: SetupScreen.Done) -> None:
        self.done.append(message.result)

    def fill(self, **values: str) -> None:
        for name, value in values.items():
            self.screen.query_one(f"#{name.replace('_', '-')}", Input).value = value

    def said(self) -> str:
        return str(self.screen.query_one("#result", Plain).content)


def surroundings(**more: Any):
    async def look() -> Surroundings:
        return Surroundings(
            **{"servers": {"local": ("qwen3:8b", "llama")}, "sandbox": "Sandbox: ready.", **more}
        )

    return look


async def test_a_local_server_that_runs_is_proposed_with_its_model() -> None:
    app = Host(look=surroundings(sandbox="Sandbox: podman is missing.", sandbox_ready=False))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.screen.query_one("#model", Input).value == "qwen3:8b"
        assert str(app.screen.query_one("#where", Plain).content) == "Everything stays on this machine."
        assert "qwen3:8b, llama" in app.said()
        state = app.screen.query_one("#sandbox-state", Plain)
        assert (str(state.content), state.has_class("-bad")) == ("Sandbox: podman is missing.", True)


async def test_a_detected_server_does_not_override_a_choice_or_a_key() -> None:
    for wizard in (
        {"keys_found": {"acme": "environment"}},
        {"current": SetupChoice("custom", "mine", "http://10.0.0.5/v1")},
    ):
        app = Host(look=surroundings(), **wizard)
        async with app.run_test(size=(80, 24)) as pilot:
            await app.workers.wait_for_complete()
            await pilot.pause()
            assert app.screen.query_one("#model", Input).value in ("acme-large", "mine")
            assert " go to " in str(app.screen.query_one("#where", Plain).content)


async def test_a_provider_with_a_present_key_is_listed_first() -> None:
    app = Host(keys_found={"custom": "keyring"})
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert app.screen.query_one(OptionList).highlighted == 2


async def test_a_model_is_tried_then_saved() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert isinstance(app.focused, OptionList)
        app.fill(key="sk-secret")
        await pilot.press("ctrl+t")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.checked == [SetupChoice("acme", "acme-large", "", "sk-secret")]
        said = app.said()
        assert "It answers, in 0.8 s" in said
        assert "✔ streams" in said
        assert "✖ price known" in said
        await pilot.press("ctrl+s")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.results == app.done
        (result,) = app.done
        assert (result.kind, result.saved) == ("model", "keyring")
        assert result.choice == app.saved[0] == app.checked[0]
        assert "sk-secret" not in repr(result)


async def test_the_key_is_never_on_screen() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.screen.query_one("#key", Input).focus()
        await pilot.press(*"topsecret")
        await pilot.pause()
        assert "topsecret" not in app.export_screenshot()
        assert app.screen.query_one("#key", Input).value == "topsecret"


async def test_a_missing_field_is_named_and_focused() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+t")
        assert "Acme needs a key" in app.said()
        assert app.focused is app.screen.query_one("#key")
        app.fill(model=" ", key="k")
        await pilot.press("ctrl+s")
        assert app.focused is app.screen.query_one("#model")
        for address in ("api.acme.example", "ftp://x/", "http://", "https://[::bad"):
            app.fill(model="m", base_url=address)
            await pilot.press("ctrl+t")
            assert "https://" in app.said()
            assert app.focused is app.screen.query_one("#base-url")
        assert app.checked == app.saved == []


async def test_a_key_that_is_stored_already_need_not_be_typed() -> None:
    app = Host(keys_found={"acme": "keyring"})
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "Found: keyring." in str(app.screen.query_one("#key-note", Plain).content)
        await pilot.press("ctrl+s")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.saved == [SetupChoice("acme", "acme-large", "", "")]


async def test_choosing_another_provider_fills_its_fields() -> None:
    app = Host()
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        app.fill(key="for-acme-only")
        await pilot.press("down")
        await pilot.pause()
        assert app.screen.query_one("#base-url", Input).value == "http://127.0.0.1:11434/v1"
        assert app.screen.query_one("#key", Input).value == "", "one provider's key is not sent to another"
        await pilot.press("enter")
        assert app.focused is app.screen.query_one("#model")
        await pilot.press(*"qwen", "enter", "enter")
        app.fill(base_url="http://127.0.0.1:9999/v1")
        await pilot.press("ctrl+t")
        await app.workers.wait_for_complete()
        assert app.checked == [SetupChoice("local", "qwen", "http://127.0.0.1:9999/v1", "")]


async def test_a_failed_model_call_says_why_and_what_to_do() -> None:
    app = Host(keys_found={"acme": "environment"})
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for outcome in (
            Seen(ok=False, text="401: the key was refused [/b].", hint="Check the key."),
            ConfigError("401: the key was refused [/b].", hint="Check the key."),
        ):
            app.outcome = outcome
            await pilot.press("ctrl+t")
            await app.workers.wait_for_complete()
            await pilot.pause()
            assert app.said() == "401: the key was refused [/b].\nCheck the key."
        app.outcome = StoreError("The disk is full.", hint="Free some space.")
        await pilot.press("ctrl+s")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.said() == "The disk is full.\nFree some space."
        assert app.done == []


async def test_the_wizard_stays_usable_while_a_call_hangs() -> None:
    app = Host(keys_found={"acme": "environment"})
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.hold = asyncio.Event()
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert "Asking acme-large" in app.said()
        await pilot.press("down", "up", "escape")
        await pilot.pause()
        assert [result.kind for result in app.done] == ["skipped"]


async def test_the_demo_needs_nothing_and_mouse_works_too() -> None:
    for act in ("key", "mouse"):
        app = Host()
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            await (pilot.press("ctrl+d") if act == "key" else pilot.click("#demo"))
            await pilot.pause()
            assert app.done == [SetupResult("demo")]


async def test_the_wizard_can_be_opened_again_from_the_settings() -> None:
    app = Host(current=SetupChoice("local", "qwen3:8b", "http://10.0.0.5:11434/v1"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert app.screen.query_one(OptionList).highlighted == 1
        assert app.screen.query_one("#model", Input).value == "qwen3:8b"
        assert app.screen.query_one("#base-url", Input).value == "http://10.0.0.5:11434/v1"
        assert {button.id for button in app.screen.query(Button)} == {"test", "save", "demo", "skip"}


class Furnished(Catalog):
    """Has a wizard, and remembers what it keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[object] = []

    async def wizard(self) -> SetupScreen:
        async def check(_choice: SetupChoice) -> Seen:
            return Seen()

        async def save(choice: SetupChoice) -> str:
            self.kept.append(choice)
            return "keyring"

        return SetupScreen(PROVIDERS, check, save, current=SetupChoice("local", "qwen3:8b", ""))

    async def change_setting(self, key: str, value: str) -> tuple[SettingLine, ...]:
        self.kept.append((key, value))
        return ()


@pytest.mark.parametrize(
    ("key", "kept"),
    [
        ("ctrl+s", [SetupChoice("local", "qwen3:8b", "")]),
        ("ctrl+d", [("model.provider", "demo")]),
        ("escape", []),
    ],
)
async def test_the_wizard_opens_over_a_session_and_takes_all_keys(key: str, kept: list[object]) -> None:
    catalog = Furnished()
    options = ConsoleOptions(builtin_themes=shipped("themes"), theme="alita-dark", reduced_motion=True)
    app = AlitaApp(Source(goldens.walkthrough()), Sink(), catalog=catalog, options=options)
    async with app.run_test(size=(120, 36)) as pilot:
        await drawn(pilot, goldens.walkthrough()[-1].seq)
        await pilot.press("f12")
        await covered(pilot)
        assert isinstance(app.screen, SetupScreen)
        await pilot.press("ctrl+o", key)  # the sheet of money stays closed
        async with asyncio.timeout(180):
            while not at_main(app):
                await pilot.pause(0.01)
        await pilot.pause()
        assert catalog.kept == kept
        told = [one.message for one in app._notifications]
        assert told == (["Takes effect in the next session."] if kept else [])


async def test_the_setup_wizard_is_in_the_palette() -> None:
    assert any(one.id == "app.setup" and one.palette for one in ACTIONS)


async def test_f1_lists_the_keys_of_the_wizard_at_the_first_start_too(tmp_path: Path) -> None:
    async def check(_choice: SetupChoice) -> Seen:
        return Seen()

    async def save(_choice: SetupChoice) -> str:
        return ""

    (tmp_path / "keymap.toml").write_text('[keys]\n"setup.test" = "ctrl+e"\n', "utf-8")
    options = ConsoleOptions(
        builtin_themes=shipped("themes"), theme="alita-dark", keymap=tmp_path / "keymap.toml"
    )
    app = SetupApp(SetupScreen(PROVIDERS, check, save), options)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, SetupScreen))
        assert "Ctrl+E" in str(app.screen.query_one("#test", Button).label)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        assert isinstance(app.screen, HelpScreen)
        listed = {key.action.id: key.key for part in app.screen.sections for key in part.keys}
        assert listed["setup.test"] == "Ctrl+E" and listed["setup.save"] == "Ctrl+S"
        assert {"setup.demo", "setup.skip"} <= set(listed)
        how = str(app.screen.query_one("#said", Plain).render())
        assert "[keys]" in how and "keymap.toml" in how, "as the file that was read above"
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, SetupScreen))
