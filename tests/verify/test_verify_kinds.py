"""`verify` on pairs, bags and noise of our own: its replay and its image, and faults that it must find."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from planted import COLOURS, EXACT, GEOMETRY, MOVES, draw_data, image, planted, recipe, shifted

import augrecipes as ar
from augrecipes.compat.albumentations import A
from augrecipes.compiler.kernels import coarse_fields, counter_noise
from augrecipes.errors import DataError
from augrecipes.preview.sheet import save_sheet
from augrecipes.recipe.model import Mode
from augrecipes.recipe.parse import parse_text
from augrecipes.verify import render_worst, replay, verify
from augrecipes.verify.contract import Metrics, SampleRef
from augrecipes.verify.run import sample_refs

PAIR = """
version: 1
recipe: tiny-pair
kind: pair
scales: {lr: 1, hr: 2}
steps:
  - RandomCrop: {height: 24, width: 20, at: lr}
  - HorizontalFlip
eval: []
"""
MADE = PAIR.replace(
    "eval:",
    "  - Degrade: {source: hr, target: lr, steps: [{GaussianBlur: {p: 1.0}}, ResizeToTarget: {method: area}]}\neval:",
)
BAG = "version: 1\nrecipe: tiny-bag\nkind: bag\nsteps:" + MOVES + COLOURS + "eval: []\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = draw_data(tmp_path_factory.mktemp("kinds"))
    for k in range(3):
        hr = image(80, 96, k)
        for name, made in (("hr", hr), ("lr", cv2.resize(hr, (48, 40), interpolation=cv2.INTER_AREA))):
            (root / name).mkdir(exist_ok=True)
            (root / name / f"{k}.png").write_bytes(cv2.imencode(".png", made)[1].tobytes())
        for tile in range(k + 1):
            (root / "bags" / f"slide{k}").mkdir(parents=True, exist_ok=True)
            made = image(96, 128, 10 * k + tile)
            (root / "bags" / f"slide{k}" / f"{tile}.png").write_bytes(cv2.imencode(".png", made)[1].tobytes())
    return root


@pytest.mark.parametrize("promise", [None, GEOMETRY])
@pytest.mark.parametrize("text", [PAIR, MADE], ids=["read", "made"])
def test_a_recipe_against_itself(data: Path, text: str, promise: Any) -> None:
    folders = {"hr": str(data / "hr"), "lr": str(data / "lr")} if text == PAIR else {"hr": str(data / "hr")}
    found = verify(parse_text(text), folders, samples=4, build=planted(lambda done: None), promise=promise)
    assert found.ok
    assert {figure.target for figure in found.figures} == {"sample", "lr", "hr"}
    assert found.origins == ({"lr": "lr", "hr": "hr"} if text == PAIR else {"lr": "hr", "hr": "hr"})


@pytest.mark.parametrize("name", ["lr", "hr"])
def test_one_target_half_a_pixel_off(data: Path, name: str) -> None:
    def fault(done: dict[str, Any]) -> None:
        done[name] = shifted(done[name], 0.5)

    folders = {"hr": str(data / "hr"), "lr": str(data / "lr")}
    raw = PAIR + "output: {dtype: uint8, layout: hwc}\n"
    found = verify(parse_text(raw), folders, samples=4, build=planted(fault), promise=GEOMETRY)
    assert {figure.target for figure in found.broken} == {name}
    assert render_worst(found, folders, build=planted(fault)).shape[2] == 3


def test_every_tile_is_a_sample(data: Path) -> None:
    found = verify(parse_text(BAG), data / "bags", samples=6, optimize="exact")
    assert found.ok
    assert found.samples == 6


def test_a_fault_is_found_and_names_its_tile(data: Path) -> None:
    calls = []

    def fault(done: dict[str, Any]) -> None:
        calls.append(1)
        if len(calls) == 6:
            done["image"] = done["image"] * 0.5

    found = verify(parse_text(BAG), data / "bags", samples=6, build=planted(fault), promise=EXACT)
    (figure,) = found.broken
    assert (figure.where.index, figure.where.tile, figure.where.number) == (2, 2, 5)
    assert figure.where.path.endswith("slide2/2.png")


def test_a_replay_is_what_a_dataset_hands_out(data: Path) -> None:
    chosen = recipe(MOVES + COLOURS)
    again = replay(chosen, data / "images", 2, epoch=1, seed=4, optimize="exact")
    sample = ar.ImageFolder(str(data / "images"), chosen, seed=4, optimize="none")[1, 2]
    np.testing.assert_array_equal(again.plain["image"], sample["image"].numpy())
    np.testing.assert_array_equal(again.fast["image"], again.plain["image"])
    assert again.given.path == sample["path"]


def test_files_that_cannot_be_read_are_left_out(data: Path, tmp_path: Path) -> None:
    for file in (data / "images").glob("*.png"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "1.png").write_bytes(b"no picture")
    done: list[tuple[int, int]] = []
    found = verify(recipe(COLOURS), tmp_path, samples=3, progress=lambda k, of: done.append((k, of)))
    assert found.ok
    assert found.samples == 2
    (error,) = found.left_out
    assert str(error.path).endswith("1.png")
    assert done[-1] == (3, 3)


def fault(done: dict[str, Any]) -> None:
    done["image"] = shifted(done["image"], 0.5)
    if "mask" in done:
        done["mask"] = np.roll(done["mask"], 5, axis=1)


def test_three_rows_of_four(data: Path, tmp_path: Path) -> None:
    build = planted(fault)
    sheets = []
    for more, where in (("", "images"), ("inputs: {mask: required}", "list.csv")):
        found = verify(recipe(MOVES, more), data / where, samples=5, build=build, promise=GEOMETRY)
        sheets.append(render_worst(found, data / where, build=build))
    assert sheets[0].shape[1:] == sheets[1].shape[1:]
    out = save_sheet(sheets[0], tmp_path / "new" / "worst.png")
    read: NDArray[Any] = cv2.imdecode(np.fromfile(out, np.uint8), cv2.IMREAD_COLOR)
    np.testing.assert_array_equal(read[..., ::-1], sheets[0])


def test_no_difference(data: Path) -> None:
    found = verify(recipe(MOVES), data / "images", samples=2, optimize="exact")
    assert render_worst(found, data / "images").dtype == np.uint8


def test_one_that_refuses_has_no_image(data: Path) -> None:
    def fault(done: dict[str, Any]) -> None:
        raise DataError("no")

    found = verify(recipe(MOVES), data / "images", samples=2, build=planted(fault))
    with pytest.raises(DataError, match="nothing can be shown"):
        render_worst(found, data / "images", build=planted(fault))


def test_what_is_shown_is_the_value_and_the_limit_that_decide() -> None:
    """A broken sample comes before a larger value, each has a limit of its own, and what is no number is broken."""
    metrics = Metrics()
    for index, (value, limit) in enumerate([(0.2, 0.5), (0.6, 0.5), (0.7, 0.9)]):
        for law in ("elsewhere", "content") if index != 1 else ("elsewhere",):
            metrics.add("mask", law, value, SampleRef(index, 0), limit=limit)
    metrics.add("image", "motion", float("nan"), SampleRef(0, 0), limit=0.01)
    figure, sound, motion = (
        next(f for f in metrics.figures() if f.law == law) for law in ("elsewhere", "content", "motion")
    )
    assert (figure.worst, figure.limit, figure.broken, figure.samples, figure.ok) == (0.6, 0.5, 1, 3, False)
    assert (sound.worst, sound.limit, sound.ok, motion.ok) == (0.7, 0.9, True, False)
    assert figure.where == SampleRef(1, 0)
    assert {worst.place.index for worst in metrics.worst(2)} == {0, 1}


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize(("total", "samples", "epochs"), [(3, 64, 1), (3, 4, 1), (100, 8, 3), (5, 5, 2), (0, 4, 1)])
def test_samples_are_spread(total: int, samples: int, epochs: int, mode: Mode) -> None:
    found = [(place.number, place.epoch) for place in sample_refs(total, samples, epochs, mode)]
    assert len(set(found)) == len(found)
    if mode == "train" and total:
        assert len(found) == samples * epochs
    assert len({number for number, _ in found}) == min(total, samples)


ELASTIC = "\n  - ElasticTransform: {alpha: 60, sigma: 6, p: 1.0}\n"
NOISE = "\n  - GaussNoise: {std_range: [0.1, 0.2], p: 0.8}\n"
MANY = """
  - OneOf:
      steps:
        - GaussNoise: {per_channel: false, p: 1.0}
        - GaussNoise: {noise_scale_factor: 0.3, p: 1.0}
        - ISONoise: {p: 1.0}
        - MultiplicativeNoise: {elementwise: true, p: 1.0}
