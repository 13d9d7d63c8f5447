"""RandStainNA against its published definition, written out in numpy, and the templates of one's own images."""

import json
import math
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import yaml

import augrecipes as ar
from augrecipes.ops.rand_stain import RandStainNA
from augrecipes.recipe.write import to_yaml

# Of MoNuSeg's test images and of CRC, as the authors published them.
TEMPLATES: dict[str, dict[str, Any]] = {
    "lab": {
        "A": {"avg": {"distribution": "laplace", "mean": 154.456, "std": 5.123},
              "std": {"distribution": "norm", "mean": 10.878, "std": 1.705}},
        "B": {"avg": {"distribution": "norm", "mean": 107.786, "std": 2.179},
              "std": {"distribution": "laplace", "mean": 9.301, "std": 1.521}},
        "L": {"avg": {"distribution": "norm", "mean": 131.08, "std": 19.859},
              "std": {"distribution": "norm", "mean": 55.575, "std": 8.407}},
        "color_space": "LAB", "methods": "Reinhard", "n_each_class": 0, "random": True,
    },
    "hsv": {
        "H": {"avg": {"distribution": "laplace", "mean": 144.115, "std": 20.718},
              "std": {"distribution": "laplace", "mean": 22.595, "std": 16.568}},
        "S": {"avg": {"distribution": "norm", "mean": 79.862, "std": 43.756},
              "std": {"distribution": "norm", "mean": 30.394, "std": 12.883}},
        "V": {"avg": {"distribution": "laplace", "mean": 185.404, "std": 41.451},
              "std": {"distribution": "norm", "mean": 32.755, "std": 14.146}},
        "color_space": "HSV", "methods": "Reinhard",
    },
    "hed": {
        "D": {"avg": {"distribution": "laplace", "mean": 0.029, "std": 0.023},
              "std": {"distribution": "laplace", "mean": 0.013, "std": 0.009}},
        "E": {"avg": {"distribution": "norm", "mean": 0.021, "std": 0.014},
              "std": {"distribution": "laplace", "mean": 0.013, "std": 0.016}},
        "H": {"avg": {"distribution": "laplace", "mean": 0.033, "std": 0.031},
              "std": {"distribution": "laplace", "mean": 0.025, "std": 0.019}},
        "color_space": "HED", "methods": "Reinhard",
    },
}  # fmt: skip
SPACES = pytest.mark.parametrize("space", TEMPLATES)
_HED = np.array([[0.65, 0.70, 0.29], [0.07, 0.99, 0.11], [0.27, 0.57, 0.78]])


def tile(seed: int, size: tuple[int, int] = (60, 70)) -> np.ndarray:
    rng = np.random.default_rng(seed)
    colour, smooth = (150 + 20 * rng.random(), 90, 160), cv2.GaussianBlur(rng.normal(0, 90, (*size, 3)), None, 2)
    return np.clip(rng.normal(colour, 20, (*size, 3)) + smooth, 0, 216).astype(np.uint8)


def recipe(more: dict[str, Any], **top: Any) -> ar.Recipe:
    steps = [{"RandStainNA": {"p": 1.0, **more}}]
    output = {"dtype": "uint8", "layout": "hwc"}
    return ar.load({"version": 1, "recipe": "t", "steps": steps, "eval": [], "output": output} | top)


def published(image: np.ndarray, space: str, averages: Any, deviations: Any) -> np.ndarray:
    """As in the authors' code, on all pixels; in HED without the last stretch."""
    if space == "hed":
        logs = np.log(np.maximum(image / 255, 1e-6)) / math.log(1e-6)
        rows = np.maximum(logs @ np.linalg.inv(_HED), 0)
    else:
        rows = cv2.cvtColor(image, {"lab": cv2.COLOR_RGB2LAB, "hsv": cv2.COLOR_RGB2HSV}[space])
    mean, std = rows.mean(axis=(0, 1)), np.clip(rows.std(axis=(0, 1)), 0.0001, 255)
    rows = (rows - mean) * (np.array(deviations) / std) + averages
    if space == "hed":
        return (255 * np.clip(np.exp(math.log(1e-6) * (rows @ _HED)), 0, 1)).astype(np.uint8)
    rows = np.clip(rows, 0, 255).astype(np.uint8)
    return cv2.cvtColor(rows, {"lab": cv2.COLOR_LAB2RGB, "hsv": cv2.COLOR_HSV2RGB}[space])


