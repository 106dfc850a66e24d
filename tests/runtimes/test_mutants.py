"""Wrong versions of Bash and JavaScript: programs made of sed, printf, grep or awk alone have some, too."""

from __future__ import annotations

import json
import shutil
import subprocess

from alita_tui.runtimes.languages import runtime_of

SCRIPTS = {
    "sed 's/a/b/' <<<\"$text\"": {"s/a/b/ became s/a//"},
    "sed -n '/x/p' <<<\"$text\"": {"p became d"},
    "sed 's/ *$//; 2d' <<<\"$text\"": {"s/ *$// became s/ *$/&/", "2 became 3", "d became p"},
    "printf '%05d-%s\\n' \"$a\" \"$b\"": {"5 became 6", "- is gone", "%s became %.1s", "%05d became %o"},
    "grep -vi cat <<<\"$text\"": {"-vi became -i", "-vi became -v"},
    "grep cat <<<\"$text\"": {"grep became grep -v"},
    "awk -F, '{ if ($2 > 3) print $1 }' <<<\"$text\"": {"2 became 3", "> became <=", "1 became 2"},
    "awk '{ n += NF } END { print toupper(n) }' <<<\"$text\"": {"+= became -=", "NF became NR", "toupper became tolower"},
    "cut -d, -f2 <<<\"$text\"": {"-f2 became -f3"},
    "echo \"${name^^}\"": {"^^ became ,,"},
    "echo \"${path##*/}\"": {"## became %%"},
    "jq '.text | split(\", \") | join(\"-\")' <<<\"$text\"": {'", " became ""', '"-" became ""'},
    "jq '.text | startswith(\"a\")' <<<\"$text\"": {"startswith became endswith"},
    "tr a-z A-Z <<<\"$text\"": {"tr a-z A-Z became cat"},
    "cat <<<\"$text\"": {"it answers null"},
}  # fmt: skip
MODULES = {
    "return encodeURIComponent(text);": {"it returns null"},
    'return text.split(", ");': {'", " became ""'},
    "return Math.min(1, 2);": {"min became max"},
    'return text.startsWith("a");': {"startsWith became endsWith"},
}


def changes(language: str, code: str) -> dict[str, set[str]]:
    """What becomes wrong on each line of some code, in one of its wrong versions each."""
    lines = code.split("\n")
    found: dict[str, set[str]] = {line.strip(): set() for line in lines}
    for one in runtime_of(language).mutants(code, 500):
        found[lines[one.line - 1].strip()].add(one.change)
    return found


def missing(said: dict[str, set[str]], promised: dict[str, set[str]]) -> dict[str, set[str]]:
    return {line: left for line, wanted in promised.items() if (left := wanted - said[line])}


def test_scripts_without_operators_have_mutants():
    code = "\n".join(("#!/usr/bin/env bash", "set -euo pipefail", *SCRIPTS, ""))
    assert missing(changes("bash", code), SCRIPTS) == {}
    alone = "sed 's/a/b/' <<<\"$text\""
    assert "it answers null" in changes("bash", f"#!/usr/bin/env bash\n{alone}\n")[alone]


def test_modules_without_operators_have_mutants():
    bodies = "\n".join(f"function f{number}(text) {{\n  {line}\n}}" for number, line in enumerate(MODULES))
    assert missing(changes("javascript", bodies), MODULES) == {}


def test_messages_for_people_are_not_mutated():
    told = 'if (( n > 1 )); then\n  printf "no: %s\\n" "$n" >&2\n  exit 65\nfi\njq -e ".a | error(\\"no\\")" <<<"$n"\n'
    said = set().union(*changes("bash", f"#!/usr/bin/env bash\n{told}").values())
    assert said and not [one for one in said if "no" in one or "%s" in one or "65" in one], said


def test_every_mutant_of_a_script_parses():
    """A version that Bash cannot read says nothing of the tests."""
    bash = shutil.which("bash") or "/bin/bash"
    script = "\n".join(("#!/usr/bin/env bash", *SCRIPTS, ""))
    made = [one.code for one in runtime_of("bash").mutants(script, 500)]
    assert len(made) > 2 * len(SCRIPTS)
    checked = "\n".join(f"bash -n <<<{_quoted(code)} || echo {_quoted(json.dumps(code))}" for code in made)
    done = subprocess.run([bash, "-c", checked], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "", done.stderr


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
