"""Shared settings and fixtures: tests use a cache folder of their own, and have no deadlines."""

import gc
import multiprocessing
import os
import platform
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from programs import HEAVY, Programs

_kept: list[str] = []
# Tests of slides need the libraries that read and write them.
collect_ignore_glob = [] if find_spec("openslide") and find_spec("tifffile") else ["slides/test_*.py"]

# The same examples everywhere, so that what passes here passes elsewhere; a soak looks for new ones.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=list(HealthCheck), max_examples=10, derandomize=True
)
settings.register_profile("soak", settings.get_profile("any machine"), max_examples=10_000, derandomize=False)
settings.load_profile("any machine")

# The scripts of benchmarks/ import one another by name, as they do when they are run.
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

# With these set pytest prints whole differences, which takes minutes for the images of planted faults.
for _name in ("CI", "BUILD_NUMBER"):
    os.environ.pop(_name, None)


# Tests run in parallel, so thread pools in each would only compete; subprocesses inherit the single thread.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENCV_FOR_THREADS_NUM": "1"}

# Trees, nodes and tests are many long-lived objects, which the collector would otherwise walk again and again.
gc.set_threshold(20_000, 20, 100)


def pytest_configure(config: pytest.Config) -> None:
    _kept.append(tempfile.mkdtemp(prefix="augrecipes-cache-"))
    os.environ["AUGRECIPES_CACHE"] = _kept[-1]
    # Workers of `forkserver` then share one import of torch, and still read their data as those of `spawn` do.
    multiprocessing.set_forkserver_preload([*HEAVY, "augrecipes.data.loader"])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip_what_python_does(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()  # the collected tests live until the end


def pytest_unconfigure(config: pytest.Config) -> None:
    while _kept:
        shutil.rmtree(_kept.pop(), ignore_errors=True)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print each reason for skipped tests once with its count, the commonest first."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count:5} skipped: {reason.partition(chr(10))[0]:.110}")
    if left := len(terminalreporter.stats.get("deselected", [])):
        terminalreporter.write_line(f"{left:5} left out: long ones, which `make soak` and `make mutants` run")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Forget the probes of native steps, whose answers a planted fault may have changed.

    Tests of files may read lossily: the upper 8 bits of deep images, the first of several frames.
    """
    if (probes := sys.modules.get("augrecipes.compiler.kernels.fast_apply")) is not None:
        probes._ANSWERS.clear()
    with pytest.MonkeyPatch.context() as patch:
        if item.path.parent.name in ("images", "sources") or item.path.name == "test_damage.py":
            patch.setenv("AUGRECIPES_DEPTH", "8bit")
            patch.setenv("AUGRECIPES_FRAMES", "first")
        return (yield)


@pytest.fixture
def own_classes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Unregister the classes that a test registers."""
    from augrecipes.ops import registry

    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    yield
    registry._live_schema.cache_clear()


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield the folder behind `shop://`, without pauses between retries, and set an empty cache."""
    from support import shop

    from augrecipes import cache, remote

    monkeypatch.setenv(cache.CACHE, str(tmp_path / "cache"))
    monkeypatch.setenv("SHOP", "")
    monkeypatch.setattr(remote, "PAUSE", 0.0)
    yield shop.opened(tmp_path)
    shop.Shop.fault = None


@pytest.fixture(scope="session")
def programs() -> Iterator[Programs]:
    """Yield a runner of programs in processes of their own: `programs("print(1)").stdout`."""
    made = Programs()
    yield made
    made.close()


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Draw the images, masks, boxes and keypoints of the tests of `verify`."""
    from planted import draw_data

    return draw_data(tmp_path_factory.mktemp("verify"))


