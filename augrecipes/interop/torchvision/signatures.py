"""Arguments of torchvision's transforms, versions 1 and 2, in the order of their constructors; objects by these."""

from __future__ import annotations

from typing import Any

from augrecipes.interop.draft import Call
from augrecipes.interop.torchvision import colors, geometry
from augrecipes.recipe.nodes import Place

MAKERS = geometry.MAKERS | colors.MAKERS
# Of classes that have no step of the same meaning.
_OTHERS = {
    "AugMix": "severity mixture_width chain_depth alpha all_ops interpolation fill", "TenCrop": "size vertical_flip",
    "AutoAugment": "policy interpolation fill", "Compose": "transforms", "CutMix": "alpha num_classes labels_getter",
    "FiveCrop": "size", "Lambda": "lambd types", "LinearTransformation": "transformation_matrix mean_vector",
    "MixUp": "alpha num_classes labels_getter", "SanitizeKeyPoints": "labels_getter",
    "RandAugment": "num_ops magnitude num_magnitude_bins interpolation fill", "RandomOrder": "transforms",
    "RandomAdjustSharpness": "sharpness_factor p", "RandomApply": "transforms p", "RandomChoice": "transforms p",
    "RandomIoUCrop": "min_scale max_scale min_aspect_ratio max_aspect_ratio sampler_options trials",
    "RandomPerspective": "distortion_scale p interpolation fill", "RandomZoomOut": "fill side_range p",
    "TrivialAugmentWide": "num_magnitude_bins interpolation fill",
}  # fmt: skip
_NAMES = _OTHERS | {name: names for name, (names, _) in MAKERS.items()}
PARAMETERS = {name: tuple(names.split()) for name, names in _NAMES.items()}
# Names that torchvision shares with albumentations; a list that holds one of the others is of torchvision.
_SHARED = {
    "CenterCrop", "ColorJitter", "Compose", "ElasticTransform", "GaussianBlur", "Lambda", "MixUp", "Normalize", "Pad",
    "RandomCrop", "RandomOrder", "RandomResizedCrop", "Resize", "ToTensor",
}  # fmt: skip
TELLING = frozenset(PARAMETERS) - _SHARED

_HOME = "torchvision.transforms"
_CHILDREN = "transforms"
# Arguments whose attribute is called otherwise.
_ATTRIBUTES = {"sampler_options": "options"}
_NONE = object()


def is_torchvision(value: Any) -> bool:
    """Whether an object is one of torchvision's transforms."""
    return type(value).__module__.startswith(_HOME)


def read(value: Any, file: str) -> Call:
    """The transform, and those inside it; lines are counted as `repr` prints them, one a transform."""
    return _read(value, file, [0])


def _read(value: Any, file: str, count: list[int]) -> Call:
    count[0] += 1
    place, cls = Place(file, count[0], 1), type(value)
    if not is_torchvision(value):
        name = getattr(value, "__name__", cls.__name__)
        return Call(name if name.isidentifier() else "Lambda", {}, None, place, cls.__module__)
    found = {key: getattr(value, _ATTRIBUTES.get(key, key), _NONE) for key in PARAMETERS.get(cls.__name__, ())}
    children = found.pop(_CHILDREN, None)
    args = {key: _plain(each) for key, each in found.items() if each is not _NONE}
    inside = tuple(_read(each, file, count) for each in children) if children is not None else None  # type: ignore[attr-defined]
    return Call(cls.__name__, args, inside, place, cls.__module__)


def _plain(value: Any) -> Any:
    """A value as a config would have it."""
    if isinstance(value, dict):
        return {getattr(key, "__name__", str(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
