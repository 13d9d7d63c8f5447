"""Objects that the caller has, or names in a file of Python; and lists of classes and arguments."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import augrecipes as ar
from augrecipes.cli import main
from augrecipes.cli.interop import gains
from augrecipes.compat.albumentations import A
from augrecipes.interop.importing import draft_of
from augrecipes.recipe.outputs import imagenet

CODE = (Path(__file__).parent / "configs" / "mine.py.txt").read_text(encoding="utf-8")


@pytest.fixture
def code(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(CODE, encoding="utf-8")
    return str(tmp_path / "mine.py")


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("train", ["Rotate", "HorizontalFlip"]),
        ("make", ["Rotate", "HorizontalFlip"]),
        ("saved", ["Rotate", "HorizontalFlip"]),
        ("steps", ["D4", "Blur"]),
    ],
)
def test_what_the_user_names_is_run(code: str, name: str, steps: list[str]) -> None:
    draft = draft_of(f"{code}:{name}")
    assert [step.name for step in draft.recipe().steps] == steps
    assert any("seed 3" in note for note in draft.notes) == (name in ("train", "make"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("number", "nothing here that can be imported"),
        ("fails", r"mine.py:\d+: fails\(\), called without arguments, fails: OSError: no such disk"),
        ("absent", "there is no absent in it, but"),
    ],
)
def test_what_is_none_is_an_error_that_names_it(code: str, name: str, words: str) -> None:
    with pytest.raises(ar.RecipeError, match=words):
        draft_of(f"{code}:{name}")


def test_a_file_that_is_not_named_so_is_never_run(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n", encoding="utf-8")
    with pytest.raises(ar.RecipeError):
        draft_of(str(tmp_path / "evil.py"))
    assert not (tmp_path / "ran").exists()


class Rotate(A.Rotate):  # type: ignore[misc]
    """A class of the user's own, with the name of a known one."""


class Mine(A.ImageOnlyTransform):  # type: ignore[misc]
    """Another."""

    def __init__(self, strength: float = 1.0, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.strength = strength

    def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
        return img


@pytest.mark.parametrize(
    ("made", "name", "way"),
    [
        (A.Lambda(name="x", image=np.copy), "Lambda", "augrecipes.register"),
        (Rotate(10), "Rotate", "augrecipes.register"),
        (Mine(), "Mine", "augrecipes.register"),
        (A.SelectiveChannelTransform([A.Blur()]), "SelectiveChannelTransform", "all channels"),
        (A.Normalize(normalization="image"), "Normalize", "augrecipes.register"),
        (A.ToFloat(max_value=100), "ToFloat", "8 bits"),
        (A.Compose([A.D4()], additional_targets={"other": "image"}), "additional_targets", "kind pair"),
        (A.Compose([A.D4()], bbox_params=A.BboxParams("coco", ["a", "b"])), "label_fields", "join them"),
        (
            A.Compose([A.D4()], bbox_params=A.BboxParams("coco", max_accept_ratio=3)),
            "max_accept_ratio",
            "take others out",
        ),
    ],
)
def test_what_no_recipe_holds_is_refused_by_name(made: Any, name: str, way: str) -> None:
    for compose in (made, A.Compose([A.Blur(), made])) if not isinstance(made, A.Compose) else (made,):
        with pytest.raises(ar.RecipeError) as caught:
            ar.from_albumentations(compose)
        (problem,) = caught.value.problems
        assert (problem.code, problem.name) == ("E602", name)
        assert way in problem.message


_MOVES = [A.HorizontalFlip(p=1.0), A.RandomGamma((70, 70), p=1.0), A.CenterCrop(20, 24)]


@pytest.mark.parametrize(
    ("first", "last", "inputs", "most"),
    [
        ([A.ToFloat(max_value=65535)], [], {"depth": 16}, 8e-6),  # half a level of 16 bits
        ([A.ToFloat(max_value=4095)], [A.ToTensorV2()], {"depth": 16, "range": [0, 4095]}, 1e-3),
        ([A.ToFloat(max_value=65535)], [A.FromFloat(dtype="uint16")], {"depth": 16}, 1),
        ([A.ToFloat(max_value=65535)], [A.FromFloat(dtype="uint16"), A.ToTensorV2()], {"depth": 16}, 1),
    ],
)
def test_images_that_are_scaled_from_16_bits_are_declared_so(
    first: list[Any], last: list[Any], inputs: dict[str, Any], most: float
) -> None:
    compose = A.Compose([*first, *_MOVES, *last])
    recipe = ar.from_albumentations(compose)
    assert [step.name for step in recipe.steps] == ["HorizontalFlip", "RandomGamma", "CenterCrop"]
    assert (recipe.inputs.dtype, recipe.inputs.full_range) == ("uint16", tuple(inputs.get("range", [0, 65535])))
    image = np.random.default_rng(0).integers(0, 4096, (40, 50, 3)).astype(np.uint16)
    ours, theirs = recipe.compile().at(0)(image=image)["image"], np.asarray(compose(image=image)["image"])
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert np.abs(ours.astype(np.float64) - theirs).max() <= most
    with pytest.raises(ar.RecipeError, match="16 bits"):
        recipe.to_albumentations()
    normalised = ar.from_albumentations(A.Compose([A.Normalize(max_pixel_value=65535)]))
    assert (normalised.inputs.dtype, normalised.output.normalize) == ("uint16", imagenet("rgb"))


@pytest.mark.usefixtures("own_classes")
def test_a_registered_class_is_a_step() -> None:
    ar.register(Mine)
    recipe = ar.from_albumentations(A.Compose([Mine(strength=2.0)]))
    assert (recipe.steps[0].name, recipe.steps[0].args.plain()) == ("Mine", {"strength": 2.0})
    assert isinstance(recipe.to_albumentations().transforms[0], Mine)


def test_what_is_no_pipeline_is_a_type_error() -> None:
    for value in (3, "Rotate", [1], []):
        with pytest.raises((TypeError, ar.RecipeError)):
            ar.from_albumentations(value)


def test_a_compose_inside_keeps_its_steps_together() -> None:
    inner = A.Compose([A.HorizontalFlip(p=1), A.VerticalFlip(p=1)])
    recipe = ar.from_albumentations(A.Compose([inner, A.OneOf([inner, A.Blur(p=1)], p=1)]))
    assert [step.name for step in recipe.walk()] == [
        *("HorizontalFlip", "VerticalFlip", "OneOf", "Sequential", "HorizontalFlip", "VerticalFlip", "Blur")
    ]


def test_a_normalisation_in_the_middle() -> None:
    """What moves pixels behind it is the same in front of it; what changes their values is not."""
    image = np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8)
    hole = A.CoarseDropout(hole_height_range=(9, 9), hole_width_range=(9, 9), fill=0, p=1)
    compose = A.Compose([A.Normalize(), A.HorizontalFlip(p=1), hole, A.PadIfNeeded(64, 64), A.ToTensorV2()])
    recipe = ar.from_albumentations(compose)
    again = recipe.to_albumentations()
    for made in (compose, again):
        made.set_random_seed(1)
    found, wanted = (np.asarray(made(image=image)["image"]) for made in (again, compose))
    # Values filled in are whole levels in front of it.
    np.testing.assert_allclose(found, wanted, atol=0.5 / 255 / 0.225)
    with pytest.raises(ar.RecipeError, match="stood behind the normalisation"):
        ar.from_albumentations(A.Compose([A.Normalize(), A.ToGray()]))


