"""Which model is asked, and what follows from a failure: its kind decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from alita_tui.events import ModelErrorKind, ModelRole, ProviderChanged
from alita_tui.llm.breaker import Breaker
from alita_tui.llm.presets import rules_of
from alita_tui.spine.errors import ModelError
from alita_tui.spine.ports.models import Ability, Candidate, Model

_AGAIN: frozenset[ModelErrorKind] = frozenset({"server", "truncated", "malformed"})
"""Likely over at once: the same model is asked again while its breaker is closed."""
_ELSEWHERE: frozenset[ModelErrorKind] = frozenset({"connection", "timeout", "overloaded", "rate_limit"})
"""Likely to last: the next model is asked at once, the same one only if there is no other."""
_OFF: frozenset[ModelErrorKind] = frozenset({"auth", "payment", "not_found", "unavailable"})
"""Only the person can fix these."""
_ANSWERED: frozenset[ModelErrorKind] = frozenset({"refused", "bad_request", "context", "no_tools"})
"""No reply for the caller, but proof that the server works."""
_NEVER: frozenset[ModelErrorKind] = frozenset({"refused", "bad_request"})
"""The same model would fail again; the next one is asked, since its rules may differ."""
_RETRIES = 2
"""Further attempts on one model in one call."""
_ATTEMPTS: dict[ModelErrorKind, int] = {"no_tools": 1, "malformed": 1, "context": 0}
"""Further attempts for kinds with another number: after `no_tools` the second attempt is in text."""
_ADD = "Add a model with a larger window or limit: `alita models add PROVIDER:NAME --role ROLE`."
_PATIENCE = 60.0
"""Seconds that one call waits at most in all; a longer wait is the person's choice."""
_BUSY = 0.25
"""Seconds until the model is checked again while another call probes it."""


class Router:
    """The candidates of every role, and one breaker for each of their models."""

    def __init__(
        self,
        roles: Mapping[str, Sequence[Candidate]] | Mapping[ModelRole, Sequence[Candidate]],
        clock: Callable[[], float],
        jitter: Callable[[], float],
    ) -> None:
        """`roles` are roles and seats, as `specialist:ROLE`.

        `clock` is monotonic, in seconds; `jitter` gives numbers in [0, 1).
        """
        self._roles: dict[str, tuple[Candidate, ...]] = {
            role: tuple(listed) for role, listed in roles.items()
        }
        self._breakers = {candidate.name: Breaker() for listed in roles.values() for candidate in listed}
        self._reported = dict.fromkeys(self._breakers, ("closed", ""))
        self._windows = {
            candidate.name: candidate.context for listed in roles.values() for candidate in listed
        }
        self.clock = clock
        self.jitter = jitter

    def route(self, role: str, tokens: Callable[[Model], int], usd: Callable[[Model], float | None]) -> Route:
        """Return the route that one call takes through the candidates of its role or seat."""
        return Route(self, self._seated(role), tokens, usd)

    def _seated(self, role: str) -> tuple[Candidate, ...]:
        names = (role, role.partition(":")[0], "orchestrator")
        return next(filter(None, map(self._roles.get, names)), ())

    def window(self, role: str) -> int:
        """Return the window in tokens of the model that the role would ask now; 0 when unknown."""
        seated = self._seated(role)
        listed = [candidate for candidate in seated if candidate.needs <= candidate.model.abilities] or seated
        now = self.clock()
        ready = [candidate for candidate in listed if self._breakers[candidate.name].ready_at(now) == now]
        return self._windows[(ready or listed)[0].name]

    def narrow(self, name: str, tokens: int) -> ModelError:
        """Return the error for a model whose window leaves no room for a reply to so many tokens."""
        return ModelError(
            "context",
            f"{name}: its window of {self._windows[name]} tokens is too small for a call of about {tokens} "
            "tokens and a reply.",
            hint=_larger(name) or "Begin a new session, or use a model with a larger window.",
        )

    def learn(self, name: str, window: int) -> int:
        """Record a window that a server reported; return the valid one, the smaller of two, or 0 if unknown."""
        previous = self._windows.get(name, 0)
        self._windows[name] = min(previous, window) if previous and window else previous or window
        return self._windows[name]

    def breaker(self, name: str) -> Breaker:
        """Return the breaker of a model."""
        return self._breakers[name]

    def enable(self, name: str) -> None:
        """Ask a model again that was turned off; an unknown name is ignored."""
        if name in self._breakers:
            self._breakers[name].enable()

    def changes(self) -> tuple[ProviderChanged, ...]:
        """Return the models whose state changed since the last call."""
        changed: list[ProviderChanged] = []
        now = self.clock()
        for name, breaker in self._breakers.items():
            state = (breaker.state, breaker.reason)
            if state == self._reported[name]:
                continue
            self._reported[name] = state
            ready = breaker.ready_at(now)
            waits = ready - now if ready is not None and breaker.state == "open" else None
            changed.append(
                ProviderChanged(model=name, state=breaker.state, reason=breaker.reason, retry_in=waits)
            )
        return tuple(changed)


