"""Plan a packing: which steps of a recipe are baked, over which data, and what the store's index says of both.

Baking runs either the leading steps that draw nothing, or some epochs of the expensive random ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from augrecipes import redaction, remote, versions
from augrecipes.compiler import prefix
from augrecipes.compiler.compile import steps_of
from augrecipes.errors import RecipeError, counted
from augrecipes.ops.registry import draw_period
from augrecipes.packing import bake, parts
from augrecipes.recipe.model import Bag, Mode, Recipe, Step
from augrecipes.recipe.words import brief
from augrecipes.sources import packed_columns, sample, stored

_TRIED = 16  # units that are baked to estimate the size
_PER_ROW = 100  # bytes in tables


@dataclass(frozen=True)
class BakedSteps:
    """The steps that are baked.

    Attributes:
        recipe: the whole recipe.
        mode: the section that the steps come from.
        serves: the sections that begin with these steps.
        count: the number of leading steps.
        epochs: how many epochs of draws are baked; 0 where no baked step draws.
        seed: the seed of the draws.
        why: the reason for this choice, as a sentence.
    """

    recipe: Recipe
    mode: Mode
    serves: tuple[Mode, ...]
    count: int
    epochs: int
    seed: int
    why: str

    @property
    def steps(self) -> tuple[Step, ...]:
        """The baked steps."""
        return steps_of(self.recipe, self.mode)[: self.count]

    @property
    def times(self) -> int:
        """The number of rows per image, scene or tile."""
        return max(1, self.epochs)

    def about(self) -> dict[str, Any]:
        """Return the baked steps as plain data, for a store's index."""
        steps = [prefix.described(step) for step in self.steps]
        return {
            "recipe": {"name": self.recipe.name, "digest": self.recipe.digest},
            "steps": steps,
            "scales": self.recipe.scales.plain(),
            "digest": prefix.digest_of(steps),
            "serves": list(self.serves),
            "epochs": self.epochs,
            "seed": self.seed if self.epochs else None,
        }

    def lines(self) -> list[str]:
        """Describe the baked steps, one line each."""
        return [brief(prefix.described(step)) for step in self.steps]


def plan_pack(recipe: Recipe, *, mode: Mode | None = None, epochs: int | None = None, seed: int = 0) -> BakedSteps:
    """Choose the steps to bake.

    Args:
        recipe: a recipe of any kind.
        mode: pack for this section alone; None: for the common beginning of both sections, or for the only one.
        epochs: bake this many epochs of steps that draw; None: only steps that draw nothing.
        seed: the seed of the draws.

    Raises:
        RecipeError: no such section; nothing to bake; epochs of `eval`.
    """
    if (unbaked := _why_unbaked(recipe)) and epochs is not None:
        raise RecipeError(f"{unbaked}: nothing can be baked")
    if epochs is not None:
        if epochs < 1:
            raise RecipeError(f"epochs must be at least 1, got {epochs}")
        if mode == "eval":
            raise RecipeError("epochs are epochs of training: the eval section draws nothing")
        return _with_draws(recipe, epochs, seed)
    steps = steps_of(recipe, mode or "train")
    count = prefix.common_prefix(recipe) if mode is None else prefix.deterministic_prefix(steps)
    serves: tuple[Mode, ...] = (mode,) if mode else ("train",) if recipe.eval is None else ("train", "eval")
    if unbaked:
        count, why = 0, f"{unbaked}: whole images are kept"
    elif count:
        why = f"the steps of {' and '.join(serves)} can begin with what draws nothing"
    elif steps and prefix.draws_nothing(steps[0]):
        why = f"the sections of {recipe.name!r} begin differently (--mode train bakes for one): whole images are kept"
    else:
        none = f"{steps[0].site} comes first and draws anew for every sample" if steps else "there are no steps"
        why = f"{none}: whole images are kept"
    return BakedSteps(recipe, mode or "train", serves, count, 0, seed, why)


def _why_unbaked(recipe: Recipe) -> str:
    """Say why no step of a recipe can be baked; "" where steps can."""
    if recipe.inputs.nodata is not None:
        return "`nodata` is looked for in the values of the files"
    if recipe.inputs.real:
        return f"`real` draws whether {' and '.join(recipe.inputs.real)} is read"
    return "`correspondence: true` counts pixels of the files" if recipe.correspondence else ""


def _with_draws(recipe: Recipe, epochs: int, seed: int) -> BakedSteps:
    steps = recipe.steps
    heavy = [i for i, step in enumerate(steps) if not prefix.is_light(step)]
    if not heavy:
        raise RecipeError("every step is light (it cuts, flips or changes colours point by point): nothing to bake")
    count = heavy[-1] + 1
    left = ", ".join(step.site for step in steps[count:]) or "none"
    draws = not all(prefix.draws_nothing(step) for step in steps[:count])
    why = f"{steps[count - 1].site} is the last step that is not light; left to do in training: {left}"
    for step in (leaf for top in steps[:count] for leaf in top.walk() if epochs % draw_period(leaf)):
        why += f"; {step.site} alternates evenly where a multiple of {draw_period(step)} epochs is baked"
    return BakedSteps(recipe, "train", ("train",), count, epochs if draws else 0, seed, why)


