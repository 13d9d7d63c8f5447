"""`augrecipes doctor`: what is broken or missing is named with its cost and its cure; nothing is raised."""

import json
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from augrecipes import doctor
from augrecipes.native import build, kernels

ROOT = Path(__file__).parents[2]
BUILT = kernels.where().exists()


class Told(NamedTuple):
    status: int
    text: str
    facts: dict[str, dict[str, str]]


@pytest.fixture
def examine(tmp_path, process, programs, monkeypatch):
    """Run the command in a process of its own, with files in front of all installed packages; `anew`: imported anew."""
    planted = tmp_path / "planted"
    planted.mkdir()

    def _examine(files: dict[str, str] | None = None, *, anew: bool = False, **environment: str) -> Told:
        for name, text in (files or {}).items():
            (planted / name).parent.mkdir(exist_ok=True)
            (planted / name).write_text(text)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        start = f"import sys; sys.path.insert(0, {str(planted)!r}); from augrecipes.cli import main; main(sys.argv[1:])"
        words = "doctor", "--json=doctor.json"
        if anew:
            shown = process("-c", start, *words)
        else:
            mine = f"import os; os.environ.clear(); os.environ.update({dict(os.environ)!r})"
            shown = programs(f"{mine}; {start}", *words, cwd=tmp_path)
        assert "Traceback" not in shown.stdout + shown.stderr
        facts = json.loads((tmp_path / "doctor.json").read_text())
        return Told(shown.returncode, shown.stdout, {fact["name"]: fact for fact in facts})

    return _examine


