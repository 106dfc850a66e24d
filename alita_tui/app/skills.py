"""Agent Skills from elsewhere: approved by digest, stored as approved, suspended if they change."""

from __future__ import annotations

import difflib
import re
import shutil
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from alita_tui.app.identity import me, new_id, now
from alita_tui.app.servers.book import RUNS
from alita_tui.app.tool_export import write_folder
from alita_tui.events import ToolDraft, Value, ready
from alita_tui.spine.errors import AlitaError, RegistryError, UsageError
from alita_tui.spine.text import one_line, reveal
from alita_tui.store.entry import AuditEntry

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext
    from alita_tui.mcp_box.skills.reading import Skill
    from alita_tui.store.documents import DocumentTable
    from alita_tui.view.risk import Risk

_APPROVED, _REMOVED = "skill approved", "skill removed"
"""Verdicts of the audit log."""
_FOLDERS = (".agents/skills", ".claude/skills", ".codex/skills", ".gemini/skills", ".cursor/skills")
"""Where other agents look for skills, below the home and below the folder where alita was started."""
_MOST_FOUND = 200
_PLACE = re.compile(r"[0-9a-f]{64}/[a-z0-9-]{1,64}")
"""Valid folder of a skill's files; checked because the document that names it could be forged."""
_LARGEST_SHOWN = 300_000
"""Bytes of a file whose lines are compared."""


class StoredSkill(Value, frozen=True):
    """A skill that was added."""

    name: str
    digest: str
    source: str
    """The folder or archive that it came from."""
    added_at: str
    """ISO 8601, UTC."""


class Added:
    """An added skill and its current state."""

    def __init__(
        self, entry: StoredSkill, problem: str = "", skill: Skill | None = None, now: Skill | None = None
    ) -> None:
        self.entry = entry
        self.problem = problem
        """Why it is suspended; empty if it is approved."""
        self.skill = skill
        """The skill as approved; None if its files here are missing or changed."""
        self.now = now
        """The skill at its source, if that has changed since."""

    @property
    def state(self) -> Literal["approved", "suspended"]:
        """Whether the agent may use it."""
        return "suspended" if self.problem else "approved"


class FoundSkill(Value, frozen=True):
    """A skill in a folder of another agent. It is not loaded."""

    folder: str
    name: str
    description: str = ""
    problem: str = ""
    """Why it could not be added."""


