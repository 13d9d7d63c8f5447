"""Arguments by position: what each was called, in today's order or in that of earlier releases of albumentations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from augrecipes.ops import registry
from augrecipes.recipe.arguments import check_value
from augrecipes.recipe.nodes import Place, from_value

_PADDED = ("border_mode", "value", "mask_value")
_DROPPED = ("max_holes", "max_height", "max_width", "min_holes", "min_height", "min_width", "fill_value")
# The order of releases up to 1.4, where it is not today's.
EARLIER: dict[str, tuple[str, ...]] = {
    "AdvancedBlur": ("blur_limit", "sigmaX_limit", "sigmaY_limit", "rotate_limit", "beta_limit", "noise_limit"),
    "Affine": ("scale", "translate_percent", "translate_px", "rotate", "shear", "interpolation", "mask_interpolation",
               "cval", "cval_mask", "mode", "fit_output", "keep_ratio"),
    "ChannelDropout": ("channel_drop_range", "fill_value"),
    "CoarseDropout": (*_DROPPED, "mask_fill_value"),
    "CropAndPad": ("px", "percent", "pad_mode", "pad_cval", "pad_cval_mask", "keep_size"),
    "Cutout": ("num_holes", "max_h_size", "max_w_size", "fill_value"),
    "Downscale": ("scale_min", "scale_max", "interpolation"),
    "ElasticTransform": ("alpha", "sigma", "alpha_affine", "interpolation", *_PADDED),
    "GaussNoise": ("var_limit", "mean", "per_channel"),
    "GridDistortion": ("num_steps", "distort_limit", "interpolation", *_PADDED),
    "GridDropout": ("ratio", "unit_size_min", "unit_size_max", "holes_number_x", "holes_number_y", "shift_x",
                    "shift_y", "random_offset", "fill_value", "mask_fill_value"),
    "IAAAdditiveGaussianNoise": ("loc", "scale", "per_channel"),
    "IAAAffine": ("scale", "translate_percent", "translate_px", "rotate", "shear", "order", "cval", "mode"),
    "IAACropAndPad": ("px", "percent", "pad_mode", "pad_cval", "keep_size"),
    "IAAEmboss": ("alpha", "strength"),
    "IAAPerspective": ("scale", "keep_size"),
    "IAAPiecewiseAffine": ("scale", "nb_rows", "nb_cols", "order", "cval", "mode"),
    "IAASharpen": ("alpha", "lightness"),
    "IAASuperpixels": ("p_replace", "n_segments"),
    "ImageCompression": ("quality_lower", "quality_upper", "compression_type"),
    "JpegCompression": ("quality_lower", "quality_upper"),
    "LongestMaxSize": ("max_size", "interpolation"),
    "MaskDropout": ("max_objects", "image_fill_value", "mask_fill_value"),
    "OpticalDistortion": ("distort_limit", "shift_limit", "interpolation", *_PADDED),
    "PadIfNeeded": ("min_height", "min_width", "pad_height_divisor", "pad_width_divisor", *_PADDED),
    "Perspective": ("scale", "keep_size", "pad_mode", "pad_val", "mask_pad_val", "fit_output", "interpolation"),
    "PiecewiseAffine": ("scale", "nb_rows", "nb_cols", "interpolation", "mask_interpolation", "cval", "cval_mask"),
    "RandomBrightness": ("limit",),
    "RandomContrast": ("limit",),
    "RandomFog": ("fog_coef_lower", "fog_coef_upper", "alpha_coef"),
    "RandomGamma": ("gamma_limit", "eps"),
    "RandomRain": ("slant_lower", "slant_upper", "drop_length", "drop_width", "drop_color", "blur_value"),
    "RandomResizedCrop": ("height", "width", "scale", "ratio", "interpolation"),
    "RandomShadow": ("shadow_roi", "num_shadows_lower", "num_shadows_upper", "shadow_dimension"),
    "RandomSizedCrop": ("min_max_height", "height", "width", "w2h_ratio", "interpolation"),
    "RandomSnow": ("snow_point_lower", "snow_point_upper", "brightness_coeff"),
    "RandomSunFlare": ("flare_roi", "angle_lower", "angle_upper", "num_flare_circles_lower",
                       "num_flare_circles_upper", "src_radius", "src_color"),
    "Rotate": ("limit", "interpolation", *_PADDED),
    "SafeRotate": ("limit", "interpolation", *_PADDED),
    "ShiftScaleRotate": ("shift_limit", "scale_limit", "rotate_limit", "interpolation", *_PADDED, "shift_limit_x",
                         "shift_limit_y"),
    "SmallestMaxSize": ("max_size", "interpolation"),
    "Solarize": ("threshold",),
    "XYMasking": ("num_masks_x", "num_masks_y", "mask_x_length", "mask_y_length", "fill_value"),
}  # fmt: skip
_COMPOSE = ("bbox_params", "keypoint_params", "additional_targets", "p")
# What takes transforms, and the rest of its arguments; and classes that are no steps.
OTHERS: dict[str, tuple[str, ...]] = {
    "Compose": _COMPOSE, "ReplayCompose": _COMPOSE, "OneOf": ("p",), "Sequential": ("p",), "OneOrOther": ("p",),
    "SomeOf": ("n", "replace", "p"), "RandomOrder": ("n", "replace", "p"), "PerChannel": ("channels", "p"),
    "SelectiveChannelTransform": ("channels", "p"), "Flip": ("p",), "Normalize": ("mean", "std", "max_pixel_value"),
    "ToFloat": ("max_value",), "ToTensorV2": ("transpose_mask",), "ToTensor": ("num_classes", "sigmoid", "normalize"),
    "BboxParams": ("format", "label_fields", "min_area", "min_visibility", "min_width", "min_height"),
    "KeypointParams": ("format", "label_fields", "remove_invisible", "angle_in_degrees"),
    "Lambda": ("image", "mask", "keypoint", "bbox", "name"),
}  # fmt: skip


def names(cls: str, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[str, ...]:
    """What arguments by position are called; fewer names than arguments, where the class never took as many.

    >>> names("RandomResizedCrop", [224, 224], {}), names("RandomResizedCrop", [[224, 224]], {})
    (('height', 'width'), ('size',))
    """
    if cls in OTHERS:
        return OTHERS[cls][: len(args)]
    schema = registry.arguments(cls)
    earlier = EARLIER.get(cls, ())
    if schema is None:
        return (*earlier, "always_apply", "p")[: len(args)] if earlier else ()
    takes = schema["properties"]
    today = [*(key for key in takes if key != "p"), "p"]
    fits = len(args) <= len(today) and not any(key in earlier and key not in takes for key in named)
    if earlier and not (fits and all(_takes(takes[key], value) for key, value in zip(today, args, strict=False))):
        return (*earlier, "always_apply", "p")[: len(args)]
    return tuple(today[: len(args)])


def _takes(schema: Any, value: Any) -> bool:
    try:
        return not check_value(schema, from_value(value, Place()))
    except TypeError:
        return True  # what is not known fits
