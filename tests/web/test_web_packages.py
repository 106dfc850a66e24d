"""What the package index says of a version."""

import json

import pytest

from alita_tui.spine.ports import PackageFacts


@pytest.fixture
def index(site, make_room):
    """A room whose package index is the site."""
    return make_room(pypi_url=f"{site.url}/", timeout=10.0)


def answer(value):
    return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()


def release(when, yanked=False):
    return [{"upload_time_iso_8601": when, "yanked": yanked}]


PROJECT = {
    "info": {"version": "2.0"},
    "releases": {"1.0": release("2019-05-01T00:00:00Z", True), "2.0": release("2024-01-01T00:00:00Z")},
    "vulnerabilities": [],
}


async def test_the_newest_version_takes_one_question(site, index):
    site.routes["/pypi/greet/json"] = answer(PROJECT)
    facts = await index.package("greet", "2.0")
    assert facts == PackageFacts(first_upload="2019-05-01T00:00:00Z", vulnerabilities=())
    assert len(site.requests) == 1


async def test_an_older_version_s_faults_and_withdrawal(site, index):
    site.routes["/pypi/greet/json"] = answer(PROJECT)
    known = [{"id": "PYSEC-2020-1"}, {"id": "PYSEC-2020-2", "withdrawn": "2021-01-01"}]
    site.routes["/pypi/greet/1.0/json"] = answer({"vulnerabilities": known})
    facts = await index.package("greet", "1.0")
    assert facts is not None and facts.yanked and facts.vulnerabilities == ("PYSEC-2020-1",)


async def test_faults_that_are_not_told_are_not_known(site, index):
    site.routes["/pypi/greet/json"] = answer({"info": {"version": "2.0"}, "releases": PROJECT["releases"]})
    facts = await index.package("greet", "2.0")
    assert facts is not None and facts.vulnerabilities is None


async def test_a_project_that_is_not_there_and_an_index_that_is_broken_tell_nothing(site, index):
    assert await index.package("surely-none", "1.0") is None
    site.routes["/pypi/broken/json"] = (200, {}, b"[1, 2")
    assert await index.package("broken", "1.0") is None
    site.routes["/pypi/odd/json"] = answer({"info": 5, "releases": [3], "vulnerabilities": "many"})
    facts = await index.package("odd", "1.0")
    assert facts == PackageFacts()
    site.server.server_close()
    assert await index.package("greet", "1.0") is None
