"""The wizard, given what it needs of the house: presets, a real test call, and a place for the key."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alita_tui.console.ports import ConsoleOptions
    from alita_tui.console.screens.setup import SetupScreen
    from alita_tui.console.setup import SetupChoice, SetupResult, Surroundings
    from alita_tui.llm.factory import ModelSpec, ProbeResult
    from alita_tui.llm.presets import Preset
    from alita_tui.wiring.house import House


async def run_wizard(house: House, options: ConsoleOptions) -> SetupResult | None:
    """Show the wizard by itself; what it saved is in the settings and the keyring when this returns."""
    from alita_tui.config.write import set_value
    from alita_tui.console.setup_app import SetupApp

    app = SetupApp(await wizard(house), options)
    result = await app.run_async(mouse=house.loaded.settings.console.mouse)
    if result is not None and result.kind == "demo":
        await asyncio.to_thread(set_value, house.paths, "model.provider", "demo")
    return result


async def wizard(house: House) -> SetupScreen:
    """The wizard, begun where the settings are; it tests and saves what is chosen."""
    from alita_tui.console.screens.setup import SetupScreen
    from alita_tui.console.setup import SetupChoice
    from alita_tui.llm.factory import open_model, probe
    from alita_tui.llm.presets import PRESETS

    async def check(choice: SetupChoice) -> ProbeResult:
        model = open_model(await asyncio.to_thread(_spec, house, choice))
        try:
            return await probe(model)
        finally:
            await model.aclose()

    async def save(choice: SetupChoice) -> str:
        return await asyncio.to_thread(_keep, house, choice)

    house.paths.prepare()
    chosen = house.loaded.settings.model
    return SetupScreen(
        PRESETS,
        check,
        save,
        found=await asyncio.to_thread(_found, house),
        look=lambda: look_around(house, PRESETS),
        current=None if house.demo else SetupChoice(chosen.provider, chosen.name, chosen.base_url),
    )


def _keep(house: House, choice: SetupChoice) -> str:
    """Save a choice; says where its key is, or its settings where it has none. Blocks."""
    from alita_tui.config.write import set_value
    from alita_tui.llm.keys import save_key

    where = str(house.paths.config_file)
    if choice.api_key:
        where = save_key(choice.provider, choice.api_key, house.paths.env_file)
    for key, value in (("provider", choice.provider), ("name", choice.model), ("base_url", choice.base_url)):
        set_value(house.paths, f"model.{key}", value)
    return where


_PATIENCE = 2.0
"""Seconds that a local server has to answer."""


async def look_around(house: House, presets: Sequence[Preset]) -> Surroundings:
    """Local servers on their usual ports, with their models, and the sandbox's state. Never raises."""
    from alita_tui.console.setup import Surroundings
    from alita_tui.sandbox.setup import diagnose
    from alita_tui.wiring.sandboxes import sandbox_settings

    local = [one for one in presets if one.base_url.startswith("http://127.0.0.1:")]
    checks, offers = await asyncio.gather(
        diagnose(sandbox_settings(house.paths, house.loaded.settings.sandbox)),
        asyncio.gather(*(_offers(house, one) for one in local)),
    )
    servers = {one.name: offer for one, offer in zip(local, offers, strict=True) if offer is not None}
    broken = next((check for check in checks if check.state == "problem"), None)
    if broken is None:
        return Surroundings(servers=servers, sandbox="Sandbox: ready.")
    said = f"Sandbox: {broken.detail}. {broken.hint}".replace("..", ".")
    return Surroundings(servers=servers, sandbox=said, sandbox_ready=False)


async def _offers(house: House, preset: Preset) -> tuple[str, ...] | None:
    """The models of a local server; None where nobody answers."""
    from alita_tui.llm.factory import ModelSpec, offered
    from alita_tui.llm.keys import find_key
    from alita_tui.spine.errors import ModelError

    name = preset.name
    key = await asyncio.to_thread(find_key, name, env_file=house.paths.env_file, environ=house.environ)
    spec = ModelSpec(provider=name, base_url=preset.base_url, api_key=key or "", timeout=_PATIENCE)
    try:
        return await offered(spec)
    except ModelError as error:
        return () if error.kind == "auth" else None


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
