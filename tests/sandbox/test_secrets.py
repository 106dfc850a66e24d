"""A secret is put in where its stand-in stands, for one host, and blotted out of all that comes back."""

from __future__ import annotations

import base64
import gzip
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_tui.events import Capabilities
from alita_tui.sandbox.broker.grants import Caps, Refused, RunGrants
from alita_tui.sandbox.broker.secrets import RequestSecrets, SecretMask
from alita_tui.spine.address import AddressPolicy
from alita_tui.spine.ports.sandbox import Job
from alita_tui.spine.secret_forms import SecretForms
from alita_tui.web.dns import system_resolver
from tests.sandbox.loopback import Told
from tests.support.disguising import PACKED

VALUE = "p/4 ss+ü"
GRANTED = Capabilities(
    network=("a.example:443", "b.example:443"), secrets=("KEY@a.example:443", "GONE@a.example:443")
)


def desk(value: str = VALUE) -> RunGrants:
    return RunGrants(
        Job(run_id="r", module="m", code="", capabilities=GRANTED),
        Caps(),
        AddressPolicy(system_resolver),
        {"KEY": value},
        Told(),
    )


def keyring(at: RunGrants, host: int = 0) -> RequestSecrets:
    return RequestSecrets(at, at.hosts[host], at.answered("GET /"))


def test_stand_ins_are_replaced_by_values() -> None:
    at = desk()
    key = at.stand_ins["KEY"]
    assert (
        keyring(at).into_target(f"/{key}?q={key}&r=1".encode())
        == f"/{key}?q=p%2F4%20ss%2B%C3%BC&r=1".encode()
    )
    basic = base64.b64encode(f"me:{key}".encode())
    given = [
        (b"authorization", b"Basic " + basic),
        (b"x-key", f"<{key}>".encode()),
        (b"x", b"Basic no-base64!"),
    ]
    filled = dict(keyring(at).into_headers(given))
    assert base64.b64decode(filled[b"authorization"][6:]).decode() == f"me:{VALUE}"
    assert filled[b"x-key"].decode() == f"<{VALUE}>" and filled[b"x"] == b"Basic no-base64!"


def test_a_secret_goes_to_its_host_only_and_a_missing_one_is_reported() -> None:
    at = desk()
    with pytest.raises(Refused, match="not granted for b.example"):
        keyring(at, 1).into_headers([(b"x", at.stand_ins["KEY"].encode())])
    with pytest.raises(Refused, match="not set on this machine"):
        keyring(at).into_target(f"/?{at.stand_ins['GONE']}".encode())


FORMS = {
    "application/x-www-form-urlencoded": ("user=ada&pin={}&on=1", "p%2F4%20ss%2B%C3%BC%22"),
    "application/json; charset=utf-8": ('{{"pin": "{}"}}', 'p/4 ss+\\u00fc\\"'),
    "Multipart/Form-Data; boundary=x": ('--x\r\nContent-Disposition: form-data; name="pin"\r\n\r\n{}\r\n--x--', VALUE + '"'),
}  # fmt: skip


async def sent(at: RunGrants, body: str, host: int = 0, **said: str) -> tuple[dict[bytes, bytes], bytes]:
    """What a host gets of a body that comes in two pieces."""
    headers = {"content_length": str(len(body.encode())), **said}
    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items() if value]

    async def pieces() -> AsyncIterator[bytes]:
        half = len(body.encode()) // 2
        yield body.encode()[:half]
        yield body.encode()[half:]

    passed, rest = await keyring(at, host).into_body(given, pieces())
    return {name.lower(): value for name, value in passed}, b"".join([piece async for piece in rest])


@pytest.mark.parametrize("kind", FORMS)
async def test_a_stand_in_in_a_form_becomes_the_value_in_the_encoding_of_the_form(kind: str) -> None:
    at = desk(VALUE + '"')
    form, written = FORMS[kind]
    headers, body = await sent(at, form.format(at.stand_ins["KEY"]), content_type=kind)
    assert body.decode() == form.format(written)
    assert headers[b"content-length"] == str(len(body)).encode()


