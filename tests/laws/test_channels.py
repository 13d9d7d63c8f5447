"""Law: a step with `channels` is the step on an image of these channels alone, and the others stay, in every mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import augrecipes as ar
from augrecipes.errors import DataError
from augrecipes.ops import on_channels
from augrecipes.ops.record import OpRecord
from augrecipes.recipe.parse import parse_text
from augrecipes.recipe.write import to_yaml

LEVELS = ("none", "exact", "fast")
HEAD = "version: 1\nrecipe: t\neval: []\noutput: {dtype: %s, layout: hwc}\ninputs: {%s}\nsteps:\n"
# Of each class whether it takes one and two channels; all take three.
VALUES = {
    "RandomBrightnessContrast: {p: 1}": True,
    "RandomGamma: {p: 1}": True,
    "GaussNoise: {p: 1}": True,
    "MultiplicativeNoise: {per_channel: true, p: 1}": True,
    "GaussianBlur: {blur_limit: [3, 5], p: 1}": True,
    "InvertImg: {p: 1}": True,
    "Sharpen: {p: 1}": True,
    "ColorJitter: {hue: 0.1, p: 1}": False,
    "HueSaturationValue: {p: 1}": False,
    "ChannelShuffle: {p: 1}": False,
}
MOVES = ("RandomCrop: {height: 21, width: 18}", "HorizontalFlip: {p: 0.5}", "Rotate: {limit: 20, p: 0.7}")
DEPTHS = {"uint8": "", "uint16": "depth: 16, range: [10, 4000]", "float32": "depth: float32, range: [-1, 7]"}


def recipe(steps: list[str], inputs: str, dtype: str = "float32") -> Any:
    return parse_text(HEAD % (dtype, inputs) + "".join(f"  - {step}\n" for step in steps))


def image(seed: int, channels: int, dtype: str = "uint8") -> np.ndarray:
    values = np.random.default_rng(seed).random((32, 29, channels))
    low, high = {"uint8": (0, 255), "uint16": (10, 4000), "float32": (-1, 7)}[dtype]
    return (values * (high - low) + low).astype(dtype)


def limited(step: str, numbers: list[int]) -> str:
    return step.replace("{", f"{{channels: {numbers}, ", 1)


def last_image(loaded: Any, optimize: str, index: int, array: np.ndarray) -> np.ndarray:
    """What the steps leave, in the image's own values."""
    stages = loaded.compile(optimize=optimize, seed=5).stages(index)(image=array)
    return np.asarray(stages[-1][1])


def known(dtype: str) -> list[str]:
    """The steps that know images of this dtype."""
    return [step for step in VALUES if dtype != "uint16" or not step.startswith("Hue")]


def random_case(seed: int, dtype: str) -> tuple[list[str], int]:
    rng = np.random.default_rng(seed)
    channels = int(rng.integers(2, 9))
    steps: list[str] = []
    for _ in range(int(rng.integers(2, 6))):
        if rng.random() < 0.4:
            steps.append(
                MOVES[rng.integers(len(MOVES))].replace("21, width: 18", f"{int(rng.integers(8, 15))}, width: 9")
            )
            continue
        step = known(dtype)[rng.integers(len(known(dtype)))]
        count = int(rng.integers(1, channels + 1)) if VALUES[step] else 3
        if count <= channels:
            numbers = rng.permutation(channels)[:count].tolist()
            steps.append(limited(step, numbers).replace("p: 1}", f"p: {rng.choice([0.5, 1])}}}"))
    crops = [k for k, step in enumerate(steps) if step.startswith("RandomCrop")]
    return [step for k, step in enumerate(steps) if k not in crops[1:]], channels


