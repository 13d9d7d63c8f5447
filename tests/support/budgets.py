"""How many examples a law is tried on: the share of a hundred that it can pay for, and as many times more in a soak."""

from hypothesis import settings


def tries(of_hundred: int) -> settings:
    """So many examples by default; in a soak the same share of its profile's."""
    return settings(max_examples=max(1, settings.default.max_examples * of_hundred // 100))
