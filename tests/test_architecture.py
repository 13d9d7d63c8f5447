"""The house rules, read off the source: which way imports point, what stays lazy, how long a file may be."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import augrecipes
from augrecipes import kinds
from augrecipes.ops import catalog
from augrecipes.ops.groups import GROUPS

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "augrecipes"
LONGEST = 320

# A part may import those on its right, never those on its left.
LAYERS = (
    "notebook", "cli", "studio", "demo", "bench", "diff", "verify", "preview", "packing", "bring",
    "data", "sources", "device", "compiler", "lint", "recipe", "ops", "versions", "compat", "store", "images",
    "remote", "native",
    "machine", "sharing", "cache", "paths", "report", "progress", "display", "seeds", "user_code", "kinds",
    "flow", "errors",
)  # fmt: skip
# A kind's folder has modules of several rooms: where each of them stands, as if it were there.
PARTS = {
    "__init__": "kinds.facts", "pipeline": "compiler.run.kinds", "reader": "sources.kinds",
    "dataset": "data.kinds", "sheet": "preview.kinds",
}  # fmt: skip
# Inside a room: modules may import those further down; what is not named stands where None does.
INSIDE: dict[str, tuple[set[str | None], ...]] = {
    # The loader, what it is made of, the datasets, and their batches.
    "data": (
        {"loader"},
        {"choice", "fetch", "passes", "processes", "samplers", "state", "threads"},
        {None, "datasets"},
        {"epochs", "order", "visits"},
    ),
    # What compiles and explains; pipelines that run; plans and the rules that make them; kernels.
    "compiler": ({None, "compile"}, {"run"}, {"lowering"}, {"executor"}, {"rewrite"}, {"kernels"}),
}
# Files of pictures are read through these parts alone.
READERS = frozenset({"bench", "data", "packing", "preview", "sources", "store", "studio", "verify"})
# Doors from the language up: Recipe.compile, .device_stage, .to_albumentations, .transform, .show; and what notebooks
# ask of any object, and of datasets.
DOORS = frozenset(
    {
        *(("recipe/model.py", room) for room in ("compiler", "data", "device", "bring", "notebook")),
        ("display.py", "notebook"),
        ("data/indexed.py", "notebook"),
    }
)
# Methods of Recipe that users call, and that work further up: the only circles of calls.
CIRCLES = frozenset(
    {
        ("augrecipes.recipe.model", "augrecipes.compiler.compile"),  # Recipe.compile
        ("augrecipes.recipe.model", "augrecipes.compiler.run.pipeline"),  # what Recipe.compile returns
        ("augrecipes.recipe.model", "augrecipes.data.transform"),  # Recipe.transform, Recipe.map_batches
        ("augrecipes.recipe.model", "augrecipes.device.stage"),  # Recipe.device_stage
        ("augrecipes.recipe.model", "augrecipes.bring.plain"),  # Recipe.to_albumentations
        ("augrecipes.recipe.model", "augrecipes.recipe.write"),  # Recipe.to_yaml
        ("augrecipes.recipe.model", "augrecipes.notebook.show"),  # Recipe.show
        ("augrecipes.recipe.model", "augrecipes.preview.sheet"),  # what Recipe.show returns
        ("augrecipes.data.indexed", "augrecipes.notebook.show"),  # RecipeDataset.show
        ("augrecipes.data.indexed", "augrecipes.preview.sheet"),  # what RecipeDataset.show returns
        ("augrecipes.display", "augrecipes.notebook.pages"),  # _repr_html_
    }
)
# Who may import what is heavy, or what must have a single place: paths that must begin so.
OUTSIDE = {
    "albumentations": ("compat/",),
    "yaml": ("recipe/parse.py", "recipe/write.py", "bring/reading.py"),
    "torch": ("bench/", "compat/torch.py", "data/", "demo/", "device/"),
    "typer": ("cli/",),
    "rich": ("cli/demo.py", "demo/", "progress.py", "report.py"),
    "jinja2": ("bench/report/",),
    "starlette": ("studio/",),
    "uvicorn": ("studio/",),
}
# What is private to others is compat's, whatever it is called.
INNARDS = frozenset({"f_locals", "f_back", "__globals__", "__code__", "__closure__", "__pydantic_decorators__"})
PUBLIC = frozenset({"_replace", "_asdict", "_exit"})  # of named tuples and os, in spite of their names
# Facts about a class live in ops: elsewhere its name stands only where old and foreign names become today's.
NAMES_CLASSES = ("ops/", "recipe/synonyms.py", "recipe/history.py", "recipe/releases.py", "bring/")
CLASSES = frozenset({*catalog.shipped(), *GROUPS})
# Rooms ask for facts of a kind, or for a module of its folder; none of them names a kind, or what only one has.
KIND_FOLDERS = tuple(f"kinds.{kind}." for kind in kinds.KINDS)
OF_ONE_KIND = {
    getattr(kinds.part(kind, part), record).__name__
    for kind in kinds.KINDS
    for part, record in (("pipeline", "PIPELINE"), ("reader", "TABLE"), ("dataset", "DATASET"))
} - {"Columns"}
VAGUE = frozenset({"utils", "util", "helpers", "helper", "misc", "common"})


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


class Import(NamedTuple):
    """One import of a module, that runs: those for the type checker only do not count."""

    module: str
    line: int


def imports_of(node: ast.AST) -> Iterator[Import]:
    """Every import that can run, wherever in the file it stands."""
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=otherwise):
            for child in otherwise:
                yield from imports_of(child)
        case ast.Import(names=names):
            yield from (Import(alias.name, node.lineno) for alias in names)
        case ast.ImportFrom(module="augrecipes", names=names, level=0):
            # `from augrecipes import sources` imports a part, `from augrecipes import load` a public name.
            yield from (Import(f"augrecipes.{alias.name}", node.lineno) for alias in names)
        case ast.ImportFrom(module=str(module), names=names, level=0) if module.startswith("augrecipes.kinds"):
            yield from (Import(f"{module}.{alias.name}", node.lineno) for alias in names)
        case ast.ImportFrom(module=str(module), level=0):
            yield Import(module, node.lineno)
        case ast.ImportFrom():
            yield Import("<relative>", node.lineno)
        case _:
            if (part := part_asked_for(node)) is not None:
                yield Import(f"augrecipes.kinds.any.{part}", getattr(node, "lineno", 0))
            for child in ast.iter_child_nodes(node):
                yield from imports_of(child)


def part_asked_for(node: ast.AST) -> str | None:
    """Which module of a kind's folder a call of `kinds.part(kind, "module")` imports."""
    match node:
        case ast.Call(func=ast.Attribute(attr="part") | ast.Name(id="part"), args=[_, ast.Constant(value=str(part))]):
            return part
    return None


