"""The rewrite rules. Their order matters: a later rule works on what an earlier one has brought together.

Neighbouring crops, turns and warps are one map between grids: resample once instead of at every step. Colour steps
between a warp and a step that scales or cuts move behind both, where they change fewer pixels. Saturating levels make
that a different image; but on noise, edges and photographs the difference is small beside that between one resampling
and two. Neighbouring colour steps are matrices: their product takes a few passes over the image instead of several
each.

Noise comes from our own counter-based generator: no array of numbers, and the same bits on every processor. It also
draws smooth fields of displacements on a coarse grid, so that no noise is made for every pixel.
"""

from collections.abc import Iterable, Iterator
from itertools import dropwhile, islice, pairwise
from math import ceil

from augrecipes.compiler.rewrite.nodes import CounterNoiseStep, Steps, action_of, as_kind, fuse, is_single, singles
from augrecipes.compiler.rewrite.rule import ALL, STILL, Edit, Rule, obstacles_from, rule, runs
from augrecipes.flow import Flow
from augrecipes.ops import groups
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import effective, record_of
from augrecipes.recipe.kinds import facts
from augrecipes.recipe.model import Optimize, Recipe, Step


def is_warp(step: Step) -> bool:
    """Whether a step, or every step of a group, maps grids: images linearly, masks by nearest, or neither."""
    if step.is_group:
        return all(is_warp(child) for child in step.steps)
    action = action_of(step)
    if action in STILL:
        return True
    if action != "warp":
        return False
    return not effective(step).get("area_for_downscale") and _is_linear(step)


def _is_linear(step: Step) -> bool:
    arguments = effective(step)
    interpolations = arguments.get("interpolation", "linear"), arguments.get("mask_interpolation", "nearest")
    return interpolations == ("linear", "nearest")


def _warps_pay(run: Steps, flow: Flow) -> bool:
    """Whether one resampling takes less time than the steps one by one.

    A job samples images faster than OpenCV warps them. But OpenCV's resize is so much faster that joining steps that
    only scale and then cut pays only where the decoder can skip what is cut off.
    """
    leaves = [leaf for step in run for leaf in singles(step)]
    if not all(map(_only_scales, leaves)):
        return flow.dtype == "uint8"
    from_warp = dropwhile(lambda leaf: action_of(leaf) != "warp", leaves)
    return flow.encoded and any(map(_leaves_less, islice(from_warp, 1, None)))


def _bends(step: Step, behind: Steps) -> bool:
    """Whether a job can sample this distortion together with the steps `behind`: a lens only if they cut or scale."""
    if not is_single(step):
        return False
    record = record_of(step)
    if record.joins_warps is None or not _is_linear(step):
        return False
    return record.joins_warps == "always" or any(map(_leaves_less, behind[:1]))


def _samplings(step: Step) -> int:
    """How many times a step, or a group, resamples at most."""
    if not step.is_group:
        return int(action_of(step) not in STILL)
    counts = map(_samplings, step.steps)
    return max(counts) if step.name == groups.ONE_OF else sum(counts)


def recolours(step: Step) -> bool:
    """Whether a step, or every step of a group, changes colours by little more than a matrix."""
    if step.is_group:
        return all(map(recolours, step.steps))
    return record_of(step).recolours


def _leaves_less(step: Step) -> bool:
    """Whether a step cuts or scales."""
    return action_of(step) == "window" or op_record(step.name).resizes is not None


def _only_scales(step: Step) -> bool:
    return action_of(step) in STILL or _leaves_less(step)


def _goes_by_pixels(step: Step) -> bool:
    """Whether each output pixel depends continuously on its input pixel alone, or on that and a mean of the image."""
    if step.is_group:
        return all(map(_goes_by_pixels, step.steps))
    is_pointwise = action_of(step) in ("identity", "lookup", "matrix", "pointwise")
    return (recolours(step) or is_pointwise) and not op_record(step.name).jumps


def _sees_mean(step: Step) -> bool:
    return any(record_of(leaf).statistics for leaf in singles(step))


def _shows_fewer(step: Step, *, all_of_it: bool) -> bool:
    """Whether a step only turns, cuts or scales an image; `all_of_it`: and cuts nothing off."""
    if step.is_group or effective(step).get("pad_if_needed"):
        return False
    cuts = action_of(step) == "window" or op_record(step.name).resizes == "window"
    return _only_scales(step) and not (all_of_it and cuts)


