"""Every lint fires on its example and is silent on its good recipe; tables of what else fires and what does not."""

import re
from textwrap import indent

import pytest

from augrecipes.errors import Diagnostic
from augrecipes.lint import lint, lints
from augrecipes.recipe.codes import CODES
from augrecipes.recipe.parse import parse_text

ALL = [pytest.param(record, id=record.code) for record in lints().values()]


def recipe(steps: str, evaluation: str = "eval: derived", **keys: str):
    head = "".join(f"{key}: {value}\n" for key, value in keys.items())
    return parse_text(f"version: 1\nrecipe: t\n{head}steps:\n{indent(steps.strip(), '  ')}\n{evaluation}\n")


def found(*args, **kwargs) -> list[tuple[str, int]]:
    return [(problem.code, problem.line) for problem in lint(recipe(*args, **kwargs))]


def codes(*args, **kwargs) -> list[str]:
    return [code for code, _ in found(*args, **kwargs)]


@pytest.mark.parametrize("record", ALL)
def test_it_fires_on_its_example_alone_and_not_where_that_is_mended_or_silenced(record):
    entry = CODES[record.code]
    assert (entry.title, len(entry.why) > 30, len(entry.fix) > 10) == (record.name, True, True)
    problems = lint(parse_text(entry.example, file="x.yaml"))
    lines = entry.example.splitlines()
    assert {problem.code for problem in problems} == {record.code}
    for problem in problems:
        assert (problem.name, problem.severity, problem.file) == (record.name, record.severity, "x.yaml")
        assert problem.line > 1
        assert problem.col > 1
        assert re.fullmatch(r"[^\n]{10,}", problem.message)
        # The step's own line: where a finding stands at an argument, both share a line in the examples.
        lines[problem.line - 1] += f"  # augrecipes: ignore[{record.code}]"
    assert lint(parse_text("\n".join(lines))) == ()
    assert lint(parse_text(entry.good)) == ()


def test_codes_and_names_are_unique_and_all_documented():
    names = [record.name for record in lints().values()]
    assert len(set(names)) == len(names)
    assert list(lints()) == sorted(lints()) == [code for code in CODES if code.startswith("L")]
    promised = {
        "random-in-eval", "resampled-pair", "never-acts", "unreachable", "resize-after-resized-crop", "border-in-crop",
        "crop-too-large", "statistics-after-crop", "channel-count", "integer-constant", "implicit-weights",
        "missing-eval", "equal-steps",
    }  # fmt: skip
    assert promised <= set(names)


def test_findings_come_in_file_order():
    problems = lint(recipe("- Rotate: {limit: 25, border_mode: 4}\n- VerticalFlip: {p: 0}\n- Affine", evaluation=""))
    assert [p.line for p in problems] == sorted(p.line for p in problems)
    assert {p.code for p in problems} == {"L501", "L102", "L103"}
    assert all(isinstance(p, Diagnostic) for p in problems)