def placed(name: str) -> str:
    """A module by its path or dotted name in the package; one of a kind's folder as if it stood in its room."""
    names = name.removesuffix(".py").replace("/", ".").split(".")
    return PARTS.get(names[2], name) if names[0] == "kinds" and len(names) > 2 else ".".join(names)


def faults_of(path: str, text: str) -> list[str]:
    """What the imports of one file, named relative to the package, do wrong."""
    part = placed(path).partition(".")[0]
    found = []
    for module, line in imports_of(_parsed(text)):
        top, _, rest = module.partition(".")
        target = placed(rest).partition(".")[0]
        if top == "<relative>":
            found.append(f"{path}:{line}: relative import")
        elif top != "augrecipes":
            if not path.startswith(OUTSIDE.get(top, ("",))):
                found.append(f"{path}:{line}: imports {top}")
        elif rest.startswith(KIND_FOLDERS) and not path.startswith(("kinds/", "__init__.py")):
            found.append(f"{path}:{line}: imports {rest}")
        elif not _allowed(path, part, target):
            found.append(f"{path}:{line}: {part} imports {target or 'augrecipes'}")
    return found


def _made_in(tree: ast.AST) -> set[str]:
    """Names that a file defines: functions, classes, variables and attributes."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return found


def hooks_of(path: str, text: str, ours: frozenset[str] | set[str] = frozenset()) -> list[str]:
    """Private parts of others that a file takes hold of: of `self` also what the package, `ours`, does not define."""
    tree = _parsed(text)
    here, found = _made_in(tree), []
    for node in ast.walk(tree):
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
        for node in ast.walk(_parsed(text))
        if isinstance(node, ast.Constant) and node.value in CLASSES
    ]


def kinds_named_in(path: str, text: str) -> list[str]:
    """Where a file does one thing for one kind of recipe, and another thing for others, by the kind's name."""
    found = []
    for node in ast.walk(_parsed(text)):
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