def test_the_gain_counts_the_same_draws() -> None:
    """Sides that do the same count the same work; what takes longer on one side shows."""
    for name in ("folder-128", "detection", "segmentation"):
        found = gains(ar.load(name), seconds=0.02)
        assert set(found) == {"exact", "fast"}
        assert all(ratio > 0 for ratio in found.values())


def test_a_table_of_lists_is_imported_one_by_one(tmp_path: Path) -> None:
    listed = [["Resize", {"height": 32, "width": 48}, []], ["OneOf", {"p": 0.5}, [["Blur", {"p": 1}], ["D4", {}]]]]
    table = tmp_path / "table.json"
    table.write_text(json.dumps([{"id": "first", "body": listed}, {"id": "second", "body": [["D4", {}]]}]))
    assert [step.name for step in draft_of(str(table), "0.body").recipe().walk()] == ["Resize", "OneOf", "Blur", "D4"]
    with pytest.raises(ar.RecipeError, match=r"several pipelines; name one, as in `--key 0\.body`"):
        draft_of(str(table))
    with pytest.raises(ar.RecipeError, match="no pipeline at 'third'"):
        draft_of(str(table), "third")


def test_a_key_that_names_nothing_is_no_silence(tmp_path: Path) -> None:
    saved, mine = tmp_path / "saved.json", tmp_path / "mine.yaml"
    A.save(A.Compose([A.D4()]), saved)
    mine.write_text(ar.load("folder-128").to_yaml(), encoding="utf-8")
    with pytest.raises(ar.RecipeError, match="--key names one of several pipelines, and this is a pipeline that albu"):
        draft_of(str(saved), "train")
    with pytest.raises(ar.RecipeError, match="this is a recipe already"):
        draft_of(str(mine))


# Pipelines that `A.save` wrote, of this release and of earlier ones.


def _old(*transforms: dict[str, Any], **more: Any) -> dict[str, Any]:
    listed = [{"__class_fullname__": each.pop("cls"), **each} for each in map(dict, transforms)]
    return {"__version__": "1.0.3", "transform": {"__class_fullname__": "Compose", "transforms": listed, **more}}