@SPACES
@pytest.mark.parametrize("distribution", ["normal", "laplace", "uniform", "template"])
def test_values_are_the_published_ones(space: str, distribution: str) -> None:
    more = {"template": TEMPLATES[space], "distribution": distribution, "white_threshold": None}
    for level in ("none", "exact", "fast"):
        pipeline = recipe(more).compile(optimize=level, seed=3, save_applied_params=True)
        for index in range(12):
            made = pipeline.at(index)(image=tile(index))
            ((_, _, drawn),) = made["applied"]
            expected = published(tile(index), space, drawn["averages"], drawn["deviations"])
            difference = np.abs(made["image"].astype(int) - expected)
            assert difference.max() <= 1 and (difference > 0).mean() < 0.01


@SPACES
@pytest.mark.parametrize(
    ("distribution", "wide"), [("normal", 1), ("laplace", math.sqrt(2)), ("uniform", math.sqrt(3))]
)
def test_what_is_drawn_has_the_templates_distribution(space: str, distribution: str, wide: float) -> None:
    """Their scale is the template's deviation times 1 + std_hyper; each draw is its own."""
    step = RandStainNA(TEMPLATES[space], distribution=distribution, std_hyper=-0.3, p=1.0)
    step.set_random_seed(5)
    draws = [step.get_params() for _ in range(4000)]
    for name, part in (("averages", "avg"), ("deviations", "std")):
        drawn = np.array([draw[name] for draw in draws])
        for k, channel in enumerate(space.upper()):
            law = TEMPLATES[space][channel][part]
            scale, values = 0.7 * law["std"], drawn[:, k]
            if name == "averages" or law["mean"] > 6 * scale:
                np.testing.assert_allclose(values.mean(), law["mean"], atol=5 * wide * scale / 63)
                np.testing.assert_allclose(values.std(), wide * scale, rtol=0.12)
            assert (values >= 0).all() or name == "averages"
            if distribution == "uniform":
                assert abs(values - law["mean"]).max() <= 3 * scale + 1e-12
        assert np.abs(np.corrcoef(drawn.T) - np.eye(3)).max() < 0.1


def test_draws_are_keyed() -> None:
    pipeline = recipe({"template": TEMPLATES["lab"]}).compile(seed=3)
    first = [pipeline.at(index, epoch=1)(image=tile(0))["image"] for index in range(4)]
    again = [pipeline.at(index, epoch=1)(image=tile(0))["image"] for index in reversed(range(4))][::-1]
    assert len({image.tobytes() for image in first}) == 4
    np.testing.assert_array_equal(first, again)
    assert (first[0] != pipeline.at(0, epoch=2)(image=tile(0))["image"]).any()


@SPACES
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_glass_and_tiles_without_tissue_stay(space: str, dtype: str) -> None:
    image = tile(1)
    image[:, 30:] = np.random.default_rng(0).integers(225, 256, image[:, 30:].shape)
    white = np.full_like(image, 240)
    for level in ("none", "exact", "fast"):
        one = recipe({"template": TEMPLATES[space]}, output={"dtype": dtype, "layout": "hwc"})
        pipeline = one.compile(optimize=level, seed=4)
        for each in (image, white):
            given = each if dtype == "uint8" else each.astype(np.float32) / np.float32(255)
            made = pipeline.at(0)(image=given.copy())["image"]
            np.testing.assert_allclose(made[:, 30:], given[:, 30:], rtol=0, atol=1e-6 * (dtype == "float32"))
        np.testing.assert_allclose(made, given, rtol=0, atol=1e-6 * (dtype == "float32"))
        changed = pipeline.at(0)(image=image if dtype == "uint8" else image / np.float32(255))["image"]
        assert (np.abs(changed[:, :30] - given[:, :30]) > 0).mean() > 0.5


