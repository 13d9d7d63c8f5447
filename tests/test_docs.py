"""README says what is true: its Python runs, its commands exist and print what it shows, its files are there."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from augrecipes.demo.dataset import draw_dataset

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
WIDTH = "100"


class Command(NamedTuple):
    """A line that a reader may type, and what README shows below it."""

    line: str
    output: str


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


def commands() -> Iterator[Command]:
    for block in blocks("console"):
        for typed in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, output = typed.partition("\n")
            yield Command(line.partition("#")[0].strip(), output)


COMMANDS = list(commands())
SHOWN = [command for command in COMMANDS if command.output.strip()]


def file_name(text: str) -> str | None:
    """The name that a file shown in README opens with."""
    name = re.match(r"# (\S+\.(?:yaml|py))\n", text)
    return name and name[1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that README shows, under the names in their first lines."""
    assert all(map(file_name, blocks("yaml"))), "a recipe in README opens with its file name"
    for text in (*blocks("yaml"), *blocks("python")):
        if name := file_name(text):
            (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(ROOT), "COLUMNS": WIDTH, "NO_COLOR": "1", "HOME": str(folder), "PYTHONUTF8": "1"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_python_runs_as_typed(folder: Path) -> None:
    python = [text for text in blocks("python") if not file_name(text)]
    assert len(python) >= 2
    done = run(["-W", "error", "-c", "\n".join(python)], folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    batches, bag, *arrived = done.stdout.splitlines()[:6], done.stdout.splitlines()[6], *done.stdout.splitlines()[7:]
    assert all(re.match(r"[01] \(4, 3, 224, 224\) \[", line) for line in batches)
    assert bag == "slide-1 (20, 3, 224, 224) torch.Size([20, 2]) 2"
    # The bags come in whatever order they are done.
    assert sorted(line.split()[0] for line in arrived) == ["['slide-1']", "['slide-2']", "['slide-3']"]


@pytest.mark.parametrize("command", SHOWN, ids=lambda command: command.line)
def test_commands_print_what_is_shown(command: Command, folder: Path) -> None:
    program, *arguments = shlex.split(command.line)
    assert program == "augrecipes"
    done = run(["-m", "augrecipes", *arguments], folder)
    assert "Traceback" not in done.stderr
    checker = doctest.OutputChecker()
    assert checker.check_output(command.output, done.stdout, doctest.ELLIPSIS), done.stdout


def test_the_training_step_runs(folder: Path) -> None:
    (command,) = [command for command in COMMANDS if "--train-step" in command.line]
    draw_dataset(folder / "demo-data", tiles=4, photo_count=3)
    less = ["--seconds", "0.01", "--samples", "4", "--no-effects"]
    done = run(["-m", *shlex.split(command.line), *less], folder)
    assert done.returncode == 0, done.stderr
    assert "of a step is waiting for samples" in done.stdout


def test_recipes_are_valid_or_wrong_on_purpose(folder: Path) -> None:
    status = {
        file.name: run(["-m", "augrecipes", "check", file.name], folder).returncode for file in folder.glob("*.yaml")
    }
    valid, wrong = (
        ("my-pairs.yaml", "my-recipe.yaml", "my-train.yaml", "stronger.yaml"),
        ("first-try.yaml", "from-2021.yaml"),
    )
    assert status == {**dict.fromkeys(valid, 0), **dict.fromkeys(wrong, 2)}


def test_every_command_named_exists() -> None:
    from augrecipes.cli.app import app

    known = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    named = set(re.findall(r"(?:`|\$ )augrecipes ([a-z]+)", README))
    assert named
    assert named <= known


def test_every_make_target_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = set(re.findall(r"(?:`|\$ |cpu )make ([a-z]+)", README))
    assert {"demo", "test"} <= named <= targets


def test_it_opens_with_the_two_commands() -> None:
    assert [command.line for command in COMMANDS[:2]] == ["make demo", "make test"]


def test_every_file_named_is_there() -> None:
    linked = re.findall(r"\]\(([^)#:]+)\)", README)
    quoted = re.findall(r"`((?:tests|benchmarks|recipes|augrecipes)/[^`\s]+|\w+\.(?:txt|md))`", README)
    assert len(linked) >= 3
    assert [name for name in (*linked, *quoted) if not (ROOT / name).exists()] == []


def test_pictures_are_small() -> None:
    assert sum(file.stat().st_size for file in (ROOT / "benchmarks" / "pictures").iterdir()) < 550_000


def test_versions_agree() -> None:
    import augrecipes

    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{augrecipes.__version__}"' in pyproject
    assert f"## [{augrecipes.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_constraints_pin_exactly_what_is_promised() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert "torch==2.13.0" in pins
    assert "albumentations==2.0.8" in pins
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+( ; python_version (<|>=) \"3\.11\")?", pin) for pin in pins)


def test_ci_runs_the_command_that_is_promised() -> None:
    script = ROOT / ".ci" / "run"
    assert "make test\n" in script.read_text(encoding="utf-8")
    assert script.stat().st_mode & 0o111


def test_gallery_yaml_is_plain() -> None:
    for file in (ROOT / "recipes").glob("*.yaml"):
        opening = file.read_text(encoding="utf-8").splitlines()[:12]
        assert all(
            any(line.startswith(f"# {word}:") for line in opening) for word in ("Purpose", "Input", "Output", "Source")
        )
        assert yaml.safe_load(file.read_text(encoding="utf-8"))["recipe"] == file.stem
