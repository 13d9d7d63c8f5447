"""The methods of Recipe that higher packages implement, and the functions that lower packages look up by name.

Each function imports its packages when it is called, so that `import augrecipes` stays quick.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from augrecipes import report
from augrecipes.recipe import kinds
from augrecipes.recipe.model import RecipeMethods

if TYPE_CHECKING:
    from augrecipes.compiler.run.pipeline import Pipeline
    from augrecipes.data.transform import BatchTransform, SampleTransform
    from augrecipes.device.stage import DeviceStage
    from augrecipes.preview.sheet import Sheet
    from augrecipes.recipe.model import Mode, Optimize, Recipe


def to_yaml(recipe: Recipe) -> str:
    """Return the recipe as YAML that loads to an equal recipe (variants resolved, comments dropped)."""
    from augrecipes.recipe import write

    return write.to_yaml(recipe)


def compile(
    recipe: Recipe,
    mode: Mode = "train",
    optimize: Optimize | None = None,
    seed: int = 0,
    *,
    save_applied_params: bool = False,
    threads: int | None = None,
) -> Pipeline:
    """Turn the recipe into a callable albumentations Compose.

    Args:
        mode: `train` compiles the section `steps`, `eval` the section `eval`.
        optimize: `none`, `exact` or `fast`; None takes the recipe's own choice.
        seed: any integer; with (epoch, index) it decides every draw.
        save_applied_params: add `applied` to every sample: the random parameters of each step.
        threads: the number of threads for the tiles of a bag; None: one per core, or one in a DataLoader worker.

    Raises:
        LintError: a lint error that the recipe does not silence.
        RecipeError: the recipe has no such section.

    >>> import numpy as np, augrecipes as ar
    >>> pipeline = ar.load("folder-128").compile(seed=1)
    >>> out = pipeline.at(index=7, epoch=0)(image=np.zeros((200, 300, 3), np.uint8))
    >>> out["image"].shape, out["image"].dtype
    ((3, 128, 128), dtype('float32'))
    """
    from augrecipes.compiler.compile import compile_recipe

    return compile_recipe(recipe, mode, optimize, seed, save_applied_params=save_applied_params, threads=threads)


def transform(recipe: Recipe, mode: Mode = "train", **options: Any) -> SampleTransform:
    """Return a function of one sample, for torchvision's `transform=`, HF `set_transform`, LitData, WebDataset.

    Args:
        mode: `train` or `eval`.
        options: `seed`, `optimize`, `keys`, `index`, `axes`, `channels`: see `SampleTransform`.

    >>> import numpy as np, augrecipes as ar
    >>> image, label = ar.load("folder-128").transform(seed=1)((np.zeros((200, 300, 3), np.uint8), 7))
    >>> tuple(image.shape), label
    ((3, 128, 128), 7)
    """
    from augrecipes.data.transform import SampleTransform

    return SampleTransform(recipe, mode, **options)


def map_batches(recipe: Recipe, mode: Mode = "train", **options: Any) -> BatchTransform:
    """Return a function of a batch of columns, for Ray Data's `map_batches`: the same samples wherever it runs.

    Args:
        mode: `train` or `eval`.
        options: `epoch`, `index`, `seed`, `optimize`, `keys`, `axes`, `channels`: see `BatchTransform`.

    >>> import numpy as np, augrecipes as ar
    >>> batch = {"image": np.zeros((4, 200, 300, 3), np.uint8), "index": np.arange(4)}
    >>> ar.load("folder-128").map_batches(seed=1)(batch)["image"].shape
    (4, 3, 128, 128)
    """
    from augrecipes.data.transform import BatchTransform

    return BatchTransform(recipe, mode, **options)


def show(
    recipe: Recipe, image: Any = None, *, draws: int = 4, stages: bool = False, mode: Mode = "train", seed: int = 0,
    epoch: int = 0, optimize: Optimize | None = None, **targets: Any,
) -> Sheet:  # fmt: skip
    """Draw what the recipe does to an image, as a contact sheet; notebooks show it, `.save("sheet.png")` writes it.

    Args:
        image: an array H×W×C or H×W, uint8 or float in 0..1; a Pillow image; a tensor C×H×W; or a file or a folder; for
            pairs `{"hr": ..., "lr": ...}`, for bags a list of tiles. None: a synthetic photo.
        draws: the number of draws, in successive epochs; `eval` has one, and bags show as many tiles as are given.
        stages: show one draw after each step instead.
        mode: `train` or `eval`.
        seed: the seed of the draws.
        epoch: the epoch of the first draw.
        optimize: `none`, `exact` or `fast`; None takes the recipe's own choice.
        targets: the annotations of the image: `mask=`, `boxes=` with their labels, `keypoints=`.

    Raises:
        DataError: the recipe cannot run on this image.

    >>> import numpy as np, augrecipes as ar
    >>> ar.load("folder-128").show(np.zeros((200, 300, 3), np.uint8), draws=2).pixels.shape
    (443, 1004, 3)
    """
    from augrecipes.notebook.show import of_recipe

    look: dict[str, Any] = {"draws": draws, "stages": stages, "mode": mode, "seed": seed, "epoch": epoch}
    return of_recipe(recipe, image, optimize=optimize, **look, **targets)


def to_albumentations(recipe: Recipe, mode: Mode = "train") -> Any:
    """Return the recipe as a plain `A.Compose`, to leave augrecipes or to feed another framework.

    Normalize and ToTensorV2 come last where the output asks for them; for other colour spaces than RGB, and for
    float16, a step of this package does it. Albumentations then draws in its own way: no keys, no epochs.

    Args:
        mode: `train` or `eval`.

    Raises:
        RecipeError: the recipe has no such section, or works on more than one image at a time.

    >>> import augrecipes as ar
    >>> [type(step).__name__ for step in ar.load("folder-128").to_albumentations()]
    ['SmallestMaxSize', 'RandomCrop', 'HorizontalFlip', 'ToFloat', 'ToTensorV2']
    """
    from augrecipes.interop import plain

    return plain.to_albumentations(recipe, mode)


def device_stage(recipe: Recipe) -> DeviceStage:
    """Return a torch module that does the output conversion on the device, for outputs with `where: device`.

    Raises:
        RecipeError: no target's output has `where: device`.

    >>> import augrecipes as ar
    >>> ar.load("folder-128", overrides={"output.where": "device"}).device_stage().names
    ('image',)
    """
    from augrecipes.device.stage import DeviceStage

    return DeviceStage(recipe)


def html_of(shown: Any) -> str:
    """Render an object of this package as HTML, for a notebook."""
    from augrecipes.notebook import pages

    return pages.html_of(shown)


def sheet_of_dataset(*args: Any, **named: Any) -> Sheet:
    """Draw the contact sheet of a Dataset: see its `show`."""
    from augrecipes.notebook.show import of_dataset

    return of_dataset(*args, **named)


_METHODS: tuple[Callable[..., Any], ...] = (
    compile, transform, map_batches, show, to_yaml, to_albumentations, device_stage,
)  # fmt: skip


def bind() -> None:
    """Register what lower packages look up by name: methods of Recipe, HTML pages, sheets, and the parts of kinds."""
    for method in _METHODS:
        setattr(RecipeMethods, method.__name__, method)
    report.renderers |= {"html": html_of, "dataset": sheet_of_dataset}
    for kind in kinds.KINDS:
        kinds.register(kind, f"augrecipes.kinds.{kind}")
