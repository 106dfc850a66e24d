"""The person's ratings of answers, runs and builds."""

from __future__ import annotations

from alita_tui.events import FeedbackGiven, Rating

Ratings = tuple[tuple[tuple[str, str, str], Rating], ...]
"""By task, call and build (`FeedbackGiven.target`); the newest last, each once."""


def after(ratings: Ratings, event: FeedbackGiven) -> Ratings:
    """Return the ratings after an event, which replaces an earlier rating or takes it back."""
    remaining = tuple(rating for rating in ratings if rating[0] != event.target)
    return remaining if event.undone else (*remaining, (event.target, event.rating))
