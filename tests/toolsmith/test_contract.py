import ast
import json
import subprocess
import sys
import tomllib

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from alita_tui.events import Capabilities, ToolDraft, ToolName
from alita_tui.runtimes.port import ContractError
from alita_tui.runtimes.python.form import header_requirements
from alita_tui.spine.requirements import distribution
from alita_tui.toolsmith.contract import draft_from, normalise
from alita_tui.toolsmith.tool_specs import tool_spec

CODE = '"""Double."""\n\n\ndef run(x: int) -> int:\n    """Twice x."""\n    return 2 * x\n'
GOOD = {
    "name": "double_it",
    "description": "Double\n a number.",
    "code": CODE,
    "tests": "from double_it import run\n\n\ndef test_two():\n    assert run(2) == 4\n",
    "requirements": ["idna >= 3.7", "attrs", "attrs"],
    "input_schema": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
    "output_schema": {"type": "integer"},
    "capabilities": {
        "network": ["API.example.org:443"],
        "workspace": "read",
        "secrets": ["KEY"],
        "model_calls": 2,
    },
}


def problems(**changes):
    with pytest.raises(ContractError) as caught:
        draft_from({**GOOD, **changes})
    return caught.value.problems


def test_a_complete_form_becomes_a_draft():
    draft = draft_from(GOOD)
    assert (draft.name, draft.description, draft.code) == ("double_it", "Double a number.", CODE)
    assert draft.requirements == ("attrs", "idna >= 3.7")
    assert draft.capabilities == Capabilities(
        network=("api.example.org:443",), workspace="read", secrets=("KEY",), model_calls=2
    )


def test_capabilities_and_requirements_may_be_null():
    draft = draft_from({**GOOD, "capabilities": None, "requirements": None})
    assert draft.capabilities.none
    assert draft.requirements == ()


def test_the_offered_schema_is_valid_and_takes_the_form():
    Draft202012Validator.check_schema(tool_spec("submit_tool").parameters)
    offered = Draft202012Validator(tool_spec("submit_tool").parameters)
    assert offered.is_valid(GOOD)
    assert not offered.is_valid({**GOOD, "capabilities": {"filesystem": "all"}})
    fields = set(ToolDraft.__struct_fields__)
    assert set(tool_spec("submit_tool").parameters["properties"]) == fields - {"language"}
    granted = tool_spec("submit_tool").parameters["properties"]["capabilities"]["properties"]
    assert set(granted) == set(Capabilities.__struct_fields__) - {"browser"}, "models do not ask for one"


def test_a_browser_that_the_person_does_not_allow_is_a_problem_of_the_draft():
    asked = {**GOOD, "capabilities": {"browser": True}}
    assert draft_from(asked).capabilities.browser
    with pytest.raises(ContractError, match="allows no tool a browser"):
        draft_from(asked, browser=False)
    assert not draft_from(GOOD, browser=False).capabilities.browser


def test_every_problem_is_reported_at_once():
    with pytest.raises(ContractError) as caught:
        draft_from({"name": "Bad Name", "code": "", "tests": 3, "requirements": "attrs", "input_schema": []})
    told = " | ".join(caught.value.problems)
    for field in (
        "name: ",
        "description: it is missing",
        "code: it is empty",
        "tests: it has to be a string",
    ):
        assert field in told
    for field in ("requirements: ", "input_schema: it has to be an object, not an array", "output_schema: "):
        assert field in told
    assert caught.value.message == "; ".join(caught.value.problems)


@pytest.mark.parametrize("arguments", [None, [], "x", 3])
def test_arguments_have_to_be_an_object(arguments):
    with pytest.raises(ContractError, match="one JSON object"):
        draft_from(arguments)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "empty"),
        ("Camel", "snake_case"),
        ("1st", "snake_case"),
        ("a-b", "snake_case"),
        ("ünder", "snake_case"),
        ("a" * 65, "64 characters"),
        ("tool\n", "snake_case"),
        ("lambda", "Python's own"),
        ("json", "Python's own"),
        ("sorted", "Python's own"),
    ],
)
def test_a_name_has_to_be_a_free_snake_case_identifier(name, said):
    (problem,) = problems(name=name)
    assert problem.startswith("name: ")
    assert said in problem


def test_the_longest_allowed_name_is_accepted():
    assert draft_from({**GOOD, "name": "a" * 64}).name == "a" * 64


