"""The page docs/STEPS.md and its pictures, made of what the steps say of themselves: `python tests/steps_page.py`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

import augrecipes as ar
from augrecipes.demo.dataset import random_of
from augrecipes.demo.photos import CLASSES as SCENES
from augrecipes.demo.photos import render_photo
from augrecipes.demo.tissue import LABORATORIES, render_tile
from augrecipes.mixtures.families import MIXTURES
from augrecipes.mixtures.run import mix
from augrecipes.ops.groups import GROUPS, PAIR_STEPS, POLICIES
from augrecipes.ops.records import own_names
from augrecipes.ops.stain_normalize import StainNormalize
from augrecipes.preview.display import INK, render_text, width_px
from augrecipes.preview.display import PAGE as GROUND
from augrecipes.preview.overlay import render_mask
from augrecipes.recipe.words import step_facts
from augrecipes.recipe.write import flow

Image = NDArray[np.uint8]
Cells = list[tuple[str, Image]]

PAGE = Path(__file__).parent.parent / "docs" / "STEPS.md"
PICTURES = PAGE.parent / "steps"
_WIDE, _GAP, _TEXT_PX, _QUALITY = 189, 8, 17, 72  # px: of a cell, between cells, of captions; of JPEGs
_OUTPUT = {"dtype": "uint8", "layout": "hwc"}

_HEAD = """\
# Our own steps

This page lists the steps that augrecipes adds to albumentations' classes, with the default and the allowed values of
every argument. `tests/steps_page.py` writes it from the classes and their JSON Schema, and a test compares the two. In
the terminal, `augrecipes step` says the same for any step, including albumentations' classes:

```console
$ augrecipes step StainJitter
$ augrecipes step Rotate
$ augrecipes step                    # all of them, each with a sentence
```

