"""KindsAndMessages that nobody thought of: a small change of the code is noticed by the tests of what it changes.

`make mutants` tries MUTANTS (20) changes of each file below, chosen by SEED, each in a process of its own. A few change
nothing that anybody could see, such as how often a cache is asked; so a file passes where nine of ten are noticed.
Those that are not are printed.
"""

import ast
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
RULES = ("tests/laws/test_rules.py", "tests/laws/test_merges.py")
# The tests of each file, those that find most first.
TESTS: dict[str, tuple[str, ...]] = {
    "augrecipes/data/order.py": (
        "tests/data/test_passes.py",
        "tests/data/test_ranks.py",
        "tests/data/test_laws_of_loaders.py",
    ),
    "augrecipes/compiler/run/draws.py": ("tests/compiler/test_draws.py", "tests/laws/test_gates.py"),
    **{
        f"augrecipes/compiler/rewrite/{file.relative_to(ROOT / 'augrecipes/compiler/rewrite')}": (
            *RULES,
            "tests/laws/test_fast.py",
            "tests/laws/test_exact_equals_none.py",
        )
        for file in sorted((ROOT / "augrecipes/compiler/rewrite").rglob("*.py"))
    },
}
OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.BitXor: ast.BitOr, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}  # fmt: skip
# Runs tests with one module read from another file.
PROGRAM = """
import importlib.util, sys
import pytest
name, file, *folder = sys.argv[1].split(":")

class Mutated:
    def find_spec(self, module, path=None, target=None):
        more = {"submodule_search_locations": folder} if folder else {}
        return importlib.util.spec_from_file_location(module, file, **more) if module == name else None

sys.meta_path.insert(0, Mutated())
sys.exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *sys.argv[2:]]))
"""


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """What is changed, and the source with that one change: operators, conditions and whole numbers."""
    tree = ast.parse(source)
    changes: list[tuple[str, Any]]
    for node in ast.walk(tree):
        match node:
            case ast.Compare(ops=[op]) if type(op) in OTHER:
                changes = [("ops", [OTHER[type(op)]()])]
            case ast.BoolOp(op=op) | ast.BinOp(op=op) if type(op) in OTHER:
                changes = [("op", OTHER[type(op)]())]
            case ast.If(test=test) | ast.IfExp(test=test):
                changes = [("test", ast.UnaryOp(ast.Not(), test))]
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                changes = [("value", value + 1)]
            case _:
                changes = []
        for field, other in changes:
            own, before = getattr(node, field), ast.unparse(node).partition("\n")[0]
            setattr(node, field, other)
            yield (
                f"line {vars(node)['lineno']}: {before} → {ast.unparse(node).partition(chr(10))[0]}",
                ast.unparse(tree),
            )
            setattr(node, field, own)


def is_noticed(file: str, source: str, folder: Path) -> bool:
    """Whether the tests of a file fail with this source in its place."""
    (changed := folder / "mutant.py").write_text(source, encoding="utf-8")
    path = ROOT / file
    package = [str(path.parent)] if path.name == "__init__.py" else []
    name = ".".join(Path(file).with_suffix("").parts).removesuffix(".__init__")
    command = [sys.executable, "-c", PROGRAM, ":".join([name, str(changed), *package]), *TESTS[file]]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=1200, check=False)
    except subprocess.TimeoutExpired:  # it never ends
        return True
    return done.returncode != 0


def test_each_change_is_another_program() -> None:
    source = "def f(a, b):\n    return a + 1 if a < b and not a else b\n"
    found = dict(mutants(source))
    assert [*found] == [
        "line 2: a + 1 if a < b and (not a) else b → a + 1 if not (a < b and (not a)) else b",
        "line 2: a < b and (not a) → a < b or not a",
        "line 2: a + 1 → a - 1",
        "line 2: a < b → a <= b",
        "line 2: 1 → 2",
    ]
    assert len({*found.values(), ast.unparse(ast.parse(source))}) == 6


@pytest.mark.mutants
@pytest.mark.parametrize("file", TESTS)
def test_changes_are_noticed(file: str, tmp_path: Path) -> None:
    source = (ROOT / file).read_text(encoding="utf-8")
    assert not is_noticed(file, ast.unparse(ast.parse(source)), tmp_path)  # nothing is changed
    every = [*mutants(source)]
    chosen = random.Random(os.environ.get("SEED", "0")).sample(
        every, min(len(every), int(os.environ.get("MUTANTS", "20")))
    )
    left = [change for change, mutant in chosen if not is_noticed(file, mutant, tmp_path)]
    print(f"{file}: {len(chosen) - len(left)} of {len(chosen)} are noticed; not", *left, sep="\n  ")
    assert len(left) <= max(1, len(chosen) / 10), left
