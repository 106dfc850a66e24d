"""Resources and prompts for clients: files that their calls left, documents, and prompts."""

from __future__ import annotations

import asyncio
import re
from typing import Any
from urllib.parse import quote

from alita_tui.mcp_box.serve import results
from alita_tui.spine.errors import UsageError
from alita_tui.spine.ports.serving import Client, Prompt, Served
from alita_tui.spine.text import neutralise, reveal

_DOCUMENT = re.compile(r"alita://((?:transcript|audit)/[A-Za-z0-9_-]{1,80})")
_MOST_LISTED = 200


class Resources:
    """Resources and prompts, as JSON."""

    def __init__(self, served: Served) -> None:
        self._served = served

    async def listed(self, client: Client) -> list[dict[str, Any]]:
        """Return the resources of a client, newest files first. Raises StoreError."""
        files = {results.uri_of(file): results.link(file) for file in reversed(self._served.files(client))}
        documents = await asyncio.to_thread(self._served.documents)
        document_resources = [
            {
                "uri": f"alita://{quote(document.name)}",
                "name": document.name,
                "title": document.title,
                "mimeType": "text/markdown",
            }
            for document in documents
        ]
        return [*files.values(), *document_resources][:_MOST_LISTED]

    async def read(self, client: Client, uri: str) -> dict[str, Any] | None:
        """Return the content of a resource; None if there is none. Raises StoreError; UsageError if it is too large."""
        if match := _DOCUMENT.fullmatch(uri):
            document = await asyncio.to_thread(self._served.document, match[1])
            if document is None:
                return None
            return {"uri": uri, "mimeType": "text/markdown", "text": str(neutralise(document.text))}
        digest = results.digest_in(uri)
        entry = await asyncio.to_thread(self._served.file, client, digest) if digest else None
        if entry is None:
            return None
        file, path = entry
        if file.size > results.LARGEST_READ:
            raise UsageError(
                f"{file.name} has {file.size / 1e6:,.1f} MB; {results.LARGEST_READ / 1e6:,.0f} MB can be read here.",
                hint="Save it with `alita artefacts save`, or have a tool read part of it.",
            )
        return await asyncio.to_thread(
            results.content_of, file, path, lambda text: self._served.redacted(client, text)
        )

    async def prompts(self) -> list[dict[str, Any]]:
        """Return the descriptors of the offered prompts."""
        return [
            {
                "name": prompt.name,
                "description": str(reveal(prompt.text)).splitlines()[0][:300],
                "arguments": [{"name": name, "required": True} for name in prompt.parameters],
            }
            for prompt in await asyncio.to_thread(self._served.prompts)
        ]

    async def prompt(self, name: str, arguments: dict[str, str]) -> dict[str, Any] | None:
        """Return a prompt with its parameters filled in; None if there is none. Raises UsageError."""
        prompt: Prompt | None = next(
            (
                candidate
                for candidate in await asyncio.to_thread(self._served.prompts)
                if candidate.name == name
            ),
            None,
        )
        if prompt is None:
            return None
        if missing := [parameter for parameter in prompt.parameters if parameter not in arguments]:
            raise UsageError(f"{name} needs {', '.join(missing)}.")
        values = "".join(f"\n- {parameter}: {arguments[parameter][:4000]}" for parameter in prompt.parameters)
        words = str(reveal(prompt.text)) + (f"\n\nThis time:{values}" if values else "")
        return {"messages": [{"role": "user", "content": results.text(words)}]}