@dataclass(frozen=True)
class Packing:
    """A packing that is planned, or done.

    Attributes:
        plan: which steps are baked.
        given: the data.
        out: the store's folder, or its address.
        rows: the number of images, scenes or tiles, times the baked epochs.
        baker: makes the rows.
        bytes: the estimated size of the whole store.
        channels: the number of channels of all images; None where they differ.
        unreadable: inputs that could not be read; filled by `write`.
        part: the part to write, into its own folder in `out`; None: the whole store.
        shard_bytes: the largest size of a target's file; None: the writer's default.
    """

    plan: BakedSteps
    given: sample.RecipeSource
    out: remote.Place
    rows: int
    baker: bake.Baker
    bytes: int
    channels: int | None
    unreadable: tuple[packed_columns.Unreadable, ...] = ()
    part: parts.PackPart | None = None
    shard_bytes: int | None = None

    def __repr__(self) -> str:
        unreadable = [f"{len(self.unreadable):,} unreadable"] if self.unreadable else []
        facts = [self.baker.format, counted(self.rows, "row"), f"about {self.bytes:,} bytes", *unreadable]
        return f"<Packing to {redaction.redact(str(self.place))}: {', '.join(facts)}>"

    @property
    def place(self) -> remote.Place:
        """The folder that is written: the store's, or its part's."""
        return self.out if self.part is None else self.out / self.part.name

    @property
    def own_rows(self) -> range:
        """The rows that this packing writes: all, or those of its part."""
        times = self.plan.times
        units = range(self.rows // times) if self.part is None else self.part.units(self.rows // times)
        return range(units.start * times, units.stop * times)

    @property
    def expected(self) -> int:
        """The estimated bytes of `own_rows`."""
        return self.bytes * len(self.own_rows) // max(1, self.rows)


def estimate_size(baker: bake.Baker, rows: int) -> tuple[int, int | None]:
    """Bake a few evenly spread rows; estimate the bytes of the whole store, and return its images' channels."""
    units, times = rows // baker.times, baker.times
    chosen = range(units) if units <= _TRIED else [(2 * k + 1) * units // (2 * _TRIED) for k in range(_TRIED)]
    samples = [row.items for unit in chosen for row in baker.bake(range(unit * times, unit * times + 1)) if row.items]
    if not samples:
        return 0, None
    sizes = [item.size for row in samples for items in row.values() for item in items]
    channels = {row[name][0].shape[2] for row in samples for name in baker.pipeline.outputs if name in row}
    return int(rows * (sum(sizes) / len(samples) + _PER_ROW)), channels.pop() if len(channels) == 1 else None


def store_plan(packing: Packing) -> bake.StorePlan:
    """Return the plan of the store that a packing writes."""
    table, baker, plan = packing.given.table, packing.baker, packing.plan
    inputs, boxes = stored.declared(plan.recipe.inputs), table.boxes
    extra = {name: plan.recipe.targets[name] for name in table.targets if name in plan.recipe.targets}
    # For bags: the settings that chose the tiles, and the recipe's own, which arguments may override.
    chosen, bag = getattr(table, "foreground", None), plan.recipe.bag or Bag()
    about = {
        "packed": packed_columns.LAYOUT,
        **plan.about(),
        "units": table.units,
        "data": table.digest(),
        "decode": packing.given.decode,
        "keeps_files": baker.keeps_jpegs,
        "inputs": inputs,
        **({"stains": _stains(baker.stains)} if baker.stains else {}),
        **({"foreground": [dict(chosen), bag.foreground()]} if chosen is not None else {}),
        **({"further": packed_columns.described_targets(extra)} if extra else {}),
        **({"optional": sorted(baker.optional)} if baker.optional else {}),
        "channels": packing.channels,
        "classes": None if table.classes is None else list(table.classes),
        "class_to_idx": table.class_to_idx,
        "box_classes": None if boxes is None or boxes.classes is None else list(boxes.classes),
        "left_out": list(packing.given.left_out),
        "versions": versions.environment(),
    }
    points_of = {"boxes": boxes, "keypoints": table.keypoints}
    arguments = {
        "about": about,
        "format": baker.format,
        "kind": plan.recipe.kind,
        "quality": baker.quality,
        "rows": packing.rows,
        "targets": baker.roles,
    }
    points = [name for name in packed_columns.POINTS if points_of[name] is not None and inputs[name] is not None]
    columns = packed_columns.columns_of(table)
    for name, origin in baker.pipeline.origins.items():  # images that a Degrade made
        if name in baker.roles:
            columns.setdefault(f"source/{name}", columns[f"source/{origin}"])
    return bake.StorePlan(arguments, points, columns)


def _stains(bags: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the stain parameters of all bags by method; null where a bag has none."""
    return {method: [bag[method] and bag[method].numbers for bag in bags] for method in bags[0]}
