"""Parked builds of all sessions, and verdicts left for sessions that are closed or open in another process."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import msgspec

from alita_tui.events import ApprovalResolved, Json, Verdict, ready
from alita_tui.events.upgrades import upgrade_approval
from alita_tui.spine.commands import ResolveApproval
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.builds import ParkedBuild, Sealing
from alita_tui.spine.ports.stream import Clock
from alita_tui.spine.redaction import Redactor
from alita_tui.spine.text import one_line
from alita_tui.store import disk
from alita_tui.store.seal import Signed
from alita_tui.store.sessions import SessionFile, SessionStore

_KIND = "desk note"
_SKEW = timedelta(seconds=5)
"""Tolerated difference between two processes' clocks."""
_LONGEST_LOOK_MS = 30 * 24 * 3600 * 1000.0


class VerdictNote(Signed, frozen=True):
    """The file in which one process leaves a verdict for another."""

    command: Json
    """A ResolveApproval as JSON, possibly of schema 1; stored exactly as it was signed."""
    by: str
    at: str
    """ISO 8601, UTC."""
    signature: str = ""
    """Of the home over all of this, made by the process that leaves it; see `Sealing`."""

    @property
    def decided(self) -> ResolveApproval:
        """The command. Raises msgspec.MsgspecError."""
        raw = upgrade_approval(self.command) if isinstance(self.command, dict) else self.command
        command = msgspec.convert(raw, ready(ResolveApproval))
        verdict = msgspec.structs.replace(command.verdict, by=self.by)
        return msgspec.structs.replace(command, verdict=verdict)


