"""Agents on screen: the tree in the drawer of tasks, stopping one, speaking to one, and what each took."""

from __future__ import annotations

from msgspec.structs import replace
from textual.widgets import OptionList

from alita_tui import events as e
from alita_tui.console.session.card_lines import draw
from alita_tui.console.spend.screen import rows as spend_rows
from alita_tui.console.widgets.styled_text import text_of
from alita_tui.spine.commands import CancelTask, Interrupt, Steer
from alita_tui.spine.envelope import SCHEMA_VERSION, Envelope
from alita_tui.spine.origin import LEAD
from alita_tui.state.reduce import reduce_all
from alita_tui.view.agents import agent_line, steer_from, tree
from alita_tui.view.card_words import evidence, section_summary
from alita_tui.view.cards import Deck
from alita_tui.view.fold import fold_all
from tests.console.screens import Sink, console
from tests.console.tasks_lab import told
from tests.console.test_tasks_screen import opened, rows
from tests.support.goldens import golden

HOSTILE = "[b]north[/b]\x1b[31m\u202e"


def with_agents() -> list[Envelope]:
    """A task whose lead has two at work, one of them with one of its own, and one that failed."""
    events = told()
    last = events[-1]

    def put(event: e.SessionEvent, agent_id: e.AgentId = LEAD) -> None:
        events.append(
            replace(
                last,
                seq=(events[-1].seq or 0) + 1,
                event=event,
                task_id="running",
                agent_id=agent_id,
                span="",
                parent="",
                step=2,
                schema_version=SCHEMA_VERSION,
            )
        )

    def begin(name: str, goal: str, by: str = LEAD, depth: int = 1) -> None:
        put(e.AgentStarted(agent_id=e.AgentId(name), action_id="a", role=name.partition("-")[0], goal=goal, depth=depth, usd=0.3), e.AgentId(by))  # fmt: skip

    begin("boss-1", HOSTILE)
    begin("writer-2", "south")
    begin("writer-3", "below north", "boss-1", 2)
    put(e.BudgetSpent(call_id="c1", cost_usd=0.02, tokens=300, role="specialist"), e.AgentId("writer-3"))
    put(e.BudgetSpent(call_id="c2", cost_usd=None, tokens=100, role="specialist"), e.AgentId("writer-3"))
    put(e.ModelReplied(call_id="c1", role="specialist", model="p:a", duration_ms=1500), e.AgentId("writer-3"))
    put(
        e.AgentEnded(
            agent_id=e.AgentId("writer-2"), action_id="a", outcome="late", reason="It had 3 seconds."
        )
    )
    return events


async def test_the_drawer_shows_the_tree_and_x_stops_the_chosen_agent_alone() -> None:
    events, sink = with_agents(), Sink()
    async with console(events, sink=sink).run_test(size=(80, 24)) as pilot:
        shown = rows(await opened(pilot, events))
        at = next(n for n, line in enumerate(shown) if "the one that runs" in line)
        assert [line.partition("└ ")[2].partition(":")[0] for line in shown[at + 1 : at + 4]] == [
            "boss-1", "writer-3", "writer-2",
        ]  # fmt: skip
        assert shown[at + 2].index("└") > shown[at + 1].index("└")
        assert "ran out of time" in shown[at + 3] and "$0.0200" in shown[at + 2]
        assert (
            "[b]north[/b]" in shown[at + 1] and "\x1b" not in shown[at + 1] and "\u202e" not in shown[at + 1]
        )
        listed = pilot.app.screen.query_one(OptionList)
        for place in (at + 3, at + 2, at):
            listed.highlighted = place
            await pilot.press("x")
        await pilot.pause()
        asked = [command for command in sink.commands if isinstance(command, Interrupt | CancelTask)]
        assert asked == [Interrupt(agent_id=e.AgentId("writer-3")), CancelTask(task_id="running")]


def test_a_message_goes_to_the_agent_that_it_names_if_that_agent_works() -> None:
    state = reduce_all(with_agents())
    assert steer_from(state, "@boss-1 in metres") == Steer(text="in metres", agent_id=e.AgentId("boss-1"))
    assert steer_from(state, "@all be brief") == Steer(text="be brief", every=True)
    for text in ("@writer-2 too late", "@nobody x", "@boss-1", "boss-1 x", "mail me@all now"):
        assert steer_from(state, text) == Steer(text=text)
    assert [agent.agent_id for _, agent in tree(state, e.TaskId("running"))] == [
        "boss-1",
        "writer-3",
        "writer-2",
    ]