CASES = {
    "seed recipe": ("- HorizontalFlip\n- VerticalFlip", []),
    "zero p in a group": (
        "- OneOf:\n    steps:\n      - HorizontalFlip: {p: 0}\n      - VerticalFlip: {p: 1}",
        ["L103"],
    ),
    "identity by default": ("- Affine", ["L103"]),
    "identity written out": ("- Affine: {scale: {x: 1, y: 1}, rotate: 0}", ["L103"]),
    "one axis moves": ("- Affine: {scale: {x: [0.9, 1.1], y: 1}}", []),
    "zero jitter": ("- ColorJitter: {brightness: 0, contrast: 0, saturation: 0, hue: 0}", ["L103"]),
    "neutral gamma": ("- RandomGamma: {gamma_limit: [100, 100]}", ["L103"]),
    "shift alone acts": ("- ShiftScaleRotate: {shift_limit: 0.1, scale_limit: 0, rotate_limit: 0}", []),
    "pad by nothing": ("- Pad", ["L103"]),
    "grey twice": ("- ToGray: {p: 1}\n- ToGray: {p: 1}", ["L104"]),
    "grey perhaps": ("- ToGray: {p: 0.2, id: a}\n- ToGray: {p: 0.2, id: b}", []),
    "crop of the same size": ("- Resize: {height: 64, width: 64}\n- RandomCrop: {height: 64, width: 64}", ["L104"]),
    "crop of a smaller size": ("- Resize: {height: 64, width: 64}\n- RandomCrop: {height: 48, width: 48}", []),
    "padded enough": (
        "- Resize: {height: 64, width: 64}\n- PadIfNeeded: {min_height: 32, min_width: 32}",
        ["L104"],
    ),
    "flip between": (
        "- RandomResizedCrop: {size: [64, 64]}\n- HorizontalFlip\n- Resize: {height: 32, width: 32}",
        ["L201"],
    ),
    "step between": (
        "- RandomResizedCrop: {size: [64, 64]}\n- GaussNoise: {p: 1}\n- Resize: {height: 32, width: 32}",
        [],
    ),
    "rotate, then crop": ("- Rotate: {limit: 9}\n- RandomResizedCrop: {size: [64, 64]}", ["L202"]),
    "crop, then rotate": ("- RandomResizedCrop: {size: [64, 64]}\n- Rotate: {limit: 9}", []),
    "border cut off": ("- Rotate: {limit: 9, crop_border: true}\n- RandomResizedCrop: {size: [64, 64]}", []),
    "turn in a group": (
        "- OneOf:\n    steps:\n      - SafeRotate: {p: 1}\n      - Perspective: {p: 1}\n"
        "- RandomCrop: {height: 9, width: 9}",
        ["L202", "L202"],
    ),
    "scale only": ("- Affine: {translate_px: 3}\n- RandomCrop: {height: 9, width: 9}", []),
    "middle after a turn": (
        "- Resize: {height: 100, width: 100}\n- Rotate: {limit: 45, p: 1}\n- CenterCrop: {height: 70, width: 70}",
        [],
    ),
    "too much of the middle": (
        "- Resize: {height: 100, width: 100}\n- Rotate: {limit: 45, p: 1}\n- CenterCrop: {height: 72, width: 72}",
        ["L202"],
    ),
    "crop of a resize": ("- Resize: {height: 64, width: 64}\n- RandomCrop: {height: 65, width: 9}", ["L203"]),
    "crop after the shorter side": ("- SmallestMaxSize: {max_size: 64}\n- RandomCrop: {height: 64, width: 64}", []),
    "crop over the shorter side": (
        "- SmallestMaxSize: {max_size: 64}\n- RandomCrop: {height: 64, width: 65}",
        ["L203"],
    ),
    "crop after the longer side": ("- LongestMaxSize: {max_size: 64}\n- RandomCrop: {height: 65, width: 9}", ["L203"]),
    "crop after padding": (
        "- PadIfNeeded: {min_height: 64, min_width: 64}\n- RandomCrop: {height: 64, width: 64}",
        [],
    ),
    "nothing declared": ("- RandomCrop: {height: 4096, width: 4096}", []),
    "crop perhaps": ("- RandomCrop: {height: 64, width: 64, p: 0.5}", ["L205"]),
    "crop perhaps, resized": ("- RandomCrop: {height: 64, width: 64, p: 0.5}\n- Resize: {height: 9, width: 9}", []),
    "turns of a square": ("- Resize: {height: 64, width: 64}\n- D4\n- Transpose", []),
    "sizes to choose from": (
        "- OneOf:\n    steps:\n      - Resize: {height: 9, width: 9}\n      - Resize: {height: 8, width: 8}",
        [],
    ),
    "jitter before the crop": ("- CLAHE\n- RandomCrop: {height: 64, width: 64}", []),
    "equalise after the crop": ("- RandomCrop: {height: 64, width: 64}\n- Equalize", ["L301"]),
    "jitter without contrast": (
        "- RandomCrop: {height: 64, width: 64}\n- ColorJitter: {brightness: 0.1, contrast: 0, saturation: 0, hue: 0}",
        [],
    ),
    "brightness by the mean": (
        "- RandomCrop: {height: 9, width: 9}\n- RandomBrightnessContrast: {brightness_by_max: false}",
        ["L301"],
    ),
    "fixed stains": ("- RandomCrop: {height: 9, width: 9}\n- HEStain: {method: random_preset}", []),
    "both constants": ("- Resize: {height: 9, width: 9, interpolation: 2, mask_interpolation: 0}", ["L501", "L501"]),
    "pair of constants": ("- Downscale: {interpolation_pair: {upscale: 0, downscale: linear}}", ["L501"]),
    "equal implicit weights": ("- OneOf:\n    steps: [GaussianBlur, ISONoise]", []),
    "one weight written": ("- OneOf:\n    steps:\n      - GaussianBlur: {p: 0.9}\n      - ISONoise", ["L502"]),
    "equal flips": ("- HorizontalFlip\n- VerticalFlip\n- HorizontalFlip", ["L503"]),
    "equal flips with ids": ("- HorizontalFlip: {id: a}\n- HorizontalFlip: {id: b}", []),
    "one of two named": ("- HorizontalFlip: {id: a}\n- HorizontalFlip", []),
    "equal steps without draws": ("- Resize: {height: 9, width: 9}\n- Blur\n- Resize: {height: 8, width: 8}", []),
    "mask as usual": ("- Resize: {height: 9, width: 9, mask_interpolation: nearest_exact}", []),
}