"""


@pytest.mark.parametrize(
    ("samples", "steps"),
    [
        (1, MANY), (5, MOVES + NOISE + COLOURS), (24, COLOURS + MANY), *((k, NOISE) for k in (1, 5, 24)),
        *((k, steps) for k in (1, 5) for steps in (ELASTIC, COLOURS + NOISE + ELASTIC)),
        (64, COLOURS + NOISE + ELASTIC),
    ],
)  # fmt: skip
def test_sound_random_numbers_keep_their_contract(data: Path, steps: str, samples: int) -> None:
    found = verify(recipe(steps), data / "images", samples=samples)
    assert found.ok, found.broken
    assert "DISTRIBUTION" in str(found.promise)
    assert {"draws", "noise", "independence"} <= {figure.law for figure in found.figures} or samples == 1


def test_the_rest_of_the_plan_is_compared_with_the_same_noise(data: Path) -> None:
    found = verify(recipe(COLOURS + NOISE), data / "images", samples=4)
    [levels] = [figure for figure in found.figures if figure.law == "levels"]
    assert levels.worst <= 4


def test_exact_and_a_recipe_without_the_rule_promise_bits(data: Path) -> None:
    for chosen, optimize in ((recipe(NOISE), "exact"), (recipe(NOISE, "without_rules: [own_noise]"), "fast")):
        found = verify(chosen, data / "images", samples=3, optimize=optimize)  # type: ignore[arg-type]
        assert found.ok
        assert str(found.promise) == "EXACT"


def test_noise_inside_degrade_is_judged(data: Path, tmp_path: Path) -> None:
    steps = """
  - Degrade:
      source: hr
      target: lr
      steps: [{ResizeToTarget: {method: area}}, {GaussNoise: {p: 1.0}}]
