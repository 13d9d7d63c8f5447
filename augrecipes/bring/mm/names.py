"""Names of transforms that the MM frameworks alone have, and those that only carry data in and out."""

from __future__ import annotations

# What loads a sample and what packs it for the network: datasets and `output:` do this.
CARRIERS = frozenset({
    "Collect", "CollectData", "DefaultFormatBundle", "FormatBundle", "ImageToTensor", "LoadAnnotations",
    "LoadImageFromFile", "LoadImageFromNDArray", "LoadImageFromWebcam", "LoadMultiChannelImageFromFiles",
    "PackDetInputs", "PackInputs", "PackSegInputs", "ToDataContainer", "WrapFieldsToLists", "PackClsInputs",
})  # fmt: skip
NAMES = CARRIERS | frozenset({
    "Albu", "Albumentations", "CachedMixUp", "CachedMosaic", "CopyPaste", "Corrupt", "CutOut", "Expand",
    "FilterAnnotations", "GenerateEdge", "LetterResize", "LoadProposals", "MinIoURandomCrop", "MultiScaleFlipAug",
    "PhotoMetricDistortion", "RandomCenterCropPad", "RandomChoiceResize", "RandomFlip", "ResizeShortestEdge",
    "ResizeToMultiple", "SegRescale", "TestTimeAug", "YOLOXHSVRandomAug", "YOLOv5HSVRandomAug", "YOLOv5KeepRatioResize",
    "YOLOv5MixUp", "YOLOv5RandomAffine", "YOLOXMixUp",
})  # fmt: skip
