"""README and docs say what is true: their Python runs, their commands print what they show, their files are there."""

import doctest
import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from programs import Programs
from support.command_line import invoke
from support.pages import file_name, in_order

from augrecipes.cli.commands import BY_NAME

ROOT = Path(__file__).parent.parent
FILES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = {file.stem: file.read_text(encoding="utf-8") for file in FILES if file.exists()}
README = PAGES["README"]
EVERY = "\n".join(PAGES.values())
WIDTH = "100"
# What is shown as it fails, and as it differs.
STATUS = {
    "augrecipes check args.yaml": 2,
    "augrecipes check config.yaml": 2,
    "augrecipes check faded.yaml": 2,  # without its --plugin
    "augrecipes check first-try.yaml": 2,
    "augrecipes check train_redux.yaml": 2,
    "augrecipes check train_x4.yaml": 2,
    "augrecipes diff my-recipe.yaml --set Rotate.limit=40 --without VerticalFlip": 1,
    "augrecipes import train.py --no-time -o sized.yaml": 1,  # a size is not in the file
    "augrecipes import train_mixed.py --no-time -o mixed.yaml": 1,  # labels are smoothed in the loss
    "augrecipes import train_otf.toml --no-time -o otf.yaml": 1,  # resizemix is left out
    "augrecipes import train_rfdetr.py --no-time -o rfdetr.yaml": 1,  # a name is misspelt
}


# Pages of extras that may be missing, and what those bring.
NEEDS = {"SLIDES": ("openslide", "tifffile")}


class Command(NamedTuple):
    """A line that a reader may type, and what README shows below it."""

    line: str
    output: str


def blocks(page: str, language: str) -> list[str]:
    found = re.findall(r"^```(\w+)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == language]


def commands(page: str) -> Iterator[Command]:
    for block in blocks(page, "console"):
        for typed in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, output = typed.partition("\n")
            yield Command(line.partition("#")[0].strip(), output)


ENVIRONMENT = {
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
    "COLUMNS": WIDTH,
    "NO_COLOR": "1",
    "PYTHONUTF8": "1",
}
# Runs the blocks that it is given one after another: Python in one session, commands as processes of their own.
SESSION = """
import contextlib, io, json, os, pathlib, sys, warnings
environment = json.loads(sys.argv[1])
sys.path += environment["PYTHONPATH"].split(os.pathsep)
os.environ.clear()
os.environ.update(environment)
from programs import Programs
MAIN = "import sys; from augrecipes.cli import main; main(sys.argv[2:])"
programs = Programs(forked=True)
warnings.simplefilter("error")
space, told = {"__name__": "__main__"}, []
for kind, what in json.loads(pathlib.Path("session.json").read_text()):
    if kind == "file":
        pathlib.Path(what[0]).write_text(what[1], encoding="utf-8")
    elif kind == "python":
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(what[0], "README.md", "exec"), space)
        told.append(["python", 0, printed.getvalue(), ""])
    else:
        done = programs(MAIN, *what, cwd=pathlib.Path.cwd())
        told.append([" ".join(what), done.returncode, done.stdout, done.stderr])
programs.close()
pathlib.Path("told.json").write_text(json.dumps(told))
"""
QUICK = {
    "bench": ["--seconds", "0.01", "--samples", "4", "--no-effects"],
    "trial": ["--seeds", "1", "--epochs", "0.2"],
}


def session(text: str) -> Iterator[tuple[str, list[str]]]:
    """What a reader of `text` does, but for the commands of other programs, and made quick."""
    for kind, what in in_order(text):
        if kind != "command":
            yield kind, what
        elif what[0] == "augrecipes":
            yield kind, [*what, *QUICK.get(what[1], ())]


def walk(programs: Programs, text: str, folder: Path) -> tuple[list[tuple[str, int, str, str]], str]:
    """What came of everything that `text` shows, done in its order in one empty folder; and what went wrong."""
    (folder / "session.json").write_text(json.dumps(list(session(text))), encoding="utf-8")
    environment = {**ENVIRONMENT, "HOME": str(folder)}
    done = programs(SESSION, json.dumps(environment), cwd=folder)
    told = folder / "told.json"
    return [tuple(one) for one in json.loads(told.read_text())] if told.exists() else [], done.stderr


Walked = list[tuple[str, int, str, str]]


# README's is always taken, those of the other pages in a soak.
WALKS = [
    pytest.param(name, marks=[] if name == "README" else pytest.mark.soak)
    for name, page in PAGES.items()
    if any(session(page))
]


@pytest.mark.parametrize("name", WALKS)
def test_from_top_to_bottom_everything_works(name: str, tmp_path: Path, programs: Programs) -> None:
    """In one empty folder, in the page's order: all runs, and prints what is shown or said."""
    for module in NEEDS.get(name, ()):
        pytest.importorskip(module)
    walked, wrong = walk(programs, PAGES[name], tmp_path)
    assert wrong == ""
    assert {what: (status, err) for what, status, _, err in walked if status != STATUS.get(what, 0)} == {}
    for command in commands(PAGES[name]):
        if command.output.strip():
            _prints_what_is_shown(command, walked)
    if name in SAID:
        SAID[name](walked)


ROWS = Path(__file__).with_name("readme_rows.md").read_text(encoding="utf-8")


def test_what_each_row_of_readme_promises_works(tmp_path: Path, programs: Programs) -> None:
    """Whatever a row quotes is typed, in the order of the rows."""
    table = re.findall(r"^\| \[([^]]+)\].*$", README.partition("## A recipe")[0], flags=re.MULTILINE)
    lines = re.findall(r"^\| \[.*$", README.partition("## A recipe")[0], flags=re.MULTILINE)
    sections = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n?)*)", ROWS, flags=re.MULTILINE))
    assert [*sections] == table
    for line, typed in zip(lines, sections.values(), strict=True):
        quoted = re.findall(r"(?:`|= )(ar\.\w+)\(|`(augrecipes [a-z]+)", line)
        assert [name for pair in quoted for name in pair if name and name not in typed] == []
    walked, wrong = walk(programs, ROWS, tmp_path)
    assert wrong == ""
    assert {what: err for what, status, _, err in walked if status} == {}