def _stretches(steps: Steps, flow: Flow) -> Iterator[tuple[int, int, Steps, Steps]]:
    """The stretches that one resampling may do: start, stop, the warps, and the colours among them, which move behind.

    With boxes no colours are passed, because boxes are filtered at the size that they have behind each step. In front
    of a step that amplifies the difference each resampling stays by itself.
    """
    obstacles, samplings = obstacles_from(steps, flow, "RESAMPLES"), 0
    start, stop, warps, colours = 0, 0, Steps(), Steps()
    passes = sees = False  # colours may be passed; and one of the colours depends on the mean
    for place, step in enumerate(steps):
        if not is_warp(step) and not (flow.dtype == "uint8" and _bends(step, steps[place + 1 :])):
            continue
        between = steps[stop:place]
        sees = sees or any(map(_sees_mean, between))
        passes = passes and all(map(_goes_by_pixels, between))
        beside, again = warps and not between and not colours, _samplings(step)
        merges = beside or (passes and _shows_fewer(step, all_of_it=sees))
        if not merges or (samplings and again and obstacles[place + 1] is not None):
            yield start, stop, warps, colours
            start, warps, colours, between = place, (), (), ()
            passes = sees = False
            samplings = 0
        samplings += again
        stop, warps, colours = place + 1, (*warps, step), (*colours, *between)
        passes = passes or (not flow.boxes and "warp" in map(action_of, singles(step)))
    yield start, stop, warps, colours


def _scales(step: Step) -> bool:
    """Whether a step only scales a window: other warps seldom shrink."""
    return is_single(step) and action_of(step) == "warp" and is_warp(step) and "area_for_downscale" in effective(step)


@rule(
    "GEOMETRY",
    fires="[{Rotate: {limit: 20, p: 1.0}}, {RandomResizedCrop: {size: [20, 20]}}, HorizontalFlip]",
    leaves="[{RandomSizedCrop: {min_max_height: [9, 12], size: [20, 20], interpolation: area}}, HorizontalFlip, Blur]",
)
def join_warps(steps: Steps, flow: Flow) -> list[Edit]:
    """Warp(A) · Colour · Warp(B) = Warp(A·B) · Colour   one resampling; at 1/k where a sample shrinks by 1.5 k"""
    single, several = obstacles_from(steps, flow, "GEOMETRY"), obstacles_from(steps, flow, "RESAMPLES")
    edits = []
    for start, stop, warps, colours in _stretches(steps, flow):
        obstacles = several if sum(map(_samplings, warps)) > 1 else single
        if obstacles[stop] is None and warps and _warps_pay(warps, flow):
            levels = 2 * (not all(map(is_warp, warps)))
            edits.append(Edit(start, stop, (fuse("JoinedWarps", warps), *colours), levels=levels))
    is_first = not edits or edits[0].start > 0
    if flow.encoded and steps and is_first and _scales(steps[0]) and single[1] is None:  # by the decoder
        edits.insert(0, Edit(0, 1, (fuse("JoinedWarps", steps[:1]),)))
    return edits


def is_colour(step: Step) -> bool:
    """Whether a step, or every step of a group, changes colours by little more than a matrix."""
    if step.is_group:
        return all(is_colour(child) and not _is_steep(child) for child in step.steps)
    return recolours(step)  # otherwise it may read the image to draw


def _is_steep(step: Step) -> bool:
    """Whether it may amplify one level to many, and so may only be the first of a joined run."""
    return not step.is_group and op_record(step.name).gain is None


def levels(run: Steps) -> int:
    """By how many levels joining may change the image: the sum of all errors times the product of all gains."""
    total, gains = 0.0, 1.0
    for leaf in (leaf for step in run for leaf in singles(step)):
        off, gain = record_of(leaf).joined_error
        total, gains = total + off, gains * gain
    return ceil(min(total * gains, ALL))


def _is_slow(step: Step) -> bool:
    """Whether it is faster joined even without a neighbour, because it has no native pass of its own."""
    return action_of(step) == "opaque" or (_is_steep(step) and not op_record(step.name).native)


