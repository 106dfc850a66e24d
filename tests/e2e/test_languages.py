"""The walk-through for tools in other languages: find, build, tests, approval, run, reuse, over both vendors' wires."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alita_tui.llm.scripted import Rule, Script, ScriptReply
from tests.e2e.over_wire import SERVERS
from tests.e2e.test_jobs import both, build, call, run, script, tool
from tests.e2e.walks import accepting, parked
from tests.runtimes.drafts import (
    BASH_CODE,
    JAVASCRIPT_CODE,
    TYPESCRIPT_CODE,
    WORDS_RESULT,
    WORDS_SCHEMA,
    WORDS_TESTS,
)

pytestmark = [pytest.mark.podman, pytest.mark.walk]

TEXT = "the cat and the dog and the cow"
REASON = "Words are what [b]this[/b] language counts best."
CODES = {"bash": BASH_CODE, "javascript": JAVASCRIPT_CODE, "typescript": TYPESCRIPT_CODE}


EXPECTED = (
    {"arguments": {"text": "b a b", "most": 1}, "expect": [{"word": "b", "count": 2}]},
    {"arguments": {"text": "", "most": 3}, "expect": []},
    {
        "arguments": {"text": "a b c", "most": 2},
        "expect": [{"word": "a", "count": 1}, {"word": "b", "count": 1}],
    },
    {"arguments": {"text": "A a", "most": 5}, "expect": [{"word": "a", "count": 2}]},
)


def reviewed() -> tuple[Rule, ...]:
    """Another model, that writes tests of its own from the contract alone and answers them a second time."""
    answers = [{"expect": one["expect"]} for one in EXPECTED]
    return (
        _of_reviewer("Write cases", call("submit_cases", cases=list(EXPECTED))),
        _of_reviewer("Sample [23]", call("submit_answers", answers=answers)),
    )


def _of_reviewer(asked: str, reply: ScriptReply) -> Rule:
    return Rule(role="reviewer", match=rf"CONTRACT of the tool words_often\b[\s\S]*{asked}", replies=(reply,))


def told(language: str, said: str = "", *, code: str = "", requirements: tuple[str, ...] = ()) -> Script:
    """A model that looks for a tool, has it written in a language, and finds it again for the next task."""
    submitted = call(
        "submit_tool", name="words_often", description="The most frequent words of a text with their counts.",
        code=code or CODES[language], tests=WORDS_TESTS, requirements=[*requirements], input_schema=WORDS_SCHEMA,
        output_schema=WORDS_RESULT, language=said or language, language_reason=REASON,
    )  # fmt: skip
    search = call("find_tool", query="most frequent words of a text")
    used = run("words_often", text=TEXT, most=1)
    answer = call("answer", text='The most frequent word is "the", 3 times.')
    build = call("build_tool", name="words_often", goal="Count the most frequent words of a text.")
    return Script(
        format="alita-script/1",
        name="languages",
        rules=(
            Rule(role="orchestrator", match="Which word is there once more", replies=(search, used, answer)),
            Rule(role="orchestrator", match="TASK: ", replies=(search, build, used, answer)),
            Rule(role="toolsmith", match="Tool name: words_often", replies=(submitted,)),
            *reviewed(),
        ),
    )


def offered(server: Any) -> str:
    """All that was said to the model, as it came."""
    return json.dumps([request.body for request in server.requests])


@pytest.fixture
def speak(shell: Any) -> Any:
    def to(server: Any, provider: str, *languages: str) -> None:
        key = SERVERS[provider][1]
        shell.environ |= {
            "ALITA_MODEL": f"{provider}:test-model",
            "ALITA_MODEL_BASE_URL": server.base_url,
            key: "sk-not-a-real-key",
        }
        listed = ", ".join(f'"{one}"' for one in languages)
        Path(shell.home).mkdir(parents=True, exist_ok=True)
        (Path(shell.home) / "config.toml").write_text(f"[sandbox]\nlanguages = [{listed}]\n")

    return to


@pytest.mark.parametrize("language", sorted(CODES))
@pytest.mark.parametrize("vendor", sorted(SERVERS))
def test_a_tool_in_each_language_is_built_approved_and_run(
    shell: Any, speak: Any, vendor: str, language: str
) -> None:
    with SERVERS[vendor][0](told(language)) as server:
        speak(server, vendor, "python", language)
        assert (done := shell("run", "Which word is most frequent?")).returncode == 4, done.stderr
        build = parked(shell)
        assert not build["accept"], shell("builds", "show", build["approval_id"]).stdout
        looked = shell("builds", "show", build["approval_id"]).stdout
        assert language in looked.lower() and REASON in looked
        wrong = shell("builds", "approve", build["approval_id"], "--digest", "0" * 64)
        assert wrong.returncode != 0
        done = shell(
            "builds", "approve", build["approval_id"], "--digest", build["digest"], *accepting(build)
        )
        assert done.returncode == 0, done.stderr
        assert (done := shell("resume")).returncode == 0, done.stderr
        first = shell.events()
        assert (done := shell("run", "Which word is there once more?")).returncode == 0, done.stderr
        second = shell.events()
        told_of = offered(server)
    kinds = [one["kind"] for one in first]
    order = ["tool_searched", "build_started", "build_drafted", "build_reviewed", "build_tested", "approval_requested",
             "approval_resolved", "tool_registered", "tool_called", "tool_returned", "task_finished"]  # fmt: skip
    assert [kinds.index(one) for one in order[:-1]] == sorted(kinds.index(one) for one in order[:-1])
    drafted = next(one for one in first if one["kind"] == "build_drafted")
    assert (drafted["draft"]["language"], drafted["language_reason"]) == (language, REASON)
    gates = {one["result"]["gate"]: one["result"]["state"] for one in first if one["kind"] == "gate_checked"}
    assert {"mutation", "coverage", "conditions"} <= set(gates)
    assert not {"failed"} & set(gates.values()), gates
    for events in (first, second):
        (report,) = [one["report"] for one in events if one["kind"] == "tool_returned"]
        assert (report["status"], report["result"]) == ("ok", [{"word": "the", "count": 3}])
    assert "build_started" not in {one["kind"] for one in second}, "it is found and used again"
    assert language in told_of
    assert not [one for one in CODES if one != language and f'"{one}"' in told_of.replace("\\", "")]
    assert shell("sessions", "verify").returncode == 0
    done = shell("tools", "run", "words_often", "--input", json.dumps({"text": "b a b", "most": 1}))
    assert json.loads(done.stdout) == [{"word": "b", "count": 2}], done.stderr


def test_a_language_that_the_person_forbids_is_neither_offered_nor_run(
    shell: Any, speak: Any, provider: str
) -> None:
    with SERVERS[provider][0](told("bash")) as server:
        speak(server, provider, "python", "bash")
        assert shell("run", "Which word is most frequent?").returncode == 4
        build = parked(shell)
        done = shell(
            "builds", "approve", build["approval_id"], "--digest", build["digest"], *accepting(build)
        )
        assert done.returncode == 0, done.stderr
        assert (done := shell("resume")).returncode == 0, done.stderr
        speak(server, provider, "python")
        arguments = json.dumps({"text": TEXT, "most": 1})
        done = shell("tools", "run", "words_often", "--input", arguments)
        assert done.returncode != 0
        assert "Bash are not allowed" in done.stderr and "sandbox.languages" in done.stderr
        # A model that is shown the tool all the same goes on without it.
        assert (done := shell("run", "Which word is there once more?")).returncode == 0, done.stderr
        (failed,) = [one for one in shell.events() if one["kind"] == "tool_failed"]
        assert "Bash are not allowed" in failed["text"]
        assert "Tools in Bash are not allowed here" in offered(server)
        (search,) = [one for one in shell.events() if one["kind"] == "tool_searched"]
        assert "words_often" not in json.dumps(search), "no search offers it"
        speak(server, provider, "python", "bash")
        assert shell("tools", "run", "words_often", "--input", arguments).returncode == 0


def test_a_model_that_chooses_a_forbidden_language_is_refused(shell: Any, speak: Any, provider: str) -> None:
    with SERVERS[provider][0](told("bash")) as server:
        speak(server, provider, "python", "javascript")
        shell("run", "Which word is most frequent?")
        asked = offered(server)
    assert "it has to be one of python, javascript" in asked
    assert not [one for one in shell.events() if one["kind"] in ("build_drafted", "approval_requested")]


LONG_LINES = """# Keeps the lines of a text that have at least so many characters.
input=$(cat)
least=$(jq -r '.least' <<<"$input")
if (( least < 1 )); then
  echo "least has to be at least 1" >&2
  exit 65
