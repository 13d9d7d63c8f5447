"""Python source is read, never run: in all styles, with what is not known named, within bounds, in linear time."""

import ast
import io
import json
import re
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from foreign import source as hostile
from hypothesis import given
from hypothesis import strategies as st
from support.checks import DEAR, PLANTED, in_a_soak

import augrecipes as ar
from augrecipes.cli import main
from augrecipes.interop import budget
from augrecipes.interop.budget import bounded
from augrecipes.interop.importing import draft_of, of_document
from augrecipes.interop.reading import of_text
from augrecipes.interop.source import functions
from augrecipes.interop.source.read import read
from augrecipes.interop.source.text import SourceText

HEAD = "import albumentations as A\n"
USUAL = f"{HEAD}import cv2\nimport numpy as np\nfrom albumentations.pytorch import ToTensorV2\n"
# Behind `#:` the name of a style in which people publish pipelines, the steps (those of Resize with its size), and
# `eval` where a section for validation comes of it; below it the source, with the usual imports where it has none.
STYLES = re.findall(
    r"^#: (.+?): (.+?)(; eval)?\n((?:(?!#: ).*\n)+)", (Path(__file__).parent / "published_styles.txt").read_text(), re.M
)
RESIZE = "Resize 224x224"


def draft(text: str, file: str = "train.py", key: str = "", **given: Any) -> Any:
    return of_document(replace(of_text(text, file), key=key, given=given))


def said(steps: Any) -> list[str]:
    args = [each.args for each in steps]
    return [
        f"Resize {arg['height']}x{arg['width']}" if each.name == "Resize" else each.name
        for each, arg in zip(steps, args, strict=True)
    ]


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style[0])
def test_every_style_comes_in_whole(style: tuple[str, ...]) -> None:
    _, steps, validates, text = style
    found = draft(text if "albumentations" in text else USUAL + text)
    assert found.left_out() == ()
    recipe = found.recipe()
    assert (", ".join(said(recipe.steps)), recipe.eval is not None) == (steps, bool(validates))


def test_nothing_is_run(tmp_path: Path) -> None:
    told = tmp_path / "told"
    text = f"open({str(told)!r}, 'w')\n{HEAD}__import__('os').mkdir({str(told)!r})\n"
    text += f"t = A.Compose([A.D4()], save_key=open({str(told)!r}, 'w'))\nraise SystemExit\n"
    assert [step.name for step in draft(text).recipe().steps] == ["D4"]
    assert not told.exists()


