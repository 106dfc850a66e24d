"""Exports approved tools and recipes as files that work without alita, for other programs."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from alita_tui.app.context import AppContext
from alita_tui.events import ToolRecord
from alita_tui.runtimes.languages import runtime_of
from alita_tui.spine.errors import RegistryError, RequirementsError, UsageError
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    from alita_tui.mcp_box.export.portable import PortableTool
    from alita_tui.spine.ports.memory import Remembered

_SCRIPT = 0o755
_FILE = 0o644
_UV_SECONDS = 300.0


def portable_tool(app: AppContext, name: str) -> PortableTool:
    """Return a tool to be exported, without the secrets that are known here.

    Raise RegistryError for a tool that does not run, UsageError for one that holds a secret or needs alita, StoreError.
    """
    from alita_tui.mcp_box.export.portable import PortableTool, check_portable
    from alita_tui.registry.tool_files import manifest

    record = app.library.get(name)
    check_portable(record)
    record = without_secrets(app, record, consequence="It is not handed over")
    draft, redactor = record.draft, app.redactor()
    needs = tuple(need.query for need in reversed(app.library.needs_met(str(draft.name))))
    return PortableTool(
        record=record,
        manifest=redactor.value(manifest(record)),
        needs=redactor.value(tuple(dict.fromkeys(needs))),
        reliability=app.library.reliability(draft.name, record.version).words,
        approved_at=record.created_at,
    )


def without_secrets(app: AppContext, record: ToolRecord, *, consequence: str) -> ToolRecord:
    """Return a tool whose sources are redacted. Raise UsageError if its own parts hold a secret.

    `consequence` says what is not done then; the hint of the error begins with it.
    """
    redactor, draft = app.redactor(), record.draft
    if redactor.value((draft, record.lock)) != (draft, record.lock):
        raise UsageError(
            f"{draft.name} v{record.version} holds what looks like a secret.",
            hint=f"{consequence}. Build it again without the secret.",
        )
    return msgspec.structs.replace(record, sources=redactor.value(record.sources))


def export_skills(app: AppContext, names: Sequence[str], into: Path) -> tuple[tuple[Path, int], ...]:
    """Write a skill for each tool, or for a recipe by its id; return each folder with how many needs it lists.

    Nothing is written unless all of them can be. Raise RegistryError, UsageError, StoreError.
    """
    from alita_tui.mcp_box.export.skill import recipe_skill, skill_name, tool_skill

    skills: dict[str, tuple[dict[str, bytes], int]] = {}
    for name in dict.fromkeys(names):
        try:
            tool = portable_tool(app, name)
        except RegistryError:
            if (recipe := _recipe(app, name)) is None:
                raise
            task_text, steps = _steps(app, recipe)
            tools = [portable_tool(app, step) for step in dict.fromkeys(step for step, _ in steps)]
            called = skill_name("-then-".join(tool.name for tool in tools))
            files, needs = recipe_skill(called, task_text, steps, tools), 1
        else:
            called, files = skill_name(tool.name), tool_skill(tool)
            needs = len(tool.needs)
        if called in skills:
            raise UsageError(f"Two of these would be the skill {called}.", hint="Export them one by one.")
        skills[called] = (files, needs)
    for called in skills:
        _check_free(into / called)
    for called, (files, _) in skills.items():
        write_folder(into / called, files)
    return tuple((into / called, needs) for called, (_, needs) in skills.items())


def _recipe(app: AppContext, name: str) -> Remembered | None:
    try:
        item = app.memory.find(name)
    except UsageError:
        return None
    return item if item.sort == "recipe" and item.steps else None


def _steps(app: AppContext, recipe: Remembered) -> tuple[str, list[tuple[str, str]]]:
    """Return the task that a recipe answered, and its calls, each with the name of its tool."""
    from alita_tui.memory.recipes import in_words

    redactor = app.redactor()
    task_text = redactor.text(recipe.item.text.partition(": ")[0])
    return task_text, [(str(step.tool), redactor.text(in_words((step,)))) for step in recipe.steps]


def export_scripts(app: AppContext, names: Sequence[str], into: Path) -> tuple[Path, ...]:
    """Write each tool as one script; return their paths. Raise RegistryError, UsageError."""
    tools = [portable_tool(app, name) for name in dict.fromkeys(names)]
    paths = [into / f"{tool.name}{runtime_of(tool.record.draft.language).suffix}" for tool in tools]
    for path in paths:
        _check_free(path)
    try:
        into.mkdir(parents=True, exist_ok=True)
        for tool, path in zip(tools, paths, strict=True):
            with path.open("xb") as file:
                file.write(tool.record.draft.code.encode())
            path.chmod(_SCRIPT)
    except OSError as error:
        raise UsageError(f"{into} cannot be written: {error.strerror or error}.") from error
    return tuple(paths)


def _check_free(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise UsageError(
            f"{path} is there already.", hint="Choose another folder with --to, or move it away."
        )


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a new folder of files, all of it or nothing. Raise UsageError if it is there, or cannot be written."""
    _check_free(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name[:40]}-", dir=folder.parent))
        try:
            for name, data in files.items():
                path = draft / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                path.chmod(_SCRIPT if name.startswith("scripts/") else _FILE)
            draft.chmod(_SCRIPT)
            draft.rename(folder)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    except OSError as error:
        raise UsageError(
            f"{one_line(str(folder), 200)} cannot be written: {error.strerror or error}."
        ) from error


