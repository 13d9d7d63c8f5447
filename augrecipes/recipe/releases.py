"""When names of albumentations changed: the release that brought the new one, and the last that took the old one.

Read off the signatures of every release since 1.0.0. What each name is today stands in `history`.
"""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """How long an argument had its old name.

    Attributes:
        since: the first release with the new name; empty where nothing took its place.
        until: the last release with the old one.
    """

    since: str
    until: str


ALWAYS_APPLY_UNTIL = "1.4.24"
# Classes that are gone, and the last release with them.
CLASSES: dict[str, str] = {
    "Cutout": "1.3.1",
    "Flip": "1.4.23",
    "IAAAdditiveGaussianNoise": "1.3.1",
    "IAAAffine": "1.3.1",
    "IAACropAndPad": "1.3.1",
    "IAAEmboss": "1.3.1",
    "IAAFliplr": "1.3.1",
    "IAAFlipud": "1.3.1",
    "IAAPerspective": "1.3.1",
    "IAAPiecewiseAffine": "1.3.1",
    "IAASharpen": "1.3.1",
    "IAASuperpixels": "1.3.1",
    "JpegCompression": "1.3.1",
    "PerChannel": "1.4.4",
    "RandomBrightness": "1.3.1",
    "RandomContrast": "1.3.1",
    "ToTensor": "1.3.1",
}
ARGUMENTS: dict[tuple[str, str], Span] = {
    ("AdvancedBlur", "sigmaX_limit"): Span("1.4.1", "1.4.24"),
    ("AdvancedBlur", "sigmaY_limit"): Span("1.4.1", "1.4.24"),
    ("Affine", "cval"): Span("1.4.22", "1.4.24"),
    ("Affine", "cval_mask"): Span("1.4.22", "1.4.24"),
    ("Affine", "mode"): Span("1.4.22", "1.4.24"),
    ("CenterCrop", "pad_cval"): Span("1.4.22", "1.4.24"),
    ("CenterCrop", "pad_cval_mask"): Span("1.4.22", "1.4.24"),
    ("CenterCrop", "pad_mode"): Span("1.4.22", "1.4.24"),
    ("ChannelDropout", "fill_value"): Span("1.4.22", "1.4.24"),
    ("CoarseDropout", "fill_value"): Span("1.4.22", "1.4.24"),
    ("CoarseDropout", "mask_fill_value"): Span("1.4.22", "1.4.24"),
    ("CoarseDropout", "max_height"): Span("1.4.5", "1.4.24"),
    ("CoarseDropout", "max_holes"): Span("1.4.5", "1.4.24"),
    ("CoarseDropout", "max_width"): Span("1.4.5", "1.4.24"),
    ("CoarseDropout", "min_height"): Span("1.4.5", "1.4.24"),
    ("CoarseDropout", "min_holes"): Span("1.4.5", "1.4.24"),
    ("CoarseDropout", "min_width"): Span("1.4.5", "1.4.24"),
    ("Crop", "pad_cval"): Span("1.4.22", "1.4.24"),
    ("Crop", "pad_cval_mask"): Span("1.4.22", "1.4.24"),
    ("Crop", "pad_mode"): Span("1.4.22", "1.4.24"),
    ("CropAndPad", "pad_cval"): Span("1.4.22", "1.4.24"),
    ("CropAndPad", "pad_cval_mask"): Span("1.4.22", "1.4.24"),
    ("CropAndPad", "pad_mode"): Span("1.4.22", "1.4.24"),
    ("Downscale", "interpolation"): Span("1.4.6", "1.4.24"),
    ("Downscale", "scale_max"): Span("1.4.6", "1.4.24"),
    ("Downscale", "scale_min"): Span("1.4.6", "1.4.24"),
    ("ElasticTransform", "alpha_affine"): Span("", "1.4.17"),
    ("ElasticTransform", "mask_value"): Span("2.0.6", "1.4.24"),
    ("ElasticTransform", "value"): Span("2.0.6", "1.4.24"),
    ("GaussNoise", "mean"): Span("1.4.22", "1.4.24"),
    ("GaussNoise", "var_limit"): Span("1.4.22", "1.4.24"),
    ("GridDistortion", "mask_value"): Span("2.0.6", "1.4.24"),
    ("GridDistortion", "value"): Span("2.0.6", "1.4.24"),
    ("GridDropout", "fill_value"): Span("1.4.22", "1.4.24"),
    ("GridDropout", "holes_number_x"): Span("1.4.11", "1.4.24"),
    ("GridDropout", "holes_number_y"): Span("1.4.11", "1.4.24"),
    ("GridDropout", "mask_fill_value"): Span("1.4.22", "1.4.24"),
    ("GridDropout", "shift_x"): Span("1.4.11", "1.4.24"),
    ("GridDropout", "shift_y"): Span("1.4.11", "1.4.24"),
    ("GridDropout", "unit_size_max"): Span("1.4.11", "1.4.24"),
    ("GridDropout", "unit_size_min"): Span("1.4.11", "1.4.24"),
    ("ImageCompression", "quality_lower"): Span("1.4.7", "1.4.24"),
    ("ImageCompression", "quality_upper"): Span("1.4.7", "1.4.24"),
    ("MaskDropout", "image_fill_value"): Span("1.4.22", "1.4.24"),
    ("MaskDropout", "mask_fill_value"): Span("1.4.22", "1.4.24"),
    ("OpticalDistortion", "mask_value"): Span("2.0.6", "1.4.24"),
    ("OpticalDistortion", "shift_limit"): Span("", "1.4.24"),
    ("OpticalDistortion", "value"): Span("2.0.6", "1.4.24"),
    ("PadIfNeeded", "mask_value"): Span("1.4.22", "1.4.24"),
    ("PadIfNeeded", "value"): Span("1.4.22", "1.4.24"),
    ("Perspective", "mask_pad_val"): Span("1.4.22", "1.4.24"),
    ("Perspective", "pad_mode"): Span("1.4.22", "1.4.24"),
    ("Perspective", "pad_val"): Span("1.4.22", "1.4.24"),
    ("PiecewiseAffine", "cval"): Span("2.0.6", "1.4.24"),
    ("PiecewiseAffine", "cval_mask"): Span("2.0.6", "1.4.24"),
    ("PiecewiseAffine", "keypoints_threshold"): Span("", "1.4.24"),
    ("PiecewiseAffine", "mode"): Span("2.0.6", "1.4.24"),
    ("RandomCrop", "pad_cval"): Span("1.4.22", "1.4.24"),
    ("RandomCrop", "pad_cval_mask"): Span("1.4.22", "1.4.24"),
    ("RandomCrop", "pad_mode"): Span("1.4.22", "1.4.24"),
    ("RandomCropNearBBox", "cropping_box_key"): Span("1.4.2", "1.4.24"),
    ("RandomFog", "fog_coef_lower"): Span("1.4.9", "1.4.24"),
    ("RandomFog", "fog_coef_upper"): Span("1.4.9", "1.4.24"),
    ("RandomGamma", "eps"): Span("", "1.3.1"),
    ("RandomRain", "slant_lower"): Span("1.4.8", "1.4.24"),
    ("RandomRain", "slant_upper"): Span("1.4.8", "1.4.24"),
    ("RandomResizedCrop", "height"): Span("1.4.3", "1.4.24"),
    ("RandomResizedCrop", "width"): Span("1.4.3", "1.4.24"),
    ("RandomShadow", "num_shadows_lower"): Span("1.4.4", "1.4.24"),
    ("RandomShadow", "num_shadows_upper"): Span("1.4.4", "1.4.24"),
    ("RandomSizedCrop", "height"): Span("1.4.3", "1.4.24"),
    ("RandomSizedCrop", "width"): Span("1.4.3", "1.4.24"),
    ("RandomSnow", "snow_point_lower"): Span("1.4.8", "1.4.24"),
    ("RandomSnow", "snow_point_upper"): Span("1.4.8", "1.4.24"),
    ("RandomSunFlare", "angle_lower"): Span("1.4.11", "1.4.24"),
    ("RandomSunFlare", "angle_upper"): Span("1.4.11", "1.4.24"),
    ("RandomSunFlare", "num_flare_circles_lower"): Span("1.4.11", "1.4.24"),
    ("RandomSunFlare", "num_flare_circles_upper"): Span("1.4.11", "1.4.24"),
    ("Rotate", "mask_value"): Span("1.4.22", "1.4.24"),
    ("Rotate", "method"): Span("1.3.0", "1.2.1"),
    ("Rotate", "value"): Span("1.4.22", "1.4.24"),
    ("SafeRotate", "mask_value"): Span("1.4.22", "1.4.24"),
    ("SafeRotate", "value"): Span("1.4.22", "1.4.24"),
    ("ShiftScaleRotate", "mask_value"): Span("1.4.22", "1.4.24"),
    ("ShiftScaleRotate", "value"): Span("1.4.22", "1.4.24"),
    ("Solarize", "threshold"): Span("1.4.22", "1.4.24"),
    ("XYMasking", "fill_value"): Span("1.4.22", "1.4.24"),
    ("XYMasking", "mask_fill_value"): Span("1.4.22", "1.4.24"),
}


def until(cls: str, name: str = "") -> str:
    """The last release with a class, or with an argument of it; empty where nothing is known.

    >>> until("ImageCompression", "quality_lower"), until("Cutout"), until("Blur", "blur_limit")
    ('1.4.24', '1.3.1', '')
    """
    if name == "always_apply":
        return ALWAYS_APPLY_UNTIL
    if not name or cls in CLASSES:
        return CLASSES.get(cls, "")
    span = ARGUMENTS.get((cls, name))
    return span.until if span is not None else ""
