"""No thread changes what belongs to the whole process: warnings, locale, OpenCV's settings, umask, signal handlers."""

import contextlib
import locale
import os
import random
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from support.checks import in_threads

import augrecipes as ar
from augrecipes.compat import guard as warned
from augrecipes.compiler.run.batch_threads import cv2_single_thread
from augrecipes.ops import registry
from augrecipes.recipe import gallery
from augrecipes.recipe.model import Arguments, Step
from augrecipes.recipe.parse import parse_text

# Two of these warn whenever they are constructed, and one when its argument is altered.
RECIPE = """
version: 1
recipe: warns
steps:
  - ShiftScaleRotate
  - TimeReverse
  - PiecewiseAffine: {p: 0.1}
  - Resize: {height: 16, width: 16}
eval: []
"""
SETTERS: dict[Any, str] = {
    warnings: "filterwarnings simplefilter resetwarnings",
    warnings.catch_warnings: "__enter__ __exit__",
    locale: "setlocale",
    signal: "signal setitimer",
    os: "umask chdir putenv unsetenv",
    cv2: "setNumThreads setUseOptimized setRNGSeed",
    random: "seed",
    np.random: "seed",
}


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What threads other than pytest's own have set, as it happens: no luck of timing decides."""
    main, found = threading.get_ident(), []

    def spy(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **keywords: Any) -> Any:
            if threading.get_ident() != main:
                found.append(name)
            return real(*args, **keywords)

        return call

    for owner, names in SETTERS.items():
        for name in names.split():
            monkeypatch.setattr(owner, name, spy(f"{owner.__name__}.{name}", getattr(owner, name)))
    return found


def state() -> SimpleNamespace:
    """What a program sees of the process."""
    status = Path("/proc/self/status")
    text = status.read_text() if status.exists() else ""
    return SimpleNamespace(
        filters=(id(warnings.filters), list(warnings.filters)),
        shown=(warnings.showwarning, vars(warnings)["_showwarnmsg_impl"]),
        locale=locale.setlocale(locale.LC_ALL),
        opencv=(cv2.getNumThreads(), cv2.useOptimized()),
        umask=[line for line in text.splitlines() if line.startswith("Umask")],
        handlers=[signal.getsignal(number) for number in sorted(signal.valid_signals())],
        folder=Path.cwd(),
        environment=dict(os.environ),
        random=random.getstate(),
    )


def compile_everything(_: int) -> None:
    for name in gallery.gallery_names():
        for optimize in ("none", "fast"):
            ar.load(name).compile(optimize=optimize)
    parse_text(RECIPE).compile()
    with pytest.raises(ar.RecipeError, match="odd"):  # what albumentations only warns of is an error all the same
        registry.construct(Step("Blur", Arguments({"blur_limit": 4})))


def run_pipelines(_: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (300, 300, 3), dtype=np.uint8)
    shared = PIPELINES["stained-tissue-bag"]
    shared.bag(0, 0, range(6), lambda k: image, threads=2)
    PIPELINES["stained-tissue"].at(0)(image=image)


PIPELINES: dict[str, Any] = {}


@pytest.mark.parametrize("work", [compile_everything, run_pipelines])
def test_what_threads_do_changes_nothing(changes: list[str], work: Callable[[int], object]) -> None:
    for name in ("stained-tissue-bag", "stained-tissue"):
        PIPELINES[name] = ar.load(name).compile()
    before = state()
    with cv2_single_thread:  # as a loader holds it for its threads
        in_threads(work, 4)
    assert state() == before
    assert changes == []


def test_threads_that_load_change_nothing(changes: list[str], tmp_path: Path) -> None:
    for k in range(8):
        cv2.imwrite(str(tmp_path / f"{k}.png"), np.full((24, 24, 3), k, np.uint8))
    before = state()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset = ar.ImageFolder(tmp_path, parse_text(RECIPE))
        for _ in ar.loader(dataset, batch_size=2, backend="threads", num_workers=3):
            pass
    assert state() == before
    assert changes == []


def test_opencv_has_its_threads_again_when_the_last_bag_is_done() -> None:
    """Bags in threads of the user's own, none of which may find and keep another's setting."""
    for name in ("stained-tissue-bag", "stained-tissue"):
        PIPELINES[name] = ar.load(name).compile()
    before = cv2.getNumThreads()
    cv2.setNumThreads(2)
    try:
        for _ in range(5):
            in_threads(run_pipelines, 3)
            assert cv2.getNumThreads() == 2
    finally:
        cv2.setNumThreads(before)


def test_the_users_own_constructions_are_warned_as_ever() -> None:
    import albumentations as A

    parse_text(RECIPE).compile()
    with pytest.warns(UserWarning, match="special case") as heard:
        A.ShiftScaleRotate()
    assert len(heard) == 1


def test_pythons_own_recorder_of_warnings_is_for_commands_alone() -> None:
    """It changes the whole process; the commands that use it have no threads that warn."""
    package = Path(ar.__file__).parent
    users = [file for file in package.rglob("*.py") if "warnings.catch_warnings()" in file.read_text(encoding="utf-8")]
    assert {file.relative_to(package).parts[0] for file in users} <= {"bench", "doctor.py"}


def test_a_planted_fault_is_found(changes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The way that it was: Python's own recorder, inside the threads that build."""

    @contextlib.contextmanager
    def recorder() -> Iterator[list[str]]:
        with warned_lock, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            texts: list[str] = []
            yield texts
            texts += [str(warning.message) for warning in caught]

    warned_lock = threading.Lock()  # the fault, without the damage that it would do to the other tests
    monkeypatch.setattr(registry, "collected", recorder)
    assert warned.collected is not recorder
    in_threads(lambda _: registry.construct(Step("HorizontalFlip")), 4)
    assert "catch_warnings.__enter__" in changes
    assert "warnings.simplefilter" in changes
