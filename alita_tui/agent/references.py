"""Resolves the short names by which an agent refers to files, results of earlier calls, and parts of both.

Arguments may hold `{"$ref": "HANDLE#/json/pointer"}` instead of the data itself, so that large data never goes
through the model; `HANDLE#base64` is the bytes of a file, for tools of servers that want them so. A HANDLE is an
artefact's handle or name, `e41` for the result of event 41, or a tool's name (or the label that a run was given) for
the result of its newest run.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from alita_tui import events as e
from alita_tui.agent.actions import RunTool
from alita_tui.agent.projection import StateProjection
from alita_tui.agent.tasks import chain_of
from alita_tui.artefacts.media import is_text, shape
from alita_tui.artefacts.slices import Part, at_pointer, clipped, part_of_file, part_of_value
from alita_tui.events import Artefact, FileUse, Json, Value, as_json
from alita_tui.spine import origin
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import RegistryError, StoreError, UsageError
from alita_tui.spine.history import of_kind
from alita_tui.spine.levels import shallow_json
from alita_tui.spine.ports.artefacts import Artefacts
from alita_tui.spine.ports.memory import OWN_WORDS
from alita_tui.spine.ports.sandbox import InputFile, input_path

LARGEST_RESULT = 16 << 10
"""Bytes of JSON above which a result becomes an artefact."""
_LARGEST_VALUE = 16 << 20
"""Bytes of a file that can be put into arguments."""
_EVENT = re.compile(r"e?(\d+)")
_REFERENCE = "$ref"
_BASE64 = "base64"
"""The suffix in place of a pointer, and JSON Schema's name for it."""
_MOST_EVIDENCE = 8_000_000
_EVIDENCE = (
    e.TaskSubmitted, e.Steered, e.QuestionAnswered, e.ToolReturned, e.PageRead, e.WebSearched, e.LookedBack,
    e.ArtefactAdded, e.ContextGiven, e.MemoryRecalled,
)  # fmt: skip
_FILE_NAME = re.compile(r"[\w-][\w. -]{0,118}\.[A-Za-z0-9]{1,8}")


class Resolved(Value, frozen=True):
    """Arguments for the tool, and what they refer to."""

    arguments: dict[str, Any]
    inputs: tuple[InputFile, ...] = ()
    files: tuple[FileUse, ...] = ()
    references: tuple[str, ...] = ()


class Looked(Value, frozen=True):
    """A part of a file or of a result, as text."""

    text: str
    handle: str = ""
    """The file's handle; empty for a result."""


