"""Steps of two recipes: what differs, what has moved, and whose draws change."""

import json
from typing import Any

import pytest

import augrecipes as ar
from augrecipes.diff import Change, diff
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text


def image(steps: str, **more: str) -> Recipe:
    rest = "".join(f"{key}: {value}\n" for key, value in more.items())
    return parse_text(f"version: 1\nrecipe: test\nsteps: {steps}\n{rest}")


def pair(steps: str, scales: str = "{lr: 1, hr: 4}") -> Recipe:
    return image(steps, kind="pair", scales=scales, eval="[]")


def bag(steps: str, **more: str) -> Recipe:
    return image(steps, kind="bag", eval="[]", **more)


def found(a: Recipe, b: Recipe) -> list[tuple[str, str, dict[str, tuple[Any, Any]], str | None]]:
    return [(one.what, one.site, {c.key: (c.a, c.b) for c in one.changes}, one.draws) for one in diff(a, b).steps]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("HorizontalFlip", "{HorizontalFlip: {}}"),
        ("HorizontalFlip", "{HorizontalFlip: {p: 0.50}}"),
        ("{RandomCrop: {height: 8, width: 9}}", "{RandomCrop: {p: 1, width: 9.0, pad_if_needed: false, height: 8}}"),
        ("{Rotate: {border_mode: 4}}", "{Rotate: {border_mode: reflect_101}}"),
        ("{Rotate: {limit: 25}}", "{Rotate: {limit: [-25, 25.0]}}"),
        ("{Blur: {blur_limit: 7}}", "{Blur: {blur_limit: [3, 7]}}"),
        ("{CoarseDropout: {fill: 0}}", "{CoarseDropout: {fill: [0, 0, 0]}}"),
        ("{Rotate: {border_mode: constant, fill: 7}}", "{Rotate: {border_mode: constant, fill: [7.0, 7, 7]}}"),
        (  # one argument in the place of two
            "{ShiftScaleRotate: {shift_limit_x: [-0.02, 0.02], shift_limit_y: 0.02}}",
            "{ShiftScaleRotate: {shift_limit: 0.02}}",
        ),
        (  # overruled by those next to it
            "{ShiftScaleRotate: {shift_limit: 0.5, shift_limit_x: 0.1, shift_limit_y: 0.2}}",
            "{ShiftScaleRotate: {shift_limit_x: 0.1, shift_limit_y: 0.2}}",
        ),
        ("{OneOf: {steps: [Blur, MedianBlur]}}", "{OneOf: {p: 1, steps: [{Blur: {p: 1}}, {MedianBlur: {p: 1}}]}}"),
        (  # weights count against each other
            "{OneOf: {steps: [{Blur: {p: 1}}, {Sharpen: {p: 0.5}}]}}",
            "{OneOf: {steps: [{Blur: {p: 0.5}}, {Sharpen: {p: 0.25}}]}}",
        ),
        ("{SomeOf: {steps: [Blur]}}", "{SomeOf: {n: 1, replace: false, steps: [Blur]}}"),
        ("{RandomOrder: {steps: [Blur, Sharpen]}}", "{RandomOrder: {n: 2.0, steps: [Blur, Sharpen]}}"),
        ("{CenterCrop: {height: 8, width: 8}}", "{CenterCrop: {height: 8, width: 8, id: middle}}"),
        ("{Sequential: {steps: [{NoOp: {p: 1}}]}}", "{Sequential: {id: none, steps: [{NoOp: {p: 1}}]}}"),
    ],
)
def test_other_words_for_the_same(a: str, b: str) -> None:
    one, other = image(f"[{a}]"), image(f"[{b}]")
    assert diff(one, other).same and diff(other, one).same


