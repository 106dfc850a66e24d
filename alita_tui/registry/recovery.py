"""A version that the documents lost, put back under its own number. Without an approval in the log it does not run."""

from __future__ import annotations

from pathlib import Path

import msgspec

from alita_tui.registry.box import Box
from alita_tui.spine.errors import DigestMismatch, RegistryError
from alita_tui.spine.ports import Documents
from alita_tui.spine.values import Capabilities, Lock, ToolDraft, ToolRecord, build_digest


class Recovery:
    """Writes past the shelf, which believes no document and no file without checking it."""

    def __init__(self, documents: Documents, box: Path) -> None:
        self._documents = documents
        self._box = Box(box)

    def files_of(self, name: str, version: int) -> tuple[ToolDraft, Lock, Capabilities]:
        """What the files of a version hold now, and what they say it was granted. Raises RegistryError."""
        draft, lock = self._box.read(name, version)
        try:
            facts = msgspec.json.decode((self._box.place(name, version) / f"{name}.mcp.json").read_bytes())
            return draft, lock, msgspec.convert(facts["granted"], Capabilities)
        except (OSError, msgspec.MsgspecError, KeyError, TypeError) as error:
            raise RegistryError(f"The files of {name} v{version} do not say what it was granted.") from error

    def put_back(self, record: ToolRecord) -> None:
        """Write files and document of a version. Raises DigestMismatch, RegistryError, StoreError."""
        if build_digest(record.draft, record.lock) != record.digest:
            raise DigestMismatch(f"{record.draft.name} v{record.version} is not what was approved.")
        name = record.draft.name
        self._box.place(name, record.version).mkdir(parents=True, exist_ok=True)
        self._box.write(record)
        self._documents.put(f"tool:{name}:{record.version}", {"tool": msgspec.to_builtins(record)})
