"""Agent Skills of others as this home has them: approved by digest, kept as they were approved, suspended on change."""

from __future__ import annotations

import difflib
import re
import shutil
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from alita_tui.app.handing import write_folder
from alita_tui.app.identity import me, new_id, now
from alita_tui.app.servers import RUNS
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
"""Where a skill's files are; the document that says so may be anyone's."""
_LARGEST_SHOWN = 300_000
"""Bytes of a file whose lines are compared."""


class Kept(Value, frozen=True):
    """A skill that was added."""

    name: str
    digest: str
    source: str
    """The folder or archive that it came from."""
    added_at: str
    """ISO 8601, UTC."""


class Added:
    """An added skill as it stands now."""

    def __init__(
        self, kept: Kept, problem: str = "", skill: Skill | None = None, now: Skill | None = None
    ) -> None:
        self.kept = kept
        self.problem = problem
        """Why it is suspended; empty while it holds."""
        self.skill = skill
        """As it was approved; None where its files here are gone or changed."""
        self.now = now
        """As it is where it came from, if that is another one by now."""

    @property
    def state(self) -> Literal["approved", "suspended"]:
        """Whether the agent is told of it."""
        return "suspended" if self.problem else "approved"


class Found(Value, frozen=True):
    """A skill in a folder of another agent. It is not loaded."""

    folder: str
    name: str
    description: str = ""
    problem: str = ""
    """Why it could not be added."""


class SkillBook:
    """The skills of a home. Nothing is told of one unless the audit log has its approval and every byte is the same."""

    def __init__(self, app: AppContext) -> None:
        self._app = app

    @cached_property
    def _documents(self) -> DocumentTable:
        return self._app.documents(self._app.paths.skills, "skills")

    def kept(self) -> tuple[Kept, ...]:
        """Return every added skill by name; one that cannot be read is left out. Raise StoreError."""
        if not self._app.paths.skill_files.exists():
            return ()  # a home without skills gets no file for them
        found = []
        for document in self._documents.all():
            try:
                one = msgspec.convert(document, ready(Kept))
            except msgspec.ValidationError:
                continue
            if _PLACE.fullmatch(f"{one.digest}/{one.name}"):
                found.append(one)
        return tuple(sorted(found, key=lambda one: one.name))

    def all(self) -> tuple[Added, ...]:
        """Return every added skill as it stands; block on the disk. Raise StoreError."""
        return tuple(map(self._stands, self.kept()))

    def get(self, name: str) -> Added | None:
        """Return an added skill as it stands. Raise StoreError."""
        return next((self._stands(kept) for kept in self.kept() if kept.name == name), None)

    def _approved(self, name: str) -> str:
        """Return the digest that the newest entry about a skill approves, or an empty string. Raise StoreError."""
        if self._app.library.standing().problem:
            return ""  # a log that is not to be relied on approves nothing
        for entry in reversed(self._app.audit.entries()):
            if entry.name == name and entry.verdict in (_APPROVED, _REMOVED):
                return entry.digest if entry.verdict == _APPROVED else ""
        return ""

    def _stands(self, kept: Kept) -> Added:
        from alita_tui.mcp_box.skills.reading import read_from

        if self._approved(kept.name) != kept.digest:
            return Added(kept, "the audit log has no approval of it")
        try:
            skill = read_from(self._place(kept))
        except AlitaError as error:
            return Added(kept, f"its files here cannot be read: {error.message}")
        if skill.digest != kept.digest:
            return Added(kept, "its files here are not what was approved")
        source = Path(kept.source)
        if not source.exists():
            return Added(kept, skill=skill)
        try:
            there = read_from(source)
        except AlitaError as error:
            return Added(kept, f"{kept.source} changed: {error.message}", skill)
        if there.digest == kept.digest:
            return Added(kept, skill=skill)
        return Added(kept, f"{kept.source} changed since it was approved", skill, there)

    def _place(self, kept: Kept) -> Path:
        return self._app.paths.skill_files / kept.digest / kept.name

    def risks(self, skill: Skill) -> tuple[Risk, ...]:
        """Return the risks of a skill. Raise StoreError."""
        from alita_tui.mcp_box.skills.review import skill_risks
        from alita_tui.toolsmith.prompt_injection import addressed

        return skill_risks(skill, addressed, [one.name for one in self.kept()])

    def approve(self, skill: Skill, source: Path, accepted: tuple[str, ...]) -> Kept:
        """Keep a skill's files and enter its approval in the audit log. Raise StoreError, UsageError."""
        name, added_at = skill.text.name, now().isoformat()
        kept = Kept(name=name, digest=skill.digest, source=str(source.resolve()), added_at=added_at)
        before = [one for one in self.kept() if one.name == name and one.digest != kept.digest]
        shutil.rmtree(
            self._place(kept), ignore_errors=True
        )  # perhaps damaged; now it is written as it was read
        write_folder(self._place(kept), skill.files)
        risks = tuple(f"△ {risk.name}: {risk.text}" for risk in self.risks(skill))
        said = (f"accepted: {', '.join(accepted)}",) if accepted else ()
        self._log(_APPROVED, kept, f"from {one_line(kept.source, 200)}", (*risks, *said))
        self._documents.put(name, msgspec.to_builtins(kept))
        for one in before:
            shutil.rmtree(self._place(one).parent, ignore_errors=True)
        return kept

    def remove(self, name: str) -> None:
        """Forget a skill and its files. Raise UsageError where there is none, StoreError."""
        for kept in self.kept():
            if kept.name == name:
                self._log(_REMOVED, kept, "", ())
                self._documents.remove(name)
                shutil.rmtree(self._place(kept).parent, ignore_errors=True)
                return
        raise self.unknown(name)

    def unknown(self, name: str) -> UsageError:
        """Return the error for a skill that was not added."""
        names = ", ".join(one.name for one in self.kept()) or "none"
        return UsageError(f"There is no skill {one_line(name, 60)}.", hint=f"There are: {names}.")

    def _log(self, verdict: str, kept: Kept, reason: str, evidence: tuple[str, ...]) -> None:
        self._app.audit.append(
            AuditEntry(
                who=me(), verdict=verdict, digest=kept.digest, name=kept.name, version=0, session_id="",
                approval_id=f"skill-{new_id()}", reason=reason, evidence=evidence, via="cli",
            )
        )  # fmt: skip

    # --- what the agent is told -------------------------------------------------------------------

    def told(self) -> tuple[tuple[str, str], ...]:
        """Return name and description of each skill that is approved and unchanged. Raise StoreError."""
        return tuple(
            (one.kept.name, one.skill.text.description)
            for one in self.all()
            if one.skill is not None and not one.problem
        )

    def file(self, path: str) -> bytes:
        """Return a file of an approved skill by `NAME/PATH`, its instructions by `NAME`.

        Raise RegistryError, StoreError.
        """
        name, _, inside = path.partition("/")
        one = self.get(name)
        if one is None or one.skill is None or one.problem:
            why = f"is suspended: {one.problem}" if one else "is not among those that the person approved"
            raise RegistryError(f"The skill {one_line(name, 60)!r} {why}.")
        if (data := one.skill.files.get(inside or "SKILL.md")) is None:
            listed = ", ".join(sorted(one.skill.files)[:60])
            raise RegistryError(
                f"The skill {name} has no {one_line(inside, 80)!r}.", hint=f"It has: {listed}."
            )
        return data


