"""The extras of pyproject.toml: whatever one may do without is in one, and an error names it where that is missing."""

import ast
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import augrecipes as ar
from augrecipes.demo.slides import write_pyramid
from augrecipes.images import lossless
from augrecipes.packing.ray import ray_cluster
from augrecipes.store.formats import FORMATS
from augrecipes.studio.server import StudioServer

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
# What a distribution of another name brings.
IMPORTED_AS = {
    "opencv-python-headless": "cv2",
    "pillow": "PIL",
    "pyyaml": "yaml",
    "openslide-python": "openslide",
}
# Without which something is left out, or which albumentations brings.
LEFT_OUT = {"sklearn", "scipy"}


def slide(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"no slide")
    ar.SlideBags(folder / name, "stained-tissue-bag", mpp=0.5)


def pack_losslessly() -> None:
    lossless._codecs.cache_clear()
    FORMATS["lossless"].encode(np.zeros((8, 8, 3), np.uint8), 0)


USES: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "uvicorn": ("studio", lambda folder: StudioServer(None)),  # type: ignore[arg-type]
    "starlette": ("studio", lambda folder: StudioServer(None)),  # type: ignore[arg-type]
    "openslide": ("slides", lambda folder: slide(folder, "a.svs")),
    "tifffile": ("slides", lambda folder: write_pyramid(folder / "a.tif", [np.zeros((8, 8, 3), np.uint8)])),
    "fsspec": ("remote", lambda folder: ar.ImageFolder("s3://bucket/photos", "folder-128")),
    "ray": ("ray", lambda folder: ray_cluster(None).__enter__()),
    "zstandard": ("lossless", lambda folder: pack_losslessly()),
}


def modules(requirements: list[str]) -> set[str]:
    names = [re.split(r"[\s<>=!~;\[]", line)[0] for line in requirements]
    return {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names}


def imported(text: str) -> set[str]:
    """The packages that a file asks for, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module or "")
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("require", "import_module"):
            found |= {
                each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)
            }
    return {name.partition(".")[0] for name in found} - sys.stdlib_module_names - {"augrecipes"}


def optional(texts: list[str]) -> set[str]:
    return set().union(*map(imported, texts)) - modules(PROJECT["dependencies"]) - LEFT_OUT


def test_whatever_one_may_do_without_is_in_an_extra() -> None:
    texts = [file.read_text(encoding="utf-8") for file in (ROOT / "augrecipes").rglob("*.py")]
    assert optional(texts) == set(USES)
    for module, (extra, _) in USES.items():
        assert module in modules(EXTRAS[extra])
    assert optional([*texts, "def f():\n    import nobody_has_this.part"]) - set(USES) == {"nobody_has_this"}  # planted


@pytest.mark.parametrize("module", USES)
def test_a_library_that_is_missing_is_an_error_that_names_its_extra(
    module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    extra, use = USES[module]
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "augrecipes.studio.app", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ar.AugrecipesError, match=re.escape(f"pip install 'augrecipes[{extra}]'")):
        use(tmp_path)


def test_all_of_them_are_what_users_need() -> None:
    """And what texts tell people to install is there."""
    (line,) = EXTRAS["all"]
    (named,) = re.findall(r"^augrecipes\[([\w,]+)\]$", line)
    every = set(named.split(","))
    assert {extra for extra, _ in USES.values()} | {"hdf5", "search"} == every
    folders = [ROOT / "augrecipes", ROOT / "docs", ROOT / "README.md"]
    files = [file for folder in folders for file in ([folder] if folder.is_file() else folder.rglob("*.[mp][dy]"))]
    told = {name for file in files for name in re.findall(r"augrecipes\[(\w+)\]", file.read_text(encoding="utf-8"))}
    assert every - told == set()
    assert told - set(EXTRAS) == set()
