"""The set-up wizard with its presets, a real test call, and the place where a key is saved."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alita_tui.app.context import AppContext
    from alita_tui.console.ports import ConsoleOptions
    from alita_tui.console.setup.ports import SetupChoice, SetupResult, Surroundings
    from alita_tui.console.setup.screen import SetupScreen
    from alita_tui.llm.factory import ModelSpec, ProbeResult
    from alita_tui.llm.presets import Preset


async def run_wizard(app: AppContext, options: ConsoleOptions) -> SetupResult | None:
    """Show the wizard without a session; its choice is saved when this returns. None if it was left."""
    from alita_tui.config.write import set_value
    from alita_tui.console.setup.app import SetupApp

    result = await SetupApp(await wizard(app), options).run_async(mouse=app.loaded.settings.console.mouse)
    if result is not None and result.kind == "demo":
        await asyncio.to_thread(set_value, app.paths, "model.provider", "demo")
    return result


async def wizard(app: AppContext) -> SetupScreen:
    """Return the wizard, filled with the current settings."""
    from alita_tui.console.setup.ports import SetupChoice
    from alita_tui.console.setup.screen import SetupScreen
    from alita_tui.llm.factory import open_model, probe
    from alita_tui.llm.presets import PRESETS

    async def check(choice: SetupChoice) -> ProbeResult:
        model = open_model(await asyncio.to_thread(_spec, app, choice))
        try:
            return await probe(model)
        finally:
            await model.aclose()

    async def save(choice: SetupChoice) -> str:
        return await asyncio.to_thread(_save, app, choice)

    app.paths.prepare()
    chosen = app.loaded.settings.model
    return SetupScreen(
        PRESETS,
        check,
        save,
        keys_found=await asyncio.to_thread(_saved_keys, app),
        look=lambda: look_around(app, PRESETS),
        current=None if app.demo else SetupChoice(chosen.provider, chosen.name, chosen.base_url),
    )


def _save(app: AppContext, choice: SetupChoice) -> str:
    """Save a choice; return where its key is, or its settings if it has no key. Blocks."""
    from alita_tui.config.write import set_value
    from alita_tui.llm.keys import save_key

    where = str(app.paths.config_file)
    if choice.api_key:
        where = save_key(choice.provider, choice.api_key, app.paths.env_file)
    for key, value in (("provider", choice.provider), ("name", choice.model), ("base_url", choice.base_url)):
        set_value(app.paths, f"model.{key}", value)
    return where


_LOCAL_TIMEOUT = 2.0
"""Seconds that a local server has to answer."""


async def look_around(app: AppContext, presets: Sequence[Preset]) -> Surroundings:
    """Return local servers on their usual ports, with their models, and the sandbox's state. Never raises."""
    from alita_tui.console.setup.ports import Surroundings
    from alita_tui.sandbox.setup import diagnose

    local = [preset for preset in presets if preset.base_url.startswith("http://127.0.0.1:")]
    checks, offers = await asyncio.gather(
        diagnose(app.sandbox_settings()),
        asyncio.gather(*(_offers(app, preset) for preset in local)),
    )
    servers = {preset.name: offer for preset, offer in zip(local, offers, strict=True) if offer is not None}
    broken = next((check for check in checks if check.state == "problem"), None)
    if broken is None:
        return Surroundings(servers=servers, sandbox="Sandbox: ready.")
    problem = f"Sandbox: {broken.detail}. {broken.hint}".replace("..", ".")
    return Surroundings(servers=servers, sandbox=problem, sandbox_ready=False)


async def _offers(app: AppContext, preset: Preset) -> tuple[str, ...] | None:
    """Return the models of a local server; None if nothing answers."""
    from alita_tui.llm.factory import ModelSpec, offered
    from alita_tui.llm.keys import find_key
    from alita_tui.spine.errors import ModelError

    name = preset.name
    key = await asyncio.to_thread(find_key, name, env_file=app.paths.env_file, environ=app.environ)
    spec = ModelSpec(provider=name, base_url=preset.base_url, api_key=key or "", timeout=_LOCAL_TIMEOUT)
    try:
        return await offered(spec)
    except ModelError as error:
        return () if error.kind == "auth" else None


def _saved_keys(app: AppContext) -> dict[str, str]:
    """Return where each provider's key is saved."""
    from alita_tui.llm.keys import look_up
    from alita_tui.llm.presets import PRESETS

    places: dict[str, str] = {}
    for preset in PRESETS:
        if preset.key_name:
            key = look_up(preset.name, env_file=app.paths.env_file, environ=app.environ)
            if key is not None:
                places[preset.name] = key.where
    return places


def _spec(app: AppContext, choice: SetupChoice) -> ModelSpec:
    from alita_tui.llm.factory import ModelSpec
    from alita_tui.llm.keys import find_key

    key = choice.api_key or find_key(choice.provider, env_file=app.paths.env_file, environ=app.environ)
    return ModelSpec(
        provider=choice.provider, model=choice.model, base_url=choice.base_url, api_key=key or ""
    )