class VerdictInbox:
    """Implements `ApprovalDesk`. A verdict is one signed file; whoever creates it first has decided."""

    def __init__(
        self,
        folder: Path,
        sessions: SessionStore,
        clock: Clock = lambda: datetime.now(UTC),
        *,
        redactor: Redactor | None = None,
        sealing: Sealing | None = None,
    ) -> None:
        """With `sealing` a note counts only if a process of this home signed it; without, it is trusted."""
        self._sealing = sealing
        self.report: Callable[[str], None] = lambda _: None
        """Called with a sentence about each note that was set aside."""
        self._folder = folder
        self._sessions = sessions
        self._clock = clock
        self._redactor = redactor or Redactor()

    def pending(self) -> tuple[ParkedBuild, ...]:
        """Return builds that wait in any session, oldest first; `verdict` is set on those decided already."""
        parked = [build for summary in self._sessions.list() for build in summary.pending]
        parked.sort(key=lambda build: (build.requested_at, build.approval_id))
        return tuple(map(self._with_decision, parked))

    def show(self, wanted: str) -> tuple[ParkedBuild, tuple[Envelope, ...]]:
        """Return a parked build and all events that its session recorded of it. Raises UsageError, StoreError.

        `wanted` is an approval id, a build id, or a unique prefix of either.
        """
        build = self._find(wanted)
        session = SessionFile.open(self._sessions.find(build.session_id), readonly=True)
        try:
            events = [
                envelope
                for envelope in session.envelopes()
                if getattr(envelope.event, "build_id", "") == build.build_id
            ]
        finally:
            session.close()
        return build, tuple(events)

    def leave(self, wanted: str, command: ResolveApproval) -> ParkedBuild:
        """Leave a verdict for the session; it is on disk when this returns.

        The command's digest must be the pending one, whole: two drafts can be made whose digests begin alike. Raises
        UsageError for another digest, or if the build is decided or does not wait; StoreError.
        """
        build = self._find(wanted)
        digest = command.digest.lower().removeprefix("sha256:")
        if len(digest) < len(build.digest) and build.digest.startswith(digest):
            raise UsageError(
                f"{digest or 'An empty string'!r} is too short for a digest.",
                hint=f"Give all {len(build.digest)} digits of what you reviewed.",
            )
        if digest != build.digest:
            raise UsageError(
                f"{build.name} v{build.version} waits with other bytes than {one_line(digest, 16)}.",
                hint=f"Look at it again: alita builds show {build.approval_id}",
            )
        command = self._redactor.value(command)
        verdict = command.verdict
        if verdict.via == "cli" and (verdict.seen_ms or verdict.scrolled_to_end):  # nothing was on screen
            verdict = msgspec.structs.replace(verdict, seen_ms=0.0, scrolled_to_end=False)
        command = msgspec.structs.replace(
            command, approval_id=build.approval_id, digest=build.digest, verdict=verdict
        )
        if not self._put(command):
            raise UsageError(_decided_before(build, self._read(build.approval_id)))
        # It may have been decided, and its note cleared, since it was found to wait.
        recorded = self._resolved(self._sessions.find(build.session_id), build.approval_id)
        if recorded and (recorded.verdict.by, recorded.verdict.decision) != (verdict.by, verdict.decision):
            self.taken(build.approval_id)
            raise UsageError(_decided_text(recorded))
        return msgspec.structs.replace(build, verdict=verdict.decision)

    def claim(self, command: ResolveApproval) -> ResolveApproval:
        """Enter this session's verdict unless there is one already; return the valid one. Raises StoreError."""
        return command if self._put(command) else self.verdict(command.approval_id) or command

    def verdict(self, approval_id: str) -> ResolveApproval | None:
        """Return the verdict left for this approval; one that cannot be trusted is set aside."""
        note = self._read(approval_id)
        return note.decided if note else None

    def _read(self, approval_id: str) -> VerdictNote | None:
        path = self._path(approval_id)
        raw = disk.read_bytes(path)
        if raw is None:
            return None
        try:
            note = msgspec.json.decode(raw, type=ready(VerdictNote))
            command = note.decided
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        if command.approval_id != approval_id:
            return None
        if why := self._objection(note, command.verdict):
            aside = disk.move_aside(path)
            self.report(
                f"A verdict on {one_line(approval_id, 60)} was set aside as {aside}: {why}. It still waits."
            )
            return None
        return note

    def taken(self, approval_id: str) -> None:
        """Clear the note of a verdict that its session has recorded. Raises StoreError."""
        note = self._path(approval_id)
        try:
            for file in (
                note,
                *self._folder.glob(f"{note.stem}.*.tmp"),
            ):  # a shell may have died while writing its own
                file.unlink(missing_ok=True)
        except OSError as error:
            raise disk.store_error("removed", self._path(approval_id), error) from error

    def _note(self, command: ResolveApproval) -> VerdictNote:
        """Return a verdict of this process as a signed note."""
        at = self._clock().isoformat()
        unsigned = VerdictNote(command=msgspec.to_builtins(command), by=command.verdict.by, at=at)
        if self._sealing is None:
            return unsigned
        return msgspec.structs.replace(unsigned, signature=self._sealing.signed(_KIND, unsigned.text))

    def _objection(self, note: VerdictNote, verdict: Verdict) -> str:
        """Return why a note is not a person's verdict; empty if it is one."""
        if self._sealing is None:
            return ""
        if not self._sealing.vouched(_KIND, note.text, note.signature):
            return "no process of this home signed it"
        try:
            later = datetime.fromisoformat(note.at) > self._clock() + _SKEW
        except (ValueError, TypeError):
            return "it does not say when it was given"
        if later:
            return "it is dated in the future"
        if verdict.via == "cli" and (verdict.seen_ms or verdict.scrolled_to_end):
            return "it comes from a shell and says that it was looked at on screen"
        if not 0 <= verdict.seen_ms <= _LONGEST_LOOK_MS:
            return "nobody can have looked at it for so long"
        return ""

    def _path(self, approval_id: str) -> Path:
        # Ids come from session files, which may come from anywhere: they are not used as paths.
        safe = approval_id if approval_id.replace("-", "").isalnum() and approval_id.isascii() else ""
        return self._folder / f"{safe or sha256(approval_id.encode('utf-8', 'replace')).hexdigest()}.json"

    def _with_decision(self, build: ParkedBuild) -> ParkedBuild:
        command = self.verdict(build.approval_id)
        return msgspec.structs.replace(build, verdict=command.verdict.decision if command else "")

    def _find(self, wanted: str) -> ParkedBuild:
        parked = self.pending()
        exact = [build for build in parked if wanted in (build.approval_id, build.build_id)]
        matches = exact or [
            build
            for build in parked
            if wanted and (build.approval_id.startswith(wanted) or build.build_id.startswith(wanted))
        ]
        if len(matches) == 1:
            return matches[0]
        if matches:
            ids = ", ".join(build.approval_id for build in matches[:5])
            raise UsageError(
                f"More than one build begins with {one_line(wanted, 60)!r}.", hint=f"Waiting: {ids}."
            )
        raise UsageError(
            self._past_decision(wanted) or f"No build {one_line(wanted, 60)!r} waits for a verdict.",
            hint="`alita builds` lists those that do.",
        )

    def _past_decision(self, wanted: str) -> str:
        """Return who decided on a build that no longer waits; empty for an unknown build."""
        for summary in self._sessions.list() if wanted else ():
            if resolved := self._resolved(Path(summary.path), wanted):
                return _decided_text(resolved)
        return ""

    def _resolved(self, path: Path, wanted: str) -> ApprovalResolved | None:
        """Return the recorded verdict on an approval or a build."""
        session = SessionFile.open(path, readonly=True)
        try:
            for envelope in session.envelopes():
                event = envelope.event
                if isinstance(event, ApprovalResolved) and wanted in (event.approval_id, event.build_id):
                    return event
        finally:
            session.close()
        return None

    def _put(self, command: ResolveApproval, *, tries: int = 3) -> bool:
        """Write a verdict; return False if there is one already."""
        approval_id = command.approval_id
        path = self._path(approval_id)
        disk.make_folder(self._folder)
        draft = path.with_suffix(f".{secrets.token_hex(8)}.tmp")
        try:
            disk.write_new(draft, [msgspec.json.encode(self._note(command))])
            try:
                if path.exists() and self.verdict(approval_id) is None:
                    disk.set_aside(path)
                    path.unlink(missing_ok=True)
                os.link(draft, path)  # fails if there is one: the first verdict counts
            finally:
                draft.unlink(missing_ok=True)
            disk.sync_folder(self._folder)
            return True
        except FileExistsError:
            return False
        except OSError as error:
            if isinstance(error, FileNotFoundError) and tries > 1:  # removed together with a cleared note
                return self._put(command, tries=tries - 1)
            raise disk.store_error("saved", path, error) from error


def _decided_text(resolved: ApprovalResolved) -> str:
    verdict = resolved.verdict
    return f"{resolved.approval_id} was {verdict.decision} by {verdict.by or 'the engine'} before."


def _decided_before(build: ParkedBuild, first: VerdictNote | None) -> str:
    name = f"{build.name} v{build.version}"
    if first is None:
        return f"{name} was decided by someone else at the same moment."
    decision = first.decided.verdict.decision
    return f"{name} was {decision} by {first.by} at {first.at}; the first verdict stands."
