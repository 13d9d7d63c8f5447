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
from augrecipes.verify import source_map as maps
from augrecipes.verify.labels import MOVES
from augrecipes.verify.safety import LabelSafety, ShareEstimate, share
from augrecipes.verify.source_map import Tracer, source_map

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
        for k in range(6):
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


def mirrored(safety: LabelSafety, move: str) -> dict[str, str]:
    return {each.of: each.like for each in safety.findings if each.what == MOVES[move] and each.of}


def drawn_moves(safety: LabelSafety) -> dict[str, ShareEstimate]:
    draws = {each.what: each.figures["draws"] for each in safety.findings if each.topic == "mirrors" and not each.of}
    return {move: draws[words] for move, words in MOVES.items() if words in draws}


def colour_figures(safety: LabelSafety) -> Any:
    return next(each.figures for each in safety.findings if each.topic == "colours")


def losses(safety: LabelSafety) -> dict[str, Any]:
    return {each.of: each.figures for each in safety.findings if each.topic == "objects"}


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sought is found in few draws too."""
    monkeypatch.setattr(labels, "_DRAWS", 144)


@pytest.mark.usefixtures("few_draws")
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
    assert drawn_moves(safety).keys() == moves.keys()
    for move, pairs in moves.items():
        assert mirrored(safety, move) == pairs
        changed = [each.figures for each in safety.findings if each.like]
        assert all(pair["moved"].value > 0.8 and pair["moved"].n == 6 for pair in changed)
        of_all = next(each.figures for each in safety.findings if each.what == MOVES[move])
        assert (of_all["as read"].value, of_all["moved"].value) == (1.0, 0.0)
    assert ("no draw mirrors" in safety.report().text()) == (not moves)


def unevenness(safety: LabelSafety) -> float:
    """χ² of the eight symmetries, of which each is as likely: 24.3 is exceeded once in a thousand."""
    shares = np.array([share.value for share in drawn_moves(safety).values()])
    shares = np.append(shares, 1 - shares.sum())
    return float(safety.draws * 8 * np.square(shares - 1 / 8).sum())


@pytest.mark.usefixtures("few_draws")
def test_all_symmetries_that_are_drawn_and_no_others(letters: Path) -> None:
    safety = label_safety(recipe("D4: {p: 1.0}"), letters)
    assert drawn_moves(safety).keys() == D4.keys() - {"e"}
    assert unevenness(safety) < 24.3
    often = "OneOf: {steps: [{D4: {p: 0.9}}, {HorizontalFlip: {p: 0.3}}], p: 1.0}"
    assert unevenness(label_safety(recipe(often), letters)) > 24.3
    assert (mirrored(safety, "h"), mirrored(safety, "r180")) == (MIRRORED, TURNED)
    both = label_safety(recipe("HorizontalFlip: {p: 1.0}", "VerticalFlip: {p: 1.0}"), letters)
    assert drawn_moves(both).keys() == {"r180"}
    quarters = label_safety(recipe("RandomRotate90: {p: 1.0}"), letters)
    assert drawn_moves(quarters).keys() == {"r90", "r180", "r270"}


@pytest.mark.usefixtures("few_draws")
def test_mirrors_that_are_not_measured_are_found_missing(letters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "D4", {**D4, "h": D4["e"]})
    assert mirrored(label_safety(recipe("HorizontalFlip"), letters), "h") == {}


def test_the_symmetry_of_a_draw_is_that_of_its_pixels() -> None:
    image = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    tracer, seen = Tracer(recipe("D4: {p: 1.0}"), 0), set()
    for epoch in range(40):
        out, shown = tracer.draw(Sample(0, 0, "", {"image": image}), epoch)
        assert shown.move is not None
        assert np.array_equal(D4[shown.move].view(image), out["image"])
        seen.add(shown.move)
    assert seen == {*D4}


@pytest.mark.parametrize("step", ["HueSaturationValue: {hue_shift_limit: 90, p: 1.0}", "ChannelShuffle: {p: 1.0}"])
def test_colours_that_are_classes(colours: Path, step: str) -> None:
    safety = label_safety(recipe("HorizontalFlip", step, "RandomCrop: {height: 16, width: 16}"), colours)
    use = colour_figures(safety)
    assert use["chance"].value == pytest.approx(1 / 3)
    assert (use["as read"].value, use["shown"].value) == (1.0, 1.0)
    assert use["drawn"].high < use["shown"].low


def test_steps_that_leave_colours_alone(colours: Path, letters: Path) -> None:
    moved = label_safety(recipe("RandomResizedCrop: {size: [20, 20]}", "HorizontalFlip", "Rotate"), colours)
    assert (colour_figures(moved)["shown"].value, colour_figures(moved)["drawn"].value) == (1.0, 1.0)
    slight = label_safety(recipe("RandomBrightnessContrast: {brightness_limit: 0.05, contrast_limit: 0.05}"), colours)
    assert colour_figures(slight)["drawn"].value > 0.95
    of_letters = label_safety(recipe("ChannelShuffle: {p: 1.0}"), letters)
    assert colour_figures(of_letters)["as read"].low < 0.25  # colours tell nothing of letters


def test_a_crop_that_takes_the_coloured_part_away_is_no_colour_step(tmp_path: Path) -> None:
    """Classes differ in a patch on the left: what a crop shows of the right tells nothing, whatever is drawn then."""
    rng = np.random.default_rng(0)
    for name in ("red", "blue"):
        for k in range(10):
            image = rng.integers(100, 120, (20, 40, 3), dtype=np.uint8)
            image[:, :10, 0 if name == "red" else 2] = 250
            save(tmp_path / name / f"{k}.png", image)
    use = colour_figures(label_safety(recipe("Crop: {x_min: 20, y_min: 0, x_max: 40, y_max: 20, p: 1.0}"), tmp_path))
    assert use["as read"].value == 1.0
    assert use["shown"].low < 0.6
    assert use["drawn"].value == pytest.approx(use["shown"].value)


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
        _, shown = tracer.draw(Sample(0, 0, "", {"image": image}, given), epoch)
        applied = plain.at(0, epoch)(image=image, **given)["applied"]
        x, y, end_x, end_y = applied[0][2]["crop_coords"]
        window = np.zeros((80, 100), bool)
        window[y:end_y, x:end_x] = True
        assert (shown.seen != window).sum() <= 0.04 * window.sum()
        assert abs(int(shown.seen.sum()) - int(window.sum())) <= 0.04 * window.sum()


def test_a_draw_shows_what_a_ramp_shows() -> None:
    """Against an image whose pixels all differ: pixels of a draw are those of the source that the map names."""
    y, x = np.indices((50, 70))
    image = np.dstack([y, x, 0 * x]).astype(np.uint8)
    steps = ("RandomCrop: {height: 30, width: 40}", "D4: {p: 1.0}", "CoarseDropout: {p: 1.0}", "RandomRotate90")
    tracer = Tracer(recipe(*steps), 0)
    for epoch in range(10):
        out, (seen, shown, places, _) = tracer.draw(Sample(0, 0, "", {"image": image}), epoch)
        assert np.array_equal(out["image"][shown][:, :2], np.stack(places, axis=1))
        expected = np.zeros((50, 70), bool)
        expected[places] = True
        assert np.array_equal(seen, expected)


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
    whole, corner, middle = (losses(safety)[of] for of in ("", "1", "2"))
    assert (safety.draws, corner["half lost"].n) == (128, 128)
    assert corner["half lost"].value == pytest.approx((left < 0.5).mean())
    assert corner["all lost"].value == pytest.approx((left == 0).mean())
    quantiles = [corner[name].value for name in ("median", "5th percentile")]
    assert quantiles == pytest.approx(np.quantile(left, (0.5, 0.05)).tolist())
    assert corner["median"].low <= corner["median"].value <= corner["median"].high
    assert (middle["5th percentile"].value, middle["all lost"].value) == (1.0, 0.0)
    assert [*losses(safety)] == ["", "1", "2"]  # the class that loses most comes first
    assert whole["half lost"].value == pytest.approx(((left + 1) / 2 < 0.5).mean())
    with pytest.MonkeyPatch.context() as patch:  # a map that shows all: the figures would tell
        show_all = lambda x, y, size: source_map(x, y, size)._replace(seen=np.ones(size, bool))  # noqa: E731
        patch.setattr(maps, "source_map", show_all)
        blind = label_safety(recipe(step, inputs="{mask: required}"), corners / "images", masks=corners / "masks")
    assert losses(blind)["1"]["half lost"].value != corner["half lost"].value


def test_boxes_that_the_recipe_drops_are_lost(corners: Path) -> None:
    step = "RandomCrop: {height: 70, width: 60, p: 1.0}"
    left = lost_at_corners(step, corners)
    inputs = "{boxes: {format: pascal_voc, labels: box_labels, min_visibility: 0.8}}"
    safety = label_safety(recipe(step, inputs=inputs), {"files": str(corners / "boxes.csv")})
    corner, middle = (losses(safety)[of] for of in ("corner", "middle"))
    assert corner["all lost"].value == pytest.approx((left < 0.8).mean(), abs=0.02)
    assert corner["all lost"].value > (left == 0).mean()
    assert middle["all lost"].value == 0
    assert losses(safety)[""]["all lost"].value == pytest.approx((left < 0.8).mean() / 2, abs=0.01)


def test_steps_that_hide_and_turn_lose_too(corners: Path) -> None:
    how: dict[str, Any] = {"masks": corners / "masks"}
    hole = (
        "CoarseDropout: {num_holes_range: [1, 1], hole_height_range: [0.9, 0.9], hole_width_range: [0.9, 0.9], p: 1.0}"
    )
    turned = recipe(hole, "Rotate: {limit: 45, border_mode: reflect_101, p: 1.0}")
    by_class = losses(label_safety(turned, corners / "images", **how))
    assert by_class["2"]["all lost"].value > 0.5  # the hole
    assert by_class["1"]["half lost"].value > 0.5
    alone = losses(label_safety(recipe("Rotate: {limit: [44, 45], p: 1.0}"), corners / "images", **how))
    assert (alone["1"]["all lost"].value, alone["2"]["half lost"].value) == (1.0, 0.0)
    stays = recipe("Resize: {height: 37, width: 211}", "HorizontalFlip", "Transpose")
    kept = losses(label_safety(stays, corners / "images", **how))
    assert [loss["5th percentile"].value for loss in kept.values()] == [1.0, 1.0, 1.0]


def test_keypoints_that_are_left(tmp_path: Path) -> None:
    save(tmp_path / "0.png", np.zeros((60, 80, 3), np.uint8))
    (tmp_path / "points.csv").write_text("image;keypoints\n0.png;[[5, 5], [40, 30]]\n")
    (tmp_path / "boxes.csv").write_text('image;boxes\n0.png;"[[0, 0, 30, 40, ""a""], [40, 0, 70, 40, ""b""]]"\n')
    judged = recipe("HorizontalFlip", inputs="{boxes: {format: pascal_voc, labels: kinds}}")
    alone = label_safety(judged, {"files": str(tmp_path / "boxes.csv")})  # two classes, and no second image
    assert ({each.topic for each in alone.findings}, len(alone.notes)) == ({"objects"}, 1)
    for last in ("NoOp", "Resize: {height: 7, width: 9}", "Resize: {height: 333, width: 444}"):
        judged = recipe("CenterCrop: {height: 30, width: 40}", last, inputs="{keypoints: {format: xy}}")
        (loss,) = label_safety(judged, {"files": str(tmp_path / "points.csv")}).findings
        assert (loss.what, loss.figures["all lost"]) == ("keypoint", share(0.5, 32))


def test_what_cannot_be_measured_is_said(letters: Path, tmp_path: Path) -> None:
    save(tmp_path / "one" / "0.png", np.zeros((30, 30, 3), np.uint8))
    safety = label_safety(recipe("RandomCrop: {height: 15, width: 30}", "HorizontalFlip"), tmp_path)
    assert (safety.samples, safety.draws) == (1, 32)
    assert [(loss.what, loss.figures["median"].value) for loss in safety.findings] == [("image", 0.5)]
    assert len(safety.notes) == 2
    assert safety.report().text(200).count("cannot be measured") == 1
    pair = {"hr": str(letters / "b"), "lr": str(letters / "d")}
    scales = "version: 1\nrecipe: pair\nkind: pair\nscales: {lr: 1, hr: 1}\nsteps: [HorizontalFlip]\neval: []\n"
    nothing = label_safety(parse_text(scales), pair)
    assert (nothing.findings, nothing.samples, len(nothing.notes)) == ((), 0, 1)
    with pytest.raises(RecipeError, match="kind views"):
        label_safety(
            parse_text("version: 1\nrecipe: views\nkind: views\nviews: {a: {steps: [HorizontalFlip]}}\n"), letters
        )
    with pytest.raises(DataError, match="exceeds image dimensions"):
        label_safety(recipe("RandomCrop: {height: 64, width: 64}"), letters)


def test_few_samples_of_many_are_chosen_by_the_seed(letters: Path) -> None:
    judged = recipe("RandomResizedCrop: {size: [16, 16]}", "HorizontalFlip", "ColorJitter")
    some = label_safety(judged, letters, samples=8)
    assert (some.samples, some.total, some.draws) == (8, 24, 256)
    assert some == label_safety(judged, letters, samples=8)
    assert some.findings != label_safety(judged, letters, samples=8, seed=1).findings
    assert json.loads(json.dumps(some.to_json()))["findings"][0]["figures"]["half lost"]["n"] == 256
    assert some.sheet().pixels.ndim == 3


@pytest.mark.usefixtures("few_draws")
def test_bags_grey_images_and_sources(letters: Path, tmp_path: Path) -> None:
    for bag, name in enumerate("bbdd"):
        for k in range(3):
            image = cv2.imread(str(letters / name / f"{3 * (bag % 2) + k}.png"), cv2.IMREAD_GRAYSCALE)
            (tmp_path / f"bag{bag}").mkdir(exist_ok=True)
            cv2.imwrite(str(tmp_path / f"bag{bag}" / f"{k}.png"), image)
    (tmp_path / "labels.csv").write_text("bag,label\nbag0,b\nbag1,b\nbag2,d\nbag3,d\n")
    judged = "version: 1\nrecipe: bag\nkind: bag\nsteps: [HorizontalFlip: {share: bag}, RandomGamma]\n"
    safety = label_safety(parse_text(judged), tmp_path)
    assert (safety.samples, mirrored(safety, "h")) == (12, {"b": "d", "d": "b"})
    assert colour_figures(safety)
    images = [letter(name, np.random.default_rng(k)) for k, name in enumerate("bd" * 8)]

    class Letters(ar.Source):
        columns = {"label": [k % 2 for k in range(16)]}  # noqa: RUF012
        classes = ("b", "d")

        def __len__(self) -> int:
            return 16

        def read(self, index: int) -> dict[str, Any]:
            return {"image": images[index]}

    assert mirrored(label_safety(recipe("HorizontalFlip"), Letters()), "h") == {"b": "d", "d": "b"}


def test_the_interval_is_wilsons() -> None:
    # Agresti and Coull, 1998: 10 of 10 at 95 % begins at 0.722.
    assert (share(1.0, 10).low, share(0.5, 4).low) == pytest.approx((0.7225, 0.1500), abs=1e-4)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_slivers_of_an_image_are_measured(width: int) -> None:
    """Far away lies what is hidden: its ramp says nothing of how steep the image's is."""
    y, x = np.indices((40, 60), np.float32)
    for ramp in (x, y):
        ramp[:, width:] = -1e6
    seen, shown, _, move = source_map(x, y, (40, 60))
    assert seen[:, :width].all()
    assert not seen[:, width + 1 :].any()
    assert shown.sum() == 40 * width
    assert move in ("e", None)


