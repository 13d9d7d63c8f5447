"""Conversion of timm's and torchvision's augmentation policies to steps, and of timm's `create_transform`."""

import math
import re
import sys
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from augrecipes.interop import torchvision_steps as steps
from augrecipes.interop.draft import FOREIGN, Call, Item, Line
from augrecipes.interop.outputs import Args, Maker, SampleState, Unsupported
from augrecipes.ops.groups import AUTO_AUGMENT, ONE_OF, RAND_AUGMENT, TRIVIAL_AUGMENT
from augrecipes.ops.policies import FULL_MAGNITUDE
from augrecipes.recipe.outputs import imagenet

CREATE_TRANSFORM = "create_transform"  # of timm: a pipeline by itself
_TENTHS = FULL_MAGNITUDE // 10  # timm counts magnitudes in tenths
_UNIFORM = 100  # above this deviation timm draws magnitudes uniformly from 0
_UNIFORM_NOTE = "magnitudes are uniform with the deviation of timm's normal ones"
_SAMPLED = "timm draws bilinear or bicubic, here it is linear"
_PART = re.compile(r"([a-z]+?)(\d.*)")
MIXING = ("Mixup", "FastCollateMixup")  # classes that mix batches
# Mixup's defaults, and the arguments for which recipes have a single value, with the reason.
_MIXUP = FOREIGN["timm"]
_UNSUPPORTED = ("separate", "naflex", "tf_preprocessing", "no_aug", "crop_border_pixels", "re_num_splits")


def timm_policy(args: Args, sample: SampleState) -> list[Item]:
    """The step for one of timm's config strings, such as `rand-m9-mstd0.5-inc1`, `original`, `augmix-m3-w3`."""
    text, extra = str(args["config_str"]), args.get("hparams") or {}
    kind, *parts = text.split("-")
    result = {match[1]: float(match[2]) for part in parts if (match := _PART.fullmatch(part))}
    known = {"rand": {"m", "n", "p", "mstd", "inc"}, "augmix": {"m", "w", "d", "a"}}.get(kind, {"mstd"})
    for part in parts:
        match = _PART.fullmatch(part)
        if match is None or match[1] not in known:
            raise Unsupported(f"{part!r} of {text!r} has no equivalent here; write the string without it")
    mean = extra.get("img_mean", [128, 128, 128]) if isinstance(extra, dict) else [128, 128, 128]
    warp = {"interpolation": "linear", "fill": mean[0] if len({*mean}) == 1 else list(mean)}
    deviation = result.get("mstd", 0.0)
    spread = {"mstd": short(deviation * _TENTHS)} if deviation else {}
    if kind == "rand":
        magnitude = min(result.get("m", 10.0), 10.0)
        if deviation > _UNIFORM:
            magnitude, spread = magnitude / 2, {"mstd": short(magnitude / 2 / math.sqrt(3) * _TENTHS)}
        ops = "timm-increasing" if result.get("inc") else "timm"
        counts = {"n": int(result.get("n", 2)), "m": short(magnitude * _TENTHS), "op_p": result.get("p", 0.5)}
        line = sample.line(RAND_AUGMENT, **counts, **spread, ops=ops, **warp)
    elif kind == "augmix":
        sizes = {"severity": int(result.get("m", 3)), "width": int(result.get("w", 3)), "alpha": result.get("a", 1.0)}
        fill = round(sum(mean) / len(mean))
        line = sample.line("AugMix", **sizes, depth=max(0, int(result.get("d", 0))), interpolation="linear", fill=fill)
        line.comments.append("magnitudes are those of torchvision's AugMix")
    else:
        line = sample.line(AUTO_AUGMENT, policy=kind, **spread, **warp)
    line.comments += [_SAMPLED] + ([_UNIFORM_NOTE] if spread and deviation <= _UNIFORM else [])
    return [line]