def test_the_share_of_glass_changes_no_tissue() -> None:
    image = tile(1)
    framed = np.pad(image, ((0, 60), (0, 0), (0, 0)), constant_values=245)
    pipeline = recipe({"template": TEMPLATES["lab"]}).compile(seed=4)
    np.testing.assert_array_equal(pipeline.at(0)(image=framed)["image"][:60], pipeline.at(0)(image=image)["image"])


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (3, 1)])
def test_tiny_and_flat_tiles(size: tuple[int, int]) -> None:
    for image in (np.zeros((*size, 3), np.uint8), np.full((*size, 3), (90, 40, 200), np.uint8), tile(0, size)):
        for space, template in TEMPLATES.items():
            made = recipe({"template": template, "space": space}).compile().at(0)(image=image)["image"]
            assert made.shape == image.shape and made.dtype == np.uint8


@pytest.mark.parametrize("suffix", ["yaml", "yml", "json"])
def test_a_template_is_a_file_or_what_stands_in_it(suffix: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    text = json.dumps(TEMPLATES["lab"]) if suffix == "json" else yaml.safe_dump(TEMPLATES["lab"])
    (tmp_path / f"crc.{suffix}").write_text(text)
    (tmp_path / "sub" / "a.yaml").write_text(
        f"version: 1\nrecipe: t\nsteps: [RandStainNA: {{template: ../crc.{suffix}, p: 1.0}}]\neval: []\n"
        "output: {dtype: uint8, layout: hwc}\n"
    )
    by_file, by_value = ar.load(tmp_path / "sub" / "a.yaml"), recipe({"template": TEMPLATES["lab"]})
    assert by_file.digest == by_value.digest
    assert ar.load(to_yaml(by_file)).digest == by_value.digest
    made = [one.compile(seed=1).at(2)(image=tile(2))["image"] for one in (by_file, by_value)]
    np.testing.assert_array_equal(*made)
    changed = ar.load(tmp_path / "sub" / "a.yaml", overrides={"RandStainNA.template": str(tmp_path / f"crc.{suffix}")})
    assert changed.digest == by_value.digest


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("L: 3\ncolor_space: LAB\n", 1, "the template needs, of each of L, A, B"),
        ("color_space: XYZ\n", 1, "say the space"),
        ("- 1\n", 1, "a mapping"),
        ("L: [\n", 2, "node content"),
        ("", 1, "empty"),
        (yaml.safe_dump(TEMPLATES["lab"]).replace("19.859", "-1"), 1, "a std of 0 or more"),
        (yaml.safe_dump(TEMPLATES["lab"]).replace("laplace", "cauchy"), 1, "a distribution: norm"),
    ],
)
def test_a_template_that_is_none_is_an_error_of_its_file(text: str, place: int, message: str, tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(text)
    with pytest.raises(ar.RecipeError, match=message) as caught:
        recipe({"template": str(file)})
    assert f"t.yaml:{place}:" in str(caught.value)


@pytest.mark.parametrize("template", [None, 3, [], {}, "none.yaml", {"color_space": "LAB"}])
def test_what_is_no_template(template: Any) -> None:
    with pytest.raises(ar.RecipeError, match="RandStainNA"):
        recipe({"template": template})


def test_another_space_wants_its_own_channels() -> None:
    with pytest.raises(ar.RecipeError, match="of each of H, S, V"):
        recipe({"template": TEMPLATES["lab"], "space": "hsv"})
    both = TEMPLATES["hsv"] | TEMPLATES["lab"] | {"color_space": "Random"}
    assert recipe({"template": both, "space": "hsv"}).compile().at(0)(image=tile(0))["image"].any()


def test_a_stranger_names_no_file_outside(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(yaml.safe_dump(TEMPLATES["lab"]))
    text = f"version: 1\nrecipe: t\nsteps: [RandStainNA: {{template: {tmp_path}/t.yaml}}]\neval: []\n"
    ar.load(text)
    with pytest.raises(ar.RecipeError, match="outside of the recipe's folder"):
        ar.load(text, plugins=False)


@pytest.mark.parametrize("image", [np.zeros((8, 8), np.uint8), np.zeros((8, 8, 1), np.uint8)])
def test_grey_images_are_a_typed_error(image: np.ndarray) -> None:
    with pytest.raises((TypeError, ar.DataError), match=r"RGB|channels"):
        recipe({"template": TEMPLATES["lab"]}).compile().at(0)(image=image)
    with pytest.raises(TypeError, match="RGB"):
        RandStainNA(TEMPLATES["lab"], p=1.0)(image=image)


@SPACES
def test_a_template_is_measured_as_published(space: str) -> None:
    images = [tile(k) for k in range(9)]
    made = ar.stain_template(images, space)
    assert made["color_space"] == space.upper()
    rows = {
        "lab": lambda image: cv2.cvtColor(image, cv2.COLOR_RGB2LAB),
        "hsv": lambda image: cv2.cvtColor(image, cv2.COLOR_RGB2HSV),
        "hed": lambda image: np.maximum(
            np.log(np.maximum(image / 255, 1e-6)) / math.log(1e-6) @ np.linalg.inv(_HED), 0
        ),
    }[space]
    for part, measure in (("avg", np.mean), ("std", np.std)):
        measured = np.array([measure(rows(image), axis=(0, 1)) for image in images])
        for k, channel in enumerate(space.upper()):
            law = made[channel][part]
            np.testing.assert_allclose(law["mean"], measured[:, k].mean(), atol=6e-4 if space != "hed" else 6e-6)
            np.testing.assert_allclose(law["std"], measured[:, k].std(), atol=6e-4 if space != "hed" else 6e-6)
            assert law["distribution"] in ("norm", "laplace")
    assert (
        ar.stain_template(images, space) == made == yaml.safe_load(yaml.safe_dump(made)) == json.loads(json.dumps(made))
    )
    assert recipe({"template": made}).compile().at(0)(image=images[0])["image"].any()


def test_the_likelier_distribution_is_written_down() -> None:
    from augrecipes.ops.rand_stain import _law

    rng = np.random.default_rng(0)
    assert _law(rng.normal(100, 5, 4000), 3)["distribution"] == "norm"
    assert _law(rng.laplace(100, 5, 4000), 3)["distribution"] == "laplace"
    assert _law(np.full(3, 7.0), 3) == {"mean": 7.0, "std": 0.0, "distribution": "norm"}


def test_a_template_of_datasets(tmp_path: Path) -> None:
    (tmp_path / "bag").mkdir()
    for k in range(5):
        cv2.imwrite(str(tmp_path / "bag" / f"{k}.png"), tile(k)[..., ::-1])
    cv2.imwrite(str(tmp_path / "bag" / "9.png"), np.full((40, 40, 3), 250, np.uint8))  # glass does not count
    images = ar.ImageFolder(tmp_path, recipe({"template": TEMPLATES["lab"]}))
    bags = ar.TileBags(tmp_path, recipe({"template": TEMPLATES["lab"]}, kind="bag"))
    expected = ar.stain_template([tile(k) for k in range(5)])
    assert ar.stain_template(images) == ar.stain_template(images.source) == ar.stain_template(bags) == expected
    with pytest.raises(ValueError, match="no image shows tissue"):
        ar.stain_template([np.full((8, 8, 3), 255, np.uint8)])