def distribution(name: str, version: str) -> dict[str, str]:
    folder = f"{name.replace('-', '_')}-{version}.dist-info"
    return {f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"}


def test_a_second_opencv_is_found(examine):
    told = examine(distribution("opencv-contrib-python", "4.1.0.25"))
    assert told.status == 1
    found = told.facts["OpenCV"]
    assert found["level"] == "broken"
    assert re.fullmatch(
        r"opencv-python-headless [\d.]+ and opencv-contrib-python 4\.1\.0\.25 are installed .*", found["state"]
    )
    assert found["cure"].splitlines() == [
        "pip uninstall --yes opencv-python-headless opencv-contrib-python",
        "pip install opencv-python-headless",
    ]
    assert all(f"\n    {line}\n" in told.text for line in found["cure"].splitlines())


@pytest.mark.parametrize(
    ("text", "said"), [(None, "not built"), ("of another system", "OSError: kernels.so: ")], ids=["none", "another's"]
)
def test_kernels_that_are_not_there_or_do_not_fit_are_found(examine, tmp_path, text, said):
    if text is not None:
        (tmp_path / "kernels.so").write_text(text)
    told = examine(AUGRECIPES_KERNELS=str(tmp_path / "kernels.so"))
    found = told.facts["kernels"]
    assert (told.status, found["level"]) == (1, "broken")
    assert found["state"].startswith(said)
    assert "python -m augrecipes.native.build" in found["cure"]
    assert told.facts["libjpeg"]["level"] == "missing"


def test_kernels_that_are_turned_off_are_no_fault(examine):
    told = examine(AUGRECIPES_NATIVE="0")
    assert told.facts["kernels"]["state"] == "turned off by AUGRECIPES_NATIVE=0"
    assert told.facts["kernels"]["level"] == "ok"


def test_a_cache_that_cannot_be_written_costs_time_alone(examine, tmp_path):
    (tmp_path / "file").touch()
    told = examine(AUGRECIPES_CACHE=str(tmp_path / "file" / "cache"))
    assert told.facts["cache"]["level"] == "missing"
    assert told.status == int(any(fact["level"] == "broken" for fact in told.facts.values()))
    assert "\nmissing: cache: what runs find out is found out again\n    export AUGRECIPES_CACHE=FOLDER\n" in told.text


@pytest.mark.parametrize("modules", ["numpy", "cv2 yaml", "torch albumentations rich"])
def test_libraries_that_are_broken_are_facts(examine, modules):
    """However much of the package needs them."""
    text = "raise ImportError('/home/ann/lib/libsome.so.1: cannot open shared object file')"
    told = examine({f"{module}.py": text for module in modules.split()}, anew=True)
    broken = {name: fact for name, fact in told.facts.items() if fact["level"] == "broken"}
    assert told.status == 1
    for module in modules.split():
        name = {"cv2": "OpenCV", "yaml": "PyYAML"}.get(module, module)
        assert broken[name]["state"] == "ImportError: libsome.so.1: cannot open shared object file"
    assert all(fact["cost"] and fact["cure"] for fact in broken.values())
    assert "/home" not in told.text


def test_an_extra_that_is_missing_says_what_it_is_for(examine, monkeypatch):
    monkeypatch.setattr(doctor, "version_of", {"starlette": "1.0"}.get)
    found = {fact.name: fact for fact in doctor.facts()}["studio"]
    assert (found.level, found.state) == ("missing", "starlette 1.0, uvicorn is not installed")
    assert (found.cost, found.cure) == ("no `augrecipes studio`", "pip install uvicorn")


def test_it_names_no_folder_and_nobody(examine, tmp_path):
    home = tmp_path / "home" / "Ann Example"
    (home / "built").mkdir(parents=True)
    (home / "built" / "kernels.so").write_text("of another system")
    secret = "https://ann:hush@host/wheels"
    told = examine(
        {"simplejpeg.py": f"raise ImportError({f'{home}/lib/turbo.so of {secret}'!r})"},
        HOME=str(home), USER="ann", AUGRECIPES_KERNELS=str(home / "built" / "kernels.so"),
        AUGRECIPES_CACHE=str(home / "cache"), OMP_NUM_THREADS="3",
    )  # fmt: skip
    assert "kernels.so" in told.text and "turbo.so" in told.text
    assert "OMP_NUM_THREADS=3" in told.facts["variables"]["state"]
    assert not re.search(r"Ann|Example|\bann\b|hush", told.text)
    assert str(tmp_path) not in told.text + json.dumps(told.facts)
    assert os.uname().nodename not in told.text


def test_all_is_well_where_all_is_there(examine):
    told = examine()
    lost = {name: fact for name, fact in told.facts.items() if fact["level"] != "ok"}
    assert (told.text.splitlines()[-2] == "nothing is missing") == (not lost)
    assert told.status == int(any(fact["level"] == "broken" for fact in lost.values()))
    assert not BUILT or told.facts["augrecipes"]["state"].startswith("augrecipes ")


def test_extras_are_those_of_the_project():
    """Their packages too; what only those who work on augrecipes install is left out."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    extras["isal"] = [line for line in project["dependencies"] if line.startswith("isal")][:1]
    for name, (packages, _) in doctor.EXTRAS.items():
        assert [re.match(r"[\w-]+", line)[0] for line in extras[name]] == packages.split()
    developers = {"dev", "browser", "coco", "peers", "wheels", "trainers", "notebooks", "site", "all"}
    assert set(extras) - developers == {*doctor.EXTRAS}


def test_the_command_that_builds_begins_anew_where_a_library_cannot_be_loaded(tmp_path, monkeypatch):
    """Its sources may be these very ones: as a wheel's of a newer system are."""
    library = tmp_path / "kernels.so"
    library.write_bytes(build.fingerprint().encode())
    there = []
    monkeypatch.setattr(build, "LIBRARY", library)
    monkeypatch.setattr(build, "codec_library", lambda kernels=library: tmp_path / "kernels-jpeg.so")
    monkeypatch.setattr(build, "update", lambda *_: there.append(library.exists()) or [])
    monkeypatch.setattr(sys, "argv", ["build.py"])
    build.main()
    assert there == [False]


def test_bug_reports_ask_for_it():
    for form in ("bug", "slow"):
        assert "augrecipes doctor" in (ROOT / ".github" / "ISSUE_TEMPLATE" / f"{form}.yml").read_text(encoding="utf-8")