def _allowed(path: str, part: str, target: str) -> bool:
    if part in {"__init__", "__main__", target} or (path, target) in DOORS or target == "__version__":
        return True
    if target == "images" and part not in READERS:
        return False
    if target in LAYERS:
        return LAYERS.index(target) > LAYERS.index(part)
    # What is left are public names: the demo is written as a user would write it.
    return part == "demo"


def place_inside(path: str) -> int:
    """The place of a module, by its path or dotted name, among those of its room."""
    room, name, *_ = placed(path).split(".")
    named = {one for names in INSIDE[room] for one in names}
    return next(place for place, names in enumerate(INSIDE[room]) if (name if name in named else None) in names)


def faults_inside(path: str, text: str) -> list[str]:
    """What the imports of one file do wrong inside of its room."""
    room = placed(path).partition(".")[0]
    return [
        f"{path}:{line}: imports {module}"
        for module, line in imports_of(_parsed(text))
        if (mine := placed(module.removeprefix("augrecipes."))).startswith(f"{room}.")
        and room in INSIDE
        and place_inside(mine) < place_inside(path)
    ]


def _files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@cache
def _sources() -> dict[str, str]:
    return {file.relative_to(PACKAGE).as_posix(): file.read_text(encoding="utf-8") for file in _files()}


def test_imports_point_one_way() -> None:
    texts = _sources().items()
    assert [fault for path, text in texts for fault in (*faults_of(path, text), *faults_inside(path, text))] == []


def test_only_compat_takes_hold_of_what_is_private() -> None:
    texts = _sources()
    ours = set().union(*(_made_in(_parsed(text)) for text in texts.values()))
    found = [fault for path, text in texts.items() for fault in hooks_of(path, text, ours)]
    assert [fault for fault in found if not fault.startswith("compat/")] == []
    assert any("_shutdown_workers" in fault for fault in found)


def test_facts_about_classes_live_in_ops() -> None:
    texts = {path: text for path, text in _sources().items() if not path.startswith(NAMES_CLASSES)}
    assert [fault for path, text in texts.items() for fault in classes_named_in(path, text)] == []


def test_no_room_branches_on_the_kind_of_a_recipe() -> None:
    texts = {path: text for path, text in _sources().items() if not path.startswith("kinds/")}
    assert [fault for path, text in texts.items() for fault in kinds_named_in(path, text)] == []