@pytest.mark.parametrize(("steps", "expected"), CASES.values(), ids=CASES.keys())
def test_what_fires(steps, expected):
    assert codes(steps) == expected


EVAL = {
    "center crop": ("- CenterCrop: {height: 9, width: 9}", []),
    "resize and pad": ("- LongestMaxSize: {max_size: 9}\n- PadIfNeeded: {min_height: 9, min_width: 9}", []),
    "flip by chance": ("- HorizontalFlip", ["L101"]),
    "flip always": ("- HorizontalFlip: {p: 1.0}", []),
    "crop": ("- RandomResizedCrop: {size: [9, 9]}", ["L101"]),
    "one blur": ("- GaussianBlur: {sigma_limit: [1, 1], blur_limit: 0, p: 1}", []),
    "some blur": ("- GaussianBlur: {sigma_limit: 1, p: 1}", ["L101"]),
    "one angle": ("- Rotate: {limit: [90, 90], p: 1}", []),
    "any angle": ("- Rotate: {limit: 90, p: 1}", ["L101"]),
    "one quality": ("- ImageCompression: {quality_range: [50, 50], p: 1}", []),
    "clip limit is a range": ("- CLAHE: {clip_limit: 4, p: 1}", ["L101"]),
    "one clip limit": ("- CLAHE: {clip_limit: [4, 4], p: 1}", []),
    "choice": (
        "- OneOf:\n    steps:\n      - Resize: {height: 9, width: 9}\n      - CenterCrop: {height: 9, width: 9}",
        ["L101"],
    ),
    "no choice": ("- OneOf:\n    steps:\n      - ToGray: {p: 0.4}", []),
    "sequence": ("- Sequential:\n    steps:\n      - ToGray: {p: 1}\n      - HorizontalFlip: {p: 0.5}", ["L101"]),
    "all of some": ("- SomeOf:\n    n: 2\n    steps:\n      - ToGray: {p: 1}\n      - HorizontalFlip: {p: 1}", []),
    "order": ("- RandomOrder:\n    steps:\n      - ToGray: {p: 1}\n      - HorizontalFlip: {p: 1}", ["L101"]),
    "silenced": ("- D4  # augrecipes: ignore[L101]", []),
}


@pytest.mark.parametrize(("steps", "expected"), EVAL.values(), ids=EVAL.keys())
def test_eval_is_fixed(steps, expected):
    told = codes("- Blur", f"eval:\n{indent(steps, '  ')}")
    assert [code for code in told if not code.startswith("L7")] == expected  # of drift test_lint_evaluation.py speaks


def test_declared_size():
    keys = {"inputs": "{image: {min_size: [64, 96]}}"}
    assert codes("- RandomCrop: {height: 64, width: 96}", **keys) == []
    assert codes("- RandomCrop: {height: 64, width: 97}", **keys) == ["L203"]
    assert codes("- Transpose\n- RandomCrop: {height: 65, width: 9}", **keys) == ["L203"]
    assert codes("- RandomScale: {scale_limit: -0.5, p: 1}\n- RandomCrop: {height: 33, width: 9}", **keys) == ["L203"]


@pytest.mark.parametrize(("channels", "expected"), [(1, ["L302"]), (3, []), (4, ["L302"]), (5, ["L302"])])
def test_declared_channels(channels, expected):
    assert codes("- ISONoise", inputs=f"{{image: {{channels: {channels}}}}}") == expected


def test_grey_can_be_made_rgb():
    assert codes("- ToRGB\n- ISONoise", inputs="{image: {channels: 1}}") == []
    assert codes("- ChannelDropout", inputs="{image: {channels: 7}}") == []


def test_without_mask_blending_is_no_matter():
    steps = "- Resize: {height: 9, width: 9, mask_interpolation: cubic}"
    assert codes(steps) == ["L602"]
    assert codes(steps, inputs="{mask: absent}") == []


def test_targets_that_are_absent():
    assert codes("- MaskDropout", inputs="{mask: absent}") == ["L601"]
    assert codes("- MaskDropout") == []
    assert codes("- BBoxSafeRandomCrop", inputs="{boxes: coco}") == []