def _written(folder: Path, saved: dict[str, Any]) -> str:
    path = folder / "Old aug.json"
    path.write_text(json.dumps(saved), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_what_is_saved_today_becomes_a_recipe(tmp_path: Path, form: str) -> None:
    saved = tmp_path / f"train.{form}"
    steps = [A.RandomCrop(64, 48), A.OneOf([A.Blur(), A.GaussNoise(p=0.2)], p=0.3), A.Normalize(), A.ToTensorV2()]
    boxes = A.BboxParams("coco", label_fields=["cls"], min_area=3)
    A.save(A.Compose(steps, bbox_params=boxes), saved, data_format=form)
    recipe = draft_of(str(saved)).recipe()
    assert [step.name for step in recipe.walk()] == ["RandomCrop", "OneOf", "Blur", "GaussNoise"]
    assert (recipe.name, recipe.steps[1].p, recipe.output.layout) == ("train", 0.3, "chw")
    assert recipe.output.normalize == ar.load("imagenet-train").output.normalize
    assert (recipe.inputs.boxes.format, recipe.inputs.boxes.labels, recipe.inputs.boxes.min_area) == ("coco", "cls", 3)


def test_old_names_are_todays_with_a_comment_at_the_line(tmp_path: Path) -> None:
    old = _old(
        {"cls": "ImageCompression", "quality_lower": 60, "quality_upper": 90, "always_apply": False, "p": 0.5},
        {"cls": "Resize", "height": 224, "width": 200, "interpolation": 1, "always_apply": True, "p": 0.5},
        {"cls": "Rotate", "limit": [-20, 20], "border_mode": 4, "value": None, "mask_value": None, "p": 0.5},
    )
    lines = draft_of(_written(tmp_path, old)).to_yaml().splitlines()
    assert lines[-5:-1] == [
        "steps:",
        "  - ImageCompression: {quality_range: [60, 90]}  # was quality_lower: 60, quality_upper: 90",
        "  - Resize: {height: 224, width: 200}  # was always_apply: true",
        "  - Rotate: {limit: 20, border_mode: reflect_101}",
    ]


def test_an_argument_that_no_release_had_is_named_and_everything_else_comes_in(tmp_path: Path) -> None:
    path = _written(tmp_path, _old({"cls": "D4"}, {"cls": "Blur", "blurr": 3}))
    draft = draft_of(path)
    (problem,) = draft.left_out()
    assert (problem.file, problem.line, problem.code, problem.name) == (path, 1, "E602", "Blur.blurr")
    assert [step.name for step in draft.recipe().steps] == ["D4", "Blur"]
    assert "# left out: Blur.blurr: 3: no release" in draft.to_yaml()


def test_load_and_check_name_the_import(tmp_path: Path) -> None:
    with pytest.raises(ar.RecipeError, match=r"ar\.from_albumentations"):
        ar.load(A.to_dict(A.Compose([A.D4()])))
    path = _written(tmp_path, _old({"cls": "D4"}))
    with pytest.raises(
        ar.RecipeError, match=r"1 transform, which is not a recipe: `augrecipes import .*Old aug.json -o"
    ):
        ar.load(path)


def test_the_command_says_what_changed_and_what_is_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    old = _old({"cls": "ToGray"}, {"cls": "Lambda"}, {"cls": "GaussNoise", "var_limit": [10, 50], "p": 1.0}, seed=7)
    source = _written(tmp_path, old)
    with pytest.raises(SystemExit) as left:
        main(["import", source, "-o", "new.yaml"])
    assert left.value.code == 1  # a part is left out
    shown = " ".join(capsys.readouterr().out.split())  # lines are wrapped
    assert "new.yaml: 2 steps, made of a pipeline that albumentations 1.0.3 saved" in shown
    assert "changed GaussNoise: was var_limit: [10, 50]" in shown
    assert "samples in 3 epochs" not in shown  # no DataLoader is in sight
    assert "The seed 7 is not part of a recipe" in shown
    assert re.search(r"speed exact [\d.]+ · fast [\d.]+ times as fast", shown)
    assert "L102" not in shown
    assert "eval: derived  # the source has none" in (tmp_path / "new.yaml").read_text()
    assert f"{source}:1:" in shown
    assert "E602 Lambda: needs Python code" in shown
    text = (tmp_path / "new.yaml").read_text(encoding="utf-8")
    assert "Incomplete: 1 of its parts has" in text
    assert "# left out: Lambda" in text
    with pytest.raises(SystemExit) as done:
        main(["import", source, "--no-time"])
    found = capsys.readouterr()
    assert done.value.code == 1
    assert ar.load(found.out).steps == ar.load(text).steps  # standard output holds the recipe, and nothing else
    assert "changed  GaussNoise" in found.err
