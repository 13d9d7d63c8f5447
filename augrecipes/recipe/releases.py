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
# Names of arguments by their places, as releases up to 1.4 had them (always_apply and p behind them), of classes where
# today's differ, of groups behind their transforms, and of what `output:` does.
PLACES: dict[str, str] = {
    "AdvancedBlur": "blur_limit sigmaX_limit sigmaY_limit rotate_limit beta_limit noise_limit",
    "Affine": "scale translate_percent translate_px rotate shear interpolation mask_interpolation cval cval_mask "
    "mode fit_output keep_ratio rotate_method",
    "CenterCrop": "height width",
    "ChannelDropout": "channel_drop_range fill_value",
    "BboxParams": "format label_fields min_area min_visibility min_width min_height check_each_transform clip",
    "CoarseDropout": "max_holes max_height max_width min_holes min_height min_width fill_value mask_fill_value",
    "Compose": "bbox_params keypoint_params additional_targets p is_check_shapes",
    "Crop": "x_min y_min x_max y_max",
    "CropAndPad": "px percent pad_mode pad_cval pad_cval_mask keep_size sample_independently interpolation",
    "Cutout": "num_holes max_h_size max_w_size fill_value",
    "Downscale": "scale_min scale_max interpolation",
    "ElasticTransform": "alpha sigma alpha_affine interpolation border_mode value mask_value approximate same_dxdy",
    "GaussNoise": "var_limit mean per_channel",
    "GridDistortion": "num_steps distort_limit interpolation border_mode value mask_value normalized",
    "GridDropout": "ratio unit_size_min unit_size_max holes_number_x holes_number_y shift_x shift_y random_offset "
    "fill_value mask_fill_value",
    "IAAAdditiveGaussianNoise": "loc scale per_channel",
    "IAAAffine": "scale translate_percent translate_px rotate shear order cval mode",
    "IAACropAndPad": "px percent pad_mode pad_cval keep_size",
    "IAAEmboss": "alpha strength",
    "IAAPerspective": "scale keep_size",
    "IAAPiecewiseAffine": "scale nb_rows nb_cols order cval mode",
    "IAASharpen": "alpha lightness",
    "IAASuperpixels": "p_replace n_segments",
    "ImageCompression": "quality_lower quality_upper compression_type",
    "JpegCompression": "quality_lower quality_upper",
    "KeypointParams": "format label_fields remove_invisible angle_in_degrees check_each_transform",
    "LongestMaxSize": "max_size interpolation",
    "MaskDropout": "max_objects image_fill_value mask_fill_value",
    "MotionBlur": "blur_limit allow_shifted",
    "Normalize": "mean std max_pixel_value",
    "OpticalDistortion": "distort_limit shift_limit interpolation border_mode value mask_value",
    "PadIfNeeded": "min_height min_width pad_height_divisor pad_width_divisor position border_mode value mask_value",
    "Perspective": "scale keep_size pad_mode pad_val mask_pad_val fit_output interpolation",
    "PiecewiseAffine": "scale nb_rows nb_cols interpolation mask_interpolation cval cval_mask mode absolute_scale "
    "keypoints_threshold",
    "PlasmaShadow": "shadow_intensity_range plasma_size roughness",
    "RandomBrightness": "limit",
    "RandomBrightnessContrast": "brightness_limit contrast_limit brightness_by_max",
    "RandomContrast": "limit",
    "RandomCrop": "height width",
    "RandomCropNearBBox": "max_part_shift cropping_box_key",
    "RandomFog": "fog_coef_lower fog_coef_upper alpha_coef",
    "RandomRain": "slant_lower slant_upper drop_length drop_width drop_color blur_value brightness_coefficient "
    "rain_type",
    "RandomResizedCrop": "height width scale ratio interpolation",
    "RandomScale": "scale_limit interpolation",
    "RandomShadow": "shadow_roi num_shadows_lower num_shadows_upper shadow_dimension",
    "RandomSizedCrop": "min_max_height height width w2h_ratio interpolation",
    "RandomSnow": "snow_point_lower snow_point_upper brightness_coeff",
    "RandomSunFlare": "flare_roi angle_lower angle_upper num_flare_circles_lower num_flare_circles_upper src_radius "
    "src_color",
    "Resize": "height width interpolation",
    "Rotate": "limit interpolation border_mode value mask_value rotate_method crop_border",
    "SafeRotate": "limit interpolation border_mode value mask_value",
    "ShiftScaleRotate": "shift_limit scale_limit rotate_limit interpolation border_mode value mask_value shift_limit_x "
    "shift_limit_y rotate_method",
    "SmallestMaxSize": "max_size interpolation",
    "Solarize": "threshold",
    "SomeOf": "n replace",
    "ToFloat": "max_value",
    "ToTensor": "num_classes sigmoid normalize",
    "ToTensorV2": "transpose_mask",
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
