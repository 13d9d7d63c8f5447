"""What is said in several places is said once: versions of Python, systems, tools, and who runs what."""

import importlib.util
import itertools
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import augrecipes
from augrecipes.compat.guard import PROVEN

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SYSTEMS = {"ubuntu": "POSIX :: Linux", "macos": "MacOS", "windows": "Microsoft :: Windows"}


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def jobs() -> dict[str, Any]:
    return {name: job for file in WORKFLOWS for name, job in yaml.safe_load(file.read_text())["jobs"].items()}


def commands(job: dict[str, Any]) -> list[str]:
    return [line for step in job["steps"] for line in step.get("run", "").splitlines()]


def classifiers(kind: str) -> list[str]:
    listed = tomllib.loads(text("pyproject.toml"))["project"]["classifiers"]
    return [name.removeprefix(f"{kind} :: ") for name in listed if name.startswith(f"{kind} :: ")]


def pythons() -> list[str]:
    """The versions of Python that pyproject.toml lists."""
    return [name.rpartition(" ")[2] for name in classifiers("Programming Language") if "." in name]


def targets() -> set[str]:
    """What the Makefile can be asked for."""
    return set(re.findall(r"^([a-z]+):.*## ", text("Makefile"), re.MULTILINE))


def pins() -> dict[str, str]:
    lines = [line for line in text("constraints.txt").splitlines() if not line.startswith("#")]
    return dict(line.split("==") for line in lines)


def faults(project: str, makefile: str, readme: str, workflows: dict[str, Any]) -> list[str]:
    """Where the oldest Python is another than in the first place that says it."""
    listed = tomllib.loads(project)
    oldest = listed["project"]["requires-python"].removeprefix(">=")
    versions = [
        job["strategy"]["matrix"]["python"] for job in workflows.values() if "python" in str(job.get("strategy"))
    ]
    named = {
        "mypy": listed["tool"]["mypy"]["python_version"],
        "Makefile, told": re.search(r"needs Python ([\d.]+) or newer", makefile),
        "Makefile, asked": re.search(r"version_info < \((\d+), (\d+)\)", makefile),
        "README": re.search(r"Python ([\d.]+) or newer", readme),
        **{f"matrix {k}": min(found, key=lambda v: [*map(int, v.split("."))]) for k, found in enumerate(versions)},
    }
    said = {where: ".".join(what.groups()) if isinstance(what, re.Match) else what for where, what in named.items()}
    return [f"{where} says {what}, requires-python {oldest}" for where, what in said.items() if what != oldest]


def test_the_oldest_python_is_the_same_everywhere() -> None:
    assert faults(text("pyproject.toml"), text("Makefile"), text("README.md"), jobs()) == []


@pytest.mark.parametrize(
    ("file", "before"),
    [
        ("pyproject.toml", 'python_version = "'),
        ("pyproject.toml", 'requires-python = ">='),
        ("Makefile", "needs Python "),
        ("Makefile", "version_info < (3, "),
        ("README.md", "\nPython "),
    ],
)
def test_another_oldest_python_is_found(file: str, before: str) -> None:
    """Planted: a place that names the oldest Python names another one."""
    said = {name: text(name) for name in ("pyproject.toml", "Makefile", "README.md")}
    said[file] = re.sub(rf"({re.escape(before)}(3\.)?)\d+", r"\g<1>7", said[file])
    assert said[file] != text(file)
    assert faults(said["pyproject.toml"], said["Makefile"], said["README.md"], jobs())


def test_every_python_and_system_that_is_listed_is_tested() -> None:
    """And one that need not pass is not listed."""
    tests = jobs()["tests"]
    matrix = tests["strategy"]["matrix"]
    assert matrix["python"] == pythons()
    for job in ("package", "pythons"):
        assert jobs()[job]["strategy"]["matrix"]["python"] == pythons()
    (optional,) = re.findall(r"matrix\.os != '(\w+)-latest'", tests["continue-on-error"])
    assert classifiers("Operating System") == [SYSTEMS[optional]]
    assert {name.partition("-")[0] for name in matrix["os"]} == set(SYSTEMS)


def test_jobs_without_a_matrix_use_a_python_that_is_listed() -> None:
    """All but those that run nothing themselves."""
    for job in (job for job in jobs().values() if commands(job)):
        (setup,) = (step["with"] for step in job["steps"] if "setup-python" in step.get("uses", ""))
        assert setup["python-version"] in ("${{ matrix.python }}", *pythons())


def test_every_job_runs_what_there_is() -> None:
    """Targets of the Makefile, files of the tree, extras of the project: none that a job names is missing."""
    extras = tomllib.loads(text("pyproject.toml"))["project"]["optional-dependencies"]
    for line in itertools.chain.from_iterable(map(commands, jobs().values())):
        assert set(re.findall(r"\bmake ([a-z]+)", line)) <= targets()
        assert set(re.findall(r"\.\[(\w+)\]", line)) <= set(extras)
        for path in re.findall(r"(?:^| )((?:\.ci|tests)/\S+)", line):
            assert (ROOT / path).exists(), path


