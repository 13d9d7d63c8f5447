"""Every lint fires on its example and is silent on its good recipe; test_lints.yaml has what else fires or does not."""

import re
from textwrap import indent

import numpy as np
import pytest
from support.checks import rows, table
from support.lint_examples import example, mended

from augrecipes.errors import Diagnostic
from augrecipes.lint import lint, lints
from augrecipes.lint.meaning import mask_hint
from augrecipes.ops import registry
from augrecipes.ops.intervals import interval
from augrecipes.ops.ranges import is_neutral, makes_draws, meaning_of
from augrecipes.ops.records import op_record, record_names
from augrecipes.recipe.codes import CODES
from augrecipes.recipe.model import Arguments, Step
from augrecipes.recipe.parse import parse_text

ALL = [pytest.param(record, id=record.code) for record in lints().values()]
PAIR = "kind: pair\nscales: {lr: 1, hr: 4}\n"


def found(steps: str, evaluation: str = "eval: derived", head: str = "") -> tuple[Diagnostic, ...]:
    head = head and head.strip() + "\n"
    return lint(parse_text(f"version: 1\nrecipe: t\n{head}steps:\n{indent(steps.strip(), '  ')}\n{evaluation}\n"))


def codes_of(*args: str) -> list[str]:
    return [problem.code for problem in found(*args)]


@pytest.mark.parametrize("record", ALL)
def test_it_fires_on_its_example_alone_and_not_where_that_is_mended_or_silenced(record):
    entry = CODES[record.code]
    assert (entry.title, len(entry.why) > 30, len(entry.fix) > 10) == (record.name, True, True)
    problems = lint(parse_text(example(entry), file="x.yaml"))
    lines = example(entry).splitlines()
    assert {problem.code for problem in problems} == {record.code}
    for problem in problems:
        assert (problem.name, problem.severity, problem.file) == (record.name, record.severity, "x.yaml")
        assert problem.line > 1
        assert problem.col > 1
        assert re.fullmatch(r"[^\n]{10,}", problem.message)
        # The step's own line: where a finding stands at an argument, both share a line in the examples.
        lines[problem.line - 1] += f"  # augrecipes: ignore[{record.code}]"
    assert lint(parse_text("\n".join(lines))) == ()
    assert lint(parse_text(mended(entry))) == ()


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
    problems = found("- Rotate: {limit: 25, border_mode: 4}\n- VerticalFlip: {p: 0}\n- Affine", "")
    assert [p.line for p in problems] == sorted(p.line for p in problems)
    assert {p.code for p in problems} == {"L501", "L102", "L103"}
    assert all(isinstance(p, Diagnostic) for p in problems)


@table(__file__, "steps", "steps", "head", "codes")
def test_what_fires(steps, head, codes):
    assert codes_of(steps, "eval: derived", head) == codes


@table(__file__, "eval", "steps", "codes")
def test_eval_is_fixed(steps, codes):
    fired = codes_of("- Blur", f"eval:\n{indent(steps, '  ')}")
    assert [code for code in fired if not code.startswith("L7")] == codes  # of those `drift` speaks


@table(__file__, "pairs", "steps", "evaluation", "head", "codes")
def test_pairs(steps, evaluation, head, codes):
    assert codes_of(steps, f"eval: {evaluation or '[]'}", head if "scales:" in head else PAIR + head) == codes


def test_messages_of_pairs_count_on_the_coarsest_target_and_name_what_can_be_shared():
    (problem,) = found("- RandomCrop: {height: 260, width: 400, at: hr}", "eval: []",
                       PAIR + "inputs: {hr: {min_size: [253, 400]}}")  # fmt: skip
    assert (problem.code, "64 px of lr" in problem.message) == ("L203", True)
    (problem,) = found("- ElasticTransform", "eval: []", PAIR + "allow_resampling: true")
    assert "steps that can: Affine, " in problem.message
    assert "Perspective" not in problem.message


def test_advice_is_told_by_check_alone_and_once(caplog):
    steps = (
        "- RandomCrop: {height: 9, width: 9}\n- ColorJitter: {hue: 0}\n- CLAHE\n- Rotate: {limit: 9, border_mode: 4}"
    )
    (statistics, number) = found(steps)
    assert (statistics.code, statistics.message.split(" depends")[0], number.code) == ("L301", "ColorJitter", "L501")
    (statistics, _) = found(steps.replace("0}", "0}  # augrecipes: ignore[L301]"))
    assert statistics.message.startswith("CLAHE ")
    recipe = parse_text(f"version: 1\nrecipe: t\nsteps:\n{indent(steps, '  ')}\n")
    recipe.compile()
    assert {code for code in CODES if code in caplog.text} == {"L102"}
    assert [one.code for one in lint(recipe, advice=False)] == ["L102"]
    assert {code for code, record in lints().items() if record.advice} == {"L301", "L501", "L503"}


