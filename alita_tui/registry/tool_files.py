"""The files of registered tools: `<name>/v<N>/<name>.py`, `test_<name>.py` and `<name>.mcp.json`.

The code file has the suffix of the tool's language. Anyone can read, copy and run the files; the digest is computed
from their bytes.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import msgspec

from alita_tui.events import Capabilities, Json, Lock, ToolDraft, ToolRecord, ready
from alita_tui.runtimes.languages import runtime_of
from alita_tui.spine.errors import RegistryError, StoreError
from alita_tui.spine.grants import used_by
from alita_tui.system.files import read_plain

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class ToolFiles:
    """The folder of tool files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def folder_of(self, name: str, version: int) -> Path:
        """Return the folder of one version. Raises RegistryError for an invalid name."""
        if not _NAME.fullmatch(name):
            raise RegistryError(f"{name[:80]!r} is not a name for a tool.", hint="Use snake_case.")
        return self._folder / name / f"v{version}"

    def versions(self, name: str) -> list[int]:
        """Return the versions that have a folder, including those that the library does not know."""
        folders = self.folder_of(name, 1).parent.glob("v*")
        return sorted(int(path.name[1:]) for path in folders if path.name[1:].isdecimal())

    def claim(self, name: str) -> int:
        """Claim the next free version number; two processes never get the same. Raises StoreError."""
        version = max(self.versions(name), default=0)
        try:
            self.folder_of(name, 1).parent.mkdir(parents=True, exist_ok=True)
            while True:
                version += 1
                try:
                    self.folder_of(name, version).mkdir()
                    return version
                except FileExistsError:
                    continue
        except OSError as error:
            raise StoreError(
                f"{self.folder_of(name, version)} could not be made: {error.strerror}."
            ) from error

    def write(self, record: ToolRecord) -> None:
        """Write the files of a claimed version durably. Raises RegistryError, StoreError."""
        draft, version_folder = record.draft, self.folder_of(record.draft.name, record.version)
        try:
            _write(
                version_folder / _code_file(draft.name, record.origin, draft.language), draft.code.encode()
            )
            _write(version_folder / f"test_{draft.name}.py", draft.tests.encode())
            text = msgspec.json.format(msgspec.json.encode(manifest(record)), indent=2)
            _write(version_folder / f"{draft.name}.mcp.json", text + b"\n")
            for folder in (version_folder, version_folder.parent, self._folder):
                _sync(folder)
        except UnicodeEncodeError as error:
            raise RegistryError(f"{draft.name} holds characters that no file can hold: {error}.") from error
        except OSError as error:
            raise StoreError(f"{version_folder} could not be written: {error.strerror}.") from error

    def give_back(self, name: str, version: int) -> None:
        """Release a claimed number and delete what was written for it."""
        shutil.rmtree(self.folder_of(name, version), ignore_errors=True)

    def read(self, name: str, version: int) -> tuple[ToolDraft, Lock]:
        """Return the tool and its lock, read from its files. Raises RegistryError."""
        folder = self.folder_of(name, version)
        try:
            facts = msgspec.json.decode(read_plain(folder / f"{name}.mcp.json"))
            language = facts.get("language", "python")
            draft = ToolDraft(
                name=facts["name"],
                description=facts["description"],
                code=read_plain(folder / _code_file(name, facts.get("origin"), language)).decode(),
                tests=read_plain(folder / f"test_{name}.py").decode(),
                requirements=tuple(facts["requirements"]["asked"]),
                input_schema=facts["inputSchema"],
                output_schema=facts["outputSchema"],
                capabilities=msgspec.convert(facts["capabilities"], ready(Capabilities)),
                language=language,
            )
            return draft, msgspec.convert(facts["requirements"]["lock"], ready(Lock))
        except OSError as error:
            raise RegistryError(
                f"The tool files in {folder} could not be read: {error.strerror or error}.",
                hint="Check that the folder exists and who owns it.",
            ) from error
        except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, TypeError) as error:
            raise RegistryError(
                f"The files of {name} v{version} in {folder} are damaged: {error}.",
                hint="Put them back from a copy, or let the tool be built again.",
            ) from error


def _code_file(name: str, origin: str, language: str) -> str:
    """Return the name of a tool's code file; for a remote tool, of the file with its pinned definition."""
    return f"{name}.server.json" if origin == "remote" else f"{name}{runtime_of(language).suffix}"


def manifest(record: ToolRecord) -> Json:
    """Return the content of `<name>.mcp.json`: an MCP tool definition with the tool's provenance."""
    draft, capabilities = record.draft, record.draft.capabilities
    used = used_by(capabilities)
    return {
        "name": draft.name,
        "description": draft.description,
        "inputSchema": draft.input_schema,
        "outputSchema": draft.output_schema,
        "annotations": {
            "readOnlyHint": not any(item.startswith(("workspace:write", "network:")) for item in used),
            "openWorldHint": any(item.startswith("network:") for item in used),
        },
        **({} if draft.language == "python" else {"language": draft.language}),
        "capabilities": msgspec.to_builtins(capabilities),
        "granted": msgspec.to_builtins(record.granted),
        "requirements": {
            "asked": list(draft.requirements),
            "lock": msgspec.to_builtins(record.lock),
        },
        "digest": record.digest,
        "version": record.version,
        "parentVersion": record.parent_version,
        "origin": record.origin,
        "tests": f"test_{draft.name}.py",
        "evidence": {"approval": record.approval_id, "registered": record.created_at},
        "sources": [msgspec.to_builtins(source) for source in record.sources],
    }


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
