"""The workflows, run by hand: which steps of a job run here, with which values of its matrix, and how they end."""

import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# All that these do is done by actions.
ACTIONS_ALONE = {"pages"}


@pytest.fixture
def workflows() -> ModuleType:
    spec = importlib.util.spec_from_file_location("workflows", ROOT / ".ci" / "workflows.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_job_that_is_listed_has_something_to_run(workflows: ModuleType) -> None:
    listed = workflows.jobs()
    written = [name for file in FILES for name in yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"]]
    assert sorted(listed) == sorted(written)
    idle = {name for name, job in listed.items() if not workflows.commands(job, workflows.matrix(job, {}))}
    assert idle == ACTIONS_ALONE


def test_an_action_is_of_one_release_everywhere() -> None:
    used = {name for file in FILES for name in re.findall(r"uses: (\S+)", file.read_text(encoding="utf-8"))}
    assert len({name.partition("@")[0] for name in used}) == len(used) > 4


def test_nothing_of_a_matrix_is_left_in_what_runs(workflows: ModuleType) -> None:
    for job in workflows.jobs().values():
        for script, asked in workflows.commands(job, workflows.matrix(job, {}), system=True):
            assert "${{" not in "\n".join([script, *asked.values()]).replace("${{ github.token }}", "")


def test_values_of_the_matrix_are_chosen(workflows: ModuleType) -> None:
    wheel = workflows.jobs()["wheel"]
    assert workflows.matrix(wheel, {}) == {"os": "ubuntu-24.04"}
    mac = workflows.matrix(wheel, {"os": "macos-15"})
    assert mac == {"os": "macos-15", "platform": "macosx-11.0-arm64"}
    scripts = [script for script, _ in workflows.commands(wheel, mac)]
    assert 'echo "_PYTHON_HOST_PLATFORM=macosx-11.0-arm64" >> "$GITHUB_ENV"' in scripts
    assert scripts != [script for script, _ in workflows.commands(wheel, {"os": "ubuntu-24.04"})]


@pytest.mark.parametrize(
    ("step", "system", "said"),
    [
        ({"uses": "actions/checkout@v6"}, True, "an action"),
        ({"run": "sudo apt-get install nasm"}, False, "--system runs it"),
        ({"run": "sudo apt-get install nasm"}, True, ""),
        ({"run": "make", "if": "matrix.os == 'linux'"}, False, ""),
        ({"run": "make", "if": "matrix.os == 'macos'"}, False, "if matrix.os == 'macos'"),
        ({"run": "make", "if": "matrix.platform"}, False, "if matrix.platform"),
        ({"run": "make", "if": "steps.torch.outputs.raised"}, False, "if steps.torch.outputs.raised"),
        ({"run": "make"}, False, ""),
    ],
)
def test_what_is_left_out_and_why(step: dict[str, Any], system: bool, said: str, workflows: ModuleType) -> None:
    assert workflows.why_not(step, {"os": "linux"}, system) == said


def test_two_jobs_of_one_name_are_told(workflows: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    for name in ("a.yml", "b.yml"):
        (folder / name).write_text("jobs: {lint: {steps: [{run: make lint}]}}", encoding="utf-8")
    monkeypatch.setattr(workflows, "ROOT", tmp_path)
    with pytest.raises(ValueError, match=r"b\.yml: another workflow has a job lint"):
        workflows.jobs()


def test_steps_run_in_a_clone_until_one_fails(
    workflows: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the variables that a step writes for those after it, in an environment of its own."""
    source = tmp_path / "source"
    git = ["git", "-C", str(source), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "init", "--quiet", str(source)], check=True)
    (source / "kept").write_text("of the clone", encoding="utf-8")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "--message", "first"], check=True)
    (source / "kept").write_text("not committed", encoding="utf-8")
    monkeypatch.setattr(workflows, "ROOT", source)
    place = tmp_path / "place"
    place.mkdir()
    scripts = [
        "grep --quiet 'of the clone' kept",
        'echo "LATER=$ASKED" >> "$GITHUB_ENV"',
        'test "$LATER,$OVER" = asked,over',
        "python -c 'import sys; sys.exit(sys.prefix == sys.base_prefix)'",
        "false | true\ntouch after",
        "touch later",
    ]
    given = [(script, {"ASKED": "asked", "OVER": "asked"}) for script in scripts]
    assert not workflows.go_through(given, {"OVER": "over"}, place)
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in told if line] == ["ok", "ok", "ok", "ok", "failed"]
    assert sorted(file.name for file in (place / "clone").iterdir()) == [".git", "kept"]
