"""Names of arguments by their places, in earlier releases of albumentations; `history` says what they are today."""

from __future__ import annotations

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
