"""Packs: several tools in one file, with tests, locks and evidence. The same tools give the same bytes.

A pack is a ZIP archive with a manifest that names every other entry by its SHA-256, and a signature over the manifest.
A pack that is read is untrusted: nothing is written to disk, each entry is read up to its size limit, and anything that
this module would not write is refused. The tools of a pack are drafts like any other; none of them is approved.
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
from collections.abc import Sequence
from hashlib import sha256

import msgspec

from alita_tui.events import Capabilities, Json, Lock, ToolDraft, ToolName, ToolRecord, Value, as_json, ready
from alita_tui.registry.tool_files import manifest as tool_manifest
from alita_tui.runtimes.languages import LANGUAGES, runtime_of
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line

FORMAT = "alita-pack/1"
SIGNED_AS = "pack"
"""The kind of text that a pack's signature is over."""
LARGEST = 20_000_000
"""Largest pack, in bytes."""
MOST_TOOLS = 100
_LARGEST_ENTRY = 1_000_000
_LARGEST_TOTAL = 20_000_000
"""Largest unpacked size of an entry and of all entries together, in bytes."""
_MANIFEST, _SIGNATURE = "pack.json", "signature.json"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
_PACK_NAME = re.compile(r"[\w][\w .-]{0,79}")
_TIMESTAMP = (1980, 1, 1, 0, 0, 0)


class PackTool(Value, frozen=True):
    """One tool in the manifest."""

    name: str
    version: int
    """Its version in the library that exported it."""
    digest: str
    """The digest of its build in that library."""
    files: dict[str, str]
    """SHA-256 of each of its entries, by path."""


class PackManifest(Value, frozen=True):
    """A pack's own description, all of it signed."""

    format: str
    name: str
    tools: tuple[PackTool, ...]


class Evidence(Value, frozen=True):
    """What the exporting library knew about a tool. It is shown, but proves nothing in this library."""

    approval_id: str = ""
    approved_at: str = ""
    approved_via: str = ""
    accepted: tuple[str, ...] = ()
    """The findings of its review there."""
    reliability: str = ""
    runs: int = 0
    failures: int = 0
    origin: str = ""
    sources: tuple[str, ...] = ()


class Packed(Value, frozen=True):
    """One tool of a pack."""

    draft: ToolDraft
    lock: Lock
    version: int
    digest: str
    evidence: Evidence = Evidence()
    arguments_sorted: bool = False
    """True if an older alita packed it and sorted its parameters, while its tests pass them by position."""


class Pack(Value, frozen=True):
    """The content of a pack."""

    name: str
    tools: tuple[Packed, ...]
    manifest: str
    """The text that was signed."""
    key: str = ""
    """The public key that signed it (Ed25519, hex); empty for none."""
    signature: str = ""


class _Signature(Value, frozen=True):
    key: str
    signature: str


class _Facts(msgspec.Struct, frozen=True):
    """The part of `<name>.mcp.json` that belongs to the draft."""

    name: str
    description: str
    inputSchema: Json
    outputSchema: Json
    capabilities: Capabilities
    requirements: _Requirements
    language: str = "python"


class _Requirements(msgspec.Struct, frozen=True):
    asked: tuple[str, ...]
    lock: Lock


def pack(name: str, tools: Sequence[tuple[ToolRecord, Evidence]]) -> tuple[str, dict[str, bytes]]:
    """Return the manifest to be signed, and the entries that it names. Raises UsageError for an invalid name."""
    if not _PACK_NAME.fullmatch(name):
        raise UsageError(
            f"{one_line(name, 60)!r} is not a name for a pack.", hint="Use letters, digits, '-' and '_'."
        )
    entries: dict[str, bytes] = {}
    manifest_tools: list[PackTool] = []
    for record, evidence in sorted(tools, key=lambda pair: pair[0].draft.name):
        tool = record.draft.name
        tool_entries = {
            f"tools/{tool}/{tool}{runtime_of(record.draft.language).suffix}": record.draft.code.encode(),
            f"tools/{tool}/test_{tool}.py": record.draft.tests.encode(),
            f"tools/{tool}/{tool}.mcp.json": f"{as_json(tool_manifest(record), indent=1)}\n".encode(),
            f"tools/{tool}/evidence.json": _json(evidence),
        }
        entries |= tool_entries
        digests = {path: sha256(data).hexdigest() for path, data in tool_entries.items()}
        manifest_tools.append(
            PackTool(name=tool, version=record.version, digest=record.digest, files=digests)
        )
    if not 0 < len(manifest_tools) <= MOST_TOOLS:
        raise UsageError(f"A pack holds 1 to {MOST_TOOLS} tools.")
    manifest = PackManifest(format=FORMAT, name=name, tools=tuple(manifest_tools))
    return _json(manifest).decode(), entries


