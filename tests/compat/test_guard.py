"""albumentations comes in by one door: the proven version, its stand-in; processors' boxes bit for bit."""

import os
import pkgutil
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import EACH_SET, KERNEL_SETS, Spoilt, spoil_first
from programs import Programs

import augrecipes
from augrecipes.compat.albumentations import A, BboxProcessor
from augrecipes.compat.boxes import BoxKernels, Settled, quicken
from augrecipes.compat.guard import PROVEN, refuse_others
from augrecipes.compat.torch import PROVEN as OF_TORCH
from augrecipes.compat.torch import end_feeders, proven
from augrecipes.errors import AugrecipesError
from augrecipes.native.kernels import Library, using

ROOT = Path(__file__).parents[2]
# Every module, and the public names, in a process where importing albumentations would be seen.
EVERY_MODULE = f"""
import importlib, sys
from augrecipes.errors import AugrecipesError
refused = 0
for name in {sorted(m.name for m in pkgutil.walk_packages(augrecipes.__path__, "augrecipes."))!r}:
    try:
        if not name.endswith("__main__"):
            importlib.import_module(name)
    except AugrecipesError as error:
        assert "pip uninstall albumentationsx" in str(error), error
        refused += 1
assert "albumentations" not in sys.modules
assert refused > 10, refused
"""
USES = [
    "ar.Pipeline",
    "ar.load('folder-128').compile()",
    "ar.register(type('Own', (), {}))",
    "import augrecipes.bench.sides",
]
# A machine on which the fork is installed instead.
STAND_IN = """
import importlib.metadata as metadata
real = metadata.version
def version(name):
    if name == "albumentations":
        raise metadata.PackageNotFoundError(name)
    return "2.3.0" if name == "nrtk-albumentations" else real(name)
metadata.version = version
import augrecipes as ar
ar.load("folder-128").compile()
from augrecipes.versions import differences, made_with
print(made_with()["albumentations"], differences({"albumentations": "2.0.8"}), sep=";")
"""


def python(code: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder or ROOT), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=300)


@pytest.fixture
def with_x(tmp_path: Path) -> Path:
    """A folder of packages in which AlbumentationsX is installed, as pip would do it."""
    about = tmp_path / "albumentationsx-2.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: albumentationsx\nVersion: 2.1.0\n")
    (tmp_path / "albumentations").mkdir()
    (tmp_path / "albumentations" / "__init__.py").write_text("raise SystemExit('the wrong one was imported')\n")
    return tmp_path


@pytest.mark.soak
def test_no_module_imports_albumentationsx(with_x: Path) -> None:
    done = python(EVERY_MODULE, with_x)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("use", USES)
def test_each_use_of_albumentationsx_is_refused_with_the_cure(with_x: Path, use: str) -> None:
    done = python(f"import augrecipes as ar\n{use}", with_x)
    assert "AlbumentationsX 2.1.0 is installed" in done.stderr
    assert "pip uninstall albumentationsx; pip install albumentations==2.0.8" in done.stderr


def test_a_plain_import_would_be_caught(with_x: Path) -> None:
    assert "the wrong one was imported" in python("import albumentations", with_x).stderr


def test_the_fork_stands_in_and_records_name_it() -> None:
    done = python(STAND_IN)
    assert done.returncode == 0, done.stderr
    made, told = done.stdout.strip().split(";")
    assert made == "nrtk-albumentations 2.3.0"
    assert told == "['albumentations 2.0.8 (here nrtk-albumentations 2.3.0)']"


@pytest.mark.parametrize("name", PROVEN)
def test_only_the_proven_version_of_each(name: str) -> None:
    refuse_others({name: PROVEN[name]}, None)
    with pytest.raises(AugrecipesError, match=f"pip install {name}=={PROVEN[name]}"):
        refuse_others({name: "1.0.0"}, None)


def test_both_at_once_and_none_are_refused() -> None:
    with pytest.raises(AugrecipesError, match="pip uninstall albumentations nrtk-albumentations"):
        refuse_others(dict(PROVEN), None)
    with pytest.raises(AugrecipesError, match=r"not installed.*pip install albumentations==2\.0\.8"):
        refuse_others({}, None)


