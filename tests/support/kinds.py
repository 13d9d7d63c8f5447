"""Twelve samples of every kind of dataset, from files and from packed stores, for the laws of all kinds."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import cv2
import numpy as np
import pytest
import torch
from PIL import Image

from augrecipes.data.dataset import RecipeDataset
from augrecipes.data.packed import Packed
from augrecipes.data.samples import Samples
from augrecipes.kinds.bag.dataset import TileBags
from augrecipes.kinds.image.dataset import ImageFolder
from augrecipes.kinds.pair.dataset import PairedImages
from augrecipes.kinds.views.dataset import Views
from augrecipes.packing.run import pack
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.files import read_image
from support.folders import BAGS, RECIPE, bag_folders, class_folders, draw

N = 12
PAIRS = """
version: 1
recipe: test-pairs
kind: pair
scales: {lr: 1, hr: 2}
steps:
  - RandomCrop: {height: 12, width: 10, at: lr}
  - HorizontalFlip
  - VerticalFlip
  - RandomBrightnessContrast: {p: 1.0, target: lr}
eval:
  - CenterCrop: {height: 12, width: 10, at: lr}
"""
OF_VIEWS = """
version: 1
recipe: test-views
kind: views
inputs: {mask: optional, boxes: {format: pascal_voc, labels: box_labels}, keypoints: {format: xy}}
shared:
  - HorizontalFlip
views:
  global: {count: 2, steps: [RandomCrop: {height: 24, width: 20}, RandomBrightnessContrast]}
  local: {count: 3, steps: [RandomCrop: {height: 12, width: 10}, VerticalFlip]}
eval:
  - CenterCrop: {height: 24, width: 20}
"""


@dataclass(frozen=True)
class Kind:
    """How to make a dataset of a kind.

    Attributes:
        name: the kind's name in recipes.
        dataset: the dataset's class.
        recipe: the text of a recipe.
        fill: writes the files of N samples below a folder.
        where: returns the dataset's first argument for that folder.
        files: returns the first file that a sample reads, relative to that folder, by sample number.
    """

    name: str
    dataset: Any
    recipe: str
    fill: Callable[[Path], object]
    where: Callable[[Path], Any]
    files: Callable[[int], str]

    def __str__(self) -> str:
        return self.name

    def open(self, root: Path, recipe: str | None = None, **options: Any) -> RecipeDataset:
        """Open the dataset of a folder that `fill` filled."""
        return self.dataset(self.where(root), parse_text(recipe or self.recipe), **options)  # type: ignore[no-any-return]

    def renamed(self) -> str:
        """Return the recipe with another step."""
        return self.recipe.replace("RandomBrightnessContrast", "RandomGamma")


def _pairs(root: Path) -> None:
    for i in range(N):
        path = draw(root / "hr" / f"{i:04}.png", seed=i, size=(40, 36))
        (root / "lr").mkdir(exist_ok=True)
        half = cv2.resize(cv2.imread(str(path)), (18, 20), interpolation=cv2.INTER_AREA)
        assert cv2.imwrite(str(root / "lr" / f"{i:04}x2.png"), half)


def _bags(root: Path) -> None:
    bag_folders(root, {f"slide-{i:02}": 5 for i in range(N)})
    rows = "".join(f"slide-{i:02},{'no' if i % 3 else 'yes'}\n" for i in range(N))
    (root / "labels.csv").write_text(f"bag,label\n{rows}")


IMAGE = Kind(
    "image",
    ImageFolder,
    RECIPE,
    class_folders,
    lambda root: root,
    lambda i: f"{('cat', 'dog', 'emu')[i // 4]}/{i % 4}.png",
)
PAIR = Kind(
    "pair", PairedImages, PAIRS, _pairs, lambda root: {"hr": root / "hr", "lr": root / "lr"}, lambda i: f"hr/{i:04}.png"
)
BAG = Kind("bag", TileBags, BAGS, _bags, lambda root: root, lambda i: f"slide-{i:02}/tile_x0_y{10 * i}.png")
VIEWS = Kind("views", Views, OF_VIEWS, class_folders, IMAGE.where, IMAGE.files)
KINDS = (IMAGE, PAIR, BAG, VIEWS)


by_kind = pytest.mark.parametrize("kind", KINDS, ids=str)


def by_turns(laws: Iterable[str], kinds: Sequence[Kind]) -> pytest.MarkDecorator:
    """Parametrize by kind and law: each law on half of the kinds in turn, and on the others in a soak."""
    pairs = [
        pytest.param(kind, law, marks=() if (k + n) % 2 == 0 else pytest.mark.soak, id=f"{law}-{kind}")
        for n, law in enumerate(laws)
        for k, kind in enumerate(kinds)
    ]
    return pytest.mark.parametrize(("kind", "law"), pairs)


def arrays(sample: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the tensors of a sample, also those in lists, as arrays by key."""
    listed = {f"{key} {k}": one for key, of in sample.items() if isinstance(of, list) for k, one in enumerate(of)}
    return {key: value.numpy() for key, value in {**sample, **listed}.items() if hasattr(value, "numpy")}


def pixels(sample: dict[str, Any]) -> bytes:
    """Return all bytes of a sample's tensors, with its label, index and path."""
    parts = [value.tobytes() for _, value in sorted(arrays(sample).items())]
    return b"".join([*parts, repr([sample[k] for k in ("label", "index", "path") if k in sample]).encode()])