def archive_bytes(manifest: str, entries: dict[str, bytes], key: str, signature: str) -> bytes:
    """Return a pack's bytes; the same for the same tools and key. Raises UsageError if it would be too large."""
    contents = {
        _MANIFEST: manifest.encode(),
        _SIGNATURE: _json(_Signature(key=key, signature=signature)),
        **entries,
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(contents):
            entry = zipfile.ZipInfo(path, _TIMESTAMP)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, contents[path])
    if file.tell() > LARGEST or sum(map(len, contents.values())) > _LARGEST_TOTAL:
        raise UsageError(
            f"The pack would be larger than {LARGEST // 1_000_000} MB.", hint="Export fewer tools."
        )
    return file.getvalue()


def read(data: bytes) -> Pack:
    """Return the content of a pack. Raises UsageError with the reason if it is not a pack, or is damaged."""
    entries = _entries(data)
    try:
        raw = entries.pop(_MANIFEST)
        manifest = msgspec.json.decode(raw, type=ready(PackManifest))
        signature = msgspec.json.decode(entries.pop(_SIGNATURE), type=ready(_Signature))
    except KeyError as error:
        raise _refused(f"it has no {error}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _refused(f"its manifest cannot be read: {one_line(str(error), 200)}") from error
    if raw != _json(manifest):
        raise _refused("its manifest holds more than it should")
    if manifest.format != FORMAT:
        raise _refused(f"its format is {one_line(manifest.format, 60)!r}, not {FORMAT}")
    names = [tool.name for tool in manifest.tools]
    if not 0 < len(names) <= MOST_TOOLS or len(set(names)) != len(names):
        raise _refused("it names no tool, too many tools, or the same tool twice")
    if not _PACK_NAME.fullmatch(manifest.name):
        raise _refused("its name is invalid")
    digests = {path: digest for tool in manifest.tools for path, digest in tool.files.items()}
    if set(digests) != set(entries):
        unmatched = sorted(set(digests) ^ set(entries))[0]
        raise _refused(f"manifest and entries differ: {one_line(unmatched, 80)}")
    if changed := [path for path in digests if sha256(entries[path]).hexdigest() != digests[path]]:
        raise _refused(f"{one_line(changed[0], 80)} was changed")
    return Pack(
        name=manifest.name,
        tools=tuple(_tool(tool, entries) for tool in manifest.tools),
        manifest=raw.decode(),
        key=signature.key,
        signature=signature.signature,
    )


def _entries(data: bytes) -> dict[str, bytes]:
    """Return the entries of an archive by name, reading no entry beyond its size limit. Raises UsageError."""
    if len(data) > LARGEST:
        raise _refused(f"it is larger than {LARGEST // 1_000_000} MB")
    contents: dict[str, bytes] = {}
    room = _LARGEST_TOTAL
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            if len(infos) > 4 * MOST_TOOLS + 2:
                raise _refused("it has too many entries")
            for entry in infos:
                _check_entry(entry, contents)
                with archive.open(entry) as file:
                    content = file.read(min(_LARGEST_ENTRY, room) + 1)
                room -= len(content)
                if len(content) > _LARGEST_ENTRY or room < 0:
                    raise _refused(f"{one_line(entry.filename, 80)} is too large")
                contents[entry.filename] = content
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError) as error:
        raise _refused(f"it cannot be read as an archive: {one_line(str(error), 200)}") from error
    except (EOFError, OSError, ValueError, OverflowError) as error:
        raise _refused(f"it is damaged: {one_line(str(error), 200)}") from error
    except Exception as error:
        if isinstance(error, UsageError):
            raise
        # zipfile also lets errors of the decompressors through, such as zlib.error.
        raise _refused(f"it cannot be unpacked: {type(error).__name__}") from error
    return contents


