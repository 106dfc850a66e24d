"""What clients may read besides tools, if the settings offer it: recipes, transcripts, and audits of tools."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from hashlib import sha256

from alita_tui.app.context import AppContext
from alita_tui.events import ToolRecord
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.serving import Document, Prompt

Tools = Callable[[], tuple[ToolRecord, ...]]
_MOST_SESSIONS = 50
_TRANSCRIPT, _AUDIT = "transcript/", "audit/"


class Offers:
    """Prompts and documents. Everything is redacted as an export is."""

    def __init__(self, app: AppContext) -> None:
        self._app = app

    def prompts(self, tools: Tools) -> tuple[Prompt, ...]:
        """Return the recipes (calls that answered a task) whose tools are all served."""
        from alita_tui.memory.recipes import parameters

        served = {record.draft.name for record in tools()}
        redactor = self._app.redactor()
        prompts = []
        for recipe in self._app.memory.remembered():
            if not recipe.steps or not {step.tool for step in recipe.steps} <= served:
                continue
            names = (name for step in recipe.steps for name in parameters(step.arguments))
            name = "recipe_" + sha256(recipe.item.item_id.encode()).hexdigest()[:8]
            text = f"Do this as it worked before, with alita's tools. {redactor.text(recipe.item.text)}"
            prompts.append(Prompt(name=name, text=text, parameters=tuple(dict.fromkeys(names))))
        return tuple(prompts)

    def documents(self, offers: Collection[str], tools: Tools) -> tuple[Document, ...]:
        """Return the documents that can be read, without their texts."""
        documents = []
        if "transcripts" in offers:
            redactor = self._app.redactor()
            documents += [
                Document(
                    name=_TRANSCRIPT + session.session_id,
                    title=redactor.text(session.title or session.session_id),
                )
                for session in self._app.sessions.list()[:_MOST_SESSIONS]
            ]
        if "audit" in offers:
            documents += [
                Document(name=_AUDIT + record.draft.name, title=f"Who approved {record.draft.name}, and when")
                for record in tools()
            ]
        return tuple(documents)

    def document(self, name: str, offers: Collection[str], tools: Tools) -> Document | None:
        """Return one with its text. Raise StoreError."""
        if name.startswith(_TRANSCRIPT) and "transcripts" in offers:
            return self._transcript(name)
        tool = name.removeprefix(_AUDIT)
        if (
            name.startswith(_AUDIT)
            and "audit" in offers
            and tool in {record.draft.name for record in tools()}
        ):
            text = self._app.redactor().text("\n".join(self._audit(tool)))
            return Document(name=name, title=tool, text=text)
        return None

    def _transcript(self, name: str) -> Document | None:
        from alita_tui.app.exports import redacted_export
        from alita_tui.app.recordings import recording

        session_id = name.removeprefix(_TRANSCRIPT)
        if session_id not in {session.session_id for session in self._app.sessions.list()}:
            return None
        try:
            envelopes = recording(self._app, session_id)
        except UsageError:  # it was deleted a moment ago
            return None
        return Document(name=name, title=session_id, text=redacted_export(self._app, envelopes, "markdown"))

    def _audit(self, tool: str) -> Iterator[str]:
        yield f"# {tool}"
        for record in self._app.library.versions(tool):
            yield f"\n## v{record.version}, {record.state}\n\nsha256 {record.digest}\n"
            yield f"{record.runs} runs, {record.failures} failed"
        yield "\n## The signed log\n"
        for entry in self._app.audit.entries():
            if entry.name == tool:
                why = f": {entry.reason}" if entry.reason else ""
                yield f"- {entry.at[:19]} v{entry.version} {entry.verdict} by {entry.who} ({entry.via}){why}"
                yield from (f"  - seen: {line}" for line in entry.evidence)
        if problems := self._app.audit.verify():
            yield f"\nThe log cannot be relied on: {'; '.join(problems)}"
