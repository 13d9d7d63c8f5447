"""Classes of albumentations that are no steps of recipes, because `output:` does their work once, at the end."""

NORMALIZE, TO_FLOAT, TO_TENSOR = "Normalize", "ToFloat", "ToTensorV2"
# albumentations 0.x's ToTensorV2, which also scaled integers to 0..1 and could normalise.
OLD_TO_TENSOR = "ToTensor"
OUTPUTS: tuple[str, ...] = (NORMALIZE, TO_FLOAT, TO_TENSOR, OLD_TO_TENSOR)
