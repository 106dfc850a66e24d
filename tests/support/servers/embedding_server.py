"""`/embeddings` as OpenAI and compatible servers answer it: one number for each of a few words."""

from __future__ import annotations

import re
from typing import Any

from tests.support.servers.openai_server import OpenAIServer

MEANINGS = (
    {"cash", "money", "invoice", "bill"},
    {"rain", "weather", "forecast"},
    {"photo", "picture", "image"},
)


class EmbeddingServer(OpenAIServer):
    """`/v1/embeddings`; words of one meaning have one number."""

    path = "/v1/embeddings"
    usage: Any = {"prompt_tokens": 7, "total_tokens": 7}

    def refusal(self, body: Any) -> tuple[int, Any] | None:
        """No refusal: the answer is no stream, so it is given here."""
        data = [
            {"object": "embedding", "index": at, "embedding": vector(text)}
            for at, text in enumerate(body["input"])
        ]
        return 200, {"object": "list", "model": body["model"], "data": data[::-1], "usage": self.usage}

    @property
    def texts(self) -> list[str]:
        """Everything that was sent."""
        return [text for request in self.requests for text in request.body["input"]]


def vector(text: str) -> list[float]:
    said = set(re.findall(r"\w+", text.lower()))
    return [float(len(said & meaning)) for meaning in MEANINGS] + [0.1]