class References:
    """Finds what the agent refers to, only within its session."""

    def __init__(self, bus: Bus, projection: StateProjection, artefacts: Artefacts) -> None:
        self._bus = bus
        self._projection = projection
        self._artefacts = artefacts

    @property
    def listed(self) -> tuple[Artefact, ...]:
        """Return the session's artefacts, the newest last; for a delegated agent, those it was handed or made.

        Files of other agents are not included until they are handed back.
        """
        files = self._projection.state.artefacts
        visible = self._handed()
        return files if visible is None else tuple(file for file in files if file.handle in visible)

    def _handed(self) -> frozenset[str] | None:
        """Return the handles that the present agent sees; None if it sees all, because nothing was ever delegated."""
        own_id, task_id = origin.delegate(), origin.current().task_id
        history = self._bus.history
        if not own_id and next(history.newest(e.AgentStarted), None) is None:
            return None
        handles: set[str] = set()
        for envelope in history.of(e.ArtefactAdded, e.AgentStarted, e.AgentEnded):
            match envelope.event:
                case e.ArtefactAdded(artefact=file):
                    own = envelope.delegate == own_id and (not own_id or envelope.task_id == task_id)
                    handles |= {file.handle} if own else set()
                case e.AgentStarted(agent_id=agent_id, handed=handed) if agent_id == own_id:
                    handles |= {entry.handle for entry in handed}
                case e.AgentEnded(artefacts=artefacts) if envelope.delegate == own_id:
                    handles |= {*artefacts}
                case _:
                    pass
        return frozenset(handles)

    def _sees(self, seq: int) -> bool:
        """Return whether the present agent may refer to an event's result: the lead to all, others to their own."""
        own_id = origin.delegate()
        return not own_id or any(
            envelope.delegate == own_id for envelope in self._bus.history[max(seq - 1, 0) : seq]
        )

    def resolve(self, arguments: dict[str, Any], schema: Json) -> Resolved:
        """Return the arguments with every reference replaced by what it names. Block on the disk.

        Where the schema asks for a file (`"format": "file"`), a reference becomes the path of a read-only file.
        Raise RegistryError for what does not exist or is too large.
        """
        work = _Resolution(self)
        properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
        resolved = {
            name: work.value(value, properties.get(name) if isinstance(properties, dict) else None)
            for name, value in arguments.items()
        }
        return Resolved(
            arguments=resolved,
            inputs=tuple(work.inputs),
            files=tuple(work.files),
            references=tuple(work.references),
        )

    def needs(self, action: RunTool, before: RunTool) -> bool:
        """Return whether a run needs the result of an earlier run in the same reply, or a file that run will make."""
        names = {before.name, before.label} - {""}
        existing = {name for file in self.listed for name in (file.handle, file.name)}
        for text, refers in _texts_in(action.arguments):
            handle = text.partition("#")[0] if refers else text
            if (refers and handle in names) or (_FILE_NAME.fullmatch(handle) and handle not in existing):
                return True
        return False

    def artefact(self, name: str) -> Artefact:
        """Return the artefact with this handle or name; of several with the same name, the task's newest if it has one.

        Raise RegistryError if there is none, or if a tool made a file with the name of one that the person gave.
        """
        matches = [file for file in self.listed if name in (file.handle, file.name)]
        provided = [file for file in matches if file.handle in self._projection.state.given]
        own = self._of_task(matches)
        mixed = provided and name == matches[-1].name and matches[-1] not in provided
        if mixed and not all(file in provided for file in own):
            raise RegistryError(
                f"Two files are called {name[:80]!r}: the person gave one, a tool made the other.",
                hint=f"Name it by its handle: {provided[-1].handle} is the person's, {matches[-1].handle} the tool's.",
            )
        if own:
            return own[-1]
        listing = ", ".join(f"{file.name} ({file.handle})" for file in self.listed[-12:])
        raise RegistryError(
            f"There is no file {name[:80]!r} in this session.",
            hint=f"There is: {listing}." if listing else "No file was given, and no tool made one.",
        )

    def _chain(self) -> list[e.TaskId]:
        """Return the present task, and those that it continues."""
        return chain_of(origin.current().task_id, self._projection.state)

    def _of_task(self, matches: list[Artefact]) -> list[Artefact]:
        """Return the files that the present task was given or made; all of them if it has none of its own."""
        chain = self._chain()
        if len(matches) < 2 or not chain:
            return matches
        task_files = {
            file for task in self._projection.state.tasks if task.task_id in chain for file in task.files
        }
        added_handles = {
            added.event.artefact.handle
            for added in self._bus.history.of(e.ArtefactAdded)
            if isinstance(added.event, e.ArtefactAdded) and added.task_id in chain
        }
        return [file for file in matches if file.handle in task_files | added_handles] or matches

    def evidence(self) -> Iterator[str]:
        """Yield the texts that an answer can rest on, newest first: from tools, pages, files and the person.

        Of a long session, the newest 8 million characters.
        """
        room = _MOST_EVIDENCE
        for envelope in self._bus.history.newest(*_EVIDENCE):
            text = f"{self._text_of(envelope.event)}\n{envelope.at:%Y-%m-%d}"
            yield text[:room]
            room -= len(text)
            if room <= 0:
                return

    def _text_of(self, event: e.SessionEvent) -> str:
        match event:
            case e.TaskSubmitted(text=text) | e.Steered(text=text) | e.QuestionAnswered(text=text):
                return text
            case e.ToolReturned(report=report):
                result = report.result
                if report.result_handle:
                    with suppress(RegistryError, StoreError):  # then the outline in the record has to do
                        result = self._whole_value(report.result_handle)
                return f"{as_json(result)}\n{report.stdout}"
            case e.PageRead(text=text, whole=whole_page):
                return whole_page or text
            case e.WebSearched(results=results):
                return "\n".join(f"{hit.title}\n{hit.snippet}" for hit in results)
            case e.LookedBack(text=text):
                return text
            case e.ArtefactAdded(artefact=file):
                return f"{file.name} {file.size} {file.preview}"
            case e.ContextGiven(blocks=blocks):
                return "\n".join(block.text for block in blocks)
            case e.MemoryRecalled(items=items):  # of the rest, much is what a model answered
                return "\n".join(item.text for item in items if item.origin in (*OWN_WORDS, "answer"))
            case _:
                return ""

    def path(self, file: Artefact) -> str:
        """Return where a file's bytes are. Raise StoreError."""
        return str(self._artefacts.path(file))

    def data(self, name: str, pointer: str = "") -> Json:
        """Return a result, or the content of a file: JSON as its value, text as text, `base64` as its bytes in base64.

        Raise RegistryError.
        """
        if pointer == _BASE64:
            return b64encode(self._bytes(self.artefact(name))).decode()
        value = self._whole_value(name)
        try:
            return at_pointer(value, pointer)
        except UsageError as error:
            raise RegistryError(error.message, hint=error.hint) from error

    def look(self, name: str, part: Part) -> Looked:
        """Return a part of a file or of a result, its beginning by default. Block on the disk. Raise RegistryError."""
        try:
            if _EVENT.fullmatch(name) or self._newest_run(name):
                return Looked(text=part_of_value(self._whole_value(name), part))
            file = self.artefact(name)
            if part.pointer:
                return Looked(text=part_of_value(self._whole_value(name), part), handle=file.handle)
            if not is_text(file.media_type):
                text = f"{described(file)}\nIt is no text: a tool can read it."
                return Looked(text=text, handle=file.handle)
            return Looked(text=part_of_file(Path(self.path(file)), file.media_type, part), handle=file.handle)
        except UsageError as error:
            raise RegistryError(error.message, hint=error.hint) from error

    def _whole_value(self, name: str) -> Json:
        if match := _EVENT.fullmatch(name):
            return self._result(int(match[1]))
        if (called := self._newest_run(name)) is not None:
            return self._result_of(called, name)
        file = self.artefact(name)
        raw = self._bytes(file)
        if file.media_type == "application/json":
            try:
                return shallow_json(raw)
            except ValueError as error:
                raise RegistryError(f"{file.name} is no valid JSON: {error}.") from error
        if not is_text(file.media_type):
            raise RegistryError(
                f"{file.name} is no text ({file.media_type}).",
                hint="Give it to a tool whose parameter is a file; where one wants base64, refer to it as "
                f"{file.handle}#{_BASE64}.",
            )
        return raw.decode("utf-8-sig", "replace")

    def _bytes(self, file: Artefact) -> bytes:
        if file.size > _LARGEST_VALUE:
            raise RegistryError(
                f"{file.name} has {file.size / 1e6:,.0f} MB, too much for an argument.",
                hint="Give it to a tool whose parameter is a file.",
            )
        return Path(self.path(file)).read_bytes()

    def _newest_run(self, name: str) -> e.ToolCalled | None:
        """Return the newest run of a tool, or the newest with a label: of the present task, if it has one."""
        chain, elsewhere, own_id = self._chain(), None, origin.delegate()
        for envelope in self._bus.history.newest(e.ToolCalled):
            called = envelope.event
            names = (called.label, called.name, called.alias) if isinstance(called, e.ToolCalled) else ()
            if isinstance(called, e.ToolCalled) and name in names and not called.caller:
                if envelope.delegate != own_id:
                    continue
                if not chain or envelope.task_id in chain:
                    return called
                elsewhere = elsewhere or called
        return elsewhere

    def _result_of(self, called: e.ToolCalled, name: str) -> Json:
        for returned in of_kind(self._bus.history.newest(e.ToolReturned), e.ToolReturned):
            if returned.call_id == called.call_id:
                return self._value_of(returned.report)
        raise RegistryError(f"The last run of {name} gave no result, so nothing can refer to it.")

    def _value_of(self, report: e.RunReport) -> Json:
        return self._whole_value(report.result_handle) if report.result_handle else report.result

    def _result(self, seq: int) -> Json:
        for envelope in self._bus.history[max(seq - 1, 0) : seq] if self._sees(seq) else ():
            match envelope.event:
                case e.ToolReturned(report=report):
                    return self._value_of(report)
                case e.PageRead(text=text):
                    return text
                case e.WebSearched(results=results):
                    return msgspec.to_builtins(results)
                case _:
                    pass
        raise RegistryError(f"Event {seq} brought no result.", hint="A result says which event it is: e41.")


