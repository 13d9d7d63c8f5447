"""Libraries that the tests do without, where they are installed."""

from importlib import import_module
from typing import Any
from unittest.mock import patch

import pytest
from torch import library as operators


def torchvision(name: str = "torchvision.transforms.v2") -> Any:
    """A module of torchvision, where that is installed; built for another torch, it lacks operators of its own."""
    try:
        with patch.object(operators, "register_fake", lambda *_, **__: lambda function: function):
            return import_module(name)
    except (ImportError, RuntimeError) as error:
        return pytest.skip(f"torchvision is not at hand: {error}")
