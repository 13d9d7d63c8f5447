"""`augrecipes check` and `--plugin`: output and exit statuses; no control character of a name reaches a terminal."""

import io
import json
import logging
import os
import sys
from contextlib import redirect_stderr, redirect_stdout

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.checks import BROKEN, GOOD, LINTS, WARNS, rows

from augrecipes.cli import terminal
from augrecipes.cli.check import annotation, describe
from augrecipes.cli.terminal import as_json
from augrecipes.errors import DataError, Diagnostic, LoaderError, RecipeError, StoreError, as_lines, harmless
from augrecipes.recipe.codes import CODES
from augrecipes.recipe.gallery import gallery_names
from augrecipes.sources.defects import Defect


@pytest.mark.parametrize(
    ("text", "plain", "strict"),
    [(GOOD, 0, 0), (WARNS, 0, 1), (LINTS, 1, 1), (BROKEN, 2, 2), ("", 2, 2), (b"\x89PNG\x00", 2, 2)],
)
def test_exit_status(run, write, text, plain, strict):
    write("x.yaml", text)
    assert run("check", "x.yaml").exit_code == plain
    assert run("check", "x.yaml", "--strict").exit_code == strict


def test_every_problem_of_every_file_at_once(run, write):
    write("a.yaml", BROKEN)
    write("b.yaml", LINTS)
    result = run("check", "a.yaml", "b.yaml")
    lines = result.stdout.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["a.yaml:4:5:", "a.yaml:5:14:", "b.yaml:5:5:"]
    assert "did you mean 'HorizontalFlip'" in lines[0]
    assert "did you mean 'limit'" in lines[1]
    assert lines[2].split(" ")[1:3] == ["L101", "random-in-eval:"]
    assert (result.exit_code, "3 errors" in result.stderr) == (2, True)


def test_what_a_variant_inherits_is_reported_at_extends(run, write):
    parent = "version: 1\nrecipe: base\nsteps:\n  - HorizontalFlip: {p: 0}\n  - Rotate: {limit: 0}MARK\neval: []\n"
    write("some/base.yaml", parent.replace("MARK", ""))
    write("some/x.yaml", "version: 1\nrecipe: x\nextends: base.yaml\nset:\n  Rotate.limit: [0, 0]\n")
    inherited, own, *_ = run("check", "some/x.yaml").stdout.splitlines()
    assert inherited.startswith("some/x.yaml:3:1: L103 never-acts: HorizontalFlip ")
    assert inherited.endswith("(in some/base.yaml:4:22, which this recipe extends)")
    assert own.startswith("some/x.yaml:5:3: L103 never-acts: Rotate ")
    alone, *_ = run("check", "some/base.yaml").stdout.splitlines()
    assert alone.startswith("some/base.yaml:4:22: L103")
    assert "extends" not in own + alone
    write("some/base.yaml", parent.replace("MARK", "  # augrecipes: ignore[L103]"))
    write("some/x.yaml", "version: 1\nrecipe: x\nextends: base.yaml\nwithout: [HorizontalFlip]\n")
    assert run("check", "some/x.yaml", "--strict").exit_code == 0


def test_folders_and_gallery_names(run, write):
    write("some/a.yaml", GOOD)
    write("some/deep/b.yml", WARNS)
    write("some/.hidden/c.yaml", BROKEN)
    write("some/notes.txt", BROKEN)
    (line,) = run("check", "some").stdout.splitlines()
    assert line.startswith("some/deep/b.yml:4:5: L102")
    assert run("check", "folder-128", "some/a.yaml", "some").stderr.startswith("3 recipes")
    result = run("check", "--strict", *gallery_names())
    assert (result.exit_code, result.stdout) == (0, "")
    assert len(gallery_names()) >= 6


@pytest.mark.parametrize("given", ["missing.yaml", "missing", "empty"])
def test_what_leads_nowhere(run, tmp_path, given):
    (tmp_path / "empty").mkdir()
    result = run("check", given)
    assert (result.exit_code, result.stdout.startswith(f"{given}:1:1: E101 ")) == (2, True)


