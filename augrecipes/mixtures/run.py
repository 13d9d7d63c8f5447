"""Runs the `batch:` section of a recipe on a batch of arrays, with keyed random numbers.

A step draws from Philox with key (seed, label) and counter (0, 0, epoch, number), where the number of a batch is the
`index` of its first sample: the same samples give the same mixture. Labels are prefixed by `batch/`, so that no step of
single samples shares the draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from augrecipes.errors import CollateError
from augrecipes.mixtures import effective
from augrecipes.mixtures.batch import Array, BatchArrays
from augrecipes.mixtures.families import MIXTURES
from augrecipes.ops import groups
from augrecipes.ops.registry import chance
from augrecipes.ops.schedule import in_epoch
from augrecipes.seeds import MASK, site_key

if TYPE_CHECKING:
    from augrecipes.recipe.model import Recipe, Step

Generate = Callable[["Step"], np.random.Generator]


def mix(
    recipe: Recipe,
    values: Mapping[str, Any],
    key: tuple[int, int, int],
    classes: int | None = None,
    read: Callable[[int], Mapping[str, Any]] | None = None,
    count: int = 0,
) -> dict[str, Any]:
    """Run the steps of `batch:` on a batch; changes images and masks in place.

    Args:
        recipe: the recipe of the samples.
        values: see `BatchArrays`; `label` int (n,), float (n, classes), or float (n,) of quantities.
        key: the key of random numbers: seed, epoch, and `index` of the first sample.
        classes: number of classes, where the recipe does not say.
        read: reads a sample of the data set by position, in the form of `values`; None: there is no data set.
        count: number of samples in the data set.

    Returns:
        The values, with `label` float32 (n, classes) if a step mixes labels, even if it did not act on this batch.

    Raises:
        CollateError: a step cannot act on these samples; names the step and its line.

    >>> import augrecipes as ar
    >>> recipe = ar.load({"version": 1, "recipe": "mixed", "steps": [], "batch": [{"MixUp": {"partners": "roll"}}]})
    >>> values = {"image": np.zeros((2, 3, 4, 4), np.float32), "label": np.array([0, 1])}
    >>> mix(recipe, values, (0, 0, 7), classes=2)["label"].sum(1).tolist()
    [1.0, 1.0]
    """
    written = [in_epoch(step, key[1]) for step in recipe.batch]
    steps = [step for top in written for step in top.walk() if not step.is_group]
    label_step = next((step for step in steps if MIXTURES[step.name].labels), None)
    classes = max((step.args["classes"] for step in steps if step.args.get("classes")), default=classes)

    def soft(sample: Mapping[str, Any]) -> dict[str, Any]:
        mixed = label_step is not None and "label" in sample
        return {**sample, "label": shares(np.asarray(sample["label"]), classes)} if mixed else dict(sample)

    def drawn(position: int) -> Mapping[str, Any]:
        if read is None:
            raise CollateError("draws samples of the data set, which is not known here: ar.collate(dataset) knows it")
        return soft(read(position))

    def generator(step: Step) -> np.random.Generator:
        step_key = np.array([key[0] & MASK, site_key(f"batch/{step.site}")], np.uint64)
        return np.random.Generator(np.random.Philox(key=step_key, counter=np.array([0, 0, *key[1:]], np.uint64)))

    step = label_step
    try:
        batch = BatchArrays(soft(values), recipe, drawn, count)
        for step, rng, p in acting(written, generator):
            _run(batch, step, rng, p)
    except CollateError as error:
        assert step is not None
        where = f"{recipe.file}:{step.position.line}: {step.name} of `batch:`"
        raise CollateError(f"{where} {error.reason}", error.path) from error.__cause__
    return batch.values


def acting(steps: Sequence[Step], generator: Generate) -> Iterator[tuple[Step, np.random.Generator, float]]:
    """The steps of a batch in order, with the drawn step of a OneOf; each with its generator and probability."""
    for step in steps:
        p, rng = chance(step), generator(step)
        if step.name != groups.ONE_OF:
            yield step, rng, p
        elif rng.random() < p:
            weights = np.array([*map(chance, step.steps)])
            child = step.steps[int(rng.choice(len(weights), p=weights / weights.sum()))]
            yield from acting([replace(child, p=1.0)], generator)


def _run(batch: BatchArrays, step: Step, rng: np.random.Generator, p: float) -> None:
    record, values = MIXTURES[step.name], batch.values
    arguments = {key: value for key, value in effective(step).items() if key != "classes"}  # labels are shares already
    if barred := next((key for key in record.bars if key in values), None):
        raise CollateError(f"cannot blend {barred}, which these samples have: use CutMix, or write `{barred}: absent`")
    if record.needs and not batch.recipe.facts.scales and not any(key in values for key in record.needs):
        raise CollateError(f"needs {' or '.join(record.needs)} to mix with the image, and these samples have none")
    if not record.each:
        if rng.random() < p:
            record.mix(batch, rng, **arguments)
        return
    for k in np.flatnonzero(rng.random(len(batch)) < p).tolist():
        record.mix(batch, rng, k, **arguments)


def shares(labels: Array, classes: int | None) -> Array:
    """Labels as float32: integers are one-hot encoded, other numbers stay.

    Raises:
        CollateError: the number of classes is not known, or a label is not below it.

    >>> shares(np.array([2, 0]), 3).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    if labels.dtype.kind not in "biu":
        return labels.astype(np.float32)
    if classes is None:
        raise CollateError(
            "needs the number of classes to mix labels: write `classes:` here, or give classes= to ar.collate"
        )
    if labels.size and not 0 <= labels.min() <= labels.max() < classes:
        raise CollateError(f"mixes labels of {classes} classes, 0 to {classes - 1}, and there is {labels.max()}")
    return (labels[..., None] == np.arange(classes)).astype(np.float32)