ROOT = Path(__file__).parents[2]


def test_what_is_installed_may_be_what_is_proven() -> None:
    pinned = re.search(r'"torch>=([\d.]+),<([\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (first, (major, minor)) = OF_TORCH
    assert pinned.groups() == (f"{first[0]}.{first[1]}", f"{major}.{minor + 1}")
    assert proven(pinned[1])
    assert not proven(pinned[2])


@pytest.mark.soak
def test_another_version_warns_once(programs: Programs) -> None:
    done = programs("import torch; torch.__version__ = '9.1.0'\nimport augrecipes as ar; ar.ImageFolder; ar.loader")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("UnprovenWarning: torch 9.1.0 is installed") == 1


@pytest.mark.parametrize(
    "lost",
    [
        "from torch.utils.data._utils import fetch; del fetch._MapDatasetFetcher",
        "from torch.utils.data._utils.fetch import _IterableDatasetFetcher; del _IterableDatasetFetcher.fetch",
        "from torch.utils.data._utils import pin_memory; del pin_memory.pin_memory",
    ],
)
def test_what_is_gone_is_named(programs: Programs, lost: str) -> None:
    done = programs(f"import torch.utils.data, torch.autograd\n{lost}\nimport augrecipes as ar; ar.ImageFolder")
    assert "augrecipes.errors.AugrecipesError: torch" in done.stderr, done.stderr
    assert "pip install 'torch>=" in done.stderr


@pytest.mark.parametrize("sends", [False, True])
def test_a_worker_whose_batch_is_still_being_sent_ends_without_unwinding(
    monkeypatch: pytest.MonkeyPatch, sends: bool
) -> None:
    over, ended = threading.Event(), []
    monkeypatch.setattr(os, "_exit", ended.append)
    thread = threading.Thread(target=over.wait, name="QueueFeederThread", daemon=True)
    thread.start()
    if not sends:
        over.set()
    end_feeders()
    assert ended == ([0] if sends else [])
    over.set()
    thread.join()


PLACES = st.one_of(
    st.floats(-0.25, 1.25, width=32),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, 1e-9, -1e-9, 1 + 2**-20, 1 / 3, float("nan")]),
)
BOXES = st.lists(st.tuples(PLACES, PLACES, PLACES, PLACES, st.integers(0, 5)), max_size=6)
SIDES = st.integers(1, 2000)
PARAMS = st.fixed_dictionaries(
    {
        "min_area": st.sampled_from([0.0, 4.0, 1000.0]),
        "min_visibility": st.sampled_from([0.0, 0.3, 1.0]),
        "min_width": st.sampled_from([0.0, 1.0, 20.0]),
        "min_height": st.sampled_from([0.0, 1.0, 20.0]),
        "max_accept_ratio": st.sampled_from([None, None, 3.0]),
    }
)


def processors(**params: Any) -> tuple[Any, Any]:
    """Albumentations' own, and one in less time."""
    plain, ours = (BboxProcessor(A.BboxParams(label_fields=["kind", "rows"], **params)) for _ in range(2))
    quicken(ours, "rows")
    return plain, ours


def same(found: np.ndarray, expected: np.ndarray) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()


def check_filter(boxes: list[Any], dtype: str, columns: int, sizes: list[tuple[int, int]], params: Any) -> None:
    """Filters the boxes again and again, as after every step of a recipe."""
    plain, ours = processors(format="albumentations", **params)
    found = expected = np.array(boxes, dtype).reshape(-1, 5)[:, :columns]
    for height, width in sizes:
        shape = {"height": height, "width": width}
        before = found.copy()
        with np.errstate(all="ignore"):
            filtered, expected = ours.filter(found, shape), plain.filter(expected.copy(), shape)
        same(found, before)
        same(filtered, expected)
        found = filtered


DTYPES = st.sampled_from(["float32", "float64", "float16"])
COLUMNS = st.sampled_from([4, 5])