@pytest.mark.parametrize("dtype", DEPTHS)
@pytest.mark.parametrize("seed", range(12))
def test_all_settings_give_the_same_bits(seed: int, dtype: str) -> None:
    steps, channels = random_case(seed, dtype)
    said = ", ".join(filter(None, (f"channels: {channels}", DEPTHS[dtype])))
    array, loaded = image(seed, channels, dtype), recipe(steps, said)
    # The optimiser may resample otherwise, never where there is one resampling.
    pipelines = {level: loaded.compile(optimize=level, seed=seed) for level in LEVELS}
    has_warps = sum("Rotate" in step for step in steps)
    for index in range(4):
        done = {level: pipelines[level].at(index)(image=array)["image"] for level in LEVELS}
        np.testing.assert_array_equal(done["exact"], done["none"])
        if not has_warps:
            np.testing.assert_array_equal(done["fast"], done["none"])


def differs_from_alone(step: str, dtype: str, numbers: list[int], channels: int = 5) -> bool:
    """Whether the chosen channels are not what the step makes of them alone, or another channel has changed."""
    array = image(3, channels, dtype)
    others = [k for k in range(channels) if k not in numbers]
    whole, few = (", ".join(filter(None, (f"channels: {n}", DEPTHS[dtype]))) for n in (channels, len(numbers)))
    for index in range(3):
        done = last_image(recipe([limited(step, numbers)], whole), "exact", index, array)
        alone = last_image(recipe([step], few), "exact", index, np.ascontiguousarray(array[..., numbers]))
        same = np.array_equal(done[..., numbers], alone) and np.array_equal(done[..., others], array[..., others])
        if not same or done.dtype != array.dtype:
            return True
    return False


@pytest.mark.parametrize(("dtype", "step"), [(dtype, step) for dtype in DEPTHS for step in known(dtype)])
def test_a_step_does_to_its_channels_what_it_does_to_them_alone(dtype: str, step: str) -> None:
    assert not differs_from_alone(step, dtype, [4, 0, 2])
    if VALUES[step]:
        assert not differs_from_alone(step, dtype, [3])


def test_channels_that_move_stay_otherwise_as_they_were() -> None:
    for optimize in LEVELS:
        moved = last_image(recipe([MOVES[0], MOVES[1]], "channels: 4"), optimize, 2, image(1, 4))
        steps = [
            limited("ColorJitter: {hue: 0.1, p: 1}", [2, 0, 3]),
            MOVES[0],
            limited("GaussNoise: {p: 1}", [0]),
            MOVES[1],
        ]
        done = last_image(recipe(steps, "channels: 4"), optimize, 2, image(1, 4))
        np.testing.assert_array_equal(done[..., 1], moved[..., 1])
        assert not np.array_equal(done[..., 2], moved[..., 2])


def test_names_in_another_order_are_arrays_in_another_order() -> None:
    names = ["r", "g", "b", "nir", "swir"]
    steps = [limited("ColorJitter: {hue: 0.1, p: 1}", ["b", "r", "g"]), limited("GaussNoise: {p: 1}", ["nir"])]  # type: ignore[list-item]
    steps = [step.replace("'", "") for step in steps]
    order, array = [3, 4, 1, 0, 2], image(0, 5)
    here = last_image(recipe(steps, f"channels: {{names: [{', '.join(names)}]}}"), "exact", 1, array)
    there = ", ".join(names[k] for k in order)
    shuffled = last_image(
        recipe(steps, f"channels: {{names: [{there}]}}"), "exact", 1, np.ascontiguousarray(array[..., order])
    )
    np.testing.assert_array_equal(here[..., order], shuffled)
    taken = last_image(recipe(steps, f"channels: {{names: [{', '.join(names)}], take: [{there}]}}"), "exact", 1, array)
    np.testing.assert_array_equal(taken, shuffled)