fi
jq --argjson least "$least" '[.text | split("\\n")[] | select(length >= $least)]' <<<"$input"
"""
INITIALS = """/**
 * The first letters of the words of each line, in capitals.
 * @param {{lines: string[]}} input
 */
export async function run({ lines }) {
  return lines.map((line) => line.split(" ").map((word) => word.slice(0, 1)).join("").toUpperCase());
}
"""
NUMBERED = '''"""Numbers lines."""


def run(lines: list[str]) -> str:
    """Return the lines with their numbers before them."""
    return "\\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
'''
TESTED = {
    "long_lines": """from long_lines import run


def refused(text, least):
    try:
        run(text, least)
    except ValueError as error:
        return str(error)
    return ""


def test_kept():
    assert run("ab\\nabc\\nabcd", 3) == ["abc", "abcd"]
    assert run("", 1) == []


def test_refused():
    assert "at least 1" in refused("a", 0)
    assert refused("a", 1) == ""
""",
    "line_initials": """from line_initials import run


def test_initials():
    assert run(["one two", "three"]) == ["OT", "T"]
    assert run([]) == []
""",
    "numbered_lines": """from numbered_lines import run


def test_numbers():
    assert run(["a", "b"]) == "1. a\\n2. b"
    assert run([]) == ""
""",
}
LINES = {"type": "array", "items": {"type": "string"}}
PIPELINE: dict[str, tuple[str, str, dict[str, Any], Any]] = {
    "long_lines": ("bash", LONG_LINES, {"text": {"type": "string"}, "least": {"type": "integer"}}, LINES),
    "line_initials": ("javascript", INITIALS, {"lines": LINES}, LINES),
    "numbered_lines": ("python", NUMBERED, {"lines": LINES}, {"type": "string"}),
}


def mixed() -> Script:
    """A model that has three tools written in three languages, and runs them as one pipeline."""
    rules, builds = [], []
    for name, (language, code, takes, gives) in PIPELINE.items():
        more = {"language": language, "language_reason": f"{language} has what this takes."}
        rules.append(tool(name, code, TESTED[name], takes, gives, **more))
        builds.append(build(name, f"Do what {name} says."))
    piped = both(
        run("long_lines", text="the cat\nno\nthe old cow", least=3),
        run("line_initials", lines={"$ref": "long_lines#"}),
        run("numbered_lines", lines={"$ref": "line_initials#"}),
    )
    return script(both(*builds), piped, call("answer", text="1. TC\n2. TOC"), tools=tuple(rules))


def test_a_pipeline_of_three_languages(shell: Any, speak: Any, keep: Any, provider: str) -> None:
    with SERVERS[provider][0](mixed()) as server:
        speak(server, provider, "python", "bash", "javascript")
        done = shell("run", "Number the initials of the long lines.")
        while done.returncode == 4:
            for waiting in json.loads(shell("builds", "list", "--json").stdout):
                shown = json.loads(shell("builds", "show", waiting["approval_id"], "--json").stdout)
                said = shell(
                    "builds",
                    "approve",
                    waiting["approval_id"],
                    "--digest",
                    shown["build"]["digest"],
                    *accepting(shown),
                )
                assert said.returncode == 0, said.stderr
            done = shell("resume")
        assert done.returncode == 0, done.stderr
        keep(shell.home, "golden-languages")
    events = shell.events()
    results = [one["report"]["result"] for one in events if one["kind"] == "tool_returned"]
    assert results == [["the cat", "the old cow"], ["TC", "TOC"], "1. TC\n2. TOC"]
    called = [one for one in events if one["kind"] == "tool_called"]
    assert [one["name"] for one in called] == list(PIPELINE)
    assert all(one["references"] for one in called[1:]), "each takes its argument from the result before"
    assert shell("sessions", "verify").returncode == 0
