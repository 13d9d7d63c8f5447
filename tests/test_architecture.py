"""Rules of the source that no linter knows: private hooks, facts about classes, kinds, lazy imports, lengths.

Which package may import which is in pyproject.toml, and `make lint` holds it.
"""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.syntax import nodes, parsed

import augrecipes
from augrecipes.ops import catalog
from augrecipes.ops.groups import GROUPS
from augrecipes.recipe import kinds

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "augrecipes"
LONGEST = 320

# What is private to others is compat's, whatever it is called.
INNARDS = frozenset({"f_locals", "f_back", "__globals__", "__code__", "__closure__", "__pydantic_decorators__"})
PUBLIC = frozenset({"_replace", "_asdict", "_exit"})  # of named tuples and os, in spite of their names
# Facts about a class stand in its record: elsewhere its name stands only where steps are made of something else.
NAMES_CLASSES = (
    "ops/families/", "ops/groups.py", "ops/policies.py", "ops/policy_steps.py", "ops/eval_windows.py",
    "recipe/history.py", "interop/",
)  # fmt: skip
CLASSES = frozenset({*catalog.shipped(), *GROUPS})
# What a kind brings, and the package that each part belongs to.
PARTS = {"pipeline": "compiler", "reader": "sources", "dataset": "data", "sheet": "preview", "alone": "tta"}
OF_ONE_KIND = {
    getattr(kinds.part(kind, part), record).__name__
    for kind in kinds.KINDS
    for part, record in (("pipeline", "PIPELINE"), ("reader", "TABLE"), ("dataset", "DATASET"))
} - {"Columns"}
VAGUE = frozenset({"utils", "util", "helpers", "helper", "misc", "common"})


def parts_asked_for(path: str, text: str) -> list[str]:
    """Where a file asks for a part of a kind, by `kinds.part(kind, "dataset")`, that belongs to a package above it."""
    found = []
    for node in nodes(text):
        match node:
            case ast.Call(func=ast.Attribute(attr="part") | ast.Name(id="part"), args=[_, ast.Constant(value=part)]):
                if part in PARTS and _height(path.partition("/")[0]) < _height(PARTS[part]):
                    found.append(f"{path}:{node.lineno}: asks for {part}, which is above")
    return found


@cache
def _height(package: str) -> int:
    """How high a package stands among the layers of pyproject.toml; what is in none stands above all."""
    layers: list[str] = _contracts()[0]["layers"]
    return -layers.index(package) if package in layers else 1


def _contracts() -> list[dict[str, Any]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts: list[dict[str, Any]] = project["tool"]["importlinter"]["contracts"]
    return contracts


def imports_that_point_up(path: str, text: str) -> list[str]:
    """Where a file imports, in a function too, or by a text, what lies in a package above its own."""
    package, found = path.partition("/")[0].removesuffix(".py"), []
    for node in _run_nodes(parsed(text)):
        match node:
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module="augrecipes", names=names):
                modules = [f"augrecipes.{alias.name}" for alias in names]
            case ast.ImportFrom(module=str(module)):
                modules = [module]
            case ast.Call(func=ast.Attribute(attr="import_module") | ast.Name(id="import_module"), args=[name, *_]):
                modules = [one for one in _texts(name) if isinstance(one, str)]
            case _:
                continue
        above = {module.split(".")[1] for module in modules if module.startswith("augrecipes.")} - {"__version__"}
        found += [f"{path}:{node.lineno}: imports {one}" for one in above if _height(one) > _height(package)]
    return found


def _run_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree that run: not those for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and _names(node.test) == {"TYPE_CHECKING"}):
            yield node
            yield from _run_nodes(node)


@cache
def _made_in(text: str) -> set[str]:
    """Names that a file defines: functions, classes, variables and attributes."""
    found = set()
    for node in nodes(text):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return found


def hooks_of(path: str, text: str, ours: frozenset[str] | set[str] = frozenset()) -> list[str]:
    """Private parts of others that a file takes hold of: of `self` also what the package, `ours`, does not define."""
    here, found = _made_in(text), []
    for node in nodes(text):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [*str(node.module).split("."), *(alias.name for alias in node.names)]
            top = names[0]
        elif isinstance(node, ast.Import):
            names = [part for alias in node.names for part in alias.name.split(".")]
            top = names[0]
        elif isinstance(node, ast.Attribute):
            value = node.value.func if isinstance(node.value, ast.Call) else node.value
            mine = isinstance(value, ast.Name) and value.id in ("self", "cls", "super")
            names = [] if node.attr in (ours if mine else here) else [node.attr]
            top = ""
        else:
            continue
        private = [n for n in names if n in INNARDS or (n.startswith("_") and not n.endswith("__") and n not in PUBLIC)]
        if private and top not in ("augrecipes", "__future__"):
            found.append(f"{path}:{node.lineno}: takes hold of {private[0]}")
    return found


