"""What the package index says of a version."""

import json

import pytest

from alita_tui.spine.ports.web import PackageFacts


@pytest.fixture
def index(site, make_room):
    """A room whose package index is the site."""
    return make_room(pypi_url=f"{site.url}/", timeout=60.0)


def answer(value):
    return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()


def release(when, yanked=False):
    return [{"upload_time_iso_8601": when, "yanked": yanked}]


PROJECT = {
    "info": {"version": "2.0"},
    "releases": {"1.0": release("2019-05-01T00:00:00Z", True), "2.0": release("2024-01-01T00:00:00Z")},
}


async def test_age_and_withdrawal_take_one_request(site, index):
    site.routes["/pypi/greet/json"] = answer(PROJECT)
    facts = await index.package("greet", "2.0")
    assert facts == PackageFacts(first_upload="2019-05-01T00:00:00Z")
    assert len(site.requests) == 1
    assert await index.package("greet", "1.0") == PackageFacts(
        first_upload="2019-05-01T00:00:00Z", yanked=True
    )


async def test_a_missing_project_and_a_broken_index_give_no_facts(site, index):
    assert await index.package("surely-none", "1.0") is None
    site.routes["/pypi/broken/json"] = (200, {}, b"[1, 2")
    assert await index.package("broken", "1.0") is None
    site.routes["/pypi/odd/json"] = answer({"info": 5, "releases": [3]})
    facts = await index.package("odd", "1.0")
    assert facts == PackageFacts()
    site.server.shutdown()  # as long as its thread polls, the kernel takes connections
    site.server.server_close()
    assert await index.package("greet", "1.0") is None
