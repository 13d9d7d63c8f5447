"""The whole of the language, as it is written when nothing is wrong; and what pairs, Degrade and bags may say."""

import pickle
from textwrap import indent

import pytest
from support.checks import read, table

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.recipe.model import Boxes, Inputs, Keypoints, Normalize, Output, Step
from augrecipes.recipe.nodes import NumberError, resolve
from augrecipes.recipe.parse import parse_text

FULL, PYRAMID = read(__file__)["full"], read(__file__)["pyramid"]


def test_a_full_recipe() -> None:
    recipe = parse_text(FULL)
    assert recipe.name == "stained-tissue"
    assert recipe.optimize == "fast"
    assert recipe.inputs == Inputs(
        channels=3,
        min_size=(256, 256),
        mask="required",
        boxes=Boxes("coco", None, 4, 0.1, 2, 3, True),
        keypoints=Keypoints(format="yx"),
    )
    assert [step.site for step in recipe.walk()] == [
        "Rotate#1",
        "RandomResizedCrop#1",
        "HorizontalFlip#1",
        "HorizontalFlip#2",
        "vflip",
        "OneOf#1",
        "OneOf#1/GaussianBlur#1",
        "OneOf#1/SomeOf#1",
        "OneOf#1/SomeOf#1/ISONoise#1",
        "OneOf#1/SomeOf#1/ISONoise#2",
        "RandomOrder#1",
        "RandomOrder#1/Sequential#1",
        "RandomOrder#1/Sequential#1/D4#1",
    ]
    rotate, crop, flip = recipe.steps[:3]
    assert rotate.args == {"limit": 25, "border_mode": "reflect_101"}
    assert (rotate.p, flip.p) == (1.0, None)
    assert crop.args["scale"] == (0.5, 1.0)
    assert (crop.position.line, crop.position.col) == (14, 5)
    assert (crop.places["scale"].line, crop.places["scale"].col) == (14, 43)
    assert flip.ignored == {"L101", "L203"}
    assert recipe.eval == ()
    assert recipe.output == Output(
        "float16", "hwc", Normalize((0.406, 0.456, 0.485), (0.225, 0.224, 0.229)), color="bgr", where="device"
    )


@pytest.mark.parametrize("color", ["rgb", "bgr"])
@pytest.mark.parametrize("mean", [[0.485, 0.456, 0.406], [0.406, 0.456, 0.485]])
def test_lists_of_normalize_are_in_the_outputs_order(color: str, mean: list[float]) -> None:
    std = [0.229, 0.224, 0.225] if mean[0] > mean[2] else [0.225, 0.224, 0.229]
    head = "version: 1\nrecipe: a\nsteps: []\n"
    recipe = parse_text(f"{head}output: {{color: {color}, normalize: {{mean: {mean}, std: {std}}}}}")
    assert recipe.output.normalize == Normalize(tuple(mean), tuple(std))
    assert parse_text(recipe.to_yaml()) == recipe
    named = parse_text(f"{head}output: {{normalize: imagenet, color: {color}}}")
    assert (named == recipe) == ((color == "rgb") == (mean[0] > mean[2]))
    assert "imagenet" in named.to_yaml()
    assert parse_text(named.to_yaml()) == named


def test_it_reads_back_and_pickles() -> None:
    recipe = parse_text(FULL)
    assert parse_text(recipe.to_yaml()) == recipe
    assert pickle.loads(pickle.dumps(recipe)) == recipe
    assert recipe.digest == parse_text(FULL.replace("optimize: fast", "optimize: none")).digest
    assert recipe.digest != parse_text(FULL.replace("limit: 25", "limit: 26")).digest


def test_pairs() -> None:
    recipe = parse_text(PYRAMID)
    assert recipe.scales == {"lr": 1, "x2": 2, "hr": 4}
    assert recipe.allow_resampling
    assert recipe.inputs == Inputs(channels=3, min_size=(48, 16))  # px of lr
    assert [(step.target, step.at) for step in recipe.steps if step.name != "Degrade"] == [
        ((), "lr"),
        (("hr",), "hr"),
        ((), None),
        (("lr",), None),
        (("lr", "x2"), None),
    ]
    degrade = recipe.steps[3]
    assert degrade.args == {"source": "hr", "target": "lr"}
    assert [step.site for step in degrade.steps] == ["Degrade#1/GaussianBlur#1", "Degrade#1/ResizeToTarget#1"]
    assert recipe.output.range == (0.0, 255.0)
    assert recipe.outputs["lr"] == Output(dtype="uint8", range=(0.0, 255.0))
    assert parse_text(recipe.to_yaml()) == recipe


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True), ("False", False), ("yes", "yes"), ("no", "no"), ("on", "on"), ("y", "y"),
        ("1", 1), ("+1", 1), ("-01", -1), ("0o17", 15), ("0x1f", 31), ("1_000", "1_000"), ("0b11", "0b11"),
        ("1:30", "1:30"), ("1e-3", 1e-3), ("1E3", 1000.0), ("1.", 1.0), (".5", 0.5), ("+.5", 0.5), (".", "."),
        ("1.2.3", "1.2.3"), ("2026-11-21", "2026-11-21"), ("null", None), ("~", None), ("", None), ("None", "None"),
        ("١", "١"), ("1e", "1e"), ("0o8", "0o8"), ("-", "-"), ("=", "="), ("inf", "inf"),
        ("18446744073709551615", 2**64 - 1),
    ],
)  # fmt: skip
def test_scalars_are_yaml_1_2(text: str, value: object) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)