def found(below: Path) -> tuple[Found, ...]:
    """Return the skills that lie where other agents look for them; none of them is loaded."""
    places = [base / folder for base in (Path.home(), below) for folder in _FOLDERS]
    return tuple(_looked(tuple(dict.fromkeys(places))))


def _looked(places: tuple[Path, ...]) -> Iterator[Found]:
    from alita_tui.mcp_box.skills.format import SkillRefused
    from alita_tui.mcp_box.skills.reading import read_from

    seen = 0
    for place in places:
        try:
            folders = sorted(one for one in place.iterdir() if one.is_dir())
        except OSError:
            continue
        for folder in folders:
            seen += 1
            if seen > _MOST_FOUND:
                return
            try:
                text = read_from(folder).text
            except SkillRefused as error:
                yield Found(folder=str(folder), name=folder.name, problem=error.why)
            except UsageError as error:
                yield Found(folder=str(folder), name=folder.name, problem=error.message)
            else:
                yield Found(folder=str(folder), name=text.name, description=text.description)


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
    """Return a file's lines; None for one that is no text, or so large that nobody reads it."""
    if data is None:
        return []
    if b"\0" in data or len(data) > _LARGEST_SHOWN:
        return None
    return reveal(data.decode("utf-8", "replace")).split("\n")


def replaced(app: AppContext, draft: ToolDraft) -> tuple[Risk, ...]:
    """Return the risk that a script takes the place of a tool that runs here: the skill chooses its name."""
    from alita_tui.view.risk import Risk

    running = [one for one in app.library.versions(draft.name) if one.state in RUNS]
    if not running or running[-1].draft.digest == draft.digest:
        return ()
    said = f"{draft.name} v{running[-1].version}, which runs here, is replaced by it"
    return (Risk("replaces", said),)


def script_draft(app: AppContext, skill: Skill, path: str) -> ToolDraft:
    """Return a script of a skill as the draft of a tool. Raise UsageError with the reason where it can be none."""
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
