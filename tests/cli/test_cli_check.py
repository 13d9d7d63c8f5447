"""`augrecipes check`: what it prints, and its exit status; and `--plugin`, whose file runs only when named."""

import json

import pytest
from support.checks import BROKEN, GOOD, LINTS, WARNS

from augrecipes.cli.check import describe
from augrecipes.ops import registry
from augrecipes.recipe.codes import CODES
from augrecipes.recipe.gallery import gallery_names


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


def test_folders_patterns_and_gallery_names(run, write):
    write("some/a.yaml", GOOD)
    write("some/deep/b.yml", WARNS)
    write("some/.hidden/c.yaml", BROKEN)
    write("some/notes.txt", BROKEN)
    (line,) = run("check", "some").stdout.splitlines()
    assert line.startswith("some/deep/b.yml:4:5: L102")
    assert run("check", "some/*.yaml", "--strict").exit_code == 0
    assert run("check", "some/**/*.yml", "--strict").exit_code == 1
    assert run("check", "folder-128", "some/a.yaml", "some").stderr.startswith("3 recipes")
    result = run("check", "--strict", *gallery_names())
    assert (result.exit_code, result.stdout) == (0, "")
    assert len(gallery_names()) >= 6


@pytest.mark.parametrize("given", ["missing.yaml", "missing", "no*.yaml", "empty"])
def test_what_leads_nowhere(run, tmp_path, given):
    (tmp_path / "empty").mkdir()
    result = run("check", given)
    assert (result.exit_code, result.stdout.startswith(f"{given}:1:1: E101 ")) == (2, True)


@pytest.mark.parametrize(
    ("text", "words", "status", "begins"),
    [
        (BROKEN, "", 2, "<stdin>:4:5: E302 HorizontalFlop: "),
        (GOOD, "--strict", 0, ""),
        (GOOD, "--set a.b=1", 2, "<overrides>:1:1: E505 a.b: "),
        (GOOD, "--strict --set HorizontalFlip.p=0.1", 0, ""),
        (GOOD, "--set HorizontalFlip.p=0", 0, "<stdin>:4:5: L103"),
        (GOOD, "--strict --set HorizontalFlip.p=0", 1, "<stdin>:4:5: L103"),
        (GOOD, "--set HorizontalFlip.q=9", 2, "<overrides>:1:1: E304 "),
        (GOOD, "--set HorizontalFlip", 2, ""),
        (LINTS, "--without HorizontalFlip", 2, "<overrides>"),
        (LINTS, "--without eval.HorizontalFlip", 0, ""),
    ],
)
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
    old = run("check", "x.yaml", "--format", "json")
    assert (old.stdout, old.stderr) == (result.stdout, "note: --format json is now --json; the old name still works\n")
    write("x.yaml", WARNS)
    result = run("check", "x.yaml", "--format", "github")
    assert result.stdout.startswith("::warning file=x.yaml,line=4,col=5,title=L102 missing-eval::no `eval:`")
    assert result.exit_code == 0


def test_every_code_is_explained(run):
    for code in CODES:
        text = describe(code)
        assert text.startswith(code)
        assert "Why: " in text and "Fix: " in text, code
    assert run("check", "--explain", "random-in-eval").stdout == run("check", "--explain", "l101").stdout
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


def test_a_plugin_is_run_where_it_is_named_and_only_there(run, write, monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    write("own_steps.py", PLUGIN)
    write("dark.yaml", "version: 1\nrecipe: dark\nsteps:\n  - PaintItBlack: {p: 1.0}\neval: []\n")
    without = run("check", "dark.yaml")
    assert (without.exit_code, "it ran" in without.stdout, "PaintItBlack" in without.stdout) == (2, False, True)
    named = run("--plugin", "own_steps.py", "check", "dark.yaml")
    assert (named.exit_code, "it ran" in named.stdout) == (0, True), named.output
    absent = run("--plugin", "absent.py", "check", "dark.yaml")
    assert (absent.exit_code, "absent.py" in absent.stderr) == (2, True)