@pytest.mark.parametrize(
    "requirement",
    [
        "attrs @ https://example.org/attrs.whl",
        "https://example.org/attrs.whl",
        "git+https://example.org/attrs",
        "./attrs",
        "/srv/attrs.whl",
        "-r other.txt",
        "--index-url=https://example.org",
        "attrs --hash=sha256:00",
        "attrs\n--index-url=https://example.org",
        "attrs >=",
        "attrs =2",
        "",
        "a" * 400,
        "attrs" + " " * 250 + "!",
    ],
)
def test_only_plain_requirements_are_accepted(requirement):
    assert distribution(requirement) is None
    (problem,) = problems(requirements=[requirement])
    assert "no plain PEP 508 requirement" in problem


@pytest.mark.parametrize(
    ("requirement", "name"),
    [
        ("attrs", "attrs"),
        ("Ruamel.YAML>=0.18,<1", "ruamel-yaml"),
        ("httpx[http2, socks] ~= 0.27", "httpx"),
        ("zope_interface===6.1", "zope-interface"),
        ("tomli>=2; python_version < '3.11' and sys_platform != \"win32\"", "tomli"),
        ("x==1.*", "x"),
    ],
)
def test_unsupported_requirements_are_named(requirement, name):
    assert distribution(requirement) == name
    assert draft_from({**GOOD, "requirements": [requirement]})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"code": "#" * 200_001}, "code: it is longer than 200000 bytes"),
        ({"tests": "é" * 100_001}, "tests: it is longer"),
        ({"description": "d" * 1001}, "description: it is longer"),
        ({"code": "x = '\ud800'"}, "half a surrogate pair"),
        ({"input_schema": {"title": "\ud800"}}, "cannot be written as JSON"),
        ({"input_schema": {"title": "x" * 50_001}}, "input_schema: it is longer"),
        ({"requirements": ["attrs"] * 21}, "more than 20"),
        ({"requirements": ["attrs", 3]}, "array of strings"),
        ({"capabilities": []}, "capabilities: it has to be an object"),
        ({"capabilities": {"filesystem": "all"}}, "there is no 'filesystem'"),
        ({"capabilities": {"network": ["example.org"]}}, "not host:port"),
        ({"capabilities": {"network": ["example.org:99999"]}}, "not host:port"),
        ({"capabilities": {"network": ["*:443"]}}, "not host:port"),
        ({"capabilities": {"workspace": "all"}}, "none, read or write"),
        ({"capabilities": {"workspace": ["read"]}}, "none, read or write"),
        ({"capabilities": {"secrets": ["sk-123 45"]}}, "not the name of a secret"),
        ({"capabilities": {"model_calls": -1}}, "whole number"),
        ({"capabilities": {"model_calls": True}}, "whole number"),
        ({"capabilities": {"model_calls": 1.5}}, "whole number"),
    ],
)
def test_each_fault_has_its_own_message(changes, said):
    (problem,) = problems(**changes)
    assert said in problem


def test_a_schema_nested_too_deeply_is_a_problem():
    schema: dict[str, object] = {}
    for _ in range(5000):
        schema = {"not": schema}
    assert problems(output_schema=schema) == ("output_schema: it is nested too deeply",)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=80)
@given(st.fixed_dictionaries({}, optional={field: json_values for field in GOOD}))
def test_any_json_is_a_draft_or_a_contract_error(changes):
    try:
        draft = draft_from({**GOOD, **changes})
    except ContractError as error:
        assert error.problems
    else:
        assert len(draft.digest) == 64


# --- header and __main__ --------------------------------------------------------------------


def normal(code, requirements=()):
    draft = ToolDraft(
        name=ToolName("t"), description="d", code=code, tests="\n\nx = 1", requirements=requirements
    )
    done = normalise(draft)
    assert normalise(done) == done
    return done


def test_header_and_main_are_added():
    done = normal(CODE, ("attrs>=23", "tomli; python_version < '3.11' and extra == \"a\""))
    header = done.code.splitlines()[:4]
    assert (header[0], header[3]) == ("# /// script", "# ///")
    values = tomllib.loads("\n".join(line[2:] for line in header[1:3]))
    assert values["requires-python"] == ">=3.11"
    assert tuple(values["dependencies"]) == header_requirements(done.code)
    assert header_requirements(done.code) == (
        "attrs>=23",
        "tomli; python_version < '3.11' and extra == \"a\"",
    )
    assert CODE in done.code
    assert done.tests == "x = 1\n"