def test_taken_channels_of_batches_stacks_pairs_bags_and_views() -> None:
    said, crop = "channels: {names: [a, b, c, d], take: [d, b]}", "RandomCrop: {height: 16, width: 16}"
    steps = [crop, limited("GaussNoise: {p: 1}", ["b"]).replace("'", "")]  # type: ignore[list-item]
    array = image(2, 4)
    pipeline, alone = recipe(steps, said).compile(), recipe(steps, "channels: {names: [d, b]}").compile()
    expected = [alone.at(k)(image=np.ascontiguousarray(array[..., [3, 1]]))["image"] for k in range(2)]
    np.testing.assert_array_equal(pipeline.batch([array, array]), expected)
    done = pipeline.at(0)(image=array, images=np.stack([array, array]))
    np.testing.assert_array_equal(done["images"], np.stack([expected[0]] * 2))
    text = HEAD % ("float32", said)
    bag = parse_text(text.replace("recipe: t", "recipe: t\nkind: bag") + f"  - {crop}\n").compile()
    assert bag.at(0)(images=[array, array])["image"].shape == (2, 16, 16, 2)
    views = text.replace("recipe: t", "recipe: t\nkind: views").replace(
        "steps:\n", f"views: {{v: {{count: 2, steps: [{crop}]}}}}\n"
    )
    assert parse_text(views).compile().at(0)(image=array)["v"].shape == (2, 16, 16, 2)
    pair = text.replace("recipe: t", "recipe: t\nkind: pair\nscales: {lr: 1, hr: 2}")
    pair += "  - RandomCrop: {height: 8, width: 8, at: lr}\n  - GaussNoise: {channels: [b], p: 1, target: lr}\n"
    sample = parse_text(pair).compile().at(0)(lr=array, hr=np.kron(array, np.ones((2, 2, 1), np.uint8)))
    assert sample["lr"].shape == (8, 8, 2) and sample["hr"].shape == (16, 16, 2)
    np.testing.assert_array_equal(sample["hr"][::2, ::2, 0], sample["lr"][..., 0])
    assert not np.array_equal(sample["hr"][::2, ::2, 1], sample["lr"][..., 1])
    for channels in (2, 3, 5):
        with pytest.raises(DataError, match=f"has {channels} channels"):
            pipeline.at(0)(image=image(0, channels))


def test_what_is_written_of_channels_reads_back_equal() -> None:
    steps = [
        "OneOf: {channels: [nir, r], steps: [{Blur: {p: 0.5}}, {GaussNoise: {channels: [g], p: 1}}, {D4: {p: 1}}]}"
    ]
    loaded = recipe(
        [*steps, "TrivialAugment: {channels: [r, g, b]}"], "channels: {names: [r, g, b, x, nir], take: [nir, b, g, r]}"
    )
    again = ar.load(to_yaml(loaded))
    assert again == loaded and again.digest == loaded.digest
    assert "channels: [nir, r]" in to_yaml(loaded) and "TrivialAugment: {channels: [r, g, b]}" in to_yaml(loaded)
    assert [inner.channels for inner in loaded.steps[0].steps] == [(0, 3), (2,), ()]


def test_channels_beyond_those_with_names_are_written_as_numbers() -> None:
    read = recipe(["GaussianBlur: {channels: [nir, 5], p: 1}"], "channels: {names: [r, nir]}")
    assert "channels: [nir, 5]" in to_yaml(read)
    assert parse_text(to_yaml(read)) == read


def test_it_finds_steps_that_change_all_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(on_channels.OnChannels, "apply_with_params")
    assert differs_from_alone("InvertImg: {p: 1}", "uint8", [3])


def test_it_finds_channels_in_their_old_order(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = on_channels.limit_to_channels
    monkeypatch.setattr(on_channels, "limit_to_channels", lambda step, numbers: limit(step, tuple(sorted(numbers))))
    assert differs_from_alone("ColorJitter: {hue: 0.1, p: 1}", "uint8", [4, 0, 2])


def test_it_finds_rules_that_know_nothing_of_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpRecord, "of_some_channels", property(lambda record: record))
    steps = [limited("HueSaturationValue: {p: 1}", [2, 0, 1]), limited("ColorJitter: {hue: 0.1, p: 1}", [3, 0, 1])]
    loaded, array = recipe(steps, "channels: 4"), image(0, 4)
    done = [loaded.compile(optimize=level).nodes("uint8") for level in ("none", "fast")]
    assert len(done[0]) == 2 and len(done[1]) == 1, "joined, as if each changed all channels"
    del array