@pytest.mark.parametrize("text", [".inf", "-.Inf", ".NaN", "1e400", "18446744073709551616", "9" * 10_000])
def test_numbers_that_nothing_can_use(text: str) -> None:
    with pytest.raises(NumberError):
        resolve(text)


def test_adding_an_unlike_step_moves_no_site() -> None:
    head = "version: 1\nrecipe: a\nsteps: "
    before = parse_text(head + "[Blur, D4, Blur: {id: b}, Blur]").steps
    after = parse_text(head + "[Blur, Rotate, D4, Blur: {id: b}, Transpose, Blur]").steps
    sites = {step.site for step in after}
    assert {step.site for step in before} == {"Blur#1", "D4#1", "b", "Blur#2"} <= sites


def test_steps_are_values() -> None:
    assert Step("Blur") == Step("Blur")
    one, two = parse_text(FULL), parse_text("\n" + FULL)
    assert one == two
    assert one.steps[0].position != two.steps[0].position


TARGETS = "{lr: 1, x2: 2, hr: 4}"


def text(steps: str, scales: str = TARGETS, evaluation: str = "[]", more: str = "") -> str:
    head = f"version: 1\nrecipe: t\nkind: pair\nscales: {scales}\n{more}"
    return f"{head}steps:\n{indent(steps.strip(), '  ')}\neval:{evaluation and ' ' + evaluation}\n"


def problems(*args: str, **kwargs: str) -> list[Diagnostic]:
    try:
        parse_text(text(*args, **kwargs))
    except RecipeError as error:
        return list(error.problems)
    return []


def degrade(steps: str, source: str = "hr", target: str = "lr", more: str = "") -> str:
    return f"- Degrade: {{source: {source}, target: {target}, {more}steps: [{steps}]}}"


@table(__file__, "good", "steps")
def test_degrade_reaches_its_target(steps: str) -> None:
    assert problems(degrade(steps)) == []


@table(__file__, "bad", "steps")
def test_degrade_that_may_miss_its_target(steps: str) -> None:
    (problem,) = problems(degrade(steps))
    assert problem.code == "E312"
    assert "ResizeToTarget" in problem.message
    assert problem.line == 6


def test_equal_scales_need_no_resize() -> None:
    scales = "{clean: 1, noisy: 1}"
    assert problems(degrade("GaussNoise", "clean", "noisy"), scales=scales) == []
    assert problems(degrade("RandomScale, ResizeToTarget", "clean", "noisy"), scales=scales) == []
    assert [p.code for p in problems(degrade("RandomScale", "clean", "noisy"), scales=scales)] == ["E312"]


@table(__file__, "wrong", "steps", "says")
def test_wrong_degrades(steps: str, says: str) -> None:
    (problem,) = problems(steps)
    assert problem.code == "E312"
    assert says in problem.message


def test_degrades_in_a_row_and_in_eval() -> None:
    row = degrade("ResizeToTarget", "hr", "x2") + "\n" + degrade("ResizeToTarget", "x2", "lr")
    assert problems(row) == []
    assert problems("- RandomCrop: {height: 8, width: 8, at: lr}\n" + row + "\n- Blur: {target: lr}") == []
    # What training makes, evaluation may read from files, and the other way round.
    assert problems(row, evaluation="[]") == []
    assert problems("- D4", evaluation="\n  " + degrade("ResizeToTarget")) == []
    (problem,) = problems("- D4", evaluation="\n  - Blur: {target: lr}\n  " + degrade("ResizeToTarget"))
    assert "not there yet" in problem.message


@table(__file__, "grid", "step", "scales", "says")
def test_shared_sizes_are_whole_cells(step: str, scales: str, says: str) -> None:
    found = problems(f"- {step}", scales=scales or TARGETS)
    assert {p.code for p in found} == ({"E313"} if says else set())
    assert says in "".join(p.message for p in found)