def _check_entry(entry: zipfile.ZipInfo, contents: dict[str, bytes]) -> None:
    """Raise UsageError for an entry that `archive_bytes` would not write."""
    name = entry.filename
    parts = name.split("/")
    expected = name in (_MANIFEST, _SIGNATURE) or (
        len(parts) == 3
        and parts[0] == "tools"
        and _NAME.fullmatch(parts[1]) is not None
        and parts[2]
        in (*_code_files(parts[1]), f"test_{parts[1]}.py", f"{parts[1]}.mcp.json", "evidence.json")
    )
    if not expected or entry.orig_filename != name:
        raise _refused(f"{one_line(name, 80)!r} has no place in a pack")
    if name in contents:
        raise _refused(f"{name} is there twice")
    if entry.flag_bits & 0x1:
        raise _refused(f"{name} is encrypted")
    file_type = stat.S_IFMT(entry.external_attr >> 16)
    if entry.is_dir() or file_type not in (0, stat.S_IFREG):
        raise _refused(f"{name} is not a plain file")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _refused(f"{name} is compressed by an unsupported method")
    if entry.file_size > _LARGEST_ENTRY:
        raise _refused(f"{name} is too large")


def _tool(tool: PackTool, entries: dict[str, bytes]) -> Packed:
    """Return one tool, read from its entries. Raises UsageError."""
    folder = f"tools/{tool.name}/"
    code = next((file for file in _code_files(tool.name) if f"{folder}{file}" in tool.files), "")
    expected = {
        f"{folder}{file}" for file in (code, f"test_{tool.name}.py", f"{tool.name}.mcp.json", "evidence.json")
    }
    if set(tool.files) != expected or not _NAME.fullmatch(tool.name):
        raise _refused(f"{one_line(tool.name, 60)} does not have the files of a tool")
    try:
        facts = msgspec.json.decode(entries[f"{folder}{tool.name}.mcp.json"], type=ready(_Facts))
        draft = ToolDraft(
            name=ToolName(facts.name),
            description=facts.description,
            code=entries[f"{folder}{code}"].decode(),
            tests=entries[f"{folder}test_{tool.name}.py"].decode(),
            requirements=facts.requirements.asked,
            input_schema=facts.inputSchema,
            output_schema=facts.outputSchema,
            capabilities=facts.capabilities,
            language=facts.language,
        )
        evidence = msgspec.json.decode(entries[f"{folder}evidence.json"], type=ready(Evidence))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _refused(f"{tool.name} cannot be read: {one_line(str(error), 200)}") from error
    if code != f"{tool.name}{runtime_of(draft.language).suffix}":
        raise _refused(f"{tool.name} is not written in {one_line(draft.language, 40)}")
    if draft.name != tool.name:
        raise _refused(f"{tool.name} is called {one_line(draft.name, 60)} in its own file")
    return Packed(
        draft=draft, lock=facts.requirements.lock, version=tool.version, digest=tool.digest, evidence=evidence,
        arguments_sorted=_arguments_sorted(draft, entries[f"{folder}{tool.name}.mcp.json"]),
    )  # fmt: skip


def _arguments_sorted(draft: ToolDraft, facts: bytes) -> bool:
    """Return True if the order of the parameters is lost: an older alita sorted all names in `<name>.mcp.json`."""
    by_position = draft.language != "python" and len(runtime_of(draft.language).parameters(draft)) > 1
    return by_position and facts == _json(msgspec.json.decode(facts))


def _code_files(name: str) -> tuple[str, ...]:
    """Return the possible names of a tool's code file, one per language."""
    return tuple(f"{name}{runtime_of(language).suffix}" for language in LANGUAGES)


def _json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=1) + b"\n"


def _refused(reason: str) -> UsageError:
    return UsageError(f"The pack is refused: {reason}.", hint="Ask whoever made it for another one.")