@pytest.mark.parametrize(
    ("a", "b", "changes"),
    [
        ("HorizontalFlip", "{HorizontalFlip: {p: 0.4}}", {"p": (0.5, 0.4)}),
        ("{Rotate: {limit: 25}}", "{Rotate: {limit: [-24, 25]}}", {"limit": (25, [-24, 25])}),
        ("{Rotate: {limit: 25}}", "{Rotate: {limit: [-25, 25], crop_border: true}}", {"crop_border": (False, True)}),
        ("{CoarseDropout: {fill: 0}}", "{CoarseDropout: {fill: [0, 0, 1]}}", {"fill": (0, [0, 0, 1])}),
        (  # what replaces two arguments by halves is named with both
            "{ShiftScaleRotate: {shift_limit_x: [-0.02, 0.02]}}",
            "{ShiftScaleRotate: {shift_limit: 0.02}}",
            {"shift_limit": ([-0.0625, 0.0625], 0.02), "shift_limit_x": ([-0.02, 0.02], None)},
        ),
        ("{OneOf: {steps: [Blur]}}", "{OneOf: {p: 0.5, steps: [Blur]}}", {"p": (1, 0.5)}),
        ("{SomeOf: {steps: [Blur]}}", "{SomeOf: {replace: true, steps: [Blur]}}", {"replace": (False, True)}),
    ],
)
def test_arguments_that_differ(a: str, b: str, changes: dict[str, Any]) -> None:
    ((what, _, differing, draws),) = found(image(f"[{a}]"), image(f"[{b}]"))
    assert (what, differing, draws) == ("changed", changes, "kept")


GROUP = "{OneOf: {steps: [Blur, Sharpen]}}"
GAMMA = "{RandomGamma: {gamma_limit: [80, 120]}}"


TWO_GAMMAS = f"{{RandomGamma: {{gamma_limit: [95, 105]}}}}, {GAMMA}"
MOVED_IN = (
    "added Sequential#1; moved Blur#1 → Sequential#1/Blur#1 changed; "
    "moved HorizontalFlip#1 → Sequential#1/HorizontalFlip#1 changed"
)


@pytest.mark.parametrize(
    ("a", "b", "differences"),
    [
        ("HorizontalFlip, Blur, NoOp", "HorizontalFlip, NoOp, Sharpen", "removed Blur#1; added Sharpen#1"),
        ("Blur, VerticalFlip, D4", "VerticalFlip, D4, {Blur: {p: 1}}", "moved Blur#1 p=0.5→1 kept"),
        ("Blur, HorizontalFlip", "{Sequential: {steps: [Blur, HorizontalFlip]}}", MOVED_IN),
        ("{Blur: {id: it}}", "{Sequential: {steps: [{Blur: {id: it}}]}}", "added Sequential#1; moved it kept"),
        (f"{GROUP}, D4, VerticalFlip", f"D4, VerticalFlip, {GROUP}", "moved OneOf#1 kept"),  # with its steps
        (
            "{OneOf: {steps: [{Blur: {p: 1}}, {Sharpen: {p: 0.5}}]}}",
            "{OneOf: {steps: [{Blur: {p: 0.5}}, {Sharpen: {p: 0.5}}]}}",
            "changed OneOf#1/Blur#1 p=1→0.5 kept",
        ),
        (GAMMA, TWO_GAMMAS, "added RandomGamma#1; changed RandomGamma#1 → RandomGamma#2 changed"),  # whose draws shift
    ],
)
def test_steps_that_differ(a: str, b: str, differences: str) -> None:
    steps = [
        " ".join([what, site, *(f"{key}={x}→{y}" for key, (x, y) in changes.items()), *([draws] if draws else [])])
        for what, site, changes, draws in found(image(f"[{a}]"), image(f"[{b}]"))
    ]
    assert "; ".join(steps) == differences


def test_where_steps_stand_and_what_they_are() -> None:
    gone, come = diff(image("[HorizontalFlip, Blur, NoOp]"), image("[HorizontalFlip, NoOp, Sharpen]")).steps
    assert gone.a is not None and (gone.a.place, gone.b) == ((2,), None)
    assert come.b is not None and come.b.arguments["alpha"] == [0.2, 0.5] and come.b.arguments["p"] == 0.5


@pytest.mark.parametrize("more", ["", ", interpolation: cubic, border_mode: reflect_101"])
def test_equivalent_arguments_are_a_remark(more: str) -> None:
    one, other = (image(f"[{{Rotate: {{limit: {limit}{more}}}}}]") for limit in ("25", "[-25, 25]"))
    assert "Rotate#1, the same in effect: limit: 25 → [-25, 25]" in diff(one, other).remarks


