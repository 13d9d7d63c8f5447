"""The house rules, read off the source: which way imports point, what stays lazy, how long a file may be."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
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
    "remote", "remote_requests", "native",
    "machine", "sharing", "cache", "paths", "progress", "display", "seeds", "user_code", "kinds",
    "flow", "errors",
)  # fmt: skip
# A kind's folder has modules of several rooms: where each of them stands, as if it were there.
PARTS = {
    "__init__": "kinds.facts", "pipeline": "compiler.run.kinds", "reader": "sources.kinds", "audit": "sources.kinds",
    "dataset": "data.kinds", "sheet": "preview.kinds",
}  # fmt: skip
# Inside `data`: the loader, what it is made of, the datasets, and their batches.
INSIDE_DATA = (
    {"loader"},
    {"choice", "fetch", "passes", "processes", "samplers", "state", "threads"},
    {"datasets"},
    {"epochs", "order", "visits"},
)
# Inside `compiler`: what compiles and explains; pipelines that run; plans and the rules that make them; kernels.
INSIDE_COMPILER = ("compile", "run", "native_plan", "plan", "kernels")
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
    "rich": ("cli/", "demo/", "progress.py"),
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
    for module, line in imports_of(ast.parse(text)):
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
    tree = ast.parse(text)
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
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and node.value in CLASSES
    ]


def kinds_named_in(path: str, text: str) -> list[str]:
    """Where a file does one thing for one kind of recipe, and another thing for others, by the kind's name."""
    found = []
    for node in ast.walk(ast.parse(text)):
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


def inside_data(path: str) -> int:
    """The place of a module of `data`, by its path or dotted name, among `INSIDE_DATA`."""
    name = placed(path).split(".")[1]
    return next((place for place, names in enumerate(INSIDE_DATA) if name in names), 2)


def faults_inside_data(path: str, text: str) -> list[str]:
    """What the imports of one file of `data` do wrong inside of it."""
    found = []
    for module, line in imports_of(ast.parse(text)):
        mine = placed(module.removeprefix("augrecipes."))
        if mine.startswith("data.") and inside_data(mine) < inside_data(path):
            found.append(f"{path}:{line}: imports {module}")
    return found


def inside_compiler(path: str) -> int:
    """The place of a module of `compiler`, by its path or dotted name, among `INSIDE_COMPILER`."""
    name = placed(path).split(".")[1]
    return INSIDE_COMPILER.index(name if name in INSIDE_COMPILER else "compile")


def faults_inside_compiler(path: str, text: str) -> list[str]:
    """What the imports of one file of `compiler` do wrong inside of it."""
    imported = [(placed(module.removeprefix("augrecipes.")), line) for module, line in imports_of(ast.parse(text))]
    return [
        f"{path}:{line}: imports {module}"
        for module, line in imported
        if module.startswith("compiler.") and inside_compiler(module) < inside_compiler(path)
    ]


def _files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def _files_of(room: str) -> list[Path]:
    return [file for file in _files() if placed(file.relative_to(PACKAGE).as_posix()).startswith(f"{room}.")]


