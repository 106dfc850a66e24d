"""The person's ratings of answers, runs and builds."""

from __future__ import annotations

from alita_tui.events import FeedbackGiven, Rating, RatingTarget

Ratings = tuple[tuple[RatingTarget, Rating], ...]
"""The newest last, each target once."""


def after(ratings: Ratings, event: FeedbackGiven) -> Ratings:
    """Return the ratings after an event, which replaces an earlier rating or takes it back."""
    remaining = tuple(rating for rating in ratings if rating[0] != event.target)
    return remaining if event.undone else (*remaining, (event.target, event.rating))
