"""Every kind of mistake: its code, its line and column, and words that help."""

import pytest

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.recipe.codes import CODES
from augrecipes.recipe.parse import parse_file, parse_text

HEAD = "version: 1\nrecipe: bad\n"
PAIR = HEAD + "kind: pair\nscales: {lr: 1, hr: 4}\n"
BAG = HEAD + "kind: bag\n"
VIEWS = HEAD + "kind: views\n"


def problems_of(text: str | bytes) -> tuple[Diagnostic, ...]:
    with pytest.raises(RecipeError) as raised:
        parse_text(text)
    return raised.value.problems


def one(step: str, head: str = HEAD) -> str:
    """A recipe with one step, which stands in line 4 (line 6 of a pair, line 5 of a bag), column 3."""
    return f"{head}steps:\n- {step}\n"


# Text, code, line, column, and a part of the message.
STEPS = [
    ("RandomCrop: {height: 8, width: 8, sise: 3}", "E304", 4, 37, "unknown argument 'sise'"),
    ("RandomResizedCrop: {sise: [8, 8]}", "E304", 4, 23, "did you mean 'size'?"),
    ("RandomResizedCrop: {height: 8, width: 8}", "E304", 4, 23, "write `size: [8, 8]`"),
    ("RandomCrop: {height: 8}", "E305", 4, 3, "'width' is required"),
    ("LetterBox: {new_shape: [640, 640]}", "E302", 4, 3, "`LongestMaxSize: {max_size: 640}` and `PadIfNeeded: {min_"),
    ("letterbox", "E302", 4, 3, "the gallery's recipe letterbox"),
    ("RandomCrop", "E305", 4, 3, "'height' is required"),
    ("RandomCrop: {height: 8, width: 0}", "E307", 4, 34, "at least 1, got 0"),
    ("RandomCrop: {height: 8.5, width: 8}", "E306", 4, 24, "a whole number, got 8.5"),
    ("RandomCrop: {height: '8', width: 8}", "E306", 4, 24, "without quotes"),
    ("RandomCrop: {height: true, width: 8}", "E306", 4, 24, "a whole number, got true"),
    ("RandomCrop: {height: 1_000, width: 8}", "E306", 4, 24, "without underscores"),
    ("ColorJitter: {brightness: high}", "E306", 4, 29, "must be a number or a pair of numbers, got text 'high'"),
    ("ColorJitter: {brightness: [0.1]}", "E306", 4, 29, "a pair of numbers, got a list of 1"),
    ("ColorJitter: {brightness: [0.8, yes]}", "E306", 4, 35, "must be a number, got text 'yes'"),
    ("ColorJitter: {hue: [0.2, 0.1]}", "E308", 4, 22, "may not exceed the second"),
    ("ColorJitter: {hue: 0.9}", "E308", 4, 22, "at most 0.5"),
    (
        "RandomResizedCrop: {size: [8, 8], scale: [0.5, 1.5]}",
        "E307",
        4,
        50,
        "got 1.5; it is the crop's share of the area; to zoom in and out use Affine",
    ),
    ("RandomResizedCrop: {size: [8, 8], scale: [1.0, 0.5]}", "E307", 4, 44, "may not exceed the second"),
    ("Rotate: {limit: 5, interpolation: lnear}", "E307", 4, 37, "did you mean 'linear'?"),
    ("Rotate: {limit: 5, border_mode: 9}", "E307", 4, 35, "one of reflect_101"),
    ("Rotate: {limit: 5, crop_border: no}", "E306", 4, 35, "write false"),
    ("Rotate: {degrees: 5}", "E304", 4, 12, "did you mean limit?"),
    ("Rotate: {limit: 5, value: 3}", "E304", 4, 22, "write `fill: 3`"),
    ("Rotate: {limit: 5, always_apply: true}", "E304", 4, 22, "for true write `p: 1.0`"),
    ("Downscale: {interpolation_pair: {downscale: area}}", "E305", 4, 35, "'upscale' is missing"),
    ("Blur: {blur_limit: 4}", "E308", 4, 22, "odd"),
    ("Affine: {translate_px: 3, translate_percent: 0.1}", "E308", 4, 26, "not both"),
    ("Affine: {scale: {z: 2}}", "E308", 4, 19, "keys x and y"),
    ("Equalize: {mask: x}", "E304", 4, 14, "leave it out"),
    ("PlasmaShadow: {plasma_size: 3}", "E304", 4, 18, "unknown argument"),
    ("HorizontalFlip: {p: no}", "E309", 4, 23, "must be a number, got text 'no'"),
    ("HorizontalFlip: {p: 1.5}", "E309", 4, 23, "between 0 and 1"),
    ("HorizontalFlip: {p: true}", "E309", 4, 23, "must be a number, got true"),
    ("HorizontalFlip: {p: null}", "E309", 4, 23, "must be a number, got nothing"),
    ("HorizontalFlip: {id: 3}", "E311", 4, 24, "starts with a letter"),
    ("HorizontalFlip: {id: Rotate}", "E311", 4, 24, "name of a class"),
    ("HorizontalFlip: {target: lr}", "E207", 4, 20, "kind pair"),
    ("HorizontalFlip: {at: lr}", "E207", 4, 20, "kind pair"),
    ("HorizontalFlip: {share: bag}", "E207", 4, 20, "kind bag"),
    ("HorizontalFlip: 3", "E301", 4, 19, "arguments are given by name"),
    ("HorizontalFlip: [0.5]", "E301", 4, 19, "arguments are given by name"),
    ("3", "E301", 4, 3, "a step is a name"),
    ("[HorizontalFlip]", "E301", 4, 3, "a step is a name"),
    ("{}", "E301", 4, 3, "a step is a name"),
    ("{HorizontalFlip: {}, VerticalFlip: {}}", "E301", 4, 4, "one key"),
    ("RandomCrop:\n  height: 8\n  width: 8", "E301", 4, 3, "indent its arguments (height, width)"),
    ("RandomRotation", "E302", 4, 3, "did you mean Rotate?"),
    ("horizontal_flip", "E302", 4, 3, "did you mean 'HorizontalFlip'?"),
    ("HorizntalFlip: {p: 1}", "E302", 4, 3, "did you mean 'HorizontalFlip'?"),
    ("albumentations.Rotate", "E302", 4, 3, "write 'Rotate'"),
    ("os.system: {command: ls}", "E302", 4, 3, "never dotted paths"),
    ("Lambda", "E303", 4, 3, "augrecipes.register(cls)"),
    ("Normalize", "E303", 4, 3, "output"),
    ("ToTensorV2", "E303", 4, 3, "output"),
    ("FDA", "E303", 4, 3, "other images"),
    ("RandomCrop3D", "E303", 4, 3, "use RandomCrop"),
    ("OneOf", "E310", 4, 3, "needs steps"),
    ("OneOf: {p: 0.5}", "E310", 4, 3, "needs steps"),
    ("OneOf: {steps: []}", "E310", 4, 18, "has no steps"),
    ("OneOf: {steps: HorizontalFlip}", "E204", 4, 18, "a list of steps"),
    ("OneOf: {steps: [HorizontalFlip: {p: 0}, Blur: {p: 0}]}", "E310", 4, 3, "none can be drawn"),
    ("OneOf: {n: 2, steps: [Blur]}", "E304", 4, 11, "unknown argument 'n'"),
    ("SomeOf: {n: 3, steps: [Blur, VerticalFlip]}", "E310", 4, 15, "cannot draw 3 of 2"),
    ("SomeOf: {n: 0, steps: [Blur]}", "E310", 4, 15, "at least 1"),
    ("SomeOf: {n: two, steps: [Blur]}", "E310", 4, 15, "a whole number"),
    ("SomeOf: {n: 1, replace: no, steps: [Blur]}", "E310", 4, 27, "write false"),
    ("RandomOrder: {n: 3, steps: [Blur]}", "E310", 4, 20, "cannot draw 3 of 1"),
    ("Sequential: {steps: [Blr]}", "E302", 4, 24, "did you mean 'Blur'?"),
    ("Degrade: {source: hr, target: lr, steps: [Blur]}", "E207", 4, 3, "kind pair"),
    ("ResizeToTarget", "E312", 4, 3, "inside Degrade"),
]