@pytest.mark.usefixtures("own_classes")
def test_true_is_not_one() -> None:
    import albumentations as A

    class Anything(A.ImageOnlyTransform):
        def __init__(self, value: Any = None, p: float = 0.5) -> None:
            super().__init__(p=p)
            self.value = value

        def apply(self, img: Any, **params: Any) -> Any:
            return img

    ar.register(Anything)
    one, true = image("[{Anything: {value: 1}}]"), image("[{Anything: {value: true}}]")
    assert not diff(one, true).same
    # Of a class of one's own nothing is known: it may draw.
    ((_, _, _, draws),) = found(one, image("[{Anything: {value: 1, p: 1.0, id: mine}}]"))
    assert draws == "changed"


def test_sections_are_compared_one_by_one() -> None:
    a = image("[HorizontalFlip]", eval="[{CenterCrop: {height: 8, width: 8}}]")
    b = image("[VerticalFlip]", eval="[{CenterCrop: {height: 8, width: 8}}]")
    assert diff(a, b, ["eval"]).same
    assert {one.mode for one in diff(a, b).steps} == {"train"}
    c = image("[HorizontalFlip]")
    assert diff(a, c, ["train"]).same
    assert diff(a, c).settings == (Change("eval", "there", None),)
    assert diff(c, image("[HorizontalFlip]", eval="[]")).settings == (Change("eval", None, "there"),)


def test_targets_and_grids_of_pairs_as_they_take_effect() -> None:
    a = pair("[{RandomCrop: {height: 8, width: 8}}, {GaussNoise: {target: [lr, hr]}}]")
    assert diff(a, pair("[{RandomCrop: {height: 8, width: 8, at: lr}}, GaussNoise]", "{hr: 4, lr: 1}")).same
    b = pair("[{RandomCrop: {height: 32, width: 32, at: hr}}, {GaussNoise: {target: lr}}]")
    crop, noise = diff(a, b).steps
    assert {change.key for change in crop.changes} == {"height", "width", "at"}
    assert noise.changes == (Change("target", ["hr", "lr"], ["lr"]),)
    # A step inherits the targets of its group.
    a = pair("[{Sequential: {target: lr, steps: [GaussNoise]}}]")
    assert diff(a, pair("[{Sequential: {target: lr, steps: [{GaussNoise: {target: [lr]}}]}}]")).same
    steps = "[{Degrade: {source: hr, target: lr, steps: [{GaussianBlur: {p: %s}}, {ResizeToTarget: {}}]}}]"
    assert found(pair(steps % 1), pair(steps % 0.5)) == [
        ("changed", "Degrade#1/GaussianBlur#1", {"p": (1, 0.5)}, "kept")
    ]


def test_shares_and_tiles_of_bags() -> None:
    assert found(bag("[Blur]"), bag("[{Blur: {share: bag}}]")) == [
        ("changed", "Blur#1", {"share": ("tile", "bag")}, "changed")  # another share is another draw
    ]
    a = bag("[{Sequential: {share: bag, steps: [{Blur: {share: bag}}, Sharpen]}}]")
    assert diff(a, bag("[{Sequential: {share: bag, steps: [Blur, Sharpen]}}]")).same
    assert diff(bag("[Blur]"), bag("[{Blur: {share: tile}}]")).same
    assert diff(bag("[Blur]"), bag("[Blur]", bag="{min_tiles: 1, pick: random}")).same
    assert diff(bag("[Blur]"), bag("[Blur]", bag="{max_tiles: 9}")).settings == (Change("bag.max_tiles", None, 9),)


def test_long_lists_are_compared_by_their_sites() -> None:
    a = image(f"[{', '.join(['HorizontalFlip', 'Blur'] * 400)}]")
    b = image(f"[NoOp, {', '.join(['{HorizontalFlip: {p: 0.4}}', 'Blur'] * 400)}, NoOp]")
    result = diff(a, b)
    assert sum(one.what == "changed" for one in result.steps) == 400
    assert sum(one.what == "added" for one in result.steps) == 2
    assert result.alike == 400


def test_json_is_plain() -> None:
    result = diff(image("[Blur, {Rotate: {limit: [1, 2]}}]"), image("[Sharpen, Rotate]", output="{layout: hwc}"))
    again = json.loads(json.dumps(result.to_json()))
    assert again == result.to_json()
    assert list(again) == ["same", "a", "b", "modes", "settings", "steps", "alike", "remarks"]
    assert again["settings"] == [{"key": "output.layout", "a": "chw", "b": "hwc"}]
    assert {tuple(one) for one in again["steps"]} == {("mode", "what", "a", "b", "changes", "draws")}
