"""A value is found however it is written, in whatever pieces it comes, and nothing else is."""

import base64
import json
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_tui.sandbox.broker.secrets import SecretMask
from alita_tui.spine.secret_forms import SecretForms
from tests.support.disguising import FORMS

VALUES = (
    'p/4 ss+"ü&k7-Zq_x9',
    "sk-ant-0123456789abcdefXYZ",
    "a&b<c>d'e/f\\g",
    "пароль/密码-🔑",
    "0xdeadbeef==",
)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="*"), min_size=6, max_size=40).filter(
    lambda one: len(one.strip()) >= 6
)


def blotted(value: str, data: bytes, cuts: list[int]) -> bytes:
    mask, found, at = SecretMask(SecretForms([value])), b"", 0
    for cut in sorted(min(cut, len(data)) for cut in cuts):
        found, at = found + mask.masked(data[at:cut]), cut
    return found + mask.masked(data[at:]) + mask.masked(b"", last=True)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", VALUES)
def test_no_value_can_be_restored_from_the_redacted_text(form, value):
    write, read = FORMS[form]
    written = write(value)
    assert value.encode() in read(written), "this is a way of writing it"
    for cuts in ([], list(range(len(written))), [len(written) // 2]):
        left = blotted(value, written, cuts)
        assert len(left) == len(written) and value.encode() not in read(left) and value.encode() not in left


@settings(max_examples=300)
@given(
    TEXT, st.sampled_from(sorted(FORMS)), st.lists(st.integers(0, 400), max_size=6), st.binary(max_size=30)
)
def test_any_value_in_any_form_is_found_when_cut_anywhere(value, form, cuts, around):
    value, around = value.strip(), b"." + around  # a letter first: nothing begins as what is packed does
    write, _ = FORMS[form]
    core = write(value)
    left = blotted(value, around + b" " + core + b" " + around, cuts)
    assert len(left) == len(core) + 2 * len(around) + 2
    plain = left[len(around) + 1 : len(around) + 1 + len(core)]
    assert b"*" * min(4, len(value)) in plain or SecretForms([value]).within(plain) is False
    assert not SecretForms([value]).within(left)


@settings(max_examples=200)
@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=6))
def test_text_without_a_value_is_left_unchanged(data, cuts):
    if (
        data[:2] in (b"\x1f\x8b", b"\x1f\x9d", b"\x1f\xa0", b"BZ", b"\xfd7", b"PK", b"7z", b"Ra")
        or data[:1] in b"\x08\x18\x28\x38\x48\x58\x68\x78\x04"
    ):
        return  # what begins as packed is looked into
    assert blotted("s3cret-value-9", data, cuts) == data


def test_a_stream_is_not_delayed_without_reason():
    mask = SecretMask(SecretForms(["s3cret-value-9"]))
    assert mask.masked(b"data: one event after another\n\n").endswith(b"\n\n")
    assert mask.masked(b"data: s3cr") == b"data: "
    assert mask.masked(b"umbs\n") == b"s3crumbs\n"


def test_each_line_of_a_multi_line_key_is_a_value():
    chance = random.Random(3)
    lines = [base64.b64encode(chance.randbytes(48)).decode() for _ in range(25)]
    pem = "-----BEGIN PRIVATE KEY-----\n" + "\n".join(lines) + "\n-----END PRIVATE KEY-----\n"
    for written in (
        pem,
        json.dumps(pem).replace("/", "\\/"),
        " ".join(lines),
        base64.b64encode(pem.encode()).decode(),
    ):
        left = blotted(pem, written.encode(), []).decode()
        readable = left + base64.b64decode(left.replace("*", "A") + "===", validate=False).decode("latin-1")
        assert not any(line in readable or json.dumps(line)[1:-1] in readable for line in lines)


def test_a_long_answer_full_of_a_value_is_masked_quickly():
    value = "sk-ant-0123456789abcdefXYZ"
    for piece in (base64.encodebytes(value.encode() * 50), b'"\\u0073\\"' * 200, b"%73k-" * 300):
        began = time.process_time()
        SecretForms([value]).spans(piece * (65_536 // len(piece)))
        assert time.process_time() - began < 20
