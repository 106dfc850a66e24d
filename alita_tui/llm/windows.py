"""The window of a model on a server of one's own, which each server reports at a path of its own."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from alita_tui.llm.faults import Endpoint
from alita_tui.llm.presets import rules_of

_KEYS = ("n_ctx", "max_model_len", "loaded_context_length", "context_length")


async def window_of(at: Endpoint, client: Any) -> int:
    """Return the window in tokens with which the server loaded the model, or 0."""
    import httpx2

    path = rules_of(at.provider).window_path
    if not path:
        return 0
    url = at.base_url.removesuffix("/v1") + path.format(model=quote(at.model, safe="/"))
    headers = {"authorization": f"Bearer {at.key}"} if at.key else {}
    try:
        answer = await client._client.get(url, headers=headers)
        return _window_in(answer.json(), at.model) if answer.status_code == 200 else 0
    except (httpx2.HTTPError, ValueError, RecursionError):
        return 0


def _window_in(answer: Any, model: str) -> int:
    if not isinstance(answer, dict):
        return 0
    listed = answer.get("data", answer.get("models"))
    if isinstance(listed, list):
        names = ("id", "name", "model", "root")
        matching = (entry for entry in listed if isinstance(entry, dict) and model in map(entry.get, names))
        return _window_in(next(matching, None), model)
    settings = answer.get("default_generation_settings")
    for source in (answer, settings if isinstance(settings, dict) else {}):
        for key in _KEYS:
            if type(tokens := source.get(key)) is int and tokens > 0:
                return tokens
    return 0