A range is written `[low, high]`; if you may give one number `s` instead, the table says which range it means. Each step
also takes `id`, which keys its random parameters, and steps of `steps:` take `target` and `share` ([the
language](RECIPE_LANGUAGE.md)). [Which steps run natively](OPS.md) says how albumentations' own classes run. In each
picture, the first image is the source, unless its caption says otherwise; images are drawn, with fixed seeds.
"""
_SECTIONS: dict[str, tuple[str, Sequence[str]]] = {
    "Steps for one image": ("Write them under `steps:`.", sorted({*own_names()} - {"ResizeToTarget"})),
    "Steps for pairs": ("They are for recipes of kind `pair`, see [Pairs](PAIRS.md).", [*PAIR_STEPS, "ResizeToTarget"]),
    "Policies": ("You write a policy as one step under `steps:`, see [Policies](POLICIES.md).", POLICIES),
    "Steps of `batch:`": ("They mix the samples of a batch, see [Batches](BATCHES.md).", sorted(MIXTURES)),
    "Groups": ("They hold other steps.", GROUPS),
}  # fmt: skip


def page() -> str:
    """The whole page."""
    links = (
        f"- {title}: {' · '.join(f'[{name}](#{name.lower()})' for name in names)}"
        for title, (_, names) in _SECTIONS.items()
    )
    parts = [_HEAD, *links, ""]
    for title, (about, names) in _SECTIONS.items():
        parts += [f"## {title}\n", f"{about}\n", *(line for name in names for line in section(name))]
    return "\n".join(parts).rstrip() + "\n"


def section(name: str) -> Iterator[str]:
    """The lines of one step."""
    facts = step_facts(name)
    yield f"### {facts.pop('step')}\n"
    yield f"{facts.pop('about')}.\n"
    arguments = facts.pop("arguments")
    yield from (f"- {key}: {fact}" for key, fact in facts.items())
    yield ""
    if name in EXAMPLES:
        yield f"![{name}: the source, and results]({PICTURES.name}/{name}.jpg)\n"
    yield "| argument | default | takes | meaning |"
    yield "|---|---|---|---|"
    for one in arguments:
        default = f"`{one['default']}`" if one["default"] not in ("", "required") else one["default"]
        yield f"| `{one['argument']}` | {default} | {one['takes']} | {one['meaning']} |"
    yield ""


def tissue(number: int = 0, kind: str = "tumour") -> tuple[Image, Image, list[list[int]]]:
    """A tile of 189×189 px, its mask, and the boxes on it."""
    tile = render_tile(kind, (_WIDE, _WIDE), LABORATORIES[number % len(LABORATORIES)], random_of(0, 1, number))
    return tile.image, tile.types, [list(box) for box in tile.boxes]


def photo(number: int = 3, kind: str = "landscape") -> Image:
    """A photo of 189×144 px."""
    return render_photo(kind, (144, _WIDE), random_of(0, 2, number))


def drawn(image: Callable[[], Image], name: str, *several: Mapping[str, Any], seed: int = 0) -> Cells:
    """An image, and what a step makes of it with these arguments, one draw each."""
    cells: Cells = [("image", image())]
    for k, arguments in enumerate(several):
        step = {name: {**arguments, "p": 1.0}}
        recipe = ar.load({"version": 1, "recipe": name.lower(), "steps": [step], "eval": [], "output": _OUTPUT})
        made = recipe.compile(seed=seed).at(k)(image=cells[0][1])["image"]
        words = "defaults" if any(several) else f"draw {k + 1}"
        cells.append((flow(arguments)[1:-1] if arguments else words, made))
    return cells


def alike() -> Cells:
    """Tiles of two laboratories, and what StainNormalize makes of each."""
    images = [("a laboratory", tissue(0, "stroma")[0]), ("another", tissue(2, "stroma")[0])]
    return [*images, *((f"{words}, normalised", StainNormalize()(image=image)["image"]) for words, image in images)]


def styled(name: str, key: str, *amounts: float) -> Cells:
    """An image, a reference image, and what a step makes of the one by the other, more of it from cell to cell."""
    reference = photo(5, SCENES[0])
    with TemporaryDirectory() as folder:
        path = str(Path(folder, "reference.png"))
        cv2.imwrite(path, reference[..., ::-1])
        arguments = ({"references": path, key: [amount, amount]} for amount in amounts)
        (_, image), *made = drawn(lambda: photo(1, SCENES[1]), name, *arguments)
    shown = [(f"{key}: {amount}", one) for amount, (_, one) in zip(amounts, made, strict=True)]
    return [("image", image), ("a reference", reference), *shown]


def degraded(several: Mapping[str, Sequence[Mapping[str, Any]]]) -> Cells:
    """A high-resolution image, and the low-resolution images that steps make of it, each pixel four wide."""
    sharp = photo(3, "foliage")[:, :188]
    cells: Cells = [("hr", sharp)]
    for words, steps in several.items():
        step = {"Degrade": {"source": "hr", "target": "lr", "steps": [*steps]}}
        raw = {"version": 1, "recipe": "d", "kind": "pair", "scales": {"lr": 1, "hr": 4}, "steps": [step], "eval": []}
        recipe = ar.load({**raw, "output": _OUTPUT})
        small = recipe.compile(seed=0).at(0)(hr=sharp)["lr"]
        cells.append((words, small.repeat(4, axis=0).repeat(4, axis=1)))
    return cells


def mixed(name: str, values: Mapping[str, Any], arguments: Mapping[str, Any], seed: int = 0, **recipe: Any) -> Any:
    """A batch of two or more samples after a step of `batch:`."""
    raw = {
        "version": 1,
        "recipe": name.lower(),
        "steps": [],
        "eval": [],
        "output": _OUTPUT,
        "batch": [{name: arguments}],
        **recipe,
    }
    copies = {key: np.array(value) if isinstance(value, np.ndarray) else [*value] for key, value in values.items()}

    def read(k: int) -> dict[str, Any]:
        return {key: value[k] for key, value in values.items()}

    return mix(ar.load(raw), copies, (seed, 0, 0), 4, read, len(next(iter(values.values()))))


def two(name: str, images: Sequence[Image], seed: int = 0, **arguments: Any) -> Cells:
    """Two images, and the batch of both after a step."""
    values = {"image": np.stack(images), "label": np.arange(2)}
    made = mixed(name, values, {"partners": "roll", **arguments}, seed)
    words = [", ".join(f"{share:.2f} {'ab'[k]}" for k, share in enumerate(label[:2])) for label in made["label"]]
    return [("a", images[0]), ("b", images[1]), *zip(words, made["image"], strict=True)]


def mosaics() -> Cells:
    """An image of a data set of four, and three samples after a Mosaic."""
    images = np.stack([_square(k) for k in (0, 3, 4, 1)])
    made = [mixed("Mosaic", {"image": images, "label": np.arange(4)}, {}, seed)["image"][0] for seed in range(3)]
    return [("one of four images", images[0]), *((f"draw {k + 1}", image) for k, image in enumerate(made))]


def pasted() -> Cells:
    """Two tiles with masks and boxes, and the first after a CopyPaste of the second."""
    tiles = [tissue(0), tissue(1, "lymphocytes")]
    values = {
        "image": np.stack([image for image, *_ in tiles]),
        "mask": np.stack([mask for _, mask, _ in tiles]),
        "boxes": [np.array(boxes, np.float32) for *_, boxes in tiles],
        "box_labels": [np.array([0] * len(boxes)) for *_, boxes in tiles],
    }
    inputs = {"mask": "required", "boxes": {"format": "pascal_voc", "labels": "box_labels"}}
    cells = [("a, with its mask", _masked(*tiles[0][:2])), ("b, with its mask", _masked(*tiles[1][:2]))]
    for share in (0.2, 0.8):
        made = mixed("CopyPaste", values, {"share": share}, 1, inputs=inputs)
        cells.append((f"a, share: {share}", _masked(made["image"][0], made["mask"][0])))
    return cells


def stitched() -> Cells:
    """Two scenes, and the batch of both after a Stitch."""
    images = np.stack([_square(0), _square(3)])
    values = {"lr": images[:, ::4, ::4].copy(), "hr": images}
    made = mixed("Stitch", values, {"partners": "roll"}, kind="pair", scales={"lr": 1, "hr": 4})
    return [
        ("hr of scene a", images[0]),
        ("hr of scene b", images[1]),
        ("a, stitched", made["hr"][0]),
        ("b, stitched", made["hr"][1]),
    ]


def cut_blurred() -> Cells:
    """Both targets of a pair on one grid, and the second after two draws of CutBlur."""
    sharp = _square(0)
    blurred = cv2.resize(sharp[::6, ::6], sharp.shape[1::-1], interpolation=cv2.INTER_CUBIC)
    values = {"lr": np.stack([blurred] * 2), "hr": np.stack([sharp] * 2)}
    scales = {"lr": 1, "hr": 1}
    made = [mixed("CutBlur", values, {"alpha": 0.5}, seed, kind="pair", scales=scales)["lr"] for seed in (0, 1)]
    return [("hr", sharp), ("lr, on one grid", blurred), ("lr, draw 1", made[0][0]), ("lr, draw 2", made[1][0])]


def _square(number: int) -> Image:
    return render_photo(SCENES[number % 2], (188, 188), random_of(0, 2, number))


def _masked(image: Image, mask: NDArray[Any]) -> Image:
    shown = image.copy()
    render_mask(shown, mask)
    return shown


def restained() -> Cells:
    """A tile, and three draws of RandStainNA from a published template: of MoNuSeg's test images."""
    numbers = {"L": (131.08, 19.859, 55.575, 8.407), "A": (154.456, 5.123, 10.878, 1.705),
               "B": (107.786, 2.179, 9.301, 1.521)}  # fmt: skip
    template = {
        name: {"avg": {"mean": avg, "std": of_avg}, "std": {"mean": std, "std": of_std}}
        for name, (avg, of_avg, std, of_std) in numbers.items()
    }
    cells = drawn(lambda: tissue()[0], "RandStainNA", *[{"template": template, "space": "lab"}] * 3)
    return [(words if k == 0 else f"draw {k}", image) for k, (words, image) in enumerate(cells)]


