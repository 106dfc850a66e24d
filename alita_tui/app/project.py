"""Which project a folder is: the repository around it, else the folder itself."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from alita_tui.spine.ports.memory import SHARED

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext

BY_FOLDER = "folder"
"""The setting for: the project is the folder that alita was started in."""


def current_project(app: AppContext) -> str:
    """Return the project whose facts and tasks are recalled besides the shared ones."""
    return project_of(app.loaded.settings.memory.project, Path.cwd())


def proposal_budget(app: AppContext) -> float | None:
    """Return what proposing facts may cost in a session; None if no model is set for it, or in the demo."""
    settings = app.loaded.settings
    return settings.memory.propose_usd if settings.roles.archivist and not app.demo else None


def project_of(setting: str, folder: Path) -> str:
    """Return the name of a project, from the setting or from the folder.

    A folder's name is followed by a digest of its path, so that two of the same name differ. The home folder and the
    root are not projects: what is learned there is shared.
    """
    if setting != BY_FOLDER:
        return setting.strip()
    resolved = folder.resolve()
    root = next((parent for parent in (resolved, *resolved.parents) if (parent / ".git").exists()), resolved)
    if root in (Path.home().resolve(), Path(root.anchor)):
        return SHARED
    name = re.sub(r"[^\w.-]+", "-", root.name)[:40].strip("-") or "folder"
    return f"{name}-{sha256(str(root).encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"
