"""Packs: several tools in one file, with tests, locks and evidence, the same bytes for the same tools.

A pack is a ZIP archive with a manifest that names every other entry by its SHA-256, and a signature over the manifest.
Reading one is for hostile bytes: nothing is written to a disk, no entry is read further than it may be long, and what
is not exactly as this module writes it is refused. What is read is a draft like any other: nothing of it is approved.
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
"""Bytes of a pack."""
MOST_TOOLS = 100
_LARGEST_ENTRY = 1_000_000
_LARGEST_WHOLE = 20_000_000
"""Bytes of an entry, and of all of them, unpacked."""
_MANIFEST, _SIGNATURE = "pack.json", "signature.json"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
_PACK_NAME = re.compile(r"[\w][\w .-]{0,79}")
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


class PackTool(Value, frozen=True):
    """A tool as the manifest names it."""

    name: str
    version: int
    """The number that it has in the library that it comes from."""
    digest: str
    """Of its build there."""
    files: dict[str, str]
    """SHA-256 by the name of each of its entries."""


class PackManifest(Value, frozen=True):
    """A pack's own description, all of it signed."""

    format: str
    name: str
    tools: tuple[PackTool, ...]


class Evidence(Value, frozen=True):
    """What is known about a tool at its origin. It is shown, but does not count here."""

    approval_id: str = ""
    approved_at: str = ""
    approved_via: str = ""
    accepted: tuple[str, ...] = ()
    """What the review showed there, one finding a line."""
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
    """True if an older alita packed it, which sorted its arguments, and its tests give them by their place."""


class Pack(Value, frozen=True):
    """A pack as it was read."""

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
    """The part of `<name>.mcp.json` that makes the draft."""

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
    listed: list[PackTool] = []
    for record, evidence in sorted(tools, key=lambda pair: pair[0].draft.name):
        tool = record.draft.name
        own = {
            f"tools/{tool}/{tool}{runtime_of(record.draft.language).suffix}": record.draft.code.encode(),
            f"tools/{tool}/test_{tool}.py": record.draft.tests.encode(),
            f"tools/{tool}/{tool}.mcp.json": f"{as_json(tool_manifest(record), indent=1)}\n".encode(),
            f"tools/{tool}/evidence.json": _json(evidence),
        }
        entries |= own
        digests = {path: sha256(data).hexdigest() for path, data in own.items()}
        listed.append(PackTool(name=tool, version=record.version, digest=record.digest, files=digests))
    if not 0 < len(listed) <= MOST_TOOLS:
        raise UsageError(f"A pack holds 1 to {MOST_TOOLS} tools.")
    made = PackManifest(format=FORMAT, name=name, tools=tuple(listed))
    return _json(made).decode(), entries


def written(manifest: str, entries: dict[str, bytes], key: str, signature: str) -> bytes:
    """Return a pack's bytes; the same for the same tools and key. Raises UsageError if it would be too large."""
    whole = {
        _MANIFEST: manifest.encode(),
        _SIGNATURE: _json(_Signature(key=key, signature=signature)),
        **entries,
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(whole):
            entry = zipfile.ZipInfo(path, _LONG_AGO)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, whole[path])
    if file.tell() > LARGEST or sum(map(len, whole.values())) > _LARGEST_WHOLE:
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
        raise _refused("it names no tools, too many, or one twice")
    if not _PACK_NAME.fullmatch(manifest.name):
        raise _refused("its name is none")
    named = {path: digest for tool in manifest.tools for path, digest in tool.files.items()}
    if set(named) != set(entries):
        odd = sorted(set(named) ^ set(entries))[0]
        raise _refused(f"manifest and entries differ: {one_line(odd, 80)}")
    if changed := [path for path in named if sha256(entries[path]).hexdigest() != named[path]]:
        raise _refused(f"{one_line(changed[0], 80)} was changed")
    return Pack(
        name=manifest.name,
        tools=tuple(_tool(tool, entries) for tool in manifest.tools),
        manifest=raw.decode(),
        key=signature.key,
        signature=signature.signature,
    )


