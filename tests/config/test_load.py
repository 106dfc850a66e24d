import gc
import os
import subprocess
import sys

import pytest

from alita_tui.config.load import line_of, load
from alita_tui.config.models import candidates, read_entry
from alita_tui.config.paths import locate
from alita_tui.config.settings import Settings
from alita_tui.spine.errors import ConfigError


@pytest.fixture
def paths(tmp_path):
    return locate(tmp_path, {})


def one_problem(paths, environ=None, flags=None) -> ConfigError:
    """The single problem, which stops a strict start and not another one."""
    loaded = load(paths, environ or {}, flags, strict=False)
    assert len(loaded.problems) == 1, loaded.problems
    with pytest.raises(ConfigError) as caught:
        load(paths, environ or {}, flags)
    assert str(caught.value) == str(loaded.problems[0])
    return loaded.problems[0]


def test_without_settings_the_defaults_apply_and_nothing_is_configured(paths):
    loaded = load(paths, {})
    assert loaded.settings == Settings()
    assert not loaded.settings.configured
    assert loaded.origin("budget.max_steps") == "default"
    assert loaded.value("budget.max_steps") == 30


def test_each_layer_overrides_the_one_below_and_its_origin_is_shown(paths):
    paths.config_file.write_text(
        '# mine\n[model]\nprovider = "toml"\nname = "toml"\nbase_url = "toml"\n\n[budget]\nmax_steps = 1\n'
    )
    paths.env_file.write_text("ALITA_MODEL_NAME=dot\nALITA_MODEL_BASE_URL=dot\nALITA_BUDGET_MAX_STEPS=2\n")
    environ = {"ALITA_MODEL_BASE_URL": "env", "ALITA_BUDGET_MAX_STEPS": "3"}
    loaded = load(paths, environ, {"budget.max_steps": 4, "budget.max_repairs": None})
    model = loaded.settings.model
    assert (model.provider, model.name, model.base_url) == ("toml", "dot", "env")
    assert loaded.settings.budget.max_steps == 4
    assert loaded.origin("model.provider") == "config.toml line 3"
    assert loaded.origin("model.name") == ".env line 1"
    assert loaded.origin("model.base_url") == "environment ALITA_MODEL_BASE_URL"
    assert loaded.origin("budget.max_steps") == "flag"
    assert loaded.origin("budget.max_repairs") == "default"


def test_a_model_can_be_set_in_one_word_and_the_exact_variable_wins(paths):
    loaded = load(paths, {"ALITA_MODEL": "ollama:qwen3:8b"})
    assert (loaded.settings.model.provider, loaded.settings.model.name) == ("ollama", "qwen3:8b")
    assert loaded.origin("model.name") == "environment ALITA_MODEL"
    exact = load(paths, {"ALITA_MODEL_NAME": "other", "ALITA_MODEL": "ollama:qwen3:8b"})
    assert exact.settings.model.name == "other"
    flagged = load(paths, {"ALITA_MODEL_NAME": "other"}, {"model": "openai:x"})
    assert (flagged.settings.model.name, flagged.origin("model.name")) == ("x", "flag")


def test_types_in_variables(paths):
    environ = {
        "ALITA_SANDBOX_PULL": "No",
        "ALITA_SANDBOX_WALL_SECONDS": "7",
        "ALITA_SANDBOX_MEMORY_MB": " 64 ",
        "ALITA_WEB_ALLOWED_PRIVATE": "intranet, 10.0.0.0/8,",
        "ALITA_CONSOLE_REDUCED_MOTION": "1",
    }
    settings = load(paths, environ).settings
    assert settings.sandbox.pull is False
    assert settings.sandbox.wall_seconds == 7.0
    assert settings.sandbox.memory_mb == 64
    assert settings.web.allowed_private == ("intranet", "10.0.0.0/8")
    assert settings.console.reduced_motion is True


def test_an_unknown_key_is_reported_with_file_line_and_nearest_name(paths):
    paths.config_file.write_text("[budget]\n# cap\nmax_step = 3\n")
    problem = one_problem(paths)
    assert "config.toml line 3" in problem.message
    assert "budget.max_step" in problem.message
    assert "budget.max_steps" in problem.hint
    assert load(paths, {}, strict=False).settings == Settings()


def test_an_unknown_section_is_reported_with_the_nearest_name(paths):
    paths.config_file.write_text("\n[modle]\nname = 'x'\n")
    problem = one_problem(paths)
    assert "line 2" in problem.message and "[model]" in problem.hint


