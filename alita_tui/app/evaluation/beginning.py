"""Begins a run: writes down everything that it depends on."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from hashlib import sha256
from itertools import count
from math import isfinite
from pathlib import Path

import msgspec
from msgspec.structs import replace

import alita_tui
from alita_tui import __version__
from alita_tui.app.context import AppContext
from alita_tui.app.identity import now
from alita_tui.config.load import load
from alita_tui.evaluation.results import Rule, Setup, Without, library_digest
from alita_tui.evaluation.suite import Case, Suite
from alita_tui.spine.errors import UsageError
from alita_tui.store import disk

SETUP = "run.json"


def folder_of_runs(app: AppContext) -> Path:
    """Return the folder with a folder for each run."""
    return app.paths.data / "evaluations"


def begin(
    app: AppContext,
    suite: Suite,
    path: Path,
    models: Sequence[str],
    *,
    repeat: int,
    budget_usd: float,
    approve: Rule,
    without: Sequence[Without],
    tags: Sequence[str],
    cases: int = 0,
) -> Setup:
    """Write the setup of a new run; return it.

    Raises UsageError (also for an infinite budget), StoreError, and ConfigError for a model that cannot be asked.
    """
    _check_budget(budget_usd)
    if approve == "policy" and not app.policy.rules:
        raise UsageError(
            "Your policy has no rule that is in force.", hint="`alita policy list` says how to write one."
        )
    for model in dict.fromkeys(models or ("",)):  # before anything is written
        flags = {**app.flags, **({"model": model} if model else {})}
        AppContext(app.paths, load(app.paths, app.environ, flags), app.environ, flags).models()
    stamp = now()
    slug = re.sub(r"[^a-z0-9]+", "-", suite.name.lower()).strip("-")[:40] or "suite"
    started = stamp.strftime("%Y%m%d-%H%M%S")
    folder = folder_of_runs(app)
    disk.make_folder(folder)
    run = f"{slug}-{started}"
    settings = {
        key: str(app.loaded.value(key))
        for key, origin in app.loaded.origins.items()
        if origin != "default" and key != "privacy.redact"
    }
    model_names = tuple(dict.fromkeys(models)) or (_model_name(app),)
    setup = Setup(
        run=run, suite=suite.name, suite_path=str(path.resolve()), suite_digest=suite.digest, stream=suite.stream,
        models=model_names,
        configured=not models, repeat=repeat, budget_usd=budget_usd,
        approve=approve, without=tuple(without), tags=tuple(tags), cases=cases,
        started_at=stamp.isoformat(), version=__version__, python=platform.python_version(),
        settings=app.redactor().value(settings), prompts=_prompts(),
        library_digest=library_digest(suite.described),
        approved_digests=_approved(app) if approve == "digests" else (),
    )  # fmt: skip
    setup = replace(setup, planned=len(planned(setup, suite)))
    if not setup.planned:
        raise UsageError("No case has this tag.", hint=f"See the tags in {path}.")
    setup = replace(setup, run=_make_folder(folder, run))
    _write(folder / setup.run, setup)
    return setup


def _make_folder(folder: Path, base: str) -> str:
    """Make a folder for a run, with a number if the name is taken; return its name. Raises StoreError."""
    for number in count(1):
        name = base if number == 1 else f"{base}-{number}"
        try:
            (folder / name).mkdir(mode=0o700)
        except FileExistsError:
            continue
        except OSError as error:
            raise disk.store_error("made", folder / name, error) from error
        return name
    raise AssertionError


def _check_budget(budget_usd: float) -> None:
    """Raise UsageError for an infinite budget: JSON cannot hold it, so the run could not be read again."""
    if not isfinite(budget_usd):
        raise UsageError(
            "A run's budget is a finite number of US dollars.", hint="0: only the budgets of the settings."
        )


def raised(app: AppContext, setup: Setup, budget_usd: float) -> Setup:
    """Write a new cap for a run's whole cost, in US dollars; return the changed setup.

    Raises UsageError for an infinite budget, StoreError.
    """
    _check_budget(budget_usd)
    setup = replace(setup, budget_usd=budget_usd)
    _write(folder_of_runs(app) / setup.run, setup)
    return setup


def _write(folder: Path, setup: Setup) -> None:
    try:
        disk.replace(folder / SETUP, [msgspec.json.format(msgspec.json.encode(setup), indent=2)])
    except OSError as error:
        raise disk.store_error("written", folder / SETUP, error) from error


def planned(setup: Setup, suite: Suite) -> list[tuple[Case, str, int]]:
    """Return the cases of a run in order, each with model and repeat: all models before the next repeat."""
    chosen = [case for case in suite.cases if not setup.tags or {*setup.tags} & {*case.tags}]
    if setup.cases:
        shuffled = sorted((case.id for case in chosen), key=lambda name: sha256(name.encode()).digest())
        sample = {*shuffled[: setup.cases]}
        chosen = [case for case in chosen if case.id in sample]
    chosen.sort(key=lambda case: case.seed)
    return [
        (case, model, turn)
        for turn in range(1, setup.repeat + 1)
        for case in chosen
        for model in setup.models
    ]


def _model_name(app: AppContext) -> str:
    """Return the model in the settings, or the demo's if none is set."""
    if app.demo:
        return "demo:recorded"
    entry = app.candidates("orchestrator")[0]
    return f"{entry.provider}:{entry.name}"


def _prompts() -> dict[str, str]:
    """Return the SHA-256 of each prompt by its path in the package."""
    folder = Path(alita_tui.__file__).parent
    places = ("agent/prompts/*.md", "agent/roles/*.toml", "toolsmith/prompts/*.md", "runtimes/*/prompt.md")
    files = sorted(file for place in places for file in folder.glob(place))
    return {str(file.relative_to(folder)): sha256(file.read_bytes()).hexdigest() for file in files}


def _approved(app: AppContext) -> tuple[str, ...]:
    """Return the digests of builds whose newest verdict is an approval."""
    newest = {entry.digest: entry.verdict for entry in app.audit.entries()}
    return tuple(sorted(digest for digest, verdict in newest.items() if verdict == "approved"))