def test_a_group_lends_its_target() -> None:
    assert problems("- OneOf:\n    target: [lr, hr]\n    steps: [Blur: {target: lr, p: 1}, Solarize: {p: 1}]") == []
    (problem,) = problems("- OneOf:\n    target: lr\n    steps: [Blur: {target: hr, p: 1}]")
    assert (problem.code, problem.name) == ("E309", "Blur.target")
    assert "limited to lr" in problem.message
    # A window in a group of one target counts that target's pixels.
    assert problems("- Sequential:\n    target: hr\n    steps: [RandomCrop: {height: 7, width: 7}]") == []


@pytest.mark.parametrize(
    "steps",
    ["- HorizontalFlip: {at: lr}", "- Sequential:\n    at: hr\n    steps: [RandomCrop: {height: 8, width: 8}]"],
)
def test_at_stands_where_pixels_are_counted(steps: str) -> None:
    (problem,) = problems(steps)
    assert (problem.code, problem.name.endswith(".at")) == ("E309", True)


@pytest.mark.parametrize(
    "name", ["image", "window", "bboxes", "mask", "path", "dtype", "weight", "split", "group", "self", "class", "out"]
)
def test_targets_leave_the_names_of_a_sample_alone(name: str) -> None:
    assert [p.code for p in problems("- D4", scales=f"{{{name}: 1, hr: 4}}")] == ["E403"]


def test_inputs_count_on_the_coarsest_target() -> None:
    def inputs(given: str, scales: str = TARGETS) -> Inputs:
        return parse_text(text("- D4", scales=scales, more=f"inputs: {given}\n")).inputs

    assert inputs("{image: {min_size: [48, 64]}}").min_size == (48, 64)
    assert inputs("{hr: {min_size: [190, 64]}}").min_size == (48, 16)
    assert inputs("{image: {min_size: [10, 90]}, hr: {min_size: [190, 64]}}").min_size == (48, 90)
    assert inputs("{b: {min_size: [10, 9]}}", "{a: 2, b: 3}").min_size == (8, 6)
    assert inputs("{lr: {channels: 1}, hr: {channels: 1}}").channels == 1
    assert inputs("{depth: 16, lr: {range: [0, 4095]}}").range == (0, 4095)
    assert inputs("{stack: {channels: 1}, targets: {channels: 1}}", "{stack: 1, targets: 2}").channels == 1
    (problem,) = problems("- D4", more="inputs: {stack: frames}\n")
    assert problem.code == "E402"
    assert problem.message.startswith("unknown key 'stack'")
    (problem,) = problems("- D4", more="inputs: {lr: {channels: 1}, hr: {channels: 3}}\n")
    assert (problem.code, problem.name) == ("E402", "inputs.hr.channels")


@pytest.mark.parametrize("kind", ["pair", "bag"])
@pytest.mark.parametrize("key", ["mask: optional", "boxes: coco", "keypoints: xy"])
def test_only_images_have_something_lying_on_them(kind: str, key: str) -> None:
    name = key.split(":", 1)[0]
    scales = "scales: {lr: 1, hr: 4}\n" if kind == "pair" else ""
    head = f"version: 1\nrecipe: t\nkind: {kind}\n{scales}steps: [D4]\n"
    with pytest.raises(RecipeError, match=r"E402.*images only"):
        parse_text(f"{head}inputs: {{{key}}}\n")
    assert parse_text(f"{head}inputs: {{{name}: absent}}\n").kind == kind


def test_share_of_groups_and_children() -> None:
    recipe = parse_text(
        "version: 1\nrecipe: t\nkind: bag\nbag: {max_tiles: 9, min_tiles: 9, pick: stride}\n"
        "steps:\n  - OneOf:\n      share: bag\n      steps: [Blur: {p: 1}, Solarize: {share: tile, p: 1}]\n"
    )
    assert [step.share for step in recipe.steps[0].walk()] == ["bag", None, "tile"]


def test_a_targets_output_inherits_what_is_said_for_all() -> None:
    text = (
        "{version: 1, recipe: a, kind: pair, scales: {lr: 1, x2: 2, hr: 4}, steps: [D4], eval: [], output: {lr: "
        "{dtype: uint8}, hr: {range: [0, 255]}, layout: hwc, normalize: {mean: 0.5, std: 0.5}}}"
    )
    recipe = parse_text(text)
    assert (recipe.outputs["lr"].dtype, recipe.outputs["lr"].layout, recipe.outputs["lr"].normalize) == (
        "uint8",
        "hwc",
        None,
    )
    assert (recipe.outputs["hr"].layout, recipe.outputs["hr"].range) == ("hwc", (0.0, 255.0))
    assert recipe.outputs["hr"].normalize is None
    assert recipe.output.normalize is not None
    assert parse_text(recipe.to_yaml()) == recipe


def test_a_target_named_twice() -> None:
    with pytest.raises(RecipeError, match="named twice"):
        parse_text(
            "{version: 1, recipe: a, kind: pair, scales: {lr: 1, hr: 4}, steps: [ToGray: {target: [lr, lr]}], eval: []}"
        )