def test_a_section_that_is_a_value(paths):
    paths.config_file.write_text('model = "anthropic"\n')
    assert "model is not a section" in one_problem(paths).message


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ("[budget]\nmax_steps = 'many'", "a whole number"),
        ("[budget]\nmax_steps = true", "a whole number"),
        ("[budget]\nmax_steps = 0", ">= 1"),
        ("[budget]\ntask_usd = -1", ">= 0"),
        ("[budget]\ntask_usd = nan", "a number"),
        ("[budget]\ntask_usd = inf", "<="),
        ("[sandbox]\npull = 1", "true or false"),
        ("[sandbox]\nimage = 3", "a text"),
        ("[web]\nallowed_private = 'host'", "a list of texts"),
        ("[web]\nallowed_private = [1]", "a list of texts"),
        ("[web]\nsearch_order = ['bing']", "a list of any of searxng"),
        ("[web]\nprovider = 'bing'", "web or github"),
        ("[sandbox]\nwall_seconds = 12:00:00", "a number"),
    ],
)
def test_a_wrong_value_keeps_the_default_and_the_right_form_is_named(paths, toml, expected):
    paths.config_file.write_text(toml)
    problem = one_problem(paths)
    assert expected in problem.message and "config.toml line 2" in problem.message
    assert load(paths, {}, strict=False).settings == Settings()


def test_a_wrong_value_falls_back_to_the_layer_below(paths):
    paths.config_file.write_text("[budget]\nmax_steps = 7\n")
    loaded = load(paths, {"ALITA_BUDGET_MAX_STEPS": "seven"}, strict=False)
    assert loaded.settings.budget.max_steps == 7
    assert loaded.origin("budget.max_steps") == "config.toml line 2"
    assert "environment ALITA_BUDGET_MAX_STEPS" in loaded.problems[0].message


def test_broken_toml_is_reported_with_its_line_and_other_layers_apply(paths):
    paths.config_file.write_text("[budget]\nmax_steps = = 3\n")
    problem = one_problem(paths, {"ALITA_BUDGET_TASK_USD": "5"})
    assert "config.toml is not valid TOML" in problem.message and "line 2" in problem.message
    loaded = load(paths, {"ALITA_BUDGET_TASK_USD": "5"}, strict=False)
    assert loaded.settings.budget.task_usd == 5.0
    assert loaded.settings.budget.max_steps == 30


@pytest.mark.parametrize("name", ["config.toml", ".env"])
def test_a_binary_file_or_a_folder_is_reported(paths, tmp_path, name):
    (tmp_path / name).write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in one_problem(paths).message
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    assert "cannot be read" in one_problem(paths).message


def test_deeply_nested_toml_is_a_problem_and_not_a_crash(paths):
    paths.config_file.write_text("x = " + "[" * 100_000)
    gc.collect()
    gc.disable()  # a finalizer of another test's that ran at the deepest place would fail there, and be told as this test's
    try:
        assert "not valid TOML" in one_problem(paths).message
    finally:
        gc.enable()


def test_several_problems_are_all_reported(paths):
    paths.config_file.write_text("[budget]\nmax_steps = 'x'\ntypo = 1\n")
    with pytest.raises(ConfigError) as caught:
        load(paths, {})
    assert "line 2" in str(caught.value) and "line 3" in str(caught.value)


def test_a_misspelt_variable_is_reported_and_unrelated_ones_are_ignored(paths):
    problem = one_problem(paths, {"ALITA_MODEL_PROVIDR": "x", "ALITA_HOME": "/h", "ALITA_XYZZY": "1"})
    assert "ALITA_MODEL_PROVIDR" in problem.message and "ALITA_MODEL_PROVIDER" in problem.hint


def test_a_malformed_model_and_an_unknown_flag(paths):
    assert "provider:name" in one_problem(paths, {"ALITA_MODEL": "anthropic"}).message
    assert "budget.max_steps" in one_problem(paths, {}, {"budget.maxsteps": 3}).hint
    with pytest.raises(ConfigError):
        load(paths, {}).origin("no.such")


def test_quotes_comments_and_unrelated_lines_of_an_env_file_are_read(paths):
    before = dict(os.environ)
    paths.env_file.write_text(
        "\ufeff# keys\n"
        "export ANTHROPIC_API_KEY='sk # not a comment'\n"
        'OPENAI_API_KEY="line\\n\\"two\\"" # comment\n'
        "ALITA_MODEL_NAME = bare value # comment\n"
        "MY_SEARCH=abc#def\n"
        "PATH=/evil\n"
        "GROQ_API_KEY=\n"
        "LD_PRELOAD=x.so\n"
    )
    loaded = load(paths, {"ALITA_WEB_GOOGLE_KEY_NAME": "MY_SEARCH", "PATH": "/bin"})
    assert loaded.settings.model.name == "bare value"
    assert loaded.secrets == {
        "ANTHROPIC_API_KEY": "sk # not a comment",
        "OPENAI_API_KEY": 'line\n"two"',
        "MY_SEARCH": "abc#def",
    }
    assert dict(os.environ) == before
    assert "sk #" not in repr(loaded)


def test_the_key_of_the_environment_wins_over_that_of_the_file(paths):
    paths.env_file.write_text("OPENAI_API_KEY=file\nGITHUB_TOKEN=file\n")
    loaded = load(paths, {"OPENAI_API_KEY": "env"})
    assert loaded.secrets == {"OPENAI_API_KEY": "env", "GITHUB_TOKEN": "file"}