@pytest.mark.parametrize(("text", "words", "status", "begins"), rows(__file__, "changes"))
def test_standard_input_and_changes(run, text, words, status, begins):
    result = run("check", "-", *words.split(), stdin=text)
    assert (result.exit_code, result.stdout[: len(begins)]) == (status, begins), result.output


def test_json_and_annotations_of_github(run, write):
    write("x.yaml", LINTS)
    result = run("check", "x.yaml", "--json")
    assert result.exit_code == 1
    (problem,) = json.loads(result.stdout)
    assert problem.pop("message").startswith("HorizontalFlip acts with p = 0.5")
    assert problem == {
        "file": "x.yaml", "line": 5, "col": 5, "code": "L101", "name": "random-in-eval", "severity": "error",
    }  # fmt: skip
    write("x.yaml", WARNS)
    result = run("check", "x.yaml", "--format", "github")
    assert result.stdout.startswith("::warning file=x.yaml,line=4,col=5,title=L102 missing-eval::no `eval:`")
    assert result.exit_code == 0


def test_every_code_is_explained(run):
    for code in CODES:
        text = describe(code)
        assert text.startswith(code)
        assert "Why: " in text and "Fix: " in text, code
    assert run("check", "--explain", "L101").stdout == run("check", "--explain", "l101").stdout
    assert run("check", "--explain", "L999").exit_code == 2


@pytest.mark.parametrize("args", [(), ("--format", "xml", "x.yaml"), ("--nope",)])
def test_usage(run, args):
    result = run("check", *args)
    assert (result.exit_code, result.stdout) == (2, "")


PLUGIN = """
import albumentations as A
import augrecipes as ar


@ar.register
class PaintItBlack(A.ImageOnlyTransform):
    def apply(self, img, **params):
        return img * 0


print("it ran")
"""


@pytest.mark.usefixtures("own_classes")
def test_a_plugin_is_run_where_it_is_named_and_only_there(run, write):
    write("own_steps.py", PLUGIN)
    write("dark.yaml", "version: 1\nrecipe: dark\nsteps:\n  - PaintItBlack: {p: 1.0}\neval: []\n")
    without = run("check", "dark.yaml")
    assert (without.exit_code, "it ran" in without.stdout, "PaintItBlack" in without.stdout) == (2, False, True)
    named = run("--plugin", "own_steps.py", "check", "dark.yaml")
    assert (named.exit_code, "it ran" in named.stdout) == (0, True), named.output
    absent = run("--plugin", "absent.py", "check", "dark.yaml")
    assert (absent.exit_code, "absent.py" in absent.stderr) == (2, True)


HOSTILE = st.text(st.characters(), min_size=1, max_size=12).map(lambda text: f"a{text}\x1b[31m\x9b2J\n::error::\u202eb")
STYLES = "".join(terminal._MARKS.values()) + terminal._END


def raw(text: str, keep: str = "\n") -> list[str]:
    """Characters that a terminal might obey."""
    return [c for c in text if not c.isprintable() and c not in keep]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@given(HOSTILE)
def test_errors_and_logs_hold_none(name):
    problem = Diagnostic(f"{name} is wrong", 1, 1, name=name, file=name)
    for error in (DataError(name, name, "Step"), StoreError("is no store", name), RecipeError(problems=[problem]),
                  LoaderError(name), DataError("is wrong" + as_lines([name]))):  # fmt: skip
        assert raw(str(error)) == []
    assert "\n" not in str(problem)
    assert str(DataError("is wrong" + as_lines([name, "b"]))).count("\n") == 2
    assert "\n" not in str(DataError("is wrong", name))
    printed = io.StringIO()
    handler, logger = logging.StreamHandler(printed), logging.getLogger("augrecipes")
    logger.addHandler(handler)
    try:
        logger.warning("%s: %d images%s", name, 3, as_lines([name]))
    finally:
        logger.removeHandler(handler)
    assert raw(printed.getvalue()) == []
    assert printed.getvalue().count("\n") == 2


