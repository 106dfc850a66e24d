import pytest

from alita_tui.events import Capabilities
from alita_tui.spine.grants import canonical, faults, host_grants, phrases, secret_names, served_phrases


def test_hosts_methods_and_secrets_are_read():
    asked = Capabilities(
        network=("GET,HEAD API.example.org:443", "b.example:80"), secrets=("KEY@api.Example.org:443",)
    )
    first, second = host_grants(asked)
    assert (first.host, first.port, first.methods, first.secrets) == (
        "api.example.org",
        443,
        ("GET", "HEAD"),
        ("KEY",),
    )
    assert (second.where, second.methods, second.secrets) == ("b.example:80", (), ())
    assert faults(asked) == ()
    assert canonical(asked).network == ("GET,HEAD api.example.org:443", "b.example:80")
    assert canonical(asked).secrets == ("KEY@api.example.org:443",)
    assert secret_names(asked) == ("KEY",)


def test_a_secret_without_a_host_goes_to_the_only_granted_host():
    asked = Capabilities(network=("a.example:443",), secrets=("KEY",))
    assert host_grants(asked)[0].secrets == ("KEY",)
    assert phrases(asked) == (
        "network access to a.example:443",
        "the secret KEY, sent to a.example:443 alone",
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Capabilities(network=("example.org",)), "not host:port"),
        (Capabilities(network=("*.example.org:443",)), "not host:port"),
        (Capabilities(network=("example.org:0",)), "not host:port"),
        (Capabilities(network=("GRAB example.org:80",)), "not host:port"),
        (Capabilities(network=("get example.org:80",)), "not host:port"),
        (Capabilities(network=("a.example:80", "GET a.example:80")), "twice"),
        (Capabilities(secrets=("KEY",)), "which granted host"),
        (Capabilities(network=("a.example:80", "b.example:80"), secrets=("KEY",)), "which granted host"),
        (Capabilities(network=("a.example:80",), secrets=("KEY@b.example:80",)), "which granted host"),
        (Capabilities(network=("a.example:80",), secrets=("K Y",)), "not the name"),
    ],
)
def test_an_invalid_grant_is_reported_and_grants_nothing(asked, said):
    assert any(said in one for one in faults(asked))
    assert all(grant.secrets == () for grant in host_grants(asked))
    if "not host:port" in said:
        assert host_grants(asked) == ()


def test_phrases_cover_every_grant():
    asked = Capabilities(network=("GET,HEAD a.example:443",), workspace="write", model_calls=1)
    assert phrases(asked) == (
        "network access to a.example:443, GET and HEAD requests only",
        "read and write access to the files in the workspace",
        "1 model call a run",
    )
    assert served_phrases(asked) == (
        "the network host a.example:443, GET and HEAD only",
        "the workspace, to read and write",
        "1 model call a run",
    ), "a client that approved a served tool would take other words for another tool"
    assert phrases(Capabilities()) == served_phrases(Capabilities()) == ()
    for one in (asked, Capabilities(network=("nonsense", "b.example:1"), secrets=("K", "L@b.example:1"))):
        assert len(phrases(one)) == len(one.items)  # a shell shows them side by side
