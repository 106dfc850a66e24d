"""Text from outside as the model reads it."""

from __future__ import annotations

from alita_tui.spine.text import neutralise


def untrusted(source: str, text: str) -> str:
    """Text from outside, fenced so that the prompt can say: data, never instructions."""
    body = neutralise(text).replace("</untrusted", "<\\/untrusted")
    return f'<untrusted source="{neutralise(source)[:300]}">\n{body}\n</untrusted>'