@pytest.mark.parametrize("base", ["ImageOnlyTransform", "DualTransform"])
@pytest.mark.usefixtures("own_classes")
def test_of_own_classes_nothing_is_said_that_is_not_known(base):
    import albumentations as A

    own = type("Own", (type("Between", (getattr(A, base),), {}),), {"apply": lambda self, img, **params: img})
    registry.register(own)
    assert codes_of("- RandomCrop: {height: 9, width: 9}\n- Own") == []
    known = base == "ImageOnlyTransform"  # masks stay as they are, and so do pixels
    assert codes_of("- Resize: {height: 9, width: 9}\n- Own\n- CenterCrop: {height: 12, width: 9}") == ["L203"] * known
    assert codes_of("- Resize: {height: 9, width: 9}\n- Own", "batch: [MixUp]\neval: []") == ([] if known else ["L801"])


CLASSES_AND_IGNORED, BINARY = np.array([[0, 3, 255]]), np.array([[0, 255]])


def test_masks_that_hold_255_tell_what_a_recipe_does_not_say():
    recipe = parse_text("{version: 1, recipe: t, steps: [Rotate, {Pad: {padding: 4}}, Affine: {fill_mask: 255}]}")
    said = mask_hint(recipe, [BINARY, CLASSES_AND_IGNORED])
    assert said == ["masks hold 255, which losses ignore, and get class 0 from Rotate, Pad; write `fill_mask: 255`"]
    assert mask_hint(recipe, [BINARY, BINARY * 2, CLASSES_AND_IGNORED * 2]) == []
    for other in ("inputs: {mask: absent}, steps: [Rotate]", "steps: [HorizontalFlip, {Rotate: {fill_mask: 255}}]"):
        recipe = parse_text(f"{{version: 1, recipe: t, {other}}}")
        assert mask_hint(recipe, [CLASSES_AND_IGNORED]) == []


def drift(steps: str, evaluation: str, head: str = "") -> list[str]:
    """Which differences between training and evaluation are reported."""
    return [code for code in codes_of(f"[{steps}]", f"eval: [{evaluation}]", head) if code.startswith("L7")]


@table(__file__, "clean", "steps", "evaluation", "head")
def test_drift_that_is_left_alone(steps, evaluation, head):
    assert drift(steps, evaluation, head) == []


@table(__file__, "drift", "steps", "evaluation", "codes")
def test_drift_that_is_reported_and_gone_where_evaluation_is_derived(steps, evaluation, codes):
    assert drift(steps, evaluation) == codes
    assert not set(codes_of(f"[{steps}]")) & set(codes)


def test_messages_of_drift_name_both_sides_and_stand_at_the_step():
    steps = "steps:\n  - RandomResizedCrop: {size: [224, 224]}\neval:\n  - Resize: {height: 320, width: 640}\n"
    text = f"version: 1\nrecipe: t\n{steps}"
    (size,) = lint(parse_text(text))
    assert (size.line, size.message.partition(";")[0]) == (6, "evaluation ends at 320 × 640 px, training at 224 × 224")
    assert lint(parse_text(text.replace("640}", "640}  # augrecipes: ignore[L301, L701]"))) == ()


NUMBERS = {
    "RandomGamma": 120, "Blur": 7, "MedianBlur": 7, "CLAHE": 3, "Posterize": 3, "Rotate": 20, "SafeRotate": 20,
    "HueSaturationValue": 12, "RGBShift": 12, "GaussianBlur": 5, "Pad": 3,
}  # fmt: skip
# Their attribute is not the argument, or one number is no value of theirs.
APART = {"ShiftScaleRotate", "CropAndPad", "StainJitter"}


def takes_a_number(schema) -> bool:
    return any(part.get("type") in ("number", "integer") for part in (schema, *schema.get("anyOf", ())))


def scalars():
    for name in record_names():
        for argument in dict.fromkeys((*op_record(name).neutral, *op_record(name).only_draws)):
            if name not in APART and takes_a_number(registry.arguments(name)["properties"][argument]):
                yield pytest.param(name, argument, meaning_of(name, argument), id=f"{name}.{argument}")


@pytest.mark.parametrize(("name", "argument", "meaning"), list(scalars()))
def test_one_number_means_the_same_range(name, argument, meaning):
    value = NUMBERS.get(name, 0.1)
    made = registry.construct(Step(name, Arguments({argument: value})))
    kept = getattr(made, argument)
    kept = kept["x"] if isinstance(kept, dict) else kept
    kept = tuple(kept) if isinstance(kept, tuple | list) else (kept, kept)
    assert interval(meaning, value) == pytest.approx(kept)


@pytest.mark.parametrize("name", [name for name in record_names() if op_record(name).neutral])
def test_records_name_real_arguments(name):
    assert set(op_record(name).neutral) <= set(registry.arguments(name)["properties"])


@pytest.mark.parametrize(("name", "arguments", "neutral", "draws"), rows(__file__, "neutral_and_draws"))
def test_neutral_and_draws(name, arguments, neutral, draws):
    step = Step(name, Arguments(arguments))
    assert is_neutral(step) is neutral
    assert makes_draws(step) is draws
