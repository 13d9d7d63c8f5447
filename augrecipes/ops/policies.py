"""Augmentation policies as groups of steps: RandAugment, TrivialAugment and AutoAugment by their published tables.

A recipe names a policy like a step; the groups built here are what runs and what `explain` shows. policies.json has the
numbers: a table gives each operation's amount at magnitude 0 and at full magnitude, linear between; amounts that begin
at 0 go either way with equal probability. The tables are torchvision 0.28's (`torchvision`, also for AutoAugment;
`wide` for TrivialAugment) and timm 1.0's (`timm`, `timm-increasing`), after the papers:

AutoAugment: Cubuk et al., "AutoAugment: Learning Augmentation Strategies from Data", CVPR 2019, tables 6 to 9.
RandAugment: Cubuk et al., "RandAugment: Practical Automated Data Augmentation with a Reduced Search Space", 2020.
TrivialAugment: Müller and Hutter, "TrivialAugment: Tuning-free Yet State-of-the-Art Data Augmentation", ICCV 2021.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from augrecipes.ops.groups import AUTO_AUGMENT, NO_OP, ONE_OF, SEQUENTIAL, TRIVIAL_AUGMENT
from augrecipes.ops.schedule import last_epoch, over_epochs, value_in

FULL_MAGNITUDE = 30  # RandAugment's full magnitude
_MOST_EPOCHS = 1000  # the longest schedule, which is written out for every number of every step
_DATA = json.loads(files("augrecipes.ops").joinpath("policies.json").read_text(encoding="utf-8"))
TABLES: dict[str, dict[str, list[Any]]] = _DATA["tables"]
POLICIES: dict[str, dict[str, Any]] = _DATA["policies"]  # AutoAugment's
_SUBPOLICIES: dict[str, list[str]] = _DATA["subpolicies"]
# DeiT III's three operations (Touvron et al. 2022), without table or magnitudes.
_THREE = (
    {"Solarize": {"threshold_range": [0.5, 0.5], "p": 1.0}},
    {"ToGray": {"p": 1.0}},
    {"GaussianBlur": {"sigma_limit": [0.1, 2.0], "blur_limit": 0, "p": 1.0}},
)
_ROUNDINGS: dict[str, Callable[[float], int]] = {"round": round, "ceil": math.ceil, "floor": math.floor}
_GRID = 31  # magnitudes that sample a range where an operation takes whole numbers, as in the papers
# Offsets that keep whole levels and pixels whole after rounding to six digits: a level is inverted from its threshold
# on, and the fraction of a pixel is truncated.
_WHOLE = {"Solarize": 4.9e-7, "TranslateX": -4.9e-7, "TranslateY": -4.9e-7}
_STILL = {"brightness": [1.0, 1.0], "contrast": [1.0, 1.0], "saturation": [1.0, 1.0], "hue": [0.0, 0.0]}
_JITTERED = {"Brightness": "brightness", "Color": "saturation", "Contrast": "contrast"}
_PLAIN: dict[str, dict[str, Any]] = {
    "AutoContrast": {"AutoContrast": {"method": "pil"}},
    "Equalize": {"Equalize": {}},
    "Identity": {NO_OP: {}},
    "Invert": {"InvertImg": {}},
}

Plain = dict[str, Any]  # a step as in a recipe: `{name: {argument: value}}`
Range = tuple[float, float]


def group_of(name: str, arguments: Mapping[str, Any]) -> Plain:
    """The group that a policy stands for, without the keys that any step may have; `grammar.json` has the arguments.

    >>> group = group_of("RandAugment", {"n": 2, "m": 9})
    >>> len(group["Sequential"]["steps"]), group["Sequential"]["steps"][0]["OneOf"]["steps"][10]
    (2, {'Posterize': {'num_bits': 7, 'p': 1.0}})
    """
    warp = {"interpolation": arguments.get("interpolation", "nearest"), "fill": arguments.get("fill", 0)}
    spread = arguments.get("mstd", 0) / FULL_MAGNITUDE
    if name == TRIVIAL_AUGMENT:
        return {ONE_OF: {"steps": _any(TABLES["wide"], (0.0, 1.0), warp)}}
    if name == AUTO_AUGMENT:
        return {ONE_OF: {"steps": _subpolicies(arguments.get("policy", "imagenet"), spread, warp)}}
    steps = _any(
        TABLES[arguments.get("ops", "torchvision")], _span(arguments.get("m", 9) / FULL_MAGNITUDE, spread), warp
    )
    choice = {ONE_OF: {"p": float(arguments.get("op_p", 1.0)), "steps": steps}}
    return {SEQUENTIAL: {"steps": [choice] * int(arguments.get("n", 2))}}


def group_in_epochs(name: str, arguments: Mapping[str, Any], scheduled: Mapping[str, Any]) -> Plain:
    """The group of a policy whose arguments are scheduled, with schedules for the numbers of its steps.

    Raises:
        ValueError: its steps would change, not only their numbers.
    """
    if (last := last_epoch(scheduled)) > _MOST_EPOCHS:
        raise ValueError(f"numbers of a policy change over at most {_MOST_EPOCHS:,} epochs, got {last:,}")
    epochs = (value_in(scheduled, epoch) for epoch in range(last + 1))
    return dict(over_epochs([group_of(name, {**arguments, **values}) for values in epochs]))


def _span(middle: float, deviation: float) -> Range:
    """The uniform range with a mean and a standard deviation, clipped to 0..1."""
    half = math.sqrt(3) * deviation
    return max(0.0, middle - half), min(1.0, middle + half)


def _any(table: Mapping[str, Sequence[Any]], magnitude: Range, warp: Mapping[str, Any]) -> list[Plain]:
    """The steps of a OneOf that draws each operation of a table with equal probability."""
    return [_one_of(operation(op, table[op], magnitude, warp), 1.0) for op in table]


def _one_of(ways: Sequence[tuple[float, Plain]], p: float) -> Plain:
    """A step, or a OneOf of weighted variants, with the probability `p`."""
    if len(ways) == 1:
        return _set_p(ways[0][1], p)
    return {ONE_OF: {"p": p, "steps": [_set_p(step, share) for share, step in ways]}}


def _set_p(step: Plain, p: float) -> Plain:
    ((name, args),) = step.items()
    return {name: {**args, "p": p}}


def _subpolicies(policy: str, spread: float, warp: Mapping[str, Any]) -> list[Plain]:
    if policy not in POLICIES:
        return list(_THREE)
    record = POLICIES[policy]
    table = TABLES[record["table"]] | record.get("instead", {})
    groups = []
    for row in _SUBPOLICIES[record.get("like", policy)]:
        steps = [
            _one_of(operation(op, table.get(op, []), _span(float(level) / record["of"], spread), warp), float(p))
            for op, p, level in (part.split() for part in row.split(", "))
            if float(p)
        ]
        groups.append({SEQUENTIAL: {"p": 1.0, "steps": steps}})
    return groups


def operation(op: str, ends: Sequence[Any], magnitude: Range, warp: Mapping[str, Any]) -> list[tuple[float, Plain]]:
    """The steps for an operation, each with its share of the draws.

    Args:
        op: its name in a table.
        ends: its row in the table.
        magnitude: the range from which magnitudes are drawn uniformly, within 0..1.
        warp: `interpolation` and `fill` for operations that move pixels.

    >>> operation("Posterize", [8, 4], (0.3, 0.3), {}), operation("Invert", [], (0, 0), {})
    ([(1.0, {'Posterize': {'num_bits': 7}})], [(1.0, {'InvertImg': {}})])
    """
    if op in _PLAIN:
        return [(1.0, _PLAIN[op])]
    low, high = (round(ends[0] + (ends[1] - ends[0]) * end - _WHOLE.get(op, 0), 6) + 0.0 for end in magnitude)
    if op == "Posterize":
        return _posterize(ends, magnitude)
    if op == "Solarize":
        return [(1.0, {op: {"threshold_range": sorted((low, high))}})]
    if op == "SolarizeAdd":
        return [(1.0, {op: {"addition": [low, high]}})]
    if ends[0] < 0:
        return [(1.0, _signed_step(op, low, high, warp))]
    if low == 0:
        return [(1.0, _signed_step(op, -high + 0.0, high, warp))]
    return [(0.5, _signed_step(op, low, high, warp)), (0.5, _signed_step(op, -high, -low, warp))]


def _signed_step(op: str, low: float, high: float, warp: Mapping[str, Any]) -> Plain:
    """The step for an operation whose amount is drawn from `low` to `high`; 0 changes nothing."""
    if op == "Rotate":
        return {"Rotate": {"limit": [low, high], **warp}}
    if op == "Sharpness":
        return {op: {"factor": _one_and(low, high)}}
    if op in _JITTERED:
        return {"ColorJitter": {**_STILL, _JITTERED[op]: _one_and(low, high)}}
    along = op[-1].lower()

    def axes(low: float, high: float) -> Plain:
        return {axis: [low, high] if axis == along else [0 * abs(low), 0 * abs(high)] for axis in "xy"}

    if op.startswith("Translate") and max(-low, high) > 1:
        return {"Affine": {"translate_px": axes(math.trunc(low), math.trunc(high)), **warp}}
    if op.startswith("Translate"):
        return {"Affine": {"translate_percent": axes(low, high), **warp}}
    return {"CornerAffine": {"shear": axes(*(round(math.degrees(math.atan(end)), 6) for end in (low, high))), **warp}}


def _one_and(low: float, high: float) -> list[float]:
    return [round(1 + low, 6), round(1 + high, 6)]


def _posterize(ends: Sequence[Any], magnitude: Range) -> list[tuple[float, Plain]]:
    """A step per number of bits; eight bits change nothing, and no bits leave black."""
    low, high = magnitude
    to_bits = _ROUNDINGS[ends[2] if len(ends) > 2 else "round"]
    grid = (low + (high - low) * place / (_GRID - 1) for place in range(_GRID))
    counts = Counter(to_bits(round(ends[0] + (ends[1] - ends[0]) * share, 9)) for share in grid)
    kinds: dict[int, Plain] = {8: {NO_OP: {}}, 0: {"ColorJitter": {**_STILL, "brightness": [0.0, 0.0]}}}
    ways = {bits: kinds.get(bits, {"Posterize": {"num_bits": bits}}) for bits in counts}
    return [(round(count / _GRID, 6), ways[bits]) for bits, count in counts.items()]