@pytest.mark.parametrize("kind", FORMS)
async def test_a_form_with_a_stand_in_to_another_host_is_refused(kind: str) -> None:
    at = desk()
    with pytest.raises(Refused, match="not granted for b.example"):
        await sent(at, FORMS[kind][0].format(at.stand_ins["KEY"]), 1, content_type=kind)
    plain = FORMS[kind][0].format("mine")
    assert (await sent(at, plain, 1, content_type=kind))[1] == plain.encode(), "any other form goes there"


async def test_no_value_is_inserted_into_other_or_compressed_bodies() -> None:
    at = desk()
    form = f"pin={at.stand_ins['KEY']}"
    usual = "application/x-www-form-urlencoded"
    others: tuple[dict[str, str], ...] = (
        {"content_type": "text/plain"}, {"content_type": ""}, {"content_type": usual, "content_encoding": "gzip"},
        {"content_type": usual, "content_length": ""}, {"content_type": usual, "content_length": str(2 << 20)},
    )  # fmt: skip
    for said in others:
        assert (await sent(at, form, 0, **said))[1] == form.encode(), said


def test_stand_ins_are_new_for_each_run() -> None:
    assert desk().stand_ins["KEY"] != desk().stand_ins["KEY"]


@given(
    st.lists(st.sampled_from([b"s3cret", b"s3", b"cret", b"cre", b"t", b"x", b"s3cretive", b""]), max_size=40)
)
def test_no_value_passes_however_the_response_is_cut(pieces: list[bytes]) -> None:
    mask = SecretMask(SecretForms(["s3cret", "s3cretive"]))
    found = b"".join([mask.masked(piece) for piece in pieces] + [mask.masked(b"", last=True)])
    whole = b"".join(pieces)
    assert len(found) == len(whole) and b"s3cret" not in found
    if b"s3cret" not in whole:
        assert found == whole


@pytest.mark.parametrize("form", PACKED)
def test_compressed_data_that_contains_a_value_is_refused(form: str) -> None:
    write, read = PACKED[form]
    for value, holds in (("s3cret-value-9", True), ("nothing to hide", False)):
        mask, data = SecretMask(SecretForms(["s3cret-value-9"])), write(value)
        assert value.encode() in read(data)
        assert all(mask.masked(data[at : at + 7]) == b"" for at in range(0, len(data), 7)), "held as a whole"
        if holds:
            with pytest.raises(Refused, match="packed"):
                mask.masked(b"", last=True)
        else:
            assert mask.masked(b"", last=True) == data


def test_a_compression_bomb_or_unreadable_data_is_not_passed_on() -> None:
    bomb = gzip.compress(gzip.compress(b"0" * (80 << 20)))
    for data in (bomb, b"\x28\xb5\x2f\xfd" + b"zstandard", b"PK\x03\x04 broken"):
        mask = SecretMask(SecretForms(["s3cret-value-9"]))
        mask.masked(data)
        with pytest.raises(ValueError, match="unpacked|packed"):
            mask.masked(b"", last=True)


def test_errors_and_header_names_reveal_no_value() -> None:
    mask = SecretMask(SecretForms(["s3cret-Value-9"]))
    assert "s3cret" not in mask.text("Illegal header value b'Bearer s3cret-Value-9 '")
    kept = mask.headers([(b"x-s3cret-value-9", b"1"), (b"x-b", b"a s3cret-Value-9"), (b"x-c", b"3")])
    assert kept == [(b"x-b", b"a **************"), (b"x-c", b"3")]


def test_a_value_is_stripped_and_one_with_line_breaks_is_refused() -> None:
    for value, put in ((" padded-value \n", b"padded-value"), ("-----BEGIN KEY-----\nabc\n", None)):
        at = RunGrants(
            Job(run_id="r", module="m", code="", capabilities=GRANTED),
            Caps(),
            AddressPolicy(system_resolver),
            {"KEY": value},
            Told(),
        )
        given = [(b"x", at.stand_ins["KEY"].encode())]
        if put:
            assert keyring(at).into_headers(given) == [(b"x", put)]
        else:
            with pytest.raises(Refused, match="line break"):
                keyring(at).into_headers(given)