@given(HOSTILE)
def test_what_the_command_line_prints_holds_none(name):
    problem = Diagnostic(f"{name} is wrong", 1, 1, name=name, file=name)
    for stream in (io.StringIO(), Terminal()):
        with redirect_stdout(stream), redirect_stderr(stream):
            terminal.say(name)
            terminal.say(terminal.paint(name, "strong", sys.stdout))
            terminal.say(terminal.line_of(problem, sys.stdout))
            terminal.complain(DataError(name, name))
            terminal.complain(FileNotFoundError(2, "no such file", name.replace("\0", "")))
            terminal.note(name)
        shown = stream.getvalue()
        for code in terminal._CODES.values():
            shown = shown.replace(code, "") if stream.isatty() else shown
        assert raw(shown, "\n" + STYLES) == []
    assert raw(annotation(problem), "") == []
    assert [c for c in as_json({name: [name]}) if c in "\x1b\x9b\u202e\x7f"] == []
    assert json.loads(as_json({name: [name]})) == {name: [name]}


@pytest.mark.parametrize("prints", [lambda name: name, lambda name: name.replace("\x1b", "")])
def test_a_planted_fault_is_found(prints):
    """What prints a name as it is, or without escapes alone."""
    assert raw(prints("a\x1b[31m\x9b2J")) != []
    assert raw(harmless("a\x1b[31m\x9b2J\n"), "") == []


@pytest.mark.skipif(sys.platform == "win32", reason="names of any characters are POSIX'")
def test_commands_over_hostile_names(run, write, tmp_path):
    name = "a\x1b[31mred\x07\x9b2J\nnext"
    image = cv2.imencode(".png", np.zeros((40, 48, 3), np.uint8))[1].tobytes()
    write(f"{name}/{name}.yaml", GOOD)
    write(f"bad{name}/{name}.yaml", GOOD.replace("HorizontalFlip", "HorizontalFlop"))
    write(f"in{name}/{name}.png", image)
    write(f"broken{name}/{name}.png", b"none")
    write(f"broken{name}/ok.png", image)
    recipe, images, broken = f"{name}/{name}.yaml", f"in{name}", f"broken{name}"
    for command in (
        f"check|{recipe}", f"check|bad{name}", f"check|bad{name}|--format|github", f"check|bad{name}|--json",
        f"check|--{name}", f"check|--explain|{name}", f"explain|{recipe}", f"explain|{recipe}|{images}|--seconds|0.01",
        f"explain|{recipe}|{broken}|--seconds|0.01", f"explain|{recipe}|--json|{name}.json",
        f"explain|{recipe}|--mode|{name}", f"explain|{recipe}|--set|{name}=1", f"check-data|{recipe}|{broken}|--json",
        f"check-data|{recipe}|{broken}|--content", f"check-data|{recipe}|{name}|--names|{name}",
        f"preview|{recipe}|{broken}|-o|{name}.png|--rows|1", f"preview|{recipe}|x=in{name}|{name}",
        f"pack|{recipe}|{broken}|--out|store{name}|--workers|0", f"pack|{recipe}|{name}|--out|x",
        f"verify-store|store{name}", f"verify-store|{name}", f"verify|{recipe}|{broken}|--samples|2",
        f"verify|{recipe}|{images}|--masks|{name}", f"diff|{recipe}|{recipe}",
        f"diff|{recipe}|{images}|-o|d{name}.png", name,
    ):  # fmt: skip
        words = command.split("|")
        result = run(*words)
        assert raw(result.stdout) == [], words
        assert raw(result.stderr) == [], words
        assert result.exit_code in (0, 1, 2), (words, result.output)
        assert "Traceback" not in result.output, words
        assert not any(line.startswith("next") for line in result.output.splitlines()), words


def test_each_defect_is_a_line():
    from augrecipes.sources.defects import report

    text = report([Defect("missing", ("a\nb",), "a\nb\x1b: no lr")], fine=0, targets=("hr",))
    assert text.splitlines()[-1] == "  a\\nb\\x1b: no lr"
    assert os.linesep not in text or os.linesep == "\n"
