"""Commands, as they are typed."""

from typing import Any

import pytest

from augrecipes.cli import main


def status(*words: str) -> Any:
    """Runs a command in this process; its exit status."""
    with pytest.raises(SystemExit) as ended:
        main([*words])
    return ended.value.code or 0
