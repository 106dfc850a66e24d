"""`alita models`: which models there are, whether they work, and which one works here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from alita_tui.app.context import AppContext
from alita_tui.cli.lazy import group
from alita_tui.cli.output import Json, json_document, table
from alita_tui.config.models import ModelEntry, known_models, read_entry
from alita_tui.events import ModelRole
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import neutralise

if TYPE_CHECKING:
    from alita_tui.llm.factory import ProbeResult

commands = group()
BaseUrl = Annotated[str, typer.Option("--base-url", help="Address of the server.", metavar="URL")]
ROLES: tuple[ModelRole, ...] = get_args(ModelRole)


@commands.command("list")
def list_models(
    context: typer.Context,
    provider: Annotated[str, typer.Argument(help="Ask this provider's server which models it has.")] = "",
    base_url: BaseUrl = "",
    json: Json = False,
) -> None:
    """List the configured models by role, or what a provider's server offers."""
    app = AppContext.open(context.obj)
    if provider:
        return _list_offered(app, provider, base_url, json=json)
    roles = {role: [entry.text for entry in app.candidates(role)] for role in ROLES}
    known_texts = app.loaded.settings.models.known
    if json:
        return json_document({"roles": roles, "known": known_texts})
    if app.demo:
        typer.echo("No model is configured: the recorded demo answers. Choose one with `alita setup`.")
        return None
    rows = (
        (role, str(place), text) for role, models in roles.items() for place, text in enumerate(models, 1)
    )
    table(("ROLE", "PLACE", "MODEL"), rows)
    for text in known_texts:
        typer.echo(f"known: {neutralise(text)}")
    return None


def _list_offered(app: AppContext, provider: str, base_url: str, *, json: bool) -> None:
    from alita_tui.llm.factory import offered

    settings = app.loaded.settings.model
    address = base_url or (settings.base_url if provider == settings.provider else "")
    names = asyncio.run(offered(app.model_spec(ModelEntry(provider=provider, name="", base_url=address))))
    if json:
        json_document(names)
    elif not names:
        typer.echo(f"The server of {neutralise(provider)} lists no models; name one yourself.")
    for name in names if not json else ():
        typer.echo(f"{neutralise(provider)}:{neutralise(name)}")


@commands.command("test")
def test_model(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="provider:name; by default all configured models.")] = "",
    base_url: BaseUrl = "",
    json: Json = False,
) -> None:
    """Make one small real call of each model and report what works, and how fast."""
    app = AppContext.open(context.obj)
    entries = tuple({entry.text: entry for role in ROLES for entry in app.candidates(role)}.values())
    if model:
        option = f"; base_url={base_url}" if base_url else ""
        candidates = (*entries, *known_models(app.loaded.settings))
        entries = (read_entry(model + option, "the model", candidates),)
    results = asyncio.run(_probe_all(app, entries))
    if json:
        json_document({_name(entry): result for entry, result in results})
    else:
        for entry, result in results:
            _print_result(entry, result)
    if not all(result.ok for _, result in results):
        raise typer.Exit(1)


async def _probe_all(
    app: AppContext, entries: tuple[ModelEntry, ...]
) -> list[tuple[ModelEntry, ProbeResult]]:
    return [(entry, await app.probe(entry)) for entry in entries]


def _name(entry: ModelEntry) -> str:
    """Return `provider:name`, also of the recording that answers where no model is configured."""
    return entry.full_name if entry.provider else "demo:recorded"


def _print_result(entry: ModelEntry, result: ProbeResult) -> None:
    typer.echo(f"{neutralise(_name(entry))}: {'works' if result.ok else 'does not work'}")
    if result.error is None and result.total_ms:
        abilities = (
            ("streaming", result.streams), ("tool calls", result.calls_tools),
            ("usage", result.reports_usage), ("price", result.has_price),
        )  # fmt: skip
        typer.echo("  " + ", ".join(f"{name}: {'yes' if works else 'no'}" for name, works in abilities))
        speed = f", {result.tokens_per_second:.0f} tokens/s" if result.tokens_per_second else ""
        first = f"first piece after {result.first_piece_ms:.0f} ms, " if result.streams else ""
        typer.echo(f"  {first}whole reply after {result.total_ms:.0f} ms{speed}")
    for line in filter(None, (result.text, result.hint)):
        typer.echo(f"  {neutralise(line)}")


@commands.command("add")
def add(
    context: typer.Context,
    model: Annotated[
        str, typer.Argument(help='provider:name, with options as in "ollama:qwen3; context=32768".')
    ],
    base_url: BaseUrl = "",
    role: Annotated[str, typer.Option("--role", help="Also put it last in this role's list.")] = "",
) -> None:
    """Remember a model, and let a role use it when its other models cannot answer."""
    from alita_tui.config.write import set_value
    from alita_tui.llm.presets import preset

    chosen_role = next((candidate for candidate in ROLES if candidate == role), None)
    if role and chosen_role is None:
        raise UsageError(f"There is no role {role!r}.", hint=f"The roles are {', '.join(ROLES)}.")
    app = AppContext.open(context.obj, strict=False)
    settings = app.loaded.settings
    entry = read_entry(model + (f"; base_url={base_url}" if base_url else ""), "the model")
    preset(entry.provider)
    remaining = [
        candidate.text for candidate in known_models(settings) if candidate.full_name != entry.full_name
    ]
    set_value(app.paths, "models.known", [*remaining, entry.text])
    if chosen_role is not None:
        current = () if app.demo else app.candidates(chosen_role)
        models = list(getattr(settings.roles, role)) or [candidate.full_name for candidate in current]
        if entry.full_name not in (text.partition(";")[0].strip() for text in models):
            set_value(app.paths, f"roles.{role}", [*models, entry.full_name])
    typer.echo(f"{neutralise(entry.text)}  ({app.paths.config_file})")


@commands.command("default")
def default(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="provider:name.")],
    base_url: BaseUrl = "",
) -> None:
    """Use this model by default."""
    from alita_tui.config.write import set_value
    from alita_tui.llm.presets import preset

    app = AppContext.open(context.obj, strict=False)
    entry = read_entry(model, "the model", known_models(app.loaded.settings))
    preset(entry.provider)
    for name, value in (
        ("provider", entry.provider), ("name", entry.name), ("base_url", base_url or entry.base_url),
    ):  # fmt: skip
        set_value(app.paths, f"model.{name}", value)
    typer.echo(f"{neutralise(entry.full_name)}  ({app.paths.config_file})")
    if app.loaded.settings.roles.orchestrator:
        typer.echo("roles.orchestrator names other models, which are used first.", err=True)


@commands.command("forget")
def forget(context: typer.Context, provider: str) -> None:
    """Remove a provider's key from the keyring and the .env file. Exit code 1 if one is left elsewhere."""
    from alita_tui.llm.keys import forget_key, look_up

    app = AppContext.open(context.obj, strict=False)
    forget_key(provider, app.paths.env_file)
    remaining = look_up(provider, env_file=app.paths.env_file, environ=app.environ)
    if remaining is not None:
        typer.echo(f"{neutralise(provider)} still has a key: {neutralise(remaining.where)}.", err=True)
        raise typer.Exit(1)
    typer.echo(f"{neutralise(provider)} has no key now.")