def call_of(value: Any) -> Call | None:
    """The call that creates an object of timm; None if no such call is known."""
    name, package, foreign = type(value).__name__, type(value).__module__, FOREIGN["timm"]
    if like := foreign["like"].get(name):
        keys = [key for key in ("size", "scale", "ratio", "interpolation") if hasattr(value, key)]
        return Call(like, {key: getattr(value, key) for key in keys}, package="torchvision.transforms")
    if getattr(value, "blended", False) or getattr(value, "choice_weights", None) is not None:
        return None
    for text in foreign["policies"].get(name, ()) if vars(value) else ():
        first = (value.policy[0] if hasattr(value, "policy") else value.ops)[0]
        spread = f"-mstd{min(first.magnitude_std, _UNIFORM + 1)}" if first.magnitude_std else ""
        hparams = {key: each for key, each in first.hparams.items() if not key.startswith("magnitude")}
        args = {"config_str": text.format(first=first, value=value, spread=spread), "hparams": hparams}
        function = foreign["functions"][name]
        if repr(getattr(sys.modules[package], function)(**deepcopy(args))) == repr(value):
            return Call(function, args, package=package)
    return None


def create_transform(args: Args, sample: SampleState) -> list[Item]:
    """The steps of timm's `create_transform`, for training or validation."""
    extra = [key for key in _UNSUPPORTED if args.get(key)]
    extra += [key for key in ("train_crop_mode", "crop_mode") if args.get(key) not in (None, "rrc", "center")]
    if extra:
        what = f"{CREATE_TRANSFORM} with {extra[0]}={args[extra[0]]!r}"
        raise Unsupported(f"{what} has no equivalent here; write its steps out")
    sides = [int(each) for each in args.numbers("input_size", 224)]
    size, how = (sides * 2)[:2] if len(sides) == 1 else sides[-2:], args.get("interpolation", "bilinear")
    sized = Args(interpolation="bilinear" if how == "random" else how)
    mean, std = (list(args.get(key) or getattr(imagenet("rgb"), key)) for key in ("mean", "std"))
    if args.get("is_training"):
        result = _training(args, sample, Args(sized, size=size), mean)
    else:
        whole = [math.floor(side / (args.get("crop_pct") or 0.875)) for side in size]
        result = steps.resize(Args(sized, size=whole[:1] if len({*whole}) == 1 else whole), sample)
        result += steps.center_crop(Args(size=size), sample)
    sample.output["layout"] = "chw"
    if not args.get("use_prefetcher"):
        sample.output["dtype"] = "float32"
        sample.output |= {"normalize": {"mean": mean, "std": std}} if args.get("normalize", True) else {}
    return result


def _training(args: Args, sample: SampleState, sized: Args, mean: Sequence[float]) -> list[Item]:
    policy, level = args.get("auto_augment"), [min(255, round(255 * each)) for each in mean]
    crop = {"scale": args.get("scale") or [0.08, 1.0], "ratio": args.get("ratio") or [3 / 4, 4 / 3]}
    result = steps.random_resized_crop(Args(sized, **crop), sample)

    def add(name: str, p: float | None, **more: object) -> None:
        result.extend([sample.line(name, **more, p=float(p))] if p else [])

    add("HorizontalFlip", args.get("hflip", 0.5))
    add("VerticalFlip", args.get("vflip"))
    result += timm_policy(Args(config_str=policy, hparams={"img_mean": level}), sample) if policy else []
    jitter = args.get("color_jitter", 0.4)
    if jitter and (not policy or "3a" in policy):
        amounts = jitter if isinstance(jitter, list | tuple) else [jitter] * 3
        named = dict(zip(("brightness", "contrast", "saturation", "hue"), amounts, strict=False))
        for line in steps.color_jitter(Args(named), sample):
            line.args["p"] = args.get("color_jitter_prob") or 1.0  # type: ignore[union-attr]
            result.append(line)
    add("ToGray", args.get("grayscale_prob"))
    add("GaussianBlur", args.get("gaussian_blur_prob"), blur_limit=[23, 23], sigma_limit=[0.1, 2.0])
    # timm erases after the normalisation, where 0 is the mean.
    fill = level if args.get("re_mode", "const") == "const" else "random"
    if args.get("re_prob"):
        sample.draft.note(steps.NOTES["erasing"])
    add("Erasing", args.get("re_prob"), scale=[0.02, 0.333333], ratio=[0.3, 3.3], fill=fill)
    return result


