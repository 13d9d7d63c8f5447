"""The table of ARCHITECTURE follows the default loader: each function that it names is called, in this order."""

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import cv2
import numpy as np
import pytest
from kernel_sets import NEEDS_KERNELS

import augrecipes as ar
from augrecipes.recipe.parse import parse_text

ROOT = Path(__file__).parents[2]
PACKAGE = str(ROOT / "augrecipes") + "/"
ROW = re.compile(r"^\| \d+ \| `([\w.]+)` in `([\w/.]+)` \|", re.MULTILINE)
STEPS = "[HorizontalFlip, RandomResizedCrop: {size: [32, 32], p: 1.0}, ElasticTransform: {p: 0.5}, ColorJitter]"
MOST_UP = 3
Function = tuple[str, str]  # its file and name


def table() -> list[Function]:
    section = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## One sample", 1)[1]
    return [(file, name) for name, file in ROW.findall(section.split("\n## ", 1)[0])]


class Calls:
    """The functions of the package that are called, in the order of their first calls.

    Attributes:
        above: of each, those that were under way in its thread.
    """

    def __init__(self) -> None:
        self.above: dict[Function, set[Function]] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and (here := function_of(frame)) and here not in self.above:
            outer, above = frame.f_back, set[Function]()
            while outer is not None:
                above.add(function_of(outer) or ("", ""))
                outer = outer.f_back
            self.above.setdefault(here, above)


def function_of(frame: FrameType) -> Function | None:
    code = frame.f_code
    return (code.co_filename.removeprefix(PACKAGE), code.co_qualname) if code.co_filename.startswith(PACKAGE) else None


@contextmanager
def recorded() -> Iterator[Calls]:
    calls, before = Calls(), sys.getprofile()
    threading.setprofile(calls)
    sys.setprofile(calls)
    try:
        yield calls
    finally:
        sys.setprofile(before)
        threading.setprofile(None)  # type: ignore[arg-type]  # as before


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Calls:
    root = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(0)
    for k in range(8):
        cv2.imwrite(str(root / f"{k}.jpg"), cv2.GaussianBlur(rng.integers(0, 256, (90, 120, 3), np.uint8), (9, 9), 3))
    recipe = parse_text(f"{{version: 1, recipe: way, steps: {STEPS}, eval: []}}")
    loader = ar.loader(ar.ImageFolder(root, recipe), 8)
    for _ in loader:  # programs are made
        pass
    with recorded() as found:
        next(iter(loader))
    return found


@NEEDS_KERNELS
def test_each_function_is_called_in_this_order(calls: Calls) -> None:
    named = table()
    assert len(named) >= 10
    assert [function for function in calls.above if function in named] == named


@NEEDS_KERNELS
def test_a_reader_goes_up_again_at_most_three_times(calls: Calls) -> None:
    pairs = pairwise(table())
    assert len([later for earlier, later in pairs if earlier not in calls.above[later]]) <= MOST_UP


@NEEDS_KERNELS
def test_a_table_in_another_order_is_noticed(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table()
    monkeypatch.setattr(sys.modules[__name__], "table", lambda: [*rows[1:], rows[0]])
    with pytest.raises(AssertionError):
        test_each_function_is_called_in_this_order(calls)
