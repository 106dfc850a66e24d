"""Restores a version that is missing in the documents. It runs only if the audit log has its approval."""

from __future__ import annotations

from pathlib import Path

import msgspec

from alita_tui.events import Capabilities, Lock, ToolDraft, ToolRecord, build_digest, ready
from alita_tui.registry.tool_files import ToolFiles
from alita_tui.spine.errors import DigestMismatch, RegistryError
from alita_tui.spine.ports.library import Documents
from alita_tui.system.files import read_plain


class Recovery:
    """Writes files and documents directly; the library verifies both when it reads them."""

    def __init__(self, documents: Documents, box: Path) -> None:
        self._documents = documents
        self._files = ToolFiles(box)

    def files_of(self, name: str, version: int) -> tuple[ToolDraft, Lock, Capabilities]:
        """Return draft, lock and granted capabilities from the files of a version. Raises RegistryError."""
        draft, lock = self._files.read(name, version)
        try:
            facts = msgspec.json.decode(read_plain(self._files.folder_of(name, version) / f"{name}.mcp.json"))
            return draft, lock, msgspec.convert(facts["granted"], ready(Capabilities))
        except (OSError, msgspec.MsgspecError, KeyError, TypeError) as error:
            raise RegistryError(f"The files of {name} v{version} do not say what it was granted.") from error

    def put_back(self, record: ToolRecord) -> None:
        """Write the files and the document of a version. Raises DigestMismatch, RegistryError, StoreError."""
        if build_digest(record.draft, record.lock) != record.digest:
            raise DigestMismatch(f"{record.draft.name} v{record.version} is not what was approved.")
        name = record.draft.name
        self._files.folder_of(name, record.version).mkdir(parents=True, exist_ok=True)
        self._files.write(record)
        self._documents.put(f"tool:{name}:{record.version}", {"tool": msgspec.to_builtins(record)})