@pytest.mark.parametrize(("step", "code", "line", "col", "words"), STEPS, ids=[step[:50] for step, *_ in STEPS])
def test_a_wrong_step(step: str, code: str, line: int, col: int, words: str) -> None:
    found = problems_of(one(step))
    assert any((p.code, p.line, p.col) == (code, line, col) and words in p.message for p in found), found


TOP = [
    ("recipe: a\nsteps: []", "E203", 1, 1, "'version' is missing"),
    ("version: 2\nrecipe: a\nsteps: []", "E205", 1, 10, "must be 1"),
    ("version: '1'\nrecipe: a\nsteps: []", "E205", 1, 10, "must be 1"),
    ("version: true\nrecipe: a\nsteps: []", "E205", 1, 10, "must be 1"),
    ("version: 1\nsteps: []", "E203", 1, 1, "'recipe' is missing"),
    ("version: 1\nrecipe: a", "E203", 1, 1, "'steps' is missing"),
    ("version: 1\nrecipe: My Recipe\nsteps: []", "E204", 2, 9, "such as 'my-recipe'"),
    ("version: 1\nrecipe: null\nsteps: []", "E204", 2, 9, "got nothing"),
    ("version: 1\nrecipe: true\nsteps: []", "E204", 2, 9, "got true"),
    (HEAD + "steps:", "E204", 3, 7, "`steps: []`"),
    (HEAD + "steps: HorizontalFlip", "E204", 3, 8, "a list of steps"),
    (HEAD + "steps: []\neval: 3", "E204", 4, 7, "a list of steps"),
    (HEAD + "transforms: []", "E202", 3, 1, "did you mean steps?"),
    (HEAD + "steps: []\nseed: 3", "E202", 4, 1, "compile(seed=...)"),
    (HEAD + "steps: []\noptimise: fast", "E202", 4, 1, "did you mean optimize?"),
    (HEAD + "steps: []\nkind: images", "E204", 4, 7, "did you mean 'image'?"),
    (HEAD + "steps: []\noptimize: max", "E204", 4, 11, "none, exact, fast"),
    (HEAD + "steps: []\nabout: 3", "E204", 4, 8, "text"),
    (HEAD + "steps: []\nscales: {lr: 1, hr: 2}", "E207", 4, 1, "kind pair"),
    (HEAD + "steps: []\nbag: {max_tiles: 3}", "E207", 4, 1, "kind bag"),
    (HEAD + "steps: []\nallow_resampling: true", "E207", 4, 1, "kind pair"),
    (HEAD + "steps: []\noutput: {dtype: float64}", "E401", 4, 17, "did you mean 'float32'?"),
    (HEAD + "steps: []\noutput: float32", "E401", 4, 9, "must be a mapping"),
    (HEAD + "steps: []\noutput: {layuot: chw}", "E401", 4, 10, "did you mean 'layout'?"),
    (HEAD + "steps: []\noutput: {normalize: imgenet}", "E401", 4, 21, "did you mean 'imagenet'?"),
    (HEAD + "steps: []\noutput: {normalize: {mean: 0.5}}", "E401", 4, 21, "'std' is missing"),
    (HEAD + "steps: []\noutput: {normalize: {mean: 0.5, std: 0}}", "E401", 4, 38, "greater than 0"),
    (HEAD + "steps: []\noutput: {normalize: {mean: [1, 2], std: [1, 2, 3]}}", "E401", 4, 41, "std has 3"),
    (HEAD + "steps: []\noutput: {normalize: {mean: [124, 116, 104], std: [58, 57, 57]}}", "E401", 4, 29, "by 255"),
    (HEAD + "steps: []\noutput: {range: [0, 2]}", "E401", 4, 17, "[-1, 1]"),
    (HEAD + "steps: []\noutput: {range: [0, 1], normalize: imagenet}", "E401", 4, 10, "leave one of them out"),
    (HEAD + "steps: []\noutput: {dtype: uint8, normalize: imagenet}", "E401", 4, 24, "uint8 cannot hold"),
    (
        HEAD + "steps: []\noutput: {dtype: uint8, where: device, normalize: imagenet}",
        "E401",
        4,
        39,
        "where: device alone",
    ),
    (HEAD + "steps: []\noutput: {dtype: uint8, range: [0, 1]}", "E401", 4, 24, "uint8 has the range [0, 255]"),
    (HEAD + 'steps: [{"": {p: 0.5}}]', "E301", 3, 10, "the name of the step is empty"),
    (one("RandomCrop: {width: 9, height: " + "9" * 30 + "}"), "E115", 4, 34, "64 bits"),
    (HEAD + "steps: []\noutput: {color: gray, normalize: imagenet}", "E401", 4, 23, "one channel, normalize has 3"),
    (HEAD + "steps: []\noutput: {normalize: imagenet, color: y}", "E401", 4, 10, "one channel, normalize has 3"),
    (HEAD + "steps: []\ninputs: {image: {channels: 0}}", "E402", 4, 28, "at least 1"),
    (HEAD + "steps: []\ninputs: {mask: maybe}", "E402", 4, 16, "absent, optional, required"),
    (HEAD + "steps: []\ninputs: {boxes: {format: coco2}}", "E402", 4, 26, "did you mean 'coco'?"),
    (HEAD + "steps: []\ninputs: {boxes: {min_visibility: 2}}", "E402", 4, 34, "between 0 and 1"),
    (HEAD + "steps: []\ninputs: {labels: x}", "E402", 4, 10, "unknown key 'labels'"),
    (HEAD + "steps: []\ninputs: {keypoints: {format: xyw}}", "E402", 4, 30, "xy"),
    (HEAD + "kind: pair\nsteps: []", "E403", 3, 1, "needs scales"),
    (HEAD + "kind: pair\nscales: {lr: 1}\nsteps: []", "E403", 4, 9, "two targets"),
    (HEAD + "kind: pair\nscales: {lr: 1, mask: 2}\nsteps: []", "E403", 4, 17, "choose another name"),
    (HEAD + "kind: pair\nscales: {lr: 1, hr: 0}\nsteps: []", "E403", 4, 21, "between 1 and"),
    (HEAD + "kind: pair\nscales: {lr: 1, hr: 2.5}\nsteps: []", "E403", 4, 21, "whole number"),
    (BAG + "steps: []\nbag: {max_tiles: 0}", "E404", 5, 18, "at least 1"),
    (BAG + "steps: []\nbag: {max_tiles: 2, min_tiles: 3}", "E404", 5, 21, "may not exceed"),
    (BAG + "steps: []\nbag: {pick: best}", "E404", 5, 13, "random, first, stride"),
    (HEAD + "steps: []\neval: []\ntta: {views: d8}", "E405", 5, 14, "did you mean 'd4'?"),
    (HEAD + "steps: []\neval: []\ntta: {tile: {size: 0}}", "E405", 5, 20, "at least 1"),
    (HEAD + "steps: []\neval: []\ntta: {tile: {overlap: 0.5}}", "E405", 5, 13, "size"),
    (HEAD + "steps: []\neval: []\ntta: {tile: {size: 9, overlap: 1}}", "E405", 5, 32, "between 0 and 0.9"),
    (HEAD + "steps: []\ntta: {views: d4}", "E406", 4, 1, "add `eval:`"),
    (BAG + "steps: []\neval: []\ntta: {views: d4}", "E207", 6, 1, "image or pair"),
    (HEAD + "steps: []\ntta: {}\neval: [{ElasticTransform: {p: 1}}]", "E406", 5, 9, "draws where pixels go"),
    (HEAD + "steps: []\ntta: {}\neval: [{HorizontalFlip: {p: 0.5}}]", "E406", 5, 9, "in some samples only"),
    (HEAD + "steps: []\ntta: {}\neval: [{OneOf: {steps: [Transpose, Blur]}}]", "E406", 5, 9, "leaves to chance"),
    (VIEWS, "E203", 1, 1, "such as {global: {count: 2, steps: []}}"),
    (VIEWS + "views: {a: {steps: []}}\nsteps: []", "E207", 5, 1, "those before all of them in `shared:`"),
    (VIEWS + "views: []", "E407", 4, 8, "must be a mapping such as"),
    (VIEWS + "views: {}", "E407", 4, 8, "must be a mapping such as"),
    (VIEWS + "views: {a-b: {steps: []}}", "E407", 4, 9, "letters, digits and _"),
    (VIEWS + "views: {mask: {steps: []}}", "E407", 4, 9, "means nothing else in a sample"),
    (VIEWS + "views: {a: {steps: []}, a_mask: {steps: []}}", "E407", 4, 25, "whose masks and boxes are called a_mask"),
    (VIEWS + "views: {a: 2}", "E407", 4, 12, "must be a mapping with steps"),
    (VIEWS + "views: {a: {count: 2}}", "E407", 4, 9, "`steps: []` leaves the image as it is"),
    (VIEWS + "views: {a: {count: 0, steps: []}}", "E407", 4, 20, "between 1 and 256"),
    (VIEWS + "views: {a: {cuont: 2, steps: []}}", "E407", 4, 13, "did you mean 'count'?"),
    (VIEWS + "views: {a: {of: b, steps: []}, b: {steps: []}}", "E407", 4, 17, "no view 'b' stands before it"),
    (VIEWS + "views: {a: {steps: []}, b: {of: a, count: 3, steps: []}}", "E407", 4, 43, "there are 1 of 'a'"),
    (VIEWS + "views: {a: {steps: [Bluer]}}", "E302", 4, 21, "did you mean 'Blur'?"),
    (VIEWS + "views: {a: {steps: [ElasticTransform]}}\ncorrespondence: true", "E407", 4, 21, "no 3×3 matrix"),
    (VIEWS + "correspondence: 3\nviews: {a: {steps: []}}", "E204", 4, 17, "true or false"),
    (HEAD + "steps: []\nviews: {a: {steps: []}}", "E207", 4, 1, "belongs to recipes of kind views"),
    (HEAD + "steps: []\ncorrespondence: true", "E207", 4, 1, "belongs to recipes of kind views"),
    (one("HorizontalFlip: {share: slide}", BAG), "E309", 5, 27, "tile, bag"),
    (one("RandomCrop: {height: 50, width: 48, at: hr}", PAIR), "E313", 6, 16, "multiple of 4, such as 48 or 52"),
    (one("RandomCrop: {height: 48, width: 50, at: hr}", PAIR), "E313", 6, 28, "multiple of 4"),
    (one("Blur: {target: rl}", PAIR), "E314", 6, 18, "did you mean 'lr'?"),
    (one("Blur: {target: [lr, x2]}", PAIR), "E314", 6, 23, "unknown target 'x2'"),
    (one("D4: {at: 3}", PAIR), "E309", 6, 12, "target's name"),
    (one("Degrade: {source: hr, steps: [Blur]}", PAIR), "E312", 6, 3, "'target' is required"),
    (one("Degrade: {source: hr, target: hr, steps: [Blur]}", PAIR), "E312", 6, 33, "the same"),
    (one("Degrade: {source: hr, target: lr, steps: [ResizeToTarget: {method: cubik}]}", PAIR), "E307", 6, 70, "cubic"),
    (one("Degrade: {source: hr, target: lr}", PAIR), "E310", 6, 3, "needs steps"),
    (one("HorizontalFlip: {share: bag}", PAIR), "E207", 6, 20, "kind bag"),
    (HEAD + "steps: [Blur: {id: a}]\neval: [Blur: {id: a}]", "E311", 4, 19, "in line 3"),
]


