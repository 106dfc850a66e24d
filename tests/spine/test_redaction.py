import json

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from alita_tui import events as e
from alita_tui.events import RunReport, TestCase
from alita_tui.spine.redaction import MARK, Redactor
from tests.support.disguising import FORMS

LETTERS = "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6iJ9lM2oP5rS8uV1wX4yZ7"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{LETTERS}\n{LETTERS}\n-----END RSA PRIVATE KEY-----"
SHAPED = [
    f"sk-ant-api03-{LETTERS}",
    f"sk-proj-{LETTERS}",
    "sk-" + "0123456789abcdef" * 2,
    f"ghp_{LETTERS[:36]}",
    f"github_pat_{LETTERS[:22]}_{LETTERS}",
    f"glpat-{LETTERS[:20]}",
    f"AIza{LETTERS[:35]}",
    "AKIAIOSFODNN7EXAMPLE",
    f"xoxb-1234567890-{LETTERS[:24]}",
    f"hf_{LETTERS[:34]}",
    f"gsk_{LETTERS[:52]}",
    f"npm_{LETTERS[:36]}",
    f"pypi-AgEIcHlwaS5vcmc{LETTERS}",
    f"sk_live_{LETTERS[:24]}",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
    PEM,
]


@pytest.mark.parametrize("secret", SHAPED)
def test_a_text_with_the_shape_of_a_key_is_redacted_wherever_it_is(secret):
    redact = Redactor()
    for text in (secret, f"use {secret}, please", f"key={secret}\n", f'"{secret}"', f"({secret})"):
        clean = redact.text(text)
        assert secret not in clean and secret[-12:] not in clean
        assert len(MARK.findall(clean)) == 1
        assert redact.text(clean) == clean


def test_a_bearer_token_is_redacted_and_its_header_stays():
    clean = Redactor().text(f"curl -H 'Authorization: Bearer {LETTERS}=='")
    assert clean == "curl -H 'Authorization: Bearer [redacted token]'"


@pytest.mark.parametrize(
    "text",
    [
        'headers = {"Authorization": f"Bearer {token}"}',
        'if "-----BEGIN PRIVATE KEY-----" in text: raise ValueError("a key")',
        "the sk-learn-like-toggleable__control-label class",
        "risk-2024-assessment-of-the-region-north",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "def ghost_writer(): npm_config = 1",
        "A bearer of good-news-from-far-away-lands",
    ],
)
def test_text_that_only_resembles_a_key_stays(text):
    assert Redactor().text(text) == text


def test_known_values_are_redacted_even_inside_others_and_short_ones_stay():
    redact = Redactor([("SHORT", "abc"), ("PIN", "4711-x"), ("LONG", "4711-x-4712"), ("", "Ute Müller")])
    assert redact.text("abc 4711-x 4711-x-4712 Ute Müller") == (
        "abc [redacted PIN] [redacted LONG] [redacted]"
    )


def test_every_text_of_an_event_is_redacted_and_nothing_else_changes():
    odd = 'p"w\\d\n1'
    redact = Redactor([("PASSWORD", odd)])
    report = RunReport(
        status="ok",
        exit_code=0,
        result={odd: [odd, 1, None]},
        stdout=f"<{odd}>",
        cases=(TestCase(name="test_a", passed=True, message=odd),),
    )
    clean = redact.value(e.ToolReturned(call_id=e.CallId("c1"), report=report))
    assert json.dumps(odd)[1:-1].encode() not in msgspec.json.encode(clean)
    assert clean.report.result == {"[redacted PASSWORD]": ["[redacted PASSWORD]", 1, None]}
    assert clean.report.cases[0].message == "[redacted PASSWORD]"
    assert clean.call_id == "c1" and clean.report.exit_code == 0


def test_a_value_without_secrets_is_returned_as_the_same_object():
    event = e.TaskSubmitted(task_id=e.TaskId("t"), text="count the words")
    assert Redactor([("KEY", "sesame-open")]).value(event) is event


def test_a_lone_surrogate_hides_nothing():
    event = e.TaskSubmitted(task_id=e.TaskId("t"), text="\ud800 sesame-open")
    assert Redactor([("KEY", "sesame-open")]).value(event).text == "\ud800 [redacted KEY]"


@given(before=st.text(), after=st.text(), secret=st.text(min_size=8))
def test_a_known_value_is_found_however_it_is_escaped_in_json(before, after, secret):
    assume(secret not in "[redacted KEY]")  # the mark itself would hold it
    redact = Redactor([("KEY", secret)])
    text = before + secret + after
    clean = redact.value(e.Steered(text=text)).text
    assert clean == text.replace(secret, "[redacted KEY]")


@pytest.mark.parametrize("form", FORMS)
def test_a_known_value_is_redacted_in_any_form(form):
    value, (write, read) = "k7/Zq x9+p-0123", FORMS[form]
    redactor = Redactor()
    said = write(value).decode("utf-8", "replace")
    if form.startswith("utf-") and "\0" not in said:
        return  # no text
    told = e.NoticeRaised(level="info", text=f"before {said} after", hint=said)
    assert redactor.value(told) is told
    redactor.learn("ODD_NAME", f" {value}\n")
    clean = redactor.value(told)
    assert "[redacted ODD_NAME]" in clean.text and value.encode() not in read(
        clean.hint.encode("latin-1", "replace")
    )
    assert redactor.value(clean) is clean


def test_a_secret_is_registered_under_any_name_before_it_is_used():
    from alita_tui.app.secrets import learned_first

    redactor = Redactor()
    secret = learned_first(redactor, {"WHATEVER": "s3cret-value-of-a-tool"}.get)
    value = secret("WHATEVER")
    assert value == "s3cret-value-of-a-tool" and secret("OTHER") is None
    assert redactor.text(f"it says {value}") == "it says [redacted WHATEVER]"