class SkillBook:
    """The skills of a home. The agent sees one only if the audit log has its approval and every byte is the same."""

    def __init__(self, app: AppContext) -> None:
        self._app = app

    @cached_property
    def _documents(self) -> DocumentTable:
        return self._app.documents(self._app.paths.skills, "skills")

    def entries(self) -> tuple[StoredSkill, ...]:
        """Return every added skill by name; one that cannot be read is left out. Raise StoreError."""
        if not self._app.paths.skill_files.exists():
            return ()  # a home without skills gets no file for them
        entries = []
        for document in self._documents.all():
            try:
                entry = msgspec.convert(document, ready(StoredSkill))
            except msgspec.ValidationError:
                continue
            if _PLACE.fullmatch(f"{entry.digest}/{entry.name}"):
                entries.append(entry)
        return tuple(sorted(entries, key=lambda entry: entry.name))

    def all(self) -> tuple[Added, ...]:
        """Return every added skill with its current state; block on the disk. Raise StoreError."""
        return tuple(map(self._stands, self.entries()))

    def get(self, name: str) -> Added | None:
        """Return an added skill with its current state; None if there is none. Raise StoreError."""
        return next((self._stands(entry) for entry in self.entries() if entry.name == name), None)

    def _approved(self, name: str) -> str:
        """Return the digest that the newest entry about a skill approves, or an empty string. Raise StoreError."""
        if self._app.library.standing().problem:
            return ""  # a log that is not to be relied on approves nothing
        for entry in reversed(self._app.audit.entries()):
            if entry.name == name and entry.verdict in (_APPROVED, _REMOVED):
                return entry.digest if entry.verdict == _APPROVED else ""
        return ""

    def _stands(self, entry: StoredSkill) -> Added:
        from alita_tui.mcp_box.skills.reading import read_from

        if self._approved(entry.name) != entry.digest:
            return Added(entry, "the audit log has no approval of it")
        try:
            skill = read_from(self._place(entry))
        except AlitaError as error:
            return Added(entry, f"its files here cannot be read: {error.message}")
        if skill.digest != entry.digest:
            return Added(entry, "its files here are not what was approved")
        source = Path(entry.source)
        if not source.exists():
            return Added(entry, skill=skill)
        try:
            there = read_from(source)
        except AlitaError as error:
            return Added(entry, f"{entry.source} changed: {error.message}", skill)
        if there.digest == entry.digest:
            return Added(entry, skill=skill)
        return Added(entry, f"{entry.source} changed since it was approved", skill, there)

    def _place(self, entry: StoredSkill) -> Path:
        return self._app.paths.skill_files / entry.digest / entry.name

    def risks(self, skill: Skill) -> tuple[Risk, ...]:
        """Return the risks of a skill. Raise StoreError."""
        from alita_tui.mcp_box.skills.review import skill_risks
        from alita_tui.toolsmith.prompt_injection import addressed

        return skill_risks(skill, addressed, [entry.name for entry in self.entries()])

    def approve(self, skill: Skill, source: Path, accepted: tuple[str, ...]) -> StoredSkill:
        """Keep a skill's files and enter its approval in the audit log. Raise StoreError, UsageError."""
        name, added_at = skill.text.name, now().isoformat()
        entry = StoredSkill(name=name, digest=skill.digest, source=str(source.resolve()), added_at=added_at)
        before = [
            earlier for earlier in self.entries() if earlier.name == name and earlier.digest != entry.digest
        ]
        shutil.rmtree(
            self._place(entry), ignore_errors=True
        )  # perhaps damaged; now it is written as it was read
        write_folder(self._place(entry), skill.files)
        risks = tuple(f"△ {risk.name}: {risk.text}" for risk in self.risks(skill))
        acceptance = (f"accepted: {', '.join(accepted)}",) if accepted else ()
        self._log(_APPROVED, entry, f"from {one_line(entry.source, 200)}", (*risks, *acceptance))
        self._documents.put(name, msgspec.to_builtins(entry))
        for earlier in before:
            shutil.rmtree(self._place(earlier).parent, ignore_errors=True)
        return entry

    def remove(self, name: str) -> None:
        """Remove a skill and its files. Raise UsageError for an unknown name, StoreError."""
        for entry in self.entries():
            if entry.name == name:
                self._log(_REMOVED, entry, "", ())
                self._documents.remove(name)
                shutil.rmtree(self._place(entry).parent, ignore_errors=True)
                return
        raise self.unknown(name)

    def unknown(self, name: str) -> UsageError:
        """Return the error for a skill that was not added."""
        names = ", ".join(entry.name for entry in self.entries()) or "none"
        return UsageError(f"There is no skill {one_line(name, 60)}.", hint=f"There are: {names}.")

    def _log(self, verdict: str, entry: StoredSkill, reason: str, evidence: tuple[str, ...]) -> None:
        self._app.audit.append(
            AuditEntry(
                who=me(), verdict=verdict, digest=entry.digest, name=entry.name, version=0, session_id="",
                approval_id=f"skill-{new_id()}", reason=reason, evidence=evidence, via="cli",
            )
        )  # fmt: skip

    # --- what the agent is told -------------------------------------------------------------------

    def descriptions(self) -> tuple[tuple[str, str], ...]:
        """Return name and description of each skill that is approved and unchanged. Raise StoreError."""
        return tuple(
            (skill.entry.name, skill.skill.text.description)
            for skill in self.all()
            if skill.skill is not None and not skill.problem
        )

    def file(self, path: str) -> bytes:
        """Return a file of an approved skill by `NAME/PATH`, its instructions by `NAME`.

        Raise RegistryError, StoreError.
        """
        name, _, inside = path.partition("/")
        skill = self.get(name)
        if skill is None or skill.skill is None or skill.problem:
            why = f"is suspended: {skill.problem}" if skill else "is not among those that the person approved"
            raise RegistryError(f"The skill {one_line(name, 60)!r} {why}.")
        if (data := skill.skill.files.get(inside or "SKILL.md")) is None:
            listed = ", ".join(sorted(skill.skill.files)[:60])
            raise RegistryError(
                f"The skill {name} has no {one_line(inside, 80)!r}.", hint=f"It has: {listed}."
            )
        return data