class Route:
    """The candidates that one call tries, in order, and what follows from each failure."""

    def __init__(
        self,
        router: Router,
        candidates: tuple[Candidate, ...],
        tokens: Callable[[Model], int],
        usd: Callable[[Model], float | None],
    ) -> None:
        self._router = router
        self._tokens = {candidate.name: tokens(candidate.model) for candidate in candidates}
        lacks = [(candidate, self._lack(candidate, usd)) for candidate in candidates]
        self._remaining = [candidate for candidate, lack in lacks if not lack]
        self._lacks = {candidate.name: lack for candidate, lack in lacks if lack}
        why = "; ".join(f"{name} {lack}" for name, lack in self._lacks.items())
        self._last = ModelError(
            "context",
            f"No model of this role takes a call of about {max(self._tokens.values())} tokens within its "
            f"limits: {why}.",
            hint=" ".join(filter(None, (_larger(candidates[0].name), _ADD))),
        )
        self._failures: dict[str, int] = {}
        self._not_before: dict[str, float] = {}
        self._stay: Candidate | None = None
        self._probe = False
        """True while the call that this route let through is a breaker's probe."""
        self._order = [candidate.name for candidate in candidates]
        self._waited = 0.0

    def next(self) -> Candidate | float:
        """Return the model to ask now, or the seconds to wait before calling this again.

        Raise the last ModelError when no model is left to ask.
        """
        now = self._router.clock()
        soonest: float | None = None
        if self._stay and self._router.breaker(self._stay.name).state != "closed":
            self._stay = None
        for candidate in (self._stay,) if self._stay else self._remaining:
            breaker = self._router.breaker(candidate.name)
            ready = breaker.ready_at(now)
            if ready is None:
                self._blame(candidate, breaker.cause)
                if breaker.state == "disabled":
                    continue
                ready = now + _BUSY
            ready = max(ready, self._not_before.get(candidate.name, 0.0))
            if ready <= now and breaker.admit(now):
                self._probe = breaker.state == "half_open"
                return candidate
            self._blame(candidate, breaker.cause)
            soonest = ready if soonest is None else min(soonest, ready)
        if soonest is None or self._waited + soonest - now > _PATIENCE:
            if soonest is not None and self._last.retry_after is None:
                self._last.retry_after = soonest - now
            raise self._last
        self._waited += soonest - now
        return soonest - now

    @property
    def first(self) -> str:
        """Return the name of the first model in the role's order."""
        return self._order[0]

    def spare(self, candidate: Candidate) -> bool:
        """Return whether another model, which has not failed yet, could be asked at once."""
        now = self._router.clock()
        alternatives = (
            alternative
            for alternative in self._remaining
            if alternative is not candidate and alternative.name not in self._failures
        )
        return any(
            self._router.breaker(alternative.name).ready_at(now) == now for alternative in alternatives
        )

    def why(self, previous: str, candidate: Candidate) -> str:
        """Return why a call goes to this model and not to the previous one."""
        if previous in self._failures:
            return self._last.message
        if previous in self._order and (reason := self._router.breaker(previous).reason):
            return reason
        if previous in self._order[: self._order.index(candidate.name)]:
            return f"the call is not within the limits: {previous} {self._lacks.get(previous, '')}".rstrip()
        return "it comes first, and answers again"

    def replied(self, candidate: Candidate) -> None:
        """Record a whole reply."""
        self._router.breaker(candidate.name).succeed(self._router.clock())

    def released(self, candidate: Candidate) -> None:
        """Record that the call was given up without an outcome."""
        if self._probe:
            self._router.breaker(candidate.name).release()

    def failed(self, candidate: Candidate, error: ModelError) -> None:
        """Record a failure and decide what follows: the same model, another one, a pause, or off."""
        now, breaker = self._router.clock(), self._router.breaker(candidate.name)
        self._last, self._stay = error, None
        count = self._failures[candidate.name] = self._failures.get(candidate.name, 0) + 1
        self._not_before[candidate.name] = now + 2.0 ** (count - 2) * (0.5 + 0.5 * self._router.jitter())
        kind = error.kind
        if kind in _OFF:
            breaker.disable(error)
        elif error.retry_after is not None and kind in _ELSEWHERE:
            breaker.cool(now + error.retry_after, error)
        elif kind in _ANSWERED:
            breaker.succeed(now)
        else:
            breaker.fail(now, error, probe=self._probe)
        if error.window and self._fits_anew(candidate, error.window) and count == 1:
            self._stay, self._not_before[candidate.name] = candidate, now
        elif kind in _OFF or kind in _NEVER or count > _ATTEMPTS.get(kind, _RETRIES):
            self._remaining = [
                alternative
                for alternative in self._remaining
                if alternative is not candidate and not _smaller(alternative, candidate, kind)
            ]
        elif kind in _AGAIN and breaker.state == "closed":
            self._stay = candidate
        elif kind == "no_tools" and "tools" in candidate.needs:
            self._lacks[candidate.name] = _unable(frozenset({"tools"}))
            self._remaining = [alternative for alternative in self._remaining if alternative is not candidate]
        elif kind == "no_tools":
            self._stay, self._not_before[candidate.name] = candidate, now

    def _fits_anew(self, candidate: Candidate, window: int) -> bool:
        """Return whether a shorter reply fits into this newly learnt window."""
        previous = self._router.learn(candidate.name, 0)
        return self._tokens[candidate.name] <= self._router.learn(candidate.name, window) != previous

    def _lack(self, candidate: Candidate, usd: Callable[[Model], float | None]) -> str:
        """Return why a model may not take this call; empty if it may."""
        context = self._router.learn(candidate.name, 0)
        if context and self._tokens[candidate.name] > context:
            return f"reads {context} tokens"
        if missing := candidate.needs - candidate.model.abilities:
            return _unable(missing)
        if candidate.max_usd is None:
            return ""
        cost = usd(candidate.model)
        if cost is None:
            return "has no known price"
        return f"could cost ${cost:.4f}" if cost > candidate.max_usd else ""

    def _blame(self, candidate: Candidate, cause: ModelError | None) -> None:
        """Remember why this model is not asked, unless another was asked before."""
        if not self._failures and cause is not None:
            words = cause.message.removeprefix(f"{candidate.name}: ")
            self._last = ModelError(
                cause.kind,
                f"{candidate.name} is not asked for now: {words}",
                hint=cause.hint,
                status=cause.status,
            )


def _larger(name: str) -> str:
    """Return the hint for a larger window, for servers of one's own."""
    larger = rules_of(name.partition(":")[0]).larger
    return f"Give the server a larger window: {larger}." if larger else ""


def _unable(missing: frozenset[Ability]) -> str:
    words: dict[Ability, str] = {"tools": "calls no tools of its own", "vision": "reads no images"}
    return " and ".join(words[ability] for ability in sorted(missing))


def _smaller(alternative: Candidate, candidate: Candidate, kind: ModelErrorKind) -> bool:
    """Return whether a conversation too long for one model is too long for the other as well."""
    return kind == "context" and 0 < alternative.context <= candidate.context