def classes_named_in(path: str, text: str) -> list[str]:
    """Names of classes, groups and the like that a file spells out as texts of their own."""
    return [
        f"{path}:{node.lineno}: names {node.value}"
        for node in nodes(text)
        if isinstance(node, ast.Constant) and node.value in CLASSES
    ]


def kinds_named_in(path: str, text: str) -> list[str]:
    """Where a file does one thing for one kind of recipe, and another thing for others, by the kind's name."""
    found = []
    for node in nodes(text):
        match node:
            case ast.Compare(left=left, comparators=others):
                named = _speaks_of_kind(left, *others) and _texts(left, *others) & {*kinds.KINDS}
            case ast.Match(subject=subject, cases=cases):
                named = _speaks_of_kind(subject) and _texts(*(case.pattern for case in cases)) & {*kinds.KINDS}
                named = named or _names(*(case.pattern for case in cases)) & OF_ONE_KIND
            case ast.Dict(keys=[ast.Constant(), ast.Constant(), *_] as keys):
                named = _texts(*filter(None, keys)) <= {*kinds.KINDS}
            case ast.Subscript(slice=ast.Attribute(attr="kind", value=of)):
                named = _names(of) & {"self", "recipe", "store"}
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, classes]):
                named = _names(classes) & OF_ONE_KIND
            case _:
                continue
        if named:
            found.append(f"{path}:{node.lineno}: branches on the kind of a recipe")
    return found


def _speaks_of_kind(*nodes: ast.AST) -> bool:
    return any(getattr(node, "attr", getattr(node, "id", "")).endswith("kind") for node in nodes)


def _texts(*nodes: ast.AST) -> set[Any]:
    return {inner.value for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Constant)}


def _names(*nodes: ast.AST) -> set[str]:
    return {inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@cache
def _sources() -> dict[str, str]:
    return {file.relative_to(PACKAGE).as_posix(): file.read_text(encoding="utf-8") for file in _files()}


def test_only_compat_takes_hold_of_what_is_private() -> None:
    texts = _sources()
    ours = set().union(*(_made_in(text) for text in texts.values()))
    found = [fault for path, text in texts.items() for fault in hooks_of(path, text, ours)]
    assert [fault for fault in found if not fault.startswith("compat/")] == []
    assert any("_shutdown_workers" in fault for fault in found)


def test_facts_about_a_class_stand_in_its_record() -> None:
    texts = {path: text for path, text in _sources().items() if not path.startswith(NAMES_CLASSES)}
    assert [fault for path, text in texts.items() for fault in classes_named_in(path, text)] == []


def test_a_class_is_named_once_among_the_records() -> None:
    families = [text for path, text in _sources().items() if path.startswith("ops/families/")]
    calls = [node for text in families for node in nodes(text) if isinstance(node, ast.Call) and node.args]
    named = [call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)]
    records = [name for name in named if name in CLASSES]
    assert sorted(records) == sorted(CLASSES - {*GROUPS, "Degrade", "AutoAugment", "RandAugment", "TrivialAugment"})


def test_parts_of_kinds_are_asked_for_from_above() -> None:
    texts = {path: text for path, text in _sources().items() if not path.startswith("kinds/")}
    assert [fault for path, text in texts.items() for fault in parts_asked_for(path, text)] == []


def test_imports_point_down_without_exception() -> None:
    assert [fault for path, text in _sources().items() for fault in imports_that_point_up(path, text)] == []
    assert [contract["name"] for contract in _contracts() if "ignore_imports" in contract] == []


def test_no_room_branches_on_the_kind_of_a_recipe() -> None:
    texts = {path: text for path, text in _sources().items() if not path.startswith(("kinds/", "recipe/kinds.py"))}
    assert [fault for path, text in texts.items() for fault in kinds_named_in(path, text)] == []


