"""Tests leave the cache folder of whoever runs them alone, and none fails for taking long."""

import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from programs import HEAVY, Programs
from support.other_processors import skip_what_python_does

_kept: list[str] = []
# Slides are tested where there are libraries that read and write them.
collect_ignore_glob = [] if find_spec("openslide") and find_spec("tifffile") else ["slides/test_*.py"]

# The same examples everywhere, so that what passes here passes elsewhere; a soak looks for new ones.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=list(HealthCheck), max_examples=25, derandomize=True
)
settings.register_profile("soak", settings.get_profile("any machine"), max_examples=10_000, derandomize=False)
settings.load_profile("any machine")

# Where these are set pytest writes out whole differences: of the images that planted faults make, for many minutes.
for _name in ("CI", "BUILD_NUMBER"):
    os.environ.pop(_name, None)


def pytest_configure(config: pytest.Config) -> None:
    _kept.append(tempfile.mkdtemp(prefix="augrecipes-cache-"))
    os.environ["AUGRECIPES_CACHE"] = _kept[-1]
    # Workers of `forkserver` get all that they read as those of `spawn` do, without importing torch each.
    multiprocessing.set_forkserver_preload([*HEAVY, "augrecipes.data.loader"])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip_what_python_does(items)


def pytest_unconfigure(config: pytest.Config) -> None:
    while _kept:
        shutil.rmtree(_kept.pop(), ignore_errors=True)


@pytest.fixture(autouse=True)
def _asked_anew() -> None:
    """What a test plants is not what the next one finds: whether native steps work alike is asked again."""
    if (probes := sys.modules.get("augrecipes.compiler.kernels.probes")) is not None:
        probes._KNOWN.clear()


@pytest.fixture(autouse=True)
def _what_is_lost_is_allowed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most tests of files look at pixels: deep ones are read by their upper bits, and of several frames the first."""
    if request.path.parent.name in ("images", "sources") or request.path.name == "test_damage.py":
        monkeypatch.setenv("AUGRECIPES_DEPTH", "8bit")
        monkeypatch.setenv("AUGRECIPES_FRAMES", "first")


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder behind `shop://`, which nobody has to wait for, and an empty cache."""
    from support import shop

    from augrecipes import cache, remote

    monkeypatch.setenv(cache.CACHE, str(tmp_path / "cache"))
    monkeypatch.setenv("SHOP", "")
    monkeypatch.setattr(remote, "PAUSE", 0.0)
    yield shop.opened(tmp_path)
    shop.Shop.fault = None


@pytest.fixture(scope="session")
def programs() -> Iterator[Programs]:
    """Runs a program as a process of its own: `programs("print(1)").stdout`."""
    made = Programs()
    yield made
    made.close()


@pytest.fixture(scope="session")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By kind the folder of its twelve samples, which nobody changes; stores are packed beside it."""
    from support.kinds import folders

    return folders(tmp_path_factory)
