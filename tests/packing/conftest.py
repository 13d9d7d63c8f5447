"""The files and stores that the tests of datasets use."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "data"))

from packed_kinds import folders


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each kind's files."""
    return folders(tmp_path_factory)