def test_a_steering_row_names_the_agent_that_it_was_for() -> None:
    events = with_agents()
    to_lead = replace(events[-1], seq=len(events) + 1, agent_id="lead", event=e.Steered(text="be brief"))
    to_one = replace(to_lead, seq=len(events) + 2, agent_id="boss-1")
    view = fold_all([*events, to_lead, to_one])
    deck = Deck()
    deck.show(view.trace)
    shown = [
        text_of(line.line) for card in deck.cards[-2:] for line in draw(deck, card.at, 80, lambda _: None)
    ]
    assert [line.split("be brief")[0].strip(" ❯") for line in shown if "be brief" in line] == ["", "boss-1 │"]


def test_the_spend_screen_says_what_each_agent_and_each_role_took() -> None:
    listed = spend_rows(fold_all(with_agents()), {}, "", 100)
    text = "\n".join("".join(part for part, _ in (*row.gutter, *row.body)) for row in listed)
    assert "BY AGENT" in text and "BY SPECIALIST" in text
    line = next(one for one in text.splitlines() if "writer-3" in one)
    for part in ("$0.0200", "2 calls", "400 tokens", "1.5 s", "1 without a price"):
        assert part in line, part
    assert fold_all(with_agents()).spend.total_usd is not None


async def test_on_a_small_screen_the_goal_is_shortened_and_not_the_state_of_an_agent() -> None:
    events = with_agents()
    begun = next(n for n, one in enumerate(events) if isinstance(one.event, e.AgentStarted))
    told_of = replace(events[begun].event, goal="find out " * 40)
    events[begun] = replace(events[begun], event=told_of)
    async with console(events).run_test(size=(80, 24)) as pilot:
        width = pilot.app.screen.size.width
        shown = rows(await opened(pilot, events))
        line = next(one for one in shown if "boss-1" in one)
        assert line.index("boss-1: ") < line.index("waits for its turn") < line.index("find out") < width
        late = next(one for one in shown if "writer-2" in one)
        assert late.index("ran out of time") < late.index("south")


def test_delegated_parts_do_not_count_as_tool_runs() -> None:
    view = fold_all(golden("golden-team"))
    deck = Deck()
    deck.show(view.trace)
    (section,) = {id(card.section): card.section for card in deck.cards if card.section}.values()
    _, did, _ = section_summary(deck, section)
    assert "handed parts to 4 agents" in did
    assert not any("tool" in one for one in (*did, evidence(section)))


def test_an_agent_counts_as_working_from_its_first_model_call() -> None:
    """A first reply may take a minute: it does not wait for its turn any more."""
    events = with_agents()
    number = (events[-1].seq or 0) + 1
    assert {str(one.agent_id): one.phase for one in reduce_all(events).agents}["boss-1"] == "idle"
    asked = e.BudgetReserved(call_id="c9", role="specialist", model="p:a", usd=0.1, tokens=9)
    events.append(replace(events[-1], seq=number, event=asked, agent_id="boss-1", step=1))
    late = e.BudgetReserved(call_id="c8", role="specialist", model="p:a", usd=0.1, tokens=9)
    events.append(replace(events[-1], seq=number + 1, event=late, agent_id="writer-2", step=1))
    stands = {str(one.agent_id): str(agent_line(one)[1]) for one in reduce_all(events).agents}
    assert stands["boss-1"] == "step 1, thinking" and stands["writer-2"] == "ran out of time"
    assert reduce_all(events).phase == reduce_all(with_agents()).phase, "that of the lead"


async def test_on_a_small_screen_agents_are_distinguished_by_their_goals() -> None:
    """Goals of agents side by side begin alike and end differently."""
    events = with_agents()
    begun = next(n for n, one in enumerate(events) if isinstance(one.event, e.AgentStarted))
    goal = "find the weather of the north"
    events[begun] = replace(events[begun], event=replace(events[begun].event, goal=goal))
    async with console(events).run_test(size=(80, 24)) as pilot:
        listed = await opened(pilot, events)
        line = next(one for one in rows(listed) if "boss-1" in one)
        assert goal in line[: listed.scrollable_content_region.width - 2]
