import stat
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_tui.config.catalogue import fields, meaning
from alita_tui.config.load import load
from alita_tui.config.paths import locate
from alita_tui.config.settings import Settings
from alita_tui.config.write import set_value, unset_value
from alita_tui.spine.errors import ConfigError, StoreError

MINE = """# my settings
[budget]   # money first
max_steps = 12  # enough
task_usd = 0.5

[model]
provider = "ollama"
"""


@pytest.fixture
def paths(tmp_path):
    return locate(tmp_path, {})


def test_a_change_keeps_comments_and_order(paths):
    paths.config_file.write_text(MINE)
    assert set_value(paths, "budget.max_steps", "20") == 20
    assert paths.config_file.read_text() == MINE.replace("= 12", "= 20")
    set_value(paths, "model.name", "qwen3:8b")
    text = paths.config_file.read_text()
    assert "# my settings" in text and "# enough" in text
    assert load(paths, {}).settings.model.name == "qwen3:8b"


def test_unset_restores_the_default(paths):
    paths.config_file.write_text(MINE)
    assert unset_value(paths, "budget.task_usd") is True
    assert load(paths, {}).origin("budget.task_usd") == "default"
    assert unset_value(paths, "budget.task_usd") is False
    assert "max_steps = 12  # enough" in paths.config_file.read_text()


def test_a_new_file_is_private_and_so_is_its_folder(tmp_path):
    paths = locate(tmp_path / "new", {})
    set_value(paths, "console.bell", "off")
    assert stat.S_IMODE(paths.config_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(paths.config.stat().st_mode) == 0o700
    assert load(paths, {}).settings.console.bell is False


def test_a_readable_file_becomes_private_and_nothing_is_left_behind(paths):
    paths.config_file.write_text(MINE)
    paths.config_file.chmod(0o644)
    set_value(paths, "console.mouse", False)
    assert stat.S_IMODE(paths.config_file.stat().st_mode) == 0o600
    assert [path.name for path in paths.config.iterdir()] == ["config.toml"]


def test_a_link_is_followed(paths, tmp_path):
    (tmp_path / "dotfiles").mkdir()
    target = tmp_path / "dotfiles" / "alita.toml"
    target.write_text(MINE)
    paths.config_file.symlink_to(target)
    set_value(paths, "budget.max_steps", 3)
    assert paths.config_file.is_symlink()
    assert "max_steps = 3" in target.read_text()


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("budget.max_step", "3", "budget.max_steps"),
        ("money", "3", "alita config"),
        ("budget.max_steps", "many", "a whole number"),
        ("sandbox.profile", "kata", "must be draft or gvisor, not 'kata'."),
        ("budget.max_steps", "0", ">= 1"),
        ("budget.task_usd", "nan", "a number"),
        ("console.bell", "maybe", "true or false"),
    ],
)
def test_an_invalid_value_is_not_written(paths, key, value, said):
    paths.config_file.write_text(MINE)
    with pytest.raises(ConfigError) as caught:
        set_value(paths, key, value)
    assert said in str(caught.value)
    assert paths.config_file.read_text() == MINE


@pytest.mark.parametrize("broken", ["[budget\nmax_steps = 1\n", "budget = 3\n", "budget = [1]\n"])
def test_a_broken_file_is_left_unchanged(paths, broken):
    paths.config_file.write_text(broken)
    with pytest.raises(ConfigError, match=r"config\.toml"):
        set_value(paths, "budget.max_steps", 5)
    assert paths.config_file.read_text() == broken


def test_unset_of_an_unknown_key(paths):
    with pytest.raises(ConfigError, match="unknown key"):
        unset_value(paths, "budget.nothing")


def test_a_full_disk_is_a_store_error(paths):
    paths.config_file.symlink_to("/proc/nowhere/config.toml")
    with pytest.raises(StoreError, match="cannot be written"):
        set_value(paths, "budget.max_steps", 5)


@pytest.mark.parametrize(
    "layout",
    ["budget.max_steps = 1\n", "budget = { max_steps = 1 }\n", '["budget"]\n"max_steps" = 1\n', "[budget]\n"],
)
def test_every_layout_of_a_section_can_be_changed(paths, layout):
    paths.config_file.write_text(layout)
    set_value(paths, "budget.max_steps", 9)
    set_value(paths, "budget.task_usd", 1.5)
    budget = load(paths, {}).settings.budget
    assert (budget.max_steps, budget.task_usd) == (9, 1.5)


def test_every_setting_has_a_meaning_and_a_default_of_its_type():
    assert len(fields()) > 25
    for key, field in fields().items():
        assert len(meaning(key)) > 10
        assert field.default == getattr(getattr(Settings(), key.split(".")[0]), key.split(".")[1])
        assert meaning(key.split(".")[0])
    with pytest.raises(ConfigError):
        meaning("model.nothing")


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
VALUES = {
    bool: st.booleans(),
    str: TEXTS,
    tuple: st.lists(TEXTS.filter(lambda text: len(text) >= 4), max_size=4).map(tuple),
}
WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)
MODELS = st.lists(st.builds("{}:{}; context=9".format, WORDS, WORDS), max_size=3).map(tuple)


