"""Images, masks, boxes and keypoints that recipes are verified on."""

from __future__ import annotations

from pathlib import Path

import pytest
from planted import draw_data


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_data(tmp_path_factory.mktemp("verify"))