@pytest.mark.parametrize("file", _files(), ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_imports_point_one_way(file: Path) -> None:
    assert faults_of(file.relative_to(PACKAGE).as_posix(), file.read_text(encoding="utf-8")) == []


def test_only_compat_takes_hold_of_what_is_private() -> None:
    texts = {file.relative_to(PACKAGE).as_posix(): file.read_text(encoding="utf-8") for file in _files()}
    ours = set().union(*(_made_in(ast.parse(text)) for text in texts.values()))
    found = [fault for path, text in texts.items() for fault in hooks_of(path, text, ours)]
    assert [fault for fault in found if not fault.startswith("compat/")] == []
    assert any("_shutdown_workers" in fault for fault in found)


def test_facts_about_classes_live_in_ops() -> None:
    found = [
        fault
        for file in _files()
        if not (path := file.relative_to(PACKAGE).as_posix()).startswith(NAMES_CLASSES)
        for fault in classes_named_in(path, file.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        ('_CROPS = frozenset({"RandomCrop"})', 1, "RandomCrop"),
        ('if step.name == "Degrade":\n    pass', 1, "Degrade"),
        ('match name:\n    case "OneOf" | other:\n        pass', 2, "OneOf"),
        ('_SIZES = {\n    "Resize": 1,\n}', 2, "Resize"),
        ('f(cls="StainJitter")', 1, "StainJitter"),
    ],
)
def test_a_planted_fact_is_found(text: str, line: int, name: str) -> None:
    prose = '"""Such as `RandomCrop`."""\nf"{name} after RandomCrop: use CenterCrop"\n'
    assert classes_named_in("lint/a.py", prose + text) == [f"lint/a.py:{line + 2}: names {name}"]


def test_no_room_branches_on_the_kind_of_a_recipe() -> None:
    found = [
        fault
        for file in _files()
        if not (path := file.relative_to(PACKAGE).as_posix()).startswith("kinds/")
        for fault in kinds_named_in(path, file.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        'if recipe.kind == "pair":\n    pass',
        'a = 1 if self.kind in ("image", "bag") else 2',
        'match store.kind:\n    case "bag":\n        pass',
        "match table:\n    case BagTable(bags=bags):\n        pass",
        '_UNITS = {"image": 1, "pair": 2, "bag": 3}',
        "_UNITS[recipe.kind]",
        "isinstance(pipeline, ImagePipeline | BagPipeline)",
        "isinstance(dataset, (Packed, TileBags))",
    ],
)
def test_a_planted_branch_on_a_kind_is_found(text: str) -> None:
    good = 'if recipe.facts.scales:\n    pass\nkind == "read"\n{"image": 1, "mask": 2}\n'
    assert len(kinds_named_in("bench/a.py", good + text)) == 1


@pytest.mark.parametrize(
    ("text", "private"),
    [
        ("from torch._C._autograd import profiler", "_C"),
        ("from torch.utils.data.dataloader import _BaseDataLoaderIter", "_BaseDataLoaderIter"),
        ("import albumentations.core._x", "_x"),
        ("loader._iterator", "_iterator"),
        ("class A:\n    def f(self):\n        self._available_keys", "_available_keys"),
        ("trace.tb_frame.f_locals", "f_locals"),
        ("sys._getframe(1)", "_getframe"),
        ("f.__globals__", "__globals__"),
    ],
)
def test_a_planted_hook_is_found(text: str, private: str) -> None:
    assert hooks_of("data/a.py", text) == [f"data/a.py:{text.count(chr(10)) + 1}: takes hold of {private}"]
    assert hooks_of("data/a.py", "class A:\n    def _f(self, other):\n        self._f() or other._f()", {"_f"}) == []


@pytest.mark.parametrize(
    ("path", "text", "fault"),
    [
        ("compiler/run/lower.py", "import albumentations as A", "imports albumentations"),
        ("ops/stain.py", "def f():\n    from albumentations.core import pydantic", "imports albumentations"),
        ("compat/guard.py", "import torch", "imports torch"),
        ("ops/geometry.py", "from augrecipes.compiler.run.draws import Draws", "ops imports compiler"),
        ("recipe/parse.py", "def f():\n    import augrecipes.data.folder", "recipe imports data"),
        ("recipe/steps.py", "from augrecipes.compiler.compile import plan", "recipe imports compiler"),
        ("recipe/document.py", "from augrecipes.lint import run", "recipe imports lint"),
        ("lint/sizes.py", "from augrecipes.compiler.compile import plan", "lint imports compiler"),
        ("recipe/steps.py", "from augrecipes.device.stage import DeviceStage", "recipe imports device"),
        ("compiler/compile.py", "from augrecipes.device.stage import DeviceStage", "compiler imports device"),
        ("sources/files.py", "from augrecipes.data.order import Order", "sources imports data"),
        ("sources/columns.py", "import torch", "imports torch"),
        ("compiler/run/lower.py", "from augrecipes.sources.files import read_image", "compiler imports sources"),
        ("compiler/run/lower.py", "from augrecipes import data", "compiler imports data"),
        ("data/folder.py", "from augrecipes import load", "data imports load"),
        ("data/folder.py", "from . import loader", "relative import"),
        ("errors.py", "import augrecipes.flow", "errors imports flow"),
        ("compiler/run/pipeline.py", "import torch.utils.data", "imports torch"),
        ("recipe/steps.py", "from yaml import load", "imports yaml"),
        ("data/folder.py", "try:\n    import rich\nexcept ImportError:\n    pass", "imports rich"),
        ("bench/run.py", "from jinja2 import Environment", "imports jinja2"),
        ("kinds/pair/reader.py", "from augrecipes.kinds.pair.sheet import sheet", "sources imports preview"),
        ("kinds/pair/pipeline.py", "def f():\n    from augrecipes.kinds.pair import dataset", "compiler imports data"),
        ("kinds/bag/__init__.py", "from augrecipes.recipe.model import Recipe", "kinds imports recipe"),
        ("compiler/compile.py", 'kinds.part(recipe.kind, "dataset")', "compiler imports data"),
        ("recipe/parse.py", 'def f():\n    part(self.kind, "pipeline")', "recipe imports compiler"),
        ("bench/sides.py", "from augrecipes.kinds.bag.dataset import TileBags", "imports kinds.bag.dataset.TileBags"),
        ("ops/a.py", "if TYPE_CHECKING:\n    pass\nelse:\n    import torch", "imports torch"),
    ],
)
def test_a_planted_fault_is_found(path: str, text: str, fault: str) -> None:
    (found,) = faults_of(path, text)
    assert found.endswith(fault)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("recipe/model.py", "def compile(self):\n    from augrecipes.compiler.compile import compile_recipe"),
        ("recipe/model.py", "def f(self):\n    from augrecipes.device.stage import DeviceStage"),
        ("ops/registry.py", "if TYPE_CHECKING:\n    from augrecipes.recipe.model import Step"),
        ("ops/verdicts.py", "from augrecipes import __version__"),
        ("recipe/model.py", "from augrecipes.kinds import Kind, facts"),
        ("kinds/bag/pipeline.py", "from augrecipes.kinds.image.pipeline import ImagePipeline"),
        ("bench/sides.py", 'kinds.part(recipe.kind, "dataset")'),
        ("data/sample.py", "from augrecipes.sources.files import read_image"),
        ("demo/run.py", "import augrecipes as ar\nimport torch"),
    ],
)
def test_what_is_allowed_passes(path: str, text: str) -> None:
    assert faults_of(path, text) == []


