"""`list`, `step`, `schema`, `diff`, `explain` as text, and the program: colours, signals, pipes, odd names."""

import json
import os
import re
import signal
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import cv2
import pytest
from support.checks import BROKEN, LINTS, rows

import augrecipes as ar
from augrecipes.cli.commands import COMMANDS
from augrecipes.cli.terminal import paint, styled
from augrecipes.compiler.explained import report_of
from augrecipes.native.kernels import described
from augrecipes.recipe.words import step_names


def test_the_program_itself(run):
    result = run("--help")
    assert result.exit_code == 0
    assert all(f"  {command.name} " in result.stdout for command in COMMANDS)
    assert "Exit status" in result.stdout
    assert run("--version").stdout == f"augrecipes {ar.__version__} ({described()})\n"
    mistyped = run("chek")
    assert (mistyped.exit_code, "'check'" in mistyped.stderr) == (2, True)


def test_list(run):
    begun = [line.split()[0] for line in run("list").stdout.splitlines() if not line.startswith("    ")]
    assert begun == list(ar.gallery_names())
    rows = json.loads(run("list", "--json").stdout)
    assert [row["name"] for row in rows] == list(ar.gallery_names())
    kinds = {"image", "pair", "bag", "views"}
    assert all(row["kind"] in kinds and row["about"] and Path(row["file"]).is_file() for row in rows)


