"""A lock of an earlier version."""

from __future__ import annotations

# As version 1 of the format wrote it, with the digests that it computed.
EARLIER = (
    r'{"name":"word_count","description":"Counts words.","code":"def run(text: str) -> int:\n    return len(text.split())\n",'
    r'"tests":"from word_count import run\n\n\ndef test_two():\n    assert run('
    "'a b'"
    r') == 2\n",'
    '"requirements":["httpx>=0.27"],"input_schema":{"type":"object"},"output_schema":{"type":"integer"},'
    '"capabilities":{"network":["example.org:443"]}}'
)
