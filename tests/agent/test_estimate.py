"""Tokens before a call: rather too many than too few."""

from __future__ import annotations

import pytest

from alita_tui.agent.tokens import Scales, estimate_of, tokens_in, worst
from alita_tui.events import ToolRequest, Usage
from alita_tui.spine.ports.models import Message, ModelRequest, ToolSpec


@pytest.mark.parametrize(
    ("text", "known"),
    [
        # Counts as the vendors document or print them for their tokenizers.
        ("tiktoken is great!", 6),
        ("antidisestablishmentarianism", 6),
        ("2 + 2 = 4", 7),
        ("お誕生日おめでとう", 9),
        ("You miss 100% of the shots you don’t take", 11),
    ],
)
def test_an_estimate_is_never_below_a_known_count(text: str, known: int) -> None:
    assert known <= tokens_in(text) <= 3 * known


def test_the_estimate_counts_every_part_of_a_request() -> None:
    bare = ModelRequest(role="orchestrator", system="", messages=(Message(role="user", text="go"),))
    call = ToolRequest(call_id="c", name="find_tool", arguments={"query": "x" * 400})
    more = ModelRequest(
        role="orchestrator",
        system="s" * 400,
        messages=(Message(role="user", text="t" * 400), Message(role="assistant", requests=(call,))),
        tools=(ToolSpec(name="a", description="d" * 400, parameters={}),),
        max_tokens=77,
    )
    assert worst(more).input_tokens >= worst(bare).input_tokens + 400
    assert worst(more).output_tokens == 77 and not worst(more).reported


RUSSIAN = "Мы пишем агента, который сам создаёт себе инструменты и проверяет их в песочнице. " * 40
ENGLISH = "We write an agent that makes its own tools and checks them in a sandbox. " * 40


def asks(*texts: str) -> ModelRequest:
    return ModelRequest(
        role="orchestrator", system="", messages=tuple(Message(role="user", text=text) for text in texts)
    )


def test_an_estimate_below_the_models_count_is_corrected() -> None:
    scales, guess = Scales(), estimate_of(asks(ENGLISH))
    first = scales.bound("p:a", guess).input_tokens
    scales.learn("p:a", guess, Usage(input_tokens=2 * first))
    assert scales.bound("p:a", guess).input_tokens >= 2 * first
    scales.learn("p:a", guess, Usage(input_tokens=10))
    assert scales.bound("p:a", guess).input_tokens >= 2 * first
    scales.learn("p:b", guess, Usage(input_tokens=9 * first, reported=False))
    assert scales.bound("p:b", guess).input_tokens == first


def test_a_correction_for_one_script_applies_to_that_script_only() -> None:
    scales, mixed = Scales(), asks(ENGLISH, RUSSIAN)
    first = scales.bound("p:a", estimate_of(mixed)).input_tokens
    counted = len(ENGLISH) // 5 + len(RUSSIAN) // 4  # as a vocabulary of 200,000 tokens does
    scales.learn("p:a", estimate_of(mixed), Usage(input_tokens=counted))
    assert counted <= scales.bound("p:a", estimate_of(mixed)).input_tokens < 0.75 * first
    for text in (ENGLISH, "我们正在编写一个能够自己制造工具的智能体。" * 40):
        alone = estimate_of(asks(text))
        assert scales.bound("p:a", alone) == Scales().bound("p:a", alone)
    assert scales.bound("p:b", estimate_of(mixed)).input_tokens == first


def test_an_estimate_that_was_too_low_is_corrected_at_once() -> None:
    scales, guess = Scales(), estimate_of(asks(RUSSIAN))
    first = scales.bound("p:a", guess).input_tokens
    scales.learn("p:a", guess, Usage(input_tokens=first // 5))
    low = scales.bound("p:a", guess).input_tokens
    assert low < 0.35 * first
    scales.learn("p:a", guess, Usage(input_tokens=first // 2))
    assert scales.bound("p:a", guess).input_tokens >= first // 2
    scales.learn("p:a", guess, Usage(input_tokens=1))  # a server that tells too little is not believed by far
    assert scales.bound("p:a", guess).input_tokens >= first // 7
