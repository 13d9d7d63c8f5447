"""Optional libraries of the tests."""

from importlib import import_module
from typing import Any
from unittest.mock import patch

import pytest
from torch import library as operators


def torchvision(name: str = "torchvision.transforms.v2") -> Any:
    """Import a module of torchvision, or skip the test; builds for another torch lack operators of their own."""
    try:
        with patch.object(operators, "register_fake", lambda *_, **__: lambda function: function):
            return import_module(name)
    except (ImportError, RuntimeError) as error:
        return pytest.skip(f"torchvision is not at hand: {error}")