# Planted faults: each check, a file that it must complain of, and what it must say of it; or that it must let pass.
PLANTED: list[tuple[Callable[[str, str], list[str]], str, str, str]] = [
    (faults_of, "compiler/run/grid.py", "import albumentations as A", "imports albumentations"),
    (faults_of, "ops/geometry.py", "from augrecipes.compiler.run.draws import Draws", "ops imports compiler"),
    (faults_of, "recipe/parse.py", "def f():\n    import augrecipes.data.folder", "recipe imports data"),
    (
        faults_of,
        "compiler/run/grid.py",
        "from augrecipes.sources.files import read_image",
        "compiler imports sources",
    ),
    (faults_of, "compiler/run/grid.py", "from augrecipes import data", "compiler imports data"),
    (faults_of, "data/folder.py", "from augrecipes import load", "data imports load"),
    (faults_of, "data/folder.py", "from . import loader", "relative import"),
    (faults_of, "errors.py", "import augrecipes.flow", "errors imports flow"),
    (faults_of, "data/folder.py", "try:\n    import rich\nexcept ImportError:\n    pass", "imports rich"),
    (faults_of, "kinds/pair/reader.py", "from augrecipes.kinds.pair.sheet import sheet", "sources imports preview"),
    (faults_of, "kinds/bag/__init__.py", "from augrecipes.recipe.model import Recipe", "kinds imports recipe"),
    (faults_of, "recipe/parse.py", 'part(self.kind, "pipeline")', "recipe imports compiler"),
    (faults_of, "bench/a.py", "from augrecipes.kinds.bag.dataset import TileBags", "kinds.bag.dataset.TileBags"),
    (faults_of, "ops/a.py", "if TYPE_CHECKING:\n    pass\nelse:\n    import torch", "imports torch"),
    (faults_of, "recipe/model.py", "def compile():\n    from augrecipes.compiler.compile import compile_recipe", ""),
    (faults_of, "ops/registry.py", "if TYPE_CHECKING:\n    from augrecipes.recipe.model import Step", ""),
    (faults_of, "kinds/bag/pipeline.py", "from augrecipes.kinds.image.pipeline import ImagePipeline", ""),
    (faults_of, "bench/sides.py", 'kinds.part(recipe.kind, "dataset")', ""),
    (faults_of, "demo/run.py", "import augrecipes as ar\nimport torch", ""),
    (faults_inside, "data/folder.py", "from augrecipes.data.loader import loader", "data.loader"),
    (faults_inside, "kinds/image/dataset.py", "from augrecipes.data.loader import loader", "data.loader"),
    (faults_inside, "compiler/rewrite/rule.py", "def f():\n    import augrecipes.compiler.run.pipeline", "pipeline"),
    (faults_inside, "compiler/kernels/moves.py", "from augrecipes.compiler.rewrite.nodes import Fused", "nodes"),
    (faults_inside, "kinds/image/pipeline.py", "from augrecipes.compiler.explain import explain", "explain"),
    (faults_inside, "compiler/explain.py", "from augrecipes.compiler.kernels.sink import Sink", ""),
    (classes_named_in, "lint/a.py", 'if step.name == "Degrade":\n    pass', "1: names Degrade"),
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


def call_graph(files: dict[str, str], *, typing: bool = False) -> dict[str, set[str]]:
    """What each module imports of the others, at import time, in a call or to name types, but for the doors."""
    graph: dict[str, set[str]] = {name: set() for name in files}
    for name, text in files.items():
        for node in _imports(text, typing):
            if isinstance(node, ast.ImportFrom) and node.module:
                named = {f"{node.module}.{alias.name}" for alias in node.names}
                graph[name] |= (named & set(files)) or ({node.module} & set(files))
            elif (part := part_asked_for(node)) is not None:
                graph[name] |= {to for to in files if to.startswith("augrecipes.kinds.") and to.endswith(f".{part}")}
        graph[name] -= {to for door, to in CIRCLES if door == name}
    return graph


def _nodes(node: ast.AST, typing: bool) -> Iterator[ast.AST]:
    """All nodes in it; without `typing` none that only type checkers read."""
    yield node
    blocks: list[ast.AST] = [*ast.iter_child_nodes(node)]
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" and not typing:
        blocks = [*node.orelse]
    for child in blocks:
        yield from _nodes(child, typing)


@cache
def _imports(text: str, typing: bool) -> list[ast.AST]:
    return [one for one in _nodes(_parsed(text), typing) if isinstance(one, ast.ImportFrom | ast.Call)]


def _modules() -> dict[str, str]:
    names = {file: file.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".") for file in _files()}
    return {name.removesuffix(".__init__"): file.read_text(encoding="utf-8") for file, name in names.items()}


@pytest.mark.parametrize("typing", [False, True])
def test_nothing_but_the_doors_is_tied_in_a_circle(typing: bool) -> None:
    """Neither calls come back to where they started, nor names of types."""
    TopologicalSorter(call_graph(_modules(), typing=typing)).prepare()
    for here, there in (("recipe.nodes", "recipe.parse"), ("ops.own", "ops.registry")):
        files = _modules()
        block = "if TYPE_CHECKING:" if typing else "def f():"
        files[f"augrecipes.{here}"] += f"\n{block}\n    from augrecipes.{there} import anything\n"
        with pytest.raises(CycleError):
            TopologicalSorter(call_graph(files, typing=typing)).prepare()


def test_every_part_has_its_place() -> None:
    parts = {file.relative_to(PACKAGE).parts[0].removesuffix(".py") for file in _files()}
    assert parts == {*LAYERS, "__init__", "__main__"}


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


PARSED = (
    "from augrecipes.recipe.gallery import *; from augrecipes.recipe.parse import parse_file as p; n = gallery_names"
)
LINTED = """
from augrecipes.lint import lint
from augrecipes.recipe.model import Arguments, Recipe, Step
found = lint(Recipe("t", steps=(Step("Rotate", Arguments({"limit": 0})), Step("ColorJitter")), eval=()))
assert [one.code for one in found] == ["L103", "L303"], found
"""


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import augrecipes", "torch albumentations cv2 numpy yaml rich typer"),
        ("import augrecipes as ar; ar.load('folder-128')", "torch albumentations cv2"),
        (PARSED, "albumentations torch cv2 numpy pydantic"),
        (LINTED, "albumentations torch cv2 numpy"),
        ("main(['list'])", "albumentations torch cv2 numpy rich"),
        ("main(['check', '--strict', 'stained-tissue'])", "torch scipy.special"),
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