@pytest.mark.parametrize(("text", "code", "line", "col", "words"), TOP, ids=[text[-45:] for text, *_ in TOP])
def test_a_wrong_key(text: str, code: str, line: int, col: int, words: str) -> None:
    found = problems_of(text)
    assert any((p.code, p.line, p.col) == (code, line, col) and words in p.message for p in found), found


def test_every_problem_is_reported_at_once_and_in_file_order() -> None:
    found = problems_of(HEAD + "steps:\n- Rotte\n- Blur: {blr: 3}\nouptut: 3\n")
    assert [(p.code, p.line) for p in found] == [("E302", 4), ("E304", 5), ("E202", 6)]
    assert str(found[0]).startswith("<recipe>:4:3: E302 Rotte: ")


def test_problems_are_counted_out_at_a_hundred() -> None:
    found = problems_of(HEAD + "steps:\n" + "- Rotte\n" * 5000)
    assert len(found) == 101
    assert found[-1].code == "E116"


def test_every_code_that_the_language_uses_is_documented() -> None:
    used = {code for _, code, *_ in (*STEPS, *TOP)}
    assert used <= set(CODES)
    assert all(entry.title and entry.why and entry.fix for entry in CODES.values())


def test_parse_file_returns_what_parse_text_raises(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "bad.yaml"
    path.write_text(one("Rotte"))
    recipe, problems = parse_file(path)
    assert recipe is None
    assert [str(p) for p in problems] == [f"{path}:4:3: E302 Rotte: unknown step; did you mean 'Rotate'?"]


def test_one_placed_problem_for_a_value_wrong_in_a_union() -> None:
    assert len(problems_of(one("CropAndPad: {px: [1, [2, x], 3, 4]}"))) == 1
