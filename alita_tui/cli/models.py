"""`alita models`: which models there are, whether they work, and which one works here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from alita_tui.cli.output import Json, json_document, table
from alita_tui.spine.errors import UsageError
from alita_tui.spine.events import ModelRole
from alita_tui.spine.text import neutralise

if TYPE_CHECKING:
    from alita_tui.config.models import ModelEntry
    from alita_tui.llm.factory import ProbeResult
    from alita_tui.wiring.house import House

app = typer.Typer(help="Language models.", no_args_is_help=True, rich_markup_mode=None)
BaseUrl = Annotated[str, typer.Option("--base-url", help="Address of the server.", metavar="URL")]
ROLES: tuple[ModelRole, ...] = get_args(ModelRole)


@app.command("list")
def list_models(
    context: typer.Context,
    provider: Annotated[str, typer.Argument(help="Ask this provider's server which models it has.")] = "",
    base_url: BaseUrl = "",
    json: Json = False,
) -> None:
    """List the configured models by role, or what a provider's server offers."""
    from alita_tui.wiring.house import House

    house = House.open(context.obj)
    if provider:
        return _offered(house, provider, base_url, json=json)
    roles = {role: [entry.text for entry in house.candidates(role)] for role in ROLES}
    known = house.loaded.settings.models.known
    if json:
        return json_document({"roles": roles, "known": known})
    if house.demo:
        typer.echo("No model is configured: the recorded demo answers. Choose one with `alita setup`.")
        return None
    rows = (
        (role, str(place), text) for role, listed in roles.items() for place, text in enumerate(listed, 1)
    )
    table(("ROLE", "PLACE", "MODEL"), rows)
    for text in known:
        typer.echo(f"known: {neutralise(text)}")
    return None


def _offered(house: House, provider: str, base_url: str, *, json: bool) -> None:
    from alita_tui.config.models import ModelEntry
    from alita_tui.llm.factory import offered

    settings = house.loaded.settings.model
    address = base_url or (settings.base_url if provider == settings.provider else "")
    names = asyncio.run(offered(house.model_spec(ModelEntry(provider=provider, name="", base_url=address))))
    if json:
        json_document(names)
    elif not names:
        typer.echo(f"The server of {neutralise(provider)} lists no models; name one yourself.")
    for name in names if not json else ():
        typer.echo(f"{neutralise(provider)}:{neutralise(name)}")


@app.command("test")
def test_model(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="provider:name; all configured ones.")] = "",
    base_url: BaseUrl = "",
    json: Json = False,
) -> None:
    """Make one small real call and say what works, and how fast."""
    from alita_tui.config.models import known_models, read_entry
    from alita_tui.wiring.house import House

    house = House.open(context.obj)
    entries = configured(house)
    if model:
        option = f"; base_url={base_url}" if base_url else ""
        known = (*entries, *known_models(house.loaded.settings))
        entries = (read_entry(model + option, "the model", known),)
    results = asyncio.run(_test_all(house, entries))
    if json:
        json_document({entry.full_name: result for entry, result in zip(entries, results, strict=True)})
    else:
        for entry, result in zip(entries, results, strict=True):
            _tell(entry, result)
    if not all(result.ok for result in results):
        raise typer.Exit(1)


def configured(house: House) -> tuple[ModelEntry, ...]:
    """Every model that some role may use, once each. Raises ConfigError."""
    found = {entry.text: entry for role in ROLES for entry in house.candidates(role)}
    return tuple(found.values())


async def _test_all(house: House, entries: tuple[ModelEntry, ...]) -> list[ProbeResult]:
    return [await house.probe(entry) for entry in entries]