"""
    chosen = recipe(steps, "kind: pair\nscales: {lr: 1, hr: 2}", "{dtype: uint8, layout: hwc}")
    found = verify(chosen, {"hr": data / "images"}, samples=6)
    assert found.ok, found.broken
    assert {"noise", "independence"} <= {figure.law for figure in found.figures if figure.target == "lr"}


ISO, MORE = "\n  - ISONoise: {p: 1.0}\n", 1.3**0.5
DRAW = A.ISONoise.get_params_dependent_on_data
Patch = tuple[Any, str, Callable[[Any], Any]]  # whose, what, and from what it is to what it becomes


def gaussian(change: Callable[[bool, float, float], tuple[bool, float, float]]) -> Patch:
    """Gaussian noise whose channels are alike, whose mean and deviation are otherwise."""

    def changed(init: Any) -> Any:
        return lambda self, shape, shared, mean, deviation, key: init(
            self, shape, *change(shared, mean, deviation), key
        )

    return counter_noise.Noise, "__init__", changed


def uniform(noise: counter_noise.Noise, image: Any) -> Any:
    """Noise of the same deviation, and of another distribution."""
    even = np.random.default_rng(noise.key).uniform(-(3**0.5), 3**0.5, image.shape) * noise.deviation + noise.mean
    return np.clip(image + np.trunc(even), 0, 255).astype(np.uint8)


NO_KERNEL = gaussian(lambda shared, mean, deviation: (shared, mean, float(np.nextafter(deviation, 300))))
TOO_MUCH = gaussian(lambda shared, mean, deviation: (shared, mean, 1.06 * deviation))


# What is wrong with the generator, the recipe, how many samples; the law, `=`: and no other.
@pytest.mark.parametrize(
    ("patches", "steps", "samples", "law"),
    [
        *(([TOO_MUCH], NOISE, samples, "=noise") for samples in (3, 8, 30)),
        ([gaussian(lambda shared, mean, deviation: (shared, mean + 2.55, deviation))], NOISE, 8, "noise"),
        ([(counter_noise.Noise, "added_to", lambda _: uniform), NO_KERNEL], NOISE, 8, "noise"),
        ([gaussian(lambda shared, mean, deviation: (True, mean, deviation))], NOISE, 8, "=independence"),
        ([(counter_noise, "mix", lambda _: lambda *__: 7)], NOISE, 8, "=independence"),
        ([(counter_noise, "iso_noise", lambda made: lambda img, shift, intensity, *rest:
           made(img, shift / MORE, MORE * intensity, *rest))], ISO, 8, "noise"),
        ([(counter_noise.CounterISONoise, "get_params_dependent_on_data", lambda draw: lambda step, **known:
           {**draw(step, **known), "intensity": 0.2})], ISO, 8, "draws"),
        ([(coarse_fields, "maximum_quantile", lambda most: lambda *of: most(*of) / 1.3)], ELASTIC, 64, "noise"),
        ([(coarse_fields, "axis", lambda axis: lambda px, deviation: axis(px, 1.4 * deviation))], ELASTIC, 64, "noise"),
        ([(coarse_fields, "mix", lambda _: lambda *__: 7)], ELASTIC, 64, "independence"),
    ],
)  # fmt: skip
def test_faults_of_the_generator_are_found(
    data: Path, monkeypatch: pytest.MonkeyPatch, patches: list[Patch], steps: str, samples: int, law: str
) -> None:
    for owner, name, change in patches:
        monkeypatch.setattr(owner, name, change(getattr(owner, name, DRAW)), raising=False)
    found = {figure.law for figure in verify(recipe(steps), data / "images", samples=samples).broken}
    assert law.removeprefix("=") in found
    assert len(found) == 1 or not law.startswith("=")
