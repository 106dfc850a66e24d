"""The tools that come with alita are ordinary tools, and say exactly what they ask for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from alita_tui.config.paths import shipped
from alita_tui.events import Capabilities
from alita_tui.registry.starters import Starters
from alita_tui.runtimes.port import ContractError
from alita_tui.spine.errors import RegistryError, UsageError
from alita_tui.toolsmith.contract import draft_from, normalise
from alita_tui.toolsmith.review import review

STARTERS = Starters(shipped("starters"))
GRANTS = {
    "api_query": Capabilities(),
    "browse": Capabilities(browser=True),
    "calculator": Capabilities(),
    "chart": Capabilities(),
    "csv_table": Capabilities(workspace="read"),
    "download": Capabilities(),
    "file_read": Capabilities(workspace="read"),
    "file_write": Capabilities(workspace="write"),
    "image_info": Capabilities(),
    "pdf_text": Capabilities(),
    "shell": Capabilities(),
    "sqlite_query": Capabilities(),
    "text_summarizer": Capabilities(model_calls=8),
    "xlsx_read": Capabilities(),
}


def test_the_starters_request_exactly_these_grants() -> None:
    assert {name: STARTERS.draft(name).capabilities for name in STARTERS.names()} == GRANTS


@pytest.mark.parametrize("name", GRANTS)
def test_every_starter_meets_the_contract_of_tools(name: str) -> None:
    hosts = ("GET a.example:443",) if name in ("api_query", "browse", "download") else ()
    secrets = [f"KEY@{one.split()[1]}" for one in hosts] if name == "api_query" else []
    draft = STARTERS.draft(name, hosts, secrets)
    assert normalise(draft) == draft
    handed_in = msgspec.json.decode(msgspec.json.encode(draft))
    handed_in.setdefault("requirements", [])
    with pytest.raises(ContractError) as refused:  # a model may not call its own tool so
        draft_from(handed_in)
    (problem,) = refused.value.problems
    assert problem.startswith(f"name: {name} is the name of a tool that comes with alita")
    assert draft_from({**handed_in, "name": "another_one"}) == msgspec.structs.replace(
        draft, name="another_one"
    )
    found = review(draft)
    assert found.passed
    worse = {one.rule for one in found.findings if one.severity in ("high", "medium")} - {"B310"}
    assert worse == ({"ast/process", "B602"} if name == "shell" else set())
    # B310 is about urlopen, which the broker holds to what is granted; a command line is what `shell` is for


def test_hosts_are_chosen_by_the_person_and_are_part_of_the_digest() -> None:
    plain, one = STARTERS.draft("api_query"), STARTERS.draft("api_query", ["GET A.example:443"], ["KEY"])
    assert one.capabilities == Capabilities(network=("GET a.example:443",), secrets=("KEY",))
    assert len({plain.digest, one.digest, STARTERS.draft("api_query", ["b.example:443"]).digest}) == 3


def test_invalid_hosts_for_a_starter_are_refused() -> None:
    arguments: tuple[Any, ...]
    for arguments in (
        ("api_query", ["a.example"]),
        ("api_query", [], ["KEY"]),
        ("file_read", ["a.example:80"]),
    ):
        with pytest.raises(UsageError):
            STARTERS.draft(*arguments)
    for name in ("nothing", "../registry", ""):
        with pytest.raises(RegistryError):
            STARTERS.draft(name)


def test_the_documented_examples_are_valid_calls() -> None:
    page = (Path(__file__).parents[2] / "docs" / "starters.md").read_text()
    shown: set[str] = set()
    for row in re.findall(r"^\| (`.*)\|$", page, re.MULTILINE):
        names, _, examples = row.partition(" | ")
        shown |= set(re.findall(r"\w+", names))
        for example in re.findall(r"`(\{.*?\})`", examples):
            for name in re.findall(r"\w+", names)[:1]:
                schema = STARTERS.draft(name).input_schema
                wrong = list(
                    Draft202012Validator(schema).iter_errors(json.loads(example.replace("\\|", "|")))
                )
                assert not wrong, (name, example, wrong)
    assert shown == set(STARTERS.names())
