"""The files and stores that the tests of datasets use."""

from pathlib import Path

import pytest
from support.kinds import folders


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each kind's files."""
    return folders(tmp_path_factory)