def discovered(below: Path) -> tuple[FoundSkill, ...]:
    """Return the skills in the folders where other agents look for them; none of them is loaded."""
    places = [base / folder for base in (Path.home(), below) for folder in _FOLDERS]
    return tuple(_looked(tuple(dict.fromkeys(places))))


def _looked(places: tuple[Path, ...]) -> Iterator[FoundSkill]:
    from alita_tui.mcp_box.skills.format import SkillRefused
    from alita_tui.mcp_box.skills.reading import read_from

    seen = 0
    for place in places:
        try:
            folders = sorted(path for path in place.iterdir() if path.is_dir())
        except OSError:
            continue
        for folder in folders:
            seen += 1
            if seen > _MOST_FOUND:
                return
            try:
                text = read_from(folder).text
            except SkillRefused as error:
                yield FoundSkill(folder=str(folder), name=folder.name, problem=error.reason)
            except UsageError as error:
                yield FoundSkill(folder=str(folder), name=folder.name, problem=error.message)
            else:
                yield FoundSkill(folder=str(folder), name=text.name, description=text.description)


def differences(before: Skill, after: Skill) -> Iterator[str]:
    """Yield what changed between two states of a skill, line by line."""
    for path in sorted({*before.files, *after.files}):
        was, is_now = before.files.get(path), after.files.get(path)
        if was == is_now:
            continue
        old, new = _lines(was), _lines(is_now)
        if old is None or new is None:
            yield f"{path}: {'added' if was is None else 'removed' if is_now is None else 'changed'}"
        else:
            yield from difflib.unified_diff(old, new, f"approved/{path}", f"now/{path}", lineterm="", n=2)


def _lines(data: bytes | None) -> list[str] | None:
    """Return a file's lines; None if it is not text, or too large to read."""
    if data is None:
        return []
    if b"\0" in data or len(data) > _LARGEST_SHOWN:
        return None
    return reveal(data.decode("utf-8", "replace")).split("\n")


def replaced(app: AppContext, draft: ToolDraft) -> tuple[Risk, ...]:
    """Return the risk that a script takes the place of a tool that runs here: the skill chooses its name."""
    from alita_tui.view.risk import Risk

    running = [record for record in app.library.versions(draft.name) if record.state in RUNS]
    if not running or running[-1].draft.digest == draft.digest:
        return ()
    text = f"{draft.name} v{running[-1].version}, which runs here, is replaced by it"
    return (Risk("replaces", text),)


def script_draft(app: AppContext, skill: Skill, path: str) -> ToolDraft:
    """Return a script of a skill as the draft of a tool. Raise UsageError with the reason if it cannot be one."""
    from alita_tui.mcp_box.skills.scripts import script_form
    from alita_tui.runtimes.port import ContractError
    from alita_tui.runtimes.python.form import header_requirements
    from alita_tui.toolsmith.contract import draft_from, normalise

    form = script_form(skill, path)
    try:
        python = form["language"] == "python"
        form["requirements"] = list(header_requirements(form["code"]) or ()) if python else []
        draft = normalise(draft_from(form))
    except ContractError as error:
        raise UsageError(f"{one_line(path, 80)} can be no tool: {error.message}.") from error
    if refused := app.library.banned(draft.name, draft, draft.digest):
        raise UsageError(refused)
    return draft