def test_the_contingency_is_tried_in_the_version_that_is_taken() -> None:
    (found,) = re.findall(r"nrtk-albumentations==(\S+)", "\n".join(commands(jobs()["contingency"])))
    assert found == PROVEN["nrtk-albumentations"]
    assert pins()["albumentations"] == PROVEN["albumentations"]


@pytest.mark.parametrize("variable", ["SLOW", "QUICK"])
def test_what_the_makefile_lists_is_there(variable: str) -> None:
    (names,) = re.findall(rf"^{variable}\s*= ((?:.*\\\n)*.*)", text("Makefile"), re.MULTILINE)
    assert len(found := names.replace("\\\n", " ").split()) > 3
    assert [name for name in found if not (ROOT / "tests" / name).exists()] == []


def without_tools(makefile: str) -> set[str]:
    """Targets that are set up without what tests and linters need."""
    rules = re.findall(r"^([a-z]+): (.*?)  ##", makefile, re.MULTILINE)
    return {target for target, needs in rules if "$(TOOLS)" not in needs}


def test_the_demo_is_set_up_without_what_tests_need() -> None:
    """And whatever else runs a tool of the extra `dev` has it."""
    makefile = text("Makefile")
    assert without_tools(makefile) == {"demo", "site"}
    assert without_tools(makefile.replace("lint: $(TOOLS)", "lint: $(READY)")) == {"demo", "site", "lint"}  # planted
    (alone,) = re.findall(r"^\$\(READY\): .*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert "[dev]" not in alone


def test_hooks_and_tests_use_the_same_linter() -> None:
    hooks = {
        hook["repo"].rpartition("/")[2]: hook["rev"]
        for hook in yaml.safe_load(text(".pre-commit-config.yaml"))["repos"]
    }
    assert hooks["ruff-pre-commit"] == "v" + pins()["ruff"]


def test_everything_that_is_developed_with_is_pinned() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["dev"], *extras["site"]]
    names = {re.match(r"[\w-]+", line)[0].lower() for line in needed}  # type: ignore[index]
    assert names - {name.lower() for name in pins()} == set()


def brought(names: set[str], pinned: dict[str, str]) -> set[str]:
    """What distributions bring along, and what those bring; of one that is here in another version, or not, nothing."""
    seen: set[str] = set()
    while names:
        name = names.pop()
        seen.add(name)
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        if found.version != pinned.get(name, found.version):
            continue
        needs = map(Requirement, found.requires or [])
        names |= {
            canonicalize_name(n.name) for n in needs if n.marker is None or n.marker.evaluate({"extra": ""})
        } - seen
    return seen


@pytest.mark.skipif(sys.platform != "linux" or sys.version_info[:2] != (3, 11), reason="pins are of Linux and 3.11")
def test_what_that_brings_along_is_pinned_too() -> None:
    """But for torch's, which are others for each of its builds."""
    pinned = {canonicalize_name(name): version for name, version in pins().items()}
    extras = tomllib.loads(text("pyproject.toml"))["project"]["optional-dependencies"]
    needed = {canonicalize_name(Requirement(line).name) for line in extras["dev"]}
    found = brought(needed, pinned)
    assert found - set(pinned) == set()
    del pinned["py-serializable"]  # planted
    assert found - set(pinned) == {"py-serializable"}


def test_what_is_cited_is_this() -> None:
    cited = yaml.safe_load(text("CITATION.cff"))
    project = tomllib.loads(text("pyproject.toml"))["project"]
    assert cited["version"] == project["version"] == augrecipes.__version__
    assert f"## [{augrecipes.__version__}]" in text("CHANGELOG.md")
    assert cited["repository-code"] == project["urls"]["Repository"]
    assert cited["license"] == project["license"]


@pytest.fixture
def torch_bound() -> ModuleType:
    spec = importlib.util.spec_from_file_location("torch_bound", ROOT / ".ci" / "torch_bound.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FILES = ("pyproject.toml", "constraints.txt", "augrecipes/compat/torch.py")


def test_the_bound_of_torch_is_raised_in_every_place(torch_bound: ModuleType) -> None:
    texts = {name: text(name) for name in FILES}
    assert torch_bound.raised(texts, pins()["torch"]) == {}
    made = torch_bound.raised(texts, "7.3.1")
    assert '<7.4"' in made["pyproject.toml"]
    assert "\ntorch==7.3.1\n" in made["constraints.txt"]
    assert ", (7, 3))\n" in made["augrecipes/compat/torch.py"]
    for name in FILES:  # and nothing else
        assert len(set(made[name].splitlines()) - set(texts[name].splitlines())) == 1
    assert torch_bound.raised(made, "7.3.9") == {}
    assert torch_bound.raised(made, "8.0.0") != {}


@pytest.mark.parametrize("name", FILES)
def test_a_bound_that_is_written_otherwise_is_an_error(name: str, torch_bound: ModuleType) -> None:
    texts = {file: "" if file == name else text(file) for file in FILES}
    with pytest.raises(ValueError, match=re.escape(name)):
        torch_bound.raised(texts, "7.3.1")
