"""Tools in each language, as a model submits them."""

from __future__ import annotations

from typing import Any

from alita_tui.events import ToolDraft
from alita_tui.toolsmith.contract import draft_from, normalise

WORDS_SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "most": {"type": "integer", "minimum": 1, "maximum": 1000}},
    "required": ["text", "most"],
    "additionalProperties": False,
}
WORDS_RESULT = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"word": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
        "required": ["word", "count"],
        "additionalProperties": False,
    },
}
BASH_CODE = r"""#!/usr/bin/env bash
# Counts the words of a text; the most frequent come first, equal ones by their letters.
set -euo pipefail

input=$(cat)
most=$(jq -r '.most' <<<"$input")
if (( most < 1 )); then
  echo "most has to be at least 1" >&2
  exit 65
fi
jq -r '.text' <<<"$input" |
  tr -cs '[:alpha:]' '\n' | tr '[:upper:]' '[:lower:]' |
  jq -R . | jq -s --argjson most "$most" '
    map(select(length > 0)) | group_by(.) | map({word: .[0], count: length})
    | sort_by([-.count, .word]) | .[:$most]'
"""
WORDS_TESTS = """from words_often import run


def refused(text, most):
    try:
        run(text, most)
    except ValueError as error:
        return str(error)
    return ""


def test_most_frequent_first():
    assert run("the cat and the dog and the cow", 2) == [{"word": "the", "count": 3}, {"word": "and", "count": 2}]


def test_equal_ones_by_letter_and_case_does_not_count():
    assert run("b a B c", 9) == [{"word": "b", "count": 2}, {"word": "a", "count": 1}, {"word": "c", "count": 1}]


def test_one_only():
    assert run("z y", 1) == [{"word": "y", "count": 1}]


def test_nothing():
    assert run("", 3) == []
    assert run("... !", 3) == []


def test_refused():
    assert "at least 1" in refused("a", 0)
    assert refused("a", 1) == ""
"""


def submitted(language: str, code: str, tests: str = WORDS_TESTS, **more: Any) -> ToolDraft:
    """Return a draft as it is after a model submitted it."""
    form = {
        "name": "words_often",
        "description": "The most frequent words of a text with their counts.",
        "code": code,
        "tests": tests,
        "requirements": [],
        "input_schema": WORDS_SCHEMA,
        "output_schema": WORDS_RESULT,
        "language": language,
    }
    return normalise(draft_from({**form, **more}))


def bash(code: str = BASH_CODE, **more: Any) -> ToolDraft:
    """Return a Bash tool."""
    return submitted("bash", code, **more)


JAVASCRIPT_CODE = r"""/**
 * The most frequent words of a text; equal ones by their letters.
 * @param {{text: string, most: number}} input
 * @returns {Promise<{word: string, count: number}[]>}
 */
export async function run(input) {
  const { text, most } = input;
  if (most < 1) {
    throw new RangeError("most has to be at least 1");
  }
  const counts = new Map();
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const listed = [...counts].map(([word, count]) => ({ word, count }));
  return listed.sort((a, b) => b.count - a.count || (a.word < b.word ? -1 : 1)).slice(0, most);
}
"""
TYPESCRIPT_CODE = r"""/** The most frequent words of a text; equal ones by their letters. */
interface Input {
  text: string;
  most: number;
}
type Counted = { word: string; count: number };

export async function run(input: Input): Promise<Counted[]> {
  const { text, most } = input;
  if (most < 1) {
    throw new RangeError("most has to be at least 1");
  }
  const counts = new Map<string, number>();
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const listed: Counted[] = [...counts].map(([word, count]) => ({ word, count }));
  return listed.sort((a, b) => b.count - a.count || (a.word < b.word ? -1 : 1)).slice(0, most);
}
"""


def javascript(code: str = JAVASCRIPT_CODE, **more: Any) -> ToolDraft:
    """Return a JavaScript tool."""
    return submitted("javascript", code, **more)


def typescript(code: str = TYPESCRIPT_CODE, **more: Any) -> ToolDraft:
    """Return a TypeScript tool."""
    return submitted("typescript", code, **more)