def values(key: str):
    """Values that a setting may have."""
    field = fields()[key]
    if field.lists_models:
        return MODELS
    if field.choices and field.kind is tuple:
        return st.lists(st.sampled_from(field.choices), max_size=4).map(tuple)
    if field.key == "sandbox.engines":
        return st.lists(st.builds("ssh://{}:22".format, WORDS), max_size=3).map(tuple)
    if field.key == "web.browser_hosts":
        names = st.text("abz09", min_size=1, max_size=12).map("{}.example".format)
        return st.lists(names | st.builds("{}:8{}".format, names, st.integers(0, 999)), max_size=3).map(tuple)
    if field.key.endswith("allowed_private"):
        return st.lists(st.builds("{}.example:8{}".format, WORDS, st.integers(0, 999)), max_size=3).map(tuple)
    if field.key.startswith("console.theme"):
        return st.sampled_from(("", "auto", "alita-dark", "ember"))
    if field.choices:
        return st.sampled_from(field.choices)
    if field.kind is int:
        bounds = msgspec.inspect.type_info(field.type)
        assert isinstance(bounds, msgspec.inspect.IntType)
        return st.integers(bounds.ge or 0, bounds.le or 1_000_000)
    if field.kind is float:
        between = msgspec.inspect.type_info(field.type)
        assert isinstance(between, msgspec.inspect.FloatType)
        return st.floats(between.ge or 0.001, between.le or 86_400, allow_nan=False)
    return VALUES[field.kind]


CHANGES = st.sampled_from(sorted(fields())).flatmap(lambda key: st.tuples(st.just(key), values(key)))


@settings(max_examples=60)
@given(st.lists(CHANGES, min_size=1, max_size=6), st.sampled_from(["", MINE, "[web]\n[console]\n"]))
def test_any_value_that_is_set_is_loaded_again(changes, start):
    with tempfile.TemporaryDirectory() as folder:
        paths = locate(Path(folder), {})
        if start:
            paths.config_file.write_text(start)
        wanted = {}
        for key, value in changes:
            wanted[key] = set_value(paths, key, value)
            if not isinstance(value, str):
                assert wanted[key] == value
        loaded = load(paths, {})
        assert {key: loaded.value(key) for key in wanted} == wanted
        assert all(loaded.origin(key).startswith("config.toml line") for key in wanted)
        for key in wanted:
            assert unset_value(paths, key)
        loaded = load(paths, {})
        assert {key: loaded.value(key) for key in wanted} == {key: fields()[key].default for key in wanted}


@pytest.mark.parametrize("key", ["sandbox.allowed_private", "web.allowed_private"])
@pytest.mark.parametrize("value", ["intra net", "a:b:c:99999", "10.0.0.0/99", "http://x/y"])
def test_an_invalid_host_in_a_list_is_refused(paths, key, value):
    with pytest.raises(ConfigError, match="not a host, host:port or network"):
        set_value(paths, key, value)
    assert not paths.config_file.exists()


@pytest.mark.parametrize(
    "value",
    ["https://example.org", "example.org/path", "*.example.org", "10.0.0.0/8", "GET example.org:443", "a b", "example.org:0",
     "example.org:99999", "example.org:x", "ex\u0430mple.org"],
)  # fmt: skip
def test_hosts_for_the_browser_are_hosts(paths, value):
    with pytest.raises(ConfigError, match="web.browser_hosts has .*, which is not a host or host:port"):
        set_value(paths, "web.browser_hosts", value)
    assert not paths.config_file.exists()
    paths.config_file.parent.mkdir(parents=True, exist_ok=True)
    paths.config_file.write_text(f'[web]\nbrowser_hosts = ["example.org:8443", "intra", "{value}"]\n')
    with pytest.raises(ConfigError, match="which is not a host or host:port"):
        load(paths, {})


@pytest.mark.parametrize("value", ["remote", "local, ftp://host", "ssh://"])
def test_an_invalid_engine_in_a_list_is_refused(paths, value):
    with pytest.raises(ConfigError, match="which is not an engine"):
        set_value(paths, "sandbox.engines", value)


def test_a_list_may_be_written_as_in_the_file(paths):
    wanted = ("intra.example:8443", "10.0.0.0/8")
    assert set_value(paths, "sandbox.allowed_private", '["intra.example:8443", "10.0.0.0/8"]') == wanted
    assert set_value(paths, "sandbox.allowed_private", "intra.example:8443, 10.0.0.0/8") == wanted
    with pytest.raises(ConfigError, match="a list of texts"):
        set_value(paths, "sandbox.allowed_private", '["a",')
    assert load(paths, {}).settings.sandbox.allowed_private == wanted


@pytest.mark.parametrize("key", ["console.theme", "console.theme_light"])
def test_an_unknown_theme_is_refused(paths, key):
    with pytest.raises(ConfigError, match="There is no theme 'alita-drak'") as refused:
        set_value(paths, key, "alita-drak")
    assert refused.value.hint == "Did you mean alita-dark?"
    with pytest.raises(ConfigError) as refused:
        set_value(paths, key, "zzz")
    assert "alita-light" in (refused.value.hint or "") and "ember" in (refused.value.hint or "")
    assert not paths.config_file.exists()
    paths.themes.mkdir(parents=True)
    (paths.themes / "mine.toml").write_text("[palette]\n")
    for name in ("alita-dark", "mine", "auto", ""):
        assert set_value(paths, key, name) == name