def test_imports_point_one_way_inside_data() -> None:
    for file in _files_of("data"):
        assert faults_inside_data(file.relative_to(PACKAGE).as_posix(), file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("data/folder.py", "from augrecipes.data.loader import loader"),
        ("data/memory.py", "from augrecipes.data.state import EpochProgress"),
        ("kinds/image/dataset.py", "from augrecipes.data.loader import loader"),
    ],
)
def test_a_planted_fault_inside_data_is_found(path: str, text: str) -> None:
    assert len(faults_inside_data(path, text)) == 1


def test_imports_point_one_way_inside_the_compiler() -> None:
    for file in _files_of("compiler"):
        assert faults_inside_compiler(file.relative_to(PACKAGE).as_posix(), file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("compiler/plan/rules/join_warps.py", "from augrecipes.compiler.run.lower import lower"),
        ("compiler/plan/__init__.py", "def f():\n    import augrecipes.compiler.run.pipeline"),
        ("compiler/kernels/warps.py", "from augrecipes.compiler.plan.nodes import Fused"),
        ("compiler/kernels/sink.py", "from augrecipes.compiler.run.pipeline import Pipeline"),
        ("compiler/plan/__init__.py", 'kinds.part(recipe.kind, "pipeline")'),
        ("kinds/image/pipeline.py", "from augrecipes.compiler.explain import explain"),
    ],
)
def test_a_planted_fault_inside_the_compiler_is_found(path: str, text: str) -> None:
    assert len(faults_inside_compiler(path, text)) == 1
    assert faults_inside_compiler("compiler/explain.py", text) == []