# Planted faults: each check, a file that it must complain of, and what it must say of it; or that it must let pass.
PLANTED: list[tuple[Callable[[str, str], list[str]], str, str, str]] = [
    (parts_asked_for, "recipe/parse.py", 'part(self.kind, "pipeline")', "asks for pipeline"),
    (parts_asked_for, "bench/sides.py", 'kinds.part(recipe.kind, "dataset")', ""),
    (
        imports_that_point_up,
        "recipe/a.py",
        "def f():\n    from augrecipes.compiler import compile",
        "2: imports compiler",
    ),
    (imports_that_point_up, "errors.py", "from augrecipes import recipe", "1: imports recipe"),
    (imports_that_point_up, "sources/a.py", 'import_module(f"augrecipes.kinds.{kind}")', "1: imports kinds"),
    (imports_that_point_up, "cli/a.py", "from augrecipes import api, lint\nimport augrecipes.errors", ""),
    (imports_that_point_up, "recipe/a.py", "if TYPE_CHECKING:\n    from augrecipes import api", ""),
    (classes_named_in, "lint/a.py", 'if step.name == "Degrade":\n    pass', "1: names Degrade"),
    (classes_named_in, "ops/ranges.py", 'NEUTRAL = {"Rotate": {"limit": 0}}', "1: names Rotate"),
    (classes_named_in, "lint/a.py", '_SIZES = {\n    "Resize": 1,\n}', "2: names Resize"),
    (classes_named_in, "lint/a.py", '"""Such as `RandomCrop`."""\nf"{name} after RandomCrop: use CenterCrop"', ""),
    (kinds_named_in, "bench/a.py", 'a = 1 if self.kind in ("image", "bag") else 2', "branches"),
    (kinds_named_in, "bench/a.py", "match table:\n    case BagTable(bags=bags):\n        pass", "branches"),
    (kinds_named_in, "bench/a.py", '_UNITS = {"image": 1, "pair": 2, "bag": 3}', "branches"),
    (kinds_named_in, "bench/a.py", "_UNITS[recipe.kind]", "branches"),
    (kinds_named_in, "bench/a.py", "isinstance(pipeline, ImagePipeline | BagPipeline)", "branches"),
    (kinds_named_in, "bench/a.py", 'kind == "read"\n{"image": 1, "mask": 2}\n', ""),
    (hooks_of, "data/a.py", "from torch._C._autograd import profiler", "takes hold of _C"),
    (hooks_of, "data/a.py", "import albumentations.core._x", "takes hold of _x"),
    (hooks_of, "data/a.py", "loader._iterator", "takes hold of _iterator"),
    (hooks_of, "data/a.py", "class A:\n    def f(self):\n        self._keys", "3: takes hold of _keys"),
    (hooks_of, "data/a.py", "trace.tb_frame.f_locals", "takes hold of f_locals"),
    (hooks_of, "data/a.py", "class A:\n    def _f(self, other):\n        other._f()", ""),
]


@pytest.mark.parametrize(("check", "path", "text", "fault"), PLANTED)
def test_planted_faults_are_found(check: Any, path: str, text: str, fault: str) -> None:
    found = check(path, text)
    assert [one.partition(fault)[1] for one in found] == ([fault] if fault else []), found


def test_no_file_is_long_and_none_has_a_vague_name() -> None:
    files = [*_files(), *(ROOT / "benchmarks").rglob("*.py")]
    lengths = {str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}
    assert [file for file in files if file.stem in VAGUE] == []


def test_public_names_are_there() -> None:
    assert sorted(set(augrecipes.__all__)) == sorted(augrecipes.__all__)
    assert set(dir(augrecipes)) == set(augrecipes.__all__)
    for name in augrecipes.__all__:
        assert getattr(augrecipes, name) is not None
    with pytest.raises(AttributeError, match="ImageFolder"):
        _ = augrecipes.ImageFoldr  # type: ignore[attr-defined]


def test_type_checkers_see_the_same_public_names() -> None:
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    (block,) = [n for n in tree.body if isinstance(n, ast.If)]
    seen = {alias.asname for n in block.body if isinstance(n, ast.ImportFrom) for alias in n.names}
    assert seen | {"__version__"} == set(augrecipes.__all__)


PARSED = "from augrecipes.recipe.gallery import *; from augrecipes.recipe.parse import load as p; n = gallery_names"
LINTED = """
from augrecipes.lint import lint
from augrecipes.recipe.model import Arguments, Recipe, Step
found = lint(Recipe("t", steps=(Step("Rotate", Arguments({"limit": 0})), Step("ColorJitter")), eval=()))
assert [one.code for one in found] == ["L103", "L303"], found
"""


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import augrecipes", "torch albumentations cv2 numpy yaml rich argparse"),
        ("import augrecipes as ar; ar.load('folder-128')", "torch albumentations cv2"),
        (PARSED, "albumentations torch cv2 numpy pydantic"),
        (LINTED, "albumentations torch cv2 numpy"),
        ("main(['list'])", "albumentations torch cv2 numpy"),
        ("main(['check', '--strict', 'stained-tissue'])", "torch albumentations cv2 numpy scipy pydantic rich"),
        ("main(['diff', 'folder-128', '--set', 'HorizontalFlip.p=0.2'])", "albumentations torch cv2"),
    ],
)
def test_heavy_packages_are_imported_late(code: str, absent: str) -> None:
    report = f"print('LOADED', *(m for m in {absent.split()!r} if sys.modules.get(m)), file=sys.stderr)"
    if code.startswith("main"):
        code = (
            f"from augrecipes.cli import main\ntry:\n    {code}\nexcept SystemExit as left:\n    assert left.code < 2"
        )
    program = f"import atexit, sys\natexit.register(lambda: {report})\n{code}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1].split() == ["LOADED"]


def test_warnings_stay_errors(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.getini("filterwarnings")[0] == "error"