def _entries(data: bytes) -> dict[str, bytes]:
    """Return the entries of an archive by name, each read no further than it may be long. Raises UsageError."""
    if len(data) > LARGEST:
        raise _refused(f"it is larger than {LARGEST // 1_000_000} MB")
    contents: dict[str, bytes] = {}
    room = _LARGEST_WHOLE
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            listed = archive.infolist()
            if len(listed) > 4 * MOST_TOOLS + 2:
                raise _refused("it has too many entries")
            for entry in listed:
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
        raise _refused(
            f"it cannot be unpacked: {type(error).__name__}"
        ) from error  # zlib.error, among others
    return contents


def _check_entry(entry: zipfile.ZipInfo, contents: dict[str, bytes]) -> None:
    """Raise UsageError for an entry that a pack of ours would not have."""
    name = entry.filename
    parts = name.split("/")
    plain = name in (_MANIFEST, _SIGNATURE) or (
        len(parts) == 3
        and parts[0] == "tools"
        and _NAME.fullmatch(parts[1]) is not None
        and parts[2]
        in (*_code_files(parts[1]), f"test_{parts[1]}.py", f"{parts[1]}.mcp.json", "evidence.json")
    )
    if not plain or entry.orig_filename != name:
        raise _refused(f"{one_line(name, 80)!r} has no place in a pack")
    if name in contents:
        raise _refused(f"{name} is there twice")
    if entry.flag_bits & 0x1:
        raise _refused(f"{name} is encrypted")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if entry.is_dir() or kind not in (0, stat.S_IFREG):
        raise _refused(f"{name} is not a plain file")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _refused(f"{name} is packed in a way that is not read")
    if entry.file_size > _LARGEST_ENTRY:
        raise _refused(f"{name} is too large")


def _tool(tool: PackTool, entries: dict[str, bytes]) -> Packed:
    """Return one tool out of its entries. Raises UsageError."""
    place = f"tools/{tool.name}/"
    code = next((file for file in _code_files(tool.name) if f"{place}{file}" in tool.files), "")
    wanted = {
        f"{place}{file}" for file in (code, f"test_{tool.name}.py", f"{tool.name}.mcp.json", "evidence.json")
    }
    if set(tool.files) != wanted or not _NAME.fullmatch(tool.name):
        raise _refused(f"{one_line(tool.name, 60)} does not have the files of a tool")
    try:
        facts = msgspec.json.decode(entries[f"{place}{tool.name}.mcp.json"], type=ready(_Facts))
        draft = ToolDraft(
            name=ToolName(facts.name),
            description=facts.description,
            code=entries[f"{place}{code}"].decode(),
            tests=entries[f"{place}test_{tool.name}.py"].decode(),
            requirements=facts.requirements.asked,
            input_schema=facts.inputSchema,
            output_schema=facts.outputSchema,
            capabilities=facts.capabilities,
            language=facts.language,
        )
        evidence = msgspec.json.decode(entries[f"{place}evidence.json"], type=ready(Evidence))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _refused(f"{tool.name} cannot be read: {one_line(str(error), 200)}") from error
    if code != f"{tool.name}{runtime_of(draft.language).suffix}":
        raise _refused(f"{tool.name} is not written in {one_line(draft.language, 40)}")
    if draft.name != tool.name:
        raise _refused(f"{tool.name} is called {one_line(draft.name, 60)} in its own file")
    return Packed(
        draft=draft, lock=facts.requirements.lock, version=tool.version, digest=tool.digest, evidence=evidence,
        arguments_sorted=_arguments_sorted(draft, entries[f"{place}{tool.name}.mcp.json"]),
    )  # fmt: skip


def _arguments_sorted(draft: ToolDraft, written_facts: bytes) -> bool:
    """Return whether the order of the arguments is unknown, as an older alita sorted every name of this file."""
    by_place = draft.language != "python" and len(runtime_of(draft.language).parameters(draft)) > 1
    return by_place and written_facts == _json(msgspec.json.decode(written_facts))


def _code_files(name: str) -> tuple[str, ...]:
    """Return what a tool's code can be called, in any language."""
    return tuple(f"{name}{runtime_of(language).suffix}" for language in LANGUAGES)


def _json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=1) + b"\n"


def _refused(why: str) -> UsageError:
    return UsageError(f"The pack is refused: {why}.", hint="Ask whoever made it for another one.")