@pytest.mark.parametrize("line", ["sk-ant-secret", 'OPENAI_API_KEY="sk-ant-secret', "2X=sk-ant-secret"])
def test_a_bad_env_line_is_named_by_number_and_its_secret_is_not_shown(paths, line):
    paths.env_file.write_text(f"\n{line}\nALITA_BUDGET_MAX_STEPS=5\n")
    problem = one_problem(paths)
    assert ".env line 2" in problem.message and "sk-ant" not in str(problem)
    assert load(paths, {}, strict=False).settings.budget.max_steps == 5


def test_an_unknown_setting_in_the_env_file_is_reported(paths):
    paths.env_file.write_text("ALITA_NOTHING_LIKE=1\n")
    assert ".env line 1" in one_problem(paths).message


def test_lines_are_found_in_every_usual_layout():
    text = '"model".name = "a"\nbudget = { max_steps = 1 }\n[web]\n\n  "provider" = "x"\n[console]\nprovider = 1\n'
    assert line_of(text, "model", "name") == 1
    assert line_of(text, "budget") == 2
    assert line_of(text, "web") == 3
    assert line_of(text, "web", "provider") == 5
    assert line_of(text, "console", "provider") == 7
    assert line_of(text, "web", "missing") == 0


def test_loading_settings_imports_nothing_heavy(tmp_path):
    code = (
        "import sys; from pathlib import Path; from alita_tui.config import load, paths\n"
        "load.load(paths.locate(Path(sys.argv[1]), {}), {})\n"
        "print(sorted({'tomlkit', 'platformdirs', 'pydantic', 'httpx', 'textual'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_models_follow_their_role_and_inherit_what_is_known(paths):
    paths.config_file.write_text(
        '[model]\nprovider = "ollama"\nname = "qwen3:8b"\n'
        '[models]\nknown = ["custom:big; base_url=http://10.0.0.5/v1; context=9000; vision=true", "ollama:qwen3:8b; tools=text"]\n'
        '[roles]\ntoolsmith = ["custom:big; max_usd=0.5; needs=tools+vision", "ollama:qwen3:8b"]\n'
    )
    settings = load(paths, {}).settings
    (main,) = candidates(settings, "orchestrator")
    assert (main.full_name, main.tools) == ("ollama:qwen3:8b", "text")
    big, small = candidates(settings, "toolsmith")
    assert (big.base_url, big.context, big.max_usd) == ("http://10.0.0.5/v1", 9000, 0.5)
    assert (big.vision, big.needs, big.abilities) == (True, "tools+vision", ("tools", "vision"))
    assert "vision=true; needs=tools+vision" in big.text and read_entry(big.text, "here") == big
    assert small == main
    assert candidates(settings, "toolsmith", chosen=True) == (main,)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('orchestrator = ["qwen3"]', "provider:name"),
        ('planner = ["a:b; needs=wings"]', "needs cannot be"),
        ('planner = ["a:b; contxt=1"]', "Did you mean context?"),
    ],
)
def test_a_model_that_cannot_be_read_names_its_line(paths, line, said):
    paths.config_file.write_text(f"[roles]\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        load(paths, {})
    assert "config.toml line 2" in str(caught.value) and said in str(caught.value)


def test_every_place_that_could_set_a_value_is_listed(paths):
    paths.config_file.write_text("[budget]\ntask_usd = 5\n")
    loaded = load(paths, {"ALITA_BUDGET_TASK_USD": "1"}, {"budget.task_usd": "0.5"})
    assert loaded.explain("budget.task_usd") == (
        "2.0 (default) → 5.0 (config.toml line 2) → 1.0 (environment ALITA_BUDGET_TASK_USD) → 0.5 (flag)"
    )
    assert loaded.explain("model.name") == "empty (default)"


def test_values_to_redact_come_from_variable_names_and_settings(paths):
    paths.env_file.parent.mkdir(parents=True, exist_ok=True)
    paths.env_file.write_text("GITHUB_TOKEN=from-the-file\nMY_STREET=Elm Street 4\n")
    paths.config_file.write_text('[privacy]\nredact = ["Ute Muster", "$MY_STREET", "$MISSING"]\n')
    environ = {
        "DB_PASSWORD": "hunter2-hunter2",
        "OPENAI_API_KEY": "none",
        "SSH_KEY": "/home/me/.ssh/id",
        "MONKEY": "a-long-enough-value",
        "HOME": "/home/me",
    }
    loaded = load(paths, environ)
    assert [one for one in loaded.unwritten if one[1]] == [
        ("", "Ute Muster"),
        ("GITHUB_TOKEN", "from-the-file"),
        ("DB_PASSWORD", "hunter2-hunter2"),
        ("MY_STREET", "Elm Street 4"),
    ]
    assert "hunter2" not in repr(loaded)


def test_a_value_to_redact_that_is_too_short_is_refused(paths):
    paths.config_file.write_text('[privacy]\nredact = ["ab"]\n')
    assert "privacy.redact" in one_problem(paths).message
