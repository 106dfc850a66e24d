"""Which model is asked, and what follows from each kind of failure."""

from __future__ import annotations

import pytest

from alita_tui.events import ModelErrorKind
from alita_tui.llm.breaker import Breaker
from alita_tui.llm.router import Router
from alita_tui.spine.errors import ModelError
from alita_tui.spine.ports.models import Ability, Candidate, Route
from tests.support.simulation import PlayedModel, VirtualTime, fault


def candidate(name: str, **limits: object) -> Candidate:
    return Candidate(model=PlayedModel(name, lambda: None), **limits)  # type: ignore[arg-type]


class Able(PlayedModel):
    """Can do what is said."""

    def __init__(self, name: str, *abilities: Ability) -> None:
        super().__init__(name, lambda: None)
        self.can = frozenset(abilities)

    @property
    def abilities(self) -> frozenset[Ability]:
        return self.can


def router(time: VirtualTime, *candidates: Candidate) -> Router:
    return Router({"orchestrator": candidates}, time, lambda: 0.5)


def way(router: Router, tokens: int = 100, usd: float = 0.1) -> Route:
    return router.route("orchestrator", lambda _: tokens, lambda _: usd)


def asked(route: Route) -> str:
    turn = route.next()
    assert isinstance(turn, Candidate)
    return turn.name


def failing(route: Route, error: ModelError) -> str:
    """Ask, fail; the model that was asked."""
    turn = route.next()
    assert isinstance(turn, Candidate)
    route.failed(turn, error)
    return turn.name


# --- the breaker --------------------------------------------------------------------------


def test_two_failures_in_a_row_open_it() -> None:
    breaker = Breaker()
    breaker.fail(0, fault("server"))
    assert (breaker.admit(0), breaker.state) == (True, "closed")
    breaker.fail(1, fault("server"))
    assert (breaker.state, breaker.admit(20.9)) == ("open", False)
    assert breaker.reason == "a: it is server"
    assert (breaker.admit(21), breaker.state) == (True, "half_open")
    assert not breaker.admit(21)  # one probe only


def test_half_of_at_least_four_within_a_minute_opens_it() -> None:
    breaker = Breaker()
    for at, ok in ((0, True), (1, False), (2, True)):
        breaker.succeed(at) if ok else breaker.fail(at, fault("server"))
    before = breaker.state
    breaker.fail(3, fault("server"))
    assert (before, breaker.state) == ("closed", "open")
    slow = Breaker()
    for at, ok in ((0, True), (30, False), (60, True), (91, False)):
        slow.succeed(at) if ok else slow.fail(at, fault("server"))
    assert slow.state == "closed"  # the first two are out of the window


def test_each_failed_probe_doubles_the_wait_up_to_five_minutes() -> None:
    breaker, now, waits = Breaker(), 0.0, []
    breaker.fail(now, fault("server"))
    breaker.fail(now, fault("server"))
    for _ in range(6):
        ready = breaker.ready_at(now)
        assert ready is not None
        waits.append(ready - now)
        now = ready
        assert breaker.admit(now)
        breaker.fail(now, fault("server"), probe=True)
    assert waits == [20, 40, 80, 160, 300, 300]


def test_a_probe_that_succeeds_closes_it_and_forgets() -> None:
    breaker = Breaker()
    for _ in range(2):
        breaker.fail(0, fault("server"))
    assert breaker.admit(20)
    breaker.succeed(21)
    assert (breaker.state, breaker.reason) == ("closed", "")
    breaker.fail(22, fault("server"))
    assert breaker.state == "closed"


def test_late_failures_of_earlier_calls_do_not_lengthen_the_wait() -> None:
    breaker = Breaker()
    for at in (0, 0, 1, 2):
        breaker.fail(at, fault("connection"))
    assert breaker.ready_at(3) == 20


# --- kinds of failure ---------------------------------------------------------------------

A, B = candidate("p:a"), candidate("p:b")


@pytest.mark.parametrize("kind", ["connection", "timeout", "overloaded", "rate_limit"])
def test_a_lasting_failure_goes_to_the_next_model_at_once(kind: ModelErrorKind) -> None:
    route = way(router(VirtualTime(), A, B))
    assert [failing(route, fault(kind)), asked(route)] == ["p:a", "p:b"]


@pytest.mark.parametrize("kind", ["server", "truncated"])
def test_a_temporary_failure_is_retried_here_and_then_elsewhere(kind: ModelErrorKind) -> None:
    time = VirtualTime()
    route = way(router(time, A, B))
    assert failing(route, fault(kind)) == "p:a"
    wait = route.next()
    assert wait == 0.375  # jitter of one half
    time.now += 0.375
    assert [failing(route, fault(kind)), asked(route)] == ["p:a", "p:b"]


