"""How many examples a law is tried on: a few by default, very many in a soak. The profiles stand in conftest.py."""

from hypothesis import Phase, settings

DEAR = settings(max_examples=settings.default.max_examples // 3)
"""For laws of whole samples, where an example takes milliseconds."""
PLANTED = settings(max_examples=300, phases=[Phase.generate], derandomize=True, database=None)
"""For a law that a planted fault must break: it ends with the first example that does, whatever the profile."""