def test_large_images_are_drawn_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert labels._AREA == 2**28
    monkeypatch.setattr(labels, "_AREA", 2**20)
    for k in range(2):
        save(tmp_path / f"{k}.png", np.full((188, 250, 3), 99, np.uint8))
    safety = label_safety(recipe("CenterCrop: {height: 94, width: 250}"), tmp_path)
    assert safety.draws == 2 * (2**20 // (2 * 188 * 250))
    assert safety.findings[0].figures["median"].value == 0.5


def test_classes_of_one_image_are_left_out(colours: Path, tmp_path: Path) -> None:
    names = [f"{name}/{k}" for name in ("red", "green") for k in range(4)] + ["blue/0"]
    (tmp_path / "list.csv").write_text("image,label\n" + "".join(f"{colours / n}.png,{n[:-2]}\n" for n in names))
    safety = label_safety(recipe("HorizontalFlip"), {"files": str(tmp_path / "list.csv"), "outside": True})
    assert colour_figures(safety)["as read"].n == 8
    assert any("classes of one image" in note for note in safety.notes)


def test_boxes_with_labels_are_classes(tmp_path: Path) -> None:
    """Letters as boxes, several in an image: those of one image are no neighbours, and a crop may show few of them."""
    rng, rows = np.random.default_rng(0), ["image;boxes"]
    for k in range(10):
        image, boxes = np.full((90, 180, 3), 235, np.uint8), list[str]()
        for place, name in enumerate("bdbd"):
            x = 45 * place
            image[20:60, x : x + 40] = letter(name, rng)
            boxes.append(f'[{x}, 20, {x + 40}, 60, ""{name}""]')
        save(tmp_path / f"{k}.png", image)
        rows.append(f'{k}.png;"[{", ".join(boxes)}]"')
    (tmp_path / "boxes.csv").write_text("\n".join(rows) + "\n")
    inputs = "{boxes: {format: pascal_voc, labels: kinds}}"
    judged = recipe("RandomCrop: {height: 90, width: 60}", "HorizontalFlip", inputs=inputs)
    safety = label_safety(judged, {"files": str(tmp_path / "boxes.csv")})
    assert mirrored(safety, "h") == {"b": "d", "d": "b"}
    assert {each.of for each in safety.findings if each.what == "box"} == {"", "b", "d"}
    assert losses(safety)["b"]["all lost"].value > 0.3
    assert safety.sheet().pixels.ndim == 3