@pytest.mark.parametrize("kind", ["auth", "payment", "not_found", "unavailable"])
def test_a_failure_that_only_the_person_can_fix_turns_the_model_off(kind: ModelErrorKind) -> None:
    time = VirtualTime()
    routing = router(time, A, B)
    route = way(routing)
    assert [failing(route, fault(kind)), asked(route)] == ["p:a", "p:b"]
    time.now = 10_000
    assert asked(way(routing)) == "p:b"
    assert [change.state for change in routing.changes()] == ["disabled"]
    routing.enable("p:a")
    assert asked(way(routing)) == "p:a"


@pytest.mark.parametrize("kind", ["refused", "bad_request"])
def test_a_failure_that_would_repeat_is_retried_with_other_models_only(kind: ModelErrorKind) -> None:
    route = way(router(VirtualTime(), A, B))
    assert [failing(route, fault(kind)), failing(route, fault(kind))] == ["p:a", "p:b"]
    with pytest.raises(ModelError) as caught:
        route.next()
    assert caught.value.kind == kind


def test_after_one_odd_reply_the_model_is_asked_again_and_then_the_next_one() -> None:
    route = way(router(VirtualTime(), A, B))
    assert failing(route, fault("malformed")) == "p:a"
    wait = route.next()
    assert isinstance(wait, float) and 0 < wait <= 1
    time = VirtualTime()
    route = way(router(time, A, B))
    asked_in_turn: list[str] = []
    while len(asked_in_turn) < 3:
        turn = route.next()
        if isinstance(turn, float):
            time.now += turn
            continue
        asked_in_turn.append(turn.name)
        route.failed(turn, fault("malformed"))
    assert asked_in_turn == ["p:a", "p:a", "p:b"]


def test_after_a_server_names_its_window_the_model_is_asked_again_within_it() -> None:
    routing = router(VirtualTime(), A, B)
    small = ModelError("context", "too long", window=8192)
    route = way(routing, tokens=5000)
    assert [failing(route, small), failing(route, small), asked(route)] == ["p:a", "p:a", "p:b"]
    assert routing.window("orchestrator") == 8192
    assert asked(way(routing, tokens=9000)) == "p:b"  # it is known from now on
    tiny = ModelError("context", "too long", window=4096)
    other = way(router(VirtualTime(), A, B), tokens=5000)
    assert [failing(other, tiny), asked(other)] == ["p:a", "p:b"]


def test_if_no_window_suffices_the_error_says_what_to_set() -> None:
    own = candidate("llama.cpp:qwen", context=4096)
    with pytest.raises(ModelError) as caught:
        way(router(VirtualTime(), own), tokens=5000).next()
    assert caught.value.kind == "context" and "llama-server -c" in caught.value.hint


def test_a_wait_that_is_too_long_is_reported() -> None:
    routing = router(VirtualTime(), A)
    failing(way(routing), fault("rate_limit", 900))
    with pytest.raises(ModelError) as caught:
        way(routing).next()
    assert caught.value.retry_after == 900


def test_the_router_waits_for_a_reset_time() -> None:
    time = VirtualTime()
    routing = router(time, A, B)
    failing(way(routing), fault("rate_limit", 90))
    assert asked(way(routing)) == "p:b"
    (change,) = routing.changes()
    assert (change.model, change.state, change.retry_in) == ("p:a", "open", 90)
    time.now = 90
    assert asked(way(routing)) == "p:a"


def test_a_single_model_waits_for_a_near_reset_but_not_for_a_far_one() -> None:
    route = way(router(VirtualTime(), A))
    failing(route, fault("rate_limit", 30))
    assert route.next() == 30
    route = way(router(VirtualTime(), A))
    failing(route, fault("rate_limit", 3600))
    with pytest.raises(ModelError) as caught:
        route.next()
    assert caught.value.kind == "rate_limit"


def test_a_single_model_has_three_attempts_of_which_the_last_is_a_probe() -> None:
    time = VirtualTime()
    route = way(router(time, A))
    waits = []
    for _ in range(3):
        failing(route, fault("connection"))
        try:
            waits.append(route.next())
        except ModelError:
            break
        time.now += waits[-1]  # type: ignore[operator]  # it waits each time
    assert waits == [0.375, 20.0]


def test_a_conversation_too_long_for_one_goes_to_a_larger_one() -> None:
    small, same, large = candidate("p:a"), candidate("p:b", context=100), candidate("p:c", context=9000)
    first = candidate("p:first", context=200)
    route = way(router(VirtualTime(), first, small, same, large))
    failing(route, fault("context"))
    assert asked(route) == "p:a"  # its window is not known


