"""A sample that a step fails on names its file; an error that names one already keeps it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import augrecipes as ar
from augrecipes.sources.sample import Sample

CROP = ar.load("version: 1\nrecipe: crops\nsteps: [RandomCrop: {height: 32, width: 32}]\n").compile()


class Named:
    """A pipeline whose error names a file of its own."""

    def at(self, *key: int) -> Any:
        def fail(**targets: Any) -> None:
            raise ar.DataError("torn", "mask.png")

        return fail


def path_of_failure(pipeline: Any, path: str, side: int, epoch: int) -> str | None:
    with pytest.raises(ar.DataError) as caught:
        Sample(0, 0, path, {"image": np.zeros((side, side, 3), np.uint8)}).run(pipeline, epoch)
    return caught.value.path


@given(path=st.text(min_size=1), side=st.integers(1, 31), epoch=st.integers(0, 9))
def test_the_file_is_named(path: str, side: int, epoch: int) -> None:
    assert path_of_failure(CROP, path, side, epoch) == path
    assert path_of_failure(Named(), path, side, epoch) == "mask.png"


@pytest.mark.parametrize("fault", [lambda error, path: error, lambda error, path: ar.DataError(error.reason, "other")])
def test_planted_errors_without_their_file_are_noticed(fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ar.DataError, "with_path", fault)
    with pytest.raises(AssertionError):
        assert path_of_failure(CROP, "a.png", 8, 0) == "a.png"
