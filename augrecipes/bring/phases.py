"""Whether a name speaks of training or of evaluation."""

from __future__ import annotations

import re

_EVAL = frozenset({
    "val", "valid", "validation", "validate", "test", "testing", "eval", "evaluation", "predict", "pred", "inference",
    "infer", "tta", "dev",
})  # fmt: skip
_TRAIN = frozenset({"train", "training", "trn", "fit"})
_AUGMENT = frozenset({"augment", "augmentation", "augmentations", "augmented", "aug", "augs"})
_NOT = {"train": "eval", "augment": "eval", "eval": "train", "": ""}


def role(name: str) -> str:
    """`train`, `augment` (training, less surely), `eval` or nothing; the last part of the name that tells decides.

    >>> role("get_transforms.not_is_test"), role("valid_dataset.transform"), role("weak"), role("testTransform")
    ('train', 'eval', '', 'eval')
    """
    found = ""
    for part in name.split("."):
        words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", part).lower())
        here = next((said for said, known in _KNOWN if known.intersection(words)), "")
        here = _NOT[here] if words[:1] == ["not"] else here
        if here and not (here == "augment" and found):
            found = here
    return found


_KNOWN = (("eval", _EVAL), ("train", _TRAIN), ("augment", _AUGMENT))