def test_a_candidate_over_its_limits_is_skipped() -> None:
    routing = router(VirtualTime(), candidate("p:a", context=1000), candidate("p:b", max_usd=0.5), B)
    assert asked(way(routing, tokens=1000, usd=0.5)) == "p:a"
    assert asked(way(routing, tokens=1001, usd=0.5)) == "p:b"
    route = way(router(VirtualTime(), candidate("p:a", context=10)))
    with pytest.raises(ModelError) as caught:
        route.next()
    assert caught.value.kind == "context" and "alita models add" in caught.value.hint


def test_a_model_without_a_price_does_not_meet_a_cost_limit() -> None:
    routing = router(VirtualTime(), candidate("p:a", max_usd=0.5), B)
    route = routing.route("orchestrator", lambda _: 100, lambda model: None if model.name == "p:a" else 0.1)
    assert asked(route) == "p:b"
    assert route.why("p:a", B) == "the call is not within the limits: p:a has no known price"


@pytest.mark.parametrize(
    ("needs", "served"),
    [((), "p:blind"), (("tools",), "p:tools"), (("vision",), "p:seeing"), (("tools", "vision"), "p:both")],
)
def test_models_that_lack_what_a_role_needs_are_skipped(needs: tuple[Ability, ...], served: str) -> None:
    models = (
        Able("p:blind"),
        Able("p:tools", "tools"),
        Able("p:seeing", "vision"),
        Able("p:both", "tools", "vision"),
    )
    listed = [
        Candidate(model=model, needs=frozenset(needs), context=n) for n, model in enumerate(models, 1000)
    ]
    routing = router(VirtualTime(), *listed)
    assert asked(way(routing)) == served
    assert routing.window("orchestrator") == next(one.context for one in listed if one.name == served)


def test_if_no_model_has_what_a_role_needs_each_is_named() -> None:
    needs: frozenset[Ability] = frozenset({"tools", "vision"})
    listed = [Candidate(model=Able("p:a", "tools"), needs=needs), Candidate(model=Able("p:b"), needs=needs)]
    with pytest.raises(ModelError) as caught:
        way(router(VirtualTime(), *listed)).next()
    assert "p:a reads no images; p:b calls no tools of its own and reads no images" in caught.value.message


def test_a_model_found_to_call_no_tools_is_skipped_for_roles_that_need_them() -> None:
    found_out = Able("p:a", "tools")
    routing = router(VirtualTime(), Candidate(model=found_out, needs=frozenset({"tools"})), B)
    route = way(routing)
    assert failing(route, fault("no_tools")) == "p:a"
    found_out.can = frozenset()
    assert asked(route) == "p:b" and asked(way(routing)) == "p:b"
    free = way(router(VirtualTime(), Candidate(model=found_out), B))
    assert [failing(free, fault("no_tools")), asked(free)] == ["p:a", "p:a"]  # now in text


def test_a_call_without_any_model_left_says_why() -> None:
    routing = router(VirtualTime(), A)
    failing(way(routing), fault("payment"))
    with pytest.raises(ModelError) as caught:
        way(routing).next()
    assert (caught.value.kind, caught.value.hint) == ("payment", "mend it")
    assert "p:a is not asked for now" in caught.value.message


def test_an_abandoned_probe_allows_another_one() -> None:
    time = VirtualTime()
    routing = router(time, A)
    route = way(routing)
    failing(route, fault("connection"))
    time.now = 1
    failing(route, fault("connection"))
    time.now = 21
    first, second = way(routing), way(routing)
    turn = first.next()
    assert isinstance(turn, Candidate)
    assert second.next() == 0.25  # somebody else is looking
    second.released(turn)  # which is not the probe's to give up
    assert second.next() == 0.25
    first.released(turn)
    assert asked(second) == "p:a"


def test_the_reason_for_a_switch_of_model_is_given() -> None:
    time = VirtualTime()
    routing = router(time, candidate("p:a", context=1000), B)
    route = way(routing)
    failing(route, fault("connection"))
    assert route.why("p:a", B) == "a: it is connection"
    assert (
        way(routing, tokens=2000).why("p:a", B) == "the call is not within the limits: p:a reads 1000 tokens"
    )
    assert way(routing).why("p:b", A) == "it comes first, and answers again"


def test_state_changes_are_reported_once() -> None:
    time = VirtualTime()
    routing = router(time, A)
    route = way(routing)
    failing(route, fault("connection"))
    assert routing.changes() == ()
    time.now = 1
    failing(route, fault("connection"))
    (change,) = routing.changes()
    assert (change.state, change.retry_in, change.reason) == ("open", 20, "a: it is connection")
    assert routing.changes() == ()
