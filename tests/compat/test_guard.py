"""albumentations comes in by one door: the proven version, and its stand-in."""

import os
import pkgutil
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from programs import Programs

import augrecipes
from augrecipes.compat.guard import PROVEN, refuse_others
from augrecipes.compat.torch import PROVEN as OF_TORCH
from augrecipes.compat.torch import end_feeders, proven
from augrecipes.errors import AugrecipesError

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
# Prints what each is refused with; none may have imported what a later one needs.
EACH_USE = f"""
import augrecipes as ar
from augrecipes.errors import AugrecipesError
for use in {USES!r}:
    try:
        exec(use)
    except AugrecipesError as error:
        print(" ".join(str(error).split()))
"""
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
from augrecipes.versions import differences, environment
print(environment()["albumentations"], differences({"albumentations": "2.0.8"}), sep=";")
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


def test_each_use_of_albumentationsx_is_refused_with_the_cure(with_x: Path) -> None:
    done = python(EACH_USE, with_x)
    assert done.returncode == 0, done.stderr
    for told in (lines := done.stdout.splitlines()):
        assert "AlbumentationsX 2.1.0 is installed" in told
        assert "pip uninstall albumentationsx; pip install albumentations==2.0.8" in told
    assert len(lines) == len(USES)


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
