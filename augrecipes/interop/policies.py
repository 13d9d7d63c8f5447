"""Augmentation policies of torchvision as steps of a recipe."""

from __future__ import annotations

from typing import Any

from augrecipes.interop import torchvision_steps as steps
from augrecipes.interop.draft import Item
from augrecipes.interop.outputs import Args, Maker, SampleState, Unsupported
from augrecipes.ops.groups import AUTO_AUGMENT, RAND_AUGMENT, TRIVIAL_AUGMENT
from augrecipes.ops.policies import FULL_MAGNITUDE

_BINS = 31  # magnitudes of torchvision's RandAugment, where nothing is said


def _warp(args: Args, sample: SampleState, usual: str = "nearest") -> dict[str, Any]:
    how = args.named("interpolation", steps.INTERPOLATIONS, usual).removesuffix("_exact")
    return {"interpolation": how, "fill": steps.levels(args.get("fill"), sample).get("fill", 0)}


def short(number: float) -> float:
    """A number as people write it."""
    return int(number) if float(number).is_integer() else round(number, 6)


def rand_augment(args: Args, sample: SampleState) -> list[Item]:
    """Operations of one magnitude, which counts bins in torchvision."""
    last = int(args.get("num_magnitude_bins", _BINS)) - 1
    magnitude = args.get("magnitude", 9) * FULL_MAGNITUDE / last
    count = int(args.get("num_ops", 2))
    return [sample.line(RAND_AUGMENT, n=count, m=short(magnitude), **_warp(args, sample))] if count else []


def trivial_augment(args: Args, sample: SampleState) -> list[Item]:
    """One operation of any magnitude."""
    return [sample.line(TRIVIAL_AUGMENT, **_warp(args, sample))]


def auto_augment(args: Args, sample: SampleState) -> list[Item]:
    """The policy that was found for a data set."""
    policy = str(args.get("policy", "imagenet")).rpartition(".")[2].lower()
    return [sample.line(AUTO_AUGMENT, policy=policy, **_warp(args, sample))]


def aug_mix(args: Args, sample: SampleState) -> list[Item]:
    """Chains of operations, mixed."""
    warp = _warp(args, sample, "bilinear")
    if isinstance(warp["fill"], list) or warp["interpolation"] not in ("nearest", "linear"):
        raise Unsupported(
            "AugMix has one level to fill with, and interpolation nearest or linear: write the nearest of these"
        )
    depth = max(0, int(args.get("chain_depth", -1)))
    keys = {"severity": 3, "mixture_width": 3, "alpha": 1.0, "all_ops": True}
    severity, width, alpha, every = (args.get(key, usual) for key, usual in keys.items())
    return [sample.line("AugMix", severity=severity, width=width, depth=depth, alpha=alpha, all_ops=every, **warp)]


# Of each class what makes steps of its arguments.
MAKERS: dict[str, Maker] = {
    "AugMix": aug_mix,
    "AutoAugment": auto_augment,
    "RandAugment": rand_augment,
    "TrivialAugmentWide": trivial_augment,
}
