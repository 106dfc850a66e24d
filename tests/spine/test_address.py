import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_tui.spine.address import AddressPolicy, is_public, literal
from alita_tui.spine.errors import AddressRefused, ConfigError, WebError
from alita_tui.web.dns import system_resolver


def answering(*addresses):
    async def resolve(host, port):
        return addresses

    return resolve


async def failing(host, port):
    raise socket.gaierror("no such name")


SPECIAL = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.127.255.255",
    "0.0.0.0",
    "192.0.0.8",
    "192.88.99.1",
    "198.18.0.1",
    "203.0.113.7",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::1",
    "2002:7f00:1::1",
    "2001:0:4136:e378::1",
    "2001:db8::1",
    "3fff::1",
    "fc00::1",
    "fd12::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "100::1",
    "4000::1",
]


@pytest.mark.parametrize("address", SPECIAL)
async def test_special_addresses_are_refused_as_literals_and_as_results_of_names(address):
    with pytest.raises(AddressRefused, match="not a public address") as caught:
        await AddressPolicy(system_resolver).check(address, 80)
    assert "web.allowed_private" in caught.value.hint
    with pytest.raises(AddressRefused, match="innocent.example"):
        await AddressPolicy(resolver=answering("93.184.216.34", address)).check("innocent.example", 443)


@pytest.mark.parametrize("address", [one for one in SPECIAL if ":" in one] + ["127.0.0.1"])
async def test_the_entry_that_a_refusal_proposes_allows_that_address_alone(address):
    with pytest.raises(AddressRefused) as caught:
        await AddressPolicy(system_resolver).check(address, 8080)
    proposed = AddressPolicy(system_resolver, [caught.value.hint.split('"')[1]])
    assert await proposed.check(address, 8080) == (str(ipaddress.ip_address(address)),)
    with pytest.raises(AddressRefused):
        await proposed.check(address, 80)


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "2606:2800:220:1::1", "2a00:1450:4001::8a"])
async def test_public_addresses_are_allowed(address):
    assert await AddressPolicy(system_resolver).check(address, 443) == (address,)
    assert await AddressPolicy(resolver=answering(address)).check("a.example", 443) == (address,)


@pytest.mark.parametrize(
    "host",
    [
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "127.0.0.1.",
        "1.2.3.4.5",
        "a.0x",
        "8.8.8.08",
    ],
)
async def test_unusual_spellings_never_reach_the_resolver(host):
    with pytest.raises(AddressRefused):
        await AddressPolicy(resolver=answering("8.8.8.8")).check(host, 80)


async def test_the_system_s_localhost_is_refused():
    assert "127.0.0.1" in await system_resolver("localhost", 80)
    with pytest.raises(AddressRefused, match="localhost"):
        await AddressPolicy(system_resolver).check("localhost", 80)


async def test_a_scoped_address_is_refused():
    with pytest.raises(AddressRefused):
        await AddressPolicy(resolver=answering("fe80::1%eth0")).check("printer", 80)


async def test_a_name_without_an_address_is_an_error():
    for resolver in (failing, answering()):
        with pytest.raises(WebError, match="has no address"):
            await AddressPolicy(resolver=resolver).check("nowhere.example", 80)


async def test_a_name_that_cannot_be_encoded_has_no_address():
    with pytest.raises(WebError, match="has no address"):
        await AddressPolicy(system_resolver).check("a" * 300 + ".example", 80)


async def test_listed_hosts_ports_and_networks_are_allowed():
    guard = AddressPolicy(
        answering("10.9.9.9"), ("127.0.0.1:8080", "Intranet.Example.", "10.0.0.0/8", "[::1]", " fd00::/8 ")
    )
    assert await guard.check("127.0.0.1", 8080)
    assert await guard.check("::1", 1)
    assert await guard.check("10.1.1.1", 22)
    assert await guard.check("fd12::3", 443)
    assert await guard.check("named.example", 443) == ("10.9.9.9",)
    with pytest.raises(AddressRefused):
        await guard.check("127.0.0.1", 8081)


async def test_a_listed_name_may_be_private_and_a_listed_address_allows_no_other_name():
    guard = AddressPolicy(answering("127.0.0.1"), ("intranet.example", "127.0.0.1"))
    assert await guard.check("INTRANET.example.", 80) == ("127.0.0.1",)
    with pytest.raises(AddressRefused):
        await guard.check("evil.example", 80)


@pytest.mark.parametrize(
    "entry", ["", "a b", "host:0", "host:99999", "host:x", "10.0.0.0/99", "http://x", "*.x"]
)
def test_invalid_entries_are_config_errors(entry):
    with pytest.raises(ConfigError, match="allowed_private"):
        AddressPolicy(system_resolver, (entry,))


async def test_behind_a_proxy_literals_and_known_private_names_are_still_refused():
    with pytest.raises(AddressRefused):
        await AddressPolicy(resolver=failing).check("10.0.0.1", 80, proxied=True)
    with pytest.raises(AddressRefused):
        await AddressPolicy(resolver=answering("10.0.0.1")).check("inside.example", 80, proxied=True)
    assert await AddressPolicy(resolver=failing).check("outside.example", 80, proxied=True) == ()


async def test_trusted_hosts_of_the_settings_are_exact():
    trusted = frozenset({("search.lan", 8888)})
    guard = AddressPolicy(resolver=answering("192.168.0.9"))
    assert await guard.check("search.lan", 8888, trusted=trusted) == ("192.168.0.9",)
    with pytest.raises(AddressRefused):
        await guard.check("search.lan", 80, trusted=trusted)


PRIVATE = [ipaddress.ip_network(n) for n in ("10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "100.64.0.0/10")]


@given(st.sampled_from(PRIVATE), st.integers(0, 2**32 - 1))
def test_no_form_of_a_private_ipv4_is_public(network, offset):
    v4 = network[offset % network.num_addresses]
    number = int(v4)
    forms = [
        v4,
        ipaddress.IPv6Address(number),
        ipaddress.IPv6Address((0xFFFF << 32) | number),
        ipaddress.IPv6Address((0x64FF9B << 96) | number),
        ipaddress.IPv6Address((0x2002 << 112) | (number << 80)),
        ipaddress.IPv6Address((0x20010000 << 96) | (number ^ 0xFFFFFFFF)),
    ]
    assert not any(is_public(form) for form in forms)


@given(st.ip_addresses())
def test_what_is_public_is_global_unicast(address):
    if is_public(address):
        assert address.is_global and not address.is_private and not address.is_multicast
        assert not (address.is_loopback or address.is_link_local or address.is_unspecified)


@given(st.ip_addresses(v=4), st.sampled_from(["{:d}", "{:#x}", "{:#o}"]))
def test_numbers_are_never_treated_as_names(address, form):
    spelled = form.format(int(address)).replace("0o", "0")
    with pytest.raises(AddressRefused):
        literal(spelled)


@given(st.text(max_size=30))
def test_any_host_is_a_literal_a_name_or_refused(host):
    try:
        found = literal(host.lower())
    except AddressRefused:
        return
    assert found is None or ipaddress.ip_address(host.lower()) == found
