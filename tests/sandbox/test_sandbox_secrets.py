"""A secret is put in where its stand-in stands, for one host, and blotted out of all that comes back."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import Told

from alita_tui.sandbox.broker.desk import Caps, Desk, Refused
from alita_tui.sandbox.broker.secrets import Blot, Keyring
from alita_tui.spine.address import Guard
from alita_tui.spine.ports import Job
from alita_tui.spine.values import Capabilities

VALUE = "p/4 ss+ü"
GRANTED = Capabilities(
    network=("a.example:443", "b.example:443"), secrets=("KEY@a.example:443", "GONE@a.example:443")
)


def desk() -> Desk:
    return Desk(
        Job(run_id="r", module="m", code="", capabilities=GRANTED), Caps(), Guard(), {"KEY": VALUE}, Told()
    )


def keyring(at: Desk, host: int = 0) -> Keyring:
    return Keyring(at, at.hosts[host], at.answered("GET /"))


def test_values_stand_where_stand_ins_stood() -> None:
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


def test_no_other_host_gets_it_and_what_is_not_set_is_said() -> None:
    at = desk()
    with pytest.raises(Refused, match="not granted for b.example"):
        keyring(at, 1).into_headers([(b"x", at.stand_ins["KEY"].encode())])
    with pytest.raises(Refused, match="not set on this machine"):
        keyring(at).into_target(f"/?{at.stand_ins['GONE']}".encode())


def test_stand_ins_are_new_for_each_run() -> None:
    assert desk().stand_ins["KEY"] != desk().stand_ins["KEY"]


@given(
    st.lists(st.sampled_from([b"s3cret", b"s3", b"cret", b"cre", b"t", b"x", b"s3cretive", b""]), max_size=40)
)
def test_no_value_comes_through_however_it_is_cut(pieces: list[bytes]) -> None:
    blot = Blot({b"s3cret", b"s3cretive"})
    found = b"".join([blot.over(piece) for piece in pieces] + [blot.over(b"", last=True)])
    whole = b"".join(pieces)
    assert len(found) == len(whole) and b"s3cret" not in found
    if b"s3cret" not in whole:
        assert found == whole