def _colours_pay(run: Steps, before: Step | None) -> bool:
    leaves = [leaf for step in run for leaf in singles(step)]
    # A single step is one pass and fast as it is; but behind warps it needs no pass of its own.
    warped = before is not None and before.name in ("JoinedWarps", "JoinedColours")
    if not warped and all(action_of(step) == "lookup" for step in run):
        return False  # their product is one table, which is faster than a matrix and changes no bit
    return len(leaves) > 1 or warped or any(map(_is_slow, leaves))


def _parts(steps: Steps) -> Iterator[tuple[int, Steps]]:
    """The runs of steps that may be joined: the place of the first, and the steps."""
    for start, run in runs(steps, is_colour):
        cuts = [0, *(k for k, step in enumerate(run) if k and _is_steep(step)), len(run)]
        for first, stop in pairwise(cuts):
            yield start + first, run[first:stop]


@rule(
    "LEVELS",
    fires="[{ColorJitter: {brightness: 0.2, contrast: 0.1, saturation: 0.1, hue: 0, p: 1.0}}, ToGray]",
    leaves="[ToGray, Blur, RandomGamma, {RandomBrightnessContrast: {p: 1.0}}]",
)
def join_colours(steps: Steps, flow: Flow) -> Iterator[Edit]:
    """Colour(A) · Colour(B) = Colour(B·A)   where nothing saturates between them; hue through HSV"""
    if flow.dtype is None:
        return
    obstacles = obstacles_from(steps, flow, "LEVELS")
    joined: Step | None = None
    end = 0
    for start, run in _parts(steps):
        stop = start + len(run)
        before = joined if end == start else steps[start - 1] if start else None
        if obstacles[stop] is None and _colours_pay(run, before):
            joined, end = fuse("JoinedColours", run), stop
            yield Edit(start, stop, (joined,), levels(run))


def _counter_noise(steps: Steps, flow: Flow, *, moves: bool) -> Iterable[Edit]:
    """Let single steps take their noise from our own generator: those that move pixels (`moves`), or the others."""
    obstacles = obstacles_from(steps, flow, "GEOMETRY" if moves else "DISTRIBUTION")
    for place, step in enumerate(steps):
        if not is_single(step) or isinstance(step, CounterNoiseStep) or step.p == 0 or obstacles[place + 1] is not None:
            continue
        record = record_of(step)
        if record.moves == moves and record.own_noise and flow.dtype == "uint8":
            yield Edit(place, place + 1, (as_kind(step, CounterNoiseStep),))


@rule(
    "DISTRIBUTION", fires="[{GaussNoise: {p: 1.0}}]", leaves="[{AdditiveNoise: {spatial_mode: constant}}]", singly=True
)
def own_noise(steps: Steps, flow: Flow) -> Iterable[Edit]:
    """Noise(OpenCV's or numpy's generator) ~ Noise(hash of sample, step and pixel)"""
    return _counter_noise(steps, flow, moves=False)


@rule("DISTRIBUTION", fires="[{ElasticTransform: {p: 1.0}}]", leaves="[{ElasticTransform: {sigma: 3}}]", singly=True)
def coarse_fields(steps: Steps, flow: Flow) -> Iterable[Edit]:
    """blur(noise of every pixel) ~ spline(blur(noise on a grid))"""
    return _counter_noise(steps, flow, moves=True)


# Each keeps within its contract. Merging neighbouring moves and lookup tables into one pass needs no rule: the native
# program defers them until a step reads pixels.
FAST: tuple[Rule, ...] = (
    join_warps,
    join_colours,
    own_noise,  # whatever its neighbours
    coarse_fields,  # likewise
)

RULES: dict[Optimize, tuple[Rule, ...]] = {"none": (), "exact": (), "fast": FAST}


def rules_for(recipe: Recipe, optimize: Optimize) -> tuple[Rule, ...]:
    """The rules for a recipe, in order: those of its kind and `optimize`, without those that it refuses.

    >>> [rule.name for rule in rules_for(Recipe("sr", kind="pair"), "fast")]
    ['own_noise']
    """
    is_pair = facts(recipe.kind).scales  # whose steps act on several targets
    rules = tuple(rule for rule in RULES[optimize] if not is_pair or rule is own_noise)
    return tuple(rule for rule in rules if rule.name not in recipe.without_rules)