@pytest.fixture(scope="session")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folder of twelve samples of each kind; tests may pack stores beside it but not change it."""
    from support.kinds import folders

    return folders(tmp_path_factory)


# Tests that compare kernels with OpenCV 5's results on x86, bit by bit. If the bits of another release or processor
# differ (docs/OPTIMISER.md names where), plans leave that work to Python, and these tests have nothing to test: the
# kernels' own probes decide to skip them.
_X86 = frozenset({"x86_64", "amd64"})
RESIZES, WARPS = "resizes", "warps"
# By test file: prefixes of test names, and the bits that they need: of a class, of resizes or of warps.
NEEDS: Mapping[str, Mapping[str, str]] = {
    "test_batches.py": dict.fromkeys(
        (
            "test_a_fork_after_batches",
            "test_every_backend",
            "test_planted_faults_are_found[another's place]",
            "test_planted_faults_in_bags",
            "test_planted_faults_in_targets",
            "test_stores_and_folders[boxes",
        ),
        RESIZES,
    ),
    "test_alignment.py": {
        "test_planted_faults_are_found": RESIZES,
        "test_planted_faults_are_found[boxes that stay]": WARPS,
        "test_planted_faults_are_found[draws of another sample]": WARPS,
        "test_windows_about_boxes_are_made": WARPS,
        "test_windows_about_boxes_are_made_by_plans_and_of_boxes_alone[RandomSizedBBoxSafeCrop": RESIZES,
        "test_boxes_are_cut_off_by_the_size": WARPS,
    },
    "test_check_data.py": {"test_the_plan_says_by_what": WARPS},
    "test_coarse_fields.py": {"test_image_mask_and_kernels_agree": WARPS},
    "test_colours_behind_warps.py": {"test_planted_faults_are_caught": WARPS, "test_what_is_made_is": WARPS},
    "test_counted_work.py": {"test_a_batch_is_a_call_or_two[steps1-": WARPS, "test_nothing_large_is_allocated": WARPS},
    "test_deep_steps.py": {"test_a_fault_is_seen[channels": WARPS, "test_opencv_here_warps_a_channel": WARPS},
    "test_depth.py": dict.fromkeys(
        (f"test_each_step_does_what_it_does_to_floats[-{name}" for name in ("GridElasticDeform", "Perspective")), WARPS
    ),
    "test_fast.py": {"test_masks_that_are_blended": WARPS},
    "test_fast_apply.py": {"test_the_probe_sees": "CLAHE"},
    "test_native_merges.py": {
        "test_a_planted_fault": RESIZES,
        "test_plans_make_them": RESIZES,
        "test_what_is_brought_near": WARPS,
        "test_files_are_read_as_far_as_they_are_needed": RESIZES,
    },
    "test_laws_of_datasets.py": {"test_the_law_sees_an_argument_that_is_forgotten[optimize]": WARPS},
    "test_mask_labels.py": {"test_values_are_labels_made_beforehand[bool-fast]": WARPS},
    "test_merges.py": dict.fromkeys(
        (
            "test_levels_are_those_of_the_step",
            "test_what_reacts_sees_nearly",
            "test_without_the_barrier_the_law_fails[join_warps-names2]",
            "test_a_part_of_a_resize_has_its_bits",
            "test_planted_faults_are_found[a border of one channel",
            "test_planted_faults_are_found[a lens that bends more",
        ),
        WARPS,
    ),
    "test_native_pairs.py": {"test_samples_go_through_degrade_natively": WARPS},
    "test_native_plan.py": {"test_other_draws": RESIZES, "test_planted_faults_are_found[masks of int16": WARPS},
    "test_native_points.py": dict.fromkeys(
        (
            f"test_a_class_with_other_bits_has_its_work_left[{name}]"
            for name in ("Affine", "GridDistortion", "OpticalDistortion", "Perspective", "Rotate")
        ),
        WARPS,
    )
    | {
        f"{test}[{name}]": name
        for test in ("test_plans_make_them", "test_planted_faults_are_found", "test_a_class_with_other_bits")
        for name in ("CLAHE", "ColorJitter", "Emboss", "HueSaturationValue", "Sharpen")
    },
    "test_hard_images.py": {"test_the_probe_sees": WARPS, "test_grids_of_many_parts_are_made": WARPS},
    "test_sample_alone.py": {
        "test_planted_faults_are_caught[masks keep": WARPS,
        "test_planted_faults_are_caught[boxes keep": WARPS,
    },
    "test_tta.py": {"test_warps_come_back_within_a_fiftieth": WARPS},
}


def skip_what_python_does(items: Iterable[pytest.Item], machine: str = "") -> None:
    """Mark the tests to skip; with OpenCV 5 on x86 none is, and nothing is probed.

    Args:
        items: the collected tests.
        machine: the processor; empty: this one.
    """
    import cv2  # reads variables of the environment, which tests set first

    if (machine or platform.machine()).lower() in _X86 and cv2.__version__ >= "5":
        return
    for item in items:
        for begins, what in NEEDS.get(item.path.name, {}).items():
            if item.name.startswith(begins) and not has_bits(what):
                item.add_marker(
                    pytest.mark.skip(reason=f"OpenCV has other bits here ({what}), and Python does the work")
                )


@cache
def has_bits(what: str) -> bool:
    """Whether kernels do this work here, with the bits of the installed OpenCV."""
    # Imported late: tests set up the environment that these modules read, and x86 needs none of them.
    from augrecipes.compiler.kernels import opencv_bits
    from augrecipes.native.kernels import library
    from augrecipes.ops.constants import LINEAR
    from augrecipes.recipe.parse import parse_text

    kernels, warps = library(), opencv_bits.native_warp()
    if what == RESIZES:
        return kernels is not None and opencv_bits.resizes_as_opencv(kernels, "resize")
    if what == WARPS:
        return warps is not None and warps.body("affine", LINEAR) > 0
    text = f"version: 1\nrecipe: test\nsteps: [{what}: {{p: 1}}]\neval: []\n"
    native: Any = parse_text(text).compile(optimize="exact").native
    return not isinstance(native, str) and not native.opaque