def test_step_prints_what_is_known_of_a_step(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("step", "StainJitter").stdout
    assert shown.startswith("StainJitter: Scales and shifts the amount of each stain, such as haematoxylin,\n")
    assert "masks, boxes, keypoints: stay\n" in shown
    assert re.search(r"^  bias +0\.05 +number or pair of +to each amount a number$", shown, re.MULTILINE)
    # Names of arguments are never broken: where there is no room, their meaning stands in a table of its own.
    bent = run("step", "GridDistortion").stdout
    assert bent.count("  keypoint_remapping_method  ") == 2
    found = json.loads(run("step", "CutMix", "--json").stdout)
    assert (found["step"], found["acts on"]) == ("CutMix", "batches, under `batch:`")
    alpha = found["arguments"][[one["argument"] for one in found["arguments"]].index("alpha")]
    assert (alpha["default"], alpha["takes"]) == ("1.0", "number, greater than 0")


def test_step_alone_lists_all(run):
    begun = [line.split()[0] for line in run("step").stdout.splitlines() if not line.startswith("    ")]
    assert begun == step_names() == [*json.loads(run("step", "--json").stdout)]


@pytest.mark.parametrize(("name", "said"), rows(__file__, "step_says_what_may_be_meant"))
def test_step_says_what_may_be_meant(run, name, said):
    result = run("step", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in " ".join(result.stderr.split())


OWN_CLASS = '''
import albumentations as A
import augrecipes as ar


@ar.register
class DimmedByStep(A.ImageOnlyTransform):
    """Makes an image darker.

    Args:
        light: how much of it stays.
    """

    def __init__(self, light: float = 0.5, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.light = light
'''


@pytest.mark.usefixtures("own_classes")
def test_step_knows_classes_of_a_plugin(run, write):
    write("own.py", OWN_CLASS)
    found = json.loads(run("--plugin", "own.py", "step", "DimmedByStep", "--json").stdout)
    assert found["about"] == "Makes an image darker"
    assert found["runs"] == "in Python, as a call of its class"
    assert found["arguments"][1] == {
        "argument": "light", "default": "0.5", "takes": "number", "meaning": "how much of it stays",
    }  # fmt: skip


def test_schema_is_the_shipped_file(run):
    result = run("schema")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout_bytes == (files("augrecipes") / "schema" / "recipe.schema.json").read_bytes()


def test_what_a_recipe_is_refused_for_is_a_line_a_problem(run, write):
    write("x.yaml", BROKEN)
    for words in (("explain", "x.yaml"), ("preview", "x.yaml", "data")):
        result = run(*words)
        assert result.exit_code == 2
        assert [line.split(" ")[0] for line in result.stderr.splitlines()] == ["x.yaml:4:5:", "x.yaml:5:14:"]
    write("x.yaml", LINTS)
    result = run("explain", "x.yaml", "--mode", "eval")
    assert result.exit_code == 1
    assert result.stderr.startswith("x.yaml:5:5: L101 random-in-eval: ")


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize(("env", "colour"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colour_on_a_terminal(monkeypatch, env, colour):
    import pty

    monkeypatch.delenv("NO_COLOR", raising=False)
    for key, value in ({"TERM": "xterm"} | env).items():
        monkeypatch.setenv(key, value)
    leader, follower = pty.openpty()
    try:
        with os.fdopen(follower, "w") as terminal:
            assert ("\x1b" in styled(paint("text", "error", terminal), terminal)) is colour
    finally:
        os.close(leader)


def test_a_reader_that_leaves(tmp_path):
    command = f"{sys.executable} -m augrecipes list --json; echo status $? >&2"
    env = {"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(["sh", "-c", f"({command}) | true"], capture_output=True, text=True, env=env, check=False)
    # Either it was done before the reader left, or it ended like a program that SIGPIPE ended: quietly.
    assert done.stderr in ("status 0\n", "status 141\n")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_interrupted_is_quiet(process):
    code = (
        "import signal, augrecipes.recipe.gallery as gallery\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job is started without
        "gallery.entries = lambda: signal.raise_signal(signal.SIGINT)\n"
        "from augrecipes.cli import main\n"
        "main(['list'])\n"
    )
    done = process("-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, "", "")


@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes are Linux'")
def test_file_names_that_are_no_text(process, tmp_path):
    folder = tmp_path / os.fsdecode(b"\xff\xfe")
    folder.mkdir()
    (folder / os.fsdecode(b"x\xff.yaml")).write_text(BROKEN)
    result = process("-m", "augrecipes", "check", ".")
    assert (result.returncode, len(result.stdout.splitlines())) == (2, 2)
    assert "Traceback" not in result.stderr


def explained(name: str, site: str, depth: int = 0, **arguments: object) -> dict[str, object]:
    return {"site": site, "depth": depth, "name": name, "p": 1.0, "arguments": arguments}


def test_an_explanation_as_text():
    steps = [
        explained("OneOf", "OneOf#1"),
        explained("Blur", "OneOf#1/Blur#1", 1, limit=[3, 7], fill=None, on=True),
        explained("Blur", "soft", 1),
    ]
    report = {"recipe": "x", "digest": "0123456789abcdef", "steps": steps, "plan": [], "plugins": ["a"]}
    steps_and_plan = report_of(report).text().split("\n\n")
    assert steps_and_plan == [
        "recipe: x\ndigest: 0123456789ab",
        "Steps, with the arguments that take effect\n  step           p  arguments\n  OneOf#1        1\n"
        "    Blur#1       1  limit: [3, 7], on: true\n    soft (Blur)  1",
        "Plan\n  none",
        "Plugins\n  a",
    ]


@pytest.mark.parametrize("name", ar.gallery_names())
def test_an_explanation_keeps_to_the_columns_and_loses_nothing(name):
    found = ar.explain(name).to_json()
    assert len(found["digest"]) == 64
    wide = report_of(found).text(10_000)
    for columns in (80, 120):
        text = report_of(found).text(columns)
        assert max(map(len, text.splitlines())) <= columns
        # Nothing but blanks, line ends and their order differs from the unwrapped text.
        assert sorted("".join(text.split())) == sorted("".join(wide.split()))


def test_what_belongs_together_stays_on_one_line():
    arguments = {f"argument_{i}": [0.25, 0.75] for i in range(9)}
    for width in range(60, 90):
        text = report_of({"steps": [explained("Blur", "Blur#1", **arguments)]}).text(width)
        assert text.count("[0.25, 0.75]") == 9
        assert all(f"argument_{i}: [" in text for i in range(9))


A = """version: 1
recipe: one
steps:
  - RandomCrop: {height: 48, width: 40}
  - HorizontalFlip
  - GaussianBlur: {p: 1.0}
eval: []
"""
B = """# The same, in another order and longer.
recipe: two
version: 1
eval:
  - CenterCrop: {width: 40, height: 48}
steps:
  - GaussianBlur: {p: 1}
  - {HorizontalFlip: {p: 0.2}}
  - VerticalFlip
output: {layout: hwc}
"""


@pytest.fixture
def diff(finish, write):
    """Run `augrecipes diff WORDS`, which ends with a status, 1 if none is given: what it prints."""
    copy = A.replace("recipe: one", "recipe: one  # a copy").replace("height: 48, width: 40", "width: 40.0, height: 48")
    copy = copy.replace("- HorizontalFlip", "- {HorizontalFlip: {p: 5e-1}}")
    lint = "{version: 1, recipe: lint, eval: [HorizontalFlip], steps: []}"
    for name, text in {"a.yaml": A, "b.yaml": B, "copy.yaml": copy, "lint.yaml": lint}.items():
        write(name, text)
    return lambda words, status=1: finish(f"diff {words}", status)


def test_what_differs(diff, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    text = diff("a.yaml b.yaml")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "output.layout chw → hwc" in lines
    assert "> HorizontalFlip#1 kept moved behind GaussianBlur#1, from 2 to 2, p: 0.5 → 0.2" in lines
    assert "+ VerticalFlip#1 added at 3: p: 0.5" in lines
    assert any(line.startswith("- RandomCrop#1 removed at 1: ") for line in lines)
    assert lines[lines.index("Evaluation steps") + 2].startswith("+ CenterCrop#1 added at 1: ")
    assert "recipe: one → two" in lines
    assert lines[-1] == "they differ: 1 setting, 4 steps; 1 step is the same"
    assert "\033" not in text
    coloured = ar.diff(ar.load("a.yaml"), ar.load("b.yaml")).report().text(colour=True)
    (added,) = [line for line in coloured.splitlines() if "VerticalFlip#1" in line]
    assert added.startswith("  \033[32m+")  # steps have the colours of their marks
    report = json.loads(diff("a.yaml b.yaml --json --mode train"))
    assert (report["same"], report["modes"], report["a"]["file"]) == (False, ["train"], "a.yaml")
    steps = [(one["what"], one["draws"]) for one in report["steps"]]
    assert steps == [("removed", None), ("moved", "kept"), ("added", None)]
    assert report["steps"][1]["changes"] == [{"key": "p", "a": 0.5, "b": 0.2}]


def test_what_is_the_same(diff):
    """A copy in other words; and a recipe that lints refuse, without pixels."""
    text = diff("a.yaml copy.yaml", status=0)
    assert text.splitlines()[-1] == "the same in effect: 3 steps are the same"
    diff("lint.yaml lint.yaml", status=0)


def test_changes_are_of_the_second(diff):
    diff("a.yaml", status=0)
    text = diff("a.yaml --set RandomCrop.height=32 --without HorizontalFlip")
    assert "height: 48 → 32" in text and "-  HorizontalFlip#1" in text
    diff("a.yaml b.yaml --set HorizontalFlip.p=0.5 --mode eval")
    diff("a.yaml a.yaml --set HorizontalFlip.p=0.5 --mode train", status=0)


def test_an_image_of_both(diff, photos, tmp_path):
    text = diff(f"a.yaml --set HorizontalFlip.p=1.0 --data {photos} -o out/grid.png --rows 2")
    assert text.splitlines()[-1] == "out/grid.png"
    assert cv2.imread(str(tmp_path / "out" / "grid.png")).shape[2] == 3
    again = diff(f"a.yaml --data {photos} --json -o same.png", status=0)
    assert json.loads(again)["picture"] == "same.png"


def test_the_problems_of_either_are_listed(run, write):
    write("x.yaml", "{version: 1, recipe: x, steps: [Flup]}")
    write("y.yaml", "{version: 1, recipe: y, steps: [Flap]}")
    for first, second in (("x.yaml", "y.yaml"), ("y.yaml", "folder-128"), ("folder-128", "x.yaml"), ("x.yaml", "")):
        (line,) = run("diff", *filter(None, (first, second))).stderr.splitlines()
        assert line.split(":")[0] in (first, second)