async def export_servers(
    app: AppContext, names: Sequence[str], into: Path, *, pack: str = "", wheel: bool = False
) -> tuple[Path, ...]:
    """Write a server for each tool, or one called `pack` for all of them, as folders or wheels; return their paths.

    uv makes the lock, and asks the package index for it. Raise RegistryError, UsageError, RequirementsError,
    StoreError.
    """
    from importlib.metadata import version

    from alita_tui.mcp_box.export.server import server_files, server_name

    tools = await asyncio.to_thread(lambda: [portable_tool(app, name) for name in dict.fromkeys(names)])
    groups = (
        {server_name(pack): tools} if pack else {server_name(f"{tool.name}-mcp"): [tool] for tool in tools}
    )
    servers = {name: server_files(name, group, app.limits, version("mcp")) for name, group in groups.items()}
    for name in servers:
        _check_free(into / name)
        servers[name] |= await _npm_files(app, name, groups[name])
    paths = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, files in servers.items():
            draft = Path(scratch) / name
            await asyncio.to_thread(write_folder, draft, files)
            await _uv("lock", "--project", str(draft), problem=f"The packages of {name} cannot be locked")
            if wheel:
                await _uv(
                    "build",
                    "--wheel",
                    "--out-dir",
                    str(draft / "dist"),
                    str(draft),
                    problem=f"{name} cannot be built",
                )
                (built,) = (draft / "dist").glob("*.whl")
                _check_free(into / built.name)
                await asyncio.to_thread(_copied, built, into)
                paths.append(into / built.name)
            else:
                locked = {**files, "uv.lock": (draft / "uv.lock").read_bytes()}
                await asyncio.to_thread(write_folder, into / name, locked)
                paths.append(into / name)
    return tuple(paths)


async def _npm_files(app: AppContext, name: str, tools: Sequence[PortableTool]) -> dict[str, bytes]:
    """Return the packages of npm of a server's tools, by path. Raise RequirementsError, SandboxUnavailable."""
    from alita_tui.mcp_box.export.server import npm_folder

    chosen = [tool for tool in tools if tool.record.lock.npm]
    if not chosen:
        return {}
    sandbox = app.sandbox("export")
    try:
        packed: dict[str, bytes] = {}
        for tool in chosen:
            installed = await sandbox.installed(tool.record.lock, lambda *_: None)
            modules, target = Path(installed) / "node_modules", npm_folder(name, tool)
            # The environment was compared with its seal, and npm leaves nothing but files and folders in it.
            packed |= await asyncio.to_thread(_files_below, modules, target)
        return packed
    finally:
        await sandbox.close()


def _files_below(folder: Path, target: str) -> dict[str, bytes]:
    return {
        f"{target}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def _copied(file: Path, into: Path) -> None:
    try:
        into.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, into / file.name)
    except OSError as error:
        raise UsageError(f"{into} cannot be written: {error.strerror or error}.") from error


async def _uv(*arguments: str, problem: str) -> None:
    """Run uv. Raise RequirementsError with what it complains about."""
    from alita_tui.sandbox.uv import uv

    try:
        code, _, complaints = await uv(*arguments, seconds=_UV_SECONDS)
    except TimeoutError as error:
        raise RequirementsError(f"{problem}: uv did not end within {_UV_SECONDS:g} seconds.") from error
    if code:
        raise RequirementsError(f"{problem}: {one_line(complaints, 400)}")