def call_graph(files: dict[str, str], *, typing: bool = False) -> dict[str, set[str]]:
    """What each module imports of the others, at import time, in a call or to name types, but for the doors."""
    graph: dict[str, set[str]] = {name: set() for name in files}
    for name, text in files.items():
        for node in ast.walk(ast.parse(text) if typing else _running(ast.parse(text))):
            if isinstance(node, ast.ImportFrom) and node.module:
                named = {f"{node.module}.{alias.name}" for alias in node.names}
                graph[name] |= (named & set(files)) or ({node.module} & set(files))
            elif (part := part_asked_for(node)) is not None:
                graph[name] |= {to for to in files if to.startswith("augrecipes.kinds.") and to.endswith(f".{part}")}
        graph[name] -= {to for door, to in CIRCLES if door == name}
    return graph


def _running(tree: ast.Module) -> ast.Module:
    """Without what only type checkers read."""

    class Typing(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> Any:
            typing = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
            return node.orelse or None if typing else self.generic_visit(node)

    return Typing().visit(tree)


def _modules() -> dict[str, str]:
    names = {file: file.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".") for file in _files()}
    return {name.removesuffix(".__init__"): file.read_text(encoding="utf-8") for file, name in names.items()}


def test_no_call_comes_back_to_where_it_started() -> None:
    TopologicalSorter(call_graph(_modules())).prepare()


def test_nothing_but_the_doors_is_tied_in_a_circle_by_types_either() -> None:
    TopologicalSorter(call_graph(_modules(), typing=True)).prepare()
    files = _modules()
    files["augrecipes.data.passes"] += "\nif TYPE_CHECKING:\n    from augrecipes.data.loader import Loader\n"
    with pytest.raises(CycleError):
        TopologicalSorter(call_graph(files, typing=True)).prepare()


@pytest.mark.parametrize(("here", "there"), [("recipe.nodes", "recipe.parse"), ("ops.own", "ops.registry")])
def test_a_planted_circle_is_found(here: str, there: str) -> None:
    files = _modules()
    files[f"augrecipes.{here}"] += f"\ndef f():\n    from augrecipes.{there} import anything\n"
    with pytest.raises(CycleError):
        TopologicalSorter(call_graph(files)).prepare()


def test_every_part_has_its_place() -> None:
    parts = {file.relative_to(PACKAGE).parts[0].removesuffix(".py") for file in _files()}
    assert parts == {*LAYERS, "__init__", "__main__"}


@pytest.mark.parametrize(("method", "part"), [("compile", "compiler"), ("device_stage", "device")])
def test_each_door_is_inside_one_method(method: str, part: str) -> None:
    """Recipe.compile alone may reach for the compiler, and only when it is called; likewise Recipe.device_stage."""
    tree = ast.parse((PACKAGE / "recipe" / "model.py").read_text(encoding="utf-8"))
    doors = [
        function.name
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for found in imports_of(function)
        if found.module.startswith(f"augrecipes.{part}")
    ]
    everywhere = [found for found in imports_of(tree) if found.module.startswith(f"augrecipes.{part}")]
    assert doors == [method] * len(everywhere)
    assert doors


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


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import augrecipes", ("torch", "albumentations", "cv2", "numpy", "yaml", "rich", "typer")),
        ("import augrecipes as ar; ar.load('folder-128')", ("torch", "albumentations", "cv2")),
        ("from augrecipes.cli import main; main(['check', 'folder-128'])", ("torch", "scipy.special")),
    ],
)
def test_heavy_packages_are_imported_late(code: str, absent: tuple[str, ...]) -> None:
    report = f"print('LOADED', *(m for m in {absent!r} if sys.modules.get(m)), file=sys.stderr)"
    program = f"import atexit, sys\natexit.register(lambda: {report})\n{code}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1].split() == ["LOADED"]


def test_warnings_stay_errors(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.getini("filterwarnings")[0] == "error"
