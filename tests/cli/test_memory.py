"""`alita memory`: what is remembered is seen, corrected, pinned, shared, forgotten; a fork teaches when the person says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alita_tui.app.memory import learned
from alita_tui.app.project import project_of
from alita_tui.events import MemoryItem
from tests.cli.processes import alita
from tests.crash.scene import at_the_console, open_app

FACT = MemoryItem(
    item_id="fact:1a2b", memory="semantic", text="our fiscal year starts in April", subject="our fiscal year",
    source_session="20261121-101500-ab12", source_seq=7, origin="statement",
)  # fmt: skip
HOSTILE = MemoryItem(
    item_id="episode:x:1", memory="episodic", text="Sum it \x1b[2J\u202e → done (tools: add; cost: $0.01)",
    source_session="x", source_seq=9, tools=("add",),
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    app = open_app(tmp_path)
    app.memory.write(FACT)
    app.memory.write(HOSTILE)
    app.close()
    return tmp_path / "home"


def memory(home: Path, *words: str, **options: Any) -> Any:
    return alita(home, "memory", *words, **options)


def listed(home: Path, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(memory(home, "list", "--json", *words).stdout)
    return found


def test_the_list_shows_everything_with_its_source_and_nothing_hostile(home: Path) -> None:
    done = memory(home, "list")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:5] == ["ID", "KIND", "SINCE", "PROJECT", "TEXT"]
    assert "our fiscal year starts in April" in done.stdout
    assert "\x1b" not in done.stdout and "\u202e" not in done.stdout
    assert {one["source"] for one in listed(home)} == {"20261121-101500-ab12:7", "x:9"}
    assert [one["id"] for one in listed(home, "--kind", "fact")] == ["fact:1a2b"]
    shown = memory(home, "show", "fact:1").stdout
    assert "you said so" in shown and "20261121-101500-ab12:7" in shown
    assert json.loads(memory(home, "show", "fact:1", "--json").stdout)["text"] == FACT.text
    assert memory(home, "show", "nothing").returncode == 2


def test_a_search_shows_what_a_task_would_recall_and_why(home: Path) -> None:
    done = memory(home, "search", "when does our fiscal year start", "--json")
    (found,) = json.loads(done.stdout)["recalled"]
    assert found["id"] == "fact:1a2b" and found["why"] and found["score"] > 0
    assert memory(home, "search", "the length of a snake").returncode == 1
    others = json.loads(memory(home, "search", "sum", "it", "--json").stdout)
    assert {one["id"] for one in (*others["recalled"], *others["others"])} == {"episode:x:1"}


def test_an_edit_counts_as_the_persons_own_words_and_holds_no_secret(home: Path) -> None:
    assert memory(home, "edit", "fact:1", "our fiscal year starts in July").returncode == 0
    (fact,) = listed(home, "--kind", "fact")
    assert (fact["text"], fact["origin"]) == ("our fiscal year starts in July", "person")
    key = "sk-ant-api03-" + "A1b2C3d4" * 11
    for secret in ("our password is swordfish", f"our key is {key}"):
        refused = memory(home, "edit", "fact:1", secret)
        assert refused.returncode == 2 and key not in refused.stderr
    assert memory(home, "edit", "fact:1").returncode == 2
    assert memory(home, "edit", "fact:1", "--project", "bank").returncode == 0
    assert listed(home, "--kind", "fact") == []
    assert listed(home, "--kind", "fact", "--all")[0]["project"] == "bank"
    assert memory(home, "edit", "fact:1", "--project", "shared").returncode == 0
    assert listed(home, "--kind", "fact")[0]["project"] is None


def test_pinning_and_forgetting(home: Path, tmp_path: Path) -> None:
    assert memory(home, "pin", "fact:1").returncode == 0 and listed(home, "--kind", "fact")[0]["pinned"]
    assert memory(home, "pin", "fact:1", "--off").returncode == 0
    assert not listed(home, "--kind", "fact")[0]["pinned"]
    asked = memory(home, "forget", "fact:1")
    assert asked.returncode == 2 and "--yes" in asked.stderr and len(listed(home)) == 2
    assert memory(home, "forget", "fact:1", "nobody", "--yes").returncode == 2
    assert len(listed(home)) == 2, "all are found, or none is forgotten"
    assert memory(home, "forget", "fact:1", "--yes").returncode == 0
    assert [one["id"] for one in listed(home, "--all")] == ["episode:x:1"]
    app = open_app(tmp_path)
    assert app.memory.write(FACT) is None
    app.close()


def test_an_export_is_one_document_in_a_new_file(home: Path, tmp_path: Path) -> None:
    target = tmp_path / "memory-export.json"
    assert memory(home, "export", str(target)).returncode == 0
    told = json.loads(target.read_text())
    assert told["format"] == "alita-memory/1" and [one["id"] for one in told["items"]] == [
        "fact:1a2b",
        "episode:x:1",
    ]
    assert memory(home, "export", str(target)).returncode == 2, "no file is replaced"
    assert json.loads(memory(home, "export").stdout)["items"] == told["items"]


async def test_a_fork_adds_to_memory_only_if_the_person_says_so(tmp_path: Path) -> None:
    await at_the_console(tmp_path)
    home = tmp_path / "home"
    (path,) = (home / "data" / "sessions").glob("*.json")
    made = json.loads(alita(home, "sessions", "fork", path.stem, "--json").stdout)
    app = open_app(tmp_path)
    before = len(app.memory.items())
    assert learned(app, made["session_id"] if isinstance(made, dict) else made) == ()
    assert len(app.memory.items()) == before, "what came before the fork taught already"
    for item in app.memory.items():
        app.memory._documents.remove(item.item_id)
    new = learned(app, path.stem)
    assert any(one.item_id.startswith("episode:") for one in new) and len(app.memory.items()) == len(new)
    assert learned(app, path.stem) == (), "the same events teach once"
    app.close()
    assert "teaches nothing new" in alita(home, "memory", "learn", path.stem).stdout


def test_a_recipe_that_is_not_offered_says_when_it_would_be(home: Path, tmp_path: Path) -> None:
    app = open_app(tmp_path)
    app.memory.write(MemoryItem(item_id="recipe:1", memory="procedural", text="sum", tools=("add",)))
    app.close()
    refused = memory(home, "tool", "recipe:1")
    assert refused.returncode == 2 and "worked 3 times" in refused.stderr


@pytest.mark.parametrize("name", ["Bad Name!", "../evil", "calculator", "list"])
def test_a_recipe_is_not_shown_as_a_tool_whose_name_no_tool_can_have(
    home: Path, tmp_path: Path, name: str
) -> None:
    app = open_app(tmp_path)
    app.memory.write(MemoryItem(item_id="recipe:1", memory="procedural", text="sum", tools=("add",)))
    app.close()
    refused = memory(home, "tool", "recipe:1", "--name", name)
    assert refused.returncode == 2 and name in refused.stderr and "--name" in refused.stderr


def test_a_project_is_a_repository_or_a_folder_but_never_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    inner = tmp_path / "shop" / "src" / "deep"
    inner.mkdir(parents=True)
    assert project_of("folder", inner) == project_of("folder", tmp_path / "shop")
    assert project_of("folder", inner).startswith("shop-")
    (tmp_path / "other" / "shop").mkdir(parents=True)
    assert project_of("folder", tmp_path / "other" / "shop") != project_of("folder", inner)
    assert project_of("bank", inner) == "bank" and project_of("", inner) == ""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert project_of("folder", tmp_path) == "" == project_of("folder", Path("/"))