class _Resolution:
    """The resolution of one set of arguments."""

    def __init__(self, resolver: References) -> None:
        self._references = resolver
        self.inputs: list[InputFile] = []
        self.files: list[FileUse] = []
        self.references: list[str] = []

    def value(self, value: Json, schema: Json) -> Json:
        """Return a value with its references replaced in the form that the schema asks for."""
        wants_file = isinstance(schema, dict) and schema.get("format") == "file"
        if (name := _reference(value)) is not None:
            self.references.append(name)
            handle, _, pointer = name.partition("#")
            if isinstance(schema, dict) and schema.get("contentEncoding") == _BASE64:
                pointer = pointer or _BASE64
            return self._file(handle) if wants_file else self._references.data(handle, pointer)
        if wants_file and isinstance(value, str):
            return self._file(value)
        if isinstance(value, list):
            items = schema.get("items") if isinstance(schema, dict) else None
            return [self.value(item, items) for item in value]
        if isinstance(value, dict):
            properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
            return {key: self.value(inner, properties.get(key)) for key, inner in value.items()}
        return value

    def _file(self, name: str) -> str:
        file = self._references.artefact(name)
        path = input_path(len(self.inputs), file.name)
        self.inputs.append(InputFile(path=self._references.path(file), name=file.name))
        self.files.append(FileUse(handle=file.handle, digest=file.digest, name=file.name))
        return path


def _texts_in(value: Json) -> Iterator[tuple[str, bool]]:
    """Yield every text in a value, and whether it refers to something."""
    if (name := _reference(value)) is not None:
        yield name, True
    elif isinstance(value, str):
        yield value, False
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(inner)


def _reference(value: Json) -> str | None:
    """Return what a value refers to; None for a value that is data."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(value.get(_REFERENCE), str):
        return str(value[_REFERENCE])
    return None


def described(file: Artefact) -> str:
    """Return one line about an artefact."""
    size = f"{file.size:,} bytes" if file.size < 10_000 else f"{file.size / 1e6:,.2f} MB"
    return f"{file.name} ({file.handle}, {file.media_type}, {size})"


def file_list(files: Iterator[Artefact] | tuple[Artefact, ...]) -> str:
    """Return a list of artefacts for a model; previews are data, to be fenced by the caller."""
    parts = []
    for file in islice(files, 40):
        parts.append(f"- {described(file)}")
        if file.preview:
            parts.append(f"  begins:\n{file.preview}")
    return "\n".join(parts)


def outlined(result: Json) -> str:
    """Return the shape of a large result, its head and its tail."""
    raw = as_json(result)
    return f"shape: {shape(result)}\n{clipped(raw, 1_600)}"
