"""Turns a recipe that worked often enough into a tool: one approval, then one call."""

from __future__ import annotations

from alita_tui.app.context import AppContext
from alita_tui.events import ToolDraft
from alita_tui.spine.commands import Improve
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.builds import BuildOrder
from alita_tui.spine.ports.memory import Remembered
from alita_tui.spine.text import one_line


def pipeline(app: AppContext, item_id: str, name: str = "") -> tuple[Remembered, ToolDraft]:
    """Return a recipe and the tool that makes its calls, pinned to what the library runs now.

    Raise UsageError for a recipe that is not offered as one, RegistryError where one of its tools does not run.
    """
    from alita_tui.memory.pipeline import drafted, name_for
    from alita_tui.registry.task_library import TaskLibrary
    from alita_tui.runtimes.file_parameters import leaves_files, takes_files
    from alita_tui.runtimes.port import ContractError
    from alita_tui.toolsmith.contract import name_fault, normalise
    from alita_tui.toolsmith.pinning import pinned

    recipe = app.memory.find(item_id)
    chosen = name or name_for(recipe)
    if chosen and (fault := name_fault(chosen)):
        raise UsageError(f"{fault}.", hint="Choose another name with --name.")
    tools = {str(step.tool): app.library.get(str(step.tool)).draft for step in recipe.steps}
    if files := [tool for tool, draft in tools.items() if takes_files(draft) or leaves_files(draft)]:
        raise UsageError(
            f"{recipe.item.item_id} cannot be one tool: {files[0]} takes or makes files.",
            hint="One tool cannot hand a file to another; the agent keeps following the recipe.",
        )
    schemas = {tool: (draft.input_schema, draft.output_schema) for tool, draft in tools.items()}
    draft = normalise(drafted(recipe, chosen, schemas))
    try:
        return recipe, pinned(draft, TaskLibrary(app.library))
    except ContractError as error:
        raise UsageError(f"{recipe.item.item_id} cannot be one tool: {error.message}") from error


def order(app: AppContext, item_id: str) -> Improve:
    """Return the order to build a recipe as one tool, without any model. Raise as `pipeline` does."""
    recipe, draft = pipeline(app, item_id)
    text = f"Make one tool of {' → '.join(recipe.item.tools)}, which worked {recipe.shape_worked} times alike"
    work = BuildOrder(action_id="", name=draft.name, goal=draft.description, draft=draft)
    return Improve(proposal=recipe.item.item_id, text=str(one_line(text, 600)), order=work)