@pytest.mark.soak
def test_a_step_too_early_is_found(tmp_path: Path, programs: Programs) -> None:
    """A planted fault: the store is packed by the command, and again by Python."""
    page = PAGES["STORAGE"]
    again = '```python\nar.pack("folder-128", tissue, "tissue-128")\n```\n'
    _, wrong = walk(programs, page.partition("```python\npacked")[0] + again, tmp_path)
    assert "exists already" in wrong


def _printed(walked: Walked) -> list[str]:
    return [line for what, _, out, _ in walked if what == "python" for line in out.splitlines()]


def _prints_batches(walked: Walked) -> None:
    assert _printed(walked)
    assert all(re.match(r"([01] )?\(4, 3, 224, 224\) \[", line) for line in _printed(walked))


def _prints_bags(walked: Walked) -> None:
    bag, *arrived = _printed(walked)[:4]  # of tile files; slides follow
    assert bag == "slide-1 (20, 3, 224, 224) torch.Size([20, 2]) 2"
    # The bags come in whatever order they are done.
    assert sorted(line.split()[0] for line in arrived) == ["['slide-1']", "['slide-2']", "['slide-3']"]


def _prints_what_is_shown(command: Command, walked: Walked) -> None:
    (found,) = [out for what, _, out, _ in walked if what == " ".join(shlex.split(command.line))]
    assert doctest.OutputChecker().check_output(command.output, found, doctest.ELLIPSIS), found


def _can_give_the_verdict_that_is_quoted(walked: Walked) -> None:
    quoted = re.search(r"\(`(.+?) is [\d.]+ to [\d.]+ times\s+as\s+fast\s+as\s+(.+?)`\)", PAGES["COMPARING"])
    (out,) = [out for what, _, out, _ in walked if "--against stock" in what]
    text = " ".join(out.split())
    verdicts = text[text.index("Verdicts") :]
    assert any(
        re.search(f"{re.escape(one)}(?: and | is [\\d.]+ to [\\d.]+ times as fast as ){re.escape(other)}", verdicts)
        for one, other in (quoted.groups(), quoted.groups()[::-1])
    ), verdicts
    (out,) = [out for what, _, out, _ in walked if "--train-step" in what]
    assert "of a step is waiting for samples" in out


