"""How a draft asks for capabilities and how a tool uses them, in the words that the model reads."""

from __future__ import annotations

from alita_tui.events import Json

MOST_ENTRIES = 20


def strings(description: str) -> Json:
    """Return the schema of a list of strings."""
    entries = {"items": {"type": "string"}, "maxItems": MOST_ENTRIES}
    return {"type": "array", **entries, "description": description}


CAPABILITIES: Json = {
    "type": "object",
    "description": "leave out unless the goal cannot be reached without",
    "properties": {
        "network": strings(
            "hosts as name:port, such as `api.example.org:443`, with the methods before it where "
            "some will do: `GET,HEAD api.example.org:443`"
        ),
        "workspace": {
            "type": "string",
            "enum": ["none", "read", "write"],
            "description": "GET os.environ['ALITA_BROKER'] + '/files/NAME' with urllib.request; PUT "
            "writes; '/files/' lists the names as JSON",
        },
        "secrets": strings(
            "names of secrets, as NAME@host:port; the environment variable NAME then stands for it "
            "in headers and queries of https requests to that host"
        ),
        "model_calls": {
            "type": "integer",
            "minimum": 0,
            "description": "at most, per run: POST {'prompt': TEXT} as JSON to "
            "os.environ['ALITA_BROKER'] + '/model' answers {'text': TEXT}",
        },
    },
    "additionalProperties": False,
}
