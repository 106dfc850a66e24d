"""The list of what every adapter has to pass, and where each item is tested. An item without a test fails here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType

import pytest

from tests.llm import test_anthropic as anthropic
from tests.llm import test_conformance as conformance
from tests.llm import test_errors as errors
from tests.llm import test_habits as habits
from tests.llm import test_openai as openai
from tests.llm import test_text_tools as text_tools

BOTH: dict[str, tuple[Callable[..., object], ...]] = {
    "text": (conformance.test_text_streams_in_pieces_and_ends_in_one_reply,),
    "streaming": (conformance.test_text_streams_in_pieces_and_ends_in_one_reply,),
    "one tool call": (conformance.test_a_call_is_parsed_and_its_arguments_stream,),
    "parallel tool calls": (conformance.test_parallel_calls_keep_their_order_and_ids,),
    "tool calls in pieces": (
        conformance.test_a_call_is_parsed_and_its_arguments_stream,
        conformance.test_characters_split_between_packets_arrive_whole,
    ),
    "refusals": (conformance.test_a_refusal_is_an_error,),
    "stop reasons": (habits.test_the_reason_for_the_end_is_the_same_word_everywhere,),
    "usage with cached tokens": (conformance.test_usage_counts_the_cached_tokens_into_the_input,),
    "context overflow": (errors.test_the_words_of_a_400_decide_its_kind,),
    "empty reply": (conformance.test_an_empty_reply_is_an_error,),
    "invalid JSON in arguments": (conformance.test_arguments_that_are_no_object_become_a_problem,),
    "unicode split across chunks": (conformance.test_characters_split_between_packets_arrive_whole,),
    "429 without Retry-After": (errors.test_without_retry_after_no_wait_is_invented,),
    "connection refused": (errors.test_a_refused_connection_names_the_host,),
    "reset in mid-stream": (errors.test_a_stream_that_breaks_off_is_no_reply,),
    "stall in mid-stream": (errors.test_a_stall_ends_in_a_timeout,),
    "slow first byte": (
        habits.test_a_slow_first_byte_is_waited_for,
        habits.test_a_missing_first_byte_ends_in_a_timeout,
    ),
    "SSE comments and keep-alives": (
        habits.test_comments_and_keep_alives_are_ignored,
        habits.test_keep_alives_alone_are_no_reply,
    ),
    "corrupt chunks": (errors.test_a_corrupt_event_is_malformed,),
    "a 200 that is no stream": (errors.test_a_200_that_is_no_stream_is_malformed,),
    "a stream that simply ends": (
        errors.test_a_stream_that_breaks_off_is_no_reply,
        errors.test_an_empty_stream_is_truncated,
    ),
    "tool arguments cut short": (
        conformance.test_arguments_cut_at_the_token_limit_say_so,
        conformance.test_a_call_cut_before_its_arguments_is_not_a_call_without_any,
    ),
    "servers that ignore tools": (
        habits.test_a_server_that_ignores_tools_replies_in_words,
        text_tools.test_a_server_that_ignores_tools_is_found_out,
    ),
    "servers that list no models": (
        conformance.test_a_server_may_list_no_models,
        conformance.test_a_server_may_have_no_list_at_all,
    ),
    "nothing runs from a reply that did not end properly": (
        errors.test_a_stream_cut_anywhere_never_passes_for_a_whole_reply,
        conformance.test_text_cut_at_the_token_limit_is_no_reply,
    ),
}
"""Item → tests that run for every adapter."""
ONE: dict[str, tuple[Callable[..., object], ...]] = {
    "ids and names repeated in every delta": (openai.test_calls_are_put_together,),
    "missing index": (openai.test_calls_are_put_together,),
    "missing finish_reason": (openai.test_a_usage_chunk_ends_a_stream_without_a_finish_reason,),
    "errors in mid-stream, by name": (
        openai.test_an_error_in_mid_stream_is_classified,
        anthropic.test_an_error_in_mid_stream_is_classified,
    ),
}
"""Item → tests of the protocol that it belongs to."""
STATUSES = (400, 401, 402, 403, 404, 408, 413, 429, 500, 503, 529)
MODULES: tuple[ModuleType, ...] = (conformance, errors, habits)


def values_of(test: Callable[..., object], name: str) -> list[object]:
    """What a test is parametrised with under a name."""
    for mark in getattr(test, "pytestmark", ()):
        names = mark.args[0] if isinstance(mark.args[0], tuple) else (mark.args[0],)
        if mark.name == "parametrize" and name in names:
            place = names.index(name)
            return [one[place] if isinstance(one, tuple) else one for one in mark.args[1]]
    return []


def test_the_list_is_whole() -> None:
    assert len(BOTH) + len(ONE) + len(STATUSES) == 40
    assert not set(BOTH) & set(ONE)


@pytest.mark.parametrize("item", BOTH)
def test_an_item_is_tested_with_every_adapter(item: str) -> None:
    for test in BOTH[item]:
        assert test.__name__.startswith("test_") and "lab" in inspect.signature(test).parameters


@pytest.mark.parametrize("item", ONE)
def test_an_item_of_one_protocol_is_tested_with_its_adapter(item: str) -> None:
    for test in ONE[item]:
        assert {"openai_lab", "anthropic_lab"} & set(inspect.signature(test).parameters)


@pytest.mark.parametrize("status", STATUSES)
def test_a_status_is_tested_with_every_adapter(status: int) -> None:
    assert status in values_of(errors.test_every_status_has_its_kind, "status")
    assert "lab" in inspect.signature(errors.test_every_status_has_its_kind).parameters


def test_the_waits_of_both_kinds_are_tested() -> None:
    assert 429 in values_of(errors.test_without_retry_after_no_wait_is_invented, "status")
    source = inspect.getsource(errors.test_every_status_has_its_kind)
    assert '"retry-after": "7"' in source and "retry_after) == (kind, status, 7.0)" in source


@pytest.mark.parametrize("then", ["end", "cut", "reset"])
def test_every_way_to_break_off_is_tested(then: str) -> None:
    assert then in values_of(errors.test_a_stream_that_breaks_off_is_no_reply, "then")


@pytest.mark.parametrize(
    "habit",
    ["id and name repeated", "no index, whole calls", "no index, told apart by id", "neither index nor id"],
)
def test_every_habit_of_compatible_servers_is_tested(habit: str) -> None:
    (mark,) = openai.test_calls_are_put_together.pytestmark
    assert habit in {one.id for one in mark.args[1]}


def test_no_test_of_the_suite_is_skipped() -> None:
    for module in MODULES:
        for name, test in vars(module).items():
            if name.startswith("test_"):
                marks = {mark.name for mark in getattr(test, "pytestmark", ())}
                assert not marks & {"skip", "skipif", "xfail"}, name
