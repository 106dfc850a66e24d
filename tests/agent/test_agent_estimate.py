"""Tokens before a call: rather too many than too few."""

from __future__ import annotations

import pytest

from alita_tui.agent.estimate import Scales, tokens_in, worst
from alita_tui.spine.ports import Message, ModelRequest, ToolSpec
from alita_tui.spine.values import ToolRequest, Usage


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
def test_known_counts_are_not_undercut(text: str, known: int) -> None:
    assert known <= tokens_in(text) <= 3 * known


def test_everything_that_is_sent_counts() -> None:
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


def test_what_a_model_counts_above_the_estimate_is_learned() -> None:
    scales = Scales()
    guess = Usage(input_tokens=1100, output_tokens=50)
    assert scales.scaled("p:a", guess) == guess
    scales.learn("p:a", guess, Usage(input_tokens=2000))
    assert scales.scaled("p:a", guess).input_tokens == 2200
    scales.learn("p:a", guess, Usage(input_tokens=10))
    assert scales.scaled("p:a", guess).input_tokens == 2200
    scales.learn("p:b", guess, Usage(input_tokens=9000, reported=False))
    assert scales.scaled("p:b", guess) == guess