def agree(a: Any, b: Any, epochs: tuple[int, ...] = (0, 3)) -> bool:
    """Whether two datasets have the same samples, to the bit, under the same keys."""
    pairs = [(a[epoch, i], b[epoch, i]) for epoch in epochs for i in range(len(a))]
    return len(a) == len(b) and all(
        list(x) == list(y) and pixels(x) == pixels(y) and x.get("bag") == y.get("bag") for x, y in pairs
    )


def samples(loader: Any) -> list[dict[str, Any]]:
    """Return the samples of a pass of a loader with `collate="list"`, in order."""
    return [
        {key: int(values[i]) if key in ("label", "index") else values[i] for key, values in batch.items()}
        for batch in loader
        for i in range(len(batch["index"]))
    ]


BAKED = {
    "image": "SmallestMaxSize: {max_size: 30, interpolation: area}",
    "pair": "CenterCrop: {height: 18, width: 16, at: lr}",
    "bag": "Resize: {height: 20, width: 19}",
    "views": "SmallestMaxSize: {max_size: 26, interpolation: area}",
}


def beginning(recipe: str, step: str) -> str:
    """Return the recipe with a step prepended to both sections."""
    first = "shared:\n" if "shared:\n" in recipe else "steps:\n"
    return recipe.replace(first, f"{first}  - {step}\n", 1).replace("eval:\n", f"eval:\n  - {step}\n", 1)


def recipe_of(kind: Kind) -> str:
    return beginning(kind.recipe, BAKED[kind.name])


def data_of(kind: Kind, root: Path) -> Any:
    """Return the data argument of `pack` for the files below `root`."""
    given = kind.where(root)
    return {key: str(path) for key, path in given.items()} if isinstance(given, dict) else str(given)


def packed(kind: Kind, root: Path, recipe: str | None = None, **options: Any) -> Path:
    """Return a store of the files below `root`, packed on the first call with these arguments."""
    asked = crc32(repr((recipe, sorted(options.items()))).encode())
    out = root.parent / f"{kind.name}-{asked:08x}"
    if not out.exists():
        pack(parse_text(recipe or recipe_of(kind)), data_of(kind, root), out, **{"workers": 0, **options})
    return out


def open_packed(kind: Kind, root: Path, **options: Any) -> Packed:
    """Open the packed dataset of the files below `root`."""
    return Packed(packed(kind, root), parse_text(recipe_of(kind)), **options)


def folders(make: pytest.TempPathFactory) -> dict[str, Path]:
    """Write the files of each kind, and return the folders."""
    made = {kind.name: make.mktemp(kind.name) / "files" for kind in KINDS}
    for kind in KINDS:
        made[kind.name].mkdir()
        kind.fill(made[kind.name])
    return made


# The images of image folders and of pairs as a user's own sources, in every supported form of an image.


FORMS: dict[str, Callable[[str], Any]] = {
    "array": read_image,
    "array that cannot be written to": lambda path: np.frombuffer(
        (image := read_image(path)).tobytes(), np.uint8
    ).reshape(image.shape),
    "view": lambda path: np.pad(read_image(path), ((1, 2), (3, 4), (0, 0)))[1:-2, 3:-4],
    "tensor": lambda path: torch.from_numpy(read_image(path)).permute(2, 0, 1),
    "Pillow": lambda path: Image.fromarray(read_image(path)),
    "bytes": lambda path: Path(path).read_bytes(),
    "path": Path,
    "text": str,
    "Hugging Face, undecoded": lambda path: {"bytes": Path(path).read_bytes(), "path": None},
    "Hugging Face, a path": lambda path: {"bytes": None, "path": path},
}


class Files:
    """A picklable source of dicts from the files of an image folder or of pairs.

    Args:
        kind: kind of the folder.
        root: the folder.
        form: form of the images, a key of FORMS.
    """

    def __init__(self, kind: Kind, root: Path, form: str) -> None:
        self.form = form
        ds: Any = kind.open(root)
        targets = {"image": ds.path} if kind is IMAGE else {}
        self.rows = [{name: path(i) for name, path in targets.items()} or dict(ds.paths(i)) for i in range(len(ds))]
        self.targets = ds.labels
        self.classes = ds.classes
        self.paths = [ds.path(i) for i in range(len(ds))]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {name: FORMS[self.form](path) for name, path in self.rows[index].items()}


def source_of(kind: Kind, root: Path, form: str = "array", recipe: str | None = None, **options: Any) -> Samples:
    """Open `Samples` over the files of a kind."""
    return Samples(Files(kind, root, form), parse_text(recipe or kind.recipe), **options)


KINDS_GIVEN = (IMAGE, PAIR)


def annotated() -> list[dict[str, Any]]:
    """Return rows with every annotation of an image, and further values."""
    rng = np.random.default_rng(5)
    return [
        {
            "image": rng.integers(0, 256, (32, 28, 3), np.uint8),
            "mask": rng.integers(0, 300, (32, 28)),
            "boxes": [[1, 2, 20.5, 25], [4, 4, 9, 9]][: k % 3],
            "box_labels": [7, 1][: k % 3],
            "keypoints": torch.tensor([[3.0, 4.0], [10.0, 11.0]]),
            "caption": f"no. {k}",
            "score": 0.5 * k,
            "label": np.int64(k),
        }
        for k in range(6)
    ]
