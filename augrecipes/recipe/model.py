"""The recipe as data: frozen, comparable, picklable. Parsing, checking and compiling live elsewhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Literal

from augrecipes.kinds import Kind, facts
from augrecipes.kinds.record import Facts
from augrecipes.ops.bounds import MOST_BYTES
from augrecipes.ops.frozen import Arguments
from augrecipes.ops.groups import GROUPS
from augrecipes.ops.step import NOWHERE, Position, Step

if TYPE_CHECKING:
    from augrecipes.compiler.run.pipeline import Pipeline
    from augrecipes.data.transform import SampleTransform
    from augrecipes.device.stage import DeviceStage

Optimize = Literal["none", "exact", "fast"]
# Names of the optimiser's rules, each of which a recipe may do without.
RuleName = Literal[
    "crop_first", "defer_flips", "drop_noops", "fold_sink", "join_colours", "join_crops", "join_flips", "join_tables",
    "join_warps", "own_noise", "read_scaled", "read_window", "read_windows", "reduce_first", "shrink_first",
]  # fmt: skip
Mode = Literal["train", "eval"]
Presence = Literal["absent", "optional", "required"]

__all__ = [
    "GROUPS", "NOWHERE", "Arguments", "Bag", "Boxes", "Inputs", "Keypoints", "Kind", "Mode", "Normalize", "Optimize",
    "Output", "Position", "Presence", "Recipe", "Step",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Boxes:
    """How bounding boxes arrive. Fields are albumentations' BboxParams of the same names.

    Attributes:
        format: `pascal_voc`, `coco`, `yolo` or `albumentations`.
        labels: name of the key that holds one label a box, or None.
        min_area: boxes smaller than this after a step are dropped, px².
        min_visibility: boxes of which less than this fraction is left are dropped, 0..1.
        min_width: px.
        min_height: px.
        clip: clip boxes to the image before the first step.
        presence: whether a sample must have boxes.
    """

    format: str = "pascal_voc"
    labels: str | None = "box_labels"
    min_area: float = 0.0
    min_visibility: float = 0.0
    min_width: float = 0.0
    min_height: float = 0.0
    clip: bool = False
    presence: Presence = "optional"


@dataclass(frozen=True, slots=True)
class Keypoints:
    """How keypoints arrive.

    Attributes:
        format: `xy`, `yx`, `xya`, `xys`, `xyas`, `xysa` or `xyz`.
        labels: name of the key that holds one label a point, or None.
        remove_invisible: drop points that leave the image.
        presence: whether a sample must have keypoints.
    """

    format: str = "xy"
    labels: str | None = None
    remove_invisible: bool = True
    presence: Presence = "optional"


@dataclass(frozen=True, slots=True)
class Inputs:
    """What arrives at the first step.

    Attributes:
        channels: of the image; None: whatever is given (Datasets decode to 3).
        min_size: smallest (height, width) in px, or None; of a pair's coarsest target, whose grid ties the others.
        mask: whether a sample has a mask.
        boxes: None: a sample may not have boxes.
        keypoints: None: a sample may not have keypoints.
    """

    channels: int | None = None
    min_size: tuple[int, int] | None = None
    mask: Presence = "optional"
    boxes: Boxes | None = None
    keypoints: Keypoints | None = None


@dataclass(frozen=True, slots=True)
class Normalize:
    """Mean and standard deviation of values in 0..1, one number or one a channel each."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """What leaves the last step.

    Attributes:
        dtype: `float32`, `float16` or `uint8`.
        layout: `chw` or `hwc`.
        normalize: None: scaled to `range` instead.
        range: what 0 and full scale become without `normalize`.
        color: `rgb`, `bgr`, `y` (BT.601 luma, 16..235) or `gray`.
        where: `host`, or `device`: uint8 leaves the loader and a module on the device does the rest.
    """

    dtype: str = "float32"
    layout: str = "chw"
    normalize: Normalize | None = None
    range: tuple[float, float] = (0.0, 1.0)
    color: str = "rgb"
    where: str = "host"


@dataclass(frozen=True, slots=True)
class Bag:
    """How the tiles of a bag are picked: at most `max_tiles`, at least `min_tiles`, `random | first | stride`."""

    max_tiles: int | None = None
    min_tiles: int = 1
    pick: str = "random"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A parsed and checked recipe: frozen, comparable by value, picklable.

    Comparison and `digest` speak of what the recipe does: places, comments and key order do not count.

    Attributes:
        name: the `recipe:` line, `[a-z0-9-]`.
        about: one sentence for people.
        kind: `image`, `pair` or `bag`.
        optimize: the recipe's own choice, `exact` unless it says otherwise.
        without_rules: names of rules that the optimiser leaves out.
        inputs: what arrives.
        steps: training steps.
        eval: validation steps, or None where the recipe has none.
        output: what leaves; for pairs the default of targets that `outputs` does not name.
        outputs: output by target (kind pair).
        scales: relative grid of each target (kind pair).
        bag: tile picking (kind bag).
        allow_resampling: let shared pair geometry resample.
        max_bytes: of the largest picture that a step may make, in memory; None: of any. A larger one is an error of the
            check where arguments say so, and where draws do a DataError, before memory is asked for.
        file: where the recipe was read, for messages.
        derived: `eval` is what `eval: derived` makes of `steps`.
    """

    name: str
    about: str = ""
    kind: Kind = "image"
    optimize: Optimize = "exact"
    without_rules: tuple[RuleName, ...] = ()
    inputs: Inputs = field(default_factory=Inputs)
    steps: tuple[Step, ...] = ()
    eval: tuple[Step, ...] | None = None
    output: Output = field(default_factory=Output)
    outputs: Arguments = field(default_factory=Arguments)
    scales: Arguments = field(default_factory=Arguments)
    bag: Bag | None = None
    allow_resampling: bool = False
    max_bytes: int | None = MOST_BYTES
    file: str = field(default="<recipe>", compare=False)
    derived: bool = field(default=False, compare=False)

    @property
    def facts(self) -> Facts:
        """What is known of the recipe's kind."""
        return facts(self.kind)

    @property
    def digest(self) -> str:
        """64 hex digits that name what the recipe does; equal recipes have equal digests.

        The name, `about`, `optimize`, `without_rules` and `max_bytes` do not count: they say how, not what.
        """
        meaning = {k: v for k, v in _plain(self).items() if k not in _HOW}
        return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()

    def walk(self) -> Iterator[Step]:
        """Every step of both sections, groups before their children, in file order."""
        for step in (*self.steps, *(self.eval or ())):
            yield from step.walk()

    def section(self, mode: Mode) -> tuple[Step, ...] | None:
        """The steps of `mode`, or None where the recipe has no such section."""
        return self.steps if mode == "train" else self.eval

    def to_yaml(self) -> str:
        """The recipe as YAML that loads to an equal recipe (variants resolved, comments gone)."""
        from augrecipes.recipe.write import to_yaml

        return to_yaml(self)

    def compile(
        self,
        mode: Mode = "train",
        optimize: Optimize | None = None,
        seed: int = 0,
        *,
        save_applied_params: bool = False,
        threads: int | None = None,
    ) -> Pipeline:
        """Turn the recipe into a callable albumentations Compose.

        Args:
            mode: `train` runs `steps`, `eval` runs `eval`.
            optimize: `none`, `exact` or `fast`; None takes the recipe's own choice.
            seed: any integer; with (epoch, index) it decides every draw.
            save_applied_params: add `applied` to every sample: the draws that were made.
            threads: that work on the tiles of a bag; None: one a core, and one inside a DataLoader worker.

        Raises:
            LintError: a lint error that the recipe does not silence.
            RecipeError: the recipe has no such section.

        >>> import numpy as np, augrecipes as ar
        >>> pipeline = ar.load("folder-128").compile(seed=1)
        >>> out = pipeline.at(index=7, epoch=0)(image=np.zeros((200, 300, 3), np.uint8))
        >>> out["image"].shape, out["image"].dtype
        ((3, 128, 128), dtype('float32'))
        """
        # A doorway from the language to the compiler: everything else imports the other way.
        from augrecipes.compiler.compile import compile_recipe

        return compile_recipe(self, mode, optimize, seed, save_applied_params=save_applied_params, threads=threads)

    def transform(self, mode: Mode = "train", **options: Any) -> SampleTransform:
        """One function of a sample, for `transform=` of torchvision, HF `set_transform`, LitData, WebDataset.

        Args:
            mode: `train` or `eval`.
            options: `seed`, `optimize`, `keys`, `index`, `axes`, `channels`: see `SampleTransform`.

        >>> import numpy as np, augrecipes as ar
        >>> picture, label = ar.load("folder-128").transform(seed=1)((np.zeros((200, 300, 3), np.uint8), 7))
        >>> tuple(picture.shape), label
        ((3, 128, 128), 7)
        """
        from augrecipes.data.transform import SampleTransform

        return SampleTransform(self, mode, **options)

    def to_albumentations(self, mode: Mode = "train") -> Any:
        """The recipe as a plain `A.Compose`, for whoever leaves or feeds another framework. No lock-in.

        Normalize and ToTensorV2 stand last where the output says so; of other colours than RGB, and of float16, a step
        of this package. What albumentations draws, and in which order, is its own business then: no keys, no epochs.

        Args:
            mode: `train` or `eval`.

        Raises:
            RecipeError: the recipe has no such section, or is about more than one picture at a time.

        >>> import augrecipes as ar
        >>> [type(step).__name__ for step in ar.load("folder-128").to_albumentations()]
        ['SmallestMaxSize', 'RandomCrop', 'HorizontalFlip', 'ToFloat', 'ToTensorV2']
        """
        from augrecipes.bring.plain import to_albumentations

        return to_albumentations(self, mode)

    def device_stage(self) -> DeviceStage:
        """The rest of an output that says `where: device`, as a torch module that runs where the network runs.

        Raises:
            RecipeError: no target's output says so.

        >>> import augrecipes as ar
        >>> ar.load("folder-128", overrides={"output.where": "device"}).device_stage().names
        ('image',)
        """
        from augrecipes.device.stage import DeviceStage

        return DeviceStage(self)


_HOW = frozenset({"name", "about", "optimize", "without_rules", "max_bytes"})


def _plain(value: Any) -> Any:
    """Values as JSON has them; fields that do not compare are left out."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.compare}
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)  # 25.0 equals 25, so their digests must
    return value