def test_the_tool_answers_json_on_its_own(tmp_path):
    path = tmp_path / "t.py"
    path.write_text(normal(CODE).code)
    done = subprocess.run(
        [sys.executable, path], input='{"x": 21}', capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == 42
    assert done.stderr == ""


def test_a_wrong_header_is_replaced_wherever_it_stands():
    code = '"""Doc."""\n# /// script\n# dependencies = [\n#   "evil",\n# ]\n# ///\nimport attrs\n' + CODE
    done = normal(code, ("attrs",))
    assert "evil" not in done.code
    assert done.code.count("# /// script") == 1
    assert header_requirements(done.code) == ("attrs",)


def test_a_header_inside_a_string_belongs_to_the_tool():
    code = 'TEMPLATE = """\n# /// script\n# dependencies = []\n# ///\n"""\n' + CODE
    done = normal(code)
    assert code in done.code


@pytest.mark.parametrize(
    "guard", ['if __name__ == "__main__":', "if __name__=='__main__' :", "if '__main__' == __name__:"]
)
def test_a_custom_main_block_stays(guard):
    done = normal(f"{CODE}\n\n{guard}\n    print(run(1))\n")
    assert done.code.count("__main__") == 1


@pytest.mark.parametrize(
    "code",
    [
        f'"""if __name__ == "__main__":"""\n{CODE}',
        f'{CODE}\n\nif __name__ != "__main__":\n    y = 1\n',
        f'{CODE}\n\nTEXT = """\nif __name__ == "__main__":\n"""\n',
    ],
)
def test_what_only_looks_like_a_main_block_does_not_count(code):
    assert "json.load(sys.stdin)" in normal(code).code


def test_line_ends_are_normalised_as_python_reads_them():
    code = "\ufeff" + CODE.replace("\n", "\r\n") + "# hidden\rimport os\r"
    done = normal(code)
    assert "\r" not in done.code
    assert "\ufeff" not in done.code
    assert "\nimport os\n" in done.code


def test_code_that_cannot_be_parsed_still_gets_a_header_and_no_main():
    done = normal("# /// script\n# ///\ndef run(:\n")
    assert done.code.endswith("# ///\ndef run(:\n")
    assert done.code.count("# /// script") == 1


pieces = st.lists(
    st.sampled_from(
        ["# /// script\n", "# ///\n", "# a\n", "\n", "x = 1\n", '"""\n', "def run(:\n", "if x:\n", "  y\n", "\\\n",
         '# dependencies = ["b"]\n', 'if __name__ == "__main__":\n    pass\n', "\r", "\x0c", "#"]
    )
).map("".join)  # fmt: skip


@settings(max_examples=200)
@given(pieces | st.text(), st.lists(st.sampled_from(["attrs", "idna>=3", 'a; extra == "b"']), unique=True))
def test_normalising_is_idempotent_and_keeps_the_meaning(code, requirements):
    done = normal(code, tuple(sorted(requirements)))
    assert header_requirements(done.code) == tuple(sorted(requirements))
    try:
        before = ast.parse(code.strip("\r\n") + "\n")  # blank lines around it are no part of the tool
    except (SyntaxError, ValueError):
        return
    after = ast.parse(done.code)
    kept = after.body[: len(before.body)]
    assert [ast.dump(node) for node in kept] == [ast.dump(node) for node in before.body]
    assert len(after.body) - len(before.body) in (0, 1)


@pytest.mark.parametrize("toml", ["# dependencies = [\n", "# dependencies = 3\n", "# dependencies = [3]\n"])
def test_an_unreadable_header_is_reported(toml):
    with pytest.raises(ContractError, match="PEP 723"):
        header_requirements(f"# /// script\n{toml}# ///\n")


def test_without_a_header_nothing_is_declared():
    assert header_requirements(CODE) is None
    assert header_requirements("# /// script\n# dependencies = []\n\nx = 1\n") is None


def test_normalising_changes_nothing_else():
    draft = draft_from(GOOD)
    done = normalise(draft)
    assert msgspec.structs.replace(done, code=draft.code, tests=draft.tests) == draft
