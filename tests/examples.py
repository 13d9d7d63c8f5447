"""How many examples a law is tried on: a few by default, very many in a soak. The profiles stand in conftest.py."""

from collections.abc import Callable
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

DEAR = settings(max_examples=settings.default.max_examples // 3)
"""For laws of whole samples, where an example takes milliseconds."""
PLANTED = settings(max_examples=300, phases=[Phase.generate], derandomize=True, database=None)
"""For a law that a planted fault must break: it ends with the first example that does, whatever the profile."""
BROKEN = (AssertionError, ExceptionGroup)
"""What a law raises that does not hold for some example, or for several in several ways."""
SEEDS = st.integers(0, 2**32)


def holds(law: Callable[..., object], *examples: st.SearchStrategy[Any], tried: settings = DEAR) -> None:
    """Tries a law on random examples, of its positional arguments."""

    @tried
    @given(st.tuples(*examples))
    def on_all(arguments: tuple[Any, ...]) -> None:
        law(*arguments)

    on_all()


def planted(law: Callable[..., object], *examples: st.SearchStrategy[Any]) -> Callable[[Any], None]:
    """A law as `support.checks.planted_faults` has it: tried until an example breaks it."""
    return lambda _: holds(law, *examples, tried=PLANTED)
