"""`label_safety` on planted truths: letters that mirrors exchange, classes that are colours, small objects."""

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

import augrecipes as ar
from augrecipes.errors import DataError, RecipeError
from augrecipes.ops.dihedral import D4
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.sample import Sample
from augrecipes.verify import label_safety, labels
from augrecipes.verify.safety import LabelSafety, share
from augrecipes.verify.source_map import Tracer

MIRRORED = {"b": "d", "d": "b", "p": "q", "q": "p"}
TURNED = {"b": "q", "q": "b", "d": "p", "p": "d"}
Image = NDArray[np.uint8]


def recipe(*steps: str, inputs: str = "{}", kind: str = "image") -> ar.Recipe:
    lines = "".join(f"  - {step}\n" for step in steps)
    return parse_text(f"version: 1\nrecipe: judged\nkind: {kind}\ninputs: {inputs}\nsteps:\n{lines}eval: []\n")


def save(path: Path, image: Image) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(cv2.imencode(".png", image[..., ::-1])[1].tobytes())


def letter(name: str, rng: np.random.Generator) -> Image:
    """A b, mirrored to what is asked for, at a place of its own and with noise."""
    image, thick = np.full((40, 40, 3), 235, np.uint8), int(rng.integers(3, 6))
    cv2.line(image, (14, 6), (14, 34), (20, 20, 20), thick)
    cv2.circle(image, (21, 27), 7, (20, 20, 20), thick)
    image = image[:: -1 if name in "pq" else 1, :: -1 if name in "dq" else 1]
    image = np.roll(image, rng.integers(-2, 3, 2), (0, 1))
    return np.clip(image + rng.normal(0, 6, image.shape), 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root, rng = tmp_path_factory.mktemp("letters"), np.random.default_rng(0)
    for name in MIRRORED:
        for k in range(10):
            save(root / name / f"{k}.png", letter(name, rng))
    return root


@pytest.fixture(scope="module")
def colours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three classes that are red, green and blue, darker and lighter, with noise."""
    root, rng = tmp_path_factory.mktemp("colours"), np.random.default_rng(0)
    for channel, name in enumerate(("red", "green", "blue")):
        for k in range(12):
            image = rng.integers(20, 60, (24, 32, 3), dtype=np.uint8)
            image[..., channel] += np.uint8(rng.integers(90, 150))
            save(root / name / f"{k}.png", image)
    return root


def found(safety: LabelSafety, move: str) -> dict[str, str]:
    return {pair.a: pair.b for pair in safety.mirrors if pair.move == move and pair.differs}


@pytest.mark.parametrize(
    ("step", "moves"),
    [
        ("HorizontalFlip: {p: 0.5}", {"h": MIRRORED}),
        ("VerticalFlip: {p: 1.0}", {"v": {"b": "p", "p": "b", "d": "q", "q": "d"}}),
        ("Rotate: {limit: [175, 180], p: 1.0}", {"r180": TURNED}),
        ("Affine: {scale: [-1.0, -1.0], rotate: 0, p: 1.0}", {"r180": TURNED}),
        ("ShiftScaleRotate: {shift_limit: 0.1, scale_limit: 0.1, rotate_limit: 10, p: 1.0}", {}),
        ("RandomCrop: {height: 32, width: 32}", {}),
    ],
)
def test_letters_that_a_move_exchanges(letters: Path, step: str, moves: dict[str, dict[str, str]]) -> None:
    safety = label_safety(recipe(step), letters)
    assert safety.moves.keys() == moves.keys()
    for move, pairs in moves.items():
        assert found(safety, move) == pairs
        assert all(pair.moved.value > 0.8 and pair.moved.n == 10 for pair in safety.mirrors if pair.differs)


def test_all_symmetries_that_are_drawn_and_no_others(letters: Path) -> None:
    safety = label_safety(recipe("D4: {p: 1.0}"), letters)
    assert safety.moves.keys() == D4.keys() - {"e"}
    assert all(drawn.low < 1 / 8 < drawn.high for drawn in safety.moves.values())
    assert (found(safety, "h"), found(safety, "r180")) == (MIRRORED, TURNED)
    both = label_safety(recipe("HorizontalFlip: {p: 1.0}", "VerticalFlip: {p: 1.0}"), letters)
    assert both.moves.keys() == {"r180"}
    assert label_safety(recipe("RandomRotate90: {p: 1.0}"), letters).moves.keys() == {"r90", "r180", "r270"}


def test_mirrors_that_are_not_measured_are_found_missing(letters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "D4", {**D4, "h": D4["e"]})
    assert found(label_safety(recipe("HorizontalFlip"), letters), "h") == {}


def test_the_symmetry_of_a_draw_is_that_of_its_pixels() -> None:
    image = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    tracer, seen = Tracer(recipe("D4: {p: 1.0}"), 0), set()
    for epoch in range(40):
        out, stages = tracer.draw(Sample(0, 0, "", {"image": image}), epoch)
        symmetry = stages[-1][1].symmetry
        assert symmetry is not None
        assert np.array_equal(symmetry.view(image), out["image"])
        seen.add(symmetry)
    assert seen == {*D4.values()}


@pytest.mark.parametrize("step", ["HueSaturationValue: {hue_shift_limit: 90, p: 1.0}", "ChannelShuffle: {p: 1.0}"])
def test_colours_that_are_classes(colours: Path, step: str) -> None:
    safety = label_safety(recipe("HorizontalFlip", step, "RandomCrop: {height: 16, width: 16}"), colours)
    use = safety.colours
    assert use is not None
    assert use.chance == pytest.approx(1 / 3)
    assert (use.read.value, use.others.value) == (1.0, 1.0)
    assert use.drawn.high < use.others.low
    assert use.steps == (step.partition(":")[0],)
    assert f"after {use.steps[0]}" in safety.report().text()


def test_steps_that_leave_colours_alone(colours: Path, letters: Path) -> None:
    use = label_safety(recipe("RandomResizedCrop: {size: [20, 20]}", "HorizontalFlip", "Rotate"), colours).colours
    assert use is not None
    assert (use.steps, use.drawn.value) == ((), 1.0)
    slight = label_safety(recipe("RandomBrightnessContrast: {brightness_limit: 0.05, contrast_limit: 0.05}"), colours)
    assert slight.colours is not None
    assert slight.colours.drawn.value > 0.95
    of_letters = label_safety(recipe("ChannelShuffle: {p: 1.0}"), letters).colours
    assert of_letters is not None
    assert of_letters.read.low < 0.25  # colours tell nothing of letters


def test_colour_steps_that_stay_would_be_found(colours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "changed", lambda steps, change: [*map(change, steps)] and steps)
    use = label_safety(recipe("HueSaturationValue: {hue_shift_limit: 90, p: 1.0}"), colours).colours
    assert use is not None
    assert use.others == use.drawn


STEPS = {
    "RandomCrop: {height: 40, width: 60}": 1,
    "RandomResizedCrop: {size: [30, 30], scale: [0.1, 1.0]}": 1,
    "RandomResizedCrop: {size: [200, 150], scale: [0.1, 0.5]}": 1,
    "RandomSizedCrop: {min_max_height: [20, 70], size: [16, 16]}": 1,
    "BBoxSafeRandomCrop: {erosion_rate: 0.5}": 1,
}


@pytest.mark.parametrize("step", STEPS)
def test_a_draw_shows_the_window_that_it_cuts(step: str) -> None:
    """Against the window that albumentations drew, whatever the crop is resized to."""
    image, boxes = np.zeros((80, 100, 3), np.uint8), np.array([[20, 30, 60, 50]], np.float32)
    judged = recipe(step, "HorizontalFlip", inputs="{boxes: {format: pascal_voc, labels: kinds}}")
    tracer = Tracer(judged, 0)
    plain = judged.compile("train", "none", 0, save_applied_params=True)
    given = {"boxes": boxes, "kinds": np.zeros(1, int)}
    for epoch in range(20):
        _, stages = tracer.draw(Sample(0, 0, "", {"image": image}, given), epoch)
        applied = plain.at(0, epoch)(image=image, **given)["applied"]
        x, y, end_x, end_y = applied[0][2]["crop_coords"]
        window = np.zeros((80, 100), bool)
        window[y:end_y, x:end_x] = True
        assert (stages[-1][1].seen != window).sum() <= 0.04 * window.sum()
        assert abs(int(stages[-1][1].seen.sum()) - int(window.sum())) <= 0.04 * window.sum()


def test_a_draw_shows_what_a_ramp_shows() -> None:
    """Against an image whose pixels all differ: pixels of a draw are those of the source that the map names."""
    y, x = np.indices((50, 70))
    image = np.dstack([y, x, 0 * x]).astype(np.uint8)
    steps = ("RandomCrop: {height: 30, width: 40}", "D4: {p: 1.0}", "CoarseDropout: {p: 1.0}", "RandomRotate90")
    tracer = Tracer(recipe(*steps), 0)
    for epoch in range(10):
        out, stages = tracer.draw(Sample(0, 0, "", {"image": image}), epoch)
        seen, shown, places, _ = stages[-1][1]
        assert np.array_equal(out["image"][shown][:, :2], np.stack(places, axis=1))
        expected = np.zeros((50, 70), bool)
        expected[places] = True
        assert np.array_equal(seen, expected)
        assert [label for label, _ in stages][:2] == ["", "RandomCrop#1"]


@pytest.fixture(scope="module")
def corners(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images with an object of 10 px in a corner and one in the middle, as masks (labels 1 and 2) and as boxes."""
    root = tmp_path_factory.mktemp("corners")
    for k in range(4):
        mask, (y, x) = np.zeros((100, 100), np.uint8), (90 * (k // 2), 90 * (k % 2))
        mask[y : y + 10, x : x + 10], mask[45:55, 45:55] = 1, 2
        save(root / "images" / f"{k}.png", np.dstack([mask * 60] * 3))
        (root / "masks").mkdir(exist_ok=True)
        cv2.imwrite(str(root / "masks" / f"{k}.png"), mask)
    rows = []
    for k in range(4):
        x, y = 90 * (k % 2), 90 * (k // 2)
        boxes = [[x, y, x + 10, y + 10, "corner"], [45, 45, 55, 55, "middle"]]
        rows.append(f"images/{k}.png;{json.dumps(boxes).replace(chr(34), chr(34) * 2).join([chr(34)] * 2)}")
    (root / "boxes.csv").write_text("\n".join(["image;boxes", *rows]) + "\n")
    return root


def lost_at_corners(step: str, corners: Path) -> NDArray[Any]:
    """Of each draw the share of the corner that is left, by the windows that were drawn."""
    pipeline = recipe(step).compile("train", "none", 0, save_applied_params=True)
    left = []
    for k in range(4):
        image = np.zeros((100, 100, 3), np.uint8)
        for epoch in range(32):
            x, y, end_x, end_y = pipeline.at(k, epoch)(image=image)["applied"][0][2]["crop_coords"]
            spans = [(90 * (k % 2), x, end_x), (90 * (k // 2), y, end_y)]
            parts = [max(0, min(start + 10, end) - max(start, begin)) / 10 for start, begin, end in spans]
            left.append(parts[0] * parts[1])
    return np.array(left)


def test_small_objects_at_corners_are_cut(corners: Path) -> None:
    step = "RandomCrop: {height: 70, width: 60, p: 1.0}"
    left = lost_at_corners(step, corners)
    safety = label_safety(
        recipe(step, "HorizontalFlip", inputs="{mask: required}"), corners / "images", masks=corners / "masks"
    )
    corner, middle = ({loss.of: loss for loss in safety.losses}[of] for of in "12")
    assert (safety.draws, corner.objects, corner.half.n) == (128, 128, 128)
    assert corner.half.value == pytest.approx((left < 0.5).mean())
    assert corner.all.value == pytest.approx((left == 0).mean())
    assert (corner.median, corner.low) == pytest.approx(tuple(np.quantile(left, (0.5, 0.05))))
    assert (middle.low, middle.all.value) == (1.0, 0.0)
    assert [*corner.steps] == ["RandomCrop"]
    assert "RandomCrop leaves" in safety.report().text(200)
    whole = {loss.of: loss for loss in safety.losses}[""]
    assert whole.half.value == pytest.approx(((left + 1) / 2 < 0.5).mean())
    with pytest.MonkeyPatch.context() as patch:  # a map that shows all: the figures would tell
        patch.setattr(labels.np, "mean", lambda values: 1.0)
        blind = label_safety(recipe(step, inputs="{mask: required}"), corners / "images", masks=corners / "masks")
    assert {loss.of: loss for loss in blind.losses}["1"].half.value != corner.half.value


def test_boxes_that_the_recipe_drops_are_lost(corners: Path) -> None:
    step = "RandomCrop: {height: 70, width: 60, p: 1.0}"
    left = lost_at_corners(step, corners)
    inputs = "{boxes: {format: pascal_voc, labels: box_labels, min_visibility: 0.8}}"
    safety = label_safety(recipe(step, inputs=inputs), {"files": str(corners / "boxes.csv")})
    corner, middle = ({loss.of: loss for loss in safety.losses}[of] for of in ("corner", "middle"))
    assert corner.all.value == pytest.approx((left < 0.8).mean(), abs=0.02)
    assert corner.all.value > (left == 0).mean()
    assert middle.all.value == 0
    assert {*corner.steps} == {"RandomCrop", "min_visibility or min_area"}


def test_steps_that_hide_and_turn_lose_too(corners: Path) -> None:
    how: dict[str, Any] = {"masks": corners / "masks"}
    hole = (
        "CoarseDropout: {num_holes_range: [1, 1], hole_height_range: [0.9, 0.9], hole_width_range: [0.9, 0.9], p: 1.0}"
    )
    losses = label_safety(
        recipe(hole, "Rotate: {limit: 45, border_mode: reflect_101, p: 1.0}"), corners / "images", **how
    ).losses
    by_class = {loss.of: loss for loss in losses}
    assert {*by_class["1"].steps} == {"CoarseDropout", "Rotate"}
    assert by_class["2"].all.value > 0.5
    kept = label_safety(
        recipe("Resize: {height: 37, width: 211}", "HorizontalFlip", "Transpose"), corners / "images", **how
    )
    assert [loss.low for loss in kept.losses] == [1.0, 1.0, 1.0]
    assert "loses" not in kept.report().text()


def test_keypoints_that_are_left(tmp_path: Path) -> None:
    save(tmp_path / "0.png", np.zeros((60, 80, 3), np.uint8))
    (tmp_path / "points.csv").write_text("image;keypoints\n0.png;[[5, 5], [40, 30]]\n")
    (tmp_path / "boxes.csv").write_text('image;boxes\n0.png;"[[0, 0, 30, 40, ""a""], [40, 0, 70, 40, ""b""]]"\n')
    judged = recipe("HorizontalFlip", inputs="{boxes: {format: pascal_voc, labels: kinds}}")
    alone = label_safety(judged, {"files": str(tmp_path / "boxes.csv")})  # two classes, and no second image
    assert (alone.mirrors, alone.colours, len(alone.notes)) == ((), None, 1)
    for last in ("NoOp", "Resize: {height: 7, width: 9}", "Resize: {height: 333, width: 444}"):
        judged = recipe("CenterCrop: {height: 30, width: 40}", last, inputs="{keypoints: {format: xy}}")
        (loss,) = label_safety(judged, {"files": str(tmp_path / "points.csv")}).losses
        assert (loss.what, loss.objects, loss.all.value) == ("keypoint", 64, 0.5)


def test_what_cannot_be_measured_is_said(letters: Path, tmp_path: Path) -> None:
    save(tmp_path / "one" / "0.png", np.zeros((30, 30, 3), np.uint8))
    safety = label_safety(recipe("RandomCrop: {height: 15, width: 30}", "HorizontalFlip"), tmp_path)
    assert (safety.samples, safety.draws, safety.colours, safety.mirrors) == (1, 32, None, ())
    assert [(loss.what, loss.median) for loss in safety.losses] == [("image", 0.5)]
    assert len(safety.notes) == 2
    assert safety.report().text(200).count("cannot be measured") == 1
    pair = {"hr": str(letters / "b"), "lr": str(letters / "d")}
    scales = "version: 1\nrecipe: pair\nkind: pair\nscales: {lr: 1, hr: 1}\nsteps: [HorizontalFlip]\neval: []\n"
    nothing = label_safety(parse_text(scales), pair)
    assert (nothing.losses, nothing.samples, len(nothing.notes)) == ((), 0, 1)
    with pytest.raises(RecipeError, match="kind views"):
        label_safety(
            parse_text("version: 1\nrecipe: views\nkind: views\nviews: {a: {steps: [HorizontalFlip]}}\n"), letters
        )
    with pytest.raises(DataError, match="exceeds image dimensions"):
        label_safety(recipe("RandomCrop: {height: 64, width: 64}"), letters)


def test_few_samples_of_many_are_chosen_by_the_seed(letters: Path) -> None:
    judged = recipe("RandomResizedCrop: {size: [16, 16]}", "HorizontalFlip", "ColorJitter")
    some = label_safety(judged, letters, samples=8)
    assert (some.samples, some.total, some.draws) == (8, 40, 256)
    assert some == label_safety(judged, letters, samples=8)
    assert some.losses != label_safety(judged, letters, samples=8, seed=1).losses
    assert json.loads(json.dumps(some.to_json()))["losses"][0]["half"]["n"] == 256
    assert some.sheet().pixels.ndim == 3


def test_bags_grey_images_and_sources(letters: Path, tmp_path: Path) -> None:
    for bag, name in enumerate("bbdd"):
        for k in range(4):
            image = cv2.imread(str(letters / name / f"{4 * (bag % 2) + k}.png"), cv2.IMREAD_GRAYSCALE)
            (tmp_path / f"bag{bag}").mkdir(exist_ok=True)
            cv2.imwrite(str(tmp_path / f"bag{bag}" / f"{k}.png"), image)
    (tmp_path / "labels.csv").write_text("bag,label\nbag0,b\nbag1,b\nbag2,d\nbag3,d\n")
    judged = "version: 1\nrecipe: bag\nkind: bag\nsteps: [HorizontalFlip: {share: bag}, RandomGamma]\n"
    safety = label_safety(parse_text(judged), tmp_path)
    assert (safety.samples, found(safety, "h")) == (16, {"b": "d", "d": "b"})
    assert safety.colours is not None
    images = [letter(name, np.random.default_rng(k)) for k, name in enumerate("bd" * 8)]

    class Letters(ar.Source):
        columns = {"label": [k % 2 for k in range(16)]}  # noqa: RUF012
        classes = ("b", "d")

        def __len__(self) -> int:
            return 16

        def read(self, index: int) -> dict[str, Any]:
            return {"image": images[index]}

    assert found(label_safety(recipe("HorizontalFlip"), Letters()), "h") == {"b": "d", "d": "b"}


def test_schedules_and_groups_keep_their_draws(colours: Path) -> None:
    """Without colour steps the others draw what they drew: the same pixels are shown, in groups too."""
    steps = (
        "OneOf: {steps: [{HueSaturationValue: {p: 0.7}}, {RandomCrop: {height: 12, width: 12, p: 0.3}}]}",
        "ColorJitter: {p: {from: 0.0, to: 1.0, epochs: 10}}",
        "HorizontalFlip: {p: {from: 0.0, to: 1.0, epochs: 10}}",
    )
    judged, tracers = recipe(*steps), list[Tracer]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labels, "Tracer", lambda *args: tracers.append(Tracer(*args)) or tracers[-1])
        safety = label_safety(judged, colours, samples=3)
    assert safety.colours is not None
    assert safety.colours.steps == ("HueSaturationValue", "ColorJitter")
    whole, bare = tracers
    image = np.random.default_rng(0).integers(0, 256, (24, 32, 3), dtype=np.uint8)
    for epoch in range(12):
        sample = Sample(0, 0, "", {"image": image})
        maps = [tracer.draw(sample, epoch)[1][-1][1] for tracer in (whole, bare)]
        assert all(map(np.array_equal, maps[0].places, maps[1].places))


def test_the_interval_is_wilsons() -> None:
    # Agresti and Coull, 1998: 10 of 10 at 95 % begins at 0.722.
    assert (share(1.0, 10).low, share(0.5, 4).low) == pytest.approx((0.7225, 0.1500), abs=1e-4)