def test_form_feeds_and_controls_are_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = f"\f{HEAD}\f\nt = A.Compose([  # \x1b\n    A.D4(),\f A.Blur()])\n".encode()
    (tmp_path / "train.py").write_bytes(data)
    for source in (str(tmp_path / "train.py"), "-"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert [step.name for step in draft_of(source).recipe().steps] == ["D4", "Blur"]
    (tmp_path / "train.yaml").write_bytes(b"transform: [{name: \f}]")
    with pytest.raises(ar.RecipeError, match=r"train\.yaml:1:20: E104 .* U\+000C"):
        draft_of(str(tmp_path / "train.yaml"))


UNKNOWN = f"{HEAD}t = A.Compose([\n  A.D4(),\n  A.Resize(cfg.size, width=int(cfg['size'] * r)),\n  Mine(),\n])\n"


def test_what_is_not_known_is_named_at_its_place_and_set_fills_it() -> None:
    found = draft(UNKNOWN)
    assert [(left.name, left.line) for left in found.left_out()] == [("Resize", 4), ("Mine", 5)]
    message = found.left_out()[0].message
    assert "${cfg.size}" in message
    assert "--set cfg.size=VALUE" in message
    assert "--set r=VALUE" in message
    assert found.to_yaml().count("# left out: ") == 2
    filled = draft(UNKNOWN, **{"cfg.size": 448, "r": 0.5})
    assert [left.name for left in filled.left_out()] == ["Mine"]
    assert filled.recipe().steps[1].args.plain() == {"height": 448, "width": 224}
    with pytest.raises(ar.RecipeError, match="nothing that is called size"):
        draft(UNKNOWN, size=3)


def test_the_command_sets_and_leaves_one_where_something_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "train.py"
    path.write_text(UNKNOWN.replace("  Mine(),\n", "") + "loader = DataLoader(ds)\n")
    for options, status in (([], 1), (["--set", "cfg.size=224", "--set", "r=1"], 0)):
        with pytest.raises(SystemExit) as left:
            main(["import", str(path), "--no-time", "--json", *options])
        assert left.value.code == status
        shown = json.loads(capsys.readouterr().out)
        assert "eval: derived" in shown["recipe"]
        assert not any("L102" in lint["code"] for lint in shown["lints"])
        assert sum("In a DataLoader" in note for note in shown["notes"]) == 1


def test_unknown_arguments_of_the_compose_and_of_outputs_are_named() -> None:
    boxes = "A.BboxParams('coco', label_fields=f, min_area=4)"
    found = draft(f"{HEAD}t = A.Compose([A.D4(), A.Normalize(mean=m)], bbox_params={boxes})")
    assert sorted(left.name for left in found.left_out()) == ["Normalize", "bbox_params.label_fields"]
    assert found.recipe().inputs.boxes.min_area == 4
    assert found.recipe().output.normalize is None


@pytest.mark.parametrize(
    ("steps", "p", "lost"), [("[Mine()]", "0.5", ["Mine"]), ("[A.D4()]", "2", ["p"]), ("[A.D4()]", "'often'", ["p"])]
)
def test_a_strange_compose_does_not_end_an_import(steps: str, p: str, lost: list[str]) -> None:
    found = draft(f"{HEAD}t = A.Compose({steps}, p={p})")
    assert [left.name for left in found.left_out()] == lost
    assert found.recipe()


def test_both_ways_of_a_test_that_cannot_be_told() -> None:
    text = f"{HEAD}t = [A.D4()]\nif cfg.heavy:\n    t.append(A.Blur())\ntrain = A.Compose(t)"
    found = draft(text)
    assert [step.name for step in found.recipe().steps] == ["D4", "Blur"]
    (left,) = found.left_out()
    assert "tell `cfg.heavy` in line 3; it was taken as true; give it: --set cfg.heavy=VALUE" in left.message
    weak = draft(
        f"{HEAD}t = [A.D4()]\nif cfg.heavy:\n    t.append(A.Blur())\ntrain = A.Compose(t)", **{"cfg.heavy": False}
    )
    assert weak.left_out() == ()
    assert [step.name for step in weak.recipe().steps] == ["D4"]


def test_every_test_that_cannot_be_told_is_named_and_no_other() -> None:
    tests = "".join(f"if cfg.x{k}:\n    t.append(A.Blur())\nif cfg.y{k}:\n    print(t)\n" for k in range(40))
    found = draft(f"{HEAD}t = [A.D4()]\n{tests}u = A.Compose(t)")
    told = [re.findall(r"`cfg\.(\w+)` in line (\d+)", left.message) for left in found.left_out()]
    assert told == [[(f"x{k}", str(3 + 4 * k))] for k in range(40)]


def test_values_that_depend_on_a_test_are_those_of_its_branch() -> None:
    found = draft(
        f"{HEAD}size, kw = 96, dict(p=0.3)\nif cfg.train:\n    size, kw['limit'] = 64, 9\nelse:\n    kw = {{}}\n"
        "steps = [A.Rotate(**kw)] + ([A.Blur()] if size < 80 else [])\n"
        "train = A.Compose([A.Resize(size * 2, max(size, 70))] + [each for each in steps if each])"
    )
    assert [step.name for step in found.recipe().steps] == ["Resize", "Rotate", "Blur"]
    assert [step.args.plain() for step in found.recipe().steps[:2]] == [{"height": 128, "width": 70}, {"limit": 9}]
    assert [step.args.plain() for step in found.recipe().eval] == [{"height": 192, "width": 96}, {}]
    assert found.left_out() == ()


def test_several_are_listed_with_lines_and_one_is_named() -> None:
    text = f"{HEAD}weak = A.Compose([A.D4()])\ndef strong(p=0.5):\n    return A.Compose([A.Blur(p=p)])\n"
    with pytest.raises(ar.RecipeError, match=r"`--key weak`: there are weak \(line 2\), strong \(line 4\)"):
        draft(text)
    assert [step.name for step in draft(text, key="strong").recipe().steps] == ["Blur"]
    assert any("weak (line 2)" in note for note in draft(text, key="strong").notes)
    with pytest.raises(ar.RecipeError, match="no pipeline at 'else'"):
        draft(text, key="else")


def test_a_function_that_is_called_can_be_named_too() -> None:
    text = f"{HEAD}class D:\n    def make(self, n=3):\n        return A.Compose([A.Resize(n, n)])\nt = D().make(224)\n"
    assert said(draft(text, key="D.make").recipe().steps) == ["Resize 3x3"]
    assert said(draft(text, key="t").recipe().steps) == [RESIZE]


def test_a_base_stays_inside_its_folder(tmp_path: Path) -> None:
    inner = tmp_path / "project" / "configs"
    inner.mkdir(parents=True)
    (tmp_path / "project" / "base.py").write_text("size = 64\n")
    (inner / "top.py").write_text(
        "_base_ = '../base.py'\ntrain_pipeline = [dict(type='RandomCrop', crop_size=(_base_.size, _base_.size)), "
        "dict(type='RandomFlip', prob=0.5)]\n"
    )
    kept = draft_of(str(inner / "top.py"))
    assert [left.name for left in kept.left_out()] == ["RandomCrop"]
    assert any("lies outside" in note and "--base-root" in note for note in kept.notes)
    assert draft_of(str(inner / "top.py"), base_root=tmp_path / "project").left_out() == ()
    dropped = draft((inner / "top.py").read_text(), str(inner / "top.py"))  # a text, as dropped on a page
    assert [left.name for left in dropped.left_out()] == ["RandomCrop"]
    (inner / "link.py").symlink_to(tmp_path / "project" / "base.py")
    (inner / "top.py").write_text((inner / "top.py").read_text().replace("../base.py", "link.py"))
    assert [left.name for left in draft_of(str(inner / "top.py")).left_out()] == ["RandomCrop"]


HOSTILE = {
    "powers": "a = 2**10**10\nb = 9**9**9**9\nc = 1 << 10**9\nd = round(5, -10**9)",
    "texts": "a = 'a' * 10**9\nb = f'{1:>1000000000}'\nc = '%1000000000d' % 3\nd = 'a'.join(['b' * 10000] * 10000)",
    "ranges": "a = range(10**12)\nb = list(range(10**9))\nc = [0] * 10**9\nfor i in range(10**9):\n    x = i",
    "doubled lists": "a = [1]\n" + "a = [a, a, a]\n" * 60 + "b = a == a\nc = str(a)\ntrain = [a, dict(type='Blur')]",
    "doubled tuples": "a = (1,)\n" + "a = (a, a, a)\n" * 60 + "b = {a: 1}\nc = a in {1: 2}\nd = a < a",
    "brackets": "x = " + "[" * 5000 + "]" * 5000,
    "signs": "x = " + "-" * 3000 + "1",
    "sums": "x = " + "+".join(["1"] * 20_000),
    "calls": "f" + "(x)" * 3000,
    "attributes": "x = a" + ".b" * 20_000,
    "itself": HEAD + "a = []\na.append(a)\nb = {}\nb['b'] = b\n"
    "t = A.Compose(a)\nu = A.Compose([A.Blur(b)])\nv = [a, b]",
    "recursion": HEAD + "def f(n):\n    return f(n + 1)\nx = f(1)\n"
    "def g():\n    return A.Compose([g(), g(), g()])\ny = g()",
    "doubling calls": HEAD + "".join(f"def f{i}(): return [*f{i + 1}(), *f{i + 1}()]\n" for i in range(60))
    + "def f60(): return [A.Blur()]\nt = A.Compose(f0())",
    "loops": HEAD + "for a in range(200):\n for b in range(200):\n  for c in range(200):\n   t = A.Compose([A.Blur()])",
    "bases": "".join(f"class C{i}(C{i - 1}, C{i - 1}): pass\n" for i in range(1, 500)) + "y = C499.q",
    "elif": "if a == 0: x = 1\n" + "".join(f"elif a == {i}: x = {i}\n" for i in range(1, 900)),
    "nul": "a = 1\0",
    "dots": "import " + ".".join(["a"] * 400_000),
    "shared groups": HEAD + "x = A.Blur()\n" + "x = A.OneOf([x, x])\n" * 30 + "t = A.Compose([x])",
    "shared calls": "x = dict(type='Blur')\n" + "x = dict(type='OneOf', transforms=[x, x])\n" * 30 + "tf = [x]",
    "wide bases": "".join(f"class C{i}({', '.join([f'C{i - 1}'] * 30)}): pass\n" for i in range(1, 99)) + "y = C98.q",
    "branches": HEAD + "t = []\n" + "".join(f"if c.x{i}:\n    t.append(A.Blur(p={i}))\n" for i in range(9_000)),
    "tests": HEAD + "t = A.Compose([A.D4()])\n" + "".join(f"if train{i}:\n    x = {i}\n" for i in range(9_000)),
    "cases": HEAD + "match x:\n" + "".join(f"  case {i}:\n    y = A.Compose([A.Blur()])\n" for i in range(9_000)),
    "returns": HEAD + "def f():\n" + "  if a: return A.Compose([A.Blur()])\n" * 15_000,
    "returns by many tests": HEAD + "def f():\n" + "".join(f"  if a{i}: return A.Blur({i})\n" for i in range(9_000)),
    "branches of calls": HEAD
    + "".join(f"def f{i}():\n if c.x{i}: return f{i + 1}()\n return [f{i + 1}()]\n" for i in range(60))
    + "def f60(): return A.Blur()\nt = A.Compose(f0())",
    "sums of choices": "x = 0\n" + "".join(f"if c.x{i}: x += {i}\ny = [x, *[x] * 9]\n" for i in range(2_000)),
    "choices in loops": HEAD + "t = []\nfor i in range(60):\n for j in range(60):\n  if c[i] > j: t.append(A.Blur(i))\n"
    + "u = A.Compose([x for x in t if x])",
    "pipelines": "".join(f"p{i} = [dict(type='Blur', p=0.{i})]\n" for i in range(5_000)),
    **{f"lists, {line}": f"{HEAD}a = [*range(9000)]\nb = list(a)\n" + f"{line}\n" * 4_000 for line in (
        "max(a)", "sorted(a)", "5 in a", "a == b", "A.Compose(a)", "t = A.Compose([A.Blur(a)])", "a[1:]", "a.copy()",
        "s = list(range(9999))", "s = [*a, *a]", "s = dict(enumerate(a))", "x = f'{a}'", "zip(a, a)",
    )},
    **{f"short lines, {line}": f"{HEAD}a = []\n" + f"{line}\n" * 40_000 for line in (
        "x = A.Compose(a)", "x = A.Compose([A.Blur()])", "x = [A.Blur()]", "a == b",
    )},
    "surrogate": "a = '\ud800'",
}  # fmt: skip


def test_the_budget_is_for_all_of_a_source() -> None:
    text = HEAD + "x = A.Blur()\n" + "x = A.OneOf([x, x])\n" * 16 + "t = A.Compose([x])"
    with pytest.raises(ar.RecipeError, match="E604 import: too much to read"):
        draft(text)
    with pytest.raises(ZeroDivisionError), bounded("mine", between=lambda: 1 / 0):
        draft(UNKNOWN)


def test_memory_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within an eighth of the budget."""
    _grant(monkeypatch, 8)
    tracemalloc.start()
    _read_or_refused("".join(f"s{i} = list(range(9999))\n" for i in range(150)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6  # of 50 MB


@pytest.mark.parametrize("name", HOSTILE)
@in_a_soak("part", 16, 1)
def test_hostile_source_is_read_within_bounds(part: int, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default a part of a long file within the same part of the budget."""
    _grant(monkeypatch, part)
    lines = HOSTILE[name].splitlines(keepends=True)
    text = "".join(lines[: len(lines) // part] + lines[-1:]) if len(lines) > 1000 else HOSTILE[name]
    assert _work(text) < 12_000_000 // part


def _grant(monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """Make the budget of reading smaller."""
    monkeypatch.setattr(budget, "MOST", budget.MOST // part)
    monkeypatch.setattr(budget._ReadingBudget.__init__, "__defaults__", (budget.MOST,))


def _work(text: str) -> int:
    """How many calls reading a text takes, of Python's functions and of its own."""
    count = 0

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        del frame, arg
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        draft(text)
    except ar.RecipeError:
        pass
    finally:
        sys.setprofile(before)
    return count


@DEAR
@given(st.integers(0, 2**32))
def test_random_programs_are_read_or_refused(seed: int) -> None:
    _read_or_refused(hostile(seed))


def _read_or_refused(text: str) -> None:
    try:
        found = draft(text)
        found.complete()
        found.to_yaml()
    except ar.RecipeError:
        pass


@pytest.mark.parametrize("fault", ["held", "operators"])
def test_the_law_of_random_programs_sees_faults(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    if fault == "held":
        monkeypatch.setattr(functions, "binary", lambda op, left, right: left + right)
    else:
        monkeypatch.setattr(functions, "OPERATORS", {ast.Add: functions.OPERATORS[ast.Add]})

    @PLANTED
    @given(st.integers(0, 2**32))
    def law(seed: int) -> None:
        _read_or_refused(hostile(seed))

    with pytest.raises((TypeError, KeyError)):
        law()


def _lines(count: int) -> str:
    return "".join(f"x{i} = [f(g) + {i}, cfg.size]\ny{i} = x{i}[0]\n" for i in range(count))


def test_work_is_linear_in_the_file() -> None:
    assert _work(_lines(1200)) < 2.3 * _work(_lines(600))


def test_the_law_of_work_sees_an_expression_searched_from_the_top(monkeypatch: pytest.MonkeyPatch) -> None:
    def searched(self: SourceText, node: ast.expr) -> str:
        text = b"\n".join(self.lines).decode()
        return " ".join((ast.get_source_segment(text, node) or "").split())

    monkeypatch.setattr(SourceText, "text", searched)
    assert _work(_lines(120)) > 2.6 * _work(_lines(60))


def test_names_lead_to_each_pipeline() -> None:
    text = HEAD + (
        "class Data:\n    train_tf = A.Compose([A.D4()])\n    def val(self):\n        return A.Compose([A.Blur()])\n"
        "sets = {'a': make(A.Compose([A.Transpose()]))}\nfit(x, tf=A.Compose([A.VerticalFlip()]))\n"
    )
    assert [found.path for found in read(text, "t.py").matches] == ["Data.train_tf", "sets.a", "fit.tf", "Data.val"]