# What pages say in words of what comes out.
SAID = {
    "README": _prints_batches, "LOADING": _prints_batches, "SLIDES": _prints_bags,
    "COMPARING": _can_give_the_verdict_that_is_quoted,
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_recipes_are_valid_or_wrong_on_purpose(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("augrecipes.compat.guard.without_torch", lambda: None)  # for a process of its own
    shown = [text for text in blocks(PAGES[name], "yaml") if text.startswith(("# ", "version:"))]
    for number, text in enumerate(shown):
        Path(file_name(text) or f"{number}.yaml").write_text(text, encoding="utf-8")
    for file in tmp_path.glob("*.yaml"):
        done = invoke(["check", file.name])
        assert done.exit_code == STATUS.get(f"augrecipes check {file.name}", 0), done.output


def test_every_command_named_exists() -> None:
    named = set(re.findall(r"(?:`|\$ )augrecipes ([a-z][a-z-]*)", EVERY))
    assert named
    assert named <= {*BY_NAME}


def test_every_make_target_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = set(re.findall(r"(?:`|\$ |cpu )make ([a-z]+)", EVERY))
    assert {"demo", "test"} <= named <= targets


def test_it_opens_with_the_one_line_and_the_two_commands() -> None:
    assert [command.line for command in commands(README)][:3] == ["pip install .", "make demo", "make test"]
    assert "ar.accelerate(" in README.partition("make demo")[0]
    assert len(README.splitlines()) <= 150


@pytest.mark.parametrize("file", [file for file in FILES if file.exists()], ids=lambda file: file.stem)
def test_every_file_named_is_there(file: Path) -> None:
    page = file.read_text(encoding="utf-8")
    linked = [link.partition("#")[0] for link in re.findall(r"\]\(([^):]+)\)", page)]
    quoted = re.findall(r"`((?:tests|benchmarks|recipes|augrecipes|docs)/[^`\s*]+|\w+\.(?:txt|md))`", page)
    assert [name for name in linked if not (file.parent / name).exists()] == []
    assert [name for name in quoted if not (ROOT / name).exists()] == []


def _strangers(page: str) -> list[tuple[str, str]]:
    """Names that a page says stand in a file of the package, and that do not, with that file."""
    named = re.findall(r"`([\w.]+)`(?:, `([\w.]+)`)?(?:, `([\w.]+)`)? in `(?!tests/)([\w/]+\.(?:py|c|h))`", page)
    assert named
    pairs = [(name.rpartition(".")[2], file) for *names, file in named for name in names if name]
    return [
        (name, file) for name, file in pairs if name not in (ROOT / "augrecipes" / file).read_text(encoding="utf-8")
    ]


def test_functions_that_a_sample_goes_through_are_where_it_is_said() -> None:
    page = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert _strangers(page) == []
    assert _strangers(page.replace(".run_step` in", ".run_leap` in")) == [
        ("run_leap", "compiler/run/program_runner.py")
    ]


def test_constraints_pin_exactly_what_is_promised() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert "torch==2.13.0" in pins
    assert "albumentations==2.0.8" in pins
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+( ; python_version (<|>=) \"3\.11\")?", pin) for pin in pins)


def test_ci_runs_the_commands_that_are_promised() -> None:
    script = ROOT / ".ci" / "run"
    run = re.findall(r"^make \w+$", script.read_text(encoding="utf-8"), re.MULTILINE)
    assert run == [*(command.line for command in commands(README) if command.line.startswith("make")), "make lint"]
    assert script.stat().st_mode & 0o111


def test_gallery_yaml_is_plain() -> None:
    for file in (ROOT / "recipes").glob("*.yaml"):
        opening = file.read_text(encoding="utf-8").splitlines()[:12]
        assert all(
            any(line.startswith(f"# {word}:") for line in opening) for word in ("Purpose", "Input", "Output", "Source")
        )
        assert yaml.safe_load(file.read_text(encoding="utf-8"))["recipe"] == file.stem