def _tell(entry: ModelEntry, result: ProbeResult) -> None:
    typer.echo(f"{neutralise(entry.full_name)}: {'works' if result.ok else 'does not work'}")
    if result.error is None and result.total_ms:
        said = (
            ("streaming", result.streams), ("tool calls", result.calls_tools),
            ("usage", result.reports_usage), ("price", result.has_price),
        )  # fmt: skip
        typer.echo("  " + ", ".join(f"{what}: {'yes' if works else 'no'}" for what, works in said))
        speed = f", {result.tokens_per_second:.0f} tokens/s" if result.tokens_per_second else ""
        first = f"first piece after {result.first_piece_ms:.0f} ms, " if result.streams else ""
        typer.echo(f"  {first}whole reply after {result.total_ms:.0f} ms{speed}")
    for line in filter(None, (result.text, result.hint)):
        typer.echo(f"  {neutralise(line)}")


@app.command("add")
def add(
    context: typer.Context,
    model: Annotated[
        str, typer.Argument(help='provider:name, with options as in "ollama:qwen3; context=32768".')
    ],
    base_url: BaseUrl = "",
    role: Annotated[str, typer.Option("--role", help="Also put it last in this role's list.")] = "",
) -> None:
    """Remember a model, and let a role use it where its other models cannot answer."""
    from alita_tui.config.models import known_models, read_entry
    from alita_tui.config.write import set_value
    from alita_tui.llm.presets import preset
    from alita_tui.wiring.house import House

    wanted = next((one for one in ROLES if one == role), None)
    if role and wanted is None:
        raise UsageError(f"There is no role {role!r}.", hint=f"The roles are {', '.join(ROLES)}.")
    house = House.open(context.obj, strict=False)
    settings = house.loaded.settings
    entry = read_entry(model + (f"; base_url={base_url}" if base_url else ""), "the model")
    preset(entry.provider)
    others = [one.text for one in known_models(settings) if one.full_name != entry.full_name]
    set_value(house.paths, "models.known", [*others, entry.text])
    if wanted is not None:
        listed = list(getattr(settings.roles, role)) or [one.full_name for one in _present(house, wanted)]
        if entry.full_name not in (text.partition(";")[0].strip() for text in listed):
            set_value(house.paths, f"roles.{role}", [*listed, entry.full_name])
    typer.echo(f"{neutralise(entry.text)}  ({house.paths.config_file})")


def _present(house: House, role: ModelRole) -> tuple[ModelEntry, ...]:
    """What the role uses so far; nothing where that is the demo."""
    return () if house.demo else house.candidates(role)


@app.command("default")
def default(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="provider:name.")],
    base_url: BaseUrl = "",
) -> None:
    """Let this model do the work."""
    from alita_tui.config.models import known_models, read_entry
    from alita_tui.config.write import set_value
    from alita_tui.llm.presets import preset
    from alita_tui.wiring.house import House

    house = House.open(context.obj, strict=False)
    entry = read_entry(model, "the model", known_models(house.loaded.settings))
    preset(entry.provider)
    for name, value in (
        ("provider", entry.provider), ("name", entry.name), ("base_url", base_url or entry.base_url),
    ):  # fmt: skip
        set_value(house.paths, f"model.{name}", value)
    typer.echo(f"{neutralise(entry.full_name)}  ({house.paths.config_file})")
    if house.loaded.settings.roles.orchestrator:
        typer.echo("roles.orchestrator names other models, and goes before this one.", err=True)


@app.command("forget")
def forget(context: typer.Context, provider: str) -> None:
    """Take a provider's key out of the keyring and the .env file. Exit code 1 where one is left."""
    from alita_tui.llm.keys import forget_key, look_up
    from alita_tui.wiring.house import House

    house = House.open(context.obj, strict=False)
    forget_key(provider, house.paths.env_file)
    left = look_up(provider, env_file=house.paths.env_file, environ=house.environ)
    if left is not None:
        typer.echo(f"{neutralise(provider)} still has a key: {neutralise(left.where)}.", err=True)
        raise typer.Exit(1)
    typer.echo(f"{neutralise(provider)} has no key any more.")
