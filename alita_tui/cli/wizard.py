"""The wizard, given what it needs of the house: presets, a real test call, and a place for the key."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alita_tui.console.ports import ConsoleOptions
    from alita_tui.console.setup import SetupChoice, SetupResult
    from alita_tui.llm.factory import ModelSpec, ProbeResult
    from alita_tui.wiring import House


async def run_wizard(house: House, options: ConsoleOptions) -> SetupResult | None:
    """Show the wizard; what it saved is in the settings and the keyring when this returns."""
    from alita_tui.config.write import set_value
    from alita_tui.console.screens.setup import SetupScreen
    from alita_tui.console.setup import SetupChoice
    from alita_tui.console.setup_app import SetupApp
    from alita_tui.llm.factory import open_model, probe
    from alita_tui.llm.keys import save_key
    from alita_tui.llm.presets import PRESETS

    async def check(choice: SetupChoice) -> ProbeResult:
        model = open_model(await asyncio.to_thread(_spec, house, choice))
        try:
            return await probe(model)
        finally:
            await model.aclose()

    def keep(choice: SetupChoice) -> str:
        where = str(house.paths.config_file)
        if choice.api_key:
            where = save_key(choice.provider, choice.api_key, house.paths.env_file)
        for key, value in (
            ("provider", choice.provider),
            ("name", choice.model),
            ("base_url", choice.base_url),
        ):
            set_value(house.paths, f"model.{key}", value)
        return where

    async def save(choice: SetupChoice) -> str:
        return await asyncio.to_thread(keep, choice)

    house.paths.prepare()
    chosen = house.loaded.settings.model
    screen = SetupScreen(
        PRESETS,
        check,
        save,
        found=await asyncio.to_thread(_found, house),
        current=None if house.demo else SetupChoice(chosen.provider, chosen.name, chosen.base_url),
    )
    result = await SetupApp(screen, options).run_async(mouse=house.loaded.settings.console.mouse)
    if result is not None and result.kind == "demo":
        await asyncio.to_thread(set_value, house.paths, "model.provider", "demo")
    return result


def _found(house: House) -> dict[str, str]:
    """Where the key of each provider is kept already."""
    from alita_tui.llm.keys import look_up
    from alita_tui.llm.presets import PRESETS

    found: dict[str, str] = {}
    for one in PRESETS:
        if one.key_name:
            key = look_up(one.name, env_file=house.paths.env_file, environ=house.environ)
            if key is not None:
                found[one.name] = key.where
    return found


def _spec(house: House, choice: SetupChoice) -> ModelSpec:
    from alita_tui.llm.factory import ModelSpec
    from alita_tui.llm.keys import find_key

    key = choice.api_key or find_key(choice.provider, env_file=house.paths.env_file, environ=house.environ)
    return ModelSpec(
        provider=choice.provider, model=choice.model, base_url=choice.base_url, api_key=key or ""
    )