def mixup(args: Args, sample: SampleState) -> list[Item]:
    """MixUp or CutMix per batch, where `switch_prob` is the probability of CutMix."""
    args = Args(_MIXUP["usual"] | args)
    alpha, cut, switch, p = (args.numbers(key)[0] for key in ("mixup_alpha", "cutmix_alpha", "switch_prob", "prob"))
    shares = (("MixUp", alpha, 1 - switch), ("CutMix", 1.0 if args["cutmix_minmax"] else cut, switch))
    alone = len(each := [share for share in shares if share[1] > 0]) < 2
    result = [sample.line(name, alpha=a, classes=args["num_classes"], p=p if alone else w) for name, a, w in each]
    for line in result[:1]:
        line.unsupported = {
            key: (args[key], why) for key, (usual, why) in _MIXUP["fixed"].items() if args[key] != usual
        }
    return [*result] if alone else [Line(ONE_OF, {} if p == 1 else {"p": p}, sample.place, [*result])]


# The converter of each function's arguments to steps.
MAKERS: dict[str, Maker] = {
    **dict.fromkeys(MIXING, mixup),
    **dict.fromkeys(("rand_augment_transform", "auto_augment_transform", "augment_and_mix_transform"), timm_policy),
    CREATE_TRANSFORM: create_transform,
}


_BINS = 31  # default magnitudes of torchvision's RandAugment


def _warp(args: Args, sample: SampleState, usual: str = "nearest") -> dict[str, Any]:
    how = args.named("interpolation", steps.INTERPOLATIONS, usual).removesuffix("_exact")
    return {"interpolation": how, "fill": steps.levels(args.get("fill"), sample).get("fill", 0)}


def short(number: float) -> float:
    """A number without needless digits."""
    return int(number) if float(number).is_integer() else round(number, 6)


def rand_augment(args: Args, sample: SampleState) -> list[Item]:
    """RandAugment; torchvision's magnitude counts bins."""
    last = int(args.get("num_magnitude_bins", _BINS)) - 1
    magnitude = args.get("magnitude", 9) * FULL_MAGNITUDE / last
    count = int(args.get("num_ops", 2))
    return [sample.line(RAND_AUGMENT, n=count, m=short(magnitude), **_warp(args, sample))] if count else []


def trivial_augment(args: Args, sample: SampleState) -> list[Item]:
    """TrivialAugmentWide."""
    return [sample.line(TRIVIAL_AUGMENT, **_warp(args, sample))]


def auto_augment(args: Args, sample: SampleState) -> list[Item]:
    """AutoAugment with the policy of a data set."""
    policy = str(args.get("policy", "imagenet")).rpartition(".")[2].lower()
    return [sample.line(AUTO_AUGMENT, policy=policy, **_warp(args, sample))]


def aug_mix(args: Args, sample: SampleState) -> list[Item]:
    """AugMix."""
    warp = _warp(args, sample, "bilinear")
    if isinstance(warp["fill"], list) or warp["interpolation"] not in ("nearest", "linear"):
        raise Unsupported(
            "AugMix has one level to fill with, and interpolation nearest or linear: write the nearest of these"
        )
    depth = max(0, int(args.get("chain_depth", -1)))
    keys = {"severity": 3, "mixture_width": 3, "alpha": 1.0, "all_ops": True}
    severity, width, alpha, every = (args.get(key, usual) for key, usual in keys.items())
    return [sample.line("AugMix", severity=severity, width=width, depth=depth, alpha=alpha, all_ops=every, **warp)]


# The converters of torchvision's policies.
POLICIES: dict[str, Maker] = {
    "AugMix": aug_mix,
    "AutoAugment": auto_augment,
    "RandAugment": rand_augment,
    "TrivialAugmentWide": trivial_augment,
}
