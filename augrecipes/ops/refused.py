"""Classes of albumentations that cannot be a step of a recipe: why, and what to use instead."""

from __future__ import annotations

_OUTPUT = "is no step of a recipe: say it in `output:`"
_OTHER_IMAGES = "needs other images at run time, which a recipe cannot name"
_BATCH = "needs other samples, so it is a step of `batch:`"
_VOLUMES = "works on volumes, and recipes are about images"
_STAIN = "; to vary stain or colour use StainJitter, HEStain or ColorJitter"

REFUSED: dict[str, str] = {
    "Lambda": "needs Python code; write a transform class and make it known with augrecipes.register(cls)",
    "FDA": f"{_OTHER_IMAGES}{_STAIN}",
    "HistogramMatching": f"{_OTHER_IMAGES}{_STAIN}",
    "PixelDistributionAdaptation": f"{_OTHER_IMAGES}{_STAIN}",
    "TemplateTransform": _OTHER_IMAGES,
    "MixUp": f"{_BATCH}; write `batch: [MixUp: {{alpha: 1.0}}]`",
    "Mosaic": f"{_BATCH}; write `batch: [Mosaic]`",
    "OverlayElements": "needs images beside the sample; write a class and make it known with augrecipes.register(cls)",
    "TextImage": "needs texts beside the sample; write a class and make it known with augrecipes.register(cls)",
    "Normalize": f"{_OUTPUT} output: {{normalize: {{mean: [...], std: [...]}}}}, or normalize: imagenet",
    "ToFloat": f"{_OUTPUT} output: {{dtype: float32, range: [0, 1]}}",
    "ToTensorV2": f"{_OUTPUT} output: {{layout: chw}}; batches are torch tensors already",
    "ToTensor3D": _VOLUMES,
    "CenterCrop3D": f"{_VOLUMES}; use CenterCrop",
    "CoarseDropout3D": f"{_VOLUMES}; use CoarseDropout",
    "CubicSymmetry": f"{_VOLUMES}; use D4",
    "Pad3D": f"{_VOLUMES}; use Pad",
    "PadIfNeeded3D": f"{_VOLUMES}; use PadIfNeeded",
    "RandomCrop3D": f"{_VOLUMES}; use RandomCrop",
    "BasicTransform": "is the base of albumentations' classes, not a step",
    "DualTransform": "is the base of albumentations' classes, not a step",
    "ImageOnlyTransform": "is the base of albumentations' classes, not a step",
    "Transform3D": "is the base of albumentations' classes, not a step",
    "Compose": "is what `steps:` already is; use Sequential for a group",
    "ReplayCompose": "is what `steps:` already is; `pipeline.at(index, epoch)` replays a sample",
    "SelectiveChannelTransform": "is not in version 1; steps act on all channels",
    "PerChannel": "is gone from albumentations; most classes have per_channel: true",
    "OneOrOther": "is not in version 1; use OneOf with two steps",
}