@pytest.mark.parametrize("kernels", KERNEL_SETS, ids=lambda kernels: kernels and kernels.isa)
@given(
    boxes=BOXES,
    dtype=DTYPES,
    columns=COLUMNS,
    sizes=st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=3).flatmap(
        lambda sizes: st.lists(st.sampled_from(sizes), min_size=1, max_size=5)
    ),
    params=PARAMS,
)
def test_boxes_are_filtered_bit_for_bit(
    kernels: Library | None, boxes: list[Any], dtype: str, columns: int, sizes: list[tuple[int, int]], params: Any
) -> None:
    with using(kernels):
        check_filter(boxes, dtype, columns, sizes, params)


LAX = {"min_area": 0.0, "min_visibility": 0.0, "min_width": 0.0, "min_height": 0.0, "max_accept_ratio": None}


@EACH_SET
def test_a_box_that_a_kernel_cuts_otherwise_is_noticed(kernels: Library) -> None:
    spoilt: Any = Spoilt(kernels, 0, spoil_first, "boxes")
    with using(spoilt), pytest.raises(AssertionError):
        check_filter([(0.1, 0.1, 0.5, 0.5, 0)], "float64", 5, [(200, 200)], LAX)


def check_check(boxes: list[Any], dtype: str, columns: int) -> None:
    """Errors of boxes that are none."""
    said = []
    for processor in processors(format="albumentations"):
        with np.errstate(all="ignore"):
            try:
                processor.check(np.array(boxes, dtype).reshape(-1, 5)[:, :columns], {})
            except ValueError as error:
                said.append(str(error))
            else:
                said.append("")
    assert said[0] == said[1]


@EACH_SET
@given(boxes=BOXES, dtype=DTYPES, columns=COLUMNS)
def test_boxes_are_refused_as_albumentations_refuses_them(
    kernels: Library, boxes: list[Any], dtype: str, columns: int
) -> None:
    with using(kernels):
        check_check(boxes, dtype, columns)


def test_a_box_that_is_none_and_goes_through_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    case = [(0.5, 0.1, 0.25, 0.5, 0)], "float64", 5
    check_check(*case)
    monkeypatch.setattr(BoxKernels, "check", lambda self, data, shape: None)
    with pytest.raises(AssertionError):
        check_check(*case)


def careless(self: Settled, data: np.ndarray, shape: Any) -> np.ndarray:
    """Settled at another size, too."""
    if (data.tobytes(),) != self._known:
        data = self._own(data, shape)
        self._known = (data.tobytes(),)
    return data


def test_a_box_taken_for_settled_at_another_size_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    case = [(0.1, 0.1, 0.5, 0.5, 0)], "float32", 5, [(200, 200), (200, 200), (9, 9)], {**LAX, "min_area": 1000.0}
    check_filter(*case)
    monkeypatch.setattr(Settled, "filter", careless)
    with pytest.raises(AssertionError):
        check_filter(*case)


LABELS = st.sampled_from([[3, 1, 2], [1.5, 2.0, 0.1], ["a", "b", "a"], [True, False, True], [0, 0, 0], [2**53, 1, 2]])


@given(labels=LABELS, kept=st.sets(st.integers(0, 2)), form=st.sampled_from(["pascal_voc", "coco", "yolo"]))
def test_labels_travel_as_albumentations_lets_them(labels: list[Any], kept: set[int], form: str) -> None:
    boxes = np.array([[0.4, 0.4, 0.5, 0.6], [0.4, 0.5, 0.7, 0.7], [0.5, 0.5, 0.6, 0.8]], np.float32)
    boxes = boxes if form == "yolo" else boxes * np.float32(100)
    seen = []
    for processor in processors(format=form):
        image = np.zeros((200, 300, 3), np.uint8)
        data: dict[str, Any] = {"image": image, "bboxes": boxes.copy(), "kind": labels, "rows": [0, 1, 2]}
        processor.preprocess(data)
        middle = data["bboxes"]
        kind = processor.label_manager.metadata["bboxes"]["kind"]
        classes = kind.encoder and kind.encoder.classes_
        data["bboxes"] = middle[sorted(kept)]
        processor.postprocess(data)
        seen.append((middle, classes, kind.is_numerical, data["bboxes"], [int(row) for row in data["rows"]]))
    (middle, *first, last, rows), (middle2, *first2, last2, rows2) = seen
    same(middle2, middle)
    same(last2, last)
    assert (first2, rows2) == (first, rows)
