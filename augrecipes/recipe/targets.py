"""Further images of one scene, the key `targets:`.

A sample has them beside its image under their own names: a second date, a depth map, a flow field. All move with the
image; each has its own interpolation, fill, dtype and grid.
"""

import keyword
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from augrecipes.ops.constants import INTERPOLATION
from augrecipes.recipe import grammar, keys, nodes
from augrecipes.recipe.inputs import Inputs

LikeName = Literal["image", "mask", "masks", "vectors", "normals"]
_MOST = 64  # the largest ratio of two grids
# Channels of targets with a fixed number of them; masks have no channel axis.
CHANNELS: dict[str, int] = {"mask": 1, "masks": 1, "vectors": 2, "normals": 3}
# Names that samples, batches and albumentations' steps use for something else.
_TAKEN = frozenset({
    "epoch", "keypoint_number",
    "keypoint_object", "mask3d", "masks3d", "object", "padding", "params", "volume", "volumes",
})  # fmt: skip
_DTYPES = {"image": ("uint8", "float32"), "vectors": ("float32",), "normals": ("float32",)}


@dataclass(frozen=True, slots=True)
class Target:
    """One further image of a scene.

    Attributes:
        like: `image`; `mask` or `masks` (N, H, W), labels or numbers such as depth; `vectors` H×W×2, u and v in px;
            `normals` H×W×3.
        share: for images: `all`: steps that change values draw once for all images; `geometry`: they draw for each.
        interpolation: None: each step's interpolation for images or masks; linear for vectors and normals.
        fill: the value where steps have no pixels; None: the step's fill for images or masks, for vectors and normals
            0, and steps that hide pixels leave these alone.
        dtype: its dtype; None: any. Vectors and normals are float32.
        scale: its pixels per pixel of the image, a whole number or one divided by a whole number.
        presence: whether a sample must have it.
    """

    like: LikeName
    share: Literal["all", "geometry"] = "all"
    interpolation: str | None = None
    fill: float | tuple[float, ...] | None = None
    dtype: Literal["uint8", "uint16", "int32", "float32"] | None = None
    scale: float = 1
    presence: Literal["required", "optional"] = "required"

    @property
    def is_image(self) -> bool:
        """Whether steps change its values as they do the image's."""
        return self.like == "image"

    @property
    def has_directions(self) -> bool:
        """Whether its values are directions, which turn with the image."""
        return self.like in ("vectors", "normals")

    @property
    def factor(self) -> Fraction:
        """`scale` as an exact fraction.

        >>> Target("image", scale=0.25).factor, Target("image", scale=2).factor
        (Fraction(1, 4), Fraction(2, 1))
        """
        return Fraction(1, round(1 / self.scale)) if self.scale < 1 else Fraction(round(self.scale))

    @property
    def sampling(self) -> int | None:
        """OpenCV's number of its interpolation; None: the step's own."""
        name = self.interpolation or ("linear" if self.has_directions else None)
        return None if name is None else INTERPOLATION[name]


def coarsest_cell(targets: Mapping[str, Target]) -> int:
    """The image's pixels along a pixel of the coarsest target; windows begin at multiples of this.

    >>> coarsest_cell({"a": Target("image", scale=0.5), "b": Target("mask", scale=0.25)})
    4
    """
    return max((target.factor.denominator for target in targets.values()), default=1)


def missing_targets(targets: Mapping[str, Target], there: Any) -> list[str]:
    """The names of required targets that are not in `there`."""
    return [name for name, target in targets.items() if target.presence == "required" and name not in there]


def build_targets(context: keys.Context, node: nodes.Node | None, inputs: Inputs) -> dict[str, Target]:
    """Build the entries of `targets:`; invalid ones are noted and left out."""
    targets: dict[str, Target] = {}
    if node is not None and not isinstance(node, nodes.MappingNode):
        message = f"must be a mapping of targets, got {nodes.describe(node)}"
        context.problems.add("E408", node.place, message, "targets")
    for name, place, body in node.pairs() if isinstance(node, nodes.MappingNode) else ():
        if why := _wrong_name(name, inputs.row_keys):
            context.problems.add("E408", place, why, "targets")
        elif context.value(body, grammar.TARGET, "E408", f"targets.{name}"):
            values = nodes.plain(body)
            values |= {"fill": tuple(values["fill"])} if isinstance(values.get("fill"), list) else {}
            targets[name] = Target(**values)
            for key, message in _contradictions(targets[name], inputs):
                where: nodes.Place = getattr(body, "at", {}).get(key, place)
                context.problems.add("E408", where, message, f"targets.{name}.{key}")
    return targets


def _wrong_name(name: str, taken: frozenset[str]) -> str:
    if not name.isidentifier() or keyword.iskeyword(name):
        return f"a target's name is a Python name, got {name!r}"
    is_taken = name in grammar.TAKEN | _TAKEN | taken or name.startswith("_")
    return f"{name!r} means something else in a sample; choose another name" if is_taken else ""


def _contradictions(target: Target, inputs: Inputs) -> Iterator[tuple[str, str]]:
    """Yield the keys of a target that contradict others, and how."""
    like, fill = target.like, target.fill
    channels = CHANNELS.get(like, inputs.channels)
    if target.share != "all" and not target.is_image:
        yield "share", f"steps do not change the values of {like}: only `like: image` has it; leave it out"
    dtypes = (inputs.dtype,) if target.is_image and inputs.dtype else _DTYPES.get(like)
    if target.dtype is not None and dtypes and target.dtype not in dtypes:
        yield "dtype", f"{like} of this recipe are {' or '.join(dtypes)}: leave it out"
    if isinstance(fill, tuple) and (like in ("mask", "masks") or channels not in (None, len(fill))):
        yield "fill", f"must be one number{'' if like in ('mask', 'masks') else f', or {channels} numbers'}"
    scale = target.scale
    if not (scale == round(scale) if scale >= 1 else abs(1 / scale - round(1 / scale)) < 1e-6):
        yield "scale", f"is a whole number up to {_MOST}, or one divided by it, such as 0.5 and 0.25; got {scale:g}"