_TURNED = {"shear": {"x": [20, 20]}}, {"rotate": [15, 15]}, {"scale": [0.7, 0.7]}
_SMALL = {"ResizeToTarget": {"method": "area"}}
EXAMPLES: dict[str, Callable[[], Cells]] = {
    "StainJitter": lambda: drawn(
        lambda: tissue()[0], "StainJitter",
        {"sigma": 0.3, "bias": 0}, {"sigma": 0, "bias": 0.2}, {"basis": "macenko", "sigma": 0.5},
    ),
    "RandStainNA": restained,
    "HEStain": lambda: drawn(
        lambda: tissue()[0], "HEStain", {}, {"method": "macenko"}, {"augment_background": True},
    ),
    "StainNormalize": alike,
    "FDA": lambda: styled("FDA", "beta_limit", 0.01, 0.1),
    "HistogramMatching": lambda: styled("HistogramMatching", "blend_ratio", 0.5, 1.0),
    "Sharpness": lambda: drawn(photo, "Sharpness", *({"factor": [k, k]} for k in (0, 3, 9))),
    "SolarizeAdd": lambda: drawn(photo, "SolarizeAdd", *({"addition": [k, k]} for k in (0.1, 0.25, 0.4))),
    "CornerAffine": lambda: drawn(photo, "CornerAffine", *_TURNED),
    "AugMix": lambda: drawn(photo, "AugMix", {}, {"severity": 10}, {"severity": 10, "width": 1}),
    "Degrade": lambda: degraded({
        "lr: resized": [_SMALL],
        "lr: blur first": [{"GaussianBlur": {"sigma_limit": [3, 3], "p": 1}}, _SMALL],
        "lr: JPEG behind it": [_SMALL, {"ImageCompression": {"quality_range": [15, 15], "p": 1}}],
    }),
    "ResizeToTarget": lambda: degraded({
        f"method: {method}": [{"ResizeToTarget": {"method": method}}] for method in ("matlab_bicubic", "area", "linear")
    }),
    "KernelBlur": lambda: drawn(
        photo, "KernelBlur",
        *({"shapes": {shape: 1}, "sigma_limit": [3, 3]} for shape in ("iso", "plateau_iso")),
        {"shapes": {"sinc": 1}, "cutoff": [0.8, 0.8]},
    ),
    "PoissonNoise": lambda: drawn(
        photo, "PoissonNoise", {"scale_range": [0.2, 0.2]}, {"scale_range": [0.8, 0.8]},
        {"scale_range": [0.5, 0.5], "per_channel": False},
    ),
    "ImageCompression": lambda: drawn(
        photo, "ImageCompression", {"quality_range": [10, 10]}, {"quality_range": [10, 10], "subsampling": "4:4:4"},
        {"quality_range": [10, 10], "compression_type": "webp"},
    ),
    "RandAugment": lambda: drawn(photo, "RandAugment", {}, {"m": 20}, {"n": 4, "m": 20}, seed=4),
    "TrivialAugment": lambda: drawn(photo, "TrivialAugment", {}, {}, {}, seed=4),
    "AutoAugment": lambda: drawn(
        photo, "AutoAugment", *({"policy": one} for one in ("imagenet", "cifar10", "svhn")), seed=2
    ),
    "MixUp": lambda: two("MixUp", [_square(0), _square(3)]),
    "CutMix": lambda: two("CutMix", [_square(0), _square(3)], 5),
    "Mosaic": mosaics,
    "CopyPaste": pasted,
    "Stitch": stitched,
    "CutBlur": cut_blurred,
}  # fmt: skip


def picture(name: str) -> Image:
    """The cells of a step side by side, each below its caption; uint8 h×780×3 RGB."""
    parts = []
    for k, (caption, image) in enumerate(EXAMPLES[name]()):
        body = (
            image
            if image.shape[1] == _WIDE
            else cv2.resize(image, (_WIDE, round(image.shape[0] * _WIDE / image.shape[1])))
        )
        part = np.full((body.shape[0] + _TEXT_PX + 9, _WIDE + _GAP * (k < 3), 3), GROUND, np.uint8)
        part[-body.shape[0] :, :_WIDE] = body
        size = next(size for size in range(_TEXT_PX, 0, -1) if width_px(caption, size) <= _WIDE)
        render_text(part, caption, (0, _TEXT_PX), size_px=size, colour=INK)
        parts.append(part)
    return np.hstack(parts)


def draw_pictures() -> None:
    """Write the picture of every step as a JPEG."""
    PICTURES.mkdir(exist_ok=True)
    for name in EXAMPLES:
        cv2.imwrite(str(PICTURES / f"{name}.jpg"), picture(name)[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    draw_pictures()
