"""Passwords and keys in the code of every language, by the same rule as in Python's."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from alita_tui.toolsmith.review import review
from tests.runtimes.corpus import TEXT, bash, node

SECRET = "Xy7!abcdQf"
LENGTH = ({"text": TEXT}, {"type": "integer"})
TESTED = ('run("abc") == 3', 'run("") == 0', 'run("ab") == 2')

IN_BASH = {
    "a variable": f"password='{SECRET}'; echo \"$password\" >/dev/null",
    "in pieces": f'api_key=\'{SECRET[:4]}\'"{SECRET[4:]}"; echo "$api_key" >/dev/null',
    "declared": f'readonly db_password={SECRET}; echo "$db_password" >/dev/null',
    "a default": f'echo "${{DB_PASSWORD:-{SECRET}}}" >/dev/null',
    "compared": f"token=a; if [[ \"$token\" == '{SECRET}' ]]; then echo x >/dev/null; fi",
    "a case": f'token=a; case "$token" in {SECRET}) echo x >/dev/null ;; esac',
    "an item": f"declare -A kept=([password]='{SECRET}'); echo \"${{kept[password]}}\" >/dev/null",
    "of one command": f"TOKEN='{SECRET}' sort <<<a >/dev/null",
    "an option": f"grep --password '{SECRET}' <<<a >/dev/null",
    "an option with its value": f"grep --password='{SECRET}' <<<a >/dev/null",
    "for jq": f"jq -n --arg token '{SECRET}' '$token' >/dev/null",
    "in a program of jq": f'jq -n \'{{"client_secret": "{SECRET}"}}\' >/dev/null',
    "in a connection": f"jq -n '\"server=db;password={SECRET};\"' >/dev/null",
}
IN_NODE = {
    "a constant": f'  const password = "{SECRET}";',
    "in pieces": f'  const password = "{SECRET[:4]}" + "{SECRET[4:]}";',
    "joined": f'  const password = ["{SECRET[:4]}", "{SECRET[4:]}"].join("");',
    "encoded": '  const password = atob("WHk3IWFiY2RRZg==");',
    "encoded bytes": '  const password = Buffer.from("WHk3IWFiY2RRZg==", "base64").toString();',
    "named as here": f'  const dbPassword = "{SECRET}";',
    "a template": f"  const apiKey = `{SECRET}`;",
    "a property": f'  const kept = {{ password: "{SECRET}" }};',
    "a property in quotes": f'  const kept = {{ "x-api-key": "{SECRET}" }};',
    "assigned": f'  const kept = {{}}; kept.password = "{SECRET}";',
    "assigned by index": f'  const kept = {{}}; kept["password"] = "{SECRET}";',
    "a default": f'  const ask = (password = "{SECRET}") => password;',
    "a default taken apart": f'  const {{ token = "{SECRET}" }} = {{}};',
    "where none is set": f'  const kept = process.env.DB_PASSWORD ?? "{SECRET}";',
    "compared": f'  const password = text; if (password === "{SECRET}") {{ return 0; }}',
    "a case": f'  const token = text; switch (token) {{ case "{SECRET}": return 0; }}',
    "an argument after its name": f'  new URLSearchParams().set("password", "{SECRET}");',
    "of a class": f'  class Kept {{ static #secret = "{SECRET}"; }}',
    "a list": f'  const kept = new Map([["password", "{SECRET}"]]);',
}
HONEST_BASH = (
    'password_column=3; echo "$password_column" >/dev/null',
    "token='<the token of the service>'; echo \"$token\" >/dev/null",
    'secret=$(jq -r .text <<<"$input"); echo "$secret" >/dev/null',
    "token='next-word'; echo \"$token\" >/dev/null",
    'jq -n \'{"password": "", "token": "word"}\' >/dev/null',
)
HONEST_NODE = (
    '  const token = "identifier";',
    '  const password = text.slice(1);',
    '  const kept = { secret: "(?<secret>[A-Z0-9]{8,})", token: "number" };',
    '  const kept = { token: { kind: "String", text: "Xy7" } };',
    '  const kinds = ["tokenKind", "Xy7!abcdQf"];',
)  # fmt: skip


def told(language: str, lines: Sequence[str]) -> dict[str, list[str]]:
    """What the review says of secrets in one draft with all these lines, by line."""
    code = "\n".join(lines)
    made = (
        bash("text_length", *LENGTH, f"{code}\njq '.text | length' <<<\"$input\"", *TESTED)
        if language == "bash"
        else node("text_length", *LENGTH, f"{code}\n  return text.length;", *TESTED)
    )
    written = made.code.split("\n")
    found = [(written[one.line - 1], one.text) for one in review(made).findings if one.rule == "ast/secret"]
    return {line: [text for at, text in found if at == line] for line in lines}


@pytest.mark.parametrize(
    ("language", "lines"),
    [("bash", [*IN_BASH.values()]), ("javascript", [*IN_NODE.values()][:9]), ("javascript", [*IN_NODE.values()][9:])],
)  # fmt: skip
def test_a_password_is_reported_without_being_shown(language: str, lines: list[str]):
    said = told(language, lines)
    assert [line for line, texts in said.items() if not texts] == []
    assert not [one for texts in said.values() for one in texts if SECRET[:6] in one]


@pytest.mark.parametrize(("language", "lines"), [("bash", HONEST_BASH), ("javascript", HONEST_NODE)])
def test_a_name_that_only_resembles_a_password_is_not_reported(language: str, lines: tuple[str, ...]):
    assert {line: texts for line, texts in told(language, lines).items() if texts} == {}


def test_a_key_in_pieces_sends_the_draft_back():
    key = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    for made in (
        bash("text_length", *LENGTH, f"made='{key[:6]}'\"{key[6:]}\"\njq '.text | length' <<<\"$input\"", *TESTED),
        node("text_length", *LENGTH, f'  const made = "{key[:6]}" + "{key[6:]}";\n  return text.length;', *TESTED),
    ):  # fmt: skip
        assert [one for one in review(made).findings if one.rule == "ast/secret" and one.blocking], (
            made.language
        )
