"""Classes of albumentations that are no steps here, because `output:` does their work once, last."""

NORMALIZE, TO_FLOAT, TO_TENSOR = "Normalize", "ToFloat", "ToTensorV2"
# What albumentations 0.x called ToTensorV2; it also scaled integers to 0..1, and normalised where it was told how.
OLD_TO_TENSOR = "ToTensor"
OUTPUTS: tuple[str, ...] = (NORMALIZE, TO_FLOAT, TO_TENSOR, OLD_TO_TENSOR)
